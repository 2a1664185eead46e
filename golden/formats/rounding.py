"""Rounding modes: one enumeration for all machines, golden and RTL."""

from enum import Enum


class Rounding(Enum):
    """Modes that round x to an integer; to round a value to a code, x is the value in units in the last place.

    ``RN`` rounds to nearest; its third letter is the direction of a tie, an x half-way between two integers.
    ``RT`` rounds every x that is not an integer in the direction of its third letter. The letters: even, odd, away from
    zero, zero, up (+infinity), down (-infinity).
    """

    RNE = "rne"  # floor(x + 1/2), less 1 if x is a tie and that is odd
    RNO = "rno"  # floor(x + 1/2), less 1 if x is a tie and that is even
    RNA = "away"  # sign(x) * floor(|x| + 1/2)
    RNZ = "rnz"  # sign(x) * ceil(|x| - 1/2)
    RNU = "up"  # floor(x + 1/2)
    RND = "rnd"  # ceil(x - 1/2)
    RTA = "rta"  # sign(x) * ceil(|x|)
    RTZ = "rtz"  # sign(x) * floor(|x|): truncation
    RTU = "rtu"  # ceil(x)
    RTD = "rtd"  # floor(x)
    SR = "sr"  # sign(x) * floor(|x| + r), stochastic: r is random, 0 <= r < 1

    @property
    def to_nearest(self) -> bool:
        return self.name.startswith("RN")

    @classmethod
    def _missing_(cls, value: str) -> "Rounding | None":  # type: ignore[override]  # declarations take texts alone
        return cls.RNE if value == "even" else None  # earlier configurations call RNE "even"
