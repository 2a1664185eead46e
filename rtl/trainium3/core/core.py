"""A NeuronCore: HBM, SBUF and PSUM, four engines, and the instructions that they run.

    program -> issue -+-> TensorE: SBUF -> array -> PSUM
                      +-> VectorE, ScalarE: SBUF, PSUM -> lanes -> SBUF, PSUM
                      +-> DMA: HBM <-> SBUF, HBM -> HBM

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation. How instructions wait for each other is chosen: the machine
has a queue for each engine, and semaphores.
"""

from typing import Any

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, Covered, Unit, WaveGroup
from bitpath.rtl.trainium3.array.psum_memory import PsumMemory
from bitpath.rtl.trainium3.array.systolic_array import SystolicArray
from bitpath.rtl.trainium3.core.config import LANE_ENGINES, SLOT_PORTS, CoreConfig
from bitpath.rtl.trainium3.core.core_dma import CoreDma, host_members
from bitpath.rtl.trainium3.core.instruction import Engine, body_of, instruction_layout
from bitpath.rtl.trainium3.core.lane_engine import LaneEngine
from bitpath.rtl.trainium3.core.tensor_slots import BackgroundSlot, MainSlot, TensorSlots
from bitpath.rtl.trainium3.dot.element_map import MapTable
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.memory.sbuf import Sbuf


