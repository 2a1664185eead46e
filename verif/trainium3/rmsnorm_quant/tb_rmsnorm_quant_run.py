"""Quantises the rows of an array and writes their bytes; the caller compares them.

`verif.kit.exchange` has the files.
"""

import cocotb
import numpy as np
from cocotb.simtime import get_sim_time
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from bitpath.rtl.trainium3.rmsnorm_quant.layouts import RmsNormQuantConfig
from bitpath.rtl.trainium3.rmsnorm_quant.rmsnorm_quant import RmsNormQuant
from bitpath.verif.kit.bench import PERIOD_NS, bench, config_from_environment
from bitpath.verif.kit.exchange import read_input, show_share, write_result
from bitpath.verif.kit.streams import resolved
from bitpath.verif.trainium3.refusals import no_fault
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_rows import lower, output_rows

CONFIG = config_from_environment(RmsNormQuantConfig)
POLL_CYCLES = 256
"""Between looks at what is done."""


@cocotb.test()
async def run_rows(dut):
    """Run the commands in order; ``cycles`` counts the cycles in which the unit is busy."""
    rows = read_input()
    batches = lower(CONFIG, rows)
    payloads: list[int] = []
    moments: list[int] = []

    def got(payload: int) -> None:
        payloads.append(payload)
        moments.append(int(get_sim_time("ps")))

    async with bench(dut, RmsNormQuant(CONFIG).signature, drain=False) as frame:
        streams = {name: frame.driver(name) for name in ("command", "hidden", "gamma")}
        frame.monitor("o", got)
        frame.start("faults", no_fault(dut, "rmsnorm_quant"))
        for batch in batches:
            streams["command"].send_bits(batch.command)
            for name in ("hidden", "gamma"):
                for bits in getattr(batch, name):
                    streams[name].send_bits(bits)
        expected = len(batches) * rows.row_bytes
        while len(payloads) < expected:
            await Timer(POLL_CYCLES * PERIOD_NS, unit="ns")
            show_share(len(payloads) / expected)
        await FallingEdge(dut.clk)
        assert not resolved(dut.busy)
        assert resolved(dut.retired) == len(batches)
        cycles = resolved(dut.busy_cycles)
        await RisingEdge(dut.clk)
    parts = [payloads[start : start + rows.row_bytes] for start in range(0, expected, rows.row_bytes)]
    output = np.concatenate([output_rows(CONFIG, *each) for each in zip(batches, parts, strict=True)])
    # The rows of a batch are in the lanes of its payloads.
    times = np.repeat(
        np.array(moments, np.uint64).reshape(len(batches), -1), [batch.count for batch in batches], axis=0
    )
    write_result(output=output, times=times, cycles=cycles)
