"""The couplings of this harness, the weaker ones first (Appendix I)."""

from enum import StrEnum

from artifact.log.records import ArmIdentity


class Rung(StrEnum):
    """A coupling, by its name on the command line."""

    RAW = "raw"
    LEDGER = "ledger"
    CHECKLIST = "checklist"
    DIRECTIVE = "directive"
    JUDGEMENT = "enforcement:policy=judgement"
    STATE = "enforcement:policy=state"

    @property
    def identity(self) -> ArmIdentity:
        """Its name and options in a log."""
        name, colon, option = self.value.partition(":")
        key, _, value = option.partition("=")
        return ArmIdentity(name, {key: value} if colon else {})

    @property
    def owns_record(self) -> bool:
        """Whether a module keeps an intention record."""
        return self not in (Rung.RAW, Rung.LEDGER)

    @property
    def directs(self) -> bool:
        """Whether the matcher is asked and its judgement told to the agent."""
        return self in (Rung.DIRECTIVE, Rung.JUDGEMENT, Rung.STATE)
