"""Domains: the vocabulary of an episode, read from the data files in `domains/`.

A domain is data. A new one is a new TOML file with 18 step templates, three in each of six phases.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from artifact.errors import RequestError
from artifact.generator.shape import PHASES, TEMPLATES_PER_PHASE
from artifact.paths import DOMAINS

PARAPHRASES = 3
# The most fillers that an episode needs (S = 1), so that none is ever said twice.
FEWEST_FILLERS = 40


@dataclass(frozen=True)
class Template:
    """One step template.

    Parameters
    ----------
    slug : str
        Its name, in no other domain.
    phase : int
        1 to 6; prerequisites run from earlier to later phases.
    noun : str
        The words that name the step; every wording contains them, and a rewrite must keep them.
    text : str
        The step as the brief lists it, in the imperative.
    ask, premature, redo_probe : tuple of str
        Three paraphrases of each kind of request.
    """

    slug: str
    phase: int
    noun: str
    text: str
    ask: tuple[str, ...]
    premature: tuple[str, ...]
    redo_probe: tuple[str, ...]


@dataclass(frozen=True)
class RevisionWording:
    """The sentences of the revision message, with ``{step}``, ``{dropped}`` and ``{prerequisites}`` to fill."""

    opening: str
    cancel: str
    rewire: str
    rewire_none: str
    relax: str
    relax_none: str
    closing: str


@dataclass(frozen=True)
class Domain:
    """All words of a domain.

    Parameters
    ----------
    title : str
        What people call it.
    steps : tuple of Template
        Eighteen templates in the order of their phases.
    legit_redo, superseded_cue : tuple of str
        Frames with ``{text}`` and ``{noun}``, for any step.
    ambiguous : tuple of str
        Frames with ``{one}`` and ``{other}``, the nouns of two steps of which one is wanted.
    fillers : tuple of str
        Messages that request nothing.
    revision : RevisionWording
        The sentences of the change of plan.
    """

    title: str
    steps: tuple[Template, ...]
    legit_redo: tuple[str, ...]
    superseded_cue: tuple[str, ...]
    ambiguous: tuple[str, ...]
    fillers: tuple[str, ...]
    revision: RevisionWording


_DOMAIN = TypeAdapter(Domain)


def domain_names() -> tuple[str, ...]:
    """The known domains, sorted."""
    return tuple(sorted(path.stem for path in DOMAINS.glob("*.toml")))


@cache
def load_domain(name: str) -> Domain:
    """The domain of this name; `RequestError` for an unknown name or a file that breaks a rule."""
    if name not in domain_names():
        raise RequestError(f"there is no domain {name!r}; the known ones are {', '.join(domain_names())}")
    path = DOMAINS / f"{name}.toml"
    try:
        return parse_domain(tomllib.loads(path.read_text(encoding="utf-8")), source=path.name)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RequestError(f"the domain file {path.name} is not valid TOML ({error}); correct it") from None


def parse_domain(fields: Mapping[str, Any], source: str) -> Domain:
    """A domain from the fields of its file, or `RequestError` with the first rule that it breaks."""
    try:
        domain = _DOMAIN.validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise RequestError(f"the domain file {source} is wrong at {where}: {first['msg']}; correct it") from None
    for rule, broken in _broken_rules(domain):
        if broken:
            raise RequestError(f"the domain file {source} breaks a rule: {rule} ({broken[0]}); correct it")
    return domain


def _broken_rules(domain: Domain) -> list[tuple[str, list[str]]]:
    steps = domain.steps
    slugs = [step.slug for step in steps]
    nouns = [step.noun for step in steps]
    phases = [step.phase for step in steps]
    wanted = [phase for phase in range(1, PHASES + 1) for _ in range(TEMPLATES_PER_PHASE)]
    wordings = {step.slug: (*step.ask, *step.premature, *step.redo_probe) for step in steps}
    alien = [f"{step.slug}: {wording}" for step in steps for wording in (step.text, *wordings[step.slug])
             if [noun for noun in nouns if noun in wording] != [step.noun]]
    return [
        (f"steps come in {PHASES} phases of {TEMPLATES_PER_PHASE}, in order",
         [] if phases == wanted else [f"found {phases}"]),
        ("slugs are unique", [slug for slug in slugs if slugs.count(slug) > 1]),
        (f"each kind of request has {PARAPHRASES} different paraphrases",
         [step.slug for step in steps for kind in (step.ask, step.premature, step.redo_probe)
          if len(set(kind)) != PARAPHRASES or len(kind) != PARAPHRASES]),
        ("every wording contains its step's noun and no other's", alien),
        (f"there are at least {FEWEST_FILLERS} different fillers",
         [] if len(set(domain.fillers)) >= FEWEST_FILLERS else [f"found {len(set(domain.fillers))}"]),
        ("a filler names no step", [filler for filler in domain.fillers if any(noun in filler for noun in nouns)]),
        ("a redo frame contains {text}", [frame for frame in domain.legit_redo if "{text}" not in frame]),
        ("a cue frame contains {noun}", [frame for frame in domain.superseded_cue if "{noun}" not in frame]),
        ("an ambiguous frame contains {one} and {other}",
         [frame for frame in domain.ambiguous if "{one}" not in frame or "{other}" not in frame]),
    ]
