"""Every reported value stands in the paper's text at the place that the row names."""

import os
import re
from pathlib import Path

import pytest

from artifact import paths
from artifact.errors import RequestError
from artifact.report.reported import Reported, load_reported, reported_ladders

HEADING = re.compile(r"(?P<number>[A-J]\.\d|\d(?:\.\d)?) [A-Z].{0,75}")
CAPTION = re.compile(r"(?P<name>(?:Table|Figure) \d+): ")
SHORTEST_PARAGRAPH = 60
# Appendix I begins in the middle in the copy at hand: its first run-in heading stands under E.3.
APPENDIX_I = "The record."


def _seed_text() -> str:
    named = os.environ.get("ARTIFACT_SEED_TEXT")
    candidates = [Path(named)] if named else sorted((paths.ROOT.parent / "shared" / "seeds").glob("000_*.txt"))
    for candidate in candidates:
        if candidate.is_file():
            return candidate.read_text(encoding="utf-8")
    pytest.skip("the paper's text is not at hand; name it in ARTIFACT_SEED_TEXT to check the transcription against it")


def places(text: str) -> dict[str, str]:
    """Place name -> paragraph: ``§5.2 ¶1`` counts the paragraphs of a section without captions and run-in heads."""
    found: dict[str, str] = {}
    section, paragraph = "", 0
    for line in filter(None, (line.strip() for line in text.split("\n"))):
        heading, caption = HEADING.fullmatch(line), CAPTION.match(line)
        if line == "References":
            break
        if caption:
            found[caption["name"]] = line
        elif heading or line == APPENDIX_I:
            section, paragraph = heading["number"] if heading else "I", 0
        elif len(line) >= SHORTEST_PARAGRAPH:
            paragraph += 1
            found[f"§{section} ¶{paragraph}"] = line
    return found


def occurs(value: str, passage: str) -> bool:
    """Whether a number stands in a passage as a number of its own, not as a part of another.

    Captions in the copy at hand have their formulas twice in a row (``128128``), and powers of ten are
    written in TeX (``3.7\\times 10^{-4}``).
    """
    power = re.fullmatch(r"([\d.]+)e-(\d+)", value)
    if power:
        pattern = rf"(?<![\d.]){re.escape(power[1])}\s*(?:\{{\\times\}}|\\times)\s*10\^\{{-{power[2]}\}}"
    else:
        escaped = re.escape(value)
        pattern = rf"(?<![\d.]){escaped}(?:{escaped})?(?!\d|[.,]\d)"
    return re.search(pattern, passage) is not None


@pytest.fixture(scope="module")
def passages() -> dict[str, str]:
    return places(_seed_text())


@pytest.mark.parametrize("row", load_reported(), ids=lambda row: f"{row.place}|{row.cell}|{row.arm}|{row.metric}")
def test_a_reported_value_stands_at_its_place(row: Reported, passages: dict[str, str]) -> None:
    assert row.place in passages
    passage = passages[row.place]
    if row.k is None:
        assert occurs(row.value, passage)
    else:
        assert occurs(str(row.k), passage)
        assert row.value == str(row.k)
        assert row.n is not None
        assert row.k <= row.n


def test_a_reported_number_of_trials_stands_in_the_paper(passages: dict[str, str]) -> None:
    everything = " ".join(passages.values())
    counted = [row for row in load_reported() if row.k is not None and not row.metric.startswith("over_block")]
    others = [row for row in load_reported() if row.n is not None and row not in counted]
    assert counted and [row for row in counted if not occurs(str(row.n), passages[row.place])] == []
    assert others and [row for row in others if not occurs(str(row.n), everything)] == []


@pytest.mark.parametrize(("value", "passage", "expected"), [
    ("0.38", "rises from $0.38$ with", True),
    ("0.38", "rises from $0.384$ with", False),
    ("38", "rises from $0.38$ with", False),
    ("128", "128128 episodes", True),
    ("64", "6464-seed subset", True),
    ("12", "128 episodes", False),
    ("3.7e-4", r"Holm $p\le 3.7\times 10^{-4}$", True),
    ("1.2e-5", r"p{=}1.2{\times}10^{-5}", True),
    ("1.2e-4", r"p{=}1.2{\times}10^{-5}", False),
    ("+0.04", "CI $[+0.04,+0.26]$", True),
    ("6", r"in $16/16$ cases", False),
])
def test_a_value_is_found_only_as_a_number_of_its_own(value: str, passage: str, expected: bool) -> None:
    assert occurs(value, passage) is expected


def test_no_value_is_transcribed_twice() -> None:
    keys = [(row.table, row.cell, row.arm, row.metric) for row in load_reported()]
    assert sorted(keys) == sorted(set(keys))


def test_the_reported_ladder_of_the_main_cell_is_whole_and_rises() -> None:
    ladders = reported_ladders(load_reported())
    main = next(ladder for (conditions, model), ladder in ladders.items()
                if model == "Qwen3-235B" and (conditions.size, conditions.brief, conditions.regime) ==
                (10, "amended", "no_think"))
    assert [main[arm].rate for arm in ("raw", "checklist", "directive", "enforcement")] == [0.38, 0.55, 0.84, 0.98]


def test_a_file_with_other_columns_is_refused_with_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "reported.csv"
    path.write_text("table,value\nTable 2,0.38\n")
    with pytest.raises(RequestError, match="must have the columns"):
        load_reported(path)
    with pytest.raises(RequestError, match="restore"):
        load_reported(tmp_path / "missing.csv")
