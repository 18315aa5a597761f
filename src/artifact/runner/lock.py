"""One runner a study, and one worker an episode."""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncIterator, Iterator
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


_PATIENCE_S = 60.0


@contextlib.asynccontextmanager
async def episode_lock(log: Path) -> AsyncIterator[None]:
    """Hold an episode's log for this process; another that has it, on its way out perhaps, is waited for.

    Raises
    ------
    InfrastructureError
        When another process holds it for longer than a worker takes to end.
    """
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        file = log.open("ab")
    except OSError as error:
        raise InfrastructureError(f"{log.parent} can't be written ({error.strerror}); choose another folder with "
                                  "--runs or make this one writable") from None
    with file:
        for tenth in range(int(_PATIENCE_S * 10) + 1):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if tenth == int(_PATIENCE_S * 10):
                    raise InfrastructureError(f"{log} is being written by another worker; end that one, and give the "
                                              "same command again") from None
            await asyncio.sleep(0.1)
        yield
