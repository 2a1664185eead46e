"""Units of rtl/aie_ml_v2/tile: addresses, data memory, registers, FIFOs and streams around the vector unit."""

from bitpath.rtl.aie_ml_v2.tile.agu import Agu
from bitpath.rtl.aie_ml_v2.tile.config import (
    AccumulatorRegistersConfig,
    AguConfig,
    DataMemoryConfig,
    LoadFifoConfig,
    StoreFifoConfig,
    StreamPortConfig,
    VectorRegistersConfig,
)
from bitpath.rtl.aie_ml_v2.tile.data_memory import DataMemory
from bitpath.rtl.aie_ml_v2.tile.fifos import LoadFifo, StoreFifo
from bitpath.rtl.aie_ml_v2.tile.registers import AccumulatorRegisters, VectorRegisters
from bitpath.rtl.aie_ml_v2.tile.stream_port import StreamPort
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup

UNITS = (
    Unit(
        name="agu",
        room="aie_ml_v2/tile",
        config_type=AguConfig,
        build=Agu,
        summary="AIE-ML v2: address of an access, its pointer and counters afterwards",
        covered=Covered(AguConfig(), 400),
        judges=(Judge(91, AguConfig(), 200),),
    ),
    Unit(
        name="data_memory",
        room="aie_ml_v2/tile",
        config_type=DataMemoryConfig,
        build=DataMemory,
        summary="AIE-ML v2: banks with two loads and a store a cycle, and outside ports",
        covered=Covered(DataMemoryConfig(), 400),
        judges=(Judge(92, DataMemoryConfig(round_robin=True), 200),),
        waves=(
            CLOCK,
            WaveGroup("core", r"(load__|store__|advance|stall|error|data__)"),
            WaveGroup("outside", r"(outside|answer)__"),
            WaveGroup("conflicts", r"(waiting|served|done|owed|goes)"),
            WaveGroup("loads", r"result_"),
            WaveGroup("banks", r"bank_"),
        ),
    ),
    Unit(
        name="vector_registers",
        room="aie_ml_v2/tile",
        config_type=VectorRegistersConfig,
        build=VectorRegisters,
        summary="AIE-ML v2: vector registers with F, G and E under all their names",
        covered=Covered(VectorRegistersConfig(), 150),
        judges=(Judge(93, VectorRegistersConfig(w_bits=8), 150),),
    ),
    Unit(
        name="accumulator_registers",
        room="aie_ml_v2/tile",
        config_type=AccumulatorRegistersConfig,
        build=AccumulatorRegisters,
        summary="AIE-ML v2: accumulators under all their names",
        covered=Covered(AccumulatorRegistersConfig(), 400),
        judges=(Judge(94, AccumulatorRegistersConfig(bm_bits=8), 150),),
    ),
    Unit(
        name="load_fifo",
        room="aie_ml_v2/tile",
        config_type=LoadFifoConfig,
        build=LoadFifo,
        summary="AIE-ML v2: elements of any size out of lines of memory",
        covered=Covered(LoadFifoConfig(), 100),
        judges=(Judge(95, LoadFifoConfig(latency=2), 100),),
        waves=(
            CLOCK,
            WaveGroup("request", r"(advance|request|enable|loads|line|next_|head|underflow|filled)"),
            WaveGroup("bytes", r"(data|now|full|rest|size|late|held|write)"),
            WaveGroup("element", r"(o|popped)$"),
        ),
    ),
    Unit(
        name="store_fifo",
        room="aie_ml_v2/tile",
        config_type=StoreFifoConfig,
        build=StoreFifo,
        summary="AIE-ML v2: elements of any size into lines of memory",
        covered=Covered(StoreFifoConfig(), 100),
        judges=(Judge(96, StoreFifoConfig(latency=1, late=1), 100),),
        waves=(
            CLOCK,
            WaveGroup("request", r"(advance|request|enable|next_|overflow|together|kept|room|leaves)"),
            WaveGroup("bytes", r"(data|now|full|line|mask|held|write)"),
            WaveGroup("store", r"store"),
        ),
    ),
    Unit(
        name="stream_port",
        room="aie_ml_v2/tile",
        config_type=StreamPortConfig,
        build=StreamPort,
        summary="AIE-ML v2: buffers between the core and the stream switch",
        covered=Covered(StreamPortConfig(inputs=2), 1000),
        judges=(Judge(97, StreamPortConfig(inputs=2), 300),),
    ),
)

CONTROL = ("registers",)
"""Files without arithmetic (sequencers, register files, memories, wiring), which are not mutated."""
