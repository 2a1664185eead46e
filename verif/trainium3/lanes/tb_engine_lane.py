"""Bench of the engine lane: every pair of INT8, INT32 beyond 2**24, casts, golden's instructions on rows, every operator on every
dtype, random beats at every pace, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random beats of a test. A pair of INT8
meets each operator with ``BITPATH_EVERY=1``, else one of them.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import cocotb
import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.trainium3.declarations.dtypes import container_bits
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.lanes.engine_lane import EngineLane, EngineLaneConfig, Operator
from bitpath.verif.common.fp32.numbers import near_sums
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.pipeline import LIMIT, Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.dma.dma_cast import PAIRS, near_ties
from bitpath.verif.trainium3.dtype_words import array_of, codes_of, corners, destination, near_boundaries
from bitpath.verif.trainium3.lanes.engine_lane import (
    BINS,
    INTEGERS,
    NAMES,
    ON_BITS,
    ON_NUMBERS,
    ONES,
    Instruction,
    any_instruction,
    beats_of,
    bins_of,
    code_of,
    every_operator,
    random_value,
    requests,
)
from bitpath.verif.trainium3.refusals import Changes, refuse_among, unknown

EVERY = "BITPATH_EVERY" in os.environ
BINARY = [each for each in Operator if each not in ONES]


def draw(kinds: Sequence[None], rng: Random) -> list[Request]:
    return requests([random_value(rng, WIDTH) for _ in kinds])


BENCH = StreamBench(__name__, EngineLaneConfig, EngineLane, (None,), draw, default_cases=500, draws="beats")
WIDTH = BENCH.config.width
random_beats, latency, resets = BENCH.tests("random_beats")
covers(
    "engine_lane.stream",
    "An instruction's fields must move with its elements",
    "Instructions in any order at full speed, with gaps, stalls and both; a beat a cycle; latency is the number of stages",
    random_beats,
    latency,
)
covers(
    "engine_lane.reset",
    "Data registers have no reset; only the valid bits hide their contents",
    "Resets with beats in some and in all pipeline stages, with and without a stall: no result of them appears, and later ones do",
    resets,
)


def tensors(xs, ys, own):
    """Beats of two tensors with golden's results."""
    x, y = (array_of(np.asarray(codes), name)[np.newaxis] for codes, name in ((xs, own.x), (ys, own.y)))
    got = trainium3.tensor_tensor(x, y, own.first.name.lower(), dtype=destination(own.result))
    return _with_results(beats_of(xs, ys, own, WIDTH), codes_of(got)[0])


def _with_results(values, codes):
    """Requests of a row; what fills up its last beat is computed by the exact tier."""
    spare = len(values) * WIDTH - len(codes)
    expected = [*codes.tolist(), *(values[-1].results[WIDTH - spare :] if spare else ())]
    return requests(values, [expected[at : at + WIDTH] for at in range(0, len(expected), WIDTH)])


@covers("engine_lane.int8", "Integers compute in FP32: exact here, and saturated in the result")
@BENCH.sweep()
def every_int8_pair() -> Made:
    """All 65,536 pairs of INT8, each under one of the 21 binary operators or, in a deep test, under all, to INT8 and
    INT16."""
    x, y = (each.ravel() for each in np.indices((256, 256)))
    sent = []
    for number, operator in enumerate(BINARY):
        part = slice(None) if EVERY else slice(number, None, len(BINARY))
        result = "int8" if operator in ON_BITS or number % 2 else "int16"
        sent += tensors(x[part].tolist(), y[part].tolist(), Instruction(operator, "int8", "int8", result))
    return sent


@covers("engine_lane.int32", "VectorE rounds operands beyond 24 bits; GpSimd would not")
@BENCH.sweep()
def int32_beyond_fp32() -> Made:
    """INT32 and UINT32 around 2^24 and at their ends under every FP32 operator."""
    numbers = [sign * (1 << bits) + step for bits in (24, 25, 30, 31) for sign in (1, -1) for step in (-1, 0, 1, 2, 3)]
    codes = [number % (1 << 32) for number in (*numbers, 0, 1, 2, 3)]
    pairs = [(x, y) for x in codes for y in codes]
    rng, sent = pauses.rng("results"), []
    for operator in (each for each in BINARY if each not in ON_BITS):
        x, y = zip(*rng.sample(pairs, 60), strict=True)
        names = (rng.choice(INTEGERS[32]), rng.choice(INTEGERS[32]), rng.choice((*INTEGERS[32], "fp32")))
        sent += tensors(x, y, Instruction(operator, *names))
    return sent


