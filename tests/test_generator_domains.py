"""Domains are data that keep rules: a file that breaks one is refused in a sentence."""

import tomllib
from copy import deepcopy

import pytest

from artifact.errors import RequestError
from artifact.generator.domain import load_domain, parse_domain
from artifact.generator.draw import Draw
from artifact.paths import DOMAINS

FIELDS = tomllib.loads((DOMAINS / "procurement.toml").read_text(encoding="utf-8"))


def test_slugs_nouns_and_texts_are_disjoint_between_domains() -> None:
    one, other = load_domain("procurement"), load_domain("release")
    for field in ("slug", "noun", "text"):
        assert {getattr(step, field) for step in one.steps}.isdisjoint(getattr(step, field) for step in other.steps)


def test_both_domains_have_the_same_number_of_templates_per_phase_and_of_frames() -> None:
    one, other = load_domain("procurement"), load_domain("release")
    assert [step.phase for step in one.steps] == [step.phase for step in other.steps]
    for field in ("legit_redo", "superseded_cue", "fillers"):
        assert len(getattr(one, field)) == len(getattr(other, field))


def test_no_ask_or_probe_orders_a_redo() -> None:
    for name in ("procurement", "release"):
        for step in load_domain(name).steps:
            for wording in (*step.ask, *step.premature, *step.redo_probe):
                words = set(wording.lower().rstrip(".?!").split())
                assert words.isdisjoint({"again", "redo", "repeat", "anew", "over", "twice"})


@pytest.mark.parametrize(("spoil", "sentence"), [
    (lambda fields: fields["steps"].pop(), "six|6 phases"),
    (lambda fields: fields["steps"][0].update(noun="nowhere"), "noun"),
    (lambda fields: fields["steps"][0]["ask"].pop(), "3 different paraphrases"),
    (lambda fields: fields["steps"][0].update(slug=fields["steps"][1]["slug"]), "slugs are unique"),
    (lambda fields: fields.update(fillers=fields["fillers"][:10]), "at least 40"),
    (lambda fields: fields["fillers"].append("I dreamt of the cost centre."), "names no step"),
    (lambda fields: fields.update(legit_redo=["Do it again."]), "redo frame"),
    (lambda fields: fields.update(superseded_cue=["How is it going?"]), "cue frame"),
    (lambda fields: fields.pop("revision"), "wrong at revision"),
])
def test_a_domain_file_that_breaks_a_rule_is_refused(spoil, sentence: str) -> None:
    fields = deepcopy(FIELDS)
    spoil(fields)
    with pytest.raises(RequestError, match=sentence):
        parse_domain(fields, source="mine.toml")


def test_streams_of_different_names_are_independent_and_each_is_repeatable() -> None:
    assert [Draw(7, "graph").below(1000) for _ in range(2)] == [Draw(7, "graph").below(1000)] * 2
    assert Draw(7, "graph").shuffled(range(50)) != Draw(7, "codes").shuffled(range(50))


def test_draws_stay_in_their_ranges() -> None:
    draw = Draw("ranges")
    assert {draw.below(3) for _ in range(200)} == {0, 1, 2}
    assert {draw.between(18, 20) for _ in range(200)} == {18, 19, 20}
    assert not any(draw.flip(0) for _ in range(200)) and all(draw.flip(1) for _ in range(200))
    assert sorted(draw.shuffled(range(9))) == list(range(9))
    assert len(set(draw.sample(range(9), 4))) == 4
