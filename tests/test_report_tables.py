"""Tables as LaTeX and as CSV: what they show, and that they show what is missing."""

import csv
import io
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from artifact.report import in_both_briefs, ladders, load_reported
from artifact.report.channel_table import channel_table
from artifact.report.comparison_table import comparison_table
from artifact.report.inventory_table import inventory_table
from artifact.report.ladder import Scoring, adjacent_contrasts, capability
from artifact.report.ladder_table import ladder_table
from artifact.report.provenance_table import seeds_text
from artifact.report.tables import Table, p_text
from artifact.report.tex import escape, macro_name
from artifact.taskstate import Channel
from report_frames import LARGE, RUNGS, SMALL, climb, episodes, scored

REPORTED = load_reported()


def rows_of(table: Table) -> list[dict[str, str]]:
    """The rows of a table's CSV."""
    return list(csv.DictReader(io.StringIO(table.csv())))


def measured(table: Table, **wanted: str) -> list[dict[str, str]]:
    """The measured rows of a CSV that have the given values."""
    return [row for row in rows_of(table) if row.get("source") != "reported"
            and all(row[column] == value for column, value in wanted.items())]


@pytest.mark.parametrize(("text", "tex"), [
    ("a_b", r"a\_b"), ("50%", r"50\%"), ("R&D", r"R\&D"), ("#W1", r"\#W1"), ("$5", r"\$5"), ("{x}", r"\{x\}"),
    ("~", r"\textasciitilde{}"), ("^", r"\textasciicircum{}"), ("\\input", r"\textbackslash{}input"),
    ("a<b>c", r"a\textless{}b\textgreater{}c"), ("two\nlines", "two lines"), ("§5.2 ¶1", r"\S{}5.2 \P{}1"),
])
def test_text_from_data_is_safe_in_tex(text: str, tex: str) -> None:
    assert escape(text) == tex


def test_a_hostile_name_reaches_no_table_unescaped() -> None:
    evil = r"m_%&#${}~^\end{tabular}"
    rows = [row for arm in RUNGS for row in episodes(arm, [True], model=evil, study="x_y")]
    logs = scored(rows)
    found = ladders(logs.episodes)
    for table in (ladder_table(found, REPORTED, "amended"), inventory_table(found), channel_table(logs.episodes),
                  comparison_table(logs, found, REPORTED)):
        assert escape(evil) in table.tex or evil not in table.tex
        assert table.tex.count(r"\end{tabular}") == 1
        assert "x_y" not in table.tex.replace(r"x\_y", "")


def test_macro_names_are_letters_alone_and_tell_numbers_apart() -> None:
    assert macro_name("rq1", "qwen2.5-coder-1.5b", "S5") == "RqOneQwenTwoPointFiveCoderOnePointFiveBSFive"
    assert macro_name(0.15) != macro_name(15)
    with pytest.raises(ValueError, match="no macro"):
        macro_name("--")


def test_a_rung_shows_its_rate_count_and_interval_and_the_best_one_is_bold() -> None:
    found = ladders(scored(climb(dict(zip(RUNGS, (0, 2, 5, 7), strict=True)), 8)).episodes)
    table = ladder_table(found, REPORTED, "amended")
    first = next(line for line in table.tex.splitlines() if line.startswith(LARGE))
    assert r"\textbf{0.88} {\footnotesize (7/8)}" in first
    assert first.count(r"\textbf") == 1
    assert "[0.53, 0.98]" in table.tex
    row = measured(table, arm="enforcement")[0]
    assert (row["k"], row["n"], row["rate"], row["best"]) == ("7", "8", "0.875", "true")


def test_rungs_that_tie_are_all_best_and_a_lone_rung_is_not() -> None:
    tied = ladders(scored(climb({"raw": 3, "checklist": 3}, 4)).episodes)[0]
    alone = ladders(scored(climb({"raw": 3}, 4)).episodes)[0]
    assert tied.best() == {"raw", "checklist"}
    assert alone.best() == frozenset()


