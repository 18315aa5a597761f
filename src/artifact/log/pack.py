"""Released logs: finished runs packed into one file a cell and arm, and the checksums of everything in `data`.

Invariant: the same runs give the same bytes. A packed file holds the logs as they were written, in the order
of their seeds, with nothing of the packing in it but a fixed compression level.
"""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import zstandard

from artifact.errors import InfrastructureError, RequestError
from artifact.log.assembly import EpisodeLog
from artifact.log.lines import PACKED, UNPACKED, NotBegun
from artifact.log.probe_reader import is_probe_log, probe_files, read_packed_probes, read_probe
from artifact.log.probes import ProbeLog
from artifact.log.reader import PROBE_PACKED, holds_episode_logs, log_files, read_episode, read_packed
from artifact.paths import CHECKSUMS, DATA, RELEASED_LOGS

_LEVEL = 19
_CHUNK = 1 << 20


@dataclass(frozen=True)
class PackReport:
    """What a packing did.

    Parameters
    ----------
    files : tuple of Path
        The packed files, sorted.
    episodes : int
        Finished episodes in them, and probes of episodes, whatever they ended with.
    left_out : int
        Unfinished episodes that were left out.
    """

    files: tuple[Path, ...]
    episodes: int
    left_out: int


def pack(run_dir: Path, data_dir: Path = DATA) -> PackReport:
    """Pack the finished episodes of a folder of runs for release.

    Parameters
    ----------
    run_dir : Path
        ``runs/<study>`` or any folder of unpacked logs, those of the trap-turn probe included.
    data_dir : Path
        The folder of released data. Packed files go to ``logs/<study>/<cell>.<arm>.jsonl.zst`` in it, and
        its SHA256SUMS takes them up, along with files that it didn't list yet.

    Returns
    -------
    PackReport

    Raises
    ------
    RequestError
        When a log isn't intact, a seed occurs twice, or an existing packed file holds episodes that
        `run_dir` lacks; nothing is written then.
    """
    groups: dict[Path, dict[int, Path]] = defaultdict(dict)
    left_out = 0
    probes = probe_files([run_dir])
    episodes = log_files([run_dir]) if not probes or holds_episode_logs(run_dir) else []
    for path in (*episodes, *probes):
        if path.name.endswith(PACKED):
            raise RequestError(f"{path} is packed already; name a folder that holds {UNPACKED} files alone")
        log: EpisodeLog | ProbeLog
        try:
            log = read_probe(path) if is_probe_log(path) else read_episode(path)
        except NotBegun:
            left_out += 1
            continue
        if log.end is None:
            left_out += 1
            continue
        study, cell, arm = log.header.study, log.header.cell.slug, log.header.arm.slug
        suffix = PROBE_PACKED if is_probe_log(path) else PACKED
        seeds = groups[data_dir / RELEASED_LOGS.relative_to(DATA) / study / f"{cell}.{arm}{suffix}"]
        if log.header.seed in seeds:
            raise RequestError(f"{path} and {seeds[log.header.seed]} hold the same episode; remove one of them")
        seeds[log.header.seed] = path
    for target, seeds in groups.items():
        _refuse_loss(target, seeds)
    for target, seeds in sorted(groups.items()):
        write_packed(target, [seeds[seed] for seed in sorted(seeds)])
    if groups:
        update_checksums(data_dir, groups)
    return PackReport(tuple(sorted(groups)), sum(map(len, groups.values())), left_out)


def write_checksums(data_dir: Path = DATA) -> None:
    """Write SHA256SUMS anew for every file of a data folder, as it is now."""
    _write_sums(data_dir, {name: _sha256(path) for name, path in _data_files(data_dir).items()})


def verify(data_dir: Path = DATA) -> list[str]:
    """Check every file of a data folder against its SHA256SUMS.

    Parameters
    ----------
    data_dir : Path
        The folder that SHA256SUMS lies in.

    Returns
    -------
    list of str
        One sentence for each missing, changed or unlisted file; empty when all is as released.
    """
    listed = _read_sums(data_dir)
    present = _data_files(data_dir)
    findings = []
    for name in sorted(listed.keys() | present.keys()):
        if name not in present:
            findings.append(f"{name} is missing from {data_dir}; restore it")
        elif name not in listed:
            findings.append(f"{name} is not listed in {CHECKSUMS.name}; remove it or pack again")
        elif _sha256(present[name]) != listed[name]:
            findings.append(f"{name} differs from its checksum in {CHECKSUMS.name}; restore it")
    return findings


def _refuse_loss(target: Path, seeds: Mapping[int, Path]) -> None:
    if target.exists():
        packed: Iterable[EpisodeLog | ProbeLog] = read_packed_probes(target) if is_probe_log(target) \
            else read_packed(target)
        lost = sorted({log.header.seed for log in packed} - seeds.keys())
        if lost:
            raise RequestError(f"{target} holds {len(lost)} episodes that the runs lack (seed {lost[0]} first); remove "
                               "that file if they are to go, or pack under another study")


def write_packed(target: Path, logs: Iterable[Path]) -> None:
    """Write logs one after another into one compressed file, whole or not at all."""
    part = target.with_name(f".{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True, write_content_size=False)
        with part.open("wb") as file, compressor.stream_writer(file) as stream:
            for log in logs:
                stream.write(log.read_bytes().rstrip(b"\n") + b"\n")
        os.replace(part, target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InfrastructureError(f"{target} can't be written ({error.strerror}); make room or make it writable"
                                  ) from error


def update_checksums(data_dir: Path, packed: Iterable[Path]) -> None:
    """Take up the packed files and those not listed yet.

    Listed files keep their checksum: packing must not bless a file that was damaged since.
    """
    sums = _read_sums(data_dir) if (data_dir / CHECKSUMS.name).exists() else {}
    fresh = {path.relative_to(data_dir).as_posix() for path in packed}
    for name, path in _data_files(data_dir).items():
        if name in fresh or name not in sums:
            sums[name] = _sha256(path)
    _write_sums(data_dir, sums)


def _data_files(data_dir: Path) -> dict[str, Path]:
    """The files of a data folder by their name in SHA256SUMS; hidden ones and SHA256SUMS itself don't count."""
    names = {path.relative_to(data_dir): path for path in data_dir.rglob("*") if path.is_file()}
    return {name.as_posix(): path for name, path in sorted(names.items())
            if not any(part.startswith(".") for part in name.parts) and name.as_posix() != CHECKSUMS.name}


def _read_sums(data_dir: Path) -> dict[str, str]:
    sums_file = data_dir / CHECKSUMS.name
    try:
        text = sums_file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RequestError(f"{sums_file} does not exist; name the folder of released data") from None
    sums = {}
    for number, line in enumerate(text.splitlines(), start=1):
        digest, gap, name = line.partition("  ")
        if len(digest) != hashlib.sha256().digest_size * 2 or not gap or not name:
            raise RequestError(f"{sums_file}, line {number}: this is no line of sha256sum's; restore the file")
        sums[name] = digest
    return sums


def _write_sums(data_dir: Path, sums: Mapping[str, str]) -> None:
    part = data_dir / f".{CHECKSUMS.name}.part"
    part.write_text("".join(f"{sums[name]}  {name}\n" for name in sorted(sums)), encoding="utf-8", newline="\n")
    os.replace(part, data_dir / CHECKSUMS.name)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
