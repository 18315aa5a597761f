"""The options of an arm: a closed set, because a log must say what it was measured on.

They belong to the format of the log and not to the arms, so that a reader without arms or models can tell an option
that it knows from one that it doesn't.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_type_hints

from artifact.errors import RequestError


@dataclass(frozen=True)
class ArmOptions:
    """Options of an arm: frozen, and part of the cell's identity. Each arm takes some of them.

    Parameters
    ----------
    state : str
        ``"compiled"`` by a model, or ``"oracle"``: the generator's own graph and revision.
    matcher : str
        ``"model"``, or ``"oracle"``: the scripted step and redo flag.
    match_every_turn : bool
        Run the matcher on filler and revision turns too, instead of passing them by.
    corruption : float
        Rate per step and turn at which done bits flip and prerequisites drop in the module's state.
    corruption_draws : str
        ``"two"``: each of the two at that rate; ``"one"``: one or the other, which is about what the paper counts.
    mode : str
        Of checklist and ledger. ``"append"``: every message keeps the copy that it was sent with;
        ``"replace"``: only the current message carries one, earlier ones stand without theirs (Appendix E.2).
        Of memory arms. ``"append"``, which may be written as ``augment``: the recall block comes on top of the
        transcript; ``"replace"``: brief, block and the last two exchanges take its place (§3.3).
    matched_line : bool
        The checklist ends with a line that names the step of the request, without an instruction (Appendix E.2).
    role : str
        Where a directive stands. ``"user"``: in the request's message; ``"system"``: at the end of the system
        prompt, for that call only (Appendix E.2).
    policy : str
        What enforcement admits. ``"state"``: whatever the state admits; ``"request"``: of that only the step
        which the request was resolved to (§3.3).
    notice : str
        When enforcement tells of a refusal. ``"next_turn"``, or ``"same_turn"``: at once, and the reply that the
        client sees is the one written after it (Appendix D.3).
    unresolved : str
        What a gate does when a request is resolved to no step. ``"pass"``: nothing; ``"ask"``: the matcher may
        also name two steps, the directive is to ask which one is meant, and enforcement admits nothing.
    named : bool
        Directives name their step in words too.
    heal : bool
        A state that the validator flags is compiled once more with its defects named; if it is flagged still,
        nothing is refused from there on. Done bits are rebuilt from the receipts before every decision.
    reflect_at : int
        Of the memory stream: the summed importance of what was observed past which it reflects.
    unit : int
        Of the memory stream: how many units of time a turn takes, for the decay of recency.
    window : int
        Of paged context: its size in tokens, at an estimated three characters a token.

    Raises
    ------
    RequestError
        When a value is none of an option's.
    """

    state: Literal["compiled", "oracle"] = "compiled"
    matcher: Literal["model", "oracle"] = "model"
    match_every_turn: bool = False
    corruption: float = 0.0
    corruption_draws: Literal["two", "one"] = "two"
    mode: Literal["append", "replace"] = "append"
    matched_line: bool = False
    role: Literal["user", "system"] = "user"
    policy: Literal["state", "request"] = "state"
    notice: Literal["next_turn", "same_turn"] = "next_turn"
    unresolved: Literal["pass", "ask"] = "pass"
    named: bool = False
    heal: bool = False
    reflect_at: int = 150
    unit: int = 1
    window: int = 1750

    def __post_init__(self) -> None:
        for name in OPTIONS:
            if not _takes(name, getattr(self, name)):
                raise _bad_value(name, getattr(self, name))

    @property
    def chosen(self) -> dict[str, Any]:
        """The options that differ from their defaults, as they stand in logs."""
        return {option.name: getattr(self, option.name) for option in fields(self)
                if getattr(self, option.name) != option.default}


OPTIONS = tuple(option.name for option in fields(ArmOptions))
_HINTS = get_type_hints(ArmOptions)
_BILLION = 10 ** 9  # an integer without end is read back from JSON as a fraction
_KNOWN = {bool: "true or false", float: "a rate from 0 to 1", int: "a whole number above 0 and below a billion"}
_ALSO_WRITTEN = {("mode", "augment"): "append"}  # the paper's word for it, of memory arms


def options_in(logged: Mapping[str, object]) -> ArmOptions:
    """The options of an arm as a log states them.

    Raises
    ------
    RequestError
        For an option or a value that this version doesn't know: what was run then isn't known either.
    """
    try:
        for name in logged:
            check_known(name)
        return ArmOptions(**logged)  # type: ignore[arg-type]
    except RequestError as error:
        raise RequestError(f"{error}; read the log with the version of the package that wrote it") from None


def check_known(name: str) -> None:
    """Raise `RequestError` unless there is an option of this name."""
    if name not in OPTIONS:
        raise RequestError(f"there is no arm option {name!r}; the options are {', '.join(OPTIONS)}")


def value_of(name: str, text: str) -> Any:
    """The value of an option from its text, e.g. ``"true"``, ``"0.01"``, ``"replace"``.

    Raises
    ------
    RequestError
        When there is no such option, or it has no such value.
    """
    check_known(name)
    value: object = _ALSO_WRITTEN.get((name, text), text)
    if _HINTS[name] is bool:
        value = {"true": True, "false": False}.get(text, text)
    elif _HINTS[name] in (float, int):
        try:
            value = _HINTS[name](text)
        except ValueError:
            raise _bad_value(name, text) from None
    if not _takes(name, value):
        raise _bad_value(name, text)
    return value


def value_text(value: object) -> str:
    """A value as `value_of` reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _takes(name: str, value: object) -> bool:
    hint = _HINTS[name]
    if hint is bool:
        return isinstance(value, bool)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool) and 0 < value < _BILLION
    return isinstance(value, str) and value in get_args(hint)


def _bad_value(name: str, value: object) -> RequestError:
    hint = _HINTS[name]
    known = _KNOWN.get(hint) or " or ".join(get_args(hint))
    return RequestError(f"the arm option {name} can't be {value!r}; it is {known}")
