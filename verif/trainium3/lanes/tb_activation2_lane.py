"""Bench of the Activation2 lane: every instruction, edges, rows with kept registers, random beats at every pace, latency,
resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random beats of a test.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random

import cocotb
import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import decode
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.lanes.activation2_lane import (
    Activation2Config,
    Activation2Lane,
    Function,
    Operations,
    ReduceCommand,
    Reduction,
)
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.common.fp32.numbers import near_products, near_sums
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.pipeline import LIMIT, Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.lanes.activation2_lane import (
    BINS,
    PAIRS,
    Value,
    bins_of,
    every_edge,
    every_instruction,
    one_bit,
    random_value,
    requests,
    results,
    row,
)
from bitpath.verif.trainium3.refusals import refuse_among, unknown


def draw(kinds: Sequence[None], rng: Random) -> list[Request]:
    """Return requests that all show the register: bits that a reset left in it would change their results."""
    return requests([replace(random_value(rng), command=ReduceCommand.REDUCE) for _ in kinds])


BENCH = StreamBench(
    __name__, Activation2Config, Activation2Lane, (None,), draw, default_cases=500, draws="beats", stateful=True
)
latency, resets = BENCH.timing()
covers("activation2_lane.stream", latency)
covers(
    "activation2_lane.reset",
    "The register holds its value between instructions",
    "Resets with values in the first, in some and in all pipeline stages, with and without a stall: no result of them appears, and "
    "the register is +0",
    resets,
)


@cache
def directed_results() -> tuple[list[Value], list[tuple[int, int]]]:
    """Beats that hit all bins, and what must come of them: the same in every test."""
    rng = Random(1)
    values = [*every_edge(rng), *every_instruction(rng)]
    return values, results(values)


@covers(
    "activation2_lane.instructions",
    "The lane computes (add, bypass) and (subtract, bypass) with the second operation's adder",
    "Six pairs of operations, the immediate on either side, five reductions and six functions, in rows of four values",
)
@covers(
    "activation2_lane.ties",
    "abs_max and abs_min take the new element, max and min the sign",
    "Values of the register's magnitude and of the other sign, for every reduction",
)
@BENCH.sweep()
def instructions() -> Made:
    """Six pairs, both sides, five reductions and six functions, in rows of four."""
    return requests(*directed_results())


@covers("activation2_lane.edges", "Bypass and copy keep -0 and make NaN canonical; a maximum with NaN is NaN")
@BENCH.sweep()
def edges() -> Made:
    """Zeros, subnormals, the largest numbers, infinities and NaN payloads as value, as immediate and onto a register
    that holds another."""
    return requests(every_edge(pauses.rng("edges")))


@covers("activation2_lane.one_bit", "A comparison that ignores a bit shows there alone")
@BENCH.sweep()
def bits() -> Made:
    """Register and value that differ in one bit, in both orders and for every reduction; codes one bit away from
    infinity under every function."""
    return requests(one_bit(pauses.rng("bits")))


@covers("activation2_lane.boundaries", "Random numbers near 1 round far from the ends of the range")
@BENCH.sweep()
def boundaries() -> Made:
    """Sums at zero, the subnormal grid, the smallest normal, a binade, the largest number and overflow, in the first
    operation and in the register, and products beside their ties, with a sticky bit at every distance."""
    rng = pauses.rng("numbers")
    sums, products = list(near_sums(FP32, rng)), list(near_products(rng))
    values = [Value(x, Operations.ADD, imm0=y) for _, x, y in sums]
    values += [Value(x, Operations.MULTIPLY, imm0=y) for _, x, y in products]
    for _, x, y in sums:
        values += row((x, y), Value(0, reduction=Reduction.ADD, command=ReduceCommand.RESET_REDUCE))
    # The search has confirmed each product.
    of_products = [f"product/{name}" for name, _, _ in products]
    held = [each for each, x, y in sums if abs(decode(FP32, x).value + decode(FP32, y).value) == each.value]
    of_sums, of_held = ([f"sum/{each.bin}" for each in some] for some in ((each for each, _, _ in sums), held))
    return requests(values), Coverage([*of_sums, *of_products], [*of_held, *of_products])


@covers("activation2_lane.ties")
@covers("activation2_lane.stream", "The register must change once for each accepted value, and hold during a stall")
@BENCH.exchange()
def random_beats(pace: str) -> Made:
    """Instructions in any order at full speed, with gaps, stalls and both; a value a cycle; latency."""
    rng = pauses.rng("beats")
    directed, found = directed_results()
    values = [random_value(rng) for _ in range(BENCH.cases)]
    found = [*found, *results(values, found[-1][1])]
    values = [*directed, *values]
    return requests(values, found), Coverage(BINS, bins_of(values, found))


@covers("activation2_lane.register", "The machine's two instructions share the registers")
@BENCH.exchange("both")
def rows_of_two_instructions() -> Made:
    """Rows of activation and of activate2 one after the other on one register, kept over rows with idle."""
    rng = pauses.rng("rows")
    values, expected = [], []
    registers = np.zeros(1, np.float32)
    for number in range(max(BENCH.cases // 25, 12)):
        idle = number % 3 == 2
        first = replace(
            random_value(rng),
            operations=Operations.MULTIPLY_ADD if number % 2 else rng.choice(list(Operations)),
            function=Function.ABS if number % 2 else rng.choice(list(Function)),
            reduction=rng.choice(list(Reduction)),
            command=ReduceCommand.IDLE if idle else rng.choice((ReduceCommand.REDUCE, ReduceCommand.RESET_REDUCE)),
        )
        beats = row([fp32.near_one(rng) for _ in range(rng.randint(1, 8))], first)
        data = _array(*(each.value for each in beats))[np.newaxis]
        pair = PAIRS[first.operations]
        out, after = trainium3.activate2(
            data, first.function.name.lower(), *pair, *(_array(code)[:, np.newaxis] for code in (first.imm0, first.imm1)),
            relu_param=_array(first.relu_param)[0], reverse0=first.reverse and pair[0] != "bypass",
            reverse1=first.reverse and pair[1] != "bypass", reduce_op=first.reduction.name.lower(),
            reduce_cmd=first.command.name.lower(), registers=registers,
        )  # fmt: skip
        if number % 2 and first.command is ReduceCommand.RESET_REDUCE and first.reduction is Reduction.ADD:
            scale, bias = (_array(code)[:, np.newaxis] for code in (first.imm0, first.imm1))
            _, total = trainium3.activation_reduce(data, "abs", scale=scale, bias=bias)
            assert total.tobytes() == after.tobytes()
        values += beats
        expected += out.view(np.uint32)[0].tolist()
        registers = after
        assert results(values)[-1][1] == int(registers.view(np.uint32)[0])
    found = results(values)
    assert [value for value, _ in found] == expected
    return requests(values, found)


@covers("activation2_lane.refused", "The register goes on as if they were not")
@cocotb.test(**LIMIT, skip=not BENCH.config.checks)
async def refused_beats(dut):
    """Every code of operations, function and reduction that there is not among others."""
    rng = pauses.rng("refused")
    sent = requests([random_value(rng) for _ in range(60)])
    selections = {"operations": Operations, "function": Function, "reduction": Reduction}
    wrong = [
        (Fault.OPERATION, {"control": {name: code}}) for name, codes in selections.items() for code in unknown(codes)
    ] * 8
    async with bench(dut, BENCH.unit.signature) as frame:
        await refuse_among(frame, sent, wrong, rng)


def _array(*codes: int) -> np.ndarray:
    return np.array(codes, np.uint32).view(np.float32)


assert Value(0).payload == 0, "the zero payload is a bypassed +0"
