"""Tables of the offline analyses and of variants, on frames and logs made by hand."""

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from artifact.log import ArmIdentity
from artifact.log.probes import ProbeRecord, ProbeSource
from artifact.report import ScoredLogs, load_reported, load_scored
from artifact.report.attribution_table import attribution_table
from artifact.report.channel_rates_table import channel_rates_table
from artifact.report.compile_table import compile_table
from artifact.report.corruption_table import corruption_table
from artifact.report.grid import Column
from artifact.report.ladder import configuration_of
from artifact.report.measures import MEASURES
from artifact.report.models_table import models_table
from artifact.report.obedience_table import obedience_table
from artifact.report.overhead_table import COLUMNS as OVERHEAD
from artifact.report.overhead_table import overhead_table
from artifact.report.samples import samples
from artifact.report.scored import Header
from artifact.report.size_table import size_table
from artifact.report.tables import Table
from artifact.report.validator_gate import COLUMNS as VALIDATOR
from artifact.report.validator_gate import validator_gate_table
from artifact.report.variant_studies import (
    ALL,
    ASKING,
    BRIEF_CONTROL,
    DOMAIN,
    HEALING,
    LEDGER,
    NOTICE,
    ONE_STEP,
    SPOOFING,
    SURFACES,
    WORDING,
)
from artifact.report.variants import Variant, comparisons
from artifact.taskstate import Channel, Revision, TaskGraph
from episode_logs import GRAPH, always_book, but, every_kind, perfect, play, save
from gate_logs import play_gate
from report_frames import RUNGS, climb, episodes, scored, turn

REPORTED = load_reported()
OF_CELLS = (compile_table, overhead_table, channel_rates_table, obedience_table, attribution_table,
            validator_gate_table, corruption_table, size_table)


def rows_of(table: Table) -> list[dict[str, str]]:
    """The rows of a table's CSV."""
    return list(csv.DictReader(io.StringIO(table.csv())))


def matched(step: str | None, *, redo: bool = False) -> dict[str, Any]:
    """The columns of a turn on which the matcher named a step, or none."""
    return {"matched": True, "matched_step": step, "matched_redo": redo}


def row_of(table: Table, **wanted: str) -> dict[str, str]:
    """The one row that has the given values."""
    (found,) = [row for row in rows_of(table) if all(row[column] == value for column, value in wanted.items())]
    return found


@pytest.fixture
def gates(tmp_path: Path) -> ScoredLogs:
    """Three seeds of both gates: one right, one with a wrong cancellation, one with the cancelled step left in."""
    wrong, left_in = Revision("s5", (("s4", ("s2",)),), ("s5", "s1")), Revision("s3", (), ("s5", "s1"))
    for seed, revision in ((100, every_kind().revision), (101, wrong), (102, left_in)):
        for arm in ("directive", "enforcement"):
            save(play_gate(every_kind(seed), perfect, arm=arm, revision=revision), tmp_path)
    return load_scored([tmp_path])


def test_no_table_of_no_logs_has_a_value_and_each_says_not_run() -> None:
    none = scored()
    tables = [build(none, REPORTED) for build in OF_CELLS] + [variants.build(none, REPORTED) for variants in ALL]
    for table in tables:
        assert "not run" in table.tex.split("Reported by the original paper")[0], table.name
        assert {value for row in rows_of(table) for value in row.values()} <= {
            "not run", *(variant.label for variants in ALL for variant in variants.variants)}
    assert "not run" in models_table(()).tex


def test_a_state_that_two_gates_share_counts_once(gates: ScoredLogs) -> None:
    row = row_of(compile_table(gates, REPORTED))
    assert (row["compiled"], row["dependencies_k"], row["dependencies_n"]) == ("3", "15", "15")
    assert (row["cancel_k"], row["rewire_k"], row["relax_k"], row["whole_k"]) == ("2", "2", "3", "1")
    assert (row["flagged"], row["failed"]) == ("1", "0")


