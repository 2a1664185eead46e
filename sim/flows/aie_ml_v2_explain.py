"""Text that ``bitpath explain aie_ml_v2`` prints of one instruction on one lane."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bitpath.golden.aie_ml_v2.declarations.codes import BLOCK_FORMATS, MxFormat, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8, FLOAT16, INTEGER_MODES, Mode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.exact import (
    Block,
    IntegerLaneTrace,
    LaneTrace,
    to_mx,
    trace_float_lane,
    trace_integer_lane,
    trace_mx_lane,
)
from bitpath.golden.aie_ml_v2.matmul.explain import explain_lane
from bitpath.golden.aie_ml_v2.matmul.matmul import FLOAT_FORMATS, FORMATS
from bitpath.golden.aie_ml_v2.operands.arguments import numerics_or_default
from bitpath.golden.arrays.arguments import check_choice, member, one_of
from bitpath.golden.explain.explanation import Explanation
from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.sim.flows.explain_arguments import (
    float_code,
    read_word,
    split_list,
)

NEGATIONS = ("products", "acc1", "acc2")
"""Operands that an instruction can negate."""


@dataclass(frozen=True, kw_only=True)
class Lane:
    """One instruction on one lane, as the command line gives it.

    Attributes
    ----------
    x, y : operands, separated by commas: numbers or codes (0x3f80) of floats, numbers of integers, numbers that become a
        block, or a block as exponent, shifts and codes (7f/01/64,-3), in bfp16ebs8 as exponent and codes (7f/64,-3).
    x_format, y_format : names of formats.
    acc1, acc2 : accumulators, numbers or FP32 codes; None for no accumulator.
    negate : names among `NEGATIONS`.
    rounding : crRnd code of the conversion of numbers to a block.
    """

    x: str
    y: str
    x_format: str
    y_format: str
    acc1: str | None = None
    acc2: str | None = None
    negate: Sequence[str] = ()
    rounding: int = RoundingCode.CONV_EVEN


def lane(numerics: AieNumerics | None, given: Lane) -> Explanation:
    """Explain one instruction on one lane; `numerics` None is the default of the format.

    Raises TypeError or ValueError for formats of different modes, too many operands, or text that is not an operand.
    """
    check_choice("--format", given.x_format, FORMATS)
    check_choice("--y-format", given.y_format, FORMATS)
    mode = _mode(given.x_format)
    if mode is not _mode(given.y_format):
        known = one_of(name for name in FORMATS if _mode(name) is mode)
        raise ValueError(f"--y-format must be {known} with --format {given.x_format}, not {given.y_format!r}")
    negations = {f"negate_{name}": name in given.negate for name in NEGATIONS}
    trace = _trace(numerics_or_default(numerics, given.x_format), mode, given, negations)
    return Explanation(explain_lane(trace), (("lane", trace),), trace.result)


def _mode(format_name: str) -> Mode | MxFormat:
    """Return the mode that multiplies a format; operands of one lane share it."""
    if format_name in BLOCK_FORMATS:
        return BLOCK_FORMATS[format_name]
    if format_name in INTEGER_MODES:
        return INTEGER_MODES[format_name]
    return FLOAT8 if FLOAT_FORMATS[format_name] in FLOAT8.formats else FLOAT16


def _trace(
    numerics: AieNumerics, mode: Mode | MxFormat, given: Lane, negations: dict[str, Any]
) -> LaneTrace | IntegerLaneTrace:
    accumulators = ("--acc1", given.acc1), ("--acc2", given.acc2)
    if isinstance(mode, Mode) and mode in INTEGER_MODES.values():
        x = _integers("--x", given.x, mode.a_bits, mode.depth)
        y = _integers("--y", given.y, mode.b_bits, mode.depth)
        sums = (0 if text is None else _integers(option, text, mode.lane_bits, 1)[0] for option, text in accumulators)
        return trace_integer_lane(mode, x, y, *sums, **negations)
    acc1, acc2 = (None if text is None else _float(option, text, FP32) for option, text in accumulators)
    if isinstance(mode, MxFormat):
        operands = ("--x", given.x), ("--y", given.y)
        a, b = (_block(numerics, option, text, mode, given.rounding) for option, text in operands)
        return trace_mx_lane(numerics, a, b, acc1, acc2, **negations)
    left = _floats("--x", given.x, FLOAT_FORMATS[given.x_format], mode.depth)
    right = _floats("--y", given.y, FLOAT_FORMATS[given.y_format], mode.depth)
    return trace_float_lane(numerics, left, right, acc1, acc2, **negations)


def _floats(option: str, text: str, fmt: FloatFormat, count: int) -> list[tuple[int, FloatFormat]]:
    codes = [_float(option, part, fmt) for part in split_list(option, text, count, "operands")]
    return [(code, fmt) for code in codes + [0] * (count - len(codes))]


def _float(option: str, text: str, fmt: FloatFormat) -> int:
    return read_word(option, text, fmt.width, fmt.name, lambda value: float_code(value, fmt))


def _integers(option: str, text: str, bits: int, count: int) -> list[int]:
    numbers = []
    for part in split_list(option, text, count, "operands"):
        if not re.fullmatch(r"[-+]?\d+", part) or not -(1 << bits - 1) <= int(part) < 1 << bits - 1:
            raise ValueError(f"{option} must be {-(1 << bits - 1)} to {(1 << bits - 1) - 1}, not {part!r}")
        numbers.append(int(part))
    return numbers + [0] * (count - len(numbers))


def _block(numerics: AieNumerics, option: str, text: str, fmt: MxFormat, rounding: int) -> Block:
    """Read a block, or numbers that are converted to one."""
    if "/" not in text:
        codes = [code for code, _ in _floats(option, text, FP32, fmt.elements)]
        return to_mx(numerics, codes, fmt, member("--rounding", rounding, RoundingCode))
    byte, shifts = r"([0-9a-fA-F]{1,2})/", r"([0-9a-fA-F]{1,2})/" if fmt.has_shifts else "()"
    match = re.fullmatch(rf"{byte}{shifts}([-+,\d]+)", text)
    if not match:
        form = "two hexadecimal bytes and codes, as 7f/01" if fmt.has_shifts else "a hexadecimal byte and codes, as 7f"
        raise ValueError(f"{option} must be {form}/64,-3, not {text!r}")
    codes = _integers(option, match[3], fmt.width, fmt.elements)
    return Block(fmt, int(match[1], 16), int(match[2] or "0", 16), tuple(codes))
