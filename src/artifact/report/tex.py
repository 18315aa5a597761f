"""What TeX needs: escaped text, macro names, booktabs tables.

Invariant: whatever comes from data passes `escape`; only the report's own templates hold TeX commands.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "§": r"\S{}", "¶": r"\P{}", "→": r"$\rightarrow$", "ρ": r"$\rho$",
    "ε": r"$\varepsilon$",
    "≥": r"$\geq$", "≤": r"$\leq$", "–": "--", "—": "---", "’": "'", "…": r"\ldots{}", "×": r"$\times$", "−": "$-$",
}
_DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def escape(text: object) -> str:
    """Text from data, safe in a TeX paragraph or table cell; a line break becomes a space.

    Characters that pdfTeX's fonts lack, and control characters, are named by their code point. At the beginning of a
    row a bracket or star would be read as an option of the line break before it.
    """
    escaped = "".join(_ESCAPES.get(character) or _known(character) for character in " ".join(str(text).split()))
    return "{}" + escaped if escaped.startswith(("[", "*")) else escaped


def _known(character: str) -> str:
    is_letter = "\u00a1" <= character <= "\u017f" and character.isalpha()
    return character if " " <= character <= "~" or is_letter else f"U+{ord(character):04X}"


def macro_name(*parts: object) -> str:
    """A macro name made of letters alone: words capitalised and joined, digits spelled, points as ``Point``.

    Examples
    --------
    >>> macro_name("rq1", "qwen2.5-coder", 0.15)
    'RqOneQwenTwoPointFiveCoderZeroPointOneFive'
    """
    words = []
    for part in parts:
        spelled = re.sub(r"(?<=\d)\.(?=\d)", " point ", str(part))
        for word in re.findall(r"[A-Za-z]+|\d", spelled):
            words.append(_DIGITS[int(word)] if word.isdigit() else word[0].upper() + word[1:])
    name = "".join(words)
    if not name:
        raise ValueError(f"no macro can be named after {parts!r}")
    return name


def small(tex: str) -> str:
    """TeX in a smaller size; nothing stays nothing."""
    return r"{\footnotesize " + tex + "}" if tex else ""


def bold(tex: str) -> str:
    """TeX in bold."""
    return r"\textbf{" + tex + "}"


def spanning(tex: str, columns: int) -> str:
    """A cell across columns, flush left."""
    return rf"\multicolumn{{{columns}}}{{@{{}}l}}{{{tex}}}"


@dataclass(frozen=True)
class Block:
    """Rows of a table under a heading of their own.

    Parameters
    ----------
    heading : str
        TeX; empty for none.
    rows : tuple of tuple of str
        Cells in TeX. A row may be shorter than the table; the rest stays empty.
    """

    heading: str
    rows: tuple[tuple[str, ...], ...]


def booktabs(
    columns: str, headers: Sequence[Sequence[str]], blocks: Iterable[Block], *, notes: Sequence[str] = (),
    source: str = "",
) -> str:
    """A booktabs ``tabular``, without float and caption: these belong to the paper's text.

    Parameters
    ----------
    columns : str
        The column specification.
    headers : sequence of sequence of str
        Header lines, in TeX.
    blocks : iterable of Block
        Separated by rules.
    notes : sequence of str
        Lines under the table, in TeX.
    source : str
        Where the numbers come from; a comment on top.
    """
    width = len(re.findall(r"[lcr]|p\{[^}]*\}", re.sub(r"[@>!]\{(?:[^{}]|\{[^{}]*\})*\}", "", columns)))
    lines = [f"% {source}"] if source else []
    lines += [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    lines += [" & ".join(header) + r" \\" for header in headers]
    for block in blocks:
        lines.append(r"\midrule")
        if block.heading:
            heading = spanning(rf"\emph{{{block.heading}}}", width)
            lines += [rf"{heading} \\", r"\addlinespace[2pt]"]
        lines += [(" & ".join(row) + r" \\") if row else r"\addlinespace[3pt]" for row in block.rows]
    lines.append(r"\bottomrule")
    lines.append(r"\end{tabular}")
    if notes:
        lines += [r"\par\smallskip", r"\begin{minipage}{\linewidth}\footnotesize\raggedright"]
        lines += [*(note + r"\par" for note in notes), r"\end{minipage}"]
    return "\n".join(lines) + "\n"
