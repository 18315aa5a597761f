"""From slots to messages: which paraphrase, which frame, which filler; and the message that revises the plan."""

from artifact.generator.domain import PARAPHRASES, Domain, Template
from artifact.generator.draw import Draw
from artifact.generator.shape import Shape
from artifact.taskstate import RequestKind


def with_order(text: str, work_order: str) -> str:
    """A sentence with a work order before its full stop."""
    return f"{text[:-1]} ({work_order}){text[-1]}"


class Wording:
    """The words of one episode.

    It exists to remember what has been said: a step that is asked or probed twice gets another paraphrase, and no
    filler comes twice.

    Parameters
    ----------
    domain : Domain
        The vocabulary.
    shape : Shape
        The plan.
    requests, fillers : Draw
        The streams for paraphrases and for fillers.
    rotation : int
        By how many places the assignment of paraphrases is rotated (Appendix A.5).
    """

    def __init__(self, domain: Domain, shape: Shape, requests: Draw, fillers: Draw, rotation: int = 0) -> None:
        self._domain = domain
        self._shape = shape
        self._draw = requests
        self._rotation = rotation
        self._next_paraphrase: dict[tuple[RequestKind, int], int] = {}
        self._fillers = iter(fillers.shuffled(domain.fillers))

    def filler(self) -> str:
        """A message that requests nothing."""
        return next(self._fillers)

    def request(self, kind: RequestKind, step: int, work_order: str) -> str:
        """A request of this kind for this step, with its work order."""
        template = self._template(step)
        match kind:
            case RequestKind.ASK:
                text = self._paraphrase(kind, step, template.ask)
            case RequestKind.PREMATURE:
                text = self._paraphrase(kind, step, template.premature)
            case RequestKind.REDO_PROBE:
                text = self._paraphrase(kind, step, template.redo_probe)
            case RequestKind.LEGIT_REDO:
                text = self._draw.choice(self._domain.legit_redo).format(text=template.text)
            case RequestKind.SUPERSEDED_CUE:
                text = self._draw.choice(self._domain.superseded_cue).format(noun=template.noun)
            case _:
                raise ValueError(f"{kind} is not a request for a step")
        return with_order(text, work_order)

    def ambiguous(self, draw: Draw, one: int, other: int) -> str:
        """A probe that names two steps without saying which, its work order still to come."""
        frame = draw.choice(self._domain.ambiguous)
        return frame.format(one=self._template(one).noun, other=self._template(other).noun)

    def revision(self) -> str:
        """The change of plan: one sentence for each affected step, steps by their text in quotes."""
        shape, words = self._shape, self._domain.revision
        if shape.cancelled is None or shape.relaxed is None:
            raise ValueError("this plan has no revision")
        sentences = [words.opening, words.cancel.format(step=self._text(shape.cancelled))]
        for step in shape.rewired:
            frame = words.rewire if shape.revised[step] else words.rewire_none
            sentences.append(frame.format(step=self._text(step), prerequisites=self._listed(shape.revised[step])))
        relaxed, dropped = shape.relaxed
        frame = words.relax if shape.revised[relaxed] else words.relax_none
        sentences.append(frame.format(step=self._text(relaxed), dropped=self._text(dropped),
                                      prerequisites=self._listed(shape.revised[relaxed])))
        return " ".join([*sentences, words.closing])

    def _template(self, step: int) -> Template:
        return self._domain.steps[self._shape.templates[step]]

    def _text(self, step: int) -> str:
        return self._template(step).text

    def _paraphrase(self, kind: RequestKind, step: int, paraphrases: tuple[str, ...]) -> str:
        number = self._next_paraphrase.get((kind, step))
        if number is None:
            number = self._draw.below(PARAPHRASES)
        self._next_paraphrase[kind, step] = (number + 1) % PARAPHRASES
        return paraphrases[(number + self._rotation) % PARAPHRASES]

    def _listed(self, steps: tuple[int, ...]) -> str:
        quoted = [f'"{self._text(step)}"' for step in steps]
        return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