def test_a_cell_without_logs_reads_not_run() -> None:
    found = in_both_briefs(ladders(scored(climb({"raw": 1}, 4)).episodes))
    amended, original = (ladder_table(found, REPORTED, brief) for brief in ("amended", "original"))
    assert amended.tex.count("not run") == 3
    assert original.tex.count("not run") == 4
    assert {row["rate"] for row in measured(original)} == {"not run"}
    assert not re.search(r"\bnan\b", amended.tex + original.tex + amended.csv() + original.csv(), re.IGNORECASE)


def test_tables_of_no_logs_at_all_say_so() -> None:
    logs = scored()
    for table in (ladder_table((), REPORTED, "amended"), inventory_table(()), channel_table(logs.episodes),
                  comparison_table(logs, (), REPORTED)):
        assert "not run" in table.tex or "nothing measured" in table.tex


def test_excluded_episodes_are_in_plain_sight_and_neither_success_nor_failure() -> None:
    rows = [row for arm in RUNGS for row in episodes(arm, [True, False, None, None])]
    found = ladders(scored(rows).episodes)
    table, inventory = ladder_table(found, REPORTED, "amended"), inventory_table(found)
    assert {(row["k"], row["n"], row["excluded"]) for row in measured(table)} == {("1", "2", "2")}
    assert "left out of k and n: 8 here" in table.tex
    contrast = measured(inventory, scoring="primary", row="raw->checklist")[0]
    assert (contrast["pairs"], contrast["pairs_excluded"]) == ("2", "2")
    assert "2 excl." in inventory.tex


def test_a_rung_that_infrastructure_ended_altogether_is_told_from_one_that_was_not_run() -> None:
    found = ladders(scored(episodes("raw", [None]), episodes("checklist", [True])).episodes)
    assert "none completed" in ladder_table(found, REPORTED, "amended").tex


def test_the_papers_values_stand_in_a_block_of_their_own_with_their_model() -> None:
    table = ladder_table((), REPORTED, "amended")
    block = table.tex.split("Reported by the original paper")[1]
    assert "Qwen3-235B & S=10, $\\rho$=0.15 & 0.38 & 0.55 & 0.84 & 0.98" in block
    assert {row["place"] for row in rows_of(table)} >= {"§5.2 ¶1"}


def test_variants_of_an_arm_are_no_rungs() -> None:
    rows = [*episodes("raw", [True, True]), *episodes("raw", [False, False], options='{"state":"oracle"}')]
    assert ladders(scored(rows).episodes)[0].proportion("raw").k == 2


def test_the_family_of_a_contrast_is_its_study_within_a_scoring() -> None:
    six = climb(dict(zip(RUNGS, (0, 6, 6, 6), strict=True)), 6)
    alone = adjacent_contrasts(ladders(scored(six).episodes))
    beside = adjacent_contrasts(ladders(scored(six, climb(dict.fromkeys(RUNGS, 3), 6, study="other")).episodes))
    larger = adjacent_contrasts(ladders(scored(six, climb(dict.fromkeys(RUNGS, 3), 6, size=10)).episodes))
    p = 2 * 0.5**6
    assert [tests[0].p_holm for tests in alone.values()] == pytest.approx([3 * p])
    assert next(tests for c, tests in beside.items() if c.study == "s")[0].p_holm == pytest.approx(3 * p)
    assert next(tests for c, tests in larger.items() if c.size == 5)[0].p_holm == pytest.approx(6 * p)


def test_the_inventory_shows_both_scorings_with_discordant_pairs() -> None:
    rows = climb(dict(zip(RUNGS, (0, 0, 2, 8), strict=True)), 8)
    for row in rows:
        row["decline_aware"] = row["arm"] != "raw"
    table = inventory_table(ladders(scored(rows).episodes))
    primary = measured(table, scoring="primary", row="directive->enforcement")[0]
    aware = measured(table, scoring="decline-aware", row="raw->checklist")[0]
    assert (primary["only_lower"], primary["only_upper"], primary["p"]) == ("0", "6", "0.03125")
    assert (aware["only_lower"], aware["only_upper"]) == ("0", "8")
    assert "0/6 {\\footnotesize 0.031 (0.094)}" in table.tex


