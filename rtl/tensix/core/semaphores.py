"""Semaphores of a core, eight with a value and a maximum.

Ref: tt-isa-documentation 3930471, SyncUnit, SEMINIT, SEMPOST, SEMGET.
"""

from amaranth import Module, Mux
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.decode import instruction_layout, named

SEMAPHORES = 8
SEMAPHORE = data.StructLayout({"value": 4, "maximum": 4})
SEMAPHORE_STATE = data.ArrayLayout(SEMAPHORE, SEMAPHORES)


class Semaphores(wiring.Component):
    """An instruction a cycle; the state behind it is there in the next cycle. 15 stays over SEMPOST, 0 over SEMGET.

    Parameters
    ----------
    config : the chip.

    Members
    -------
    i : In(stream of instruction_layout), always ready; other instructions are ignored
    state : Out(SEMAPHORE_STATE)
    """

    def __init__(self, config: ChipConfig):
        layout = instruction_layout(config.chip)
        super().__init__({"i": In(stream.Signature(layout, always_ready=True)), "state": Out(SEMAPHORE_STATE)})

    def elaborate(self, platform):
        m = Module()
        instruction = self.i.p
        for number, each in enumerate(self.state):
            with m.If(self.i.valid & instruction.semaphores[number]):
                with m.If(named(instruction, "SEMINIT")):
                    m.d.sync += [each.value.eq(instruction.value), each.maximum.eq(instruction.maximum)]
                with m.Elif(named(instruction, "SEMPOST")):
                    m.d.sync += each.value.eq(Mux(each.value == 15, 15, each.value + 1))
                with m.Elif(named(instruction, "SEMGET")):
                    m.d.sync += each.value.eq(Mux(each.value == 0, 0, each.value - 1))
        return m
