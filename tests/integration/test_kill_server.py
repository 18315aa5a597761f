"""Nothing is lost: real processes on both sides, a real kill -9 of client, server or both."""

from pathlib import Path

import pytest

from processes import kill_at_random

pytestmark = pytest.mark.integration


def test_after_kill_9_of_client_server_or_both_at_ten_instants_no_turn_is_lost_or_doubled(tmp_path: Path) -> None:
    victims = ["server", "both", "server", "client", "server", "both", "server", "server", "client", "server"]
    report = kill_at_random(tmp_path, victims, seed=20261130)
    assert sum(report.killed.values()) >= 8, "too few processes were still going when they were to be killed"
    assert report.killed.keys() == {"client", "server", "both"}
    assert (report.lost, report.doubled) == (0, 0)
    assert report.found == report.expected
    assert report.turns > 300
