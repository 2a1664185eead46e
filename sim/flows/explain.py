"""The explanations of ``bitpath explain``: an output of a matmul, or one step of a machine from the operands of its
command line."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.golden import exact
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
from bitpath.golden.aie_ml_v2.matmul.explain import explain_lane as explain_mac_lane
from bitpath.golden.aie_ml_v2.matmul.matmul import FLOAT_FORMATS, FORMATS
from bitpath.golden.aie_ml_v2.operands.arguments import numerics_or_default
from bitpath.golden.arrays.arguments import check_choice, member, one_of, suggestion
from bitpath.golden.arrays.files import read_text
from bitpath.golden.explain.explanation import Explanation
from bitpath.golden.explain_output import explain
from bitpath.golden.formats.catalogue import FP32, FixedFormat, FloatFormat, Specials
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.machines import find_machine
from bitpath.golden.scalar.codec import Overflow, decode
from bitpath.golden.scalar.dot import general
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.tensix import llk, phases
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_FLOATS,
    COLUMNS,
    EXPONENT5_FORMATS,
    Chip,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS, TensixNumerics
from bitpath.golden.tensix.isa.assembly import assemble
from bitpath.golden.tensix.matmul.explain import Unit, explain_dot16
from bitpath.golden.tensix.operands.arguments import check_dst32, check_phase, source_format
from bitpath.golden.tensix.sfpu.explain import explain_lane
from bitpath.golden.trainium3.matmul.explain import explain_dot_step

# Arguments of the explain commands: outputs, words, numbers and lists.


def output_explanation(
    machine: str, a: np.ndarray, b: np.ndarray, format_name: str, place: str, step: int | None, **arguments: Any
) -> Explanation:
    """Explain the output at `place` ("M,N") of ``a @ b``, or one step of it; other arguments are those of the machine's matmul.

    Raises
    ------
    TypeError, ValueError : another place; as `explain`; numbers that are not whole for a format of integers.
    """
    match = re.fullmatch(r"(\d+),(\d+)", place)
    if not match or not (int(match[1]) < a.shape[0] and int(match[2]) < b.shape[1]):
        raise ValueError(f"--output must be M,N up to {a.shape[0] - 1},{b.shape[1] - 1}, not {place!r}")
    if format_name in find_machine(machine, format_name).integers:
        a, b = whole_numbers(a, format_name), whole_numbers(b, format_name)
    output = int(match[1]), int(match[2])
    return explain(a, b, machine=machine, format=format_name, output=output, step=step, **arguments)


def read_word(option: str, text: str, width: int, name: str, encode: Callable[[Fraction], int | None]) -> int:
    """Read a hexadecimal word of `width` bits, or a number that `encode` can encode; raise ValueError otherwise."""
    found = None
    if re.fullmatch(r"0x[0-9a-fA-F]+", text):
        found = int(text, 16)
        found = None if found >> width else found
    elif re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", text):
        found = encode(Fraction(text))
    if found is None:
        raise ValueError(
            f"{option} must be a number that {name} holds, or a word of {width} bits that begins with 0x, not {text!r}"
        )
    return found


def float_code(value: Fraction, fmt: FloatFormat) -> int | None:
    """Return the code of a number, None if the format does not hold it exactly."""
    code = round_to_format(value, fmt, overflow=Overflow.SATURATE)
    return code if decode(fmt, code).value == value else None


def whole_numbers(matrix: np.ndarray, format_name: str) -> np.ndarray:
    """Return a matrix of whole numbers as integers; raise ValueError, which names the format, for other numbers."""
    whole = np.rint(matrix).astype(np.int64)
    if np.any(whole != matrix):
        raise ValueError(f"--a and --b must be matrices of whole numbers with --format {format_name}")
    return whole


def split_list(option: str, text: str, count: int, noun: str) -> list[str]:
    """Return the parts of a list separated by commas; raise ValueError for more than `count`."""
    parts = text.split(",")
    if len(parts) > count:
        raise ValueError(f"{option} must have up to {count} {noun}, not {len(parts)}")
    return parts


# Text that ``bitpath explain trainium3`` prints of one step of a PE.


def pe_step(numerics: DotNumerics, elements: Sequence[tuple[str, str, str]], scales: str, partial: str) -> Explanation:
    """Explain one step of a PE, or of any dot product.

    Raises ValueError for an unknown format, another number of codes, and text that is neither a code nor a number.

    Parameters
    ----------
    elements : option, format name and codes of the stationary and of the moving side.
    scales, partial : codes or numbers: stationary and moving scale, and the partial sum in its format.
    """
    formats = {fmt.name: fmt for fmt in numerics.element_formats}
    operands: list[Any] = []
    for option, name, text in elements:
        if name not in formats:
            raise ValueError(f"{option}-format must be {one_of(formats)}, not {name!r}")
        operands += [_pe_codes(option, text, numerics.terms, formats[name]), formats[name]]
    operands += _pe_codes("--scales", scales, 2, numerics.scale_format)
    operands += _pe_codes("--partial", partial, 1, general(numerics).partial_format)
    trace = exact.trace_dot_step(numerics, *operands)
    return Explanation(explain_dot_step(trace), (("step", trace),), trace.result)


def _pe_codes(option: str, text: str, count: int, fmt: FloatFormat | FixedFormat) -> list[int]:
    """Read codes and numbers; a word of all of a code's hexadecimal digits is a code without 0x before it too."""
    words = text.split(",")
    if len(words) != count:
        raise ValueError(f"{option} must have {count} codes or numbers, not {len(words)}")
    digits = re.compile(f"[0-9a-fA-F]{{{-(-fmt.width // 4)}}}")
    return [
        read_word(
            option,
            f"0x{word}" if digits.fullmatch(word) else word,
            fmt.width,
            fmt.name,
            lambda value: float_code(value, fmt) if isinstance(fmt, FloatFormat) else _fixed_code(value, fmt),
        )
        for word in words
    ]


