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
    ("directive:matcher=oracle", ArmSpec("directive", ArmOptions(matcher="oracle"))),
    (" enforcement:state=oracle, match_every_turn=true ",
     ArmSpec("enforcement", ArmOptions(state="oracle", match_every_turn=True))),
    ("directive:matcher=oracle,corruption=0.003", ArmSpec("directive", ArmOptions(matcher="oracle", corruption=0.003))),
    ("enforcement:state=compiled", ArmSpec("enforcement")),
])
def test_an_arm_is_read_from_its_text(text, spec):
    assert parse_arm(text) == spec
    assert parse_arm(str(spec)) == spec


def test_commas_part_arms_and_options_alike():
    arms = parse_arms("raw,directive:state=oracle,matcher=oracle,enforcement:state=oracle,corruption=0.1,checklist")
    assert [str(arm) for arm in arms] == ["raw", "directive:matcher=oracle,state=oracle",
                                          "enforcement:corruption=0.1,state=oracle", "checklist"]


def test_options_of_the_gates_apply_to_them_alone_and_the_text_wins():
    gates = ArmOptions(matcher="oracle", corruption=0.5)
    arms = parse_arms("raw,checklist,directive,enforcement:corruption=0.1", gates)
    assert [str(arm) for arm in arms] == ["raw", "checklist", "directive:corruption=0.5,matcher=oracle",
                                          "enforcement:corruption=0.1,matcher=oracle"]


@pytest.mark.parametrize(("text", "sentence"), [
    ("nudge", "there is no arm 'nudge'; the arms are raw, checklist"),
    ("raw:state=oracle", "the arm raw doesn't take the option state; it takes none"),
    ("checklist:mood=good", "there is no arm option 'mood'; the options are state, matcher"),
    ("directive:state=erased", "the arm option state can't be 'erased'; it is compiled or oracle"),
    ("enforcement:match_every_turn=yes", "the arm option match_every_turn can't be 'yes'; it is true or false"),
    ("enforcement:corruption=2", "the arm option corruption can't be '2'; it is a rate from 0 to 1"),
    ("enforcement:corruption=nan", "the arm option corruption can't be 'nan'; it is a rate"),
    ("enforcement:corruption=much", "the arm option corruption can't be 'much'; it is a rate"),
    ("checklist:replace", "the arm 'checklist:replace' can't be read at 'replace'; write for instance enforcement:"),
    ("checklist:", "can't be read at ''"),
    ("directive:state=oracle,state=compiled", "names the option state twice"),
])
def test_what_an_arm_can_not_be_is_one_sentence_with_what_is_known(text, sentence):
    with pytest.raises(RequestError) as error:
        parse_arm(text)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("build", [lambda: ArmSpec("raw", ArmOptions(state="oracle")),
                                   lambda: ArmOptions(state="erased"), lambda: ArmOptions(match_every_turn=1),
                                   lambda: ArmSpec("nudge")])
def test_a_notebook_is_told_the_same(build):
    with pytest.raises(RequestError):
        build()


values = st.fixed_dictionaries({}, optional={
    "state": st.sampled_from(["compiled", "oracle"]), "matcher": st.sampled_from(["model", "oracle"]),
    "match_every_turn": st.booleans(), "corruption": st.floats(0, 1)})


@settings(deadline=None)
@given(st.sampled_from(sorted(ARMS)), values)
def test_text_log_and_options_say_the_same(name, chosen):
    spec = ArmSpec(name, ArmOptions(**{key: value for key, value in chosen.items() if key in ARMS[name].takes}))
    assert parse_arm(str(spec)) == spec
    assert options_in(spec.identity.options) == spec.options
    assert type(make_arm(spec)) is ARMS[name]


def test_every_option_is_taken_by_some_arm_and_every_arm_takes_known_ones():
    assert {option for arm in ARMS.values() for option in arm.takes} == set(OPTIONS)


def test_an_option_at_its_default_is_not_written():
    assert ArmSpec("enforcement", ArmOptions(state="compiled", corruption=0.0)).identity.options == {}


@pytest.mark.parametrize(("options", "sentence"), [
    ({"mood": "good"}, "there is no arm option 'mood'; the options are"),
    ({"state": "erased"}, "the arm option state can't be 'erased'"),
    ({"match_every_turn": "true"}, "the arm option match_every_turn can't be 'true'; it is true or false"),
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
