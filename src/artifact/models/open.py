"""A chat model by what a person calls it: a name of the registry, a server's URL, a scripted policy."""

from artifact.models.base import ChatModel
from artifact.models.outage import OUTAGE_LIMIT_S, Say, say_nothing
from artifact.models.registry import Engine, find_model, parse_regime


async def open_model(name: str, *, regime: str = "no_think", slots: int = 1,
                     threads: int | None = None, outage_limit_s: float = OUTAGE_LIMIT_S,
                     say: Say = say_nothing) -> ChatModel:
    """Open a model.

    Parameters
    ----------
    name : str
        A name of the model registry; ``http(s)://HOST/v1#MODEL`` for a model on an OpenAI-compatible server
        (``#MODEL`` may be left out where it serves only one; several URLs with commas between, as in
        ``http://A/v1,http://B/v1#MODEL``, share the conversations); ``scripted:POLICY`` for a scripted one;
        ``replay:FILE`` for recorded replies.
    regime : str
        ``"no_think"`` or ``"think"``.
    slots : int
        Conversations that the embedded engine keeps apart; one is the reproducible default.
    threads : int or None
        Threads of the embedded engine; None for one a physical core.
    outage_limit_s : float
        How long a server that goes down is waited for, in seconds.
    say : callable
        Told in a sentence when a server is down, and when it is back.

    Returns
    -------
    ChatModel
        Ready to answer: weights checked, or server reached.

    Raises
    ------
    RequestError
        Unknown model, missing or damaged weights, wrong key, a regime that the model doesn't have.
    InfrastructureError
        A server that can't be reached, an engine that doesn't start.
    """
    scheme, colon, rest = name.partition(":")
    if colon and scheme == "scripted":
        from artifact.models.scripted import scripted_model
        return scripted_model(rest)
    if colon and scheme == "replay":
        from artifact.models.replay import Replay
        return Replay(rest)
    from artifact.models.pinned import reach_all
    from artifact.models.target import Target
    if colon and scheme in ("http", "https"):
        url, _, served = name.partition("#")
        return await reach_all(Target(url, served or None, regime=parse_regime(regime)),
                               outage_limit_s=outage_limit_s, say=say)
    entry = find_model(name)
    if entry.engine is Engine.LLAMACPP:
        from artifact.models.llamacpp import LlamaCpp
        from artifact.models.weights import checked_weights
        return LlamaCpp(entry, checked_weights(entry), regime=parse_regime(regime), slots=slots, threads=threads)
    return await reach_all(Target.of_entry(entry, parse_regime(regime)), outage_limit_s=outage_limit_s, say=say)
