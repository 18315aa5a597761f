"""Claims: each test decides as it says, each verdict is reachable, and too little evidence gives none."""

import re
from pathlib import Path
from typing import Any

import pytest

from artifact.errors import RequestError
from artifact.report import Claim, ClaimVerdict, Scoring, claims_table, claims_text, evaluate, load_claims
from artifact.report.claim_tests import TESTS
from artifact.report.claims import ClaimTest
from artifact.report.claims_table import claims_detail
from artifact.report.ladder import ADJACENT, Configuration
from artifact.report.scored import ScoredLogs
from artifact.taskstate import Channel
from report_frames import LARGE, RUNGS, SMALL, climb, episodes, scored, turn

HOLDS, DIFFERS, NOT_TESTED = ClaimVerdict.HOLDS, ClaimVerdict.DIFFERS, ClaimVerdict.NOT_TESTED


def claim(test: ClaimTest, *arms: str, **needs: Any) -> Claim:
    """A claim that the given test decides."""
    return Claim("c", 2, "text", "§5.2 ¶1", "0.5", test, arms, **needs)


def verdict(subject: Claim, logs: ScoredLogs, **where: object) -> ClaimVerdict:
    """The verdict on the only configuration, or on the one that has the given fields."""
    results = [result for result in evaluate([subject], logs) if result.configuration is None
               or all(getattr(result.configuration, name) == value for name, value in where.items())]
    assert len(results) == 1
    return results[0].verdict


def ladder(*successes: int, n: int = 8, **columns: Any) -> list[dict[str, Any]]:
    """Rows of a ladder with these successes from rung to rung."""
    return climb(dict(zip(RUNGS, successes, strict=True)), n, **columns)


def errors(arm: str, *, n: int = 6, **channels: int) -> ScoredLogs:
    """Failed episodes with these violations each."""
    return scored(episodes(arm, [False] * n, channels={Channel(name): count for name, count in channels.items()}))


@pytest.mark.parametrize(("test", "k", "expected"), [
    (ClaimTest.AT_MOST, 4, HOLDS), (ClaimTest.AT_MOST, 5, DIFFERS), (ClaimTest.AT_LEAST, 4, HOLDS),
    (ClaimTest.AT_LEAST, 3, DIFFERS), (ClaimTest.BELOW, 3, HOLDS), (ClaimTest.BELOW, 4, DIFFERS),
])
def test_a_bound_is_compared_with_the_measured_rate(test: ClaimTest, k: int, expected: ClaimVerdict) -> None:
    assert verdict(claim(test, "raw", bound=0.5), scored(climb({"raw": k}, 8))) is expected


def test_too_few_episodes_decide_nothing_whatever_they_show() -> None:
    assert verdict(claim(ClaimTest.AT_MOST, "raw", bound=0.5), scored(climb({"raw": 0}, 5))) is NOT_TESTED
    assert verdict(claim(ClaimTest.AT_MOST, "raw", bound=0.5), scored(climb({"raw": 0}, 6))) is HOLDS


def test_episodes_that_infrastructure_ended_are_no_evidence() -> None:
    logs = scored(episodes("raw", [False] * 5 + [None] * 20))
    assert verdict(claim(ClaimTest.AT_MOST, "raw", bound=0.5), logs) is NOT_TESTED


@pytest.mark.parametrize(("successes", "expected"), [((0, 2, 2, 7), HOLDS), ((3, 2, 5, 7), DIFFERS)])
def test_the_order_of_rungs(successes: tuple[int, ...], expected: ClaimVerdict) -> None:
    assert verdict(claim(ClaimTest.NON_DECREASING, *RUNGS), scored(ladder(*successes))) is expected


@pytest.mark.parametrize(("successes", "n", "expected"), [
    ((0, 0, 0, 16), 16, HOLDS), ((0, 0, 12, 16), 16, DIFFERS), ((0, 0, 16, 0), 16, DIFFERS),
    # Six pairs, all one way: p = 0.031, but three tests are corrected for, so no outcome could have separated.
    ((0, 0, 0, 6), 6, NOT_TESTED),
])
def test_a_separation_needs_direction_and_adjusted_p(
        successes: tuple[int, ...], n: int, expected: ClaimVerdict) -> None:
    logs = scored(ladder(*successes, n=n))
    assert verdict(claim(ClaimTest.SEPARATES, "directive", "enforcement"), logs) is expected


@pytest.mark.parametrize(("aware", "expected"), [((10, 16), HOLDS), ((0, 16), DIFFERS)])
def test_a_missing_separation_is_looked_for_under_the_scoring_that_is_claimed(
        aware: tuple[int, int], expected: ClaimVerdict) -> None:
    rows = ladder(0, 0, 0, 16, n=16)
    for row in rows:
        limit = dict(zip(("directive", "enforcement"), aware, strict=True)).get(row["arm"], 0)
        row["decline_aware"] = row["seed"] - 100 < limit
    subject = claim(ClaimTest.NOT_SEPARATED, "directive", "enforcement", scoring=Scoring.DECLINE_AWARE)
    assert verdict(subject, scored(rows)) is expected


