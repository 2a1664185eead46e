"""Bench of QuantizeMX: every source code, directed corners, random blocks at every pace, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random blocks of a test.
"""

import os

import cocotb
import numpy as np

from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.vector.config import QuantizeMxConfig
from bitpath.rtl.trainium3.vector.mx_code import ELEMENTS
from bitpath.rtl.trainium3.vector.quantize_mx import QuantizeMx
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import PACES, Pipeline
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


@cocotb.test(**LIMIT)
@cocotb.parametrize(mode=EVERY_MODE)
async def every_code(dut, mode):
    """All 65,536, each as its block's largest exponent and beside a larger one; a block a cycle."""
    sent = with_golden(every_pattern(mode.source, pauses.rng("blocks")), mode)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).sweep(sent)


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


@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_blocks_in_every_mode(dut, pace):
    rng = pauses.rng("blocks")
    each = max(1, CASES // len(MODES))
    sent = [request for mode in MODES.values() for request in with_golden(random_blocks(mode.source, each, rng), mode)]
    rng.shuffle(sent)
    async with bench(dut, SIGNATURE) as frame:
        await Pipeline(frame, STAGES).exchange(sent, pace)


@cocotb.test(**LIMIT)
async def latency_is_the_number_of_stages(dut):
    mode = next(iter(MODES.values()))
    sent = with_golden(random_blocks(mode.source, 20, pauses.rng("blocks")), mode)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).one_at_a_time(sent)


@cocotb.test(**LIMIT, skip=not (CONFIG.checks and STAGES))
async def refused_beats(dut):
    """Blocks of the element format that there is not, in both rules and of both sources, among others."""
    rng = pauses.rng("refused")
    sent, wrong = [], [(Fault.DTYPE, {"control": {"element": len(ELEMENTS)}})] * 40
    for mode in MODES.values():
        sent += with_golden(random_blocks(mode.source, 8, rng), mode)
    async with bench(dut, SIGNATURE) as frame:
        await refuse_among(frame, sent, wrong, rng)


@cocotb.test(**LIMIT, skip=not STAGES)
async def resets(dut):
    """Reset with blocks in every pipeline stage; a combinational unit has no reset."""
    rng = pauses.rng("blocks")
    mode = rng.choice(list(MODES.values()))
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).resets(lambda: with_golden(random_blocks(mode.source, 2, rng), mode))
