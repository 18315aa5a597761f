"""How figures look and how they are saved.

Invariant: the same data gives the same bytes on every run; nothing in a file tells when it was made.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import matplotlib.style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from artifact import paths
from artifact.errors import InfrastructureError

STYLE = Path(__file__).with_name("artifact.mplstyle")
TEXT_WIDTH = 6.3  # inches, of the paper's text block

INK, MUTED, FAINT = "#222222", "#8A8A8A", "#DADADA"
RIGHT, WRONG = "#2E7D5B", "#B3261E"

# The same colour and marker for an arm in every figure. Lightness falls with the strength of the coupling, so
# that the order survives a grey print; the hues stay apart under the common colour deficiencies.
ARM_COLOURS = {"raw": "#F0C65C", "checklist": "#5BA9A1", "directive": "#B2456E", "enforcement": "#1F3A78"}
ARM_MARKERS = {"raw": "o", "checklist": "s", "directive": "D", "enforcement": "^"}


@dataclass(frozen=True)
class SavedFigure:
    """Where a figure lies."""

    pdf: Path
    png: Path


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw in the artifact's style, whatever the surrounding session has set."""
    with mpl.rc_context():
        mpl.rcdefaults()
        matplotlib.style.use(STYLE)
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches, without a window or a global state."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def drawable(words: str) -> str:
    """Words from data as a font can draw them: control characters, which none has, become spaces."""
    return "".join(character if character.isprintable() else " " for character in words)


def save(figure: Figure, name: str, folder: Path = paths.FIGURES) -> SavedFigure:
    """Save a figure as PDF for the paper and as PNG for the screen.

    Raises
    ------
    InfrastructureError
        When the folder can't be written.
    """
    saved = SavedFigure(folder / f"{name}.pdf", folder / f"{name}.png")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with figure_style():
            for text in figure.findobj(Text):  # names come from logs: data, and some characters can't be drawn
                text.set_text("\n".join(map(drawable, text.get_text().split("\n"))))
            figure.savefig(saved.pdf, metadata={"CreationDate": None, "Creator": None, "Producer": None})
            figure.savefig(saved.png, metadata={"Software": None})
    except OSError as error:
        raise InfrastructureError(f"the figure {saved.pdf} can't be written ({error.strerror}); make the folder "
                                  "writable or free space") from error
    return saved
