"""The arms by name. An arm of one's own is a class that keeps the protocol `Arm`, entered here."""

from artifact.arms.base import Arm
from artifact.arms.checklist import Checklist
from artifact.arms.directive import Directive
from artifact.arms.enforcement import Enforcement
from artifact.arms.ledger import Ledger
from artifact.arms.mem0 import Mem0
from artifact.arms.paged import Paged
from artifact.arms.raw import Raw
from artifact.arms.stream import Stream
from artifact.arms.topk import TopK

ARMS: dict[str, type[Arm]] = {
    arm.name: arm for arm in (Raw, Checklist, Directive, Enforcement, Ledger, TopK, Mem0, Stream, Paged)}
# The ladder of §3.3, weakest coupling first.
RUNGS = ("raw", "checklist", "directive", "enforcement")
# The arms of Appendix F and their like: retrospective memory beside the ladder.
MEMORY_ARMS = ("topk", "mem0", "stream", "paged")
