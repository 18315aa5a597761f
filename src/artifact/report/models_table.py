"""Models and serving (the paper's Table 6), read from the headers of the logs: one row a served model."""

import json
from collections.abc import Mapping, Sequence

from artifact.report.ladder import capability
from artifact.report.scored import Header
from artifact.report.tables import NOT_RUN_TEXT, Table
from artifact.report.tex import Block, booktabs, escape, small

SOURCE = "from the fields model, state_model and sampling of the episode records"
NOTES = (
    "One row for each model as it was served: a model served in two ways has two. Weights: SHA-256, shortened, and "
    "size. Context, slots and threads as the engine was given them. Budgets: most tokens of a reply, a match and a "
    "compile. All of it stands in the header of every log, more of it in the CSV beside this table.",
)
_SHORT = 12
_SETTINGS = ("context", "slots", "helper_slots", "threads")
_BUDGETS = ("reply", "match", "compile")


def models_table(headers: Sequence[Header], name: str = "models") -> Table:
    """Build the table.

    Parameters
    ----------
    headers : sequence of Header
        One an episode.
    name : str
        File name.
    """
    served: dict[str, tuple[Mapping[str, object], Mapping[str, object], dict[str, int]]] = {}
    for header in headers:
        for role, identity in (("agent", header.model), ("state", header.state_model)):
            if identity:
                # The endpoint says where a server ran, not what it served.
                own = {key: value for key, value in identity.items() if key != "endpoint"}
                key = json.dumps([own, header.sampling], sort_keys=True, default=str)
                roles = served.setdefault(key, (own, header.sampling, {}))[2]
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
    given = budgets if isinstance(budgets, Mapping) else {}
    return {
        "model": identity.get("name", ""), "engine": identity.get("engine", ""),
        "engine_version": identity.get("engine_version", ""), "quantization": identity.get("quantization", ""),
        "weights_sha256": identity.get("weights_sha256", ""), "weights_size": identity.get("weights_size", ""),
        **{key: identity.get(key, "") for key in _SETTINGS}, "regime": identity.get("regime", ""),
        "temperature": sampling.get("temperature", ""),
        **{f"budget_{key}": given.get(key, "") for key in given}, "episodes_as_agent": roles.get("agent", 0),
        "episodes_as_state_model": roles.get("state", 0),
    }


def _first(record: Mapping[str, object]) -> tuple[str, ...]:
    engine = " ".join(filter(None, (str(record["engine"]), str(record["engine_version"]))))
    decoding = f"temperature {record['temperature']}" if record["temperature"] != "" else ""
    return tuple(map(escape, (record["model"], engine, record["quantization"], str(record["regime"]).replace("_", " "),
                              decoding, f"{record['episodes_as_agent']} as agent")))


def _second(record: Mapping[str, object]) -> tuple[str, ...]:
    size = record["weights_size"]
    gigabytes = f", {size / 1e9:.2f} GB" if isinstance(size, int) else ""
    sha256 = escape(str(record["weights_sha256"])[:_SHORT])
    weights = rf"\texttt{{{sha256}}}{gigabytes}" if sha256 else ""
    settings = ", ".join(f"{record[key]} {key.replace('_', ' ')}" for key in _SETTINGS if record[key] != "")
    budgets = "/".join(str(record.get(f"budget_{key}", "")) for key in _BUDGETS)
    shown = f"budgets {budgets}" if budgets != "//" else ""
    return (small(weights), small(escape(settings)), "", "", small(escape(shown)),
            small(escape(f"{record['episodes_as_state_model']} as state model")))
