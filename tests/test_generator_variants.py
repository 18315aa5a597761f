"""Variants of a schedule: what they add, and that everything else stays as it was."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact.arms import load_prompts
from artifact.errors import RequestError
from artifact.generator import TURNS, generate
from artifact.generator.domain import load_domain
from artifact.taskstate import (
    NOT_A_REQUEST,
    Episode,
    RequestKind,
    ScheduleVariant,
    Status,
    TaskState,
    parse_ref_lines,
)
from artifact.taskstate.client_text import own_words

VARIANTS = ("rotated", "ambiguous=0.15", "ambiguous=1", "spoofed", "ordered_fillers",
            "rotated,ambiguous=1,spoofed,ordered_fillers")
configurations = st.builds(
    dict,
    seed=st.integers(0, 2**31 - 1),
    size=st.integers(1, 18),
    density=st.sampled_from([0.0, 0.15, 0.3, 1.0]),
    domain=st.sampled_from(["procurement", "release"]),
)
generated = settings(max_examples=40, deadline=None)


def varied(schedule: str, **configuration) -> Episode:
    return generate(**configuration, schedule=ScheduleVariant.parse(schedule))


def skeleton(episode: Episode) -> Episode:
    """The episode's requests for a step and its revision; words left out, and what stands where fillers stood."""
    turns = tuple(replace(turn, text="") if turn.step or turn.kind is RequestKind.REVISION else None
                  for turn in episode.turns)
    return replace(episode, turns=turns, reasks=tuple(replace(turn, text="") for turn in episode.reasks))


@pytest.mark.parametrize("schedule", VARIANTS)
@generated
@given(configurations)
def test_a_variant_keeps_plan_codes_requests_and_work_orders(schedule, configuration) -> None:
    assert skeleton(varied(schedule, **configuration)) == skeleton(generate(**configuration))


@pytest.mark.parametrize("schedule", VARIANTS)
@generated
@given(configurations)
def test_no_work_order_is_given_out_twice(schedule, configuration) -> None:
    episode = varied(schedule, **configuration)
    orders = [turn.work_order for turn in (*episode.turns, *episode.reasks) if turn.work_order]
    assert len(set(orders)) == len(orders)
    assert len(episode.turns) == TURNS


@generated
@given(configurations)
def test_rotation_gives_every_paraphrased_request_another_paraphrase(configuration) -> None:
    for turn, other in zip(generate(**configuration).turns, varied("rotated", **configuration).turns, strict=True):
        paraphrased = turn.kind in {RequestKind.ASK, RequestKind.PREMATURE, RequestKind.REDO_PROBE}
        assert (turn.text != other.text) is paraphrased


@generated
@given(configurations)
def test_an_ambiguous_probe_names_two_eligible_steps_has_an_order_of_its_own_and_takes_a_fillers_place(
        configuration) -> None:
    canonical, episode = generate(**configuration), varied("ambiguous=1", **configuration)
    nouns = {template.text: template.noun for template in load_domain(configuration["domain"]).steps}
    state = TaskState(episode.graph)
    for index, (before, turn) in enumerate(zip(canonical.turns, episode.turns, strict=True)):
        if turn.kind is RequestKind.REVISION:
            state = state.revise(episode.revision)
        elif turn.kind is RequestKind.ASK:
            state = state.execute(turn.step, turn.work_order, index)
        elif turn.kind is RequestKind.AMBIGUOUS:
            assert before.kind is RequestKind.FILLER and turn.step is None
            assert re.search(rf" \({turn.work_order}\)[.?]$", turn.text)
            named = [step.id for step in episode.graph.steps if nouns[step.text] in turn.text]
            assert len(named) == 2
            assert {state.status(step) for step in named} == {Status.TODO}
        else:
            assert turn == before


def test_ambiguous_probes_come_at_their_rate() -> None:
    """The paper counts 111 in these 64 episodes (Appendix A.5); a chance of 0.15 for each of 14 asks makes 134."""
    count = sum(turn.kind is RequestKind.AMBIGUOUS for seed in range(100, 164)
                for turn in varied("ambiguous=0.15", seed=seed, size=15, density=0.3).turns)
    assert 100 <= count <= 170
    assert "ambiguous" not in {turn.kind for turn in varied("ambiguous=0", seed=100, size=15).turns}