def test_each_omission_stands_in_one_column_of_the_attribution(gates: ScoredLogs) -> None:
    row = row_of(attribution_table(gates, REPORTED))
    causes = ("declined", "wrong_ref", "over_blocked", "misrouted", "wrong_status", "no_state")
    # Seed 101: s5 was called cancelled. Seed 102: s4 waits for the cancelled s3, in its ask and once more in its redo
    # probe, which is an ask as s4 was never done; s5, which requires s4, is not owed then.
    assert row["omissions"] == str(sum(int(row[cause]) for cause in causes)) == "3"
    assert (row["wrong_status"], row["over_blocked"], row["cancelled_left_in"]) == ("1", "2", "2")
    assert (row["correct_ref_refused"], row["flagged"], row["unlike_truth"]) == ("3", "1", "2")


def test_the_hybrid_takes_flagged_seeds_from_the_directive_run(gates: ScoredLogs) -> None:
    row = row_of(validator_gate_table(gates, REPORTED))
    assert (row["flagged"], row["refused_right"], row["refused_right_not_in_flagged"]) == ("1", "3", "1")
    # Both over-blocked omissions wait for the cancelled step that was left in, which the validator sees.
    assert (row["over_blocked"], row["over_blocked_not_in_flagged"]) == ("2", "0")
    # The perfect agent books whatever the directive says, so the directive run of the flagged seed is strict.
    assert (row["enforced_k"], row["hybrid_k"], row["hybrid_n"]) == ("1", "2", "3")
    assert (row["enforced_omissions"], row["hybrid_omissions"]) == ("3", "1")


def test_channel_rates_have_denominators_of_their_own(tmp_path: Path) -> None:
    save(play(every_kind(), always_book, arm="raw"), tmp_path)
    row = row_of(channel_rates_table(load_scored([tmp_path]), REPORTED))
    # By hand: s4 is booked though blocked (turn 1), so its ask (7) and its redo probe (11) meet a done step, as does
    # the redo probe of s1 (4). s2 and s5 are owed when asked, s1 too; s3 is cancelled; the redo of s2 is ordered.
    assert (row["premature_k"], row["premature_n"]) == ("1", "1")
    assert (row["re_execution_k"], row["re_execution_n"]) == ("3", "3")
    assert (row["superseded_k"], row["superseded_n"]) == ("1", "1")
    assert (row["omission_k"], row["omission_n"]) == ("0", "3")
    assert (row["refused_redo_k"], row["refused_redo_n"]) == ("0", "1")
    assert row["unrequested"] == "0"


def test_obedience_is_measured_against_the_directive_as_issued() -> None:
    heeded = turn("directive", 100, 0, directive_kind="done", directive_step="s1", executed=(), **matched("s1"))
    ignored = turn("directive", 100, 1, directive_kind="blocked", directive_step="s1", **matched("s2", redo=True))
    redone = turn("directive", 101, 2, kind="legit_redo", directive_kind="redo", directive_step="s1",
                  **matched("s1", redo=True))
    logs = scored(episodes("directive", [True, True]), turns=[heeded, ignored, redone])
    row = row_of(obedience_table(logs, REPORTED))
    assert (row["done_k"], row["done_n"], row["blocked_k"], row["blocked_n"]) == ("1", "1", "0", "1")
    assert (row["traps_k"], row["traps_n"], row["obedient_episodes_k"]) == ("1", "2", "1")
    assert (row["matcher_k"], row["matcher_n"]) == ("2", "3")
    assert (row["redo_precision_k"], row["redo_precision_n"]) == ("1", "2")
    assert (row["redo_recall_k"], row["redo_recall_n"]) == ("1", "1")
    assert float(row["traps_low"]) < 0.5 < float(row["traps_high"])


def test_a_request_after_a_failed_compile_tells_nothing_of_the_matcher() -> None:
    found, missed = turn("directive", 100, 0, **matched("s1")), turn("directive", 100, 1, **matched(None))
    redone = turn("directive", 100, 2, kind="legit_redo", **matched("s1", redo=True))
    unmatched = [turn("directive", 101, 0), turn("directive", 101, 1, kind="legit_redo")]
    logs = scored(episodes("directive", [True, False]), turns=[found, missed, redone, *unmatched])
    row = row_of(obedience_table(logs, REPORTED))
    assert (row["matcher_k"], row["matcher_n"]) == ("2", "3")
    assert (row["redo_recall_k"], row["redo_recall_n"]) == ("1", "1")
    (directed,) = samples(logs, arms=("directive",))
    assert {name: MEASURES[name](directed).text for name in ("matcher_agreement", "redo_flag_recall")} == {
        "matcher_agreement": "0.667 (2/3)", "redo_flag_recall": "1.000 (1/1)"}


