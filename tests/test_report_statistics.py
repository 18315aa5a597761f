"""Statistics against values worked out by hand (DESIGN §7)."""

from math import sqrt

import pytest

from artifact.report.statistics import NOT_RUN, Contrast, holm, mcnemar, proportion


def outcomes(text: str, first_seed: int = 100) -> dict[int, bool | None]:
    """``1``, ``0`` and ``x`` by seed: success, failure, ended by infrastructure."""
    return {first_seed + index: {"1": True, "0": False, "x": None}[char] for index, char in enumerate(text)}


def test_an_interval_is_wilsons() -> None:
    # Wilson 1927 by hand: centre (p + z²/2n) / (1 + z²/n), half width z·sqrt(p(1-p)/n + z²/4n²) / (1 + z²/n).
    z, n, p = 1.959963984540054, 8, 6 / 8
    centre, half = (p + z**2 / (2 * n)) / (1 + z**2 / n), z * sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    value = proportion(6, 8)
    assert (value.k, value.n, value.estimate) == (6, 8, 0.75)
    assert value.low == pytest.approx(centre - half, abs=1e-9)
    assert value.high == pytest.approx(centre + half, abs=1e-9)


def test_the_interval_of_no_success_starts_at_zero_and_has_width() -> None:
    value = proportion(0, 16)
    assert value.low == 0
    assert value.high == pytest.approx(0.1936, abs=1e-4)  # z² / (n + z²)


def test_no_trial_is_not_run_and_not_a_number() -> None:
    assert proportion(0, 0) is NOT_RUN
    assert not NOT_RUN.is_measured
    assert NOT_RUN.estimate is None


@pytest.mark.parametrize(("k", "n"), [(-1, 4), (5, 4)])
def test_impossible_counts_are_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="no proportion"):
        proportion(k, n)


def test_the_contrast_is_the_exact_binomial_of_the_discordant_pairs() -> None:
    # Five pairs for the upper arm, one for the lower: 2 · (C(6,0) + C(6,1)) / 2⁶ = 14/64.
    contrast = mcnemar(outcomes("0000011010"), outcomes("1111101010"), ("raw", "checklist"))
    assert (contrast.lower, contrast.upper) == ("raw", "checklist")
    assert (contrast.only_lower, contrast.only_upper, contrast.pairs) == (1, 5, 10)
    assert contrast.p == pytest.approx(14 / 64)


def test_without_a_discordant_pair_nothing_speaks_against_equality() -> None:
    assert mcnemar(outcomes("1100"), outcomes("1100")).p == 1.0


def test_only_shared_seeds_are_compared() -> None:
    contrast = mcnemar(outcomes("000000", 100), outcomes("111111", 104))
    assert (contrast.pairs, contrast.only_upper) == (2, 2)


def test_a_pair_with_an_infrastructure_episode_leaves_the_contrast_and_is_counted() -> None:
    contrast = mcnemar(outcomes("0x00x0"), outcomes("11x1x1"))
    assert (contrast.pairs, contrast.excluded, contrast.only_upper) == (3, 3, 3)


def test_a_contrast_without_a_pair_has_no_p() -> None:
    contrast = mcnemar(outcomes("0x"), {})
    assert (contrast.pairs, contrast.p, contrast.is_measured) == (0, None, False)


def with_p(p: float | None) -> Contrast:
    """A contrast of which only p matters."""
    return Contrast("raw", "checklist", 0 if p is None else 9, 0, 0, 0, p)


def test_holm_multiplies_by_the_hypotheses_that_are_left() -> None:
    # Sorted .01, .02, .04: 3·.01 = .03, 2·.02 = .04, 1·.04 = .04, each at least its predecessor.
    adjusted = holm([with_p(0.04), with_p(0.01), with_p(0.02)])
    assert [c.p_holm for c in adjusted] == pytest.approx([0.04, 0.03, 0.04])


def test_an_adjusted_p_never_exceeds_one() -> None:
    assert [c.p_holm for c in holm([with_p(0.9), with_p(0.8)])] == [1.0, 1.0]


def test_a_missing_contrast_leaves_the_family_before_the_correction() -> None:
    adjusted = holm([with_p(0.02), with_p(None), with_p(0.5), with_p(None)])
    assert [c.p_holm for c in adjusted] == [pytest.approx(0.04), None, pytest.approx(0.5), None]


def test_a_family_without_any_measured_contrast_stays_as_it_is() -> None:
    assert holm([with_p(None)]) == (with_p(None),)
    assert holm([]) == ()
