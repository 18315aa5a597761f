"""The command ``artifact`` (DESIGN §5.5). One file a family of commands."""

from artifact.cli.main import main

__all__ = ["main"]
