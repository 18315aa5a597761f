"""The lines of a log file, read as a stream, whether it is packed or not; and the records on them, checksums checked.

Invariant: what isn't intact is an error that names file and line, but for one torn last line of an unpacked log, which
a killed run may leave and which counts as not written. A line that has its line end isn't torn.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import orjson
import zstandard

from artifact.errors import InfrastructureError, RequestError
from artifact.log.records import EndRecord
from artifact.log.seal import BrokenSeal, Seal

UNPACKED = ".jsonl"
PACKED = ".jsonl.zst"

_CHUNK = 1 << 16

R = TypeVar("R")


class NotBegun(RequestError):
    """A log that was opened but holds no record yet: its run has just begun, or was killed as it did."""


def log_lines(path: Path) -> Iterator[bytes]:
    """The lines of a log file, packed or not, unread."""
    return (line for line, _ in _lines(path))


def read_records(path: Path, read: Callable[[object, str], R]) -> Iterator[tuple[int, R, bool]]:
    """The records of a file with their line numbers, and whether the log has checksums.

    Parameters
    ----------
    path : Path
        An unpacked log, of which the last line may be torn, or a packed file of logs.
    read : callable
        The record of a parsed line; its second argument says in words where the line stands.
    """
    ended, seal, is_unpacked = False, Seal(), not path.name.endswith(PACKED)
    for number, (line, has_end) in enumerate(_lines(path), start=1):
        try:
            data = orjson.loads(line)
        except orjson.JSONDecodeError:
            # Nothing was being written after `end`, so nothing can be torn there.
            if is_unpacked and not ended and not has_end:
                if number > 1:
                    return
                if line.startswith(b'{"schema":'):  # the first record itself was being written
                    raise NotBegun(f"{path} holds no episode record yet; run the same command again to fill it, or "
                                   "delete it") from None
            raise RequestError(f"{path}, line {number}: this is no JSON, so the file is damaged or no log; restore it "
                               "or leave it out") from None
        record = read(data, f"{path}, line {number}")
        if ended:  # packed logs follow each other, each with checksums of its own
            seal = Seal()
        try:
            seal.take(line)
        except BrokenSeal as broken:
            raise RequestError(f"{path}, line {number}: the log was changed since it was written ({broken}); restore "
                               "the original or leave it out") from None
        ended = isinstance(record, EndRecord)
        yield number, record, seal.is_sealed


def _lines(path: Path) -> Iterator[tuple[bytes, bool]]:
    """Lines without their line ends, and whether they had one: the last may lack it."""
    rest = b""
    try:
        for chunk in _unpacked_chunks(path) if path.name.endswith(PACKED) else _plain_chunks(path):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from ((line, True) for line in lines)
    except zstandard.ZstdError as error:
        raise RequestError(f"{path} is damaged ({error}); restore the released file") from error
    except OSError as error:
        raise InfrastructureError(f"{path} can't be read ({error.strerror}); make it readable") from error
    if rest:
        yield rest, False


def _plain_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _unpacked_chunks(path: Path) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield decompressor.decompress(chunk)
    if not decompressor.eof:
        raise zstandard.ZstdError("it is cut short")
