"""How Tensix computes an output of a matmul: one Dst datum of an MVMUL, and the chain of MVMULs that write it."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.explain.explanation import (
    Explanation,
    both_zero,
    chain_lines,
    collapsed,
    error_lines,
    float_text,
    normalisation_text,
    output_explanation,
)
from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat, Rounding
from bitpath.golden.scalar.rounding import ulp
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, FACE, TILE, Chip, Fidelity, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.exact import (
    Accumulation,
    Dot16Trace,
    IntegerDot16Trace,
    Source,
    trace_dot16,
    trace_dot16_integer,
)
from bitpath.golden.tensix.exact.dot import PRODUCT_FRACTION_BITS, SUM_FRACTION_BITS, dst_fields, phase_weight, read_dst
from bitpath.golden.tensix.matmul.matmul import MvmulInstruction, Program, matmul_program

FIELDS_A = ("10..6", "5..1")
"""Bits of SrcA's significand in even and in odd phases."""
FIELDS_B = ("10..4", "3..0")
"""Bits of SrcB's significand in phases 0 and 1, and in 2 and 3, where three zeros follow."""
TIES = {Rounding.RNE: "EVEN", Rounding.RNA: "AWAY", Rounding.RNU: "UP"}
INTEGER_FIELDS_A = ("7..5", "4..0")
INTEGER_FIELDS_B = ("9..4", "3..0")


def explain_dot16(trace: Dot16Trace | IntegerDot16Trace) -> str:
    """Return lines that show one instruction's work on one Dst datum.

    Words are hexadecimal with their fields in binary, a source's as it is read: sign, exponent, fraction, with masked bits
    as 0. Exponents are biased.
    """
    return "\n".join(_integer(trace) if isinstance(trace, IntegerDot16Trace) else _float(trace))


def explain_chain(steps: Sequence[tuple[str, Dot16Trace | IntegerDot16Trace]]) -> str:
    """Return one line for each instruction, headed by its name, and a summary.

    Raises
    ------
    ValueError : `steps` is empty.
    """
    final = steps[-1][1] if steps else None
    if isinstance(final, IntegerDot16Trace):
        lines = chain_lines(
            cast(Sequence[tuple[str, IntegerDot16Trace]], steps),
            f"{'sum of products':<17}Dst",
            lambda each: f"{each.total:<17}{_integer_dst(each.result)}",
            noun="instruction",
        )
        return "\n".join([*lines, f"result       {_integer_dst(final.result)}"])
    head = f"{'group maxima':<14}{'sum of groups':<18}{'Dst':<32}error in ulp"
    floats = cast(Sequence[tuple[str, Dot16Trace]], steps)
    lines = chain_lines(floats, head, _chain_row, noun="instruction")
    exact = _dst_value(floats[0][1], floats[0][1].dst) + sum((_products(each) for _, each in floats), Fraction(0))
    error = (_dst_value(final, final.result) - exact) / ulp(_dst_format(final), exact)
    return "\n".join(
        [
            _numerics(final.numerics, final.dst32),
            *lines,
            f"result       {_dst(final, final.result)}",
            *error_lines(exact, f"{float(exact):.17g}, of the products of fields", error),
        ]
    )


def _chain_row(each: Dot16Trace) -> str:
    maxima = " ".join(map(str, each.group_exponents))
    total = sum(_sum_value(each, significand, exponent) for significand, exponent in each.sums)
    error = f"{float(_error(each)):+.4g}" + (", quirk" if each.accumulation.quirk else "")
    return f"{maxima:<14}{float_text(total):<18}{_dst(each, each.result):<32}{error}"


