"""``report``, ``claims``, ``scaling``, ``notebooks``: from logs to tables, figures, numbers."""

import argparse
import ast
from typing import Any

from artifact.errors import RequestError


def add_commands(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    """Declare this family's commands."""
    report = commands.add_parser("report", help="tables, figures and numbers from logs, no notebook needed")
    report.add_argument("--study", help="this study's logs only")
    report.set_defaults(run=_report)

    claims = commands.add_parser("claims", help="each claim of the paper: expected, measured, holds or not")
    claims.add_argument("--study", help="this study's logs only")
    claims.set_defaults(run=_claims)

    scaling = commands.add_parser("scaling", help="what very many episodes need, computed from released logs")
    scaling.add_argument("--episodes", type=int, default=1_000_000, help="default 1000000")
    scaling.add_argument("--write", action="store_true", help="put the table into docs/scaling.md")
    scaling.set_defaults(run=_scaling)

    notebooks = commands.add_parser("notebooks", help="run notebooks headless")
    notebooks.add_argument("names", nargs="*", metavar="NAME", help="e.g. rq1 rq2 (default: all)")
    notebooks.add_argument("-p", "--parameter", action="append", default=[], metavar="NAME=VALUE",
                           help="a parameter as a Python literal, e.g. -p 'live_sizes=[5, 10]'; may be repeated")
    notebooks.set_defaults(run=_notebooks)


def _report(options: argparse.Namespace) -> int:
    from artifact.harness.build_rq4 import build_rq4
    from artifact.report import build_report

    read = build_rq4(options.study)
    if options.study is None or not read:  # a study is of one world: what belongs to a harness has no ladder
        read += len(build_report(options.study).scored.episodes)
    print(f"built every table, figure and number from {read} episodes")
    return 0


def _claims(options: argparse.Namespace) -> int:
    from artifact.report import claims_text, evaluate, load_claims, load_scored

    print(claims_text(evaluate(load_claims(), load_scored().of_study(options.study))))
    return 0


def _scaling(options: argparse.Namespace) -> int:
    from artifact.report.scaling import PAGE, released_logs, scaling_text, with_table

    if options.episodes < 1:
        raise RequestError(f"--episodes {options.episodes} need nothing; ask for 1 or more")
    text = scaling_text(options.episodes, released_logs())
    if options.write:
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    print(text, end="")
    return 0


def _notebooks(options: argparse.Namespace) -> int:
    from artifact.report.notebooks import check_parameters, execute, names

    parameters = dict(_parameter(text) for text in options.parameter)
    chosen = options.names or list(names())
    for name in chosen:
        check_parameters(name, parameters)
    for name in chosen:
        print(f"notebook {name}: running", flush=True)
        print(f"notebook {name}: done, executed copy in {execute(name, parameters)}")
    return 0


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise RequestError(f"the parameter {text!r} has no value; write NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value  # a bare word is a text
