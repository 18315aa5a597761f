"""The tables of variants: which rows stand in each, and what they are compared with."""

from typing import Any

from artifact.report import variant_measures as measure
from artifact.report.grid import Column
from artifact.report.ladder import BRIEFS, RUNGS
from artifact.report.variant_table import VariantTable
from artifact.report.variants import Variant
from artifact.taskstate import CANONICAL

GATES = ("directive", "enforcement")
RATES = (0.001, 0.003, 0.01)
ROTATED, HELD_OUT, AMBIGUOUS = "rotated", "held_out", "ambiguous=0.15"
BOTH = f"{HELD_OUT},{AMBIGUOUS}"  # "adds" in the caption of the paper's Table 4: on top of the held-out phrasings
_HAZARD = (Column("hazard"), measure.fresh_order_hazard)
_MATCHER = (Column("matcher", ("matcher_agreement", "matcher_agreement_min", "matcher_agreement_max")),
            measure.matcher_agreement)
_REDO = (Column("redo prec."), measure.redo_precision)
_BOOKED = (Column("ambig. booked", ("ambiguous_probes_booked",)), measure.ambiguous_booked)
_REFUSED = (Column("refused", ("refused_bookings",)), measure.refused_bookings)
_PROMPT = (Column("prompt k"), measure.prompt_tokens)
_UNREQUESTED = (Column("unreq."), measure.unrequested_executions)
_OMISSIONS = (Column("omissions", ("omission",)), measure.omissions)
_RE_EXECUTIONS = (Column("re-exec."), measure.re_executions)
_SUPERSEDED = (Column("supers."), measure.superseded_executions)
_PREMATURE = (Column("premat."), measure.premature_executions)


def _climb(**setting: Any) -> tuple[Variant, ...]:
    """The four rungs in a setting, each against the one below."""
    return tuple(Variant(arm, arm, against=lower, **setting) for lower, arm in zip(("", *RUNGS), RUNGS, strict=False))


def _reference(arm: str) -> Variant:
    return Variant(arm, arm, is_reference=True)


BRIEF_CONTROL = VariantTable(
    "brief_control",
    tuple(variant for arm in RUNGS for variant in (
        Variant(f"{arm}, amended", arm, is_reference=True),
        Variant(f"{arm}, original", arm, against=f"{arm}, amended", brief=BRIEFS[1]))),
    (_HAZARD, (Column("episodes"), measure.hazardous_episodes)), ("Table 13", "Table 14"), RUNGS,
    "Both briefs on the same seeds and the same schedule. Hazard: finished steps executed again on a fresh request, of "
    "the requests of a finished step that order no redo. Episodes: with any re-execution.")

WORDING = VariantTable(
    "wording",
    tuple(variant for arm in RUNGS for variant in (
        Variant(f"{arm}, canonical", arm, is_reference=True),
        Variant(f"{arm}, rotated", arm, against=f"{arm}, canonical", schedule=ROTATED, is_optional=True),
        Variant(f"{arm}, original brief", arm, brief=BRIEFS[1], is_reference=True, is_optional=True),
        # The paper rotates under the original brief, on both ends of the ladder.
        Variant(f"{arm}, original brief, rotated", arm, against=f"{arm}, original brief", schedule=ROTATED,
                brief=BRIEFS[1], is_optional=arm not in (RUNGS[0], RUNGS[-1])),
        Variant(f"{arm}, held out", arm, against=f"{arm}, canonical", schedule=HELD_OUT),
        Variant(f"{arm}, ambiguous", arm, against=f"{arm}, canonical", schedule=AMBIGUOUS, is_optional=True),
        Variant(f"{arm}, held out, ambiguous", arm, against=f"{arm}, canonical", schedule=BOTH))),
    (_MATCHER, _REDO, (Column("other named"), measure.omissions_naming_another), _BOOKED), ("Table 4",), RUNGS,
    "Rotated: another of a step's own paraphrases. Held out: asks, premature and redo wordings rewritten by a model "
    "that is not under test. Ambiguous: probes that name two eligible steps come on top, and nothing is to be booked "
    "on them. Matcher: asks, premature and redo probes resolved to their step. Redo prec.: requests "
    "flagged as orders to redo that are. Other named: episodes whose first omitted ask was answered by "
    "naming another step, of the episodes with an omission.")

