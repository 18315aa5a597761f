"""Reading harness logs: what a scorer works on, without the harness's world or any model."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import zstandard
from pydantic import TypeAdapter, ValidationError

from artifact import paths
from artifact.errors import InfrastructureError, RequestError
from artifact.harness.records import MARK, PACKED_SUFFIX, SCHEMA, SUFFIX, HarnessRecord
from artifact.log.records import EndRecord
from artifact.log.seal import BrokenSeal, Seal

HEADER_MARK = b'{"schema":'  # how a header begins
_END_MARK = b'"record":"end"'
_HEADER, _END = TypeAdapter(HarnessRecord), TypeAdapter(EndRecord)


@dataclass(frozen=True)
class HarnessLog:
    """One log.

    Parameters
    ----------
    header : HarnessRecord
        What it was measured on.
    records : tuple
        What lies between header and end.
    end : EndRecord or None
        None while it runs, or when it was killed.
    """

    header: HarnessRecord
    records: tuple[Any, ...]
    end: EndRecord | None


def record_types(own: Mapping[str, TypeAdapter[Any]]) -> dict[str, TypeAdapter[Any]]:
    """All record types of a harness's logs: its own, the header and the end."""
    return {"harness": _HEADER, **own, "end": _END}


def iter_harness_logs(sources: Iterable[Path], harness: str,
                      own: Mapping[str, TypeAdapter[Any]]) -> Iterator[HarnessLog]:
    """The logs of one harness in files and folders, sorted by path within a folder.

    Logs of other harnesses, and logs that hold no record yet, are passed over.

    Raises
    ------
    RequestError
        For a path that doesn't exist, a damaged log, a log of another schema.
    InfrastructureError
        When a file can't be read.
    """
    types = record_types(own)
    for source in sources:
        if not source.exists():
            raise RequestError(f"{source} does not exist; name a harness log or a folder of them")
        for path in harness_files(source):
            yield from _logs(path, harness, types)


def harness_outlines(sources: Iterable[Path]) -> Iterator[tuple[HarnessRecord, EndRecord | None]]:
    """Header and end of every log, whatever its harness; what lies between isn't read.

    Raises
    ------
    RequestError
        For a header or an end that can't be read.
    """
    header: HarnessRecord | None = None
    for path in (path for source in sources for path in harness_files(source)):
        for line in whole_lines(path):
            try:
                if line.startswith(HEADER_MARK):
                    if header is not None:
                        yield header, None
                    header = _HEADER.validate_json(line)
                # A model's own words may hold the mark too, as the arguments of a call.
                elif header is not None and _END_MARK in line and orjson.loads(line)["record"] == "end":
                    yield header, _END.validate_json(line)
                    header = None
            except (ValidationError, orjson.JSONDecodeError, KeyError, TypeError):
                raise RequestError(f"{path} is damaged, or this is no harness log; restore the file or leave it "
                                   "out") from None
        if header is not None:
            yield header, None
            header = None


def harness_sources(names: Sequence[str] = ()) -> tuple[Path, ...]:
    """Folders and files of logs by name, relative to the root of the checkout.

    None means the released logs and the runs of this machine; of these two, one that isn't there is left out.
    """
    chosen = [paths.ROOT / name for name in names] if names else [paths.RELEASED_LOGS, paths.RUNS]
    return tuple(path for path in chosen if path not in (paths.RELEASED_LOGS, paths.RUNS) or path.is_dir())


def harness_files(source: Path) -> list[Path]:
    """The harness logs in a folder, packed or not, sorted; a file is itself."""
    if not source.is_dir():
        return [source]
    return sorted(path for path in source.rglob(f"*{MARK}*") if path.name.endswith((SUFFIX, PACKED_SUFFIX)))


def _logs(path: Path, harness: str, types: Mapping[str, TypeAdapter[Any]]) -> Iterator[HarnessLog]:
    """The logs of one file: one, or in a packed file one after another."""
    records: list[Any] = []
    seal = Seal()
    for number, line in enumerate(whole_lines(path), start=1):
        try:
            data = orjson.loads(line)
            if data["record"] == "harness":
                seal = Seal()
                if data["schema"] != SCHEMA:
                    raise RequestError(f"{path} has schema {data['schema']!r} and this version reads schema {SCHEMA}; "
                                       "read it with the version of the package that wrote it")
                if data["cell"]["harness"] != harness:
                    return
                if records:
                    yield _log(records)
                records = []
            elif not records:
                raise KeyError("header")
            seal.take(line)
            records.append(types[data["record"]].validate_python(data))
        except (BrokenSeal, orjson.JSONDecodeError, ValidationError, KeyError, TypeError):
            raise RequestError(f"line {number} of {path} is damaged, or this is no harness log; restore the file or "
                               "leave it out") from None
    if records:
        yield _log(records)


def _log(records: list[Any]) -> HarnessLog:
    end = records.pop() if isinstance(records[-1], EndRecord) else None
    return HarnessLog(records[0], tuple(records[1:]), end)


def whole_lines(path: Path) -> list[bytes]:
    """The lines of a log; a torn last one counts as not written.

    Raises
    ------
    InfrastructureError
        When the file can't be read.
    RequestError
        When a packed file is damaged.
    """
    try:
        content = path.read_bytes()
        if path.name.endswith(PACKED_SUFFIX):
            decompressor = zstandard.ZstdDecompressor().decompressobj()
            content = decompressor.decompress(content)
            if not decompressor.eof:
                raise zstandard.ZstdError("it is cut short")
    except zstandard.ZstdError as error:
        raise RequestError(f"{path} is damaged ({error}); restore the released file") from None
    except OSError as error:
        raise InfrastructureError(f"{path} can't be read ({error.strerror}); make it readable") from None
    return content[:content.rfind(b"\n") + 1].split(b"\n")[:-1]
