"""A small layer on a core, from HBM back to HBM: every byte of its memories against golden's."""

import cocotb
import ml_dtypes
import numpy as np

from bitpath.rtl.trainium3.core.core import Core
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import ENGINE_PATIENCE_CYCLES, bench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.core.core_host import Host
from bitpath.verif.trainium3.core.core_layer import AT, LAYER, OUTPUTS, TOKENS, hbm_image, layer

SIGNATURE = Core(LAYER).signature
IN_ORDER_CYCLES = 5_502
"""Cycles of a core that issued all engines' instructions in one order."""
MOST_OF_THE_LAYER = 20
"""Decibels that MXFP8 of both operands keeps; a wrong program keeps none."""


@covers("core.layer", "It is what the core is for")
@cocotb.test(timeout_time=100, timeout_unit="ms")
async def layer_from_hbm_to_hbm(dut):
    """A small layer, from HBM back to HBM: RMSNorm, transposes, QuantizeMX, two MX products, read-add-write and a cast
    to BF16; every byte of the memories golden's."""
    rng = np.random.default_rng(pauses.rng("layer").getrandbits(32))
    async with bench(dut, SIGNATURE, patience=ENGINE_PATIENCE_CYCLES) as frame:
        host = Host(frame, LAYER)
        await host.load(pauses.rng("memories"))
        host.memories.hbm[:], exact = hbm_image(rng)
        await host.write_hbm()
        await host.clear()
        cycles = await host.run(layer())
        busy = dict(zip(("TensorE", "VectorE", "ScalarE", "DMA"), host.busy(), strict=True))
        dut._log.info(f"{cycles} cycles; busy {busy}")
        assert cycles < IN_ORDER_CYCLES, "streams of their own do not let engines run beside each other"
        assert host.fault()[0] is Fault.NONE
        await host.compare_hbm("layer")
        output = host.memories.hbm[AT.output_hbm : AT.output_hbm + 2 * TOKENS * OUTPUTS].view(ml_dtypes.bfloat16)
        error = output.reshape(TOKENS, OUTPUTS).astype(np.float64) - exact
        sqnr = 10 * np.log10((exact**2).sum() / (error**2).sum())
        dut._log.info(f"SQNR {sqnr:.1f} dB")
        assert sqnr > MOST_OF_THE_LAYER, "the program is not the layer"
        await host.compare("layer")
