"""Reading logs as a stream, one episode in memory at a time: single files, folders, packed files (DESIGN §5.3).

Invariant: what isn't an intact log is an error that names file and line, but for one torn last line of an
unpacked log, which a killed run may leave and which counts as not written. A line that has its line end isn't torn.
"""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson
import zstandard
from pydantic import ValidationError

from artifact.errors import InfrastructureError, RequestError
from artifact.log.assembly import Assembly, EpisodeLog
from artifact.log.records import RECORD_TYPES, SCHEMA, EndRecord, EpisodeRecord, Record
from artifact.log.seal import BrokenSeal, Seal

UNPACKED = ".jsonl"
PACKED = ".jsonl.zst"

_CHUNK = 1 << 16


class NotBegun(RequestError):
    """A log that was opened but holds no record yet: its run has just begun, or was killed as it did."""


def read_episode(path: Path) -> EpisodeLog:
    """Read one unpacked log.

    Parameters
    ----------
    path : Path
        A ``<seed>.jsonl`` file; the episode may be unfinished.

    Returns
    -------
    EpisodeLog
        Its `end` is None when the log has no `end` record yet. A torn last line is ignored.

    Raises
    ------
    RequestError
        When it is no log, of another schema, damaged or edited; the sentence names file and line.
    InfrastructureError
        When the file can't be read.
    """
    assembly: Assembly | None = None
    was_sealed = False
    for number, record, is_sealed in _records(path, _lines(path, _file_chunks(path)), torn_last_line=True):
        try:
            if assembly is None:
                assembly = Assembly(_header(record), str(path))
            else:
                assembly.add(record)
        except RequestError as error:
            raise type(error)(f"{path}, line {number}: {error}") from error
        was_sealed = is_sealed
    if assembly is None:
        raise NotBegun(f"{path} holds no episode record yet; run the same command again to fill it, or delete it")
    return assembly.finish(is_sealed=was_sealed)


def read_packed(path: Path) -> Iterator[EpisodeLog]:
    """Read a packed file, one episode after another.

    Parameters
    ----------
    path : Path
        A ``<cell>.<arm>.jsonl.zst`` file. Only finished episodes are ever packed.

    Yields
    ------
    EpisodeLog
        In the order of the file.
    """
    assembly: Assembly | None = None
    number, was_sealed = 0, False
    for number, record, is_sealed in _records(path, _lines(path, _unpacked_chunks(path)), torn_last_line=False):
        try:
            if assembly is None:
                assembly = Assembly(_header(record), str(path))
            elif isinstance(record, EpisodeRecord) and assembly.ended:
                yield assembly.finish(is_sealed=was_sealed)
                assembly = Assembly(record, str(path))
            else:
                assembly.add(record)
        except RequestError as error:
            raise type(error)(f"{path}, line {number}: {error}") from error
        was_sealed = is_sealed
    if assembly is None or not assembly.ended:
        raise RequestError(f"{path}, line {number}: the file stops within an episode; restore the released file")
    yield assembly.finish(is_sealed=was_sealed)


def iter_logs(paths: Iterable[Path]) -> Iterator[EpisodeLog]:
    """All logs of files and folders, one at a time.

    Parameters
    ----------
    paths : iterable of Path
        Unpacked and packed log files, and folders that hold them at any depth. A file that is named twice
        is read once.

    Yields
    ------
    EpisodeLog
        In the order of `paths`; within a folder sorted by path, seeds as numbers. A log that holds no record
        yet is passed over: a study may be running.
    """
    for path in log_files(paths):
        if path.name.endswith(PACKED):
            yield from read_packed(path)
        else:
            with contextlib.suppress(NotBegun):
                yield read_episode(path)


def log_files(paths: Iterable[Path]) -> list[Path]:
    """The log files that `paths` name, folders opened up, each file once.

    Raises
    ------
    RequestError
        For a path that doesn't exist, a file that is no log by its name, a folder without logs.
    """
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        if path.is_dir():
            inside = [file for file in path.rglob("*") if file.name.endswith((UNPACKED, PACKED)) and file.is_file()
                      and not any(part.startswith(".") for part in file.relative_to(path).parts)]
            if not inside:
                raise RequestError(f"{path} holds no logs ({UNPACKED} or {PACKED} files); name a folder of a study")
            files = sorted(inside, key=_by_seed)
        elif not path.exists():
            raise RequestError(f"{path} does not exist; name a log file or a folder of logs")
        elif not path.name.endswith((UNPACKED, PACKED)):
            raise RequestError(f"{path} is no log by its name; name a {UNPACKED} or {PACKED} file or a folder of them")
        else:
            files = [path]
        for file in files:
            found.setdefault(file.resolve(), file)
    return list(found.values())


