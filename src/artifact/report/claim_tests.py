"""How each kind of claim is decided. Every function gives a `Decision`, or raises `Undecided` with the reason."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from artifact.report.claim_evidence import Decision, Evidence, Undecided, rates_of, shown
from artifact.report.claims import Claim, ClaimResult, ClaimTest, ClaimVerdict
from artifact.report.ladder import BRIEFS, RUNGS, Configuration, Ladder, capability
from artifact.report.measures import measure, tokens_per_episode, trap_directives
from artifact.report.samples import sample
from artifact.report.scored import ScoredLogs
from artifact.report.statistics import ALPHA, Contrast
from artifact.report.tables import channel_words, p_text
from artifact.taskstate import Channel

# Differences of rates that are equal in exact arithmetic must not differ in the last bit.
_ROUNDING = 1e-9
# Decided once for the pair of briefs, at the amended one.
_OF_BOTH_BRIEFS = (ClaimTest.BRIEF_LOWERS, ClaimTest.BRIEF_MOVES_AT_MOST)


def evaluate(claims: Iterable[Claim], scored: ScoredLogs) -> tuple[ClaimResult, ...]:
    """Decide claims on every configuration that they speak of.

    Returns
    -------
    tuple of ClaimResult
        Claim by claim; a claim for which there are no logs has one result without a configuration.
    """
    evidence = Evidence(scored)
    results: list[ClaimResult] = []
    for claim in claims:
        mine = []
        for configuration in evidence.ladders:
            if any(getattr(configuration, name) != value for name, value in claim.where.items()):
                continue
            if claim.test in _OF_BOTH_BRIEFS and configuration.brief != BRIEFS[0]:
                continue
            mine.append(_decide(claim, evidence, configuration))
        results += mine or [ClaimResult(claim, None, ClaimVerdict.NOT_TESTED, "no logs under these conditions")]
    return tuple(results)


def _decide(claim: Claim, evidence: Evidence, configuration: Configuration) -> ClaimResult:
    try:
        holds, measured = TESTS[claim.test](claim, evidence, configuration)
    except Undecided as reason:
        return ClaimResult(claim, configuration, ClaimVerdict.NOT_TESTED, str(reason))
    return ClaimResult(claim, configuration, ClaimVerdict.HOLDS if holds else ClaimVerdict.DIFFERS, measured)


def _bounded(is_within: Callable[[float, float], bool]) -> Callable[[Claim, Evidence, Configuration], Decision]:
    def decide(claim: Claim, evidence: Evidence, configuration: Configuration) -> Decision:
        rates_of(claim, evidence.ladders[configuration], claim.arms)  # enough episodes
        found = {}
        for arm in claim.arms:
            value = measure(evidence.scored, configuration, arm, claim.metric)
            if value is None:
                raise Undecided(f"{arm}: nothing to measure {claim.metric.replace('_', ' ')} on")
            found[arm] = value
        return (all(is_within(value.value, claim.bound) for value in found.values()),
                ", ".join(f"{arm} {value.text}" for arm, value in found.items()))
    return decide


def _non_decreasing(claim: Claim, evidence: Evidence, configuration: Configuration) -> Decision:
    ladder = evidence.ladders[configuration]
    rates = list(rates_of(claim, ladder, claim.arms).values())
    return rates == sorted(rates), shown(ladder, claim.arms, claim.scoring)


def _adjacent(claim: Claim, evidence: Evidence, configuration: Configuration) -> Contrast:
    """The claim's contrast, when its outcome was open: see the invariant of `artifact.report.claims`."""
    mine = [test for test in evidence.contrasts[claim.scoring][configuration] if (test.lower, test.upper) == claim.arms]
    if len(mine) != 1:
        raise ValueError(f"claim {claim.id!r} names {claim.arms}, which are not adjacent rungs")
    contrast = mine[0]
    family = sum(test.is_measured for other, tests in evidence.contrasts[claim.scoring].items()
                 if other.study == configuration.study for test in tests)
    if not contrast.is_measured or 2 * 0.5**contrast.pairs * family >= ALPHA:
        raise Undecided(f"{contrast.pairs} pairs can't separate two rungs in a family of {family}")
    return contrast


def _separates(claim: Claim, evidence: Evidence, configuration: Configuration) -> Decision:
    contrast = _adjacent(claim, evidence, configuration)
    upward = contrast.only_upper > contrast.only_lower
    return contrast.separates and upward, _test_shown(claim, evidence, configuration, contrast)


