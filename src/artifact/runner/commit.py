"""Which commit of the package ran: for the log header."""

import subprocess

from artifact import paths


def commit() -> str | None:
    """The checked-out commit, with ``+`` when the library has changes that are not in it; None outside a checkout."""
    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(paths.ROOT), *arguments], capture_output=True, text=True, check=True,
                              timeout=30).stdout.strip()
    try:
        return git("rev-parse", "HEAD")[:12] + ("+" if git("status", "--porcelain", "--", "src") else "")
    except (OSError, subprocess.SubprocessError):
        return None
