"""The notebooks as files and as programs: pairing, and execution with checked parameters.

Invariants: the committed ``.ipynb`` is made from its ``.py`` and holds no output, so that its bytes depend on its
text alone; a parameter that the notebook doesn't have, or of another type, is an error (papermill only warns).
"""

import ast
import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from artifact import paths
from artifact.errors import InfrastructureError, RequestError, missing_extra

EXECUTED = paths.ROOT / "build" / "notebooks"
_METADATA = {
    "jupytext": {"formats": "ipynb,py:percent"},
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_TYPES = {bool: "True or False", int: "a whole number", float: "a number", str: "a text"}


def execute(name: str, parameters: Mapping[str, Any] | None = None, *, output: Path = EXECUTED) -> Path:
    """Run a notebook from top to bottom.

    Parameters
    ----------
    name : str
        E.g. ``"rq1"``.
    parameters : mapping, optional
        Values for names of its parameters cell; the others keep their defaults.
    output : Path
        Folder for the executed copy, which is not part of the repository.

    Returns
    -------
    Path
        The executed copy, as far as it came.

    Raises
    ------
    RequestError
        When there is no such notebook, it has no such parameter, or the value is of another type; and what the
        notebook itself raises as such.
    InfrastructureError
        What the notebook itself raises as such.
    """
    papermill = _papermill()
    source = _notebook(name)
    chosen = check_parameters(name, parameters or {})
    target = output / f"{name}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        papermill.execute_notebook(str(source), str(target), parameters=chosen, kernel_name="python3",
                                   progress_bar=False, cwd=str(source.parent))
    except papermill.PapermillExecutionError as error:
        # What is raised for a person in the notebook's kernel is raised for the same person here.
        if error.ename == RequestError.__name__:
            raise RequestError(f"notebook {name}: {error.evalue}") from None
        if error.ename == InfrastructureError.__name__:
            raise InfrastructureError(f"notebook {name}: {error.evalue}") from None
        raise
    return target


def default_parameters(name: str) -> dict[str, Any]:
    """The literals of a notebook's parameters cell."""
    inspected = _papermill().inspect_notebook(str(_notebook(name)))
    return {parameter: ast.literal_eval(entry["default"]) for parameter, entry in inspected.items()}


def check_parameters(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The same parameters, when the notebook has them all and each is of the type of its default.

    Raises
    ------
    RequestError
        Otherwise, in a sentence.
    """
    defaults = default_parameters(name)
    for parameter, value in parameters.items():
        if parameter not in defaults:
            close = difflib.get_close_matches(parameter, defaults, n=1)
            hint = f"did you mean {close[0]!r}" if close else f"it has {', '.join(sorted(defaults))}"
            raise RequestError(f"notebook {name} has no parameter {parameter!r}; {hint}")
        if not _is_like(value, defaults[parameter]):
            default = defaults[parameter]
            raise RequestError(f"parameter {parameter!r} of notebook {name} must be {_type_of(default)}, as in "
                               f"{parameter} = {default!r}, but is {value!r}")
    return dict(parameters)


def sync(name: str, folder: Path = paths.NOTEBOOKS) -> Path:
    """Make ``<name>.ipynb`` from ``<name>.py``; the same text gives the same bytes."""
    path = folder / f"{name}.ipynb"
    path.write_text(paired(name, folder), encoding="utf-8")
    return path


def paired(name: str, folder: Path = paths.NOTEBOOKS) -> str:
    """The text of the ``.ipynb`` that belongs to ``<name>.py``."""
    import jupytext

    notebook = jupytext.read(folder / f"{name}.py")
    cells = []
    for number, cell in enumerate(notebook.cells):
        kept = {"cell_type": cell.cell_type, "id": f"{name}-{number:02d}",
                "source": cell.source.splitlines(keepends=True),
                "metadata": {"tags": cell.metadata["tags"]} if "tags" in cell.metadata else {}}
        cells.append(kept | ({"execution_count": None, "outputs": []} if cell.cell_type == "code" else {}))
    content = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def names(folder: Path = paths.NOTEBOOKS) -> tuple[str, ...]:
    """All notebooks, sorted."""
    return tuple(sorted(path.stem for path in folder.glob("*.py")))


def _notebook(name: str) -> Path:
    path = paths.NOTEBOOKS / f"{name}.ipynb"
    if name not in names() or not path.is_file():
        raise RequestError(f"there is no notebook {name!r}; the notebooks are {', '.join(names()) or 'none'}")
    return path


def _papermill() -> Any:
    try:
        import papermill
    except ImportError:
        raise missing_extra("running a notebook", "notebooks") from None
    return papermill


def _is_like(value: object, default: object) -> bool:
    """Whether a value has the default's type; an int will do for a float, and a list is checked by element."""
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if isinstance(default, float):
        return isinstance(value, int | float)
    if isinstance(default, list):
        return isinstance(value, list) and all(_is_like(element, default[0]) for element in value if default)
    return isinstance(value, type(default))


def _type_of(default: object) -> str:
    if isinstance(default, list):
        return f"a list of {type(default[0]).__name__}" if default else "a list"
    return _TYPES[type(default)]
