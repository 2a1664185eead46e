"""Bench of the BF16 PE: programs as for the quad-MX PE, directed corners, columns of a matmul, gamma's broadcast.

A program has the inputs of every cycle. The golden model computes the expected outputs before the first cycle. ``BITPATH_CASES`` sets the cycles of a random test.
"""

import os
from dataclasses import replace

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, CATALOGUE, FP32, FloatFormat
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.trainium3.declarations.quad_mx import MAX_MOVING_FP32
from bitpath.rtl.trainium3.dot.config import MultiplyAddConfig
from bitpath.rtl.trainium3.dot.pe import Bf16Pe
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.mismatches import Context
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.values import code_text
from bitpath.verif.trainium3.dot.multiply_add import Corner, ElementCase, Maker, corners, middle_code, power
from bitpath.verif.trainium3.dot.multiply_add_boundaries import boundary_corners
from bitpath.verif.trainium3.dot.multiply_add_products import product_corners
from bitpath.verif.trainium3.dot.multiply_add_sparse import sparse_cases
from bitpath.verif.trainium3.dot.pe_player import STALLS, PePlayer, loads_and_swaps, one_after_another, tiles
from bitpath.verif.trainium3.dot.quad_mx import on_grid

CONFIG = config_from_environment(MultiplyAddConfig)
NUMERICS = CONFIG.numerics
FORMATS = CONFIG.element_formats
PE = Bf16Pe(CONFIG)
CASES = int(os.environ.get("BITPATH_CASES", "500"))
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}


def side(case: ElementCase, name: str) -> int:
    """One side of a case as the port's integer."""
    return pack(PE.operand, case.fields(name, FORMATS))


def step(held: ElementCase, work: ElementCase) -> tuple[int, Context]:
    """One step with the stationary element of ``held`` and the rest of ``work``, in the unit's numerics."""
    stationary = {"stationary": held.stationary, "stationary_format": held.stationary_format}
    case = replace(work, **stationary, numerics=NUMERICS)
    return case.result, case.shown


PLAYER = PePlayer(PE, CONFIG.pipeline.stages, side, step)
random_case = Maker(NUMERICS, FORMATS).case
DIRECTED = (
    (NUMERICS.accumulator, NUMERICS.accumulator_rounding) == (FP32, Rounding.RNE)
    and (NUMERICS.product_rounding is None or NUMERICS.product_rounding.format == BF16)
    and BF16 in FORMATS
)
"""Whether there are directed corners of these numerics."""


def directed() -> list[Corner]:
    """The corners of these numerics, of the formats that the unit has."""
    exact, rng = NUMERICS.product_rounding is None, pauses.rng("corners")
    table = [*corners(rng), *boundary_corners(rng)] if exact else product_corners(NUMERICS)
    return [corner for corner in table if corner.case.formats <= set(FORMATS)]


@covers("bf16_pe.loads", "Both PEs work in the same array")
@covers("bf16_pe.formats")
@cocotb.test(**LIMIT)
@cocotb.parametrize(stall=list(STALLS))
async def tiles_back_to_back(dut, stall):
    """Tiles back to back, loads and swaps in any order, and stalls, as for the quad-MX PE."""
    await PLAYER.play(dut, tiles(pauses.rng("program"), CASES, 12, random_case), STALLS[stall]())


@covers("bf16_pe.loads")
@cocotb.test(**LIMIT)
@cocotb.parametrize(stall=list(STALLS))
async def loads_and_swaps_at_random(dut, stall):
    await PLAYER.play(dut, loads_and_swaps(pauses.rng("program"), CASES, random_case), STALLS[stall]())


@covers(
    "bf16_pe.formats",
    "FP16's subnormals are normal numbers of the product's grid",
    "BF16 and FP16 with each other, chosen for each operand at run time, subnormal elements too",
)
@covers(
    "bf16_pe.distances",
    "Both anchors of the sum's window, and both clamps of its shifter",
    "Partial sum and product 260 binades apart either way, and at every distance within 52, with equal and "
    "opposite signs",
)
@covers(
    "bf16_pe.one_rounding",
    "Product and sum are rounded once together",
    "Half a unit exactly, one bit less and more, with odd and even last places; products below FP32's last place "
    "that must not be rounded by themselves",
)
@covers(
    "bf16_pe.rounded_products",
    "A hypothesis about Trainium2 rounds each product before it is added",
    "With products rounded to BF16: ties of products of 15 and 16 bits, a bit of FP16 below a tie, both ends of "
    "BF16's range and its subnormals, and 1.0078125**2 - 1.015625",
)
@covers(
    "bf16_pe.cancellation",
    "A wrong sign of zero shows in the next row only",
    "Sums that cancel to +0 and to a unit of either sign",
)
@covers(
    "bf16_pe.specials",
    "0 * infinity and infinity - infinity are NaN, and every NaN has one code",
    "Zero, one, both infinities and NaN in each of the three places; the eight signs of zeros; -0 from a product "
    "that rounds to it",
)
@covers(
    "bf16_pe.range",
    "BF16 elements reach FP32's whole range, and their product twice that",
    "Products beyond the range with sums within, the ends of the range, subnormal results and their carry to the "
    "smallest normal number",
)
@covers(
    "bf16_pe.boundaries",
    "A sticky bit lost at one end of the range shows only where a far term breaks a tie there",
    "Sums at the ends of FP32's range and at ties, the product or the partial sum one sticky bit beside them at "
    "every distance",
)
@cocotb.test(**LIMIT, skip=not DIRECTED)
async def directed_corners(dut):
    table = directed()
    bins = [corner.bin if corner.hits() else None for corner in table]
    program = one_after_another([corner.case for corner in table], bins, PLAYER.latency)
    await PLAYER.play(dut, program, STALLS["none"](), dict.fromkeys(corner.bin for corner in table))