def _not_separated(claim: Claim, evidence: Evidence, configuration: Configuration) -> Decision:
    contrast = _adjacent(claim, evidence, configuration)
    return not contrast.separates, _test_shown(claim, evidence, configuration, contrast)


def _test_shown(claim: Claim, evidence: Evidence, configuration: Configuration, contrast: Contrast) -> str:
    return (f"{shown(evidence.ladders[configuration], claim.arms, claim.scoring)}; discordant "
            f"{contrast.only_lower}/{contrast.only_upper}, adjusted p {p_text(contrast.p_holm)}")


def _larger_step(claim: Claim, evidence: Evidence, configuration: Configuration) -> Decision:
    ladder = evidence.ladders[configuration]
    low, middle, high = rates_of(claim, ladder, claim.arms).values()
    return high - middle > middle - low + _ROUNDING, shown(ladder, claim.arms)


def _errors(claim: Claim, evidence: Evidence, configuration: Configuration) -> dict[Channel, int]:
    (arm,) = claim.arms
    rates_of(claim, evidence.ladders[configuration], (arm,))  # enough episodes
    episodes = sample(evidence.scored, configuration, arm).episodes
    return {channel: int(episodes[channel.value].sum()) for channel in Channel}


def _zero(claim: Claim, evidence: Evidence, configuration: Configuration) -> Decision:
    errors = _errors(claim, evidence, configuration)
    return not any(errors[channel] for channel in claim.channels), _errors_shown(errors, claim.channels)


def _leads(claim: Claim, evidence: Evidence, configuration: Configuration) -> Decision:
    errors = _some(_errors(claim, evidence, configuration))
    (channel,) = claim.channels
    return errors[channel] == max(errors.values()), _errors_shown(errors, Channel)


def _majority(claim: Claim, evidence: Evidence, configuration: Configuration) -> Decision:
    errors = _some(_errors(claim, evidence, configuration))
    return 2 * sum(errors[channel] for channel in claim.channels) > sum(errors.values()), _errors_shown(errors, Channel)


def _some(errors: dict[Channel, int]) -> dict[Channel, int]:
    if not any(errors.values()):
        raise Undecided("no error occurred")
    return errors


def _errors_shown(errors: Mapping[Channel, int], channels: Iterable[Channel]) -> str:
    """The counts that are not zero, or all of them when all are."""
    chosen = list(channels)
    listed = [channel for channel in chosen if errors[channel]] or chosen
    return ", ".join(f"{errors[channel]} {channel_words(channel)}" for channel in listed)


def _in_both_briefs(claim: Claim, evidence: Evidence, configuration: Configuration) -> tuple[Ladder, Ladder]:
    pair = []
    for brief in BRIEFS:
        ladder = evidence.ladders.get(configuration.with_brief(brief))
        if ladder is None:
            raise Undecided(f"no logs of the {brief} brief")
        rates_of(claim, ladder, claim.arms)
        pair.append(ladder)
    return pair[0], pair[1]


def _briefs_shown(claim: Claim, pair: Sequence[Ladder]) -> str:
    return "; ".join(f"{ladder.configuration.brief}: {shown(ladder, claim.arms)}" for ladder in pair)


def _moves_within(claim: Claim, one: Ladder, other: Ladder) -> bool:
    before, after = rates_of(claim, one, claim.arms), rates_of(claim, other, claim.arms)
    return all(abs(after[arm] - before[arm]) <= claim.bound + _ROUNDING for arm in claim.arms)


def _brief_lowers(claim: Claim, evidence: Evidence, configuration: Configuration) -> Decision:
    amended, original = pair = _in_both_briefs(claim, evidence, configuration)
    before, after = rates_of(claim, amended, claim.arms), rates_of(claim, original, claim.arms)
    return all(after[arm] < before[arm] for arm in claim.arms), _briefs_shown(claim, pair)


def _brief_moves_at_most(claim: Claim, evidence: Evidence, configuration: Configuration) -> Decision:
    amended, original = pair = _in_both_briefs(claim, evidence, configuration)
    return _moves_within(claim, amended, original), _briefs_shown(claim, pair)


