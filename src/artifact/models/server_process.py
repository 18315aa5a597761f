"""A server as a child process: started, waited for until it answers, stopped with all that it started.

Invariant: when `serving` is left, whatever way, no process of the server's group is alive.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from artifact.errors import InfrastructureError

_STOP_S = 30.0

# Asks Linux to end the server with the process that started it, should that be killed; then becomes the server.
_TIED = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 15); os.execvp(sys.argv[1], sys.argv[1:])"
_LINES_TOLD = 3


@contextlib.contextmanager
def serving(command: list[str], *, name: str, health: str, log: Path, wait_s: float,
            environment: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a server for as long as the context lasts.

    Parameters
    ----------
    command : list of str
        What starts it.
    name : str
        What errors call it.
    health : str
        The URL that answers with status 200 once it is ready.
    log : Path
        Where its output goes; a log that is there is written anew.
    wait_s : float
        How long it may take to be ready, in seconds.
    environment : mapping
        Variables beside those of this process.

    Raises
    ------
    InfrastructureError
        It ended before it was ready, or isn't ready in time.
    """
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        output = log.open("wb")
    except OSError as error:
        raise InfrastructureError(f"{log} can't be written ({error.strerror}); make room there") from None
    with output:
        # A group of its own: Ctrl-C at the terminal reaches this process alone, which then stops the server in order.
        tied = [sys.executable, "-c", _TIED, *command] if sys.platform == "linux" else command
        process = subprocess.Popen(tied, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   env=os.environ | dict(environment), start_new_session=True)
        try:
            _wait(process, name, health, log, wait_s)
            yield process
        finally:
            _stop(process)


def last_words(log: Path) -> str:
    """The last lines of a server's log, as part of a sentence."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return " | ".join(line[:200] for line in lines[-_LINES_TOLD:]) or "nothing"


def _wait(process: "subprocess.Popen[bytes]", name: str, health: str, log: Path, wait_s: float) -> None:
    give_up = time.monotonic() + wait_s
    while not _is_ready(health):
        if process.poll() is not None:
            raise InfrastructureError(f"{name} ended with {process.returncode} before it answered; its log {log} ends "
                                      f"with: {last_words(log)}")
        if time.monotonic() > give_up:
            raise InfrastructureError(f"{name} doesn't answer after {wait_s:.0f} s; its log {log} says how far it got")
        time.sleep(0.2)


def _is_ready(health: str) -> bool:
    try:
        with urllib.request.urlopen(health, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _stop(process: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):  # to the group: a worker may outlive the server itself
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_S)