@generated
@given(configurations)
def test_fillers_carry_an_order_in_the_stress_variant_and_no_other_turn_changes(configuration) -> None:
    for before, turn in zip(generate(**configuration).turns, varied("ordered_fillers", **configuration).turns,
                            strict=True):
        if turn.kind is RequestKind.FILLER:
            assert turn.text == f"{before.text[:-1]} ({turn.work_order}){before.text[-1]}"
        else:
            assert turn == before


@generated
@given(configurations)
def test_forged_lines_follow_the_message_and_the_matcher_reads_the_message_without_them(configuration) -> None:
    for before, turn in zip(generate(**configuration).turns, varied("spoofed", **configuration).turns, strict=True):
        assert turn.text == before.text or turn.text.startswith(f"{before.text}\n\n")
        assert own_words(turn.text) == before.text
        assert own_words(before.text) == before.text


def forged(seeds: range) -> list[tuple[str, object, Episode]]:
    found = []
    for seed in seeds:
        episode = varied("spoofed", seed=seed)
        for turn in episode.turns:
            _, gap, lines = turn.text.partition("\n\n")
            found += [(lines, turn, episode)] if gap else []
    return found


def test_forgery_says_to_the_letter_what_the_module_would_say() -> None:
    prompts = load_prompts("paper")
    patterns = [re.escape(prompts.render(f"directive_{kind}", step="s0")).replace("s0", r"s\d+")
                for kind in ("eligible", "done")]
    patterns.append(re.escape(prompts.render("rejection", code="RC-0", work_order="#W0", reason="step s0 is BLOCKED"))
                    .replace("RC\\-0", r"RC-\d{4}").replace("\\#W0", r"\#W\d{4}").replace("s0", r"s\d+"))
    patterns.append(re.escape(prompts.texts["checklist"].split("\n")[0])
                    + r"(\n- s\d+: (TODO \(ready\)|DONE|CANCELLED))+")
    patterns += [r"LEDGER RC-\d{4} (TODO|DONE|CANCELLED)(\nLEDGER RC-\d{4} (TODO|DONE|CANCELLED))*",
                 r"ref RC-\d{4}/#W\d{4}"]
    hits = [[bool(re.fullmatch(pattern, lines)) for pattern in patterns] for lines, _, _ in forged(range(30))]
    assert all(sum(hit) == 1 for hit in hits)
    assert all(map(any, zip(*hits, strict=True)))


def test_ref_lines_are_forged_with_another_code_with_an_old_order_and_with_the_current_one() -> None:
    seen = set()
    for lines, turn, episode in forged(range(30)):
        for line in parse_ref_lines(lines):
            current = line.work_order == turn.work_order
            own = turn.step is not None and line.code == episode.graph[turn.step].code
            seen.add((current, own))
            earlier = episode.turns[:episode.turns.index(turn)]
            assert current or line.work_order in {other.work_order for other in earlier}
    assert {(True, True), (True, False), (False, True)} <= seen


def test_half_of_all_turns_are_spoofed_whatever_their_kind() -> None:
    counts: dict[bool, list[bool]] = {True: [], False: []}
    for seed in range(100):
        for turn in varied("spoofed", seed=seed).turns:
            if turn.kind is not RequestKind.REVISION:
                counts[turn.kind in NOT_A_REQUEST].append("\n\n" in turn.text)
    for spoofed in counts.values():
        assert abs(sum(spoofed) / len(spoofed) - 0.5) < 0.04


@pytest.mark.parametrize("text", [
    "canonical", "rotated", "held_out", "held_out=smollm2-135m@1a2b3c4d", "held_out,ambiguous=0.15", "spoofed",
    "rotated,ambiguous=0.15,spoofed,ordered_fillers"])
def test_a_variant_is_read_from_its_own_text(text) -> None:
    assert str(ScheduleVariant.parse(text)) == text


@pytest.mark.parametrize("text", ["", "shuffled", "ambiguous", "ambiguous=2", "ambiguous=nan", "ambiguous=much",
                                  "rotated=1", "spoofed=0.5"])
def test_a_text_that_names_no_variant_is_refused(text) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 the command line adds its sentence
        ScheduleVariant.parse(text)


def test_held_out_phrasing_by_nobody_known_is_refused_with_what_to_do() -> None:
    with pytest.raises(RequestError, match=r"no paraphrase cache .*'nobody'.*artifact paraphrase"):
        varied("held_out=nobody", seed=1)
