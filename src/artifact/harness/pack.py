"""Releasing the logs of a harness: one packed file a cell and arm, and the compiles that its items shared."""

import shutil
from collections import defaultdict
from pathlib import Path

import orjson

from artifact.errors import RequestError
from artifact.harness.reader import whole_lines
from artifact.harness.records import PACKED_SUFFIX, SUFFIX
from artifact.log.pack import PackReport, update_checksums, write_packed
from artifact.paths import DATA, RELEASED_LOGS

_SHARED = "compiled"


def pack_harness(run_dir: Path, data_dir: Path = DATA) -> PackReport:
    """Pack the finished logs of a harness's study for release.

    Parameters
    ----------
    run_dir : Path
        ``runs/<study>``.
    data_dir : Path
        The folder of released data; see `artifact.log.pack.pack`.

    Raises
    ------
    RequestError
        When an existing packed file holds items that `run_dir` lacks; nothing is written then.
    """
    target = data_dir / RELEASED_LOGS.relative_to(DATA) / run_dir.name
    groups: defaultdict[Path, list[Path]] = defaultdict(list)
    left_out = 0
    for path in sorted(run_dir.rglob(f"*{SUFFIX}"), key=_in_order):
        lines = whole_lines(path)
        if lines and orjson.loads(lines[-1]).get("record") == "end":
            groups[target / f"{path.parent.parent.name}.{path.parent.name}{PACKED_SUFFIX}"].append(path)
        else:
            left_out += 1
    for packed, paths in groups.items():
        lost = _items(packed) - {item for path in paths for item in _items(path)} if packed.exists() else set()
        if lost:
            raise RequestError(f"the runs lack {len(lost)} of the items in {packed} ({min(lost)[0]} first); remove the "
                               "file if they are to go, or pack under another study")
    for packed, paths in groups.items():
        write_packed(packed, paths)
    shared = [shutil.copy2(path, _made(target / _SHARED) / path.name)
              for path in sorted((run_dir / _SHARED).glob("*.json"))] if groups else []
    if groups:
        update_checksums(data_dir, [*groups, *map(Path, shared)])
    return PackReport(tuple(sorted(groups)), sum(map(len, groups.values())), left_out)


def _in_order(path: Path) -> tuple[tuple[str, ...], int, str]:
    """Items that are numbers in their order."""
    item = path.name.partition(".")[0]
    return path.parent.parts, int(item) if item.isdecimal() else -1, path.name


def _items(path: Path) -> set[tuple[str, int]]:
    headers = (orjson.loads(line) for line in whole_lines(path) if line.startswith(b'{"schema":'))
    return {(header["item"], header["seed"]) for header in headers}


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
