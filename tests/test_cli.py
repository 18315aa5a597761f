"""The command line: what it prints, and one sentence with the right exit code for every bad request."""

import json

import pytest

from artifact.cli.main import main
from episode_logs import edit

RUN = ["run", "--study", "t", "--model", "scripted:always-book", "--sizes", "5", "--seeds", "100:101"]


def refused(capsys, arguments, code, *words):
    """The command fails with `code` and one sentence that holds `words`."""
    try:
        result = main([str(a) for a in arguments])
    except SystemExit as exit_:
        result = exit_.code
    error = capsys.readouterr().err.strip()
    assert result == code, error
    assert error.startswith("artifact: ")
    assert "\n" not in error
    assert "Traceback" not in error
    for word in words:
        assert word in error


@pytest.fixture
def logs(tmp_path, capsys):
    assert main([*RUN, "--runs", str(tmp_path / "runs"), "--no-fsync"]) == 0
    capsys.readouterr()
    return tmp_path / "runs"


@pytest.mark.parametrize(("changes", "words"), [
    (["--model", "gpt-17"], ["gpt-17", "qwen2.5-coder-1.5b"]),
    (["--model", "scripted:sleepy"], ["sleepy", "always-book"]),
    (["--model", "scripted:reader?patience=1"], ["patience", "directive"]),
    (["--model", "scripted:reader?directive=much"], ["directive=much", "not a number"]),
    (["--arms", "raw,nudge"], ["nudge", "enforcement"]),
    (["--arms", "raw,raw"], ["arms", "twice"]),
    (["--seeds", "9:3"], ["9:3", "100:228"]),
    (["--seeds", "-4"], ["-4"]),
    (["--sizes", "19"], ["19", "18"]),
    (["--sizes", "five"], ["five"]),
    (["--densities", "1.5"], ["1.5"]),
    (["--domain", "cooking"], ["cooking", "procurement"]),
    (["--brief", "short"], ["short", "amended"]),
    (["--regime", "hum"], ["hum", "no_think"]),
    (["--prompts", "verbose"], ["verbose", "fewshot"]),
    (["--study", "../t"], ["../t"]),
    (["--concurrency", "0"], ["concurrency"]),
    (["--frequency", "2"], ["--frequency"]),
])
def test_a_bad_request_is_one_sentence_and_exit_code_2(capsys, tmp_path, changes, words):
    refused(capsys, [*RUN, "--runs", tmp_path, *changes], 2, *words)
    assert not list(tmp_path.rglob("*.jsonl")), "something was half-written"


def test_a_folder_that_cannot_be_written_is_exit_code_3(capsys, tmp_path):
    (tmp_path / "t").write_text("in the way")
    refused(capsys, [*RUN, "--runs", tmp_path], 3, "can't be written", "--runs")


def test_run_says_what_it_did_and_does_not_do_it_twice(capsys, tmp_path):
    assert main([*RUN, "--runs", str(tmp_path), "--no-fsync"]) == 0
    assert "t: 4 episodes (4 completed), 4 of them now" in capsys.readouterr().out
    assert main([*RUN, "--runs", str(tmp_path), "--no-fsync"]) == 0
    assert "0 of them now" in capsys.readouterr().out


