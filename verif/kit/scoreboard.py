"""In-order, bit-exact comparison of a design's results with golden's."""

import os
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cocotb
from cocotb.simtime import get_sim_time

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.verif.kit import looks
from bitpath.verif.kit.packing import unpack, width
from bitpath.verif.kit.values import number_text, ulp_distance

SHOWN = 20
"""Number of mismatches after which a run stops."""
IMPATIENT = "BITPATH_FIRST_FAILURE"
"""Environment variable that stops a run at its first mismatch, which suffices to judge a mutant."""

FIRST_MISMATCH = "first_mismatch"
"""File in the run's folder with the time in ps of its first mismatch, at which a viewer opens the wave."""


def _mark_first_mismatch() -> None:
    file = Path(os.environ["BITPATH_RECORDS"]).with_name(FIRST_MISMATCH)
    if not file.exists():
        file.write_text(f"{get_sim_time('ps'):.0f}\n")


class Scoreboard:
    """A queue of expected integers, compared with the values passed to :meth:`got`.

    Parameters
    ----------
    name : name in messages and the record; the output's or stream's name if it compares a single one.
    shape : shape of the payload, used to display it; the comparison is on integers.
    formats : number format of each field that is displayed as a number; the key "" is the whole payload.
    """

    def __init__(self, name: str, shape: Any, formats: Mapping[str, FloatFormat] | None = None):
        self.name = name
        self.shape = shape
        self.formats = dict(formats or {})
        self.compared = 0
        self.mismatches: list[str] = []
        self._expected: deque[tuple[int, Any]] = deque()

    @property
    def pending(self) -> int:
        """Number of expected values that have not arrived."""
        return len(self._expected)

    def expect(self, value: int, inputs: Any = None) -> None:
        """Append an expected integer, with a context to show on a mismatch."""
        self._expected.append((value, inputs))

    def got(self, value: int) -> None:
        """Compare with the oldest expected value.

        Raises after :data:`SHOWN` mismatches, after one if :data:`IMPATIENT` is set, and on a surplus value.
        """
        if looks.noted is not None:
            looks.noted.compare(self.name, value, width(self.shape))
        if not self._expected:
            raise AssertionError(
                f"{self.name}: {value:#x} came, and nothing more was expected ({self.compared} compared)"
            )
        expected, inputs = self._expected.popleft()
        self.compared += 1
        if value == expected:
            return
        _mark_first_mismatch()
        self.mismatches.append(self._describe(value, expected, inputs))
        cocotb.log.error(self.mismatches[-1])
        shown = 1 if IMPATIENT in os.environ else SHOWN
        if len(self.mismatches) >= shown:
            raise AssertionError(f"{self.name}: {shown} mismatches in {self.compared} values, stopped")

    def finish(self, minimum: int = 1) -> None:
        """Raise an error unless all expected values arrived and agreed, and at least ``minimum`` were compared."""
        if self.mismatches:
            raise AssertionError(f"{self.name}: {len(self.mismatches)} mismatches in {self.compared} values")
        if self.pending:
            raise AssertionError(f"{self.name}: {self.pending} expected values never came ({self.compared} compared)")
        if self.compared < minimum:
            raise AssertionError(f"{self.name}: {self.compared} values compared, at least {minimum} must be")

    def _describe(self, got: int, expected: int, inputs: Any) -> str:
        digits = max(got.bit_length(), expected.bit_length(), 4) + 3 >> 2
        lines = [
            f"{self.name}: mismatch #{len(self.mismatches) + 1}, value {self.compared - 1}, at {get_sim_time('ns'):g} ns"
        ]
        lines += [f"  inputs    {inputs}"] if inputs is not None else []
        lines += [f"  got       {got:#0{digits + 2}x}", f"  expected  {expected:#0{digits + 2}x}"]
        lines += [f"  {self._field(field, fmt, got, expected)}" for field, fmt in self.formats.items()]
        return "\n".join(lines)

    def _field(self, field: str, fmt: FloatFormat, got: int, expected: int) -> str:
        a, b = (int(value if not field else unpack(self.shape, value)[field]) for value in (got, expected))
        distance = ulp_distance(fmt, a, b)
        apart = "not comparable" if distance is None else f"{distance} ulp apart"
        return f"{field or fmt.name:<9} {number_text(fmt, a)}, expected {number_text(fmt, b)}: {apart}"