def _fixed_code(value: Fraction, fmt: FixedFormat) -> int:
    """Return the code of a number, which is rounded to even and saturates."""
    largest = (1 << fmt.width - 1) - 1
    return max(-largest - 1, min(largest, round(value * 2**fmt.fraction_bits))) & (1 << fmt.width) - 1


# Text that ``bitpath explain tensix`` prints of one datum of Dst.


SOURCE_FRACTION_BITS = {
    Format.FP32: 7,
    Format.TF32: 10,
    Format.BF16: 7,
    Format.FP16: 10,
    Format.FP8: 2,
} | {fmt: block.magnitude_bits - 1 for fmt, block in BLOCK_FLOATS.items()}
"""Fraction bits that a source of each float format has; under style BF16 a format of FP32 is read as BF16."""
SRC_BITS = 19
INTEGER_EXPONENT = 16
"""Exponent field of an integer source whose magnitude is not zero."""


def matrix_unit(
    numerics: TensixNumerics, style: str, dst32: bool, srca_format: str | None, srcb_format: str | None
) -> Unit:
    """Return a unit with these settings; raise ValueError if they contradict each other."""
    chosen = member("--style", style, Style)
    check_dst32(chosen, dst32)
    srca, srcb = (
        source_format(option, fmt, chosen)
        for option, fmt in (("--srca-format", srca_format), ("--srcb-format", srcb_format))
    )
    return Unit(numerics=numerics, style=chosen, dst32=dst32, srca_format=srca, srcb_format=srcb)


def dst_output(each: Unit, src_a: str, src_b: str, dst: str, fidelity: str, phase: int | None) -> Explanation:
    """Explain one datum of Dst in one phase, or in the phases of a fidelity in turn.

    Raises ValueError for text that is not a word or number, and for a number outside the format.

    Parameters
    ----------
    src_a, src_b : up to 16 hexadecimal words (0x1fc00) or numbers (1.3125), separated by commas.
    dst : one word or number.
    """
    a = _sources("--src-a", src_a, each.srca_format)
    b = _sources("--src-b", src_b, each.srcb_format)
    word = _dst(dst, each)
    if phase is not None:
        check_phase(phase)
    traces = []
    for number in phases(fidelity) if phase is None else (phase,):
        trace = each.trace(word, b, a, number)
        traces.append((f"phase {number}", trace))
        word = trace.result
    return Explanation("\n\n".join(explain_dot16(trace) for _, trace in traces), tuple(traces), word)


