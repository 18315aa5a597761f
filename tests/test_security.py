"""Replies, names and seeds are data; keys stay in the environment; nothing is opened, run or followed unasked."""

import ast
import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from artifact import paths
from artifact.arms import ArmSpec
from artifact.cli.main import build_parser, main
from artifact.errors import RequestError
from artifact.log import EndReason, iter_logs
from artifact.models import llamacpp, open_model, serve, weights
from artifact.models.openai_compatible import OpenAICompatible
from artifact.models.registry import find_model
from artifact.models.vllm_server import VllmSettings
from artifact.report import build_report
from artifact.report.build import Destination
from artifact.report.faults_table import faults_table
from artifact.report.tex import escape
from artifact.runner import StudyPlan, run_study_async
from chat_server import QUICK, ChatServer, completion, error
from episode_logs import edit, every_kind, play, save

HOSTILE = [
    "../../../etc/passwd", "/etc/cron.d/x", "C:\\x", "{0.__class__.__mro__}", "{prompts}", "%s%n%x", "$(touch ../x)",
    "`id`", "\x1b[2J\x1b]0;owned\x07", "\r\x08\x7f\x9b31m", "\x00", "\u202eevil\u2066", "\\input{/etc/passwd}",
    "\\write18{id}", "$x^2_3 & % # ~ }{ \\\\", "[*] --", "<script>alert(1)</script>", "</pre><img src=x onerror=y>",
    "&lt;", "=1+1", "\U0001f600 日本語 \u0301", "ref RC-{code}/{work_order}", "\ufeff\u2028\u2029",
]
TERMINAL = {chr(code) for code in (*range(0x20), *range(0x7f, 0xa0)) if chr(code) != "\n"} | {"\u202e", "\u2066"}
KEY = "sk-Qd8vZr3mW1xN7tKbLp0aYc"


def is_safe_on_a_terminal(text: str) -> bool:
    return not TERMINAL & set(text)


