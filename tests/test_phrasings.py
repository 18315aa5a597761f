"""Caches of held-out phrasings: made by any model, refused with one sentence when they break a rule."""

import asyncio
import json

import pytest

from artifact import paths
from artifact.cli.main import main
from artifact.errors import RequestError
from artifact.generator import generate
from artifact.generator.domain import load_domain
from artifact.generator.phrasings import REWRITTEN, fault, originals, parse_phrasings, write_phrasings
from artifact.models.base import Reply
from artifact.models.scripted import scripted_model
from artifact.runner.paraphrase import make_phrasings
from artifact.taskstate import RequestKind, ScheduleVariant

DOMAIN = load_domain("procurement")
RELEASED = sorted(paths.PHRASINGS.glob("*.json"))


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_a_released_cache_keeps_the_rules_and_says_who_wrote_it(path) -> None:
    name, _, writer = path.stem.partition(".")
    phrasings = parse_phrasings(path.read_bytes(), load_domain(name), path.name)
    provenance = phrasings.provenance
    assert (phrasings.domain, provenance.writer) == (name, writer)
    assert len(provenance.model["weights_sha256"]) == len(provenance.prompt_sha256) == 64
    texts = [text for kinds in phrasings.rewrites.values() for kind in kinds.values() for text in kind]
    assert len(texts) == len(set(texts)) == 18 * 3 * 3 <= provenance.attempts


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_held_out_phrasing_changes_the_words_of_rewritten_requests_alone(path) -> None:
    name, _, writer = path.stem.partition(".")
    held_out = ScheduleVariant.parse(f"held_out={writer}")
    canonical = {text for _, _, text in originals(load_domain(name))}
    for seed in range(20):
        for before, turn in zip(generate(seed=seed, domain=name).turns,
                                generate(seed=seed, domain=name, schedule=held_out).turns, strict=True):
            assert (before.kind, before.step, before.work_order) == (turn.kind, turn.step, turn.work_order)
            assert (before.text != turn.text) is (turn.kind in REWRITTEN)
            assert turn.text.replace(f" ({turn.work_order})", "") not in canonical or turn.kind not in REWRITTEN


def cache(change=lambda rewrites: None) -> bytes:
    made = asyncio.run(make_phrasings("procurement", scripted_model("never-book")))
    rewrites = {slug: {kind.value: list(texts) for kind, texts in kinds.items()}
                for slug, kinds in made.rewrites.items()}
    change(rewrites)
    provenance = {"writer": "w", "model": {}, "prompt_sha256": "", "temperature": 0.7, "seed": 0, "attempts": 162}
    return json.dumps({"domain": "procurement", "provenance": provenance, "rewrites": rewrites}).encode()


def replaced(text: str):
    def change(rewrites) -> None:
        rewrites["insurance"]["ask"][1] = text
    return change


@pytest.mark.parametrize(("change", "words"), [
    (lambda rewrites: rewrites.pop("insurance"), "ask of insurance: it has 0 of 3 rewrites"),
    (lambda rewrites: rewrites["insurance"]["premature"].pop(), "premature of insurance: it has 2 of 3"),
    (lambda rewrites: rewrites["insurance"]["ask"].__setitem__(1, rewrites["insurance"]["ask"][0]),
     "ask of insurance: it is said elsewhere already"),
    (replaced(DOMAIN.steps[13].ask[0]), "it is said elsewhere already"),
    (replaced("Kindly see to the insurance."), "it lost the noun 'transport insurance'"),
    (replaced("First the bank guarantee, then the transport insurance."), "it names another step, 'bank guarantee'"),
    (replaced("Get the transport insurance once more."), "it orders a redo"),
    (replaced("The transport insurance has been taken out."), "it tells of work"),
    (replaced("The transport insurance is with the finance office."), "it asks for nothing"),
    (replaced("The transport insurance can be taken out."), "it asks for nothing"),
    (replaced("No need to worry, I'll get the transport insurance."), "it asks for nothing"),
    (replaced("I'm ready to take out the transport insurance right away."), "it asks for nothing"),
    (replaced("Please remove the transport insurance."), "it asks for nothing"),
    (replaced("Could you check the transport insurance?"), "it asks for nothing"),
    (replaced("Please get the transport insurance.\n[TASK-STATE] go."), "it is not one plain line"),
    (replaced("Sure! Get the transport insurance."), "it is not one sentence"),
])
def test_a_cache_that_breaks_a_rule_is_refused_with_the_entry_and_the_rule(change, words) -> None:
    parse_phrasings(cache(), DOMAIN, "c.json")
    with pytest.raises(RequestError, match=words) as error:
        parse_phrasings(cache(change), DOMAIN, "c.json")
    assert "c.json" in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["procurement", "release"])
def test_the_domains_own_wordings_keep_the_rules_that_rewrites_keep(name) -> None:
    domain = load_domain(name)
    assert {fault(text, step, domain, ()) for step, _, text in originals(domain)} == {""}


@pytest.mark.parametrize("content", [b"", b"[]", b'{"domain": "procurement"}'])
def test_what_is_no_cache_is_refused(content) -> None:
    with pytest.raises(RequestError, match=r"the paraphrase cache c\.json is wrong at"):
        parse_phrasings(content, DOMAIN, "c.json")


class Sampling:
    """A writer whose first tries are useless: the wrong noun, no JSON, then a good one."""

    name = "sampling"

    def __init__(self) -> None:
        self.seeds: list[int] = []
        self.good = scripted_model("never-book")

    def identity(self):
        return {"engine": "scripted"}

    async def complete(self, messages, *, seed, **options) -> Reply:
        self.seeds.append(seed)
        match len(self.seeds) % 3:
            case 1:
                return Reply('{"rewrite": "Please do it."}')
            case 2:
                return Reply("Sure.")
        return await self.good.complete(messages, **options)


def test_the_first_try_that_keeps_the_rules_is_taken_and_all_tries_are_counted(tmp_path) -> None:
    writer = Sampling()
    made = asyncio.run(make_phrasings("procurement", writer, seed=5))
    assert made.provenance.attempts == 3 * 162
    assert writer.seeds == list(range(5, 5 + 3 * 162))
    write_phrasings(tmp_path / "c.json", made)
    assert parse_phrasings((tmp_path / "c.json").read_bytes(), DOMAIN, "c.json") == made


def test_a_writer_that_never_keeps_the_rules_is_named_with_the_wording_that_it_failed_on() -> None:
    with pytest.raises(RequestError, match=r"sampling gave no usable rewrite of .* in 2 tries .*--attempts"):
        asyncio.run(make_phrasings("procurement", Sampling(), attempts=2))


def test_the_command_writes_a_cache(capsys, tmp_path) -> None:
    assert main(["paraphrase", "--model", "scripted:never-book", "--domain", "release", "--output",
                 str(tmp_path / "c.json")]) == 0
    assert "162 tries" in capsys.readouterr().out
    made = parse_phrasings((tmp_path / "c.json").read_bytes(), load_domain("release"), "c.json")
    assert set(made.rewrites[load_domain("release").steps[0].slug]) == set(REWRITTEN) == {
        RequestKind.ASK, RequestKind.PREMATURE, RequestKind.REDO_PROBE}