def vector_lane(
    preset: str,
    numerics: TensixNumerics,
    *,
    sfpu: str,
    x: str | None,
    dst32: bool,
    approximate: bool | None,
    fast: bool | None,
) -> Explanation:
    """Explain a lane of the Vector unit: one iteration of a named function, or the instructions of a file.

    Raises ValueError for no such function or file, a form that a function lacks, and text that is no word or number.

    Parameters
    ----------
    preset : name of the preset, which decides the chip.
    sfpu : a name of `llk.FUNCTIONS`, or a file of assembly with one function.
    x : up to three hexadecimal FP32 codes (0x3fc00000) or numbers (1.5), separated by commas.
    """
    chip = Chip.BLACKHOLE if preset == CHIP_PRESETS[Chip.BLACKHOLE].name else Chip.WORMHOLE
    if x is None:
        raise ValueError("--x must be given with --sfpu")
    parts = split_list("--x", x, OPERANDS, "operands")
    operands = [read_word("--x", each, 32, "FP32", lambda value: float_code(value, FP32)) for each in parts]
    if sfpu in llk.FUNCTIONS:
        function = llk.FUNCTIONS[sfpu]
        if function.once:
            raise ValueError(f"--sfpu must be a function of single datums, not {sfpu}, which works on a whole tile")
        mode = llk.Mode(chip=chip, approximate=bool(approximate), fast=bool(fast), dst32=dst32)
        words = function.setup_words(mode) + function.body_words(mode)
        if len(operands) != function.operands:
            raise ValueError(f"operands of --x must be {function.operands} with --sfpu {sfpu}, not {len(operands)}")
    elif Path(sfpu).is_file():
        if approximate or fast:
            raise ValueError("--approximate and --fast go with a function of tensix.llk, not with a file")
        text = read_text(Path(sfpu), "--sfpu")
        try:
            words = assemble(text, chip=chip)
        except ValueError as error:
            raise ValueError(f"{sfpu}: {error}") from None
    else:
        raise ValueError(
            f"--sfpu must be a function of tensix.llk or a file of assembly, not {sfpu!r}{suggestion(sfpu, llk.FUNCTIONS)}"
        )
    return explain_lane(words, operands, dst32=dst32, numerics=numerics, chip=chip)


OPERANDS = 3
"""Tiles of Dst that a function of the Vector unit reads at most."""


def _sources(option: str, text: str, fmt: Format) -> list[int]:
    """Read a source's words and pad them with zeros to 16."""
    parts = split_list(option, text, COLUMNS, "words")
    words = [read_word(option, part, SRC_BITS, fmt.name, lambda value: _source_word(value, fmt)) for part in parts]
    if fmt in EXPONENT5_FORMATS and any(word >> 15 & 0b111 for word in words):
        raise ValueError(f"{option} must hold exponents of 5 bits with {fmt.name}, not exponents above 31")
    return words + [0] * (COLUMNS - len(words))


def _dst(text: str, each: Unit) -> int:
    if each.style is Style.INT8:
        return read_word("--dst", text, 32, "INT32", lambda value: _sign_magnitude(value, 31))
    name, bits = "FP32", (8, 23)
    if not each.dst32:
        name, bits = ("FP16", (5, 10)) if each.style is Style.FP16 else ("BF16", (8, 7))
    fmt = _matrix_format(*bits)
    return read_word("--dst", text, fmt.width, name, lambda value: _matrix_code(value, fmt))


