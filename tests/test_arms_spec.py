"""Arms as a person names them, and the closed set of their options."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from artifact.arms import ARMS, ArmOptions, ArmSpec, make_arm, parse_arm, parse_arms
from artifact.errors import RequestError
from artifact.log import read_episode
from artifact.log.options import OPTIONS, options_in
from episode_logs import every_kind, play, save


@pytest.mark.parametrize(("text", "spec"), [
    ("raw", ArmSpec("raw")),
    ("checklist:mode=replace", ArmSpec("checklist", ArmOptions(mode="replace"))),
    (" enforcement:notice=same_turn, heal=true ", ArmSpec("enforcement", ArmOptions(notice="same_turn", heal=True))),
    ("directive:role=system,corruption=0.003", ArmSpec("directive", ArmOptions(role="system", corruption=0.003))),
    ("enforcement:policy=state", ArmSpec("enforcement")),
])
def test_an_arm_is_read_from_its_text(text, spec):
    assert parse_arm(text) == spec
    assert parse_arm(str(spec)) == spec


def test_commas_part_arms_and_options_alike():
    arms = parse_arms("raw,checklist:mode=replace,matched_line=true,enforcement:notice=same_turn,heal=true,directive")
    assert [str(arm) for arm in arms] == ["raw", "checklist:matched_line=true,mode=replace",
                                          "enforcement:heal=true,notice=same_turn", "directive"]


def test_options_of_the_gates_apply_to_them_alone_and_the_text_wins():
    gates = ArmOptions(matcher="oracle", corruption=0.5)
    arms = parse_arms("raw,checklist,directive,enforcement:corruption=0.1", gates)
    assert [str(arm) for arm in arms] == ["raw", "checklist", "directive:corruption=0.5,matcher=oracle",
                                          "enforcement:corruption=0.1,matcher=oracle"]


@pytest.mark.parametrize(("text", "sentence"), [
    ("nudge", "there is no arm 'nudge'; the arms are raw, checklist"),
    ("raw:mode=replace", "the arm raw doesn't take the option mode; it takes none"),
    ("directive:policy=request", "the arm directive doesn't take the option policy; it takes state, matcher"),
    ("checklist:mood=good", "there is no arm option 'mood'; the options are state, matcher"),
    ("checklist:mode=erase", "the arm option mode can't be 'erase'; it is append or replace"),
    ("enforcement:heal=yes", "the arm option heal can't be 'yes'; it is true or false"),
    ("enforcement:corruption=2", "the arm option corruption can't be '2'; it is a rate from 0 to 1"),
    ("enforcement:corruption=nan", "the arm option corruption can't be 'nan'; it is a rate"),
    ("enforcement:corruption=much", "the arm option corruption can't be 'much'; it is a rate"),
    ("stream:reflect_at=0", "the arm option reflect_at can't be '0'; it is a whole number above 0"),
    ("paged:window=99999999999999999999999", "the arm option window can't be '99999999999999999999999'; it is a whole"),
    ("stream:reflect_at=often", "the arm option reflect_at can't be 'often'; it is a whole number above 0"),
    ("checklist:replace", "the arm 'checklist:replace' can't be read at 'replace'; write for instance enforcement:"),
    ("checklist:", "can't be read at ''"),
    ("directive:role=system,role=user", "names the option role twice"),
    ("checklist:matcher=oracle", "the checklist runs no matcher without its line"),
])
def test_what_an_arm_can_not_be_is_one_sentence_with_what_is_known(text, sentence):
    with pytest.raises(RequestError) as error:
        parse_arm(text)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("build", [lambda: ArmSpec("raw", ArmOptions(heal=True)), lambda: ArmOptions(mode="erase"),
                                   lambda: ArmOptions(heal=1), lambda: ArmSpec("nudge")])
def test_a_notebook_is_told_the_same(build):
    with pytest.raises(RequestError):
        build()


values = st.fixed_dictionaries({}, optional={
    "state": st.sampled_from(["compiled", "oracle"]), "matcher": st.sampled_from(["model", "oracle"]),
    "match_every_turn": st.booleans(), "corruption": st.floats(0, 1), "mode": st.sampled_from(["append", "replace"]),
    "matched_line": st.booleans(), "role": st.sampled_from(["user", "system"]),
    "policy": st.sampled_from(["state", "request"]), "notice": st.sampled_from(["next_turn", "same_turn"]),
    "unresolved": st.sampled_from(["pass", "ask"]), "named": st.booleans(), "heal": st.booleans(),
    "reflect_at": st.integers(1, 1000), "window": st.integers(1, 10_000)})


@settings(deadline=None)
@given(st.sampled_from(sorted(ARMS)), values)
def test_text_log_and_options_say_the_same(name, chosen):
    if not chosen.get("matched_line") and name == "checklist":
        chosen = {key: value for key, value in chosen.items() if key == "mode"}
    spec = ArmSpec(name, ArmOptions(**{key: value for key, value in chosen.items() if key in ARMS[name].takes}))
    assert parse_arm(str(spec)) == spec
    assert options_in(spec.identity.options) == spec.options
    assert type(make_arm(spec)) is ARMS[name]


def test_every_option_is_taken_by_some_arm_and_every_arm_takes_known_ones():
    assert {option for arm in ARMS.values() for option in arm.takes} == set(OPTIONS)


def test_an_option_at_its_default_is_not_written():
    assert ArmSpec("enforcement", ArmOptions(notice="next_turn", corruption=0.0, heal=False)).identity.options == {}


@pytest.mark.parametrize(("options", "sentence"), [
    ({"mood": "good"}, "there is no arm option 'mood'; the options are"),
    ({"mode": "erase"}, "the arm option mode can't be 'erase'"),
    ({"heal": "true"}, "the arm option heal can't be 'true'; it is true or false"),
])
def test_a_log_with_an_option_that_is_not_known_is_refused_in_one_sentence(tmp_path, options, sentence):
    path = save(play(every_kind(), arm="checklist", options=options), tmp_path)
    with pytest.raises(RequestError) as error:
        read_episode(path)
    assert sentence in str(error.value)
    assert "read the log with the version of the package that wrote it" in str(error.value)
    told = subprocess.run([sys.executable, "-m", "artifact.cli", "score", str(path)], capture_output=True, text=True,
                          check=False)
    assert (told.returncode, told.stderr.count("\n")) == (2, 1)
