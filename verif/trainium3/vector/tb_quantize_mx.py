"""Bench of QuantizeMX: every source code, directed corners, random blocks at every pace, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random blocks of a test.
"""

import os

import cocotb
import numpy as np

from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.vector.quantize_mx import ELEMENTS, QuantizeMx, QuantizeMxConfig
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import PACES, Pipeline
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.refusals import refuse_among
from bitpath.verif.trainium3.vector.quantize_mx import every_pattern, random_blocks, requests, with_golden
from bitpath.verif.trainium3.vector.quantize_mx_corners import corners
from bitpath.verif.trainium3.vector.quantize_mx_tiles import MODES

CONFIG = config_from_environment(QuantizeMxConfig)
STAGES = CONFIG.pipeline.stages
SIGNATURE = QuantizeMx(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "500"))
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}
EVERY_MODE = [cocotb.Param(mode, name=name) for name, mode in MODES.items()]


@covers("quantize_mx.codes", "An element is rounded with its own exponent, or flushed by a larger one")
@covers("quantize_mx.specials")
@covers("quantize_mx.stream")
@cocotb.test(**LIMIT)
@cocotb.parametrize(mode=EVERY_MODE)
async def every_code(dut, mode):
    """All 65,536 codes of BF16 and of FP16 to E4M3FN, E5M2 and E2M1 under both scale rules, among elements of one
    exponent and beside a larger one."""
    sent = with_golden(every_pattern(mode.source, pauses.rng("blocks")), mode)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).sweep(sent)


@covers(
    "quantize_mx.scales",
    "One element determines the scale of the block",
    "Every scale that a source's exponents give, the stop at 0, the largest element in each of the 32 positions",
)
@covers(
    "quantize_mx.small",
    "The vendor's goldens disagree below the range; the stored scale is the one that divides",
    "Blocks of zeros of either sign; subnormals alone: BF16's under scale 0, FP16's as any number; every "
    "subnormal of the element, half-way between them, and numbers that round to zero",
)
@covers(
    "quantize_mx.saturation",
    "Half a unit above the largest is a tie that would leave the range",
    "The largest code, half a unit above it and less and more, under OCP and in E2M1 saturating, under NKI05 with "
    "room; ties of a whole binade",
)
@covers(
    "quantize_mx.boundaries",
    "A rounder that loses its lowest sticky bits there passes all random blocks but a few",
    "Elements at ties about zero, the subnormal grid, the smallest normal, a binade, the largest number and "
    "overflow, and one bit beside them at every distance",
)
@covers(
    "quantize_mx.specials",
    "Infinity saturates, NaN is one code, in E2M1 the largest, and finite elements beside them are still divided",
    "Infinities and NaNs of both signs alone, in every place, with each other and with the largest and the "
    "smallest elements",
)
@cocotb.test(**LIMIT)
@cocotb.parametrize(mode=EVERY_MODE)
async def directed_corners(dut, mode):
    table = corners(mode, pauses.rng("corners"))
    sent = []
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(corner.bin for corner in table)
        for corner in table:
            codes, scale = result = corner.result
            if corner.holds(result):
                coverage.hit(corner.bin)
            arrays = (np.array([corner.codes], np.uint16), np.array([codes], np.uint8), np.array([scale]))
            sent += requests(*arrays, corner.mode)
        await Pipeline(frame, STAGES).sweep(sent)


@covers("quantize_mx.stream", "The machine quantises 512 elements a cycle")
@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_blocks_in_every_mode(dut, pace):
    """Modes in any order at full speed, with gaps, stalls and both; a block a cycle; latency is the number of stages."""
    rng = pauses.rng("blocks")
    each = max(1, CASES // len(MODES))
    sent = [request for mode in MODES.values() for request in with_golden(random_blocks(mode.source, each, rng), mode)]
    rng.shuffle(sent)
    async with bench(dut, SIGNATURE) as frame:
        await Pipeline(frame, STAGES).exchange(sent, pace)


@covers("quantize_mx.stream")
@cocotb.test(**LIMIT)
async def latency_is_the_number_of_stages(dut):
    mode = next(iter(MODES.values()))
    sent = with_golden(random_blocks(mode.source, 20, pauses.rng("blocks")), mode)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).one_at_a_time(sent)


@covers("quantize_mx.refused", "They would come out as E2M1")
@cocotb.test(**LIMIT, skip=not (CONFIG.checks and STAGES))
async def refused_beats(dut):
    """Blocks of the element format that there is not among others."""
    rng = pauses.rng("refused")
    sent, wrong = [], [(Fault.DTYPE, {"control": {"element": len(ELEMENTS)}})] * 40
    for mode in MODES.values():
        sent += with_golden(random_blocks(mode.source, 8, rng), mode)
    async with bench(dut, SIGNATURE) as frame:
        await refuse_among(frame, sent, wrong, rng)


@covers("quantize_mx.reset", "Data registers have no reset; only the valid bits hide their contents")
@cocotb.test(**LIMIT, skip=not STAGES)
async def resets(dut):
    """Resets with blocks in the first, in some and in all pipeline stages, with and without a stall: no result of them
    appears, and later ones do."""
    rng = pauses.rng("blocks")
    mode = rng.choice(list(MODES.values()))
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).resets(lambda: with_golden(random_blocks(mode.source, 2, rng), mode))
