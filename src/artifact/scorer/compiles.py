"""How right a compiled state is, against the generator's graph (Appendix B.3, Table 5).

A revision is compared by its effect: the paper's compiler names the dropped prerequisite, one that is asked a step
at a time states what the relaxed step still requires, and both say the same. A compile that failed is wrong in every
part that it was asked for; a part that was never asked for (the conversation ended before) is left out.
"""

from dataclasses import dataclass

from artifact.log import CompileRecord, EpisodeLog
from artifact.taskstate import RequestKind, Revision

COMPILED = "compiled"


@dataclass(frozen=True)
class CompileScore:
    """What is right in the compiled state of one episode.

    Parameters
    ----------
    steps : int
        Steps of the plan.
    dependencies, codes : int
        Steps whose prerequisites, as a set, and whose completion code were compiled right.
    failed : bool
        Whether the plan or the revision gave no usable answer.
    revised : bool
        Whether a revision was asked for; the next three are None where not.
    cancel : bool or None
        Whether the cancelled step was found.
    rewire : bool or None
        Whether every step that the cancellation rewires got its remaining prerequisites, and no other step's
        prerequisites were changed.
    relax : bool or None
        Whether the relaxed step lost the dropped prerequisite and nothing else.
    flagged : bool
        Whether the validator flags the episode: a defect in either graph, or a compile that failed.
    recompiled, fell_back : bool
        Whether a gate that heals compiled anything once more, and whether that was flagged still, so that the episode
        went on without refusing anything.
    """

    steps: int
    dependencies: int
    codes: int
    failed: bool
    revised: bool
    cancel: bool | None
    rewire: bool | None
    relax: bool | None
    flagged: bool
    recompiled: bool
    fell_back: bool

    @property
    def whole(self) -> bool:
        """Whether nothing in it disagrees with the generator."""
        parts = (self.cancel, self.rewire, self.relax) if self.revised else ()
        return not self.failed and self.dependencies == self.codes == self.steps and all(parts)


def score_compiles(log: EpisodeLog) -> CompileScore | None:
    """Judge the compiled state of a log.

    Parameters
    ----------
    log : EpisodeLog
        Of any arm.

    Returns
    -------
    CompileScore or None
        None for an arm without a state that a model compiled.
    """
    records = {record.stage: record for record in log.compiles if record.source == COMPILED}
    plan = records.get("plan")
    if plan is None:
        return None
    truth = log.header.episode.graph
    right = [step for step in truth.steps if plan.graph is not None and step.id in plan.graph]
    dependencies = sum(set(plan.graph[step.id].prerequisites) == set(step.prerequisites)
                       for step in right if plan.graph is not None)
    codes = sum(plan.graph[step.id].code == step.code for step in right if plan.graph is not None)
    revision = records.get("revision")
    asked = revision is not None or any(turn.kind is RequestKind.REVISION for turn in log.turns)
    cancel, rewire, relax = _revision_parts(log, plan, revision) if asked else (None, None, None)
    failed = plan.graph is None or (revision is not None and revision.revision is None)
    flagged = failed or any(record.defects for record in records.values())
    again = [record for stage, record in records.items() if stage.endswith("_again")]
    return CompileScore(len(truth.steps), dependencies, codes, failed, asked, cancel, rewire, relax, flagged,
                        bool(again), any(record.falls_back for record in again))


def _revision_parts(log: EpisodeLog, plan: CompileRecord, record: CompileRecord | None) -> tuple[bool, bool, bool]:
    compiled = record.revision if record is not None else None
    if compiled is None or plan.graph is None:
        return False, False, False
    truth = log.header.episode.revision
    relaxed = truth.relax[0] if truth.relax is not None else None
    wanted = {step: frozenset(prerequisites) for step, prerequisites in truth.rewires}
    stated = _stated(compiled)
    # A step that is said to require what it requires anyway is not changed.
    changed = {step for step, prerequisites in stated.items()
               if prerequisites != frozenset(plan.graph[step].prerequisites)}
    if compiled.relax is not None:
        changed.add(compiled.relax[0])
    invented = changed - wanted.keys() - {relaxed, compiled.cancel}
    rewire = all(stated.get(step) == prerequisites for step, prerequisites in wanted.items()) and not invented
    return compiled.cancel == truth.cancel, rewire, _relax_is_right(log, compiled, stated)


def _stated(revision: Revision) -> dict[str, frozenset[str]]:
    return {step: frozenset(prerequisites) for step, prerequisites in revision.rewires}


def _relax_is_right(log: EpisodeLog, compiled: Revision, stated: dict[str, frozenset[str]]) -> bool:
    episode = log.header.episode
    if episode.revision.relax is None:
        return compiled.relax is None
    step, _ = episode.revision.relax
    if step in stated:
        return stated[step] == frozenset(episode.graph.revise(episode.revision)[step].prerequisites)
    return compiled.relax == episode.revision.relax
