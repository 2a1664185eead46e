"""Expected values and mismatches in a wave, beside the outputs that scoreboards compare.

A build with waves has the registers ``expected__NAME`` and ``mismatch__NAME`` for each output NAME, and ``mismatch`` for
all. They change at the time of the comparison, and keep their values until the next one. ``mismatch__actual`` and
``mismatch__expected`` are the values of a comparison of no output's, such as a word that a bench read from a memory: those of
the first mismatch among the comparisons of one time, else of the first comparison.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cocotb.simtime import get_sim_time

COMPARED = "compared.txt"
"""File in the run's folder with the outputs that were compared, one a line, for the viewer's save file."""
UNNAMED = "mismatch"
"""Line of that file for comparisons of no output's."""
Show = Callable[[int, int], None]
"""Writer of a comparison: the actual and the expected value."""


class _Flag:
    """A register that is 1 if one of the comparisons of its latest time failed."""

    def __init__(self, handle: Any):
        self._handle = handle
        self._time, self._value = -1, -1

    def show(self, differs: bool) -> None:
        now = get_sim_time()
        value = int(differs or (now == self._time and self._value == 1))
        if value != self._value:
            self._handle.value = value
        self._time, self._value = now, value


class _Values:
    """Registers of the actual and the expected value of a comparison of no output's."""

    def __init__(self, dut: Any):
        self._handles = (dut.mismatch__actual, dut.mismatch__expected)
        self._time, self._differs = -1, False

    def show(self, actual: int, expected: int) -> None:
        now, differs = get_sim_time(), actual != expected
        if now == self._time and (self._differs or not differs):
            return
        if self._time < 0:
            _note(UNNAMED)
        self._time, self._differs = now, differs
        for handle, value in zip(self._handles, (actual, expected), strict=True):
            handle.value = value & (1 << len(handle)) - 1


class Marks:
    """Registers of a test in a design's wave."""

    def __init__(self, dut: Any):
        self._dut, self._all, self._values = dut, _Flag(dut.mismatch), _Values(dut)
        self._expected: dict[str, int] = {}

    def of(self, output: str, lowest: int, bits: int) -> Show:
        """Return the writer of a scoreboard that compares bits of an output, named as its port or stream.

        A scoreboard of another name shows its mismatches in ``mismatch``, and their values beside it.
        """
        port = next((each for each in (output, f"{output}__payload") if hasattr(self._dut, f"expected__{each}")), None)
        if port is None:
            return self._unnamed
        expected, own = getattr(self._dut, f"expected__{port}"), _Flag(getattr(self._dut, f"mismatch__{port}"))
        mask = (1 << bits) - 1

        def show(actual: int, value: int) -> None:
            if port not in self._expected:
                _note(port)
            word = self._expected.get(port, 0) & ~(mask << lowest) | (value & mask) << lowest
            if word != self._expected.get(port):
                expected.value = word
            self._expected[port] = word
            own.show(actual != value)
            self._all.show(actual != value)

        return show

    def _unnamed(self, actual: int, expected: int) -> None:
        self._values.show(actual, expected)
        self._all.show(actual != expected)


def _note(port: str) -> None:
    file = Path(os.environ["BITPATH_RECORDS"]).with_name(COMPARED)
    known = file.read_text().split() if file.exists() else []
    if port not in known:
        file.write_text("".join(f"{each}\n" for each in (*known, port)))
