"""A NeuronCore: HBM, SBUF and PSUM, four engines, and the instructions that they run.

    program_tensor -> wait -> TensorE: SBUF -> array -> PSUM
    program_vector -> wait -> VectorE: SBUF, PSUM -> lanes -> SBUF, PSUM
    program_scalar -> wait -> ScalarE: the same
    program_dma    -> wait -> DMA: HBM <-> SBUF, HBM -> HBM
                       ^
    semaphores --------+  one of each engine and of each DMA queue: instructions that have ended

Ref: "Trainium3 Architecture Guide for NKI" and "NKI Performance Guide", AWS Neuron documentation: each engine runs an instruction
stream of its own, and an instruction waits until semaphores reach values; a semaphore belongs to an engine or to a DMA queue, and
counts what has ended. Chosen: the code of a wait, streams without a memory of instructions, a stream for DMA in place of triggers in
the engines' streams, and 1 for a transfer in place of 1 from each DMA engine.
"""

from functools import reduce
from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, Covered, Unit, WaveGroup
from bitpath.rtl.trainium3.array.psum_memory import PsumMemory
from bitpath.rtl.trainium3.array.systolic_array import SystolicArray, Tiling
from bitpath.rtl.trainium3.core.config import LANE_ENGINES, CoreConfig
from bitpath.rtl.trainium3.core.core_dma import CoreDma, host_members
from bitpath.rtl.trainium3.core.instruction import Engine, instruction_layout
from bitpath.rtl.trainium3.core.lane_engine import LaneEngine
from bitpath.rtl.trainium3.core.tensor_slots import BackgroundSlot, MainSlots, TensorSlots
from bitpath.rtl.trainium3.dot.element_map import MapTable
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.memory.sbuf import Sbuf

PROGRAMS = {engine: f"program_{engine.name.lower()}" for engine in Engine}
"""Port of each engine's instruction stream."""


