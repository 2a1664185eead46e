"""In-order, bit-exact comparison of a design's results with golden's."""

import json
import os
from collections import Counter, deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cocotb
from cocotb.simtime import get_sim_time

from bitpath.verif.kit import exceptions, looks, mismatches
from bitpath.verif.kit.marks import Show
from bitpath.verif.kit.mismatches import Context
from bitpath.verif.kit.packing import width
from bitpath.verif.kit.pauses import test_name
from bitpath.verif.kit.values import Number

SHOWN = 20
"""Number of mismatches after which a test stops."""
MOST = "BITPATH_MISMATCHES"
"""Environment variable with another such number; 0 stops at none."""
OBSERVED = "BITPATH_OBSERVED"
"""Environment variable with a file for the requests of a test and their results, a JSON line each, at most `KEPT` of a test."""
KEPT = 5000
IMPATIENT = "BITPATH_FIRST_FAILURE"
"""Environment variable that stops a run at its first mismatch, which suffices to judge a mutant."""

FIRST_MISMATCH = "first_mismatch"
"""File in the run's folder with the time in ps of its first mismatch, at which a viewer opens the wave."""


class Scoreboard:
    """A queue of expected integers, compared with the values passed to :meth:`got`.

    Parameters
    ----------
    name : name in messages and the record; the output's or stream's name if it compares a single one.
    shape : shape of the payload, used to display it; the comparison is on integers.
    formats : number format of each field that is displayed as a number, by path; the key "" stands for all fields.
    moment : function that returns the current time as text.
    show : function that shows a comparison in the wave; None without a wave.
    output : the output, or its stream, whose values come here; by default the one of the scoreboard's name.
    """

    def __init__(
        self,
        name: str,
        shape: Any,
        formats: Mapping[Any, Number] | None = None,
        moment: Callable[[], str] = lambda: f"at {get_sim_time('ns'):g} ns",
        show: Show | None = None,
        output: str = "",
    ):
        self.name, self.output = name, output or name
        self.shape = shape
        self.formats = dict(formats or {})
        self.compared = 0
        self.mismatches = 0
        self.excepted: Counter[str] = Counter()
        self._exceptions = exceptions.given()
        self._observed: list[str] = []
        self._moment, self._show = moment, show
        self._expected: deque[tuple[int, Context, int | None]] = deque()

    @property
    def pending(self) -> int:
        """Number of expected values that have not arrived."""
        return len(self._expected)

    def expect(self, value: int, context: Context = None, request: int | None = None) -> None:
        """Append an expected integer, with the context that a mismatch shows, and the payload of the request that it answers."""
        self._expected.append((value, context, request))

    def compare(self, value: int, expected: int, context: Context = None) -> None:
        """Compare a value at once, for a test that reads the design by hand."""
        self.expect(expected, context)
        self.got(value)

    def got(self, value: int) -> None:
        """Compare with the oldest expected value.

        Raises after :data:`SHOWN` mismatches or the number of :data:`MOST`, after one if :data:`IMPATIENT` is set, and on a surplus value.
        """
        if looks.noted is not None:
            looks.noted.compare(self.output, value, width(self.shape))
        if not self._expected:
            raise AssertionError(
                f"{self.name}: {value:#x} came, and nothing more was expected ({self.compared} compared)"
            )
        expected, context, request = self._expected.popleft()
        self.compared += 1
        if request is not None and OBSERVED in os.environ and len(self._observed) < KEPT:
            self._observed.append(json.dumps([request, value, expected]))
        if self._show is not None:
            self._show(value, expected)
        if value == expected or self._passed_over(value, expected, context):
            return
        self.mismatches += 1
        cocotb.log.error(self._noted(value, expected, context))
        most = 1 if IMPATIENT in os.environ else int(os.environ.get(MOST, SHOWN))
        if self.mismatches == most:
            self._save()
            raise AssertionError(f"{self.name}: {most} mismatches in {self.compared} values, stopped")

    def _passed_over(self, got: int, expected: int, context: Context) -> bool:
        """Return True, and count it, for a difference that the user excepts."""
        if not self._exceptions:
            return False
        formats = mismatches.shown_at(context).formats
        found = mismatches.differences(self.shape, self.formats if formats is None else formats, got, expected)
        name = exceptions.name_of(self._exceptions, found, mismatches.shown_at(context, found[0].field).fields)
        if name is not None:
            self.excepted[name] += 1
        return name is not None

    def _save(self) -> None:
        """Write what was observed."""
        if self._observed:
            with Path(os.environ[OBSERVED]).open("a") as file:
                file.write("".join(f"{line}\n" for line in self._observed))
            self._observed.clear()

    def finish(self, minimum: int = 1) -> None:
        """Raise an error unless all expected values arrived and agreed, and at least ``minimum`` were compared."""
        self._save()
        if self.mismatches:
            raise AssertionError(f"{self.name}: {self.mismatches} mismatches in {self.compared} values")
        if self.pending:
            raise AssertionError(f"{self.name}: {self.pending} expected values never came ({self.compared} compared)")
        if self.compared < minimum:
            raise AssertionError(f"{self.name}: {self.compared} values compared, at least {minimum} must be")

    def _noted(self, got: int, expected: int, context: Context) -> str:
        """Add a mismatch to the run's report and return its text."""
        folder = Path(os.environ["BITPATH_RECORDS"]).parent
        marker = folder / FIRST_MISMATCH
        if not marker.exists():
            marker.write_text(f"{get_sim_time('ps'):.0f}\n")
        formats = mismatches.shown_at(context).formats
        found = mismatches.differences(self.shape, self.formats if formats is None else formats, got, expected)
        shown = mismatches.shown_at(context, found[0].field)
        head = f"{test_name()}, {self.name}, value {self.compared - 1}, {self._moment()}"
        return mismatches.note(folder, mismatches.full_text(head, found, shown), mismatches.line_text(head, found))
