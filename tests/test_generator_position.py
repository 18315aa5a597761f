"""Position carries no label: a classifier on the turn index alone has nothing to go by (§4.1)."""

from collections import Counter, defaultdict

import pytest

from artifact.generator import generate
from artifact.taskstate import NOT_A_REQUEST, RequestKind, ScheduleVariant

SEEDS = 2_000
EXCLUDED = 5
MOST_GAIN = 0.02
EXECUTE = frozenset({RequestKind.ASK, RequestKind.LEGIT_REDO})

Samples = list[list[tuple[int, object]]]


def gain(train: Samples, test: Samples) -> float:
    """What the most frequent label per position, learnt on `train`, gains on `test` over the most frequent of all."""
    by_position: dict[int, Counter] = defaultdict(Counter)
    overall: Counter = Counter()
    for episode in train:
        for position, label in episode:
            by_position[position][label] += 1
            overall[label] += 1
    majority = overall.most_common(1)[0][0]
    guess = {position: labels.most_common(1)[0][0] for position, labels in by_position.items()}
    pairs = [pair for episode in test for pair in episode]
    right = sum(guess.get(position, majority) == label for position, label in pairs)
    return (right - sum(label == majority for _, label in pairs)) / len(pairs)


CONFIGURATIONS = [(5, 0.15), (10, 0.15), (15, 0.15), (15, 0.3), (18, 0.15)]


@pytest.fixture(scope="module", params=[
    *((*configuration, "canonical") for configuration in CONFIGURATIONS),
    # Rotated and held-out phrasing, forged lines and orders on fillers leave the kinds where they are.
    (5, 0.15, "rotated,ambiguous=0.15,spoofed,ordered_fillers"),
    (10, 0.15, "ambiguous=0.15"),
    (15, 0.3, "ambiguous=0.15"),
], ids=lambda configuration: "S{}-d{}-{}".format(*configuration))
def kinds(request) -> list[list[tuple[int, int, RequestKind]]]:
    """For each seed its requests: turn index, index among the requests, kind."""
    size, density, schedule = request.param
    variant = ScheduleVariant.parse(schedule)
    episodes = (generate(seed=seed, size=size, density=density, schedule=variant) for seed in range(SEEDS))
    found = []
    for episode in episodes:
        requests = [(index, turn.kind) for index, turn in enumerate(episode.turns) if turn.kind not in NOT_A_REQUEST]
        found.append([(index, ordinal, kind) for ordinal, (index, kind) in enumerate(requests)])
    return found


@pytest.mark.parametrize("label", ["kind", "execute"])
@pytest.mark.parametrize("position", ["turn", "request"])
def test_position_does_not_predict_the_label(kinds, position: str, label: str) -> None:
    samples: Samples = []
    for requests in kinds:
        pairs = [(turn if position == "turn" else ordinal, kind) for turn, ordinal, kind in requests]
        samples.append([(at, kind if label == "kind" else kind in EXECUTE) for at, kind in pairs if at >= EXCLUDED])
    half = SEEDS // 2
    assert gain(samples[:half], samples[half:]) <= MOST_GAIN
    assert gain(samples[half:], samples[:half]) <= MOST_GAIN
    assert gain(samples, samples) <= MOST_GAIN


def test_the_classifier_finds_a_label_that_position_does_carry() -> None:
    telling: Samples = [[(5, "ask"), (6, "ask"), (7, "premature")]] * 10
    assert gain(telling, telling) == pytest.approx(1 / 3)
