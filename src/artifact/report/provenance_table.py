"""What the measured values were measured on: one row a cell, read from the headers of the logs."""

import shlex
from collections.abc import Iterable, Sequence

from artifact.report.ladder import RUNGS, Configuration, order
from artifact.report.scored import Header
from artifact.report.tables import NOT_RUN_TEXT, Table, identifiers, state_tex
from artifact.report.tex import Block, booktabs, escape, small
from artifact.taskstate import CANONICAL

SOURCE = "from the episode records of the logs"
_SHORT = 12  # hexadecimal digits of a hash that are shown; the CSV has all of it


def provenance_table(headers: Sequence[Header], name: str = "provenance") -> Table:
    """Agent, state model, engine, prompt set, seeds and package of each cell.

    Parameters
    ----------
    headers : sequence of Header
        One an episode.
    name : str
        File name.
    """
    cells: dict[Configuration, list[Header]] = {}
    for header in headers:
        cells.setdefault(header.configuration, []).append(header)
    blocks, records, commands = [], [], []
    for study in sorted({configuration.study for configuration in cells}):
        rows: list[tuple[str, ...]] = []
        for configuration in sorted((c for c in cells if c.study == study), key=order):
            members = cells[configuration]
            rows += [*_rows(configuration, members), ()]
            command = _command(configuration, members)
            records.append(_record(configuration, members, command))
            commands.append(command)
        blocks.append(Block(f"Study {escape(study)}", tuple(rows[:-1])))
    if not blocks:
        blocks.append(Block("", (("no logs", NOT_RUN_TEXT),)))
    tex = booktabs(
        "@{}llllr@{}", [("Agent and state model", "Engine", "Setting, brief", "Prompts", "Episodes")], blocks,
        notes=["Hashes are of the weights file and of the prompt set, shortened; decoding and package version are in "
               "the CSV beside this table, all settings in every log. The cells anew:",
               *(r"\texttt{" + escape(command) + "}" for command in commands)],
        source=SOURCE)
    return Table(name, tex, tuple(records))


def _rows(configuration: Configuration, members: Sequence[Header]) -> list[tuple[str, ...]]:
    first = members[0]
    lines = [(_named(escape(configuration.model), first.model),
              escape(_engine(first.model)), f"{escape(configuration.setting)}, {escape(configuration.brief)}",
              f"{escape(configuration.prompts)} {_hash(first.prompts_sha256)}", str(len(members)))]
    seeds = small(f"seeds {escape(seeds_text(header.seed for header in members))}")
    state = ""
    if configuration.state_model != configuration.model:
        state = _named(state_tex(configuration), first.state_model)
    return [*lines, (state, small(escape(_settings(first.model))), seeds)]


def seeds_text(seeds: Iterable[int]) -> str:
    """Seeds as ``100:116`` (end excluded) where they follow each other, else listed."""
    runs: list[list[int]] = []
    for seed in sorted(set(seeds)):
        if runs and seed == runs[-1][1]:
            runs[-1][1] = seed + 1
        else:
            runs.append([seed, seed + 1])
    return ",".join(f"{start}:{end}" if end - start > 1 else str(start) for start, end in runs)


def _command(configuration: Configuration, members: Sequence[Header]) -> str:
    """The command that runs the arms of the cell again; a named study's own grid and schedule are replaced in it."""
    c = configuration
    words = ["artifact", "run", "--study", c.study, "--model", c.model]
    words += ["--state-model", c.state_model] if c.state_model != c.model else []
    ran = {header.arm for header in members}
    arms = [*(arm for arm in RUNGS if arm in ran), *sorted(ran - set(RUNGS))]
    words += ["--arms", ",".join(arms), "--sizes", str(c.size), "--densities", f"{c.density:g}"]
    words += ["--domain", c.domain] if c.domain != "procurement" else []
    words += ["--brief", c.brief, "--schedule", c.schedule.partition("@")[0]] if c.schedule != CANONICAL else (
        ["--brief", c.brief] if c.brief != "amended" else [])
    words += ["--regime", c.regime] if c.regime != "no_think" else []
    words += ["--prompts", c.prompts, "--seeds", seeds_text(header.seed for header in members)]
    threads = members[0].model.get("threads")
    words += ["--threads", str(threads)] if threads else []
    return shlex.join(words)


def _record(configuration: Configuration, members: Sequence[Header], command: str) -> dict[str, object]:
    first = members[0]
    return {
        **identifiers(configuration), "episodes": len(members), "seeds": seeds_text(header.seed for header in members),
        "engine": _joined(_engine(header.model) for header in members),
        "settings": _joined(_settings(header.model) for header in members),
        "quantization": first.model.get("quantization", ""),
        "weights_sha256": _joined(header.model.get("weights_sha256", "") for header in members),
        "state_weights_sha256": _joined(header.state_model.get("weights_sha256", "") for header in members),
        "prompts_sha256": _joined(header.prompts_sha256 for header in members),
        "temperature": _joined(header.sampling.get("temperature", "") for header in members),
        "package_version": _joined(header.package.get("version", "") for header in members),
        "commit": _joined(header.package.get("commit", "") for header in members),
        "command": command,
    }


def _joined(values: Iterable[object]) -> str:
    """All different values: normally one, and where a cell was measured on several things that must show."""
    return "; ".join(sorted({str(value) for value in values if value not in (None, "")}))


def _engine(identity: dict[str, object]) -> str:
    return " ".join(str(identity[key]) for key in ("engine", "engine_version") if identity.get(key)) or "unknown"


def _settings(identity: dict[str, object]) -> str:
    shown = (("slots", "slots"), ("context", "context"), ("threads", "threads"))
    return ", ".join(f"{identity[key]} {word}" for key, word in shown if identity.get(key) is not None)


def _named(name: str, identity: dict[str, object]) -> str:
    return " ".join(filter(None, [name, _hash(identity.get("weights_sha256"))]))


def _hash(value: object) -> str:
    return small(rf"\texttt{{{escape(str(value)[:_SHORT])}}}") if value else ""