def _source_word(value: Fraction, fmt: Format) -> int | None:
    """Return the logical source word of a number, None if the format does not hold it."""
    if fmt is Format.INT8:
        word = _sign_magnitude(value, 10)
        return None if word is None else word >> 10 << 18 | (INTEGER_EXPONENT << 10 if value else 0) | word & 0x3FF
    if fmt not in SOURCE_FRACTION_BITS:
        return None
    own = _matrix_format(5 if fmt in EXPONENT5_FORMATS else 8, SOURCE_FRACTION_BITS[fmt])
    code = _matrix_code(value, own)
    if code is None:
        return None
    # Exponent and fraction, then the fraction's missing bits.
    magnitude = (code & ~own.sign_mask) << 10 - own.fraction_bits
    return (1 << 18 if code & own.sign_mask else 0) | magnitude


def _sign_magnitude(value: Fraction, bits: int) -> int | None:
    if value.denominator != 1 or abs(value) >= 1 << bits:
        return None
    return (1 << bits if value < 0 else 0) | abs(int(value))


def _matrix_format(exponent_bits: int, fraction_bits: int) -> FloatFormat:
    """Return a format as the Matrix unit reads it: the largest exponent is an ordinary one."""
    return FloatFormat(
        name=f"e{exponent_bits}m{fraction_bits}",
        exponent_bits=exponent_bits,
        fraction_bits=fraction_bits,
        bias=(1 << exponent_bits - 1) - 1,
        specials=Specials.FINITE,
        nan_code=None,
    )


def _matrix_code(value: Fraction, fmt: FloatFormat) -> int | None:
    """Return the code of a number that the Matrix unit would read as this number, None if there is no such code."""
    read_as_zero = value != 0 and abs(value) < fmt.min_normal
    return None if read_as_zero else float_code(value, fmt)


# Text that ``bitpath explain aie_ml_v2`` prints of one multiply-accumulate on one lane.


NEGATIONS = ("products", "acc1", "acc2")
"""Operands that an instruction can negate."""


@dataclass(frozen=True, kw_only=True)
class MacLane:
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


def mac_lane(numerics: AieNumerics | None, given: MacLane) -> Explanation:
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
    return Explanation(explain_mac_lane(trace), (("lane", trace),), trace.result)


def _mode(format_name: str) -> Mode | MxFormat:
    """Return the mode that multiplies a format; operands of one lane share it."""
    if format_name in BLOCK_FORMATS:
        return BLOCK_FORMATS[format_name]
    if format_name in INTEGER_MODES:
        return INTEGER_MODES[format_name]
    return FLOAT8 if FLOAT_FORMATS[format_name] in FLOAT8.formats else FLOAT16


def _trace(
    numerics: AieNumerics, mode: Mode | MxFormat, given: MacLane, negations: dict[str, Any]
) -> LaneTrace | IntegerLaneTrace:
    accumulators = ("--acc1", given.acc1), ("--acc2", given.acc2)
    if isinstance(mode, Mode) and mode in INTEGER_MODES.values():
        x = _integers("--x", given.x, mode.a_bits, mode.depth)
        y = _integers("--y", given.y, mode.b_bits, mode.depth)
        sums = (0 if text is None else _integers(option, text, mode.lane_bits, 1)[0] for option, text in accumulators)
        return trace_integer_lane(mode, x, y, *sums, **negations)
    acc1, acc2 = (None if text is None else _float_word(option, text, FP32) for option, text in accumulators)
    if isinstance(mode, MxFormat):
        operands = ("--x", given.x), ("--y", given.y)
        a, b = (_block(numerics, option, text, mode, given.rounding) for option, text in operands)
        return trace_mx_lane(numerics, a, b, acc1, acc2, **negations)
    left = _floats("--x", given.x, FLOAT_FORMATS[given.x_format], mode.depth)
    right = _floats("--y", given.y, FLOAT_FORMATS[given.y_format], mode.depth)
    return trace_float_lane(numerics, left, right, acc1, acc2, **negations)


def _floats(option: str, text: str, fmt: FloatFormat, count: int) -> list[tuple[int, FloatFormat]]:
    codes = [_float_word(option, part, fmt) for part in split_list(option, text, count, "operands")]
    return [(code, fmt) for code in codes + [0] * (count - len(codes))]


def _float_word(option: str, text: str, fmt: FloatFormat) -> int:
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
