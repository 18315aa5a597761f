"""Held-out phrasings: requests rewritten by a model, read from a cache file with its provenance (Appendix A.5).

Invariant: every rewrite is one sentence, said nowhere else in the domain or the cache, names its own step by its noun
and no other step, asks for something, and neither orders a redo nor says that the work is done (of these rules the
paper states the first two). A cache that breaks a rule is refused with the first rule that it breaks.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from artifact import paths
from artifact.errors import RequestError
from artifact.generator.domain import PARAPHRASES, Domain, Template, load_domain
from artifact.taskstate import Phrasing, RequestKind, ScheduleVariant

REWRITTEN = (RequestKind.ASK, RequestKind.PREMATURE, RequestKind.REDO_PROBE)
LONGEST = 200
# A rewrite that orders a redo would make a probe an authorized request.
_REDO = re.compile(r"\b(?:again|once more|redo|re-do|repeat|second time|another time|one more time)\b", re.IGNORECASE)
# So would one that reports the work make an ask a remark. Small models write such ones.
_FINISHED = re.compile(
    r"\b(?:has|have|had) (?:\w+ )?been\b|\bas you have\b|\bwill be\b|\bI (?:will|can)\b"
    r"|\bis (?:now |already |being )?(?:complete|completed|compiled|concluded|done|finished|filled|held|on|ready"
    r"|released|run|running|signed|under)\b", re.IGNORECASE)
# But for one that goes on to ask: "make sure that it is done", "the scanner has been set up, so go ahead".
_WANTED = re.compile(r"\b(?:sure|ensure|certain|see that|check|confirm|please|could you|go ahead)\b", re.IGNORECASE)
# Nor is a bare statement a request: "the bank guarantee is now available". Each kind of request asks in such words.
_ASKED = re.compile(
    r"\b(?:please|kindly|(?:can|could|would|should|must) (?:you|we|I)"
    r"|(?:you|we) (?:can|could|should|must|may|need|have)|need(?:s|ed)? to|(?:I|we|is|are) need(?:ed)?|want"
    r"|(?:would|'d) like|appreciates?|requested|time (?:to|for)|let's|let us|sure|ensure|certain|see that|go ahead"
    r"|proceed|right away|feel free|(?:possible|important|necessary|essential) (?:to|that)|must|should"
    r"|take care of)\b", re.IGNORECASE)
# Who does it oneself, or wants to know how it stands, or wants the opposite, doesn't ask for the work either.
_ELSE = re.compile(
    r"\bI(?:'ll| will|'m| am| can| need to| must| have to)\b|\blet me know\b|\bno need\b"
    r"|\b(?:please|you) (?:please )?(?:remove|cancel|(?:check|confirm|review)(?! that))\b", re.IGNORECASE)
_SHOWN_HASH = 8


@dataclass(frozen=True)
class Provenance:
    """What a cache was made with.

    Parameters
    ----------
    writer : str
        The model, by its name in the registry.
    model : dict
        What its backend says of itself: weights hash, engine, settings.
    prompt_sha256 : str
        Hash of the prompt.
    temperature : float
        At which it was sampled.
    seed : int
        Sampling seed of the first try; each further one takes the next.
    attempts : int
        Tries that it took to have all rewrites.
    """

    writer: str
    model: dict[str, Any]
    prompt_sha256: str
    temperature: float
    seed: int
    attempts: int


@dataclass(frozen=True)
class Phrasings:
    """A cache: for each step of a domain and each rewritten kind of request, three rewrites.

    Parameters
    ----------
    domain : str
        The domain.
    provenance : Provenance
        What it was made with.
    rewrites : dict of str to dict of RequestKind to tuple of str
        By the step's slug and the kind.
    """

    domain: str
    provenance: Provenance
    rewrites: dict[str, dict[RequestKind, tuple[str, ...]]]


_PHRASINGS = TypeAdapter(Phrasings)


def originals(domain: Domain) -> Iterator[tuple[Template, RequestKind, str]]:
    """Every wording that is rewritten, in the order of the domain's file."""
    for step in domain.steps:
        for kind in REWRITTEN:
            for text in getattr(step, kind.value):
                yield step, kind, text


def fault(text: str, step: Template, domain: Domain, taken: Iterable[str]) -> str:
    """What is wrong with a rewrite, in words; empty when it can be used.

    Parameters
    ----------
    text : str
        The rewrite.
    step : Template
        The step that it must name.
    domain : Domain
        Whose other steps it must not name.
    taken : iterable of str
        What has been said already, as `spoken` gives it.
    """
    if step.noun not in text:
        return f"it lost the noun {step.noun!r}"
    if other := [template.noun for template in domain.steps if template.noun in text and template is not step]:
        return f"it names another step, {other[0]!r}"
    if spoken(text) in taken:
        return "it is said elsewhere already"
    if text.count(step.noun) > 1:
        return f"it says {step.noun!r} twice"
    if _REDO.search(text):
        return "it orders a redo"
    if _FINISHED.search(text) and not _WANTED.search(text):
        return "it tells of work instead of asking for it"
    if not _ASKED.search(text) or _ELSE.search(text):
        return "it asks for nothing"
    if not text.isprintable() or re.search(r"#W|RC-|[\[\]{}]", text) or text != text.strip():
        return "it is not one plain line"
    if not re.fullmatch(r"[^.?!]+[.?!]", text) or len(text) > LONGEST:
        return f"it is not one sentence of at most {LONGEST} characters"
    return ""