def test_the_matcher_under_other_wordings_is_judged_on_the_requests_that_are_reworded() -> None:
    kinds = ("ask", "premature", "redo_probe", "superseded_cue", "legit_redo")
    turns = [turn("enforcement", 100, at, kind=kind, **matched("s1")) | {"cell": "x"} for at, kind in enumerate(kinds)]
    rows = [row | {"schedule": "ambiguous=0.15", "cell": "x"} for row in episodes("enforcement", [True])]
    row = row_of(WORDING.build(scored(rows, turns=turns), REPORTED), row="enforcement, ambiguous")
    assert (row["matcher_k"], row["matcher_n"]) == ("3", "3")


def test_overhead_is_a_multiple_of_the_raw_rung_with_and_without_helpers() -> None:
    helped: dict[str, Any] = {"helper_calls": 3, "helper_prompt_tokens": 500, "helper_completion_tokens": 50,
                              "match_calls": 2, "match_tokens": 300, "compile_calls": 1, "compile_tokens": 250,
                              "prompt_tokens": 2000, "completion_tokens": 200}
    logs = scored(episodes("raw", [True, True]), episodes("directive", [True, False], **helped))
    table = overhead_table(logs, REPORTED)
    raw, gate = row_of(table, row="raw"), row_of(table, row="directive")
    assert (raw["agent_tokens"], raw["ratio_to_raw"]) == ("1100", "1")
    assert (gate["ratio_to_raw"], gate["ratio_with_helpers"]) == ("2", "2.5")
    assert (gate["match_calls"], gate["match_tokens"]) == ("2", "300")
    assert (gate["compile_calls"], gate["compile_tokens"]) == ("1", "250")
    alone = row_of(overhead_table(scored(episodes("directive", [True])), REPORTED))
    assert alone["ratio_to_raw"] == ""


@pytest.mark.parametrize("columns", [OVERHEAD, VALIDATOR])
def test_no_two_columns_have_the_same_name(columns: tuple[Column, ...]) -> None:
    assert len({column.head for column in columns}) == len(columns)


def test_sizes_that_were_not_run_stand_beside_those_that_were() -> None:
    logs = scored(climb(dict(zip(RUNGS, (0, 1, 2, 4), strict=True)), 4),
                  episodes("raw", [False], size=10, channels={Channel.RE_EXECUTION: 2}))
    table = size_table(logs, REPORTED)
    assert len(rows_of(table)) == 5 * len(RUNGS)
    ten = row_of(table, size="10", arm="raw")
    assert (ten["k"], ten["n"], ten["right_turns"], ten["scored_turns"]) == ("0", "1", "42", "44")
    assert ten["re_executions_per_128"] == "256"
    assert row_of(table, size="18", arm="directive")["rate"] == "not run"
    assert "re-exec. 75" in table.tex


def corrupted(tmp_path: Path) -> ScoredLogs:
    """The gate at three rates, on the same ten seeds."""
    for rate in (0.0, 0.01, 0.05):
        for seed in range(10):
            save(play_gate(every_kind(seed), corruption=rate), tmp_path)
    save(play_gate(every_kind(99)), tmp_path)  # a seed that no corrupted cell has
    return load_scored([tmp_path])


def test_a_corrupted_gate_is_compared_with_itself_at_rate_zero_on_the_same_seeds(tmp_path: Path) -> None:
    logs = corrupted(tmp_path)
    table = corruption_table(logs, REPORTED)
    none, some, more = (row_of(table, row=f"ε = {rate}") for rate in ("0", "0.01", "0.05"))
    assert (none["strict_k"], none["strict_n"]) == ("10", "10")
    assert float(some["events_per_episode"]) < float(more["events_per_episode"])
    assert int(more["strict_k"]) < 10
    for kind in ("spurious", "lost", "dropped"):
        assert int(some[kind]) == logs.corruptions.loc[logs.corruptions["rate"] == 0.01, kind].sum()
    assert int(more["mended_k"]) <= int(more["mended_n"]) > 0
    assert (more["replays_k"], more["replays_n"]) == ("10", "10")