def _float(trace: Dot16Trace) -> list[str]:
    phase = trace.phase
    zeros = ", 000" if phase & 2 else ""
    fields = (
        f"SrcA bits {FIELDS_A[phase & 1]} x SrcB bits {FIELDS_B[phase >> 1]}{zeros}, weight 2**{-phase_weight(phase)}"
    )
    width = max(len(_source(*side, trace.style)) for k in range(len(trace.a)) for side in _pairs(trace, k)) + 2
    lines = [
        f"phase {phase}      style {trace.style.value}, Dst {_dst_format(trace).name}; {fields}",
        _numerics(trace.numerics, trace.dst32),
        f"{'k':>5}  {'SrcA':<{width}}{'SrcB':<{width}}{'fields':<15}{'product':>8}{'exponent':>10}{'aligned':>9}",
        *collapsed(
            both_zero(trace.src_a, trace.src_b),
            lambda k: _term(trace, k, width),
            lambda k: f"zero words, exponent {trace.products[k].exponent}",
        ),
        *_groups(trace),
        *_addition(trace),
    ]
    exact = _dst_value(trace, trace.dst) + _products(trace)
    return [
        *lines,
        f"result       {_dst(trace, trace.result)}",
        *error_lines(exact, f"{float(exact):.17g}, of the products of fields and Dst", _error(trace)),
    ]


def _term(trace: Dot16Trace, k: int, width: int) -> str:
    product = trace.products[k]
    fields = f"{product.field_a:05b} {product.field_b:07b}"
    value = -product.magnitude if product.sign else product.magnitude
    sides = (f"{_source(word, each, trace.style):<{width}}" for word, each in _pairs(trace, k))
    return f"{k:>5}  {''.join(sides)}{fields:<15}{value:>8}{product.exponent:>10}{trace.aligned[k]:>9}"


def _pairs(trace: Dot16Trace, k: int) -> tuple[tuple[int, Source], tuple[int, Source]]:
    return (trace.src_a[k], trace.a[k]), (trace.src_b[k], trace.b[k])


def _groups(trace: Dot16Trace) -> list[str]:
    size, lines = trace.numerics.group, []
    for index, (highest, (significand, exponent)) in enumerate(zip(trace.group_exponents, trace.sums, strict=True)):
        name = _group_name(trace, index)
        if highest <= 0:
            lines.append(f"{name:<13}maximum exponent {highest}: the group is 0")
            continue
        total = sum(trace.aligned[index * size : (index + 1) * size])
        unit = PRODUCT_FRACTION_BITS + trace.numerics.product_guard_bits
        value = float_text(_sum_value(trace, significand, exponent))
        lines.append(f"{name:<13}maximum exponent {highest}, sum {total} in units of 2**-{unit} there = {value}")
    return lines


def _group_name(trace: Dot16Trace, index: int) -> str:
    size = trace.numerics.group
    return f"group {index * size}-{index * size + size - 1}"


def _addition(trace: Dot16Trace) -> list[str]:
    each = trace.accumulation
    if each.exponent <= 0:
        return [f"Dst          {_dst(trace, trace.dst)}", f"addition     exponent {each.exponent}: +0"]
    dst_exponent, dst_significand = read_dst(trace.dst, trace.style, trace.dst32)
    rows = [(_group_name(trace, i), significand, exponent) for i, (significand, exponent) in enumerate(trace.sums)]
    rows.append(("Dst", dst_significand, dst_exponent))
    narrow = each.fraction_bits != SUM_FRACTION_BITS
    lines = [
        f"Dst          {_dst(trace, trace.dst)}",
        f"addition     at exponent {each.exponent}, in units of 2**-{each.fraction_bits}"
        + (f", rounded from 2**-{SUM_FRACTION_BITS}" if narrow else ""),
    ]
    for (name, significand, exponent), addend in zip(rows, each.addends, strict=True):
        shift = each.exponent - exponent if significand else 0
        lines.append(f"  {name:<11}{addend:>11}" + (f"  from {significand} moved by {shift}" if shift else ""))
    lines.append(f"  {'sum':<11}{each.total:>11}")
    return [*lines, *_rounding(trace, each)]


def _rounding(trace: Dot16Trace, each: Accumulation) -> list[str]:
    if each.total == 0:
        return []
    if each.quirk:
        return ["quirk        the sum is -1 unit: Wormhole writes -1.0 at the exponent + 4 (tt-metal #38306)"]
    _, fraction_bits = dst_fields(trace.style, trace.dst32)
    offset = each.exponent - each.fraction_bits
    text = normalisation_text(each.total, "exponent", offset, fraction_bits, TIES[trace.numerics.final_tie])
    return [text + "; too small, +0" if trace.result == 0 else text]


