"""What the airline gate costs a call: every reference rule judged, on calls of each tool.

    python -m bench.gate_check [--calls N]

Run from the folder tests with the package installed. The benchmark itself isn't needed: the state is a tiny airline.
"""

import argparse
import time
from collections.abc import Callable, Sequence

from artifact.harness.tau2.gate import PolicyGate, Rung
from artifact.harness.tau2.question import Question, WriteTool
from artifact.harness.tau2.rules import reference_rules
from tau2_world import ask, booking, flights, world

_SAME = flights(("T1", "2024-05-20"), ("T2", "2024-05-25"))
CALLS: dict[WriteTool, Callable[[], Question]] = {
    WriteTool.BOOK: lambda: ask(_WORLD, WriteTool.BOOK, **booking()),
    WriteTool.CANCEL: lambda: ask(_WORLD, WriteTool.CANCEL, reservation_id="R1"),
    WriteTool.CERTIFICATE: lambda: ask(_WORLD, WriteTool.CERTIFICATE, user_id="kim", amount=100),
    WriteTool.BAGS: lambda: ask(_WORLD, WriteTool.BAGS, reservation_id="R1", total_baggages=4, nonfree_baggages=1,
                                payment_id="card"),
    WriteTool.FLIGHTS: lambda: ask(_WORLD, WriteTool.FLIGHTS, reservation_id="R1", cabin="economy", flights=_SAME,
                                   payment_id="card"),
    WriteTool.PASSENGERS: lambda: ask(_WORLD, WriteTool.PASSENGERS, reservation_id="R1",
                                      passengers=booking()["passengers"]),
}
_WORLD = world()


def seconds_a_check(make: Callable[[], Question], calls: int) -> float:
    """Mean wall seconds of one ruling, each on a question that nothing has looked at yet."""
    gate, questions = PolicyGate(reference_rules(), Rung.ENFORCEMENT), [make() for _ in range(calls)]
    started = time.perf_counter()
    for number, question in enumerate(questions):
        gate.judge(question, number)
    return (time.perf_counter() - started) / calls


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each tool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000, help="calls of each tool")
    calls = parser.parse_args(arguments).calls
    for tool, make in CALLS.items():
        print(f"{tool:32} {1e3 * seconds_a_check(make, calls):.4f} ms a call")


if __name__ == "__main__":
    main()
