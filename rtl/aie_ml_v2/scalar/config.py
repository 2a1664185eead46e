"""Configuration of the scalar functions."""

from dataclasses import dataclass

from bitpath.rtl.aie_ml_v2.scalar.digit import DIGITS
from bitpath.rtl.common.config import require_integer


@dataclass(frozen=True, kw_only=True)
class ScalarFunctionsConfig:
    """Pipeline of the scalar functions; results do not depend on it.

    Attributes
    ----------
    digits : digits of the recurrence before each pipeline register; 25 in all. The machine answers after 3 cycles. The first
        stage also unpacks the operand, and the last one rounds.
    """

    digits: tuple[int, ...] = (6, 12, 7)

    def __post_init__(self) -> None:
        for count in self.digits:
            require_integer("scalar functions", "digits", count)
        if sum(self.digits) != DIGITS or min(self.digits, default=0) < 0:
            raise ValueError(
                f"scalar functions: digits must be numbers from 0 up with the sum {DIGITS}, not {self.digits}"
            )
