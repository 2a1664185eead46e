"""Writes of PSUM's lanes, and the contents of its words that golden says follow from them."""

from dataclasses import dataclass

from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat, Rounding
from bitpath.golden.trainium3.declarations.quad_mx import ACCUMULATES, AccumulateFlag
from bitpath.golden.trainium3.exact.array import psum_write
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.values import code_text

FLAGS = {AccumulateFlag(flag): accumulates for flag, accumulates in ACCUMULATES.items()}
"""Legal values of psum_accumulate_flag, and whether they accumulate."""

FORMAT_OF_PARITY = (FP32, BF16)
"""A place keeps one format: FP32 at even indices, BF16 at odd ones."""

Place = tuple[int, int]
"""Bank and index of a word."""


@dataclass(frozen=True)
class Write:
    """One lane's write in one cycle."""

    bank: int
    index: int
    values: tuple[int, ...]
    flag: AccumulateFlag
    stochastic: bool
    random: tuple[int, ...]

    @property
    def format(self) -> FloatFormat:
        return FORMAT_OF_PARITY[self.index % 2]

    @property
    def mode(self) -> str:
        return "fp32" if self.format is FP32 else "bf16_sr" if self.stochastic else "bf16_rne"

    @property
    def fault(self) -> Fault:
        """Why it is refused: its flag, or stochastic rounding to FP32."""
        if self.flag not in FLAGS:
            return Fault.OPERATION
        return Fault.DTYPE if self.stochastic and self.format is FP32 else Fault.NONE

    @property
    def takes_random(self) -> bool:
        return self.stochastic and self.fault is Fault.NONE

    def result(self, present: tuple[int, ...]) -> tuple[int, ...]:
        """Contents of the word after the write; a BF16 code has 16 zeros below it."""
        unused = FP32.width - self.format.width
        rounding = Rounding.SR if self.takes_random else Rounding.RNE
        return tuple(
            psum_write(value, old >> unused if FLAGS[self.flag] else None, self.format, rounding, bits) << unused
            for value, old, bits in zip(self.values, present, self.random, strict=True)
        )

    def fields(self) -> dict:
        return {
            "values": list(self.values),
            "address": {"index": self.index, "bank": self.bank},
            "mode": {"flag": int(self.flag), "bf16": self.format is BF16, "stochastic": self.stochastic},
            "valid": 1,
        }


Program = list[dict[int, Write]]
"""The writes of each cycle, by lane."""


class History:
    """Contents of every word, each with the first cycle in which they are valid and the lane's write that made them."""

    def __init__(self):
        self._steps: dict[Place, list[tuple[int, tuple[int, ...], Write | None]]] = {}

    def play(self, program: Program, first: int) -> None:
        """Apply the golden writes of the lanes from cycle ``first`` on."""
        for cycle, writes in enumerate(program, first):
            for write in (each for each in writes.values() if each.fault is Fault.NONE):
                place = (write.bank, write.index)
                self.set(place, cycle, write.result(self.before(place, cycle)), write)

    def set(self, place: Place, cycle: int, values: tuple[int, ...], write: Write | None = None) -> None:
        """Record the contents of a word after this cycle; ``write`` is None for the host's."""
        self._steps.setdefault(place, []).append((cycle, values, write))

    def before(self, place: Place, cycle: int) -> tuple[int, ...]:
        """Contents that an access in this cycle sees: all writes of earlier cycles."""
        return next(values for when, values, _ in reversed(self._steps[place]) if when < cycle)

    def shown(self, place: Place, cycle: int, column: str) -> Shown:
        """The last write to a column that an access in this cycle sees, and the column's value before it."""
        column = int(column or 0)
        fmt, unused = FORMAT_OF_PARITY[place[1] % 2], FP32.width - FORMAT_OF_PARITY[place[1] % 2].width
        seen = f"bank {place[0]}, index {place[1]}, column {column}, {fmt.name}"
        when, _, write = next(step for step in reversed(self._steps[place]) if step[0] < cycle)
        if write is None:
            return Shown(operands={"place": seen, "written by": f"the host, cycle {when} of the program"})
        rounding = f", random {write.random[column]:#06x}" if write.takes_random else ""
        operands = {
            "place": seen,
            "written by": f"a lane, cycle {when} of the program, flag {write.flag.name or 0}, {write.mode}{rounding}",
            "value": code_text(FP32, write.values[column]),
            "present": code_text(fmt, self.before(place, when)[column] >> unused),
        }
        return Shown(operands=operands)
