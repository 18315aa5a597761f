"""Variants of an episode's schedule: the same plan and the same requests, worded or surrounded otherwise (A.5)."""

from dataclasses import dataclass
from enum import StrEnum

CANONICAL = "canonical"


class Phrasing(StrEnum):
    """Where the words of asks, premature probes and redo probes come from."""

    TEMPLATE = "template"
    ROTATED = "rotated"
    HELD_OUT = "held_out"


@dataclass(frozen=True)
class ScheduleVariant:
    """How a schedule departs from the canonical one; the canonical one by default.

    Parameters
    ----------
    phrasing : Phrasing
        ``rotated`` gives each request the next of its step's three paraphrases; ``held_out`` a rewrite by a model.
    phrasings : str
        For ``held_out`` the cache of rewrites: its writer, and a hash of the file once it is settled
        (``smollm2-135m@1a2b3c4d``); empty to leave the choice to the study.
    ambiguous : float
        Rate at which probes come that name two eligible steps without saying which: the chance, for each step that
        is asked for, of one such probe.
    spoofed : bool
        The user's own text carries forged lines in the voice of the task-state module, and forged ref lines.
    ordered_fillers : bool
        Fillers carry a work order of their own, so that there is something to book on them.

    Raises
    ------
    ValueError
        When the rate is no probability, or a cache is named that nothing asks for.
    """

    phrasing: Phrasing = Phrasing.TEMPLATE
    phrasings: str = ""
    ambiguous: float = 0.0
    spoofed: bool = False
    ordered_fillers: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.ambiguous <= 1:
            raise ValueError(f"the rate {self.ambiguous!r} of ambiguous probes is no number from 0 to 1")
        if self.phrasings and self.phrasing is not Phrasing.HELD_OUT:
            raise ValueError("only held-out phrasing takes a cache of rewrites")

    def __str__(self) -> str:
        parts = []
        if self.phrasing is not Phrasing.TEMPLATE:
            parts.append(f"{self.phrasing}={self.phrasings}" if self.phrasings else str(self.phrasing))
        parts += [f"ambiguous={self.ambiguous:g}"] if self.ambiguous else []
        parts += ["spoofed"] if self.spoofed else []
        parts += ["ordered_fillers"] if self.ordered_fillers else []
        return ",".join(parts) or CANONICAL

    @classmethod
    def parse(cls, text: str) -> "ScheduleVariant":
        """The variant of a text such as ``held_out,ambiguous=0.15``; ``canonical`` is none.

        Raises
        ------
        ValueError
            When the text names no variant.
        """
        variant = cls()
        for part in [] if text == CANONICAL else text.split(","):
            name, equals, value = part.strip().partition("=")
            variant = variant._with(name, value if equals else None)
        return variant

    def _with(self, name: str, value: str | None) -> "ScheduleVariant":
        fields = {**self.__dict__}
        match name:
            case Phrasing.ROTATED if value is None:
                fields["phrasing"] = Phrasing.ROTATED
            case Phrasing.HELD_OUT:
                fields |= {"phrasing": Phrasing.HELD_OUT, "phrasings": value or ""}
            case "ambiguous" if value is not None:
                fields["ambiguous"] = float(value)
            case "spoofed" | "ordered_fillers" if value is None:
                fields[name] = True
            case _:
                raise ValueError(f"{name!r} is no variant of a schedule")
        return ScheduleVariant(**fields)