@covers(
    "engine_lane.casts",
    "Operands and results are cast as the DMA engines cast; this bench judges the two operators of the casts",
)
@BENCH.sweep()
def casts() -> Made:
    """Limits of each dtype to each dtype without an operator; FP32 numbers of every exponent half-way between two
    results and beside it."""
    rng, sent = pauses.rng("numbers"), []
    for source, result in PAIRS:
        codes = corners(source)
        if source == "fp32":
            codes += [
                *near_ties(rng, 1 + BENCH.cases // 200).tolist(),
                *(code for _, code in near_boundaries(result, rng)),
            ]
        values = beats_of(codes, [0] * len(codes), Instruction(Operator.BYPASS, source, "fp32", result), WIDTH)
        sent += requests(values)
    return sent


@covers(
    "engine_lane.boundaries",
    "A sticky bit lost at one end of the range shows only where a far term breaks a tie there",
)
@BENCH.sweep()
def sums_at_boundaries() -> Made:
    """FP32 sums and differences at the ends of the range and at ties, and one bit beside them at every distance; casts
    likewise."""
    found = list(near_sums(FP32, pauses.rng("numbers")))
    _, xs, ys = zip(*found, strict=True)
    sent = tensors(xs, ys, Instruction(Operator.ADD, "fp32", "fp32", "fp32"))
    sent += tensors(xs, [y ^ FP32.sign_mask for y in ys], Instruction(Operator.SUBTRACT, "fp32", "fp32", "fp32"))
    held = (each.bin for each, x, y in found if abs(decode(FP32, x).value + decode(FP32, y).value) == each.value)
    return sent, Coverage((each.bin for each, _, _ in found), held)


@covers("engine_lane.golden", "The lane's steps, sides and scalars must mean the instructions' arguments")
@BENCH.sweep()
def golden_s_tensor_scalar() -> Made:
    """Rows of golden's tensor_scalar with one and two operators, and of its tensor_tensor, over the dtypes."""
    rng, sent = pauses.rng("rows"), []
    for first in (each for each in Operator if each is not Operator.BYPASS):
        own = replace(any_instruction(rng, first), scalar=True)
        # TF32 operands have no dtype of their own in golden.
        own = replace(own, **{key: "fp32" for key in ("x", "y", "second_dtype") if getattr(own, key) == "tf32"})
        xs = [code_of(rng, own.x) % (1 << container_bits(own.x)) for _ in range(16)]
        scalars = {
            place: None if step in ONES else code_of(rng, name) % (1 << container_bits(name))
            for place, step, name in ((0, own.first, own.y), (1, own.second, own.second_dtype))
        }
        operands = [
            None if code is None else array_of(np.array([[code]]), name)
            for code, name in ((scalars[0], own.y), (scalars[1], own.second_dtype))
        ]
        second = None if own.second is Operator.BYPASS else own.second.name.lower()
        got = trainium3.tensor_scalar(
            array_of(np.array([xs]), own.x), first.name.lower(), operands[0], second, operands[1],
            reverse0=own.reverse, reverse1=own.second_reverse and second is not None, dtype=destination(own.result),
        )  # fmt: skip
        values = beats_of(xs, [scalars[0] or 0] * 16, own, WIDTH, scalars[1] or 0)
        sent += _with_results(values, codes_of(got)[0])
    return sent


@covers("engine_lane.golden")
@BENCH.sweep()
def golden_s_tensor_tensor() -> Made:
    """Rows of every operator on two tensors of any dtypes."""
    rng, sent = pauses.rng("rows"), []
    for operator in BINARY:
        names = INTEGERS[rng.choice((8, 16, 32))] if operator in ON_BITS else [name for name in NAMES if name != "tf32"]
        x, y = rng.choice(names), rng.choice(names)
        own = Instruction(operator, x, y, rng.choice(names))
        codes = [[code_of(rng, name) % (1 << container_bits(name)) for _ in range(16)] for name in (x, y)]
        sent += tensors(*codes, own)
    return sent


@covers(
    "engine_lane.operators",
    "NaN compares false but unequal; zeros are equal; a shift by the size or more gives 0",
)
@BENCH.sweep()
def every_operator_and_dtype() -> Made:
    """Each operator on each dtype, of two tensors and with a scalar on either side, and as second step; comparisons of
    numbers that differ in one bit, of zeros, infinities and NaN; shifts by every count and beyond the size."""
    values = every_operator(pauses.rng("operators"), WIDTH)
    return requests(values), Coverage(BINS, bins_of(values))


def refused_controls() -> list[Changes]:
    """Return every operator and dtype that there is not, operators on bits beside those on numbers, bits of other than integers of one
    size, each with its fault."""
    step = {"op": Operator.BYPASS, "reverse": 0}
    add, shift = step | {"op": Operator.ADD}, step | {"op": Operator.LEFT_SHIFT}
    fields = ("x", "y", "result", "second_dtype")
    number = {"first": add, "second": step} | dict.fromkeys(fields, Dtype.FP32)
    bits = {"first": shift, "second": step} | dict.fromkeys(fields, Dtype.INT16)
    wrong = [
        (Fault.OPERATION, number | {place: step | {"op": op}})
        for op in unknown(Operator)
        for place in ("first", "second")
    ]
    wrong += [(Fault.OPERATION, number | {"second": step | {"op": op}}) for op in ON_BITS]
    wrong += [(Fault.OPERATION, bits | {"second": step | {"op": op}}) for op in ON_NUMBERS if op is not Operator.BYPASS]
    wrong.append((Fault.OPERATION, bits | {"second": step | {"reverse": 1}}))
    for field in fields:
        wrong += [(Fault.DTYPE, number | {"second": add, field: code}) for code in unknown(Dtype)]
        others = [each for each in Dtype if each.name.lower() not in INTEGERS[16]]
        wrong += [(Fault.DTYPE, bits | {"second": shift, field: dtype}) for dtype in others]
    return [(fault, {"control": control}) for fault, control in wrong]


@covers("engine_lane.refused", "Nothing comes of them")
@cocotb.test(**LIMIT, skip=not (BENCH.config.checks and BENCH.latency))
async def refused_beats(dut):
    """Every operator and dtype that there is not, operators on bits beside those on numbers, bits of floats and of
    integers of two sizes, among others."""
    rng = pauses.rng("refused")
    wrong = refused_controls()
    async with bench(dut, BENCH.unit.signature) as frame:
        sent = draw(wrong, rng)
        await refuse_among(frame, sent, wrong, rng)
