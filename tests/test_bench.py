"""The benchmarks of clients and engines: a table from a checkout, a sentence elsewhere."""

import asyncio
import re
from pathlib import Path

import pytest

from artifact import paths
from artifact.cli.main import main
from artifact.models.scripted import scripted_model
from bench import engine_throughput
from bench.clients import CLIENTS
from bench.measure import Measurement, measure
from bench.script import TURNS
from bench.table import lines


def test_the_table_names_what_is_not_installed_and_divides_by_turns() -> None:
    def measured(client: str, episodes: int, concurrency: int, latency_s: float) -> Measurement | str:
        return Measurement(episodes * TURNS, 2.2, 1.1 + latency_s, 60) if client == "raw" else "inspect_ai"

    *_, peer, ours = lines(["inspect_ai", "raw"], episodes=100, concurrency=50, latency_s=0.1, measured=measured)
    assert peer.split() == [*CLIENTS["inspect_ai"].title.split(), "not", "installed", "(inspect_ai)"]
    assert ours.split()[-5:] == ["0.50", "4,000", "1.2", "s", "60"]


def test_a_client_that_leaves_turns_out_is_not_in_the_table() -> None:
    def measured(client: str, episodes: int, concurrency: int, latency_s: float) -> Measurement:
        return Measurement(episodes * TURNS - 1, 1, 1, 60)

    with pytest.raises(Exception, match="answered 175 of 176 turns"):
        list(lines(["raw"], episodes=4, concurrency=2, latency_s=0.0, measured=measured))


@pytest.mark.integration
@pytest.mark.parametrize("client", ["floor", "aiohttp", "raw", "enforcement"])
def test_each_client_that_needs_no_peer_answers_every_turn(client: str) -> None:
    measured = measure(client, 3, 2)
    assert isinstance(measured, Measurement)
    assert measured.turns == 3 * TURNS
    assert measured.cpu_s > 0


def test_bench_prints_a_row_for_each_client(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--episodes", "2", "--latency", "0", "--clients", "floor,raw"]) == 0
    *_, floor, ours = capsys.readouterr().out.splitlines()
    assert floor.startswith("raw socket (floor)")
    assert re.search(r"our full runner, raw +[0-9.]+ +[0-9,]+ +[0-9.]+ s +[0-9]+$", ours)


def test_bench_outside_a_checkout_says_so_in_one_sentence(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(paths, "TESTS", tmp_path)
    assert main(["bench"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "it belongs to a checkout" in said


@pytest.mark.parametrize(("arguments", "named"), [
    (["--clients", "curl"], "'curl'"), (["--episodes", "0"], "--episodes 0"), (["--latency", "-1"], "--latency -1")])
def test_bench_refuses_what_it_cannot_measure(arguments: list[str], named: str,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    assert named in capsys.readouterr().err


def test_a_line_of_engine_throughput_counts_the_turns_that_were_let_through() -> None:
    agent = scripted_model("reader?directive=0.8")
    line = asyncio.run(engine_throughput.measure(agent, 8, turns=3, size=5, prompts="paper"))
    assert line.turns == 8 * 3
    assert line.episodes_an_hour == pytest.approx(24 / TURNS / line.wall_s * 3600)
    assert sum(call.session == call.conversation for call in line.calls) == 24
