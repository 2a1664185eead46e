"""AIE-ML v2's operations for probes: chains of block and of BF16 products on one lane, conversions of one block."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from bitpath.golden.aie_ml_v2.convert.mx import to_mx
from bitpath.golden.aie_ml_v2.declarations import numerics as declared
from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, MX9, MxFormat, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.exact import Block, trace_float_lane, trace_mx_lane
from bitpath.golden.aie_ml_v2.exact import to_mx as exact_to_mx
from bitpath.golden.aie_ml_v2.mac.fused_dot import fused_dot
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16
from bitpath.sim.study.probe import aie_ml_v2_dots as dots
from bitpath.sim.study.probe.unit import Operand, Operation, Unit

WORD = Operand("u4", (1,))
"""Result of a chain: an FP32 code."""


def chain(numerics: AieNumerics, fmt: MxFormat, **given: np.ndarray) -> np.ndarray:
    """Return FP32 codes [N, 1] of chains of block products that start from +0."""
    total = np.zeros(len(given["a_codes"]), np.float32)
    for step in range(dots.STEPS):
        a, b = (
            MxBlocks(fmt, *(given[f"{name}_{part}"][:, step : step + 1] for part in ("exponent", "shift", "codes")))
            for name in ("a", "b")
        )
        total = fused_dot(a, b, total, fmt=fmt.name, numerics=numerics)
    return total.view(np.uint32)[:, np.newaxis]


def exact_chain(
    numerics: AieNumerics,
    fmt: MxFormat,
    a_exponent: Sequence[int],
    a_shift: Sequence[int],
    a_codes: Sequence[Sequence[int]],
    b_exponent: Sequence[int],
    b_shift: Sequence[int],
    b_codes: Sequence[Sequence[int]],
) -> list[int]:
    """Return the result of `chain` for one dot."""
    total = 0
    for step in range(dots.STEPS):
        a = Block(fmt, a_exponent[step], a_shift[step], tuple(a_codes[step]))
        b = Block(fmt, b_exponent[step], b_shift[step], tuple(b_codes[step]))
        total = trace_mx_lane(numerics, a, b, total).result
    return [total]


def bf16_chain(numerics: AieNumerics, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return FP32 codes [N, 1] of chains of eight BF16 products a step that start from +0."""
    total = np.zeros(len(a), np.float32)
    for step in range(dots.STEPS):
        x, y = (each[:, step].view(DTYPES[BF16]) for each in (a, b))
        total = fused_dot(x, y, total, fmt="bf16", numerics=numerics)
    return total.view(np.uint32)[:, np.newaxis]


def exact_bf16_chain(numerics: AieNumerics, a: Sequence[Sequence[int]], b: Sequence[Sequence[int]]) -> list[int]:
    """Return the result of `bf16_chain` for one dot."""
    total = 0
    for step in range(dots.STEPS):
        x, y = ([(code, BF16) for code in each[step]] for each in (a, b))
        total = trace_float_lane(numerics, x, y, total).result
    return [total]


def convert(numerics: AieNumerics, fmt: MxFormat, x: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """Return exponent, shift and codes, uint8 [N, 2 + elements], of one block each; `rounding` holds codes of crRnd."""
    out = np.empty((len(x), 2 + x.shape[1]), np.uint8)
    for code in np.unique(rounding):
        chosen = rounding == code
        block = to_mx(x[chosen].view(np.float32), fmt, rounding=int(code), numerics=numerics)
        out[chosen] = np.concatenate([block.exponent, block.shift, block.codes[:, 0].view(np.uint8)], axis=1)
    return out


def exact_convert(numerics: AieNumerics, fmt: MxFormat, x: Sequence[int], rounding: int) -> list[int]:
    """Return the result of `convert` for one dot."""
    block = exact_to_mx(numerics, x, fmt, RoundingCode(rounding))
    return [block.exponent, block.shift, *(code % 256 for code in block.codes)]


def _block_operations(fmt: MxFormat) -> list[Operation]:
    steps, elements = Operand("u1", (dots.STEPS,)), Operand("i1", (dots.STEPS, fmt.elements))
    parts = {"exponent": steps, "shift": steps, "codes": elements}
    products = {f"{name}_{part}": operand for name in "ab" for part, operand in parts.items()}
    given = {"x": Operand("u4", (fmt.elements,)), "rounding": Operand("u1")}
    block, own = Operand("u1", (2 + fmt.elements,)), {"fmt": fmt}
    return [
        Operation(f"chain_{fmt.name}", products, WORD, chain, exact_chain, partial(dots.chain_pool, fmt), own),
        Operation(f"to_{fmt.name}", given, block, convert, exact_convert, partial(dots.convert_pool, fmt), own),
    ]


def _bf16_operation() -> Operation:
    eight = Operand("u2", (dots.STEPS, dots.FLOATS))
    return Operation("chain_bf16", {"a": eight, "b": eight}, WORD, bf16_chain, exact_bf16_chain, dots.bf16_pool)


def _unit(fmt: MxFormat) -> Unit:
    """Return the vector unit with one block format; chips have MX9 or bfp16ebs8, never both."""
    mx_alone = dict.fromkeys(("mx_lossless_shift", "mx9_split_round"), f"{fmt.name} has no shifts")
    mx_alone["float_zero_term"] = "only products of floats read it, which are in the other unit"
    return Unit(
        name=f"vector unit, {fmt.name}",
        # The preset that is named after the format is the default.
        presets=sorted(declared.PRESETS.values(), key=lambda each: fmt.name not in each.name),
        operations=[*([_bf16_operation()] if fmt.has_shifts else []), *_block_operations(fmt)],
        values={"align_fraction_bits": range(20, 27)},
        no_effect={
            "mx4_path": "only MX4 takes it, whose values are equal on both paths",
            "accumulator_bypass": "it moves cycles, not values",
        }
        | ({} if fmt.has_shifts else mx_alone),
    )


VECTOR_UNITS = [_unit(fmt) for fmt in (MX9, BFP16EBS8)]