def test_a_corrupted_episode_that_the_drawn_state_does_not_explain_is_in_plain_sight(tmp_path: Path) -> None:
    for seed in (1, 2):
        log = play_gate(every_kind(seed), corruption=0.01)
        directive = log.turns[0].directive
        assert directive is not None
        other = replace(log.turns[0], directive=replace(directive, kind="cancelled"))
        save(replace(log, turns=(other, *log.turns[1:])) if seed == 1 else log, tmp_path)
    row = row_of(corruption_table(load_scored([tmp_path]), REPORTED), row="ε = 0.01")
    assert (row["replays_k"], row["replays_n"]) == ("1", "2")


def test_without_a_corrupted_cell_the_plain_gate_makes_no_row(tmp_path: Path) -> None:
    save(play_gate(every_kind()), tmp_path)
    assert rows_of(corruption_table(load_scored([tmp_path]), REPORTED)) == []


def variant_rows(options: str, outcomes: list[bool], **columns: Any) -> list[dict[str, Any]]:
    """Episodes of an enforcement variant."""
    return episodes("enforcement", outcomes, options=options, **columns)


def test_a_variant_is_found_by_what_ran_and_compared_on_shared_seeds() -> None:
    plain = episodes("enforcement", [True] * 10 + [False] * 4, study="one")
    same_turn = variant_rows('{"notice":"same_turn"}', [False] * 8, study="two", refused_bookings=1)
    table = NOTICE.build(scored(plain, same_turn), REPORTED)
    reference, variant = row_of(table, row="enforcement"), row_of(table, row="enforcement, same turn")
    assert (reference["strict_k"], reference["strict_n"]) == ("8", "8")  # on the variant's seeds alone
    assert (variant["strict_k"], variant["strict_n"], variant["refused_bookings"]) == ("0", "8", "8")
    assert (variant["pairs"], variant["only_lower"], variant["only_upper"]) == ("8", "8", "0")
    assert float(variant["p"]) == pytest.approx(2 * 0.5**8, rel=1e-4)
    assert variant["p"] == variant["p_holm"]  # the only contrast of its family


@pytest.mark.parametrize(("other", "is_told"), [("llama.cpp", False), ("an_engine", True)])
def test_a_table_whose_rows_ran_on_two_engines_says_so(other: str, is_told: bool) -> None:
    both = scored(episodes("enforcement", [True]), variant_rows('{"notice":"same_turn"}', [True], study="two"))
    arms = ("enforcement", "enforcement:notice=same_turn")  # as headers name them
    headers = tuple(Header(row["study"], row["cell"], arm, row["seed"], configuration_of(row),
                           {"engine": engine}, {}, "", {}, {})
                    for (_, row), arm, engine in zip(both.episodes.iterrows(), arms, ("llama.cpp", other), strict=True))
    text = NOTICE.build(replace(both, headers=headers), REPORTED).tex
    assert (r"ran on llama.cpp: enforcement; the others on an\_engine." in text) is is_told
    assert ("compares the engines" in text) is is_told


def test_other_options_or_another_setting_are_another_variant() -> None:
    both = variant_rows('{"heal":true,"notice":"same_turn"}', [True])
    elsewhere = variant_rows('{"notice":"same_turn"}', [True], size=10)
    table = NOTICE.build(scored(episodes("enforcement", [True]), both, elsewhere), REPORTED)
    assert {(row["size"], row["row"]): row["strict_n"] for row in rows_of(table)} == {
        ("10", "enforcement"): "not run", ("10", "enforcement, same turn"): "1"}


def test_the_same_rows_in_two_studies_are_not_pooled() -> None:
    twice = [variant_rows('{"notice":"same_turn"}', [True] * n, study=study) for study, n in (("a", 2), ("b", 5))]
    (found,) = comparisons(scored(*twice), NOTICE.variants)
    assert {label: sample.n for label, sample in found.samples.items()} == {"enforcement, same turn": 2}


def test_the_family_of_a_variant_is_its_table_for_one_agent() -> None:
    amended = [episodes(arm, [True] * 6) for arm in RUNGS]
    original = [episodes(arm, [False] * 6, brief="original") for arm in RUNGS]
    for row in (row for rows in original for row in rows):
        row["cell"] += "o"
    table = BRIEF_CONTROL.build(scored(*amended, *original), REPORTED)
    row = row_of(table, row="raw, original")
    assert float(row["p_holm"]) == pytest.approx(4 * float(row["p"]), rel=1e-4)