def test_channels_are_counted_over_completed_episodes_under_both_scorings() -> None:
    rows = episodes("raw", [False, False, None], channels={Channel.RE_EXECUTION: 3}, da_re_execution=1,
                    refused_bookings=2)
    record = measured(channel_table(scored(rows).episodes), arm="raw")[0]
    assert (record["n"], record["excluded"]) == ("2", "1")
    assert (record["re_execution"], record["da_re_execution"], record["omission"]) == ("6", "2", "0")
    assert record["refused_bookings"] == "4"
    assert record["right_turns"] == str(2 * 41)


def test_reported_and_measured_meet_only_under_the_same_conditions() -> None:
    logs = scored(climb(dict(zip(RUNGS, (1, 2, 3, 6), strict=True)), 6, size=10))
    rows = rows_of(comparison_table(logs, ladders(logs.episodes), REPORTED))
    of_strict = [row for row in rows if row["metric"] == "strict"]
    here = [row for row in of_strict if ".S10.d0.15.procurement.amended.no_think" in row["reported_cell"]]
    assert {row["measured_text"] for row in here if row["arm"] == "directive"} == {"0.50 (3/6)"}
    assert {row["measured"] for row in of_strict if ".S15." in row["reported_cell"]} == {"not run"}


def test_agents_are_ordered_by_their_size_and_not_by_their_name() -> None:
    names = ["Qwen3-235B", "qwen2.5-coder-1.5b", "smollm2-135m", "DeepSeek-V4-Pro", "qwen2.5-coder-0.5b", "Qwen3.6-35B"]
    assert sorted(names, key=capability) == [
        "smollm2-135m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "Qwen3.6-35B", "Qwen3-235B", "DeepSeek-V4-Pro"]


def test_seeds_are_written_as_the_command_line_reads_them() -> None:
    assert seeds_text([103, 100, 101, 102, 110]) == "100:104,110"


@pytest.mark.parametrize(("p", "text"), [(None, "not run"), (1.0, "1"), (0.12345, "0.12"), (0.0312, "0.031"),
                                         (0.0004, "<0.001")])
def test_a_p_value_is_printed_shortly(p: float | None, text: str) -> None:
    assert p_text(p) == text


def test_two_builds_give_the_same_bytes(tmp_path: Path) -> None:
    logs = scored(climb(dict(zip(RUNGS, (0, 2, 5, 7), strict=True)), 8, model=SMALL, state_model=LARGE))
    written = []
    for place in ("one", "two"):
        found = ladders(logs.episodes.sample(frac=1, random_state=len(written)))  # in whatever order they are read
        for table in (ladder_table(found, REPORTED, "amended"), inventory_table(found), channel_table(logs.episodes)):
            table.write(tmp_path / place)
        written.append({path.name: path.read_bytes() for path in sorted((tmp_path / place).iterdir())})
    assert len(written[0]) == 6
    assert written[0] == written[1]


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs TeX; run_all.sh says what to install")
def test_the_fragments_are_valid_tex(tmp_path: Path) -> None:
    logs = scored(climb(dict(zip(RUNGS, (0, 2, 5, 7), strict=True)), 8, model=r"m_%&#${}~^\x"))
    found = in_both_briefs(ladders(logs.episodes))
    tables = (*(ladder_table(found, REPORTED, brief) for brief in ("amended", "original")), inventory_table(found),
              channel_table(logs.episodes), comparison_table(logs, found, REPORTED))
    body = "\n\n".join(table.tex for table in tables)
    preamble = r"\documentclass{article}\usepackage{booktabs,array}\usepackage[T1]{fontenc}\begin{document}"
    (tmp_path / "t.tex").write_text(preamble + "\n" + body + "\n\\end{document}\n", encoding="utf-8")
    run = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"], cwd=tmp_path, check=False,
                         capture_output=True, text=True, errors="replace")
    assert run.returncode == 0, run.stdout[-2000:]


def test_scorings_have_names_that_the_paper_uses() -> None:
    assert [scoring.label for scoring in Scoring] == ["primary", "decline-aware"]