@pytest.mark.parametrize(("successes", "expected"), [((0, 1, 4, 7), HOLDS), ((0, 5, 6, 7), DIFFERS)])
def test_the_larger_of_two_steps(successes: tuple[int, ...], expected: ClaimVerdict) -> None:
    subject = claim(ClaimTest.LARGER_STEP, "raw", "checklist", "enforcement")
    assert verdict(subject, scored(ladder(*successes))) is expected


@pytest.mark.parametrize(("channels", "expected"), [({"omission": 2}, HOLDS), ({"superseded": 1}, DIFFERS)])
def test_a_closed_channel_is_empty(channels: dict[str, int], expected: ClaimVerdict) -> None:
    subject = claim(ClaimTest.ZERO, "enforcement", channels=(Channel.RE_EXECUTION, Channel.SUPERSEDED))
    assert verdict(subject, errors("enforcement", **channels)) is expected


@pytest.mark.parametrize(("channels", "expected"), [
    ({"re_execution": 3, "omission": 2}, HOLDS), ({"re_execution": 1, "omission": 2}, DIFFERS), ({}, NOT_TESTED),
])
def test_a_leading_channel_has_the_most_violations(channels: dict[str, int], expected: ClaimVerdict) -> None:
    subject = claim(ClaimTest.LEADS, "raw", channels=(Channel.RE_EXECUTION,))
    assert verdict(subject, errors("raw", **channels)) is expected


@pytest.mark.parametrize(("channels", "expected"), [
    ({"omission": 3, "premature": 1, "unrequested": 1}, HOLDS),
    ({"omission": 2, "premature": 1, "unrequested": 1}, DIFFERS),
])
def test_a_majority_is_more_than_half(channels: dict[str, int], expected: ClaimVerdict) -> None:
    subject = claim(ClaimTest.MAJORITY, "raw", channels=(Channel.OMISSION,))
    assert verdict(subject, errors("raw", **channels)) is expected


@pytest.mark.parametrize(("original", "expected"), [(1, HOLDS), (4, DIFFERS), (None, NOT_TESTED)])
def test_the_brief_is_compared_on_the_same_configuration(original: int | None, expected: ClaimVerdict) -> None:
    groups = [climb({"raw": 4}, 8)] + ([] if original is None else [climb({"raw": original}, 8, brief="original")])
    assert verdict(claim(ClaimTest.BRIEF_LOWERS, "raw"), scored(*groups)) is expected


@pytest.mark.parametrize(("original", "expected"), [(9, HOLDS), (12, DIFFERS)])
def test_a_rung_that_the_brief_leaves_alone_moves_at_most_by_the_bound(original: int, expected: ClaimVerdict) -> None:
    logs = scored(climb({"directive": 10}, 20), climb({"directive": original}, 20, brief="original"))
    assert verdict(claim(ClaimTest.BRIEF_MOVES_AT_MOST, "directive", bound=0.06), logs) is expected


@pytest.mark.parametrize(("small", "state", "expected"), [
    (1, LARGE, HOLDS), (4, LARGE, DIFFERS), (1, SMALL, NOT_TESTED)])
def test_agents_are_compared_only_behind_the_same_state_model(small: int, state: str, expected: ClaimVerdict) -> None:
    logs = scored(climb({"raw": small}, 8, model=SMALL, state_model=state), climb({"raw": 4}, 8))
    assert verdict(claim(ClaimTest.CLIMBS, "raw"), logs, model=LARGE) is expected
    assert verdict(claim(ClaimTest.CLIMBS, "raw"), logs, model=SMALL) is NOT_TESTED


@pytest.mark.parametrize(("small", "expected"), [(19, HOLDS), (10, DIFFERS)])
def test_a_flat_rung_stays_within_the_bound(small: int, expected: ClaimVerdict) -> None:
    logs = scored(climb({"enforcement": small}, 20, model=SMALL, state_model=LARGE), climb({"enforcement": 20}, 20))
    assert verdict(claim(ClaimTest.FLAT, "enforcement", bound=0.05), logs, model=LARGE) is expected


@pytest.mark.parametrize(("kind", "expected"), [("done", HOLDS), ("eligible", DIFFERS)])
def test_an_error_against_a_directive_executes_the_step_it_forbade(kind: str, expected: ClaimVerdict) -> None:
    rows = episodes("directive", [False] * 6, channels={Channel.RE_EXECUTION: 1})
    turns = [turn("directive", row["seed"], 0, right=False, directive_kind=kind, directive_step="s1") for row in rows]
    assert verdict(claim(ClaimTest.AGAINST_DIRECTIVE, "directive"), scored(rows, turns=turns)) is expected


