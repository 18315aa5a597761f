"""An arm with its options as a person names it: ``enforcement:notice=same_turn,heal=true``."""

from dataclasses import dataclass, field, replace

from artifact.arms.base import Arm
from artifact.arms.registry import ARMS
from artifact.errors import RequestError
from artifact.log.options import ArmOptions, check_known, value_of
from artifact.log.records import ArmIdentity


@dataclass(frozen=True)
class ArmSpec:
    """An arm by name with its options: what a command line or a notebook asks for.

    Parameters
    ----------
    name : str
        One of `ARMS`.
    options : ArmOptions
        Those that the arm takes; the others at their defaults.

    Raises
    ------
    RequestError
        When there is no such arm, or it doesn't take an option.
    """

    name: str
    options: ArmOptions = field(default_factory=ArmOptions)

    def __post_init__(self) -> None:
        for option in self.options.chosen:
            _check_taken(self.name, option)
        make_arm(self)

    @property
    def identity(self) -> ArmIdentity:
        """Name and the options that differ from the defaults, as they stand in logs."""
        return ArmIdentity(self.name, self.options.chosen)

    @property
    def features(self) -> tuple[str, ...]:
        """What may add texts to a prompt set: the arm's name and its chosen options."""
        return (self.name, *self.options.chosen)

    def __str__(self) -> str:
        return self.identity.text


def make_arm(spec: ArmSpec) -> Arm:
    """Build the arm that a specification names.

    Raises
    ------
    RequestError
        When there is no such arm.
    """
    return _kind(spec.name)(spec.options)


def parse_arm(text: str, gates: ArmOptions | None = None) -> ArmSpec:
    """An arm from its text: its name, or ``name:option=value,option=value``.

    Parameters
    ----------
    text : str
        E.g. ``"checklist:mode=replace"``; what `str` gives of a specification is read back to the same one.
    gates : ArmOptions or None
        Options that the gate arms (those that take ``state``) start from; those in the text win.

    Raises
    ------
    RequestError
        When the text is no such specification, or names an unknown arm, option or value.
    """
    name, colon, listed = text.strip().partition(":")
    options = gates if gates is not None and "state" in _kind(name).takes else ArmOptions()
    seen: set[str] = set()
    for part in listed.split(",") if colon else ():
        option, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise RequestError(f"the arm {text!r} can't be read at {part!r}; write for instance "
                               "enforcement:notice=same_turn,heal=true")
        _check_taken(name, option)
        if option in seen:
            raise RequestError(f"the arm {text!r} names the option {option} twice; name it once")
        seen.add(option)
        options = replace(options, **{option: value_of(option, value)})
    return ArmSpec(name, options)


def parse_arms(text: str, gates: ArmOptions | None = None) -> tuple[ArmSpec, ...]:
    """Several arms with commas between: ``raw,checklist:mode=replace,enforcement:notice=same_turn,heal=true``.

    A part with ``=`` and without ``:`` is a further option of the arm before it.
    """
    arms: list[str] = []
    for part in text.split(","):
        if arms and "=" in part and ":" not in part:
            arms[-1] += f",{part}"
        else:
            arms.append(part)
    return tuple(parse_arm(arm, gates) for arm in arms)


def _kind(name: str) -> type[Arm]:
    if name not in ARMS:
        raise RequestError(f"there is no arm {name!r}; the arms are {', '.join(ARMS)}")
    return ARMS[name]


def _check_taken(name: str, option: str) -> None:
    check_known(option)
    takes = _kind(name).takes
    if option not in takes:
        raise RequestError(f"the arm {name} doesn't take the option {option}; it takes {', '.join(takes) or 'none'}")
