"""Making a cache of held-out phrasings: every request of a domain, rewritten by a model (Appendix A.5)."""

import hashlib
import json
from collections.abc import Callable

from artifact import paths
from artifact.errors import RequestError
from artifact.generator.domain import Domain, Template, load_domain
from artifact.generator.phrasings import LONGEST, Phrasings, Provenance, fault, originals, spoken
from artifact.log.records import Message
from artifact.models import ChatModel
from artifact.taskstate import RequestKind

TEMPERATURE = 0.7  # Appendix A.5
_BUDGET = 80
_SESSION = "paraphrase:state/paraphrase"  # a helper call: the worked examples stay in the prefix cache
_SCHEMA = {"title": "paraphrase", "type": "object", "properties": {"rewrite": {"type": "string", "maxLength": LONGEST}},
           "required": ["rewrite"], "additionalProperties": False}
_SHOWN = ("flower bed", "garden fence", "old shed", "everything prepared")  # a small model may copy an example
_PROMPT = paths.PROMPTS / "paraphrase.txt"


async def make_phrasings(name: str, model: ChatModel, *, seed: int = 0, attempts: int = 60,
                         say: Callable[[str], None] = lambda line: None) -> Phrasings:
    """Have a model rewrite every ask, premature probe and redo probe of a domain.

    Parameters
    ----------
    name : str
        The domain.
    model : ChatModel
        The writer.
    seed : int
        Sampling seed of the first try; each further one takes the next.
    attempts : int
        Tries for one wording; the first rewrite that keeps the rules is taken.
    say : callable
        Told one line a step.

    Returns
    -------
    Phrasings
        With the number of tries in its provenance.

    Raises
    ------
    RequestError
        When no try for a wording keeps the rules.
    """
    domain = load_domain(name)
    prompt = _PROMPT.read_text("utf-8").rstrip("\n")
    taken = {spoken(text) for _, _, text in originals(domain)}
    rewrites: dict[str, dict[RequestKind, tuple[str, ...]]] = {}
    tries = 0
    for step, kind, text in originals(domain):
        question = [Message("user", prompt.format(noun=step.noun, message=text))]
        problem = ""
        for _ in range(attempts):
            reply = await model.complete(question, max_tokens=_BUDGET, temperature=TEMPERATURE, seed=seed + tries,
                                         schema=_SCHEMA, session=_SESSION)
            tries += 1
            rewrite, problem = _read(reply.text, step, domain, taken)
            if not problem:
                break
        else:
            raise RequestError(f"{model.name} gave no usable rewrite of {text!r} in {attempts} tries (the last: "
                               f"{problem}); allow more with --attempts, or name another model")
        taken.add(spoken(rewrite))
        of_step = rewrites.setdefault(step.slug, {})
        of_step[kind] = (*of_step.get(kind, ()), rewrite)
        say(f"{step.slug} {kind} ({tries} tries so far): {rewrite}")
    provenance = Provenance(model.name, model.identity(), hashlib.sha256(prompt.encode()).hexdigest(), TEMPERATURE,
                            seed, tries)
    return Phrasings(name, provenance, rewrites)


def _read(reply: str, step: Template, domain: Domain, taken: set[str]) -> tuple[str, str]:
    try:
        rewrite = str(json.loads(reply)["rewrite"]).strip()
    except (ValueError, KeyError, TypeError):
        return "", "it is no JSON object with a rewrite"
    if shown := [noun for noun in _SHOWN if noun in rewrite]:
        return "", f"it speaks of the worked examples' {shown[0]}"
    return rewrite, fault(rewrite, step, domain, taken)
