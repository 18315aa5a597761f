"""From logs to verdicts, offline and without a judge: nothing here can ask a model anything (§4.2, Appendix A)."""

from artifact.scorer.decline import citations, is_annotated, is_refusal
from artifact.scorer.frames import UNFINISHED, Frames, episode_frame, score_frames, turn_frame
from artifact.scorer.verdicts import EpisodeVerdict, TurnVerdict, label_of, score_log

__all__ = [
    "UNFINISHED", "EpisodeVerdict", "Frames", "TurnVerdict", "citations", "episode_frame", "is_annotated", "is_refusal",
    "label_of", "score_frames", "score_log", "turn_frame",
]
