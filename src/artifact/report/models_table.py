"""Models and serving (the paper's Table 6), read from the headers of the logs: one row a served model."""

import json
from collections.abc import Mapping, Sequence

from artifact.log.probes import ProbeRecord
from artifact.models.registry import find_model, model_names
from artifact.report.ladder import capability
from artifact.report.scored import Header
from artifact.report.tables import NOT_RUN_TEXT, Table
from artifact.report.tex import Block, booktabs, escape, small

SOURCE = ("from the fields model, state_model and sampling of episode and probe records; what selects the regime: "
          "data/models.toml")
NOTES = (
    "One row for each model as it was served and sampled: a model served in two ways has two. Weights: SHA-256, "
    "shortened, and size. Context, slots and threads as the engine was given them. Quantization: or the data type, "
    "where weights aren't quantized. Under the regime: what selects it. Budgets: most tokens of a reply, a match and a "
    "compile. Asked again: episodes of the trap-turn probe, whose replies are sampled so, a greedy one beside them. "
    "All but what selects the regime stands in the header of every log, more of it in the CSV beside this table.",
)
# What selects the regime, by its name in the registry.
_SWITCHES = {"none": "the only one", "checkpoint": "by checkpoint", "request": "by request"}
_SAMPLING = ("temperature", "top_p", "top_k")
_ROLES = {"episodes_as_agent": "as agent", "episodes_as_state_model": "as state model",
          "episodes_asked_again": "asked again"}
_SHORT = 12
_SETTINGS = ("context", "slots", "helper_slots", "threads")
_BUDGETS = ("reply", "match", "compile")


def models_table(headers: Sequence[Header], probes: Sequence[ProbeRecord] = (), name: str = "models") -> Table:
    """Build the table.

    Parameters
    ----------
    headers : sequence of Header
        One an episode.
    probes : sequence of ProbeRecord
        One a log of the trap-turn probe.
    name : str
        File name.
    """
    served: dict[str, tuple[Mapping[str, object], Mapping[str, object], dict[str, int]]] = {}
    uses = [(role, identity, header.sampling) for header in headers for role, identity in (
        ("episodes_as_agent", header.model), ("episodes_as_state_model", header.state_model)) if identity]
    uses += [("episodes_asked_again", probe.model, probe.sampling) for probe in probes]
    for role, identity, sampling in uses:
        # The endpoint says where a server ran, not what it served.
        own = {key: value for key, value in identity.items() if key != "endpoint"}
        key = json.dumps([own, sampling], sort_keys=True, default=str)
        roles = served.setdefault(key, (own, sampling, {}))[2]
        roles[role] = roles.get(role, 0) + 1
    records = [_record(*row) for row in sorted(served.values(), key=lambda row: (
        capability(str(row[0].get("name", ""))), str(row[0]), str(row[1])))]
    rows = [line for record in records for line in (_first(record), _second(record), ())]
    blocks = [Block("", tuple(rows[:-1]))] if rows else [Block("", (("no logs", small(NOT_RUN_TEXT)),))]
    tex = booktabs("@{}llllll@{}", [("Model", "Engine", "Quantization", "Regime", "Decoding", "Episodes")], blocks,
                   notes=NOTES, source=SOURCE)
    return Table(name, tex, tuple(records))


def _record(
    identity: Mapping[str, object], sampling: Mapping[str, object], roles: Mapping[str, int],
) -> dict[str, object]:
    budgets = sampling.get("budgets")
    given = budgets if isinstance(budgets, Mapping) else {key: sampling[key] for key in _BUDGETS if key in sampling}
    name = str(identity.get("name", ""))
    return {
        "model": name, "engine": identity.get("engine", ""),
        "engine_version": identity.get("engine_version", ""), "quantization": identity.get("quantization", ""),
        "dtype": identity.get("dtype", ""),
        "weights_sha256": identity.get("weights_sha256", ""), "weights_size": identity.get("weights_size", ""),
        **{key: identity.get(key, "") for key in _SETTINGS}, "regime": identity.get("regime", ""),
        "regime_switch": find_model(name).regime.switch if name in model_names() else "",
        **{key: sampling.get(key, "") for key in _SAMPLING}, **{f"budget_{key}": given[key] for key in given},
        **{role: roles.get(role, 0) for role in _ROLES},
    }


def _roles(record: Mapping[str, object]) -> list[str]:
    return [f"{record[role]} {words}" for role, words in _ROLES.items() if record[role]]


def _first(record: Mapping[str, object]) -> tuple[str, ...]:
    engine = " ".join(filter(None, (str(record["engine"]), str(record["engine_version"]))))
    decoding = ", ".join(f"{key.replace('_', ' ')} {record[key]}" for key in _SAMPLING if record[key] != "")
    return tuple(map(escape, (record["model"], engine, record["quantization"] or record["dtype"],
                              str(record["regime"]).replace("_", " "), decoding, _roles(record)[0])))


def _second(record: Mapping[str, object]) -> tuple[str, ...]:
    size = record["weights_size"]
    gigabytes = f", {size / 1e9:.2f} GB" if isinstance(size, int) else ""
    sha256 = escape(str(record["weights_sha256"])[:_SHORT])
    weights = rf"\texttt{{{sha256}}}{gigabytes}" if sha256 else ""
    settings = ", ".join(f"{record[key]} {key.replace('_', ' ')}" for key in _SETTINGS if record[key] != "")
    budgets = "/".join(str(record[f"budget_{key}"]) for key in _BUDGETS if f"budget_{key}" in record)
    switch = _SWITCHES.get(str(record["regime_switch"]), "")
    return (small(weights), small(escape(settings)), "", small(switch), small(f"budgets {budgets}" if budgets else ""),
            small(escape(", ".join(_roles(record)[1:]))))