def test_score_works_on_logs_alone(capsys, logs):
    assert main(["score", str(logs)]) == 0
    table = capsys.readouterr().out
    assert [line.split()[1] for line in table.splitlines()[1:]] == ["checklist", "directive", "enforcement", "raw"]
    assert "1/1" in next(line for line in table.splitlines() if " enforcement" in line)
    assert main(["score", "--json", str(logs)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["arm"]: row["strict"] for row in rows}["raw"] is False


def test_score_of_nothing_of_another_schema_and_of_an_edited_log_are_refused(capsys, logs, tmp_path):
    refused(capsys, ["score", tmp_path / "nowhere"], 2, "nowhere")
    log = next(logs.rglob("raw/100.jsonl"))
    content = log.read_bytes()
    log.write_bytes(content.replace(b'"schema":1', b'"schema":99', 1))
    refused(capsys, ["score", logs], 2, "99")
    log.write_bytes(content.replace(b'"reply":"Done.\\nref RC-', b'"reply":"Done.\\nref RX-', 1))
    refused(capsys, ["score", logs], 2, "100.jsonl")


def test_a_run_over_a_truncated_log_goes_on_and_over_a_damaged_one_says_so(capsys, logs):
    log = next(logs.rglob("raw/100.jsonl"))
    content = log.read_bytes()
    log.write_bytes(content[:-200])
    assert main([*RUN, "--runs", str(logs), "--no-fsync"]) == 0
    capsys.readouterr()
    log.write_bytes(content.replace(b'{"turn":3,', b'{"turn":3;', 1))
    refused(capsys, [*RUN, "--runs", logs], 2, "line", "damaged")


def test_a_study_is_not_resumed_with_other_options(capsys, logs):
    refused(capsys, [*RUN, "--runs", logs, "--brief", "original", "--study", "t", "--prompts", "paper", "--model",
                     "scripted:reader?seed=1", "--seeds", "100:101", "--arms", "nudge"], 2, "nudge")
    log = next(logs.rglob("directive/100.jsonl"))
    edit(log, b'"engine":"scripted"', b'"engine":"printed"')
    refused(capsys, [*RUN, "--runs", logs], 2, "model.engine", "printed", "scripted", "--study")


def test_show_prints_requests_directives_bookings_and_verdicts(capsys, logs, tmp_path):
    log = next(logs.rglob("enforcement/100.jsonl"))
    assert main(["show", str(log)]) == 0
    text = capsys.readouterr().out
    for part in ("[TASK-STATE] step", "refused: step", "strict success", "plan of the state (compiled)"):
        assert part in text
    assert main(["show", str(log), "--turn", "2"]) == 0
    assert capsys.readouterr().out.startswith("--- turn 2:")
    assert main(["show", str(log), "--html", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "strict success" in page
    capsys.readouterr()
    refused(capsys, ["show", log, "--turn", "99"], 2, "99")
    refused(capsys, ["show", log, "--seed", "7"], 2, "7")


def test_terminal_escapes_and_markup_in_replies_are_shown_and_not_obeyed(capsys, logs, tmp_path):
    log = next(logs.rglob("raw/100.jsonl"))
    edit(log, b'"reply":"Noted."', b'"reply":"\\u001b[2J<script>{0}%s"', 1)
    assert main(["show", str(log)]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "\\x1b[2J<script>{0}%s" in text
    assert main(["show", str(log), "--html", str(tmp_path / "page.html")]) == 0
    assert "<script" not in (tmp_path / "page.html").read_text()


def test_generate_prints_the_episode_as_json_and_for_a_person(capsys):
    assert main(["generate", "--seed", "100", "--size", "5"]) == 0
    episode = json.loads(capsys.readouterr().out)
    assert (episode["seed"], len(episode["turns"]), len(episode["graph"]["steps"])) == (100, 44, 5)
    assert main(["generate", "--seed", "100", "--size", "5", "--show"]) == 0
    assert "revision: cancel s1; rewire s3 to [s4]; relax s2 without s5" in capsys.readouterr().out
    refused(capsys, ["generate", "--seed", "-1"], 2, "-1")
    refused(capsys, ["generate", "--seed", "x"], 2, "--seed")


def test_pack_and_verify_find_a_flipped_byte(capsys, logs, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    assert main(["pack", "--study", "t", "--runs", str(logs), "--data", str(data)]) == 0
    assert "packed 4 episodes into 4 files" in capsys.readouterr().out
    assert main(["verify", "--data", str(data)]) == 0
    packed = next(data.rglob("*.zst"))
    flipped = bytearray(packed.read_bytes())
    flipped[len(flipped) // 2] ^= 1
    packed.write_bytes(bytes(flipped))
    assert main(["verify", "--data", str(data)]) == 1
    assert packed.name in capsys.readouterr().out


def test_help_lists_every_command_and_needs_no_heavy_import(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--help"])
    assert exit_.value.code == 0
    text = capsys.readouterr().out
    for command in ("generate", "run", "score", "report", "claims", "show", "serve", "models", "pack", "verify",
                    "selftest", "notebooks"):
        assert command in text
