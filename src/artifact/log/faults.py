"""Why a call had to be made again: a closed set, so that logs, summaries and tables count the same things."""

from enum import StrEnum


class Fault(StrEnum):
    """Why a try of a call brought no answer. None of them says anything about the agent."""

    RATE_LIMIT = "rate_limit"
    UNAVAILABLE = "unavailable"
    SERVER_ERROR = "server_error"
    UNREACHABLE = "unreachable"
    CONNECTION = "connection"
    TIMEOUT = "timeout"
    MALFORMED = "malformed"
    NO_CHOICE = "no_choice"
    NO_CONTENT = "no_content"
    OVERSIZED = "oversized"
    BROKEN_OFF = "broken_off"
    OTHER_FIELDS = "other_fields"
    """Not the server's fault: it wants an option of the request under another name, or none."""
    OTHER = "other"
