"""One task, one rung: the benchmark's orchestrator with the gate at dispatch, then its evaluator.

What failed and who is to blame: the agent's failures are its result, with reward 0; the model server's and the
simulated user's end the episode with a reason and say nothing about the agent.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from artifact.errors import InfrastructureError, RequestError
from artifact.harness.tau2 import benchmark
from artifact.harness.tau2.dispatch import GatedDispatch, without_refused
from artifact.harness.tau2.gate import Rung
from artifact.harness.tau2.players import AgentFailure, UserFailure
from artifact.harness.tau2.records import DispatchRecord, ResultRecord
from artifact.harness.tau2.rules import RuleSet
from artifact.harness.tau2.shown import state_block
from artifact.log.faults import Fault
from artifact.log.records import EndReason, EndRecord

MAX_STEPS = 200
MAX_ERRORS = 10


@dataclass(frozen=True)
class Setting:
    """What an episode is run under.

    Parameters
    ----------
    rung : Rung
        The coupling.
    rules, reference : RuleSet
        The rules in force, and the ones that people wrote.
    seed : int or None
        Sampling seed for agent and user; None sends none.
    max_steps : int
        Messages after which the benchmark ends the episode.
    """

    rung: Rung
    rules: RuleSet
    reference: RuleSet
    seed: int | None = None
    max_steps: int = MAX_STEPS


Players = Callable[[Any, Callable[[], str]], tuple[Any, Any]]
"""Makes agent and user, given the environment and what the agent is shown."""


def simulate(task: Any, setting: Setting, players: Players, write: Callable[[Any], None]) -> EndRecord:
    """Run one task.

    Parameters
    ----------
    task : Task
        The benchmark's task.
    setting : Setting
        Rung, rules and limits.
    players : callable
        Makes agent and user.
    write : callable
        Takes the records of dispatch and, where the episode ended by itself, of the result.

    Returns
    -------
    EndRecord
        ``completed`` for whatever says something about the agent.
    """
    benchmark.load()
    from tau2.orchestrator.orchestrator import Orchestrator

    environment = benchmark.environment()
    orchestrator: Any = None

    def conversation() -> Any:
        return orchestrator.trajectory if orchestrator is not None else ()

    dispatch = GatedDispatch(environment, setting.rules, setting.reference, setting.rung, _typed(write), conversation)

    def shown() -> str:
        return state_block(dispatch.state, dispatch.trace, benchmark.NOW) if setting.rung is Rung.SHOWN else ""

    agent, user = players(environment, shown)
    orchestrator = Orchestrator(domain=benchmark.DOMAIN, agent=agent, user=user, environment=environment, task=task,
                                max_steps=setting.max_steps, max_errors=MAX_ERRORS, seed=setting.seed)
    try:
        simulation = orchestrator.run()
    except AgentFailure as failure:
        write(_failed(task, dispatch, str(failure)))
        return EndRecord(EndReason.COMPLETED, orchestrator.step_count)
    except UserFailure as failure:
        return EndRecord(EndReason.MODEL_ERROR, orchestrator.step_count, f"the simulated user failed: {failure}")
    except Exception as error:
        end = _infrastructure(error, orchestrator.step_count)
        if end is None:
            raise
        return end
    write(_result(task, dispatch, simulation))
    return EndRecord(EndReason.COMPLETED, orchestrator.step_count)


def _typed(write: Callable[[Any], None]) -> Callable[[DispatchRecord], None]:
    return write


def _result(task: Any, dispatch: GatedDispatch, simulation: Any) -> ResultRecord:
    simulation.messages = without_refused(simulation.messages, dispatch.refused)
    replayed = benchmark.replayed_hash(simulation.messages)
    if replayed != dispatch.database_sha256:
        raise InfrastructureError(f"the replay of task {task.id} leaves another database than the episode did; "
                                  "the benchmark isn't deterministic, or another version of it is installed")
    verdict = benchmark.evaluate(simulation, task)
    matches = verdict.db_check.db_match if verdict.db_check is not None else \
        benchmark.gold_hash(task) == dispatch.database_sha256
    breakdown = {str(kind.value): float(value) for kind, value in (verdict.reward_breakdown or {}).items()}
    return ResultRecord(str(simulation.termination_reason.value), float(verdict.reward), breakdown, bool(matches),
                        dispatch.database_sha256)


def _failed(task: Any, dispatch: GatedDispatch, detail: str) -> ResultRecord:
    return ResultRecord("agent_error", 0.0, {}, benchmark.gold_hash(task) == dispatch.database_sha256,
                        dispatch.database_sha256, detail)


def _infrastructure(error: Exception, turns: int) -> EndRecord | None:
    """The end that a failed model call means; None for an error that is none."""
    import litellm
    said = " ".join(str(error).split())[:300]
    errors = litellm.exceptions
    match error:
        case errors.AuthenticationError() | errors.NotFoundError():
            raise RequestError(f"the model server refuses the request ({said}); check the URL, the model's name and "
                               "the key") from None
        case errors.ContextWindowExceededError():
            return EndRecord(EndReason.CONTEXT_OVERFLOW, turns, said)
        case errors.BadRequestError() if "context" in said:
            return EndRecord(EndReason.CONTEXT_OVERFLOW, turns, said)
        case errors.Timeout():
            return EndRecord(EndReason.TIMEOUT, turns, said, faults=(Fault.TIMEOUT,))
    kinds = {errors.RateLimitError: Fault.RATE_LIMIT, errors.ServiceUnavailableError: Fault.UNAVAILABLE,
             errors.InternalServerError: Fault.SERVER_ERROR, errors.APIConnectionError: Fault.UNREACHABLE,
             errors.BadRequestError: Fault.OTHER, errors.APIError: Fault.OTHER}
    for kind, fault in kinds.items():
        if isinstance(error, kind):
            return EndRecord(EndReason.MODEL_ERROR, turns, said, faults=(fault,))
    return None
