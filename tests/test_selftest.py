"""The oracle suite is itself a test."""

from dataclasses import replace

from artifact import selftest
from artifact.cli.main import main
from artifact.selftest import CHECKS, run_selftest


def test_scripted_agents_score_what_is_known_beforehand(capsys):
    results = run_selftest(lambda line: None)
    assert [(r.strict, r.episodes) for r in results] == [(200, 200), (0, 15), (128, 128), (0, 128), (20, 20), (0, 4)]
    assert all(result.passed for result in results)


def test_a_score_that_is_not_the_expected_one_fails_the_command(monkeypatch, capsys):
    of_tools = next(check for check in CHECKS if check.with_tools)
    monkeypatch.setattr(selftest, "CHECKS", (replace(of_tools, policy="always-act", seeds=range(300, 301)),))
    assert main(["selftest"]) == 1
    assert capsys.readouterr().out.startswith("FAIL  a perfect agent with real tools")