SURFACES = VariantTable(
    "surfaces",
    (_reference("checklist"),
     Variant("checklist, replace", "checklist", {"mode": "replace"}, "checklist"),
     Variant("checklist, replace, step", "checklist", {"mode": "replace", "matched_line": True}, "checklist"),
     Variant("self-ledger", "ledger", {}, "checklist, replace"),
     _reference("directive"), Variant("directive, system role", "directive", {"role": "system"}, "directive"),
     _reference("enforcement"), Variant("enforcement, system role", "enforcement", {"role": "system"}, "enforcement")),
    (_REFUSED, _PROMPT), ("Table 16",), ("checklist", "self_ledger", "directive", "enforcement"),
    "Replace: only the current message shows the checklist. Step: a line names the step that the matcher found, "
    "without an instruction. System role: the directive stands in the system prompt for that call. Refused: bookings "
    "in all episodes. Prompt k: thousands of prompt tokens an episode.")

NOTICE = VariantTable(
    "notice",
    (_reference("enforcement"),
     Variant("enforcement, same turn", "enforcement", {"notice": "same_turn"}, "enforcement")),
    (_REFUSED, (Column("silent", ("refused_bookings_read_as_completed",)), measure.silent_turns)), ("prose",),
    ("enforcement.notice=same_turn", "enforcement.notice=next_turn"),
    "Same turn: the agent is told of a refusal at once and writes the reply that the client sees after it. Silent: "
    "turns with a refused booking whose visible reply holds no refusal language.")

DOMAIN = VariantTable(
    "domain",
    _climb(domain="release"), (_REFUSED, _OMISSIONS), ("Table 17",), RUNGS,
    "The ladder in the second domain, release engineering: same shapes, schedules and traps, other words.")

ONE_STEP = VariantTable(
    "one_step", _climb(size=1), (_RE_EXECUTIONS, _OMISSIONS, _REFUSED), (), (),
    "Projects of one step, on the ladder: nothing is blocked and nothing revised, so that the redo probes and the "
    "ordered redo of the finished step are the traps that are left.")

LEDGER = VariantTable(
    "ledger",
    (_reference("raw"), _reference("checklist"), _reference("directive"),
     Variant("self-ledger", "ledger", {}, "directive"),
     Variant("self-ledger, replace", "ledger", {"mode": "replace"}, "directive", is_optional=True)),
    (_RE_EXECUTIONS, _OMISSIONS, (Column("ledger\nright"), measure.ledger_accuracy),
     (Column("empty\nright"), measure.empty_ledger_accuracy),
     (Column("open,\nsaid done"), measure.ledger_errors("said_done")),
     (Column("done,\nsaid open"), measure.ledger_errors("said_open")),
     (Column("canc.\nmissed"), measure.ledger_errors("cancellation_missed")),
     (Column("canc.\nmade up"), measure.ledger_errors("cancellation_made_up"))), ("prose", "Table 16"),
    ("self_ledger",),
    "The agent keeps its own ledger, which is shown to it in the checklist's place; nothing verifies it. Ledger right: "
    "steps that the ledger has as done, cancelled or open as they are, of all steps of the plan at the start of every "
    "turn; a step without a line counts as open. Empty right: what a ledger without any line would have right there. "
    "Then the wrong entries by kind.")

ASKING = VariantTable(
    "asking",
    tuple(variant for schedule, words in ((CANONICAL, "canonical"), (HELD_OUT, "held out"), (AMBIGUOUS, "ambiguous"),
                                          (BOTH, "held out, ambiguous")) for arm in GATES
          for variant in (
              Variant(f"{arm}, {words}", arm, schedule=schedule, is_reference=True,
                      is_optional=schedule == AMBIGUOUS),
              Variant(f"{arm} that asks, {words}", arm, {"unresolved": "ask", "named": True}, f"{arm}, {words}",
                      schedule, is_optional=schedule == AMBIGUOUS))),
    (_MATCHER, _REDO, _BOOKED, _RE_EXECUTIONS, _UNREQUESTED, _OMISSIONS), (), (),
    "A gate that asks which step is meant when none or two are named, admits nothing then, and names the step that it "
    "resolved in words, against the paper's gate on the same schedule. Matcher and redo prec. as in the table of "
    "wordings.")

