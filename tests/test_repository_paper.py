"""The paper: no result typed by hand, nothing missing, the same bytes on every build."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from artifact import paths

SECTIONS = sorted((paths.PAPER / "sections").glob("*.tex"))
WRITTEN = "\n".join(path.read_text(encoding="utf-8") for path in SECTIONS)


def test_the_text_has_no_hand_typed_result() -> None:
    prose = re.sub(r"\\begin\{equation\}.*?\\end\{equation\}|\\\w+\[[^]]*\]", "", WRITTEN, flags=re.DOTALL)
    prose = prose.replace(r"95\% ", "")  # the level of every interval, a choice and no result
    results = re.findall(r"(?<![\w.{])\d+\s*/\s*\d+|(?<![\w.-])\d*\.\d+|\d+\s*\\%", prose)
    # Version-like names and licences hold digits that are none either.
    typed = [r for r in results if r not in {"2.5", "4.0"}]
    assert not typed


@pytest.mark.parametrize(("command", "folder", "suffix"), [
    ("generatedtable", paths.TABLES, ".tex"), ("generatedfigure", paths.FIGURES, ".pdf"),
])
def test_every_table_and_figure_of_the_text_has_been_generated(command: str, folder: Path, suffix: str) -> None:
    names = re.findall(rf"\\{command}(?:\[[^]]*\])?\{{([\w-]+)\}}", WRITTEN)
    assert names
    missing = sorted(name for name in names if not (folder / f"{name}{suffix}").is_file())
    assert not missing


def test_every_number_of_the_text_has_been_generated() -> None:
    preamble = (paths.PAPER / "preamble.tex").read_text(encoding="utf-8")
    written = WRITTEN
    for alias, name in re.findall(r"\\newcommand\{\\(\w+)\}\{(\w+)\}", preamble):
        written = re.sub(rf"\\{alias}\s+", name, written)
    used = set(re.findall(r"\\measured\{([^}]*)\}", written))
    assert used
    generated = "\n".join(path.read_text(encoding="utf-8") for path in sorted(paths.NUMBERS.glob("*.tex")))
    assert used <= set(re.findall(r"command\{\\(\w+)\}", generated))


def test_every_section_is_part_of_the_paper() -> None:
    main = (paths.PAPER / "main.tex").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\\input\{sections/(\w+)\}", main)) == [path.stem for path in SECTIONS]


def test_what_is_cited_is_listed_and_what_is_listed_is_cited() -> None:
    cited = {key.strip() for keys in re.findall(r"\\cite[tp]\{([^}]*)\}", WRITTEN) for key in keys.split(",")}
    listed = set(re.findall(r"^@\w+\{(\w+),", (paths.PAPER / "refs.bib").read_text(encoding="utf-8"), re.MULTILINE))
    assert cited == listed


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("latexmk") is None, reason="the PDF needs TeX; run_all.sh says what to install")
def test_two_builds_in_two_places_give_the_same_bytes(tmp_path: Path) -> None:
    built = []
    for place in ("here", "somewhere/else"):
        for source in (paths.PAPER, paths.FIGURES):
            shutil.copytree(source, tmp_path / place / source.name,
                            ignore=shutil.ignore_patterns("main.[!t]*", "*.png"))
        done = subprocess.run(["latexmk", "-silent", "main.tex"], cwd=tmp_path / place / "paper", capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:]
        built.append((tmp_path / place / "paper" / "main.pdf").read_bytes())
    assert built[0].startswith(b"%PDF")
    assert built[0] == built[1]
