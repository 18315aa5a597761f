"""One runner a study: a second one is told so and stops."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from artifact.errors import InfrastructureError, RequestError


@contextlib.contextmanager
def study_lock(folder: Path) -> Iterator[None]:
    """Hold a study's folder for this process; the lock goes with the process, however it ends.

    Raises
    ------
    RequestError
        When another process holds it.
    InfrastructureError
        When the folder can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("a+")
    except OSError as error:
        raise InfrastructureError(f"{folder} can't be written ({error.strerror}); choose another folder with --runs "
                                  "or make this one writable") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            raise RequestError(f"the study in {folder} is being run by process {owner}; wait for it, or give this one "
                               "another name with --study") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
