"""The command ``artifact`` (DESIGN §5.5). One file a family of commands."""