def _less_capable(claim: Claim, evidence: Evidence, configuration: Configuration) -> tuple[Ladder, Ladder]:
    """The ladder of the next less capable agent with the same state model, and this one."""
    def rest(c: Configuration) -> tuple[object, ...]:
        return c.study, c.state_model, c.conditions, c.prompts

    weaker = [c for c in evidence.ladders if rest(c) == rest(configuration)
              and capability(c.model) < capability(configuration.model)]
    if not weaker:
        raise Undecided("no less capable agent with the same state model")
    pair = evidence.ladders[max(weaker, key=lambda c: capability(c.model))], evidence.ladders[configuration]
    for ladder in pair:
        rates_of(claim, ladder, claim.arms)
    return pair


def _capability_shown(claim: Claim, pair: Sequence[Ladder]) -> str:
    return "; ".join(f"{ladder.configuration.model}: {shown(ladder, claim.arms)}" for ladder in pair)


def _climbs(claim: Claim, evidence: Evidence, configuration: Configuration) -> Decision:
    weaker, stronger = pair = _less_capable(claim, evidence, configuration)
    before, after = rates_of(claim, weaker, claim.arms), rates_of(claim, stronger, claim.arms)
    return all(after[arm] > before[arm] for arm in claim.arms), _capability_shown(claim, pair)


def _flat(claim: Claim, evidence: Evidence, configuration: Configuration) -> Decision:
    weaker, stronger = pair = _less_capable(claim, evidence, configuration)
    return _moves_within(claim, weaker, stronger), _capability_shown(claim, pair)


def _against_directive(claim: Claim, evidence: Evidence, configuration: Configuration) -> Decision:
    _some(_errors(claim, evidence, configuration))
    chosen = sample(evidence.scored, configuration, claim.arms[0])
    wrong = int((~chosen.turns["right"].astype(bool)).sum())
    traps = trap_directives(chosen)
    against = int((~traps["obeyed"] & ~traps["right"].astype(bool)).sum())
    return 2 * against > wrong, f"{against} of {wrong} wrong turns"


def _over_blocks_flagged(claim: Claim, evidence: Evidence, configuration: Configuration) -> Decision:
    (arm,) = claim.arms
    rates_of(claim, evidence.ladders[configuration], (arm,))  # enough episodes
    chosen = sample(evidence.scored, configuration, arm)
    turns = chosen.turns
    # The gate spoke of the very step that was asked for: a wrong match is the matcher's, not the state's.
    of_step = turns[turns["directive_step"] == turns["step"]]
    over = of_step[(of_step["directive_kind"] == "blocked") & (of_step["status"] == "todo")]
    seeds = sorted(set(over["seed"]))
    if not seeds:
        raise Undecided("no step was wrongly held blocked")
    flagged = int((chosen.episodes[chosen.episodes["seed"].isin(seeds)]["defects"] > 0).sum())
    return flagged == len(seeds), f"{flagged} of {len(seeds)} episodes flagged"


def _dearest(claim: Claim, evidence: Evidence, configuration: Configuration) -> Decision:
    rates_of(claim, evidence.ladders[configuration], RUNGS)  # enough episodes
    cost = {arm: tokens_per_episode(sample(evidence.scored, configuration, arm)) for arm in RUNGS}
    (arm,) = claim.arms
    return cost[arm] == max(cost.values()), ", ".join(f"{name} {value / 1000:.1f}k" for name, value in cost.items())


TESTS: Mapping[ClaimTest, Callable[[Claim, Evidence, Configuration], Decision]] = {
    ClaimTest.AT_MOST: _bounded(lambda value, bound: value <= bound),
    ClaimTest.AT_LEAST: _bounded(lambda value, bound: value >= bound),
    ClaimTest.BELOW: _bounded(lambda value, bound: value < bound),
    ClaimTest.NON_DECREASING: _non_decreasing,
    ClaimTest.SEPARATES: _separates,
    ClaimTest.NOT_SEPARATED: _not_separated,
    ClaimTest.LARGER_STEP: _larger_step,
    ClaimTest.ZERO: _zero,
    ClaimTest.LEADS: _leads,
    ClaimTest.MAJORITY: _majority,
    ClaimTest.BRIEF_LOWERS: _brief_lowers,
    ClaimTest.BRIEF_MOVES_AT_MOST: _brief_moves_at_most,
    ClaimTest.CLIMBS: _climbs,
    ClaimTest.FLAT: _flat,
    ClaimTest.AGAINST_DIRECTIVE: _against_directive,
    ClaimTest.OVER_BLOCKS_FLAGGED: _over_blocks_flagged,
    ClaimTest.DEAREST: _dearest,
}
