"""Streams."""
from functools import partial
from amaranth import *
from amaranth.lib import wiring
from bitpath.rtl.common.delay import Delay
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Property, Sabotage, Engine
def delay(claim, width, cycles):
    dut = claim.place("dut", Delay(width, cycles))
    held = [dut.i]
    for k in range(cycles):
        r = Signal(width, name=f"r{k}")
        with claim.m.If(dut.advance):
            claim.m.d.sync += r.eq(held[-1])
        held.append(r)
    claim.ensure(dut.o == held[-1])
PROPERTIES = (Property("delay_3", "common.delay", "x", partial(delay, width=4, cycles=3), Sabotage("common/delay.py", "history[-self.width :]", "history[: self.width]"), Engine.INDUCTION, 4),)
