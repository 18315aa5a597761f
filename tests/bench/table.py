"""The table of clients: what a turn costs each of them, side by side in one run."""

import os
from collections.abc import Callable, Iterator, Sequence

from artifact.errors import InfrastructureError
from bench.clients import CLIENTS
from bench.measure import Measurement, measure
from bench.script import TURNS

Measure = Callable[[str, int, int, float], Measurement | str]

_WIDTH = max(len(client.title) for client in CLIENTS.values())


def lines(names: Sequence[str], *, episodes: int, concurrency: int, latency_s: float,
          measured: Measure = measure) -> Iterator[str]:
    """The table, a line as soon as it is measured.

    Parameters
    ----------
    names : sequence of str
        Keys of `CLIENTS`.
    episodes, concurrency : int
        So many conversations of 44 turns, so many of them at a time.
    latency_s : float
        Of the server in the second run of each client; the first has none.
    measured : callable
        Measures one client; an answer in words is the name of what isn't installed.
    """
    rounds = -(-episodes // concurrency)
    yield (f"{episodes} episodes of {TURNS} turns, {concurrency} at a time, beside a mock server; {os.cpu_count()} "
           f"cores, load {os.getloadavg()[0]:.1f} at the start")
    yield _row("client", "CPU ms/turn", "turns/s", f"wall at {latency_s:g} s", "peak MB")
    yield _row("(ideal)", "", "", f"{rounds * TURNS * latency_s:.1f} s", "")
    for name in names:
        title, cells = CLIENTS[name].title, list[str]()
        at_once = measured(name, episodes, concurrency, 0.0)
        waiting = measured(name, episodes, concurrency, latency_s) if isinstance(at_once, Measurement) else at_once
        if isinstance(at_once, Measurement) and isinstance(waiting, Measurement):
            for run in (at_once, waiting):
                if run.turns != episodes * TURNS:
                    raise InfrastructureError(f"{title} answered {run.turns} of {episodes * TURNS} turns; see above "
                                              "why")
            cells = [f"{1000 * at_once.cpu_s / at_once.turns:.2f}", f"{at_once.turns / at_once.wall_s:,.0f}",
                     f"{waiting.wall_s:.1f} s", f"{max(at_once.peak_mb, waiting.peak_mb):.0f}"]
            yield _row(title, *cells)
        else:
            yield f"{title:{_WIDTH}}  not installed ({at_once})"


def _row(title: str, cpu: str, rate: str, wall: str, peak: str) -> str:
    return f"{title:{_WIDTH}} {cpu:>12} {rate:>9} {wall:>14} {peak:>8}"