@covers("bf16_pe.single_bits", "Sparse operands reveal a bit that a sum or a sticky bit leaves out")
@cocotb.test(**LIMIT, skip=BF16 not in FORMATS)
async def single_bits(dut):
    """Elements, products, partial sums and discarded bits with one bit or two, at every distance, of like and of
    opposite signs."""
    cases = [case for case in sparse_cases() if case.formats <= set(FORMATS)]
    cases = [replace(case, partial=on_grid(NUMERICS, case.partial)) for case in cases]
    await PLAYER.play(dut, one_after_another(cases, [None] * len(cases), PLAYER.latency), STALLS["none"](), [])


@covers("bf16_pe.rows", "The order of rows is part of the result")
@cocotb.test(**LIMIT)
@cocotb.parametrize(stationary=[fmt.name for fmt in FORMATS], moving=[fmt.name for fmt in FORMATS])
async def rows_of_a_matmul(dut, stationary, moving):
    """A column of nc_matmul in every pair of formats; each row's partial sums enter the next row."""
    rng = pauses.rng("matmul")
    x, y = CATALOGUE[stationary], CATALOGUE[moving]
    rows, columns = 8, max(2, CASES // 64)
    cases = [
        ElementCase(middle_code(x, rng), x, middle_code(y, rng), y, numerics=NUMERICS) for _ in range(rows * columns)
    ]
    for row in range(rows):
        for column in range(columns):
            index = row * columns + column
            above = cases[index - columns].result if row else 0
            cases[index] = replace(cases[index], stationary=cases[row * columns].stationary, partial=above)
    result = trainium3.nc_matmul(
        np.array([[case.stationary] for case in cases[::columns]], code_type(x)).view(DTYPES[x]),
        np.array([case.moving for case in cases], code_type(y)).reshape(rows, columns).view(DTYPES[y]),
        numerics=NUMERICS,
    )
    assert codes_of(result).ravel().tolist() == [case.result for case in cases[-columns:]]
    await PLAYER.play(dut, one_after_another(cases, [None] * len(cases), PLAYER.latency), STALLS["none"](), [])


def code_type(fmt: FloatFormat) -> str:
    return f"u{fmt.width // 8}"


@covers("bf16_pe.gamma", "RMSNorm-Quant broadcasts gamma this way")
@cocotb.test(**LIMIT)
@cocotb.parametrize(gamma=[fmt.name for fmt in FORMATS])
async def every_gamma_times_one(dut, gamma):
    """All 65,536 codes of BF16 and of FP16 times one on +0: exact, -0 becomes +0."""
    fmt = CATALOGUE[gamma]
    codes = np.arange(1 << fmt.width, dtype=code_type(fmt))
    one = FORMATS[0]
    ones = np.full((1, 1), power(one), code_type(one)).view(DTYPES[one])
    tiles_of_gamma = codes.reshape(-1, 1, min(len(codes), MAX_MOVING_FP32)).view(DTYPES[fmt])
    results = [trainium3.nc_matmul(ones, tile, numerics=NUMERICS) for tile in tiles_of_gamma]
    expected = np.concatenate([codes_of(result)[0] for result in results]).tolist()
    assert expected[fmt.sign_mask] == 0
    payloads = [pack(PE.operand, {"code": code, "format": FORMATS.index(fmt)}) for code in codes.tolist()]
    async with bench(dut, PE.signature, drain=False) as frame:
        board = frame.scoreboard("partial_south", FP32.width, {"": FP32})
        dut.advance.value = dut.load.value = dut.swap_west.value = 1
        dut.stationary_west.value = pack(PE.operand, {"code": power(one), "format": 0})
        # Two cycles until the element is in the PE; from then on a word a cycle.
        for _ in range(2):
            await FallingEdge(dut.clk)
        for cycle in range(len(payloads) + PLAYER.latency - 1):
            if cycle < len(payloads):
                dut.moving_west.value = payloads[cycle]
                board.expect(expected[cycle], f"gamma {code_text(fmt, cycle)}")
            await FallingEdge(dut.clk)
            if cycle >= PLAYER.latency - 1:
                board.got(resolved(dut.partial_south))


@covers("bf16_pe.reset", "A swap that survives the reset would change the next tile's operands")
@cocotb.test(**LIMIT)
async def resets(dut):
    """A reset during a swap ends the swap."""
    await PLAYER.resets(dut, random_case(pauses.rng("case")))
