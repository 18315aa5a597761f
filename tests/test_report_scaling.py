"""What very many episodes need: computed from the released logs, and what docs/scaling.md says is that."""

import pytest

from artifact.cli.main import main
from artifact.errors import RequestError
from artifact.report.scaling import PAGE, mean_needs, need_of, released_logs, scaling_text, with_table


def test_the_page_holds_the_table_that_the_released_logs_give():
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page, scaling_text(1_000_000, released_logs())) == page, "run: artifact scaling --write"


def test_needs_are_the_sums_of_what_the_logs_tell():
    logs = [log for log in released_logs() if log.header.arm.name == "enforcement"][:3]
    for log in logs:
        need = need_of(log)
        assert need.turns == len(log.turns) <= need.agent_calls
        assert need.helper_calls == sum(len(record.calls) for record in (*log.compiles, *log.matches)) > 0
        assert 0 < need.cached < need.read and need.computed == need.read - need.cached
    _, means = mean_needs(released_logs())
    assert means["raw"].helper_calls == 0 < means["directive"].helper_calls
    assert means["raw"].packed < means["raw"].log


def test_ten_times_the_episodes_need_ten_times_as_much(capsys):
    def turns(episodes: int) -> float:
        assert main(["scaling", "--episodes", str(episodes)]) == 0
        row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| turns"))
        return float(row.split("|")[-2].split()[0])
    assert turns(10_000_000) == pytest.approx(10 * turns(1_000_000), rel=0.01)


def test_without_logs_there_is_no_table():
    with pytest.raises(RequestError, match="has completed episodes of all four rungs"):
        scaling_text(1000, [])
