"""The report of the harnesses: a study that there isn't changes no file."""

from pathlib import Path

import pytest

from artifact.errors import RequestError
from artifact.harness.build_rq4 import build_rq4
from artifact.harness.provenance_table import harness_provenance_table
from artifact.harness.reader import harness_files, harness_outlines, whole_lines
from artifact.paths import RELEASED_LOGS


def test_a_study_without_harness_logs_writes_nothing(tmp_path: Path) -> None:
    assert build_rq4("no_such_study", sources=[RELEASED_LOGS], tables=tmp_path, figures=tmp_path, numbers=tmp_path) == 0
    assert not list(tmp_path.iterdir())


def test_a_study_with_harness_logs_is_written(tmp_path: Path) -> None:
    assert build_rq4("tau2_proof", sources=[RELEASED_LOGS], tables=tmp_path, figures=tmp_path, numbers=tmp_path) == 150
    assert {path.name for path in tmp_path.iterdir()} >= {"tau2.tex", "tools.tex", "pmbench.tex", "rq4.tex"}


def test_what_was_measured_on_is_read_from_the_headers() -> None:
    proof = RELEASED_LOGS / "tau2_proof"
    table = harness_provenance_table([proof, proof], "tau2_proof")  # the second time everything is known
    rows = {row["agent"]: row for row in table.records}
    assert (rows["scripted:gold"]["completed"], rows["scripted:gold"]["all"]) == (100, 100)
    assert rows["scripted:gold"]["arms"] == "enforcement, raw" and rows["scripted:gold"]["items"] == "0:50"
    assert rows["scripted:nothing"]["models"] == "agent and user: scripted:nothing"
    assert "not run" in harness_provenance_table([proof], "no_such_study").tex


def test_a_conversation_that_was_cut_off_has_no_end(tmp_path: Path) -> None:
    whole = tmp_path / "0.0.harness.jsonl"
    lines = whole_lines(harness_files(RELEASED_LOGS / "tau2_proof")[0])
    first = lines[:next(n for n, line in enumerate(lines) if b'"record":"end"' in line) + 1]
    whole.write_bytes(b"\n".join(first) + b"\n")
    (tmp_path / "1.0.harness.jsonl").write_bytes(b"\n".join(first[:-1]) + b"\n")
    assert [end is not None for _, end in harness_outlines([tmp_path])] == [True, False]
    spoken = b'{"arguments":{"record":"end"},"record":"dispatch"}'
    whole.write_bytes(b"\n".join([first[0], spoken, first[-1]]) + b"\n")
    assert [end is not None for _, end in harness_outlines([whole])] == [True], "a model's words end no log"
    whole.write_bytes(b'{"schema":"no header"}\n')
    with pytest.raises(RequestError, match="damaged"):
        list(harness_outlines([tmp_path]))
