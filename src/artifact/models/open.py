"""A chat model by its name, its URL or its scripted policy."""

from artifact.models.base import ChatModel
from artifact.models.registry import find_model, parse_regime


async def open_model(name: str, *, regime: str = "no_think", threads: int | None = None) -> ChatModel:
    """Open the model that `name` stands for."""
    if name.startswith("scripted:"):
        from artifact.models.scripted import scripted_model
        return scripted_model(name.removeprefix("scripted:"))
    from artifact import paths
    from artifact.models.llamacpp import LlamaCpp
    entry = find_model(name)
    assert entry.weights is not None
    return LlamaCpp(entry, paths.WEIGHTS / f"{entry.weights.sha256}.gguf", regime=parse_regime(regime), threads=threads)
