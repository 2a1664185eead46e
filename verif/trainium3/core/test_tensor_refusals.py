"""Refusals of a core's TensorE front against golden's: modes, formats, flags, patterns, numbers of rows and columns, starts, counts.

Golden's functions of the instructions decide: the front must refuse an instruction for which they raise an error. It may refuse
more, but only formats of `LACKS`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import numpy as np
from amaranth.sim import Simulator

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, SCALE_PARTITIONS, X4
from bitpath.golden.trainium3.declarations.tensor import DOUBLE_ROW, PATTERNS, TAGS_IN_WORD
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import tensor_layout
from bitpath.rtl.trainium3.core.lane_reader import CHECK_CYCLES
from bitpath.rtl.trainium3.core.tensor_slots import TensorSlots
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import OperandFormat
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.core.programs.instructions import FORMATS, Matmul, Pattern

CONFIG = CoreConfig(size=32)
SCALED = PARTITIONS // CONFIG.size
"""Rows of the machine for one of the core, outside MX and sparse modes, whose groups have so many rows in both."""
WIDE = (OperandFormat.TF32, OperandFormat.FP32)
LACKS = {(Mode.FUSED, pair) for pair in (WIDE, WIDE[::-1])}
"""Modes and formats that golden takes and a core lacks: FP32 by TF32."""
Try = tuple[Matmul, Mapping[str, Any]]
"""An instruction, and codes in its fields that have no name."""


def _legal(mode: Mode, **fields: Any) -> Matmul:
    formats = {
        Mode.MX: OperandFormat.E5M2,
        Mode.DOUBLE_ROW: OperandFormat.E5M2,
        Mode.FUSED: OperandFormat.FP32,
    }.get(mode, OperandFormat.BF16)
    passes, slots = mode is Mode.PASS, 2 if mode is Mode.SPARSE else 1
    own = {"rows": 8 if passes else CONFIG.size, "columns": 4, "bf16": passes}
    made = Matmul(mode=mode, formats=(formats,) * 2, **(own | fields))
    count = made.rows if passes else 4
    return replace(made, moving=Pattern(((1, count), (1, slots))), result=Pattern(((1, count),)))


def tries() -> Iterator[Try]:
    """Yield legal and illegal instructions of every mode."""
    for mode in Mode:
        legal = _legal(mode)
        moving = FORMATS if mode is not Mode.PASS else [OperandFormat.BF16]
        for pair in product(FORMATS, moving):
            # A transpose writes elements of its operand's size.
            narrow = mode is Mode.PASS and pair[0] is not OperandFormat.FP32
            yield replace(legal, formats=pair, bf16=narrow), {}
        yield from ((replace(legal, flag=flag), {}) for flag in range(8))
        yield from ((replace(legal, rows=rows), {}) for rows in (0, 1, 3, 31, 32, 33, 63) if mode is not Mode.PASS)
        yield from ((replace(legal, columns=columns), {}) for columns in (0, 1, 2, 3, 32, 33, 63))
        names = ("stationary_format", "moving_format") if mode is not Mode.PASS else ("stationary_format",)
        yield from ((legal, {name: code}) for name in names for code in range(len(OperandFormat), 16))
        yield legal, {"mode": 6}
        yield legal, {"mode": 7}
        if mode is not Mode.PASS:
            yield replace(legal, result=Pattern(((1, 3),))), {}
    yield from (
        (_legal(Mode.NARROW, start=start, rows=rows), {})
        for start, rows in product(range(4), (1, 8, 9, 16, 17, 24, 25, 32))
    )
    sparse = _legal(Mode.SPARSE)
    known = {(each.kept - 1, each.ratio - 1): name for name, each in PATTERNS.items()}
    for places in product(range(4), repeat=2):
        if places in known:
            for rows in (1, 2, 3, 4, 30, 32):
                slots = places[1] + 1
                moving = Pattern(((slots, 4), (1, slots)))
                yield replace(sparse, pattern=known[places], rows=rows, moving=moving), {}
        else:
            yield sparse, {"pattern": {"last_partition": places[0], "last_slot": places[1]}}


def golden_takes(of: Matmul) -> bool:
    """Return False if golden's function of the instruction raises an error."""
    try:
        _golden(of)
    except (TypeError, ValueError):
        return False
    return True


