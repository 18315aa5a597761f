"""The commands `run` and `studies` with named studies: what they print, what they refuse."""

import json
import re

import pytest

from artifact.cli.main import main
from artifact.log import iter_logs
from artifact.log.probes import ProbeVariant
from artifact.runner.probe_plan import SMOKE_SAMPLES
from artifact.runner.studies import named_studies
from artifact.runner.trap_turns import traps_of
from test_cli import refused

BOOK = ["--model", "scripted:always-book", "--no-fsync"]


def run(capsys, tmp_path, *arguments) -> str:
    assert main(["run", *BOOK, "--runs", str(tmp_path), *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_a_named_study_runs_its_smoke_size_under_a_name_of_its_own_and_is_not_run_twice(capsys, tmp_path):
    assert "release_smoke: 8 episodes (8 completed), 8 of them now" in run(capsys, tmp_path, "--study", "release",
                                                                           "--smoke")
    assert "0 of them now" in run(capsys, tmp_path, "--study", "release", "--smoke")
    assert not (tmp_path / "release").exists()


def test_options_narrow_a_named_study_and_keep_the_rest_of_it(capsys, tmp_path):
    out = run(capsys, tmp_path, "--study", "brief", "--sizes", 5, "--seeds", "100", "--arms", "raw,enforcement")
    assert "brief: 2 episodes (2 completed)" in out
    header = json.loads(next(tmp_path.rglob("raw/100.jsonl")).read_text().splitlines()[0])
    assert (header["cell"]["brief"], header["cell"]["size"], header["study"]) == ("original", 5, "brief")


def test_a_study_of_ones_own_takes_a_schedule_into_its_cell_and_the_canonical_one_is_not_written(capsys, tmp_path):
    own = ["--study", "mine", "--sizes", 5, "--seeds", "100", "--arms", "raw"]
    run(capsys, tmp_path, *own)
    run(capsys, tmp_path, *own, "--schedule", "spoofed,ambiguous=0.5")
    canonical, varied = sorted(tmp_path.rglob("100.jsonl"), key=lambda path: len(str(path)))
    assert "schedule" not in json.loads(canonical.read_text().splitlines()[0])["cell"]
    assert json.loads(varied.read_text().splitlines()[0])["cell"]["schedule"] == "ambiguous=0.5,spoofed"
    assert varied.parent.parent.name == f"{canonical.parent.parent.name}.ambiguous_0.5_spoofed"


def test_all_studies_are_listed_before_they_start_and_go_on_from_wherever_they_stopped(capsys, tmp_path):
    run(capsys, tmp_path, "--study", "release", "--smoke")
    out = run(capsys, tmp_path, "--study", "all", "--smoke", "--seeds", "100")
    listing, _, done = out.partition("\nall ")
    rows = {line.split()[0]: line.split()[1:] for line in listing.splitlines()[1:]}
    assert list(rows) == [f"{name}_smoke" for name in (*named_studies(), "trap_probe")]
    assert rows.pop("trap_probe_smoke")[:2] == ["comes", "last,"]
    assert rows["release_smoke"][:4] == ["4", "4", "4", "0"]
    # The study of memory is left out where its extra isn't installed.
    left_out = [name for name, row in rows.items() if row[:2] == ["left", "out:"]]
    assert left_out in ([], ["memory_smoke"])
    assert all(re.fullmatch(r"\d+\.\d", row[4]) for name, row in rows.items() if name not in left_out)
    assert "release_smoke: 4 episodes (4 completed), 0 of them now" in done
    assert f"ladder_smoke: 4 episodes (4 completed), {4} of them now" in done
    assert "trap_probe_smoke: 1 episodes (1 completed), 1 of them now" in done
    again = run(capsys, tmp_path, "--study", "all", "--smoke", "--seeds", "100")
    assert re.search(r"^trap_probe_smoke +1 +1 +1 +0 +0\.0$", again, re.MULTILINE)
    assert again.count("0 of them now") == len(named_studies()) + 1 - len(left_out)


def test_all_lists_the_calls_of_the_trap_turn_probe_and_leaves_it_out_where_no_trap_was_sprung(capsys, tmp_path):
    few = ["--smoke", "--seeds", "100", "--arms", "raw", "--sizes", 5]
    run(capsys, tmp_path, "--study", "ladder", *few)
    traps = len(traps_of(next(iter_logs([tmp_path / "ladder_smoke"]))))
    listing = run(capsys, tmp_path, "--study", "all", *few)
    calls = traps * len(ProbeVariant) * (SMOKE_SAMPLES + 1)
    assert re.search(rf"^trap_probe_smoke +1 +1 +0 +{calls} +\d", listing, re.MULTILINE)
    nothing = ["run", "--model", "scripted:never-book", "--no-fsync", "--runs", str(tmp_path / "none")]
    assert main([*nothing, "--study", "all", *map(str, few)]) == 0
    assert "trap_probe_smoke: left out: there is nothing to probe" in capsys.readouterr().out


def test_hours_are_unknown_without_a_log_of_the_model(capsys, tmp_path):
    out = run(capsys, tmp_path, "--study", "all", "--smoke", "--seeds", "100", "--arms", "raw")
    assert "unknown: no log of this model tells its pace" in out


def test_all_leaves_out_what_these_models_cannot_run_and_says_why(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("artifact.generator.phrasings.writers", lambda domain: ())
    out = run(capsys, tmp_path, "--study", "all", "--smoke", "--seeds", "100", "--arms", "raw")
    assert re.search(r"wording_smoke +left out: every paraphrase cache", out)
    assert "release_smoke: 1 episodes" in out


def test_the_list_of_studies_names_each_its_place_and_what_lies_here(capsys, tmp_path):
    run(capsys, tmp_path, "--study", "one_step", "--seeds", "100:102")
    assert main(["studies", "--runs", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    for name, study in named_studies().items():
        assert re.search(rf"^{name} +{study.title}$", out, re.MULTILINE)
        assert study.paper in out
    assert "run here: 8 episodes of scripted-always-book" in out


@pytest.mark.parametrize(("changes", "words"), [
    (["--study", "t", "--smoke"], ["'t' is no named study", "artifact studies"]),
    (["--study", "t", "--schedule", "shuffled"], ["'shuffled'", "held_out"]),
    (["--study", "t", "--schedule", "ambiguous=7"], ["ambiguous=7", "7.0"]),
    (["--study", "t", "--schedule", "held_out=nobody"], ["'nobody'", "artifact paraphrase"]),
    (["--study", "wording", "--arms", "raw:mode=replace"], ["mode"]),
    (["--study", "ladder", "--sizes", "19", "--seeds", "100"], ["19", "18"]),
])
def test_a_bad_request_about_a_study_is_one_sentence(capsys, tmp_path, changes, words):
    refused(capsys, ["run", *BOOK, "--runs", tmp_path, *changes], 2, *words)
    assert not list(tmp_path.rglob("*.jsonl"))


def test_a_study_is_not_resumed_over_logs_of_other_options(capsys, tmp_path):
    run(capsys, tmp_path, "--study", "release", "--smoke")
    log = next(tmp_path.rglob("raw/100.jsonl"))
    unsealed = re.sub(rb',"sum":"[0-9a-f]{16}"}', b"}", log.read_bytes())
    log.write_bytes(unsealed.replace(b'"domain":"release"', b'"domain":"procurement"', 1))
    refused(capsys, ["run", *BOOK, "--runs", tmp_path, "--study", "release", "--smoke"], 2, "cell.domain",
            "made by another run", "--study")


def test_generate_shows_a_variant(capsys):
    assert main(["generate", "--seed", "100", "--size", "5", "--schedule", "ambiguous=1", "--show"]) == 0
    assert re.search(r"^ *\d+  ambiguous +- +.* either the .* or the ", capsys.readouterr().out, re.MULTILINE)
    refused(capsys, ["generate", "--seed", "1", "--schedule", "x"], 2, "'x'")
    refused(capsys, ["generate", "--seed", "1", "--schedule", "held_out"], 2, "paraphrase cache")
