"""Reading harness logs: what a scorer works on, without the harness's world or any model."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from artifact.errors import InfrastructureError, RequestError
from artifact.harness.records import SCHEMA, SUFFIX, HarnessRecord
from artifact.log.records import EndRecord


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
    return {"harness": TypeAdapter(HarnessRecord), **own, "end": TypeAdapter(EndRecord)}


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
        for path in sorted(source.rglob(f"*{SUFFIX}")) if source.is_dir() else [source]:
            log = _read(path, harness, types)
            if log is not None:
                yield log


def _read(path: Path, harness: str, types: Mapping[str, TypeAdapter[Any]]) -> HarnessLog | None:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InfrastructureError(f"{path} can't be read ({error.strerror}); make it readable") from None
    lines = content[:content.rfind(b"\n") + 1].splitlines()  # a torn last line counts as not written
    if not lines:
        return None
    records: list[Any] = []
    for number, line in enumerate(lines, start=1):
        try:
            data = orjson.loads(line)
            if number == 1 and data.get("schema") != SCHEMA:
                raise RequestError(f"{path} has schema {data.get('schema')!r} and this version reads schema {SCHEMA}; "
                                   "read it with the version of the package that wrote it")
            if number == 1 and data["cell"]["harness"] != harness:
                return None
            records.append(types[data["record"]].validate_python(data))
        except (orjson.JSONDecodeError, ValidationError, KeyError, TypeError, AttributeError):
            raise RequestError(f"line {number} of {path} is damaged, or this is no harness log; restore the file or "
                               "leave it out") from None
    end = records.pop() if isinstance(records[-1], EndRecord) else None
    if not isinstance(records[0], HarnessRecord):
        raise RequestError(f"{path} doesn't begin with the header of a harness log; restore the file or leave it out")
    return HarnessLog(records[0], tuple(records[1:]), end)
