"""The claims of the original paper, decided on measured logs: holds, differs, not tested.

Invariant: a verdict names the configuration that it was reached on and speaks of no other model. With too few
episodes there is no verdict but "not tested": below `FEWEST_SEPARABLE_PAIRS` completed episodes an arm, and for a
separation when even the most lopsided outcome could not reach the adjusted level.
"""

import tomllib
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from artifact import paths
from artifact.errors import RequestError
from artifact.report.ladder import Configuration, Scoring
from artifact.taskstate import Channel

CLAIMS = paths.DATA / "claims.toml"


class ClaimTest(StrEnum):
    """How a claim is decided; `artifact.report.claim_tests` has one function for each."""

    AT_MOST = "at_most"
    AT_LEAST = "at_least"
    BELOW = "below"
    NON_DECREASING = "non_decreasing"
    SEPARATES = "separates"
    NOT_SEPARATED = "not_separated"
    LARGER_STEP = "larger_step"
    ZERO = "zero"
    LEADS = "leads"
    MAJORITY = "majority"
    BRIEF_LOWERS = "brief_lowers"
    BRIEF_MOVES_AT_MOST = "brief_moves_at_most"
    CLIMBS = "climbs"
    FLAT = "flat"
    AGAINST_DIRECTIVE = "against_directive"
    OVER_BLOCKS_FLAGGED = "over_blocks_flagged"
    DEAREST = "dearest"


class ClaimVerdict(StrEnum):
    """What the logs say of a claim."""

    HOLDS = "holds"
    DIFFERS = "differs"
    NOT_TESTED = "not tested"


@dataclass(frozen=True)
class Claim:
    """One claim, as in ``data/claims.toml``.

    Parameters
    ----------
    id : str
        Its name.
    question : int
        The research question that it belongs to.
    text, place, paper : str
        What is claimed, where, and what the paper measured.
    test : ClaimTest
        How it is decided.
    arms : tuple of str
        The rungs concerned, the more weakly coupled ones first.
    where : dict
        Fields of `Configuration` and the values that they must have.
    metric, channels, bound, scoring
        What the test needs.
    """

    id: str
    question: int
    text: str
    place: str
    paper: str
    test: ClaimTest
    arms: tuple[str, ...]
    where: dict[str, str] = field(default_factory=dict)
    metric: str = "strict"
    channels: tuple[Channel, ...] = ()
    bound: float = 0.0
    scoring: Scoring = Scoring.PRIMARY


@dataclass(frozen=True)
class ClaimResult:
    """A claim decided on one configuration.

    Parameters
    ----------
    claim : Claim
        What was claimed.
    configuration : Configuration or None
        What it was decided on; None when there are no logs that could decide it.
    verdict : ClaimVerdict
        The verdict.
    measured : str
        The measured values, or why there is no verdict.
    """

    claim: Claim
    configuration: Configuration | None
    verdict: ClaimVerdict
    measured: str


def load_claims(path: Path = CLAIMS) -> tuple[Claim, ...]:
    """The claims, in the order of the file.

    Raises
    ------
    RequestError
        When the file is missing or an entry is not a claim.
    """
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("claim", [])
        return TypeAdapter(tuple[Claim, ...]).validate_python(entries)
    except FileNotFoundError:
        raise RequestError(f"the claims are not at {path}; restore data/claims.toml from the repository") from None
    except tomllib.TOMLDecodeError as error:
        raise RequestError(f"{path} is no TOML ({error}); correct that line") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise RequestError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}; correct that entry") from None
