"""Reading logs of the trap-turn probe, one in memory at a time; unpacked and packed ones.

Invariant: a `ProbeLog` that left this module holds what its header announces, in that order: each trap turn with
each variant once, each variant with its greedy reply and its samples. Only the last of each may be missing, and only
where the log isn't finished.
"""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from artifact.errors import RequestError
from artifact.log.assembly import EditedLog
from artifact.log.lines import NotBegun, read_records
from artifact.log.probes import (
    PROBE_SCHEMA,
    PROBE_TYPES,
    AnswerRecord,
    AskedVariant,
    ProbedTrap,
    ProbeLine,
    ProbeLog,
    ProbeRecord,
    TrapRecord,
    VariantRecord,
)
from artifact.log.reader import PROBE_PACKED, PROBE_UNPACKED, files_inside
from artifact.log.records import EndReason, EndRecord


def is_probe_log(path: Path) -> bool:
    """Whether a file is a log of the trap-turn probe by its name."""
    return path.name.endswith((PROBE_UNPACKED, PROBE_PACKED))


def probe_files(paths: Iterable[Path]) -> list[Path]:
    """The probe logs among files and folders, sorted within a folder, each once; episode logs are passed over.

    Raises
    ------
    RequestError
        For a path that doesn't exist.
    """
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        if not path.exists():
            raise RequestError(f"{path} does not exist; name a log file or a folder of logs")
        inside = sorted(files_inside(path, is_probe_log), key=_by_seed) if path.is_dir() else [path]
        for file in filter(is_probe_log, inside):
            found.setdefault(file.resolve(), file)
    return list(found.values())


def iter_probes(paths: Iterable[Path]) -> Iterator[ProbeLog]:
    """All probe logs of files and folders, one at a time; what has just begun is passed over."""
    for path in probe_files(paths):
        if path.name.endswith(PROBE_PACKED):
            yield from read_packed_probes(path)
        else:
            with contextlib.suppress(NotBegun):
                yield read_probe(path)


def read_probe(path: Path) -> ProbeLog:
    """Read one unpacked probe log, finished or not; a torn last line is ignored.

    Raises
    ------
    RequestError
        When it is no such log, of another schema, damaged or edited; the sentence names file and line.
    InfrastructureError
        When the file can't be read.
    """
    logs = list(_read(path))
    if not logs:
        raise NotBegun(f"{path} holds no probe record yet; run the same command again to fill it, or delete it")
    if len(logs) > 1:
        raise RequestError(f"{path} holds {len(logs)} logs; only packed files hold more than one")
    return logs[0]


def read_packed_probes(path: Path) -> Iterator[ProbeLog]:
    """Read a packed file of probe logs, one after another."""
    log = None
    for log in _read(path):
        if log.end is None:
            break
        yield log
    if log is None or log.end is None:
        raise RequestError(f"{path} stops within a log; restore the released file")


def _read(path: Path) -> Iterator[ProbeLog]:
    assembly: _Assembly | None = None
    was_sealed = False
    for number, record, is_sealed in read_records(path, _record):
        try:
            if isinstance(record, ProbeRecord) and (assembly is None or assembly.end is not None):
                if assembly is not None:
                    yield assembly.finish(is_sealed=was_sealed)
                assembly = _Assembly(record, str(path))
            elif assembly is None:
                raise RequestError(f"the first record is of type {record.record!r} instead of 'probe', so this is no "
                                   "whole probe log; give a file that `artifact run` or `artifact pack` wrote")
            else:
                assembly.add(record)
        except RequestError as error:
            raise type(error)(f"{path}, line {number}: {error}") from error
        was_sealed = is_sealed
    if assembly is not None:
        yield assembly.finish(is_sealed=was_sealed)


def _record(data: object, place: str) -> ProbeLine:
    kind = data.get("record") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(kind, str) or kind not in PROBE_TYPES:
        raise RequestError(f"{place}: the record type {kind!r} is unknown in a probe log (known are "
                           f"{', '.join(PROBE_TYPES)}); read the log with the version of the package that wrote it")
    if kind == "probe" and data.get("schema") != PROBE_SCHEMA:
        raise RequestError(f"{place}: the probe log has schema {data.get('schema')!r} and this version reads schema "
                           f"{PROBE_SCHEMA}; read it with the version of the package that wrote it")
    try:
        return PROBE_TYPES[kind].validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise RequestError(f"{place}: the {kind!r} record is damaged at {field!r} ({first['msg']}); restore the "
                           "original log") from None


class _Assembly:
    """Takes the records of one log in order."""

    def __init__(self, header: ProbeRecord, source: str) -> None:
        self._header = header
        self._source = source
        self._traps: list[tuple[TrapRecord, list[tuple[VariantRecord, list[AnswerRecord]]]]] = []
        self.end: EndRecord | None = None

    def add(self, record: ProbeLine) -> None:
        """Take the next record, or raise `EditedLog` when it can't come next."""
        variants = self._traps[-1][1] if self._traps else []
        answers = variants[-1][1] if variants else []
        whole_variant = len(answers) == self._header.samples + 1
        whole_trap = len(variants) == len(self._header.variants) and whole_variant
        fits = False
        match record:
            case TrapRecord():
                fits = (not self._traps or (whole_trap and record.turn > self._traps[-1][0].turn)) \
                    and bool(record.conversation)
            case VariantRecord():
                fits = bool(self._traps) and (not variants or whole_variant) \
                    and self._header.variants[len(variants):len(variants) + 1] == (record.variant,) \
                    and all(0 <= change.at < len(self._traps[-1][0].conversation) for change in record.changes)
            case AnswerRecord():
                fits = bool(variants) and not whole_variant and record.sample == len(answers) \
                    and (record.seed is None) == (record.sample == 0)
            case EndRecord():
                finished = record.reason is not EndReason.COMPLETED or whole_trap
                fits = finished and record.turns == len(self._traps) - (not whole_trap and bool(self._traps))
            case ProbeRecord():
                fits = False
        if self.end is not None or not fits:
            raise EditedLog(f"a record of type {record.record!r} can't stand here; the log was edited, take the "
                            "original")
        match record:
            case TrapRecord():
                self._traps.append((record, []))
            case VariantRecord():
                variants.append((record, []))
            case AnswerRecord():
                answers.append(record)
            case EndRecord():
                self.end = record

    def finish(self, *, is_sealed: bool) -> ProbeLog:
        """The log of the records taken so far."""
        traps = tuple(ProbedTrap(trap, tuple(AskedVariant(asked, tuple(answers)) for asked, answers in variants))
                      for trap, variants in self._traps)
        return ProbeLog(self._header, traps, self.end, self._source, is_sealed)


def _by_seed(path: Path) -> tuple[tuple[str, ...], int, str]:
    name = path.name.removesuffix(PROBE_UNPACKED)
    return path.parent.parts, int(name) if name.isdecimal() else -1, path.name