@pytest.mark.parametrize(("defects", "matched", "expected"), [
    (1, "s1", HOLDS), (0, "s1", DIFFERS), (0, "s2", NOT_TESTED)])
def test_an_over_block_is_a_wrong_state_and_not_a_wrong_match(
        defects: int, matched: str, expected: ClaimVerdict) -> None:
    rows = episodes("enforcement", [False] * 6, defects=defects)
    turns = [turn("enforcement", 100, 0, directive_kind="blocked", directive_step=matched, executed=(), right=False)]
    assert verdict(claim(ClaimTest.OVER_BLOCKS_FLAGGED, "enforcement"), scored(rows, turns=turns)) is expected


@pytest.mark.parametrize(("tokens", "expected"), [(5000, HOLDS), (10, DIFFERS)])
def test_the_dearest_rung_uses_the_most_tokens(tokens: int, expected: ClaimVerdict) -> None:
    rows = ladder(0, 0, 0, 0)
    for row in rows:
        row["prompt_tokens"] = tokens if row["arm"] == "checklist" else 1000
    assert verdict(claim(ClaimTest.DEAREST, "checklist"), scored(rows)) is expected


@pytest.mark.parametrize(("agreeing", "expected"), [(6, HOLDS), (5, DIFFERS)])
def test_the_matcher_is_judged_by_the_requests_that_name_a_step(agreeing: int, expected: ClaimVerdict) -> None:
    rows = episodes("directive", [True] * 6)
    turns = [turn("directive", row["seed"], 0, matched=True, matched_step="s1" if index < agreeing else "s2")
             for index, row in enumerate(rows)]
    turns += [turn("directive", 100, 1, step=None, matched_step=None, kind="filler")]
    subject = claim(ClaimTest.AT_LEAST, "directive", metric="matcher_agreement", bound=0.9)
    assert verdict(subject, scored(rows, turns=turns)) is expected


def test_a_claim_without_logs_is_not_tested_and_says_why() -> None:
    (result,) = evaluate([claim(ClaimTest.AT_MOST, "raw", where={"regime": "think"})], scored(ladder(0, 0, 0, 0)))
    assert (result.verdict, result.configuration) == (NOT_TESTED, None)
    assert result.measured == "no logs under these conditions"


def test_every_kind_of_test_is_implemented_and_used() -> None:
    assert set(TESTS) == set(ClaimTest)
    assert {subject.test for subject in load_claims()} == set(ClaimTest)


def test_the_shipped_claims_are_well_formed() -> None:
    claims = load_claims()
    assert len({subject.id for subject in claims}) == len(claims)
    for subject in claims:
        assert set(subject.arms) <= set(RUNGS)
        assert set(subject.where) <= set(Configuration.__dataclass_fields__)
        assert re.fullmatch(r"§[A-Z0-9.]+ ¶\d+", subject.place)
        if subject.test in (ClaimTest.SEPARATES, ClaimTest.NOT_SEPARATED):
            assert subject.arms in ADJACENT


def test_the_shipped_claims_can_all_be_evaluated_on_a_full_ladder() -> None:
    logs = scored(ladder(0, 2, 5, 14, n=16), ladder(0, 0, 4, 14, n=16, model=SMALL, state_model=LARGE),
                  ladder(0, 2, 5, 14, n=16, brief="original"))
    results = evaluate(load_claims(), logs)
    assert {result.verdict for result in results} == set(ClaimVerdict)
    assert all(result.measured for result in results)


def test_a_verdict_names_the_model_that_it_was_reached_on() -> None:
    logs = scored(ladder(0, 0, 0, 16, n=16, model=SMALL, state_model=LARGE))
    results = evaluate(load_claims(), logs)
    decided = [result for result in results if result.verdict is not NOT_TESTED]
    assert decided
    assert all(result.configuration is not None and result.configuration.model == SMALL for result in decided)
    overview, text = claims_table(results), claims_text(results)
    assert f"A: {SMALL} (state: {LARGE})" in overview.tex
    for line in text.splitlines():
        if line.strip().startswith(("holds", "differs")):
            assert f"({SMALL} (state: {LARGE})" in line
    assert "state: coder-1.5b" in claims_detail(results, 2).tex


def test_a_malformed_claims_file_is_refused_with_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text('[[claim]]\nid = "x"\n')
    with pytest.raises(RequestError, match="correct that entry"):
        load_claims(path)
    path.write_text("[[claim]\n")
    with pytest.raises(RequestError, match="no TOML"):
        load_claims(path)
    with pytest.raises(RequestError, match="restore"):
        load_claims(tmp_path / "none.toml")
