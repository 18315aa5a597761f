"""Measured proportions as figures draw them: a point with its interval."""

from math import nan
from typing import NamedTuple

from artifact.report.statistics import Proportion


class Point(NamedTuple):
    """A rate and the bounds of its interval; NaN, which draws nothing, where nothing was measured."""

    rate: float
    low: float
    high: float


def point(value: Proportion) -> Point:
    """The point of a proportion."""
    if value.estimate is None or value.low is None or value.high is None:
        return Point(nan, nan, nan)
    return Point(value.estimate, value.low, value.high)
