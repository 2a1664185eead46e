"""Check of a command: what the engine refuses before its queue."""

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8, FLOAT16
from bitpath.rtl.aie_ml_v2.engine.command import command_layout, result_words
from bitpath.rtl.aie_ml_v2.engine.config import AieEngineConfig
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode
from bitpath.rtl.common.pipeline.faults import first_of

FORMATS = {MacMode.of(mode): len(mode.formats) for mode in (FLOAT16, FLOAT8)}
"""Formats of the modes that have several."""


class CommandCheck(wiring.Component):
    """Combinational: latency 0. Fields that a mode or a command without a store does not read may hold anything.

    Parameters
    ----------
    config : AieEngineConfig, the sizes of the memories and of the multiply-accumulate.

    Members
    -------
    command : In(command_layout)
    fault : Out(Fault): OPERATION is a code without a mode, FORMAT a format that the mode has not, RANGE a store that passes the
        end of the result memory
    """

    clocked = False

    def __init__(self, config: AieEngineConfig):
        self.config = config
        super().__init__({"command": In(command_layout(config)), "fault": Out(Fault)})

    def elaborate(self, platform):
        m = Module()
        p = self.command
        store, mode = p.store, Value.cast(p.store.mode)
        unknown = Cat(
            (mode == each.value) & ((p.x_format >= n) | (p.y_format >= n)) for each, n in FORMATS.items()
        ).any()
        words, end = Signal(range(2 * self.config.result_depth)), Signal(range(4 * self.config.result_depth))
        m.d.comb += [
            words.eq((store.last_tile + 1) * result_words(self.config, mode)),
            end.eq(store.address + words),
            self.fault.eq(
                first_of(
                    (~mode.matches(*(each.value for each in MacMode)), Fault.OPERATION),
                    (unknown, Fault.FORMAT),
                    (p.stores & (end > self.config.result_depth), Fault.RANGE),
                )
            ),
        ]
        return m
