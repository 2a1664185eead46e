"""In-order comparison of what came out with what golden said, bit for bit."""

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
"""Mismatches shown; after these the run stops, since what follows is noise."""
IMPATIENT = "BITPATH_FIRST_FAILURE"
"""The environment variable with which a run stops at its first mismatch: where a mutant is judged, that is enough."""

FIRST_MISMATCH = "first_mismatch"
"""File in the run's folder with the time of its first mismatch in ps, where a viewer opens the wave."""


def _mark_first_mismatch() -> None:
    file = Path(os.environ["BITPATH_RECORDS"]).with_name(FIRST_MISMATCH)
    if not file.exists():
        file.write_text(f"{get_sim_time('ps'):.0f}\n")


class Scoreboard:
    """A queue of expected integers, compared with what :meth:`got` brings.

    Parameters
    ----------
    name : for messages and the record; that of the output or the stream whose values it compares, where it is one.
    shape : of the payload; integers are compared, the layout only shows them.
    formats : number format of each field to be shown as a number; the key "" is the payload as a whole.
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
        """Expected values that have not come yet."""
        return len(self._expected)

    def expect(self, value: int, inputs: Any = None) -> None:
        """Append an expected integer, with whatever should be shown if it does not come."""
        self._expected.append((value, inputs))

    def got(self, value: int) -> None:
        """Compare with the oldest expected value. :data:`SHOWN` mismatches, one where :data:`IMPATIENT` is
        set, or a surplus value, raise."""
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
        """Raise unless everything expected came, at least ``minimum`` values were compared, and all agreed."""
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