@pytest.fixture(scope="module")
def hostile_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study on all rungs with a server whose model bears, and says, what harms a careless reader."""
    folder = tmp_path_factory.mktemp("hostile")

    async def study() -> None:
        says = [completion(f"{text}\n{text}") for text in HOSTILE] * 8
        async with ChatServer(*says, models=("".join(HOSTILE),)) as server:
            model = await OpenAICompatible.connect(server.url, retry=QUICK)
            plan = StudyPlan("t", server.url, sizes=(5,), seeds=(100,),
                             arms=tuple(map(ArmSpec, ("raw", "checklist", "directive", "enforcement"))))
            await run_study_async(plan, runs=folder, durable=False, model=model)
            await model.close()
    asyncio.run(study())
    return folder


def test_replies_and_names_are_kept_word_for_word_and_make_no_path(hostile_runs: Path) -> None:
    logs = list(iter_logs([hostile_runs]))
    assert [log.completed for log in logs] == [True] * 4
    said = {turn.reply for log in logs for turn in log.turns}
    assert {f"{text}\n{text}" for text in HOSTILE} <= said
    assert {log.header.cell.model for log in logs} == {"".join(HOSTILE)}
    cells = {path.parent.parent for path in hostile_runs.rglob("*.jsonl")}
    assert [cell.parent for cell in cells] == [hostile_runs / "t"]
    assert not any(booking.accepted for log in logs for turn in log.turns for booking in turn.bookings)


def test_what_is_printed_of_a_log_obeys_nothing_in_it(hostile_runs: Path, tmp_path: Path,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    for log in sorted(hostile_runs.rglob("*.jsonl")):
        assert main(["show", str(log)]) == 0
        assert main(["show", str(log), "--html", str(tmp_path / "page.html")]) == 0
        page = (tmp_path / "page.html").read_text()
        assert "<script" not in page and "<img" not in page
        assert is_safe_on_a_terminal(page)
    assert main(["score", str(hostile_runs)]) == 0
    assert main(["verify", str(hostile_runs)]) == 0
    captured = capsys.readouterr()
    assert is_safe_on_a_terminal(captured.out) and is_safe_on_a_terminal(captured.err)
    assert "\\x1b[2J" in captured.out and "{0.__class__.__mro__}" in captured.out


def test_a_log_from_elsewhere_whose_every_name_is_hostile_harms_no_terminal(
        hostile_runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "100.jsonl"
    shutil.copy(next(hostile_runs.rglob("enforcement/100.jsonl")), path)
    edit(path, b'"engine":"vllm"', b'"engine":"\\u001b[2J"')
    edit(path, b'"study":"t"', b'"study":"\\u001b]0;x\\u0007"')
    edit(path, b'"error":"', b'"error":"\\u001b[31m')
    assert main(["show", str(path)]) == 0
    edit(path, b'"record":"end"', b'"record":"\\u009b2J"')
    assert main(["show", str(path)]) == 2
    captured = capsys.readouterr()
    assert is_safe_on_a_terminal(captured.out) and is_safe_on_a_terminal(captured.err)
    assert "\\x1b[2J" in captured.out


def hostile_report(folder: Path) -> Path:
    """A whole report from logs whose model is named by each hostile text in turn."""
    for number, text in enumerate(HOSTILE):
        log = play(every_kind(100 + number), lambda n, turn, state, text=text: text,
                   end=EndReason.MODEL_ERROR if number % 3 == 0 else EndReason.COMPLETED)
        cell = replace(log.header.cell, model=f"{text}{number}", state_model=text)
        save(replace(log, header=replace(log.header, cell=cell, model={"engine": text, "engine_version": text})),
             folder / "runs")
    out = Destination(folder / "tables", folder / "figures", folder / "numbers")
    build_report(sources=[folder / "runs"], to=out)
    faults_table(iter_logs([folder / "runs"])).write(out.tables)
    return out.tables


@pytest.fixture(scope="module")
def hostile_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_report(tmp_path_factory.mktemp("report"))


def test_no_table_holds_a_command_that_came_from_data(hostile_tables: Path) -> None:
    tables = {path.name: path.read_text("utf-8") for path in hostile_tables.glob("*.tex")}
    assert len(tables) > 5
    for name, tex in tables.items():
        assert "\\input{" not in tex and "\\write18" not in tex, name
        assert is_safe_on_a_terminal(tex), name
    assert "textbackslash{}input" in "".join(tables.values())


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not on this machine")
def test_tex_sets_whatever_a_model_may_be_called(hostile_tables: Path, tmp_path: Path) -> None:
    rows = "".join(f"{escape(text)} & x \\\\\n" for text in (*HOSTILE, *(text[::-1] for text in HOSTILE)))
    inputs = "".join(rf"\input{{{path}}}" for path in sorted(hostile_tables.glob("*.tex")))
    (tmp_path / "t.tex").write_text(
        r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}\usepackage{textcomp,array,booktabs,amsmath,amssymb,multirow}"
        rf"\begin{{document}}\begin{{tabular}}{{ll}}{rows}\end{{tabular}}{inputs}\end{{document}}", "utf-8")
    done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"], cwd=tmp_path,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("seeds", ["../1", "1;2", "{0}", "$(id)", "\x1b[2J", "1e3", "0x10"])
def test_a_seed_that_is_none_is_refused_without_harm(seeds: str, tmp_path: Path,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--study", "t", "--model", "scripted:always-book", "--seeds", seeds, "--runs",
                 str(tmp_path)]) == 2
    assert is_safe_on_a_terminal(capsys.readouterr().err)
    assert not list(tmp_path.iterdir())


# Keys


def test_a_key_is_in_no_log_no_output_no_error_and_no_help(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    """The server does its worst: it quotes the key in replies, and in a refusal."""
    async def study() -> None:
        reply = completion(f"your key is {KEY}")
        async with ChatServer(*[reply] * 20, error(400, f"{KEY} may not")) as server:
            code = await asyncio.to_thread(main, [
                "run", "--study", "t", "--model", server.url, "--sizes", "5", "--seeds", "100", "--arms", "raw",
                "--runs", str(tmp_path)])
        assert code == 0
        assert {asked.headers.get("Authorization") for asked in server.asked} == {f"Bearer {KEY}"}
    monkeypatch.setenv("ARTIFACT_API_KEY", KEY)
    asyncio.run(study())
    (log,) = iter_logs([tmp_path])
    assert log.end and log.end.reason is EndReason.MODEL_ERROR and "*** may not" in log.end.detail
    assert log.turns[0].reply == "your key is ***"
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for command in ([], *([name] for name in subcommands())):
        with pytest.raises(SystemExit):
            main([*command, "--help"])
    captured = capsys.readouterr()
    assert KEY not in captured.out and KEY not in captured.err


def subcommands() -> Iterator[str]:
    for action in build_parser()._actions:
        yield from action.choices if isinstance(action.choices, dict) else ()


def test_a_word_that_serves_as_a_key_is_not_struck_out_of_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk() -> str:
        async with ChatServer(completion("none of them is empty")) as server:
            model = await OpenAICompatible.connect(server.url, retry=QUICK)
            reply = await model.complete([], max_tokens=9)
            await model.close()
            return reply.text
    monkeypatch.setenv("ARTIFACT_API_KEY", "none")
    assert asyncio.run(talk()) == "none of them is empty"


# Weights


@pytest.mark.parametrize("how", ["open", "serve"])
def test_no_engine_is_started_on_weights_whose_hash_was_not_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                                                    how: str) -> None:
    """A file of the right name and size, with a mark beside it that an earlier check of another file left."""
    entry = find_model("smollm2-135m")
    assert entry.weights is not None
    monkeypatch.setattr(paths, "WEIGHTS", tmp_path)
    monkeypatch.setattr(llamacpp, "start_engine", lambda *_, **__: pytest.fail("the engine was given the file"))
    path = tmp_path / f"{entry.weights.sha256}.gguf"
    path.write_bytes(b"GGUF not what it is called")
    status = path.stat()
    path.with_suffix(".checked").write_text(f"{status.st_size} {status.st_mtime_ns}")
    settings = VllmSettings(port=0)
    start = {"open": lambda: asyncio.run(open_model(entry.name)),
             "serve": lambda: serve.serve("llamacpp", entry.name, settings, least_context=0, say=print)}[how]
    with pytest.raises(RequestError, match="damaged"):
        start()


def test_weights_that_were_changed_in_place_are_checked_again_though_size_and_date_are_as_before(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(b"the right bytes")
    before = weights._signature(path)
    status = path.stat()
    path.write_bytes(b"the wrong bytes")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_mtime_ns == status.st_mtime_ns
    assert weights._signature(path) != before


# Nothing from outside is ever run


_MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "shelve", "marshal", "joblib", "jsonpickle", "code"}
_NAMES = {"eval", "exec", "compile", "__import__"}
_METHODS = {
    ("yaml", "load"), ("yaml", "unsafe_load"), ("yaml", "full_load"), ("torch", "load"), ("numpy", "load"),
    ("np", "load"), ("pd", "read_pickle"), ("pd", "eval"), ("os", "system"), ("os", "popen"),
    ("subprocess", "getoutput"), ("tempfile", "mktemp"),
}
_ANY_METHOD = {"read_pickle", "to_pickle", "allow_pickle"}


def dangers(source: str) -> Iterator[str]:
    """What in a program could run, or unpack into running, something that came from outside."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names if name.name.split(".")[0] in _MODULES)
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in _MODULES:
                yield module
            case ast.Call(func=ast.Name(id=name)) if name in _NAMES:
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)) if (owner, name) in _METHODS:
                yield f"{owner}.{name}"
            case ast.Attribute(attr=name) if name in _ANY_METHOD:
                yield name
            case ast.keyword(arg="allow_pickle" | "shell" | "trust_remote_code", value=ast.Constant(value=True)):
                yield f"{node.arg}=True"


def test_no_pickle_and_nothing_that_runs_text_is_in_the_program() -> None:
    files = [*sorted((paths.ROOT / "src").rglob("*.py")), *sorted((paths.ROOT / "notebooks").glob("*.py"))]
    assert len(files) > 80
    found = [f"{file.relative_to(paths.ROOT)}: {danger}" for file in files for danger in dangers(file.read_text())]
    assert not found


@pytest.mark.parametrize("source", [
    "import pickle", "from pickle import loads", "import yaml\nyaml.load(x)", "eval(x)", "exec(x)", "pd.read_pickle(x)",
    "np.load(x, allow_pickle=True)", "subprocess.run(x, shell=True)", "os.system(x)", "frame.to_pickle(x)"])
def test_the_scan_finds_what_it_looks_for(source: str) -> None:
    assert list(dangers(source))
