"""Words from models, servers and files as they may stand on a terminal."""


def printable(text: str) -> str:
    """The text with control characters made visible, line breaks kept."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
