"""What a vLLM server tells of its settings, for the log header.

Any vLLM server tells of its cache (`/metrics`); one that `artifact serve` started tells the rest as well
(`/server_info`). What differs from one start of the same server to the next, such as the cache's size, is left out.
"""

import re
from collections.abc import Mapping
from typing import Any

import orjson

_CACHE_LINE = re.compile(r"^vllm:cache_config_info\{(?P<labels>.*)\} ", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')

# Section and field of the server's configuration, by the name in our log.
_CONFIGURATION = {
    "dtype": ("model_config", "dtype"),
    "quantization": ("model_config", "quantization"),
    "seed": ("model_config", "seed"),
    "compiled": ("model_config", "enforce_eager"),
    "max_num_seqs": ("scheduler_config", "max_num_seqs"),
    "max_num_batched_tokens": ("scheduler_config", "max_num_batched_tokens"),
    "tensor_parallel": ("parallel_config", "tensor_parallel_size"),
    "reasoning_parser": ("structured_outputs_config", "reasoning_parser"),
}


def read_metrics(body: bytes) -> dict[str, Any]:
    """Prefix caching and block size, from the server's metrics; empty where they don't tell."""
    line = _CACHE_LINE.search(body.decode("utf-8", errors="replace"))
    if line is None:
        return {}
    labels = dict(_LABEL.findall(line["labels"]))
    told: dict[str, Any] = {}
    if "enable_prefix_caching" in labels:
        told["prefix_caching"] = labels["enable_prefix_caching"] == "True"
    if labels.get("block_size", "").isdecimal():
        told["block_size"] = int(labels["block_size"])
    if "cache_dtype" in labels:
        told["cache_dtype"] = labels["cache_dtype"][:40]
    return told


def read_server_info(body: bytes) -> dict[str, Any]:
    """Seed, batch, parallelism, parser and modes, from the server's configuration; empty where it doesn't tell."""
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    configuration = _section(answer, "vllm_config")
    told: dict[str, Any] = {}
    for name, (section, field) in _CONFIGURATION.items():
        value = _section(configuration, section).get(field)
        if isinstance(value, bool | int):
            told[name] = value
        elif isinstance(value, str) and value:
            told[name] = value[:40].removeprefix("torch.")
    if "compiled" in told:
        told["compiled"] = not told["compiled"]
    invariant = _section(answer, "vllm_env").get("VLLM_BATCH_INVARIANT")
    if isinstance(invariant, bool):
        told["batch_invariant"] = invariant
    return told


def _section(answer: Any, name: str) -> Mapping[str, Any]:
    section = answer.get(name) if isinstance(answer, Mapping) else None
    return section if isinstance(section, Mapping) else {}