def _golden(of: Matmul) -> None:
    dtypes = [DTYPES[FORMATS[each]] for each in of.formats]
    scaled = 1 if of.mode in (Mode.MX, Mode.SPARSE) else SCALED
    p, m, n = scaled * of.rows, scaled * of.columns, of.result.count
    # A core of 32 rows and columns has one quadrant.
    if max(p, m) > scaled * CONFIG.size:
        raise ValueError(f"rows and columns must be at most {CONFIG.size}, not {of.rows} and {of.columns}")
    flag = {"psum_accumulate_flag": of.flag, "dst": np.zeros((m, n), np.float32)}
    if of.mode is Mode.MX:
        x, y = (np.zeros((p, free, X4), dtype) for free, dtype in zip((m, of.moving.count), dtypes, strict=True))
        scales = [np.zeros((p // SCALE_PARTITIONS, each.shape[1]), np.uint8) for each in (x, y)]
        trainium3.nc_matmul_mx(x, y, *scales, **flag)
    elif of.mode is Mode.DOUBLE_ROW:
        x, y = (
            np.zeros((p, DOUBLE_ROW, free), dtype) for free, dtype in zip((m, of.moving.count), dtypes, strict=True)
        )
        trainium3.nc_matmul(x, y, perf_mode="double_row", **flag)
    elif of.mode is Mode.SPARSE:
        _, ratio = of.kept_and_ratio
        if OperandFormat.FP32 in of.formats:
            raise ValueError("a sparse matmul rounds FP32 to TF32")
        words = np.zeros((p, m // TAGS_IN_WORD), np.uint16)
        y = np.zeros((p, ratio, of.moving.count // ratio), dtypes[1])
        trainium3.nc_matmul_sparse(np.zeros((p, m), dtypes[0]), y, words, of.pattern, **flag)
    else:
        # A transpose moves the identity of its own dtype.
        other = dtypes[of.mode is not Mode.PASS]
        _matmul(of, (np.zeros((p, m), dtypes[0]), np.zeros((p, of.moving.count), other)), flag)


def _matmul(of: Matmul, operands: tuple[np.ndarray, np.ndarray], flag: dict[str, Any]) -> None:
    """The function chooses its mode by the formats."""
    tf32 = [each is OperandFormat.TF32 for each in of.formats]
    own = {"stationary_tf32": tf32[0], "moving_tf32": tf32[1]}
    if of.mode is Mode.PASS:
        trainium3.nc_matmul(*operands, is_transpose=True, psum_accumulate_flag=of.flag, **own)
        return
    if (OperandFormat.FP32 in of.formats) != (of.mode is Mode.FUSED):
        raise ValueError(f"formats must not be {of.formats} in {of.mode}")
    rows = len(operands[0])
    size = next((size for size in (32, 64, PARTITIONS) if rows <= size), PARTITIONS)
    position = of.start * PARTITIONS // 4
    trainium3.nc_matmul(*operands, tile_position=(position, 0), tile_size=(size, PARTITIONS), **own, **flag)


@covers(
    "core.golden_refusals",
    "A rule that golden has and the front lacks gives results of an instruction that does not exist",
)
def test_front_refuses_what_golden_refuses():
    """Every mode with each pair of formats, each flag and unknown code, rows and columns at their limits; tiles; patterns: the front
    gives a slot what golden takes."""
    dut, layout, rng = TensorSlots(CONFIG), tensor_layout(CONFIG), Random(67)
    lacks, counts = set(), {True: 0, False: 0}

    async def bench(ctx):
        for slot in dut.o:
            ctx.set(slot.ready, 1)
        for of, changes in tries():
            body = {**of.body(), **changes}
            body |= {name: rng.getrandbits(field.width) for name, field in layout if name not in body}
            ctx.set(dut.i.p.as_value(), pack(layout, body))
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
            ctx.set(dut.i.valid, 0)
            for _ in range(CHECK_CYCLES - 1):
                assert ctx.get(dut.fault) is Fault.NONE
                await ctx.tick()
            fault = ctx.get(dut.fault)
            await ctx.tick()
            taken = ctx.get(dut.o[0].valid) | ctx.get(dut.o[1].valid)
            assert taken == (fault is Fault.NONE), f"{fault} for {body}"
            allowed = not changes and golden_takes(of)
            counts[allowed] += 1
            if allowed and not taken:
                assert fault is Fault.DTYPE, f"{fault} for {body}"
                lacks.add((of.mode, of.formats))
            else:
                assert taken == allowed, f"{fault}, and golden {'takes' if allowed else 'refuses'} {body}"

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert lacks == LACKS
    assert min(counts.values()) > 100