def _integer(trace: IntegerDot16Trace) -> list[str]:
    phase = trace.phase
    fields = f"SrcA bits {INTEGER_FIELDS_A[phase & 1]} x SrcB bits {INTEGER_FIELDS_B[phase >> 1]}, in place"
    return [
        f"phase {phase}      style INT8, Dst INT32; {fields}",
        f"{'k':>5}  {'SrcA':<34}{'SrcB':<34}{'fields':<14}product",
        *collapsed(
            both_zero(trace.src_a, trace.src_b),
            lambda k: _integer_term(trace, k),
            lambda _: "zero words",
        ),
        f"sum          {trace.total}",
        f"Dst          {_integer_dst(trace.dst)}",
        f"result       {_integer_dst(trace.result)}",
    ]


def _integer_term(trace: IntegerDot16Trace, k: int) -> str:
    product = trace.products[k]
    sides = "".join(f"{_integer_source(word):<34}" for word in (trace.src_a[k], trace.src_b[k]))
    fields = f"{product.field_a} {product.field_b}"
    return f"{k:>5}  {sides}{fields:<14}{product.value}"


def _integer_source(word: int) -> str:
    sign, exponent, magnitude = word >> 18, word >> 10 & 0xFF, word & 0x3FF
    return f"{word:#07x} {sign}.{exponent:05b}.{magnitude:010b} = {-magnitude if sign else magnitude}"


def _integer_dst(word: int) -> str:
    magnitude = word & 0x7FFFFFFF
    return f"{word:#010x} = {-magnitude if word >> 31 else magnitude}"


def _numerics(numerics: TensixNumerics, dst32: bool) -> str:
    ties = {
        "products": numerics.product_tie,
        "sums": numerics.sum_tie,
        "Dst": numerics.dst_tie,
        "result": numerics.final_tie,
    }
    parts = [f"groups of {numerics.group}", f"ties {', '.join(f'{name} {TIES[tie]}' for name, tie in ties.items())}"]
    if numerics.product_guard_bits:
        parts.append(f"{numerics.product_guard_bits} guard bits")
    if dst32:
        parts.append(f"quirk {'on' if numerics.minus_one_quirk else 'off'}")
    return f"numerics     {', '.join(parts)}"


def _source(word: int, each: Source, style: Style) -> str:
    """Show a source word's fields as they are read, and its number: 0x1fc00 0.01111111.0000000000 = 1."""
    exponent_bits = 5 if style is Style.FP16 else 8
    fields = f"{word >> 18}.{each.exponent:0{exponent_bits}b}.{each.significand & 0x3FF:010b}"
    return f"{word:#07x} {fields} = {float_text(_source_value(each, style))}"


def _source_value(each: Source, style: Style) -> Fraction:
    if each.is_zero:
        return Fraction(0)
    signed = -each.significand if each.sign else each.significand
    return signed * Fraction(2) ** (each.exponent - (15 if style is Style.FP16 else 127) - PRODUCT_FRACTION_BITS)


def _dst_format(trace: Dot16Trace) -> FloatFormat:
    return FP32 if trace.dst32 else FP16 if trace.style is Style.FP16 else BF16


def _sum_value(trace: Dot16Trace, significand: int, exponent: int) -> Fraction:
    """Return significand * 2**(exponent - bias - 23) as an exact number; `exponent` is biased as in Dst."""
    return significand * Fraction(2) ** (exponent - _dst_format(trace).bias - SUM_FRACTION_BITS)


def _dst_value(trace: Dot16Trace, word: int) -> Fraction:
    exponent, significand = read_dst(word, trace.style, trace.dst32)
    return _sum_value(trace, significand, exponent)


def _products(trace: Dot16Trace) -> Fraction:
    """Return the exact sum of an instruction's products of fields."""
    total = Fraction(0)
    for each in trace.products:
        signed = -each.magnitude if each.sign else each.magnitude
        total += signed * Fraction(2) ** (each.exponent - _dst_format(trace).bias - PRODUCT_FRACTION_BITS)
    return total


def _error(trace: Dot16Trace) -> Fraction:
    exact = _dst_value(trace, trace.dst) + _products(trace)
    return (_dst_value(trace, trace.result) - exact) / ulp(_dst_format(trace), exact)


