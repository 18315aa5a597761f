"""The report from logs on disk: what is counted, what is written, and that it is the same each time."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest

from artifact import paths
from artifact.arms import parse_arm
from artifact.errors import RequestError
from artifact.log import EndReason
from artifact.report import BuiltReport, build_report, ladders, load_scored
from artifact.report.build import Destination
from artifact.report.example import example_logs
from artifact.report.numbers import Number, configuration_name, ladder_numbers, totals, write_numbers
from artifact.report.numbers_variants import variant_numbers
from artifact.report.provenance_table import provenance_table
from artifact.report.scored import log_sources
from artifact.report.sentences import measured_sentence, order_sentence, rung_sentence
from artifact.report.variant_studies import WORDING
from episode_logs import always_book, every_kind, perfect, play, save, state_bound
from report_frames import LARGE, RUNGS, SMALL, climb, episodes, scored, turn

AGENTS = {"raw": always_book, "checklist": perfect, "directive": perfect, "enforcement": always_book}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Logs of two seeds on four rungs, and one that a timeout ended."""
    return write_runs(tmp_path / "runs")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[BuiltReport, Path]:
    """The report of such logs, built once for all tests that only read it, with the folder that it was built in."""
    folder = tmp_path_factory.mktemp("built")
    return build_report(sources=[write_runs(folder / "runs")], to=destination(folder / "out")), folder


def write_runs(folder: Path) -> Path:
    """The logs of the fixtures."""
    for seed in (100, 101):
        for arm, agent in AGENTS.items():
            channel = {"channel": state_bound} if arm == "enforcement" else {}
            save(play(every_kind(seed), agent, arm=arm, **channel), folder)  # type: ignore[arg-type]
    save(play(every_kind(102), perfect, arm="raw", end=EndReason.TIMEOUT), folder)
    return folder


def destination(folder: Path) -> Destination:
    """Everything under one folder."""
    return Destination(folder / "tables", folder / "figures", folder / "numbers")


