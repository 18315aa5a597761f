"""Whether harness logs are as they were written: every line against its checksum."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from artifact.errors import RequestError
from artifact.harness.reader import HEADER_MARK, harness_files, whole_lines
from artifact.log.seal import BrokenSeal, Seal
from artifact.log.verify import Verification


def verify_harness_logs(paths: Iterable[Path]) -> Verification:
    """Check harness logs, packed or not; files and folders that hold none count for nothing.

    Parameters
    ----------
    paths : iterable of Path
        Log files and folders of them.
    """
    findings, sealed, unsealed = [], 0, 0
    for path in (file for source in paths for file in harness_files(source)):
        try:
            for is_sealed in _logs(path):
                sealed += is_sealed
                unsealed += not is_sealed
        except RequestError as error:
            findings.append(str(error))
    return Verification(tuple(findings), sealed, unsealed)


def _logs(path: Path) -> Iterator[bool]:
    """Of each log in a file, whether it has checksums."""
    seal: Seal | None = None
    for number, line in enumerate(whole_lines(path), start=1):
        if line.startswith(HEADER_MARK):
            if seal is not None:
                yield seal.is_sealed
            seal = Seal()
        if seal is None:
            raise RequestError(f"{path} doesn't begin with the header of a harness log; restore the file")
        try:
            seal.take(line)
        except BrokenSeal as broken:
            raise RequestError(f"line {number} of {path} isn't as it was written: {broken}") from None
    if seal is not None:
        yield seal.is_sealed
