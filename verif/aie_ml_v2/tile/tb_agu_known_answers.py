"""Known answers of address streams: the unit's own registers go round, and its addresses are the archive's.

``BITPATH_KAT_DIR`` is the folder that holds them. What the RTL gives is compared with the archive, not with golden.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.rtl.aie_ml_v2.tile.agu import Agu, AguConfig, AguMode, agu_request, agu_result
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack, unpack
from bitpath.verif.kit.pipeline import Pipeline
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(AguConfig)
FIELDS = [name for name, _ in agu_request(CONFIG) if name not in ("mode", "p")]
MODES = (AguMode.POST_MODIFY, AguMode.TWO_D, AguMode.THREE_D)


@covers("agu.known_answers", "Another program computed them")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_stream(dut):
    """120 streams of 64 addresses, and the registers behind them."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "aie_tile_agu.npz") as archive:
        files = {name.removeprefix("agu_"): archive[name].tolist() for name in archive if name.startswith("agu_")}
    async with bench(dut, Agu(CONFIG).signature, drain=False) as frame:
        pipeline, board = Pipeline(frame, 0), frame.scoreboard("addresses", CONFIG.address_bits, output="o")
        ends = frame.scoreboard("registers", CONFIG.address_bits, output="o")
        dut.i__valid.value, dut.o__ready.value = 1, 1
        for case, kind in enumerate(files["kind"]):
            registers = {name: files[name][case] for name in FIELDS} | {"p": files["p0"][case]}
            for address in files["addr"][case]:
                fields = {"mode": MODES[kind].value} | registers
                dut.i__payload.value = pack(agu_request(CONFIG), fields)
                await pipeline.step()
                found = unpack(agu_result(CONFIG), resolved(dut.o__payload))
                board.expect(address, f"case {case}")
                board.got(found.address)
                registers |= {name: found[name] for name in ("p", "dc", "dc2")}
            for name in ("p", "dc", "dc2"):
                ends.expect(files[f"{name}_end"][case], f"{name} of case {case}")
                ends.got(registers[name])
