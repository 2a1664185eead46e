"""Issue cycles, latency and throughput of multiply-accumulates.

Ref: llvm-aie, AIE2PSGenSchedule.td, as `bitpath.golden.aie_ml_v2.declarations.modes.TIMINGS` has it; AM027, Table 7.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, BLOCK_FORMATS, MX4
from bitpath.golden.aie_ml_v2.declarations.modes import (
    ACCUMULATOR_PATHS,
    BFP16EBS8_MODE,
    MODES,
    MULTIPLIERS,
    TIMINGS,
    Mode,
    Timing,
)
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.operands.arguments import numerics_or_default
from bitpath.golden.arrays.arguments import check_choice, checked
from bitpath.golden.formats.sources import Rate, documented


@checked
@dataclass(frozen=True, kw_only=True)
class MacInstruction:
    """A multiply-accumulate, as far as cycles go.

    Attributes
    ----------
    mode : name of a mode of Table 7.
    destination : the accumulator register written.
    accumulators : the accumulator registers read.
    """

    mode: str
    destination: int
    accumulators: tuple[int, ...] = ()


@checked
def mx_mode(format: str, numerics: AieNumerics | None = None) -> Mode:
    """Return the mode that multiplies a block format. MX4 takes the mode that `AieNumerics.mx4_path` names.

    Raises
    ------
    ValueError : another format.
    """
    check_choice("format", format, BLOCK_FORMATS)
    if BLOCK_FORMATS[format] is BFP16EBS8:
        return BFP16EBS8_MODE
    return MODES[numerics_or_default(numerics).mx4_path.value if BLOCK_FORMATS[format] is MX4 else format]


@checked
def timing(mode: str) -> Timing:
    """Return the cycles of a mode's instructions.

    Raises
    ------
    ValueError : no mode of Table 7.
    """
    check_choice("mode", mode, MODES)
    return TIMINGS[MODES[mode].datapath]


@checked
def issue_cycles(instructions: Sequence[MacInstruction], *, numerics: AieNumerics | None = None) -> list[int]:
    """Return the cycle in which each instruction issues, the first in cycle 0, each as early as it may.

    An instruction waits for the front end, which MX9 occupies for two cycles, for its accumulators, and for the single
    write port. An accumulator is read in the cycle after its write, or with `accumulator_bypass` in the same cycle where
    `ACCUMULATOR_PATHS` joins writer and reader.

    Raises
    ------
    ValueError : a mode that Table 7 lacks.
    """
    bypass = numerics_or_default(numerics).accumulator_bypass
    issued: list[int] = []
    free = 0
    written: dict[int, tuple[int, str]] = {}
    writes: set[int] = set()
    for each in instructions:
        steps, path = timing(each.mode), ACCUMULATOR_PATHS[MODES[each.mode].datapath]
        cycle = free
        for register in each.accumulators:
            if register in written:
                write, writer = written[register]
                # `accumulator_read` counts the issue as cycle 1.
                readable = write if bypass and writer == path else write + 1
                cycle = max(cycle, readable - (steps.accumulator_read - 1))
        while cycle + steps.write - 1 in writes:
            cycle += 1
        write = cycle + steps.write - 1
        writes.add(write)
        written[each.destination] = write, path
        free = cycle + steps.issue_interval
        issued.append(cycle)
    return issued


@checked
def total_cycles(instructions: Sequence[MacInstruction], *, numerics: AieNumerics | None = None) -> int:
    """Return the cycles from the first issue to the last write, both counted; 0 without instructions.

    Raises
    ------
    ValueError : as `issue_cycles`.
    """
    starts = issue_cycles(instructions, numerics=numerics)
    ends = (cycle + timing(each.mode).write for cycle, each in zip(starts, instructions, strict=True))
    return max(ends, default=0)


@checked
def macs_per_cycle(mode: str) -> float:
    """Return the multiply-accumulates of a mode that no accumulator holds back.

    Raises
    ------
    ValueError : no mode of Table 7.
    """
    steps = timing(mode)
    return MODES[mode].lanes * MODES[mode].depth / steps.issue_interval


# Rates of AIE-ML v2's multiplier, computed from the modes' lanes, depths and issue intervals.


_TABLE = documented("AM027, Table 7")
_FIGURES = {
    "int8": "512",
    "int16": "128",
    "int16_64": "128",
    "int32x16": "64",
    "float16": "256",
    "float8": "512",
    "mx6": "1024",
    "mx9": "512",
}
"""Table 7's multiply-accumulates a cycle."""


def rates_table() -> tuple[Rate, ...]:
    """Return the declared numbers, then the multiply-accumulates a cycle of every mode beside the vendor's."""
    rows = [
        Rate(
            quantity="multipliers of 9 by 5 bits",
            value=MULTIPLIERS,
            unit="multipliers",
            source=documented("AM027, as UG1639 counts them"),
        )
    ]
    for name, mode in MODES.items():
        interval = TIMINGS[mode.datapath].issue_interval
        rows.append(
            Rate(
                quantity=name,
                value=macs_per_cycle(name),
                unit="MACs/cycle",
                formula=f"{mode.lanes} lanes * {mode.depth} products"
                + (f" / {interval} cycles" if interval > 1 else ""),
                source=_TABLE,
                published=_FIGURES[name],
            )
        )
    return tuple(rows)
