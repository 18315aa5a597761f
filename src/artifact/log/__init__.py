"""What was said and done: record types, streaming reader, packed releases (DESIGN §5.3)."""

from artifact.log.assembly import EditedLog, EpisodeLog, check_bookings, ref_lines, replies
from artifact.log.lines import PACKED, UNPACKED
from artifact.log.reader import iter_logs, log_files, read_episode, read_packed
from artifact.log.records import (
    RECORD_TYPES,
    SCHEMA,
    ArmIdentity,
    Booking,
    Call,
    Cell,
    CompileRecord,
    DirectiveIssued,
    EndReason,
    EndRecord,
    EpisodeRecord,
    MatchRecord,
    Message,
    Record,
    TurnRecord,
    Usage,
)

__all__ = [
    "PACKED", "RECORD_TYPES", "SCHEMA", "UNPACKED", "ArmIdentity", "Booking", "Call", "Cell", "CompileRecord",
    "DirectiveIssued", "EditedLog", "EndReason", "EndRecord", "EpisodeLog", "EpisodeRecord", "MatchRecord", "Message",
    "Record", "TurnRecord", "Usage", "check_bookings", "iter_logs", "log_files", "read_episode", "read_packed",
    "ref_lines", "replies",
]