class Core(wiring.Component):
    """Takes an instruction stream for each engine, each instruction when its engine is free and its semaphores are high enough.

    Engines run beside each other, and an engine's instructions start in their order. DMA takes an instruction while others are
    under way: its queues order descriptors. An instruction that ends adds 1 to the semaphore of its engine or DMA queue, in the
    order of the stream: one that ends before an earlier one counts with that one. A refused instruction reads and writes
    nothing, and counts; the first one's fault, engine and number stay.

    Semaphores do not wrap: the host sends ``clear`` before an engine's or a queue's ``2**count_bits``-th instruction.

    Parameters
    ----------
    config : sizes of the memories and of the array.

    Members
    -------
    program_tensor, program_vector, program_scalar, program_dma : In(stream of instruction_layout)
    idle : Out(1), no instruction is inside
    fault : Out(Fault), fault_engine : Out(Engine), fault_number : Out, of the first refused instruction since reset or
        ``clear``: numbers count from 0 in each stream
    clear : In(1), while ``idle``: clears ``fault``, semaphores and counters; the next instruction's number is 0
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
                **{port: In(stream.Signature(instruction_layout(config, engine))) for engine, port in PROGRAMS.items()},
                "idle": Out(1),
                "fault": Out(Fault),
                "fault_engine": Out(Engine),
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
        m.d.comb += [part.clear.eq(self.clear) for part in (sbuf, psum, dma)]
        m.d.comb += self.waits.eq(sbuf.waits)
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
        main = instantiate(m, platform, "main", MainSlots, self.config)
        background = instantiate(m, platform, "background", BackgroundSlot, self.config)
        slots = [*zip(main.i, main.command, strict=True), (background.i, background.command)]
        for number, (i, command) in enumerate(slots):
            connect(m, tensor.o[number], i)
            connect(m, command, psum.command[number])
        for port, (read, words) in enumerate(zip(main.read, main.data, strict=True)):
            connect(m, read, sbuf.tile_read[port])
            m.d.comb += words.eq(Value.cast(sbuf.data[port].p))
        connect(m, background.read, sbuf.read[0])
        connect(m, background.o, psum.i[len(psum.i) - 1])
        m.d.comb += [
            background.data.eq(Value.cast(sbuf.data[len(main.read)].p)),
            # Main slots go first in their banks, which differ: no result waits.
            array.advance.eq(1),
            array.tiling.eq(Mux(tensor.tiled, Tiling.QUARTERS, Tiling.FULL)),
            array.write.eq(main.write),
            main.tiled.eq(tensor.tiled),
        ]
        for number, taken in enumerate(main.taken):
            result = psum.i[number]
            m.d.comb += [
                array.control[number].eq(main.control[number]),
                result.valid.eq(array.result_valid[number]),
                Value.cast(result.p).eq(Value.cast(array.result[number])),
                taken.eq(result.valid & result.ready),
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
            connect(m, lane.read, sbuf.read[port - self.config.sbuf.tile_readers])
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
        """Give each stream's instructions to their engine, and keep the first fault."""
        config = self.config
        taken = {engine: Signal(config.count_bits, name=f"taken_{engine.name.lower()}") for engine in Engine}
        busy = {engine: component.busy for engine, component in engines.items()}
        semaphores = [
            self._tensor_semaphore(m, engines[Engine.TENSOR], taken[Engine.TENSOR]),
            *(taken[engine] - busy[engine] for engine in (Engine.VECTOR, Engine.SCALAR)),
            *engines[Engine.DMA].ended,
        ]
        reached = [Signal(config.count_bits, name=f"semaphore_{number}") for number in range(len(semaphores))]
        m.d.comb += [own.eq(value) for own, value in zip(reached, semaphores, strict=True)]
        ports = {engine: getattr(self, port) for engine, port in PROGRAMS.items()}
        m.d.comb += self.idle.eq(~Cat(*(port.valid for port in ports.values()), *busy.values()).any())
        with m.If(self.clear):
            m.d.sync += self.fault.eq(Fault.NONE)
        for engine, component in engines.items():
            port = ports[engine]
            may, takes = Signal(name=f"may_{engine.name.lower()}"), Signal(name=f"takes_{engine.name.lower()}")
            m.d.comb += [
                may.eq(Cat(own >= wait for own, wait in zip(reached, port.p.waits, strict=True)).all()),
                component.i.valid.eq(port.valid & may),
                component.i.p.eq(port.p.body),
                port.ready.eq(component.i.ready & may),
                takes.eq(port.valid & port.ready),
            ]
            with m.If(self.clear):
                m.d.sync += taken[engine].eq(0)
            with m.Elif(takes):
                m.d.sync += taken[engine].eq(taken[engine] + 1)
            # DMA may refuse an instruction in the cycle that takes it.
            number = taken[engine] - (~takes if engine is Engine.DMA else 1)
            with m.If(~self.clear & (component.fault != Fault.NONE) & (self.fault == Fault.NONE)):
                m.d.sync += [
                    self.fault.eq(component.fault),
                    self.fault_engine.eq(engine),
                    self.fault_number.eq(number),
                ]

    def _tensor_semaphore(self, m: Module, tensor: Any, taken: Value) -> Value:
        """Return TensorE's semaphore: the number of the oldest instruction inside, since slots may end in any order."""
        numbers = []
        for slot, given in enumerate(tensor.o):
            number = Signal(self.config.count_bits, name=f"number_{slot}", reset_less=True)
            with m.If(given.valid & given.ready):
                m.d.sync += number.eq(taken - 1)
            # An idle slot has none: the number behind all.
            numbers.append(Mux(given.ready, taken - tensor.busy, number))
        return reduce(lambda one, other: Mux(one < other, one, other), numbers)


RECORDS = (
    Unit(
        name="core",
        config_type=CoreConfig,
        build=Core,
        summary="Trainium3: a core, HBM, SBUF, PSUM and four engines that run instructions",
        covered=Covered(CoreConfig(count_bits=14), 60),
        waves=(
            CLOCK,
            WaveGroup("program", r"(program_\w+?__(valid|ready)|idle|fault|semaphore_|clear)"),
            WaveGroup("instructions", r"program_"),
            WaveGroup("host", r"host_"),
            WaveGroup("counters", r"(busy|grants|waits)"),
            WaveGroup("TensorE", r"(tensor|main|background)\."),
            WaveGroup("VectorE", r"vector\."),
            WaveGroup("ScalarE", r"scalar\."),
            WaveGroup("DMA", r"dma\."),
        ),
    ),
)