def test_a_gate_that_heals_shows_what_was_flagged_recompiled_and_given_up(tmp_path: Path) -> None:
    flawed = TaskGraph((GRAPH.steps[0], replace(GRAPH.steps[1], code=""), *GRAPH.steps[2:]))
    for seed, again in ((100, GRAPH), (101, flawed)):
        log = play_gate(every_kind(seed), graph=flawed)
        plan, revision = log.compiles
        second = replace(plan, stage="plan_again", graph=again, defects=plan.defects if again is flawed else ())
        header = replace(log.header, arm=ArmIdentity("enforcement", {"heal": True}))
        save(replace(log, header=header, compiles=(plan, second, revision)), tmp_path)
    row = row_of(HEALING.build(load_scored([tmp_path]), REPORTED), row="enforcement that heals")
    assert (row["flagged"], row["recompiled"], row["fell_back"], row["premature"]) == ("2", "2", "1", "0")


def test_held_out_phrasings_match_whoever_wrote_them() -> None:
    variant = next(v for v in WORDING.variants if v.label == "raw, held out")
    rows = [row | {"schedule": "held_out=smollm2-135m@1a2b3c4d", "cell": "x"} for row in episodes("raw", [True])]
    (found,) = comparisons(scored(episodes("raw", [False]), rows), WORDING.variants)
    assert found.samples[variant.label].n == 1
    assert found.samples["raw, canonical"].n == 1


def test_ambiguous_probes_are_counted_where_something_was_booked() -> None:
    rows = [row | {"schedule": "ambiguous=0.15", "cell": "x"} for row in episodes("raw", [False, False])]
    probes = [turn("raw", seed, number, kind="ambiguous", step=None, executed=executed) | {"cell": "x"}
              for seed, number, executed in ((100, 1, ("s1",)), (100, 2, ()), (101, 1, ()))]
    row = row_of(WORDING.build(scored(rows, turns=probes), REPORTED), row="raw, ambiguous")
    assert (row["ambiguous_booked_k"], row["ambiguous_booked_n"]) == ("1", "3")


def test_turns_served_wrong_are_told_apart_by_whether_their_text_is_forged() -> None:
    rows = [row | {"schedule": "spoofed", "cell": "x"} for row in episodes("enforcement", [False, True])]
    turns = [turn("enforcement", 100, at, forged=forged, right=right) | {"cell": "x"}
             for at, (forged, right) in enumerate([(True, False), (True, True), (False, False), (False, True)] * 2)]
    turns.append(turn("enforcement", 101, 0) | {"cell": "x"})
    table = SPOOFING.build(scored(rows, episodes("enforcement", [True, True]), turns=turns), REPORTED)
    row = row_of(table, row="enforcement, spoofed")
    assert (row["wrong_forged_k"], row["wrong_forged_n"]) == ("2", "4")
    assert (row["wrong_clean_k"], row["wrong_clean_n"]) == ("2", "5")
    assert (row["superseded"], row["premature"]) == ("0", "0")
    assert row_of(table, row="enforcement")["wrong_forged_n"] == "0"


def test_a_ledger_stands_beside_what_an_empty_one_would_have_right() -> None:
    entries = {"ledger_entries": 5, "ledger_right": 3, "ledger_open": 4, "ledger_said_done": 2}
    turns = [turn("ledger", 100, at, **entries) for at in range(2)]
    table = LEDGER.build(scored(episodes("ledger", [False]), episodes("raw", [False]), turns=turns), REPORTED)
    kept = row_of(table, row="self-ledger")
    assert (kept["ledger_k"], kept["empty_ledger_k"], kept["ledger_n"], kept["empty_ledger_n"]) == (
        "6", "8", "10", "10")
    assert (kept["said_done"], kept["said_open"], kept["cancellation_missed"]) == ("4", "0", "0")
    assert row_of(table, row="raw")["said_done"] == ""


def test_the_second_domain_compares_each_rung_with_the_one_below() -> None:
    rows = climb(dict(zip(RUNGS, (0, 0, 6, 6), strict=True)), 6, domain="release")
    table = DOMAIN.build(scored(rows), REPORTED)
    assert row_of(table, row="directive")["against"] == "checklist"
    assert row_of(table, row="directive")["only_upper"] == "6"
    assert row_of(table, row="raw")["against"] == ""


