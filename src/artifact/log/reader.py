"""Reading logs as a stream, one episode in memory at a time: single files, folders, packed files (DESIGN §5.3).

Invariant: what isn't an intact log is an error that names file and line; see `artifact.log.lines`.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from artifact.errors import RequestError
from artifact.log.assembly import Assembly, EpisodeLog
from artifact.log.lines import PACKED, UNPACKED, NotBegun, read_records
from artifact.log.records import RECORD_TYPES, SCHEMA, EpisodeRecord, Record

# Logs of the trap-turn probe lie beside episode logs and are told apart by their name; see `artifact.log.probe_reader`.
PROBE_UNPACKED = ".probe.jsonl"
PROBE_PACKED = ".probe.jsonl.zst"
# So do the logs of a harness, which that harness reads.
HARNESS_MARK = ".harness."

_NO_EPISODES = (PROBE_UNPACKED, PROBE_PACKED)


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
    for number, record, is_sealed in read_records(path, _record):
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
    for number, record, is_sealed in read_records(path, _record):
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
            files = sorted(files_inside(path, is_episode_log), key=_by_seed)
            if not files:
                raise RequestError(f"{path} holds no logs ({UNPACKED} or {PACKED} files); name a folder of a study")
        elif not path.exists():
            raise RequestError(f"{path} does not exist; name a log file or a folder of logs")
        elif path.name.endswith(_NO_EPISODES):
            raise RequestError(f"{path} is a log of the trap-turn probe and holds no episode; read it with "
                               "`artifact score`")
        elif not path.name.endswith((UNPACKED, PACKED)):
            raise RequestError(f"{path} is no log by its name; name a {UNPACKED} or {PACKED} file or a folder of them")
        else:
            files = [path]
        for file in files:
            found.setdefault(file.resolve(), file)
    return list(found.values())


def is_episode_log(path: Path) -> bool:
    """Whether a file is an episode log by its name."""
    return (path.name.endswith((UNPACKED, PACKED)) and not path.name.endswith(_NO_EPISODES)
            and HARNESS_MARK not in path.name)


def holds_episode_logs(folder: Path) -> bool:
    """Whether a folder holds any episode log."""
    return folder.is_dir() and bool(files_inside(folder, is_episode_log))


def files_inside(folder: Path, wanted: Callable[[Path], bool]) -> list[Path]:
    """The wanted files of a folder at any depth, but for what is hidden."""
    return [file for file in folder.rglob("*") if wanted(file) and file.is_file()
            and not any(part.startswith(".") for part in file.relative_to(folder).parts)]


def _by_seed(path: Path) -> tuple[tuple[str, ...], int, str]:
    """Sort key: folders by name, the files of a folder by seed where their name is one."""
    return path.parent.parts, int(path.stem) if path.stem.isdecimal() else -1, path.name


def _header(record: Record) -> EpisodeRecord:
    if not isinstance(record, EpisodeRecord):
        raise RequestError(f"the first record is of type {record.record!r} instead of 'episode', so this is no whole "
                           "episode log; give a file that `artifact run` or `artifact pack` wrote")
    return record


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
