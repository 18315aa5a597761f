"""The errors a person can act on: one sentence each, with the exit code the command line returns for it."""


class ArtifactError(Exception):
    """Base of every error that this package raises on purpose.

    The message is one sentence that says what was wrong, where, and what to do about it.
    """

    exit_code = 2


class RequestError(ArtifactError):
    """What was asked for can't be done as asked: a bad option, seed, file, log or graph (exit code 2)."""

    exit_code = 2


class InfrastructureError(ArtifactError):
    """The request was fine but something it stands on failed: a server, a disk, a download (exit code 3)."""

    exit_code = 3


def missing_extra(what: str, extra: str, or_else: str = "") -> RequestError:
    """The error of a request for which an extra of this package isn't installed.

    Parameters
    ----------
    what : str
        What needs it, as the sentence's subject.
    extra : str
        Its name in ``pyproject.toml``.
    or_else : str
        What would do instead of installing it.
    """
    instead = f", or {or_else}" if or_else else ""
    return RequestError(f"{what} needs the extra {extra!r}, which isn't installed; install it, in a checkout, with: "
                        f"pip install '.[{extra}]'{instead}")
