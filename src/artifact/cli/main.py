"""Parsing, dispatch and the one place where errors become a sentence and an exit code."""

import argparse
import os
import sys
from collections.abc import Sequence

import artifact
from artifact.cli.words import printable
from artifact.errors import ArtifactError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(2, f"artifact: {message}; see {self.prog} --help\n")


def build_parser() -> argparse.ArgumentParser:
    """The whole command line."""
    # Loading them takes a second or two, in which Ctrl-C shall find `main` listening.
    from artifact.cli import benching, inspecting, models, paraphrasing, release, reporting, running, studying

    parser = _Parser(prog="artifact", description="How strongly should task state act on an LLM agent? "
                                                  "Run the ladder, score it, rebuild every table and figure.")
    parser.add_argument("--version", action="version", version=f"artifact {artifact.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    for family in (running, studying, paraphrasing, inspecting, reporting, models, release, benching):
        family.add_commands(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 the answer is no, 2 bad request, 3 infrastructure."""
    try:
        options = build_parser().parse_args(arguments)
        return int(options.run(options) or 0)
    except ArtifactError as error:
        print(f"artifact: {printable(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("artifact: stopped; give the same command again to go on", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"artifact: {where}{error.strerror or error}; nothing that was written before is lost", file=sys.stderr)
        return 3
