"""Functions that a model calls by lines of its reply: ``MEMORY {"function": "recall_search", "query": "map"}``.

Text of a model is data: a call that can't be carried out is told why, in a sentence, as the result of that call.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

_LINE = re.compile(r"^[ \t>*`-]*MEMORY[ \t]+(\{.*\})[ \t`*]*$", re.MULTILINE)


class Refused(ValueError):
    """A function that can't do what it was called for; the message says why in words that a model can act on."""


@dataclass(frozen=True)
class Function:
    """One function.

    Parameters
    ----------
    run : callable
        Called with its arguments by name; gives its result as text, or raises `Refused`.
    needs : dict of str to type
        Its arguments.
    may : dict of str to type
        Arguments that may be left out.
    """

    run: Callable[..., str]
    needs: Mapping[str, type]
    may: Mapping[str, type]


def call_functions(reply: str, functions: Mapping[str, Function]) -> tuple[str, ...]:
    """Carry out the calls of a reply, in order, and give what each of them returned, errors included."""
    return tuple(_result(line, functions) for line in _LINE.findall(reply))


def _result(line: str, functions: Mapping[str, Function]) -> str:
    try:
        called = orjson.loads(line)
    except ValueError as error:
        return f"error: {line} is not valid JSON ({error})"
    name = called.pop("function", None)
    function = functions.get(name) if isinstance(name, str) else None
    if function is None:
        return f"error: there is no function {name!r}; the functions are {', '.join(functions)}"
    try:
        return f"{name}: {function.run(**_checked(called, function))}"
    except Refused as error:
        return f"error: {name}: {error}"


def _checked(arguments: dict[str, Any], function: Function) -> dict[str, Any]:
    known = {**function.needs, **function.may}
    for name, kind in known.items():
        if name not in arguments:
            if name in function.needs:
                raise Refused(f"the argument {name!r} is missing; it takes {', '.join(known)}")
        elif not isinstance(arguments[name], kind) or isinstance(arguments[name], bool):
            raise Refused(f"the argument {name!r} must be a {'text' if kind is str else 'whole number'}")
    unknown = sorted(arguments.keys() - known.keys())
    if unknown:
        raise Refused(f"there is no argument {unknown[0]!r}; it takes {', '.join(known)}")
    return arguments