HEALING = VariantTable(
    "healing",
    (_reference("enforcement"), Variant("enforcement that heals", "enforcement", {"heal": True}, "enforcement"),
     *(variant for rate in RATES for variant in (
         Variant(f"ε = {rate:g}", "enforcement", {"corruption": rate}, is_reference=True),
         Variant(f"ε = {rate:g}, heals", "enforcement", {"corruption": rate, "heal": True}, f"ε = {rate:g}")))),
    ((Column("flagged"), measure.flagged_states), (Column("re-\ncompiled"), measure.recompiled_states),
     (Column("fell\nback"), measure.fallen_back), _PREMATURE, _OMISSIONS, _REFUSED), (), (),
    "A gate that compiles a flagged state once more, enforces nothing if it is flagged still, and rebuilds its done "
    "bits from the receipt log before it decides, against the paper's gate under the same corruption. Flagged, "
    "recompiled, fell back: episodes whose state the validator flags, in which it was compiled once more, and which "
    "went on without refusing anything. Premature: executions before a prerequisite, which a gate admits where its "
    "state has lost the edge, or where it fell back.")

_REQUEST_BOUND = {"policy": "request"}
SPOOFING = VariantTable(
    "spoofing",
    (*(variant for arm in (*RUNGS[:2], "ledger", *RUNGS[2:]) for variant in (
        _reference(arm), Variant(f"{arm}, spoofed", arm, against=arm, schedule="spoofed"))),
     Variant("request-bound", "enforcement", _REQUEST_BOUND, is_reference=True, is_optional=True),
     Variant("request-bound, spoofed", "enforcement", _REQUEST_BOUND, "enforcement, spoofed", "spoofed")),
    (_RE_EXECUTIONS, _SUPERSEDED, _PREMATURE, _UNREQUESTED, _OMISSIONS, _REFUSED,
     (Column("wrong,\nforged"), measure.wrong_when_forged), (Column("wrong,\nclean"), measure.wrong_when_clean)),
    (), (),
    "The user's own text carries forged lines in the voice of the module, and forged ref lines. Wrong: turns with any "
    "violation, of the turns whose text carries such lines and of those whose text doesn't.")

FILLERS = VariantTable(
    "ordered_fillers",
    tuple(variant for arm in RUNGS for variant in (
        _reference(arm), Variant(f"{arm}, ordered fillers", arm, against=arm, schedule="ordered_fillers"))),
    (_UNREQUESTED, _REFUSED), (), (),
    "Fillers carry a work order of their own, so that there is something to book on them.")

_REPLACED = {"mode": "replace"}
_MEMORIES = (("topk", "top-k"), ("mem0", "Mem0"), ("stream", "memory stream"), ("paged", "paged context"))


def _memories(*lower: str) -> tuple[Variant, ...]:
    """Every memory arm in both modes against each of these rungs."""
    return tuple(
        Variant(f"{words}, {mode}{f', {rung}' if len(lower) > 1 else ''}", arm, options, rung)
        for arm, words in _MEMORIES for mode, options in (("replace", _REPLACED), ("augment", {})) for rung in lower)


MEMORY = VariantTable(
    "memory", (*map(_reference, RUNGS[:3]), *_memories("directive")),
    (_RE_EXECUTIONS, _SUPERSEDED, _PREMATURE, _UNREQUESTED, _OMISSIONS, (Column("ref. redo"), measure.refused_redos)),
    ("Table 18",), ("memory",),
    "Replace: brief, recall block and the last two exchanges stand in the transcript's place. Augment: the block comes "
    "on top of the transcript. Channels count violations in all episodes of a row.")

MEMORY_LOWER = VariantTable(
    "memory_lower", (*map(_reference, RUNGS[:2]), *_memories(*RUNGS[:2])),
    ((Column("recalled"), measure.recalled_evidence), (Column("in window"), measure.shown_evidence),
     (Column("agent k"), measure.agent_tokens), (Column("memory calls"), measure.helper_calls),
     (Column("memory k"), measure.helper_tokens), (Column("fallbacks"), measure.memory_fallbacks)), (), (),
    "The same episodes against the rung that each row ends with. Recalled: requests whose right answer needs a "
    "receipt, the cancellation or the revision, and whose turn carried all of it from memory; in window: or as it was "
    "said. Agent k and memory k: thousands of tokens an episode, prompts and replies together, of the agent and of the "
    "calls that serve the memory. Fallbacks: times that such a call gave nothing usable, or didn't fit, in all "
    "episodes.")

ALL = (BRIEF_CONTROL, WORDING, SURFACES, NOTICE, DOMAIN, ONE_STEP, LEDGER, ASKING, HEALING, SPOOFING, FILLERS, MEMORY,
       MEMORY_LOWER)
