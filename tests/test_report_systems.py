"""Prior systems on the ladder: every row complete, every name and citation really in the paper's text."""

import os
import re
from pathlib import Path

import pytest

from artifact import paths
from artifact.errors import RequestError
from artifact.report.ladder import RUNGS
from artifact.report.systems import load_systems, systems_table

SYSTEMS = load_systems()
REFERENCE = re.compile(r"^\d+\. (?P<who>.+?) \((?P<year>\d{4}[a-z]?)\) ", re.MULTILINE)


@pytest.fixture(scope="module")
def text() -> str:
    """The paper's text."""
    named = os.environ.get("ARTIFACT_SEED_TEXT")
    candidates = [Path(named)] if named else sorted((paths.ROOT.parent / "shared" / "seeds").glob("000_*.txt"))
    for candidate in candidates:
        if candidate.is_file():
            return candidate.read_text(encoding="utf-8")
    pytest.skip("the paper's text is not at hand; name it in ARTIFACT_SEED_TEXT to check the systems against it")


def sections(text: str) -> str:
    """Sections 2 and C."""
    related = text[text.index("2 Related Work"):text.index("3 Task State and the State-Coupling Ladder")]
    return related + text[text.index("C.1 Agent memory"):text.index("D.1 Ladder inventory")]


def test_no_system_is_judged_twice_and_none_is_both_judged_and_left_out() -> None:
    cites, names = [system.cite for system in SYSTEMS.system], [system.name for system in SYSTEMS.system]
    assert len(set(cites)) == len(cites) and len(set(names)) == len(names)
    assert not set(cites) & SYSTEMS.left_out.keys()


def test_what_stands_at_a_rung_has_what_the_rung_takes() -> None:
    for system in SYSTEMS.system:
        if system.closest_arm == "raw":
            assert (system.owns_state, system.directs, system.enforces) == ("no", "no", "no"), system.name
        if system.closest_arm == "directive":
            assert system.directs != "no", system.name
    assert {system.closest_arm for system in SYSTEMS.system} == set(RUNGS)


def test_a_reason_is_one_sentence_of_its_own() -> None:
    reasons = [system.reason for system in SYSTEMS.system]
    assert all(reason.endswith(".") and 30 <= len(reason) <= 160 for reason in reasons)
    assert len(set(reasons)) == len(reasons)


def test_each_system_is_named_in_the_papers_text(text: str) -> None:
    ours = {"Agent Workflow Memory", "Commitment ontology", "Commitment protocols", "Generative Agents"}
    lowered = text.lower().replace("-", " ")
    missing = [system.name for system in SYSTEMS.system if system.name.lower().replace("-", " ") not in lowered]
    assert set(missing) <= ours


def test_what_the_two_sections_cite_is_judged_or_left_out_with_a_reason(text: str) -> None:
    passages = sections(text)
    references = {f"{match['who']}, {match['year']}" for match in REFERENCE.finditer(text)}
    cited = {reference for reference in references if reference in passages}
    assert len(cited) > 60
    assert {system.cite for system in SYSTEMS.system} | SYSTEMS.left_out.keys() == cited


def test_the_table_has_a_row_a_system_and_the_reasons_beside_it() -> None:
    table = systems_table(SYSTEMS.system)
    assert table.tex.count(" \\\\\n") == 1 + len(RUNGS) + len(SYSTEMS.system)
    assert table.csv().count("\n") == 1 + len(SYSTEMS.system)
    assert SYSTEMS.system[0].reason not in table.tex


ENTRY = """[[system]]
name = "S"
cite = "A, 2026"
owns_state = "yes"
verifies_receipts = "no"
directs = "no"
enforces = "{enforces}"
from_brief = "no"
closest_arm = "{arm}"
reason = "Because."
"""


@pytest.mark.parametrize(("content", "message"), [
    (ENTRY.format(enforces="maybe", arm="raw"), "system.0.enforces"),
    (ENTRY.format(enforces="yes", arm="raw"), "stands at raw"),
    (ENTRY.format(enforces="no", arm="blocked"), "closest_arm"),
    (ENTRY.format(enforces="no", arm="raw").replace('reason = "Because."', ""), "system.0.reason"),
    ("[[system]", "no TOML"),
])
def test_an_incomplete_or_contradictory_entry_is_refused_in_a_sentence(
    content: str, message: str, tmp_path: Path,
) -> None:
    path = tmp_path / "systems.toml"
    path.write_text(content)
    with pytest.raises(RequestError, match=message):
        load_systems(path)
    with pytest.raises(RequestError, match="restore"):
        load_systems(tmp_path / "missing.toml")