def log_lines(path: Path) -> Iterator[bytes]:
    """The lines of a log file, packed or not, unread."""
    chunks = _unpacked_chunks(path) if path.name.endswith(PACKED) else _file_chunks(path)
    return (line for line, _ in _lines(path, chunks))


def _by_seed(path: Path) -> tuple[tuple[str, ...], int, str]:
    """Sort key: folders by name, the files of a folder by seed where their name is one."""
    return path.parent.parts, int(path.stem) if path.stem.isdecimal() else -1, path.name


def _header(record: Record) -> EpisodeRecord:
    if not isinstance(record, EpisodeRecord):
        raise RequestError(f"the first record is of type {record.record!r} instead of 'episode', so this is no whole "
                           "episode log; give a file that `artifact run` or `artifact pack` wrote")
    return record


def _records(path: Path, lines: Iterator[tuple[bytes, bool]], *,
             torn_last_line: bool) -> Iterator[tuple[int, Record, bool]]:
    """The records of a file with their line numbers, and whether the log has checksums."""
    ended, seal = False, Seal()
    for number, (line, has_end) in enumerate(lines, start=1):
        try:
            data = orjson.loads(line)
        except orjson.JSONDecodeError:
            # Nothing was being written after `end`, so nothing can be torn there.
            if torn_last_line and not ended and not has_end:
                if number > 1:
                    return
                if line.startswith(b'{"schema":'):  # the first record itself was being written
                    raise NotBegun(f"{path} holds no episode record yet; run the same command again to fill it, or "
                                   "delete it") from None
            raise RequestError(f"{path}, line {number}: this is no JSON, so the file is damaged or no log; restore it "
                               "or leave it out") from None
        record = _record(data, f"{path}, line {number}")
        if ended:  # packed logs follow each other, each with checksums of its own
            seal = Seal()
        try:
            seal.take(line)
        except BrokenSeal as broken:
            raise RequestError(f"{path}, line {number}: the log was changed since it was written ({broken}); restore "
                               "the original or leave it out") from None
        ended = isinstance(record, EndRecord)
        yield number, record, seal.is_sealed


def _record(data: object, place: str) -> Record:
    if not isinstance(data, dict) or "record" not in data:
        raise RequestError(f"{place}: this is no record of an episode log; give a file that `artifact run` or "
                           "`artifact pack` wrote")
    kind = data["record"]
    if not isinstance(kind, str) or kind not in RECORD_TYPES:
        raise RequestError(f"{place}: the record type {kind!r} is unknown (known are {', '.join(RECORD_TYPES)}); read "
                           "the log with the version of the package that wrote it")
    # Before anything else is looked at: a record of another schema need not have the fields of this one.
    if kind == "episode" and data.get("schema") != SCHEMA:
        raise RequestError(f"{place}: the log has schema {data.get('schema')!r} and this version reads schema "
                           f"{SCHEMA}; read it with the version of the package that wrote it")
    try:
        return RECORD_TYPES[kind].validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise RequestError(f"{place}: the {kind!r} record is damaged at {field!r} ({first['msg']}); restore the "
                           "original log") from None


def _lines(path: Path, chunks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Lines without their line ends, and whether they had one: the last may lack it."""
    rest = b""
    try:
        for chunk in chunks:
            *lines, rest = (rest + chunk).split(b"\n")
            yield from ((line, True) for line in lines)
    except zstandard.ZstdError as error:
        raise RequestError(f"{path} is damaged ({error}); restore the released file") from error
    except OSError as error:
        raise InfrastructureError(f"{path} can't be read ({error.strerror}); make it readable") from error
    if rest:
        yield rest, False


def _file_chunks(path: Path) -> Iterator[bytes]:
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