def spoken(text: str) -> str:
    """A text as it sounds: letters and digits alone. Two that sound alike are the same phrasing."""
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def parse_phrasings(content: bytes, domain: Domain, source: str) -> Phrasings:
    """A cache from its file's content, or `RequestError` with the first thing that is wrong with it."""
    try:
        phrasings = _PHRASINGS.validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "its top level"
        raise RequestError(f"the paraphrase cache {source} is wrong at {where} ({first['msg']}); make it anew with "
                           "`artifact paraphrase`") from None
    taken = {spoken(text) for _, _, text in originals(domain)}
    for step in domain.steps:
        for kind in REWRITTEN:
            texts = phrasings.rewrites.get(step.slug, {}).get(kind, ())
            problem = f"it has {len(texts)} of {PARAPHRASES} rewrites" if len(texts) != PARAPHRASES else ""
            for text in texts:
                problem = problem or fault(text, step, domain, taken)
                taken.add(spoken(text))
            if problem:
                raise RequestError(f"the paraphrase cache {source} can't be used for {kind} of {step.slug}: {problem}; "
                                   "make it anew with `artifact paraphrase`")
    return phrasings


def cache_path(domain: str, writer: str) -> Path:
    """The cache of a domain by a writer: the released one, or else the place where yours is."""
    name = f"{domain}.{writer}.json"
    released = paths.PHRASINGS / name
    return released if released.is_file() else paths.OWN_PHRASINGS / name


def writers(domain: str) -> tuple[str, ...]:
    """The writers whose caches of a domain are at hand, sorted."""
    found = [path for folder in (paths.PHRASINGS, paths.OWN_PHRASINGS) for path in folder.glob(f"{domain}.*.json")]
    return tuple(sorted({path.name[len(domain) + 1:-len(".json")] for path in found}))


def load_phrasings(domain: Domain, name: str, phrasings: str) -> tuple[Phrasings, str]:
    """A cache by its writer, with its name in logs.

    Parameters
    ----------
    domain : Domain
        The domain.
    name : str
        The domain's name.
    phrasings : str
        The writer, or the writer and the hash that the cache must have (``smollm2-135m@1a2b3c4d``).

    Returns
    -------
    Phrasings, str
        The cache; writer and hash.

    Raises
    ------
    RequestError
        When there is no such cache, it has another hash, or it breaks a rule.
    """
    writer, _, digest = phrasings.partition("@")
    path = cache_path(name, writer)
    if writer not in writers(name):
        known = ", ".join(writers(name)) or "none"
        raise RequestError(f"there is no paraphrase cache of the domain {name} by {writer!r} (there are: {known}); "
                           f"make one with `artifact paraphrase --domain {name} --model NAME`")
    found, sha256 = _read(path, domain)
    if digest and not sha256.startswith(digest):
        raise RequestError(f"the paraphrase cache {path.name} has the hash {sha256[:_SHOWN_HASH]} and not {digest}; "
                           "restore the one that the study was begun with, or give the study another name")
    return found, f"{writer}@{sha256[:_SHOWN_HASH]}"


@cache
def _read(path: Path, domain: Domain) -> tuple[Phrasings, str]:
    content = path.read_bytes()
    return parse_phrasings(content, domain, path.name), hashlib.sha256(content).hexdigest()


def settled(variant: ScheduleVariant, name: str, under_test: Collection[str]) -> ScheduleVariant:
    """The variant with its cache settled, by writer and hash; a variant without held-out phrasing as it is.

    Parameters
    ----------
    variant : ScheduleVariant
        What is wanted; without a cache, the first one at hand is taken that no model under test wrote.
    name : str
        The domain.
    under_test : collection of str
        The models that read the phrasings: agent, compiler and matcher. Wording that a model wrote itself isn't held
        out from it.

    Raises
    ------
    RequestError
        When there is no such cache, or a model under test wrote it.
    """
    if variant.phrasing is not Phrasing.HELD_OUT:
        return variant
    writer = variant.phrasings.partition("@")[0]
    independent = [other for other in writers(name) if other not in under_test]
    advice = f"make another with `artifact paraphrase --domain {name} --model NAME`, or allow it with --own-phrasings"
    if writer in under_test:
        raise RequestError(f"the paraphrase cache of the domain {name} by {writer} isn't held out from {writer}, which "
                           f"is under test here; {advice}")
    if not writer and not independent:
        known = ", ".join(writers(name)) or "nobody"
        raise RequestError(f"every paraphrase cache of the domain {name} (by {known}) was written by a model that is "
                           f"under test here; {advice} and name it, as in --schedule held_out=WRITER")
    _, settled_name = load_phrasings(load_domain(name), name, variant.phrasings or independent[0])
    return replace(variant, phrasings=settled_name)


def rephrased(domain: Domain, rewrites: Mapping[str, Mapping[RequestKind, tuple[str, ...]]]) -> Domain:
    """The domain with its requests in the words of a cache; everything else as it was."""
    return replace(domain, steps=tuple(
        replace(step, ask=found[RequestKind.ASK], premature=found[RequestKind.PREMATURE],
                redo_probe=found[RequestKind.REDO_PROBE])
        for step in domain.steps for found in [rewrites[step.slug]]))


def write_phrasings(path: Path, phrasings: Phrasings) -> None:
    """Write a cache: the same phrasings, the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_PHRASINGS.dump_json(phrasings, indent=1) + b"\n")