def _dst(trace: Dot16Trace, word: int) -> str:
    fmt = _dst_format(trace)
    magnitude = word & ~fmt.sign_mask
    code = 0x7FFF if fmt is FP16 else fmt.infinity_code
    shown = f"0x{word:0{fmt.width // 4}x} = {float_text(_dst_value(trace, word))}"
    return f"{shown} (the overflow code)" if magnitude == code else shown


# Explanation of one output of a matmul on Tensix: the MVMULs that write its datum of Dst.


Trace = Dot16Trace | IntegerDot16Trace


@dataclass(frozen=True, kw_only=True)
class Unit:
    """Settings of the Matrix unit: numerics, style, formats of its sources, and Dst of 32 or 16 bits."""

    numerics: TensixNumerics
    style: Style
    dst32: bool
    srca_format: Format
    srcb_format: Format

    def trace(self, dst: int, b: Sequence[int], a: Sequence[int], phase: int) -> Trace:
        """Run one phase on one datum of Dst; `a` and `b` are 16 source words each."""
        if self.style is Style.INT8:
            return trace_dot16_integer(self.numerics, dst, b, a, phase)
        formats = {"srca_format": self.srca_format, "srcb_format": self.srcb_format}
        return trace_dot16(self.numerics, dst, b, a, style=self.style, dst32=self.dst32, phase=phase, **formats)


@checked
def explain_output(
    a: np.ndarray,
    b: np.ndarray,
    output: tuple[int, int],
    step: int | None = None,
    *,
    format: str = "bf16",
    fidelity: str | Fidelity = "HiFi4",
    dst32: bool = True,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> Explanation:
    """Explain the output [m, n] of ``a @ b``: a line for each MVMUL, or the one of index `step` in full.

    Parameters
    ----------
    a, b, format, fidelity, dst32, numerics, chip : as `matmul_program` takes them.
    output : row and column.

    Raises
    ------
    TypeError, ValueError : as `matmul_program`; a place outside the output; a step that does not exist.
    """
    m = integer("output[0]", output[0], range(a.shape[0]))
    n = integer("output[1]", output[1], range(b.shape[1]))
    # Tiles are converted one by one, so that the tile of the output is enough.
    left, right = a[m // TILE * TILE :][:TILE], b[:, n // TILE * TILE :][:, :TILE]
    program = matmul_program(left, right, format=format, fidelity=fidelity, dst32=dst32, numerics=numerics, chip=chip)
    steps = _steps(program, m % TILE, n % TILE)
    return output_explanation(
        steps,
        step,
        title=f"{len(steps)} MVMULs of output [{m}, {n}], {format} {Fidelity(fidelity).value}",
        noun="MVMUL",
        chain=explain_chain,
        one=explain_dot16,
        row=a[m],
        column=b[:, n],
    )


def _steps(program: Program, m: int, n: int) -> list[tuple[str, Trace]]:
    """Return the traces of the instructions that write datum [m, n] of a tile, each named by its range of K."""
    formats = dict.fromkeys(("srca_format", "srcb_format"), program.fmt.register)
    each = Unit(numerics=program.numerics, style=program.fmt.style, dst32=program.dst32, **formats)
    row = _register_row(m, n)
    word = 0
    steps: list[tuple[str, Trace]] = []
    src_b, src_a = program.src_b[0], program.src_a[:, 0]
    for tile in range(program.tiles[1]):
        for instruction in program.instructions:
            distance = row - instruction.dst_row
            if not 0 <= distance < BLOCK_ROWS:
                continue
            b = src_b[tile, instruction.src_b_row + distance].tolist()
            a = src_a[tile, instruction.src_a_row : instruction.src_a_row + FACE, n % FACE].tolist()
            trace = each.trace(word, b, a, instruction.phase)
            word = trace.result
            steps.append((_name(len(steps), tile, instruction), trace))
    return steps


def _register_row(m: int, n: int) -> int:
    """Return the register row of datum [m, n]; a tile's faces lie one below the other."""
    face = m // FACE * 2 + n // FACE
    return face * FACE + m % FACE


def _name(index: int, tile: int, instruction: MvmulInstruction) -> str:
    # SrcA's upper two faces hold the first half of a tile's K.
    first = tile * TILE + instruction.src_a_row // (2 * FACE) * FACE
    return f"{index:>4}  k {first:>4}-{first + FACE - 1:<4}  phase {instruction.phase}"
