# amaranth: UnusedElaboratable=no
"""Parts of the tile that Amaranth's simulator runs in seconds, against golden."""

import numpy as np
from amaranth.sim import Simulator

from bitpath.golden.aie_ml_v2.tile.transfers import POP_FORMATS, SPARSE_ENTITIES, Pop
from bitpath.rtl.aie_ml_v2.core.bundle import PopFormat
from bitpath.rtl.aie_ml_v2.core.load_units import ELEMENT, Popped
from bitpath.verif.aie_ml_v2.core.operands import chunks
from bitpath.verif.kit.testplan import covers


def elements(fmt, count):
    """Return bytes of a format's elements, from random sources."""
    source = np.random.default_rng(34)
    if fmt in SPARSE_ENTITIES:
        pairs = chunks(source, 64 * count, SPARSE_ENTITIES[fmt])
        return list(pairs.reshape(count, 64))
    size = POP_FORMATS[fmt].store_bits // 8 if fmt in POP_FORMATS else 64
    return list(source.integers(0, 256, (count, size), np.uint8))


@covers("aie_tile.pops", "Golden's Pop gives the same")
def test_a_pop_makes_golden_s_register():
    """Registers that pops make of bytes, blocks of MX9 and compressed chunks."""
    unit = Popped()
    simulator = Simulator(unit)

    async def compare(ctx):
        for fmt in ("bytes", "mx9", "sparse8", "sparse16"):
            pop = Pop(to="x0" if fmt == "bytes" else "ex0", fifo=0, fmt=fmt)
            for data in elements(fmt, 20):
                ctx.set(unit.format, PopFormat[fmt.upper()])
                ctx.set(unit.i, int.from_bytes(data.tobytes(), "little"))
                expected = pop._register(data)
                held = np.zeros(ELEMENT.size // 8, np.uint8)
                held[: len(expected)] = expected
                assert ctx.get(unit.o.as_value()) == int.from_bytes(held.tobytes(), "little"), fmt

    simulator.add_testbench(compare)
    simulator.run()