class Core(wiring.Component):
    """Takes instructions in their order, each when its engine is free and the engines of ``after`` are idle.

    Engines run beside each other. DMA takes an instruction while others are under way: its queues order descriptors, and
    ``after`` waits for all of them. A refused instruction reads and writes nothing; the first one's fault and number stay.

    Parameters
    ----------
    config : sizes of the memories and of the array.

    Members
    -------
    program : In(stream of instruction_layout)
    idle : Out(1), no instruction is inside
    fault : Out(Fault), fault_number : Out, of the first refused instruction since reset or ``clear``: numbers count from 0
    clear : In(1), clears ``fault`` and counters; the next instruction's number is 0
    busy : Out, cycles of each engine with an instruction inside since reset or ``clear``
    grants : Out, descriptors that the DMA engines began since reset or ``clear``
    waits : Out, cycles in which an access of DMA waited for SBUF, of each engine
    illegal_tag : Out(1), of a core with sparse PEs: a tag outside its pattern was loaded since reset or ``clear``
    fp4_table : In(MapTable), for E2M1 operands, of a core that has MX
    queues, classes : as of `DmaEngine`, for all DMA engines
    host_address, host_write, host_word, host_data : a port of HBM, as of `CoreDma`
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "program": In(stream.Signature(instruction_layout(config))),
                "idle": Out(1),
                "fault": Out(Fault),
                "fault_number": Out(config.count_bits),
                "clear": In(1),
                "busy": Out(data.ArrayLayout(config.count_bits, len(Engine))),
                "grants": Out(config.count_bits),
                "waits": Out(data.ArrayLayout(config.sbuf.wait_bits, config.sbuf.groups)),
            }
            | ({"fp4_table": In(MapTable)} if config.has_mx else {})
            | ({"illegal_tag": Out(1)} if config.has_sparse else {})
            | host_members(config)
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        sbuf = instantiate(m, platform, "sbuf", Sbuf, config.sbuf)
        psum = instantiate(m, platform, "psum", PsumMemory, config.psum)
        tensor = instantiate(m, platform, "tensor", TensorSlots, config)
        lanes = [instantiate(m, platform, name, LaneEngine, config, name) for name in LANE_ENGINES]
        dma = instantiate(m, platform, "dma", CoreDma, config)
        engines = {Engine.TENSOR: tensor, Engine.VECTOR: lanes[0], Engine.SCALAR: lanes[1], Engine.DMA: dma}
        m.d.comb += [sbuf.clear.eq(self.clear), psum.clear.eq(self.clear), self.waits.eq(sbuf.waits)]
        self._slots(m, platform, tensor, sbuf, psum)
        self._lanes(m, lanes, sbuf, psum)
        self._dma(m, dma, sbuf)
        self._issue(m, engines)
        for engine, component in engines.items():
            with m.If(self.clear):
                m.d.sync += self.busy[engine.value].eq(0)
            with m.Elif(component.busy):
                m.d.sync += self.busy[engine.value].eq(self.busy[engine.value] + 1)
        with m.If(self.clear):
            m.d.sync += self.grants.eq(0)
        with m.Else():
            m.d.sync += self.grants.eq(self.grants + sum(dma.granted))
        return m

    def _slots(self, m: Module, platform: Any, tensor: Any, sbuf: Any, psum: Any) -> None:
        """TensorE's slots between its front and PSUM's lanes: the array and the background transpose. The array's sums
        start at +0."""
        array = instantiate(m, platform, "array", SystolicArray, self.config.array)
        main = instantiate(m, platform, "main", MainSlot, self.config)
        background = instantiate(m, platform, "background", BackgroundSlot, self.config)
        for number, slot in enumerate((main, background)):
            connect(m, tensor.o[number], slot.i)
            connect(m, slot.command, psum.command[number])
        reads = [
            ("operands", main.read, main.data),
            ("scales", main.scale_read, main.scale_data),
            ("background", background.read, background.data),
        ]
        if self.config.has_sparse:
            reads += zip(SLOT_PORTS, main.slot_read, main.slot_data, strict=True)
        for name, read, words in reads:
            port = self.config.sbuf_ports.index(name)
            connect(m, read, sbuf.read[port])
            m.d.comb += words.eq(Value.cast(sbuf.data[port].p))
        connect(m, background.o, psum.i[1])
        m.d.comb += [
            array.advance.eq(~array.result_valid[0] | psum.i[0].ready),
            array.write.eq(main.write),
            array.control[0].eq(main.control),
            main.advance.eq(array.advance),
            psum.i[0].valid.eq(array.result_valid[0]),
            Value.cast(psum.i[0].p).eq(Value.cast(array.result[0])),
            main.taken.eq(psum.i[0].valid & psum.i[0].ready),
        ]
        if self.config.has_mx:
            m.d.comb += array.fp4_table.eq(self.fp4_table)
        if self.config.has_sparse:
            with m.If(self.clear):
                m.d.sync += self.illegal_tag.eq(0)
            with m.Elif(main.illegal):
                m.d.sync += self.illegal_tag.eq(1)

    def _lanes(self, m: Module, lanes: list[Any], sbuf: Any, psum: Any) -> None:
        for number, (name, lane) in enumerate(zip(LANE_ENGINES, lanes, strict=True)):
            port = self.config.sbuf_ports.index(name)
            connect(m, lane.read, sbuf.read[port])
            connect(m, lane.write, sbuf.write[number])
            connect(m, lane.access, psum.access[number])
            m.d.comb += [
                lane.data.eq(Value.cast(sbuf.data[port].p)),
                lane.words.eq(Value.cast(psum.data[number].p)),
                psum.data[number].ready.eq(1),
            ]

    def _dma(self, m: Module, dma: Any, sbuf: Any) -> None:
        for group in range(self.config.sbuf.groups):
            connect(m, dma.read[group], sbuf.dma_read[group])
            connect(m, sbuf.dma_data[group], dma.data[group])
            connect(m, dma.write[group], sbuf.dma_write[group])
        for name in ("queues", "classes", "host_address", "host_write", "host_word"):
            m.d.comb += getattr(dma, name).eq(getattr(self, name))
        m.d.comb += self.host_data.eq(dma.host_data)

    def _issue(self, m: Module, engines: dict[Engine, Any]) -> None:
        """Give the next instruction to its engine, and keep the first fault."""
        program = self.program
        busy = Cat(component.busy for component in engines.values())
        may = Signal()
        m.d.comb += [
            may.eq(program.valid & ~(busy & program.p.after).any()),
            program.ready.eq(may & Array(component.i.ready for component in engines.values())[program.p.engine]),
            self.idle.eq(~program.valid & ~busy.any()),
        ]
        number, faults = Signal(self.config.count_bits), []
        for engine, component in engines.items():
            takes = may & (program.p.engine == engine)
            m.d.comb += [
                component.i.valid.eq(takes),
                Value.cast(component.i.p).eq(Value.cast(body_of(self.config, program.p, engine))),
            ]
            own = Signal(self.config.count_bits, name=f"number_{engine.name.lower()}")
            with m.If(takes & component.i.ready):
                m.d.sync += own.eq(number)
            now = takes & component.i.ready if engine is Engine.DMA else 0
            faults.append((component.fault, Mux(now, number, own)))
        with m.If(program.valid & program.ready):
            m.d.sync += number.eq(number + 1)
        with m.If(self.clear):
            m.d.sync += [number.eq(0), self.fault.eq(Fault.NONE)]
        for fault, of in faults:
            with m.If(~self.clear & (fault != Fault.NONE) & (self.fault == Fault.NONE)):
                m.d.sync += [self.fault.eq(fault), self.fault_number.eq(of)]


RECORDS = (
    Unit(
        name="core",
        config_type=CoreConfig,
        build=Core,
        summary="Trainium3: a core, HBM, SBUF, PSUM and four engines that run instructions",
        covered=Covered(CoreConfig(count_bits=14), 60),
        waves=(
            CLOCK,
            WaveGroup("program", r"(program__|idle|fault|number_|clear)"),
            WaveGroup("host", r"host_"),
            WaveGroup("counters", r"(busy|grants|waits)"),
            WaveGroup("TensorE", r"(tensor|main|background)\."),
            WaveGroup("VectorE", r"vector\."),
            WaveGroup("ScalarE", r"scalar\."),
            WaveGroup("DMA", r"dma\."),
        ),
    ),
)