def test_projects_of_one_step_have_a_table_of_their_own_and_read_not_run_without_logs() -> None:
    assert [row["row"] for row in rows_of(ONE_STEP.build(scored(episodes("raw", [True])), REPORTED))] == list(RUNGS)
    table = ONE_STEP.build(scored(climb(dict(zip(RUNGS, (0, 0, 6, 6), strict=True)), 6, size=1)), REPORTED)
    assert [(row["size"], row["strict_k"], row["strict_n"]) for row in rows_of(table)] == [
        ("1", "0", "6"), ("1", "0", "6"), ("1", "6", "6"), ("1", "6", "6")]


def test_each_row_of_a_table_is_compared_with_a_row_of_the_same_table() -> None:
    for table in ALL:
        labels = [variant.label for variant in table.variants]
        assert len(set(labels)) == len(labels)
        for variant in table.variants:
            assert variant.against in ("", *labels[:labels.index(variant.label)])
        distinct = {(v.arm, tuple(sorted(v.options.items())), v.schedule, v.brief, v.domain, v.size, v.against)
                    for v in table.variants}
        assert len(distinct) == len(labels)


def test_options_of_the_variants_are_options_of_their_arms() -> None:
    names = {name for table in ALL for variant in table.variants for name in variant.options}
    assert names == {"mode", "matched_line", "role", "policy", "notice", "unresolved", "named", "heal", "corruption"}


def test_a_reference_alone_makes_no_comparison() -> None:
    assert comparisons(scored(episodes("enforcement", [True])), NOTICE.variants) == ()
    assert comparisons(scored(episodes("raw", [True])), (Variant("raw", "raw"),)) != ()


def test_reported_values_stand_below_the_measured_ones_with_their_bounds() -> None:
    none = scored()
    assert r"\quad enforcement, role=system & 0.26 & -- & -- & 70" in SURFACES.build(none, REPORTED).tex
    assert r"$\geq$ 0.976, $\leq$ 0.977" in WORDING.build(none, REPORTED).tex
    assert "68 & 17/68 & 16/68 & 35/68" in attribution_table(none, REPORTED).tex
    assert "Reported" not in ASKING.build(none, REPORTED).tex + HEALING.build(none, REPORTED).tex


def test_a_model_that_was_served_in_two_ways_has_two_rows(tmp_path: Path) -> None:
    for seed, threads in ((100, 1), (101, 2), (102, 2)):
        log = play(every_kind(seed), but(0, "x"), arm="raw")
        identity = {"name": "m", "engine": "e", "threads": threads, "endpoint": f"host:{seed}"}
        save(replace(log, header=replace(log.header, model=identity)), tmp_path)
    rows = rows_of(models_table(load_scored([tmp_path]).headers))
    assert [(row["threads"], row["episodes_as_agent"]) for row in rows] == [("1", "1"), ("2", "2")]


def test_a_model_that_was_probed_has_a_row_with_how_it_was_sampled_and_what_selects_its_regime(tmp_path: Path) -> None:
    log = play(every_kind(), arm="raw")
    identity = {"name": "qwen3-235b-a22b-instruct-2507-fp8", "engine": "vllm", "dtype": "bfloat16",
                "regime": "no_think"}
    save(replace(log, header=replace(log.header, model=identity, sampling={"temperature": 0.0})), tmp_path)
    sampling = {"temperature": 0.7, "top_p": 0.8, "top_k": 20, "from": "model card", "seed": 0, "reply": 400}
    source = ProbeSource("100.jsonl", "00", "s", "00", {}, identity, {})
    probe = ProbeRecord(1, "trap_probe", log.header.cell, log.header.arm, 100, source, (), 8, sampling, {}, "00", {},
                        identity, "")
    table = models_table(load_scored([tmp_path]).headers, (probe, replace(probe, seed=101)))
    held, probed = rows_of(table)
    assert (held["temperature"], held["top_p"], held["episodes_as_agent"]) == ("0", "", "1")
    assert [probed[key] for key in ("temperature", "top_p", "top_k", "budget_reply")] == ["0.7", "0.8", "20", "400"]
    assert (probed["episodes_asked_again"], probed["episodes_as_agent"]) == ("2", "0")
    assert {row["regime_switch"] for row in (held, probed)} == {"checkpoint"}
    assert "bfloat16 & no think & temperature 0.7, top p 0.8, top k 20 & 2 asked again" in table.tex
    assert "by checkpoint" in table.tex