def files_in(folder: Path) -> dict[str, bytes]:
    """Everything under a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_report_writes_the_same_bytes_twice(built: tuple[BuiltReport, Path], runs: Path, tmp_path: Path) -> None:
    build_report(sources=[runs], to=destination(tmp_path / "out"))
    once, twice = files_in(built[1] / "out"), files_in(tmp_path / "out")
    assert once == twice
    assert {"tables/ladder_amended.tex", "tables/ladder_original.csv", "tables/inventory.tex", "tables/channels.tex",
            "tables/claims.tex", "tables/claims.txt", "tables/provenance.tex", "tables/reported_and_measured.csv",
            "figures/capability.pdf", "figures/ladder.png", "figures/episode.pdf", "numbers/rq1.tex",
            "numbers/rq2.tex"} <= set(once)


def test_nothing_that_is_written_names_this_machine(built: tuple[BuiltReport, Path]) -> None:
    for name, content in files_in(built[1] / "out").items():
        for place in (built[1], paths.ROOT):
            assert str(place).encode() not in content, name


def test_the_report_counts_what_the_logs_say(built: tuple[BuiltReport, Path]) -> None:
    (ladder,) = built[0].ladders
    counted = {arm: (ladder.proportion(arm).k, ladder.proportion(arm).n, ladder.excluded(arm)) for arm in RUNGS}
    assert counted == {"raw": (0, 2, 1), "checklist": (2, 2, 0), "directive": (2, 2, 0), "enforcement": (2, 2, 0)}


def test_an_episode_that_lies_in_two_places_is_counted_once(runs: Path, tmp_path: Path) -> None:
    released = tmp_path / "released"
    save(play(every_kind(100), perfect, arm="raw"), released)  # not what runs/ says of the same episode
    logs = load_scored([released, runs])
    assert logs.duplicates == 1
    assert len(logs.episodes) == 9
    assert ladders(logs.episodes)[0].by_seed("raw")[100] is True


def test_studies_are_kept_apart(runs: Path, tmp_path: Path) -> None:
    save(play(every_kind(100), perfect, arm="raw", study="smoke"), runs)
    logs = load_scored([runs])
    assert [(ladder.configuration.study, ladder.proportion("raw").n) for ladder in ladders(logs.episodes)] == [
        ("smoke", 1), ("study", 2)]
    only = logs.of_study("smoke")
    assert (len(only.episodes), set(only.turns["study"]), len(only.headers)) == (1, {"smoke"}, 1)
    with pytest.raises(RequestError, match="no logs of study 'none'"):
        logs.of_study("none")


def test_the_provenance_table_gives_the_command_that_runs_a_cell_again(runs: Path) -> None:
    identity = {"engine": "llama.cpp", "engine_version": "1", "weights_sha256": "ab" * 32, "slots": 1}
    log = play(every_kind(100), perfect, arm="raw", study="known")
    save(replace(log, header=replace(log.header, model=identity, package={"version": "9", "commit": "c0ffee"})), runs)
    known, plain = csv.DictReader(io.StringIO(provenance_table(load_scored([runs]).headers).csv()))
    assert (known["weights_sha256"], known["engine"], known["settings"]) == ("ab" * 32, "llama.cpp 1", "1 slots")
    assert (known["package_version"], known["commit"], known["episodes"]) == ("9", "c0ffee", "1")
    assert plain["command"] == ("artifact run --study study --model model --arms raw,checklist,directive,enforcement "
                                "--sizes 5 --densities 0.15 --prompts paper --seeds 100:103")


def test_the_command_names_the_arms_with_their_options_the_schedule_and_the_threads(tmp_path: Path) -> None:
    log = play(every_kind(100), perfect, arm="enforcement")
    header = replace(log.header, arm=parse_arm("enforcement:corruption=0.01").identity, model={"threads": 1},
                     cell=replace(log.header.cell, schedule="held_out=writer@0123"))
    save(replace(log, header=header), tmp_path)
    row = next(csv.DictReader(io.StringIO(provenance_table(load_scored([tmp_path]).headers).csv())))
    assert "--arms enforcement:corruption=0.01 " in row["command"]
    assert "--brief amended --schedule held_out=writer " in row["command"]
    assert row["command"].endswith("--threads 1")


def test_a_cell_that_was_measured_on_two_engines_shows_both(runs: Path) -> None:
    for seed, version in ((200, "1"), (201, "2")):
        log = play(every_kind(seed), perfect, arm="raw", study="mixed")
        identity = {"engine": "llama.cpp", "engine_version": version}
        save(replace(log, header=replace(log.header, model=identity)), runs)
    mixed = next(csv.DictReader(io.StringIO(provenance_table(load_scored([runs]).headers).csv())))
    assert mixed["engine"] == "llama.cpp 1; llama.cpp 2"


def test_a_report_without_any_log_reads_not_run(tmp_path: Path) -> None:
    built = build_report(sources=[], to=destination(tmp_path))
    assert built.scored.episodes.empty
    assert "not run" in (tmp_path / "tables" / "ladder_amended.tex").read_text()
    assert not (tmp_path / "figures" / "episode.pdf").exists()
    assert "no logs" in measured_sentence(built.scored)


def test_only_the_two_default_folders_may_be_missing(tmp_path: Path) -> None:
    assert paths.RUNS in log_sources(["runs"]) or not paths.RUNS.is_dir() or not log_sources(["runs"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(RequestError, match="holds no logs"):
        load_scored(log_sources([str(tmp_path / "empty")]))
    with pytest.raises(RequestError, match="does not exist"):
        load_scored(log_sources([str(tmp_path / "missing")]))


def test_the_example_is_the_lowest_seed_that_all_rungs_completed(runs: Path) -> None:
    logs = example_logs([runs], load_scored([runs]))
    assert [(log.header.arm.name, log.header.seed) for log in logs] == [(arm, 100) for arm in RUNGS]
    assert [log.header.seed for log in example_logs([runs], load_scored([runs]), seed=101)] == [101] * 4


def test_another_arm_alone_makes_no_ladder() -> None:
    rows = [row | {"arm": "ledger", "study": "self_ledger"} for row in episodes("raw", [True])]
    assert ladders(scored(rows).episodes) == ()
    assert len(ladders(scored(rows, episodes("raw", [True])).episodes)) == 1


def test_a_seed_that_no_rung_completed_is_refused(runs: Path) -> None:
    with pytest.raises(RequestError, match="no completed episode has seed 102"):
        example_logs([runs], load_scored([runs]), seed=102)


def test_two_prompt_sets_and_two_schedules_of_one_agent_have_numbers_of_their_own() -> None:
    (ladder,) = ladders(scored(climb({"raw": 1}, 8)).episodes)
    kinds = [replace(ladder.configuration, prompts=prompts, schedule=schedule)
             for prompts in ("fewshot", "paper") for schedule in ("canonical", "rotated", "ambiguous=0.15")]
    assert len({configuration_name(kind) for kind in kinds}) == len(kinds)


def test_a_variant_has_its_number_beside_the_rows_that_it_is_compared_with() -> None:
    rows = [row | {"schedule": "held_out=x@1", "cell": "x", "study": "wording"}
            for row in episodes("enforcement", [True, False, False])]
    flags = [turn("enforcement", 100, number, kind=kind, matched_step="s1", matched_redo=True) | {
        "cell": "x", "study": "wording"} for number, kind in enumerate(("legit_redo", "ask"))]
    logs = scored(episodes("enforcement", [True, True, False, True]), rows, turns=flags)
    numbers = {re.sub("Coder.*SFive", "", number.name): number.text
               for number in variant_numbers("rq3", logs, [WORDING])}
    assert numbers == {"RqThreeWordingEnforcementCanonical": "2/3", "RqThreeWordingEnforcementHeldOut": "1/3",
                       "RqThreeWordingEnforcementHeldOutRedoFlags": "1/2"}


def test_numbers_are_defined_once_each_with_where_they_come_from(tmp_path: Path) -> None:
    small = climb(dict(zip(RUNGS, (0, 1, 2, 4), strict=True)), 8, model=SMALL, state_model=LARGE)
    logs = scored(small, climb({"raw": 1}, 8))
    numbers = [*totals("rq2", logs), *ladder_numbers("rq2", ladders(logs.episodes))]
    text = write_numbers(numbers, "rq2", tmp_path).read_text()
    lines = text.splitlines()
    defined = re.findall(r"^\\newcommand\{\\([A-Za-z]+)\}\{(.*)\}$", text, re.MULTILINE)
    assert len(defined) == len({name for name, _ in defined}) == (len(lines) - 1) / 2
    assert all(line.startswith("% ") for line in lines[::2] + lines[1::2] if not line.startswith(r"\newcommand"))
    values = dict(defined)
    stem = "RqTwoSCoderZeroPointFiveBStateCoderOnePointFiveBSFiveStrict"
    assert values[f"{stem}EnforcementRate"] == "0.50"
    assert values[f"{stem}EnforcementCount"] == "4/8"
    assert values["RqTwoSCoderOnePointFiveBSFiveStrictDirectiveRate"] == "not run"
    assert values["RqTwoEpisodes"] == "40"


def test_a_macro_name_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="name of two"):
        write_numbers([Number("A", "1", "x"), Number("A", "2", "y")], "rq1", tmp_path)
    with pytest.raises(RequestError, match="can't be the name"):
        write_numbers([Number("A1", "1", "x")], "rq1", tmp_path)


def test_readings_are_computed() -> None:
    rising, falling = (dict(zip(RUNGS, (raw, 1, 2, 4), strict=True)) for raw in (0, 3))
    found = ladders(scored(climb(rising, 8), climb(falling, 8, size=10)).episodes)
    assert rung_sentence(found, "raw") == (f"Raw: 0/8 ({LARGE}, S=5, ρ=0.15, amended, s); 3/8 ({LARGE}, S=10, ρ=0.15, "
                                           "amended, s).")
    assert "in 1 of the 2 configurations" in order_sentence(found, RUNGS)
    assert rung_sentence((), "raw") == "Raw: not run."
