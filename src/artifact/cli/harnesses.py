"""``run --harness``, and ``score`` on the logs of harnesses: other worlds under the same commands."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from artifact.cli import harness_pmbench, harness_tau2, harness_tools
from artifact.errors import RequestError
from artifact.harness.batch import run_study_in
from artifact.harness.protocol import Harness
from artifact.harness.reader import HarnessLog, harness_files
from artifact.harness.records import MARK
from artifact.runner import RunSummary

# Options of the lifecycle testbed. A harness says which of them it takes; the others would be ignored, so they are
# refused.
_LIFECYCLE = ("state_model", "smoke", "sizes", "densities", "domain", "brief", "schedule", "own_phrasings", "regime",
              "prompts", "state", "matcher", "match_every_turn", "corruption", "sources", "samples")


class Commands(Protocol):
    """What a harness brings to the command line.

    Attributes
    ----------
    TAKES : frozenset of str
        Options of the lifecycle testbed that it takes too.
    """

    TAKES: frozenset[str]

    def add_options(self, run: argparse.ArgumentParser) -> None:
        """Declare the options of this harness in a group of their own."""
        ...

    def open_harness(self, options: argparse.Namespace) -> Harness:
        """Make the harness that the options describe."""
        ...

    def logs(self, source: Path) -> Iterator[HarnessLog]:
        """The logs of this harness in a file or folder."""
        ...

    def print_verdicts(self, sources: Sequence[Path], *, as_json: bool) -> None:
        """Print what the logs of this harness show; the logs of others are passed over."""
        ...


HARNESSES: dict[str, Commands] = {"pmbench": harness_pmbench, "tau2": harness_tau2, "tools": harness_tools}

_OWN: dict[str, frozenset[str]] = {}  # the options that each harness declares


def add_options(run: argparse.ArgumentParser) -> None:
    """Declare what ``run`` takes for a harness."""
    run.add_argument("--harness", choices=sorted(HARNESSES), help="another world than the lifecycle testbed")
    for harness, commands in sorted(HARNESSES.items()):
        commands.add_options(run)
        alone = argparse.ArgumentParser(add_help=False)
        commands.add_options(alone)
        _OWN[harness] = frozenset(vars(alone.parse_args([])))


def refuse_options_of_others(options: argparse.Namespace, default_of: Callable[[str], object]) -> None:
    """Refuse options that belong to a harness which isn't the one that runs: they would be ignored."""
    for harness, names in sorted(_OWN.items()):
        for name in sorted(names - _OWN.get(options.harness, frozenset())):
            if getattr(options, name) != default_of(name):
                raise RequestError(f"--{name.replace('_', '-')} is of the harness {harness}; give --harness {harness} "
                                   "or leave it out")


def run(options: argparse.Namespace, default_of: Callable[[str], object]) -> RunSummary:
    """Run what is missing of a study in a harness."""
    commands = HARNESSES[options.harness]
    for name in _LIFECYCLE:
        if name not in commands.TAKES and getattr(options, name) != default_of(name):
            flag = "--from" if name == "sources" else f"--{name.replace('_', '-')}"
            raise RequestError(f"{flag} is of the lifecycle testbed; leave it out with "
                               f"--harness {options.harness}")
    return run_study_in(commands.open_harness(options), options.study, runs=options.runs,
                        concurrency=options.concurrency, durable=not options.no_fsync)


def holds_logs(sources: Sequence[Path]) -> bool:
    """Whether there are harness logs among files and folders."""
    return any(MARK in path.name or (path.is_dir() and harness_files(path) != []) for path in sources)


def score(sources: Sequence[Path], *, as_json: bool) -> None:
    """Print the verdicts of harness logs."""
    held = [path for path in sources if holds_logs([path])]
    for _, commands in sorted(HARNESSES.items()):
        commands.print_verdicts(held, as_json=as_json)


def chosen_log(source: Path, item: str | None, seed: int | None) -> HarnessLog:
    """The first log in a file or folder, or the first of this item and seed.

    Raises
    ------
    RequestError
        When there is none.
    """
    for commands in HARNESSES.values():
        for log in commands.logs(source):
            if item in (None, log.header.item) and seed in (None, log.header.seed):
                return log
    raise RequestError(f"{source} holds no conversation of this item and seed; leave --item and --seed out to see the "
                       "first, and see the answers of a probe with artifact score")
