"""From verdicts to what is published: statistics, tables, figures, numbers, claims (DESIGN §7).

Nothing here asks a model or reads an answer: everything is computed from the scorer's frames.
"""

from artifact.report.build import BuiltReport, build_report
from artifact.report.claim_tests import evaluate
from artifact.report.claims import Claim, ClaimResult, ClaimVerdict, load_claims
from artifact.report.claims_table import claims_table, claims_text, write_claims
from artifact.report.ladder import (
    RUNGS,
    Configuration,
    Ladder,
    Scoring,
    adjacent_contrasts,
    in_both_briefs,
    ladders,
)
from artifact.report.reported import Reported, load_reported
from artifact.report.scored import ScoredLogs, load_scored
from artifact.report.statistics import NOT_RUN, Contrast, Proportion, holm, mcnemar, proportion

__all__ = [
    "NOT_RUN", "RUNGS", "BuiltReport", "Claim", "ClaimResult", "ClaimVerdict", "Configuration", "Contrast", "Ladder",
    "Proportion", "Reported", "ScoredLogs", "Scoring", "adjacent_contrasts", "build_report", "claims_table",
    "claims_text", "evaluate", "holm", "in_both_briefs", "ladders", "load_claims", "load_reported", "load_scored",
    "mcnemar", "proportion", "write_claims",
]
