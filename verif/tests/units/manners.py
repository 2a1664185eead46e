"""How tests of resets drive each unit: its random inputs, the outputs that stand still, and the memories without a reset."""

from functools import cache
from itertools import repeat
from random import Random

import numpy as np
from amaranth.lib import data

from bitpath.golden.aie_ml_v2.tile.addresses import Address
from bitpath.golden.aie_ml_v2.tile.tile import Bundle
from bitpath.golden.aie_ml_v2.tile.transfers import Flush, Load, PointerAdd, Pop, StoreSrs
from bitpath.golden.tensix.declarations.encodings import BY_NAME, FIELDS, OPCODE_LOW, THREAD_FIELDS
from bitpath.golden.tensix.declarations.formats import Chip, Fidelity, Format
from bitpath.golden.tensix.matmul.product_program import DATUMS, Product, tile_program
from bitpath.golden.trainium3.declarations.dma import TRAFFIC_CLASSES
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.mac.mac_lane import FLOAT_LATENCY
from bitpath.rtl.aie_ml_v2.tile.fifos import LOAD_REQUEST
from bitpath.rtl.aie_ml_v2.vector.config import NativeMacConfig
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.tensix.core.config_file import THREADS, known_bits, written_by
from bitpath.rtl.tensix.core.decode import CONFIG, EXECUTED
from bitpath.rtl.tensix.core.decode import instruction_layout as tensix_instruction
from bitpath.rtl.tensix.dot.layouts import Dot16Config
from bitpath.rtl.tensix.matrix.mover import Move, MoveKind
from bitpath.rtl.tensix.pool.layouts import GmpoolColumnConfig
from bitpath.rtl.tensix.sfpu.layouts import SfpuRequest
from bitpath.rtl.trainium3.array.psum import PsumConfig, host_layout, write_layout
from bitpath.rtl.trainium3.array.psum_memory import PsumMemoryConfig
from bitpath.rtl.trainium3.array.systolic_array import CoreArrayConfig, Tiling
from bitpath.rtl.trainium3.core.config import CoreConfig, DmaEngineConfig
from bitpath.rtl.trainium3.core.core import PROGRAMS
from bitpath.rtl.trainium3.core.instruction import semaphores
from bitpath.rtl.trainium3.dma.dma_mover import DmaMoverConfig, move_layout
from bitpath.rtl.trainium3.dma.dma_queues import DmaQueuesConfig, descriptor_layout
from bitpath.rtl.trainium3.dma.dma_transpose import DmaTransposeConfig
from bitpath.rtl.trainium3.dma.token_bucket import ClassSettings
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.engine.instruction import EngineConfig, instruction_layout
from bitpath.rtl.trainium3.lanes.copy_lanes import CopyConfig
from bitpath.rtl.trainium3.memory.access_walker import WalkConfig
from bitpath.rtl.trainium3.memory.dge import DgeConfig
from bitpath.rtl.trainium3.memory.indirect_offsets import IndirectConfig, indirect_command
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import RmsNormQuantConfig, length_width
from bitpath.rtl.trainium3.tensor.background_transpose import TransposeConfig, row_layout
from bitpath.rtl.trainium3.tensor.tensor_issue import IssueConfig
from bitpath.rtl.trainium3.tensor.tensor_issue import instruction_layout as instruction_slots
from bitpath.verif.aie_ml_v2.core.encoding import encoded
from bitpath.verif.aie_ml_v2.core.programs import ProgramMaker
from bitpath.verif.aie_ml_v2.mac.mac import lane_operands, lane_valid, wide_operands
from bitpath.verif.kit.batches import places
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.traffic import Manners, Pace, drawn
from bitpath.verif.tensix.matrix.moving import WIDTHS, random_move
from bitpath.verif.tensix.sfpu.driving import operations
from bitpath.verif.tensix.sfpu.words import kinds as vector_kinds
from bitpath.verif.tensix.sfpu.words import random_word
from bitpath.verif.tensix.stream import programs as stream_programs
from bitpath.verif.trainium3.array import psum_memory
from bitpath.verif.trainium3.core.programs import maker
from bitpath.verif.trainium3.dma import dma_transpose
from bitpath.verif.trainium3.engine.programs import program_bits, random_program
from bitpath.verif.trainium3.lanes.copy_lanes import any_row
from bitpath.verif.trainium3.memory import dge
from bitpath.verif.trainium3.memory.access_walker import random_command

# Random inputs of the core's units for tests that drive any unit: instructions that change something, and few that are illegal.


CHIP = Chip.WORMHOLE


def _record(name: str, fields: dict[str, int]) -> dict[str, int]:
    opcode = BY_NAME[CHIP][name].opcode
    return dict.fromkeys(tensix_instruction(CHIP).members, 0) | fields | {"opcode": opcode}


def config_instruction(source: Random) -> int:
    """Return bits of an instruction of Wormhole's configuration file with its thread; values have their registers' bits."""
    name = source.choice(CONFIG)
    fields = {each.name: source.getrandbits(each.width) for each in BY_NAME[CHIP][name].fields}
    own = name == "SETC16"
    known = known_bits((THREAD_FIELDS if own else FIELDS)[CHIP])
    if "register" in fields:
        fields["register"] = source.choice([*known])
        mask = known[fields["register"]]
        if own:
            fields["value"] &= mask
        elif "data" in fields:
            fields["data"] &= mask >> 8 * int(name[-1]) & 0xFF
    return pack(written_by(CHIP), {"thread": source.randrange(THREADS), "instruction": _record(name, fields)})


def gate_instruction(source: Random) -> int:
    """Return bits of an instruction at Wormhole's wait gate; waits are frequent."""
    own = (name for name in EXECUTED if name in BY_NAME[CHIP])
    name = source.choice((*own, *["STALLWAIT", "SEMWAIT"] * 8))
    fields = {each.name: source.getrandbits(each.width) for each in BY_NAME[CHIP][name].fields}
    return pack(tensix_instruction(CHIP), _record(name, fields))


def vector_word(source: Random) -> int:
    """Return an instruction of Wormhole's Vector unit."""
    return random_word(source, CHIP, *source.choice(vector_kinds(CHIP)))


def vector_request(source: Random) -> int:
    """Return bits of a request of Wormhole's Vector unit; some schedule others."""
    macro = BY_NAME[CHIP]["SFPLOADMACRO"].opcode << OPCODE_LOW | source.getrandbits(OPCODE_LOW)
    word = macro if source.random() < 0.3 else vector_word(source)
    return pack(SfpuRequest, {"word": word, "address": source.getrandbits(10), "implied": 1})


@cache
def _words(thread: int) -> tuple[int, ...]:
    product = Product(chip=CHIP, fidelity=Fidelity.HIFI2, fmt=Format.BF16, out_format=Format.BF16)
    nothing = np.zeros(2 * DATUMS, np.uint8)
    return tile_program(product, nothing, nothing).words[thread]


def core_word(source: Random, thread: int) -> int:
    """Return a word of a product's program for a thread of Wormhole's core."""
    return source.choice(_words(thread))


# Units that take seconds to emit, to lint or to simulate whole in Python: the deep tests have them.


LARGE = (
    "packer",
    "systolic_array",
    "core_array",
    "core",
    "core_pe",
    "tensor_engine",
    "matrix_unit",
    "mover",
    "tensix_engine",
    "tensix_core",
    "sfpu_lane",
    "sfpu",
    "config_file",
    "mac_lane",
    "wide_lanes",
    "post_add",
    "vector_mac",
    "cascade",
    "aie_engine",
    "aie_tile",
    "nonlinear",
    "scalar_functions",
    "load_fifo",
    "store_fifo",
    "psum",
    "psum_memory",
    "sbuf",
    "stochastic_psum",
    "rmsnorm_quant",
    "exponential",
    "quantize_mx",
    "sparse_select",
    "copy_lanes",
    "engine_lane",
    "rand2_lane",
    "dma_cast",
    "dma_engine",
    "dma_mover",
    "dma_transpose",
)


# Registers whose reset no output shows, and registers that have none.


LOADED = "it is loaded before it is read"
EACH_CYCLE = "it is written in every cycle, and the valid bit that its reader looks at is reset"
EMPTY = "the stage in front of it is empty in the only cycle in which it counts"
UNSEEN = {
    **dict.fromkeys(("Dge.o__payload", "ReplayExpander.place", "ReplayExpander.executes", "TiliseAddress.row"), LOADED),
    **dict.fromkeys((f"DgeSide.{each}" for each in ("count", "empty", "address", "left", "partition")), LOADED),
    **dict.fromkeys(("MopExpander.word", "ReplayExpander.word"), LOADED),
    # A command clears it before it walks.
    "Dge.there": LOADED,
    # Every load has column 0 of the two rows.
    **dict.fromkeys(("WeightLoad.second_0", "WeightLoad.second_6"), LOADED),
    **dict.fromkeys(("DataMemory.read_0", "DataMemory.read_1", "LoadResult.fresh", "LoadResult.moved"), EACH_CYCLE),
    "MopExpander.after_mop": EMPTY,
}
"""Reasons by name, component and signal."""

RESET_LESS = {
    "aie_ml_v2/core/aie_tile": "exponents to",
    "aie_ml_v2/core/load_units": "held line",
    "aie_ml_v2/core/multiply_unit": "held later",
    "aie_ml_v2/core/store_unit": "acc control shift",
    "aie_ml_v2/engine/aie_engine": "address held held part tile",
    "aie_ml_v2/mac/mac_lane": "held held is_float multiplied_valid",
    "aie_ml_v2/mac/wide_lanes": "double_multiplied double_permuted",
    "aie_ml_v2/tile/data_memory": "collected first held odd out pair shown wide",
    "aie_ml_v2/vector/native_mac": "request",
    "aie_ml_v2/vector/vector_mac": "operands",
    "common/fp32/fp32_functions": "digits exponent left residue special step total",
    "common/pipeline/pipeline_registers": "held",
    "tensix/core/row_packer": "line request",
    "tensix/core/row_unpacker": "held need present written",
    "tensix/engine/tensix_engine": "exponents exponents following held held held_control present rows tile written",
    "tensix/matrix/cell_row": "operands operands",
    "tensix/unpack/tilise_address": "request start",
    "tensix/unpack/turn_buffer": "faces turns",
    "tensix/unpack/unpacker": "rows",
    "tensix/sfpu/sfp_stochastic_round": "results value",
    "tensix/sfpu/sfpu_lane": "moved product",
    "trainium3/array/psum_column": "index mask mode random store value",
    "trainium3/array/psum_memory": "shown",
    "trainium3/core/core": "number",
    "trainium3/core/tensor_slots": "banks held held held place",
    "trainium3/core/lane_engine": "column gathered held",
    "trainium3/core/lane_reader": "held",
    "trainium3/core/tensor_operands": "found kept own words",
    "trainium3/dma/dma_mover": "held held",
    "trainium3/dma/dma_transpose": "at banks command counts credit held place row",
    "trainium3/dma/read_add_write": "beat forward kept",
    "trainium3/dot/pe": "moving partial second stationary",
    "trainium3/memory/access_walker": "command counts deltas element mosts reaches size tag",
    "trainium3/memory/dge": "base boundary command counts deltas ends high is_run kept low number nums partition present reach run step",
    "trainium3/memory/indirect_offsets": "column command",
    "trainium3/memory/sbuf": "chosen held partition",
    "trainium3/rmsnorm_quant/lane": "element largest magnitude normalized number product result scale square total",
    "trainium3/rmsnorm_quant/rmsnorm_quant": "command index waited weight",
    "trainium3/tensor/background_transpose": "banks last_column last_row",
    "trainium3/tensor/wide_multiply_add": "before",
}
"""Signals that are declared without a reset, by file of the RTL. A valid bit or a count with a reset says when they are read:
`test_a_reset_in_the_middle_of_work` finds no output that shows what a reset left in them.
"""
READ_PORTS = {
    "AccumulatorFile.Memory",
    "Chain.SyncFIFOBuffered.Memory",
    "CoreDma.Memory",
    "LaneReader.SyncFIFOBuffered.Memory",
    "MemoryBank.Memory",
    "MemorySlice.Memory",
    "OperandRow.Memory",
    "PsumColumn.Memory",
    "Ring.Memory",
    "RmsNormQuantLane.Memory",
    "SbufPartition.Memory",
    "StreamPort.SyncFIFOBuffered.Memory",
    "TensixEngine.Memory",
}
"""Memories with a synchronous read port, whose word a reset leaves as it was, by component."""


SRAM = "SRAM has no reset; what a program reads it has written"
QUEUE = "the memory of a queue, whose counts are reset: nothing reads a word that was not written since"
TABLE = "a table that nothing writes"
RING = "the memory of a ring: words that are not valid are not read"


def row_command(source):
    """Rows of 1 to 8 elements with random other fields."""
    length_bits = length_width(RmsNormQuantConfig())
    return drawn(lambda: source.getrandbits(152) << length_bits | source.randint(1, 8))


def held(bits):
    return lambda source: repeat(source.getrandbits(bits))


def likely(source):
    return drawn(lambda: int(source.random() < 0.8))


def seldom(source):
    return drawn(lambda: int(source.random() < 0.1))


def loads_and_passes(source):
    """Consecutive short programs in every tiling; some results in BF16, also by stochastic rounding."""
    config = EngineConfig()
    layout = places(instruction_layout(config))
    modes = [1 << layout[f"destination.mode.{name}"][0] for name in ("bf16", "stochastic")]
    while True:
        tiling = source.choice(list(Tiling))
        for instruction in program_bits(config, tiling, random_program(config, tiling, 8, source)):
            yield instruction | sum(mode for mode in modes if source.random() < 0.8)


def short_moves(source):
    """Descriptors of at most 16 bytes, of any kind."""
    layout = move_layout(DmaMoverConfig())
    at, bits = places(layout)["length"]
    other = (1 << layout.size) - 1 & ~((1 << bits) - 1 << at)
    return drawn(lambda: source.getrandbits(layout.size) & other | source.randint(1, 16) << at)


def short_descriptors(source):
    """Descriptors of at most 63 bytes."""
    layout = descriptor_layout(DmaQueuesConfig())
    at, bits = places(layout)["length"]
    few = ((1 << bits) - 1 & ~63) << at
    return drawn(lambda: source.getrandbits(layout.size) & ~few)


def tight_classes(source):
    """Classes that stay; their buckets are empty after a few descriptors of at most 63 bytes, and full after some cycles."""
    limits = [
        {"limited": 1, "rate": source.getrandbits(11), "burst": source.getrandbits(6)} for _ in range(TRAFFIC_CLASSES)
    ]
    return repeat(pack(data.ArrayLayout(ClassSettings, TRAFFIC_CLASSES), limits))


def short_instructions(source):
    """Instructions of a few cycles, tiles and banks; half of them take the whole array."""
    layout = instruction_slots(IssueConfig())

    def instruction():
        fields, few = ({name: source.getrandbits(bits) for name, (_, bits) in places(layout).items()} for _ in range(2))
        fields |= {name: fields[name] & few[name] for name in ("banks", "tiles")} | {"cycles": few["cycles"] & 15}
        return pack(layout, fields | source.choice(({}, {"tiles": 0})))

    return drawn(instruction)


def transposes(source):
    """Small transposes, and now and then one that is refused."""
    return drawn(lambda: dma_transpose.random_command(DmaTransposeConfig(), source))


def walk_commands(source):
    """Patterns that stay in the partition, and now and then one that is rejected."""
    return drawn(lambda: random_command(WalkConfig(), source))


def tall_tiles(source):
    """Rows; every fourth one ends its tile, so that some tiles have too many."""
    layout = row_layout(TransposeConfig())
    last = 1 << places(layout)["last"][0]
    return drawn(lambda: source.getrandbits(layout.size) & ~source.choice((0, last)))


def copies(source):
    """Short copies, and now and then one that is rejected."""
    return drawn(lambda: dge.random_command(DgeConfig(), source))


def tiles(source):
    """Tiles of PSUM, and now and then one that is refused."""
    return drawn(lambda: psum_memory.random_command(PsumMemoryConfig(), source))


def near(layout):
    """Accesses to few addresses, so that what one wrote is read; an array of them has few that are valid."""
    at = {name: (1 << bits) - 1 << low for name, (low, bits) in places(layout).items()}
    far = sum(mask & mask << 1 for name, mask in at.items() if name.endswith("address.index"))
    valid = [mask for name, mask in at.items() if name.endswith(".valid")]
    return lambda source: drawn(
        lambda: source.getrandbits(layout.size) & ~far & ~sum(mask for mask in valid if source.random() < 0.8)
    )


def row_moves(source):
    """Moves of rows; half of them take several cycles."""
    kinds = (*3 * (MoveKind.TRNSPSRCB,), MoveKind.MOVA2D, MoveKind.MOVD2A, MoveKind.MOVD2B)
    return drawn(lambda: pack(Move, random_move(source, source.choice(kinds), Format.BF16, WIDTHS[0])))


def core_words(thread):
    """Words of a product's program for a thread."""
    return lambda source: drawn(lambda: core_word(source, thread))


def short_lists(source):
    """Lists of up to seven offsets, about half of them outside."""
    layout = places(indirect_command(IndirectConfig()))
    count, bits = layout["count"]
    few = ((1 << bits) - 1 & ~7) << count
    return drawn(lambda: source.getrandbits(sum(width for _, width in layout.values())) & ~few)


def short_rows(source):
    """Copies of one to seven elements in any mode."""
    return drawn(lambda: any_row(source, 7).command)


def short_fifos(source):
    """Requests to FIFOs of up to 31 bytes."""
    layout = places(LOAD_REQUEST)
    count, _ = layout["count"]
    few = 0b11100000 << count
    return drawn(lambda: source.getrandbits(LOAD_REQUEST.size) & ~few)


def core_program(engine):
    """Return what makes instructions of an engine's kinds, in its share."""
    config = CoreConfig()
    waits = [0] * semaphores(config)

    def words(source):
        while True:
            for each in maker.program(config, source, list(maker.kinds(config)), beside=True):
                if each.engine is engine:
                    yield each.word(config, source, waits)

    return words


SMALL_TILE = AieTileConfig(multiply=NativeMacConfig(mx9=False), accumulators=1)


def tile_bundles(source):
    """Random schedules, one after the other."""
    while True:
        yield from map(encoded, ProgramMaker(SMALL_TILE, source, "dense").program(40).bundles)


def meeting_bundles(source):
    """Pops and a flush, and in as many bundles operations that must not follow them in the next cycle."""
    before = Bundle(lda=Pop(to="x0", fifo=0), ldb=Pop(to="x1", fifo=1), st=Flush())
    loads = [Load(to=f"x{place}", address=Address(pointer=3 + place)) for place in range(2)]
    accesses = Bundle(lda=loads[0], ldb=loads[1], st=StoreSrs(source="bmll0", address=Address(pointer=5)))
    steps = [PointerAdd(address=Address(pointer=pointer, immediate=64)) for pointer in (1, 0)]
    words = [encoded(each) for each in (before, before, accesses, Bundle(lda=steps[0], st=steps[1]))]
    return drawn(lambda: source.choice(words))


def expanded(source):
    """Words of all kinds for the expanders."""
    shares = {"plain": 3, "mop 0": 3, "mop 1": 1, "mask": 1, "load": 0.5, "play": 1}
    return drawn(lambda: stream_programs.word(source, shares))


def modifiers(source):
    """Writes to registers of modifiers and of their base, on Wormhole."""
    return drawn(lambda: source.choice((2, *range(7, 56))) | source.getrandbits(16) << 8)


EXPANDED = {
    "i": expanded,
    "write": lambda source: drawn(
        lambda: (place := source.randrange(9)) | stream_programs.configuration(source, place) << 4
    ),
}
PE = Manners(
    # A PE's weights have no reset; a load and a swap must come first.
    settle=dict.fromkeys(("stationary_east", "moving_east", "partial_south"), 30),
    inputs={"advance": likely, "swap_west": likely},
)
ARRAY = Manners(
    keeps=f"operands: {SRAM}; skew: {RING}",
    inputs={"tiling": lambda source: repeat(Tiling.FULL.value)},
    valid_of={"result": "result_valid"},
    settle={"result": 100},
    cycles=200,
)
ALWAYS_BUSY = ("busy",)
MANNERS = {
    **dict.fromkeys(("quad_mx_dot", "reciprocal", "square_root", "reciprocal_square_root", "quantize_mx"), Manners()),
    **dict.fromkeys(("dot_product", "multiply_add", "dot_accumulator"), Manners()),
    "xorwow": Manners(still=("fault",)),
    **dict.fromkeys(("dot16", "gmpool_column", "unpacker", "packer", "mx_convert", "srs", "ups"), Manners()),
    **dict.fromkeys(("float_narrow", "float_widen", "float_floor", "fix_float", "float_fix"), Manners()),
    **dict.fromkeys(("pack_unpack", "mx_widen", "scalar_functions"), Manners()),
    **dict.fromkeys(("vector_alu", "vector_move", "shuffle"), Manners()),
    "nonlinear": Manners(keeps=TABLE),
    "scale_fetch": Manners(),
    "indirect_offsets": Manners(inputs={"i": short_lists}),
    "dge": Manners(inputs={"i": copies, "clear": seldom}, cycles=200),
    "sbuf": Manners(keeps=SRAM, cycles=200),
    "psum_memory": Manners(keeps=SRAM, inputs={f"command__{lane}": tiles for lane in range(2)}, cycles=200),
    "access_walker": Manners(inputs={"i": walk_commands, "clear": seldom}, cycles=200),
    "quad_mx_pe": PE,
    "bf16_pe": PE,
    "core_pe": PE,
    "weight_load": Manners(),
    **dict.fromkeys(
        ("psum", "stochastic_psum"),
        Manners(
            keeps=SRAM,
            inputs={
                "write": near(data.ArrayLayout(write_layout(PsumConfig()), PsumConfig().lanes)),
                "host": near(host_layout(PsumConfig())),
            },
            pace=Pace(gap=0.3, stall=0.7),
            cycles=200,
        ),
    ),
    "dma_cast": Manners(),
    "read_add_write": Manners(),
    "dma_mover": Manners(keeps=QUEUE, inputs={"i": short_moves}),
    "dma_queues": Manners(
        keeps=QUEUE,
        inputs={
            **{f"i__{queue}": short_descriptors for queue in range(4)},
            "classes": tight_classes,
            "free": likely,
        },
    ),
    "dma_engine": Manners(keeps=QUEUE, inputs={f"i__{queue}": short_moves for queue in range(4)}),
    "dma_transpose": Manners(keeps=QUEUE, inputs={"i": transposes}, cycles=200),
    "core": Manners(
        keeps=f"{SRAM}; {QUEUE}; skew: {RING}",
        inputs={port: core_program(engine) for engine, port in PROGRAMS.items()},
        # Every stream always has an instruction, and none is refused.
        still=("idle", "fault", "fault_engine", "fault_number", "illegal_tag"),
        cycles=300,
    ),
    "rmsnorm_quant": Manners(keeps=SRAM, inputs={"command": row_command}, still=("retired", *ALWAYS_BUSY), cycles=600),
    **dict.fromkeys(("activation2_lane", "engine_lane", "rand2_lane"), Manners()),
    "copy_lanes": Manners(inputs={"command": short_rows}),
    "fp32_passes": Manners(),
    "background_transpose": Manners(inputs={"i": tall_tiles}),
    "tensor_issue": Manners(inputs={"i": short_instructions}),
    "exponential": Manners(keeps=SRAM),
    "mac_lane": Manners(settle={"o": FLOAT_LATENCY}, inputs={"operands": lane_operands, "valid": lane_valid}),
    "wide_lanes": Manners(settle={"o": FLOAT_LATENCY}, inputs={"operands": wide_operands, "valid": lane_valid}),
    "cascade_link": Manners(keeps=QUEUE),
    "data_memory": Manners(keeps=SRAM, inputs={"advance": likely}),
    "stream_port": Manners(keeps=QUEUE, inputs={"advance": likely}, pace=Pace(gap=0.7, stall=0.7)),
    **dict.fromkeys(("vector_registers", "accumulator_registers", "store_fifo"), Manners()),
    "load_fifo": Manners(inputs={"request": short_fifos, "advance": likely}, cycles=150),
    # Addresses in the memory, so that not all accesses are refused.
    "issue_check": Manners(
        inputs={"bundle": meeting_bundles, "advance": likely}
        | dict.fromkeys(("lda_address", "ldb_address", "st_address", "pushed"), lambda _: repeat(0))
    ),
    "aie_tile": Manners(
        keeps=SRAM, inputs={"i": tile_bundles}, pace=Pace(gap=0.6), still=("fault", "fault_number"), cycles=150
    ),
    **dict.fromkeys(("systolic_array", "core_array"), ARRAY),
    "mop_expander": Manners(inputs=EXPANDED, still=("illegal",), cycles=150),
    **dict.fromkeys(
        ("replay_expander", "instruction_expander"),
        Manners(keeps="a program loads what it plays", inputs=EXPANDED, still=("illegal",), cycles=150),
    ),
    **dict.fromkeys(("rwc", "adc"), Manners(inputs={"write": modifiers})),
    "sfp_stochastic_round": Manners(cycles=300),
    "sfpu_lane": Manners(
        inputs={
            "operations": lambda source: drawn(
                lambda: operations(vector_word(source), CHIP, mode=source.randrange(1, 16))
            )
        }
    ),
    # Seeds let few instructions pass.
    "sfpu": Manners(
        inputs={"i": lambda source: drawn(lambda: vector_request(source))}, still=("displaced",), cycles=150
    ),
    "config_file": Manners(
        keeps="a program writes a GPR before it copies it",
        inputs={"i": lambda source: drawn(lambda: config_instruction(source))},
        still=("illegal",),
        cycles=150,
    ),
    "wait_gate": Manners(inputs={"instruction": lambda source: drawn(lambda: gate_instruction(source))}),
    "tensix_core": Manners(
        keeps=f"GPRs, replay buffers, registers and L1: {SRAM}",
        inputs={f"words_{thread}": core_words(thread) for thread in range(3)},
        still=(
            *(f"fault_{thread}" for thread in range(3)),
            *(f"fault_number_{thread}" for thread in range(3)),
            *ALWAYS_BUSY,
        ),
        cycles=150,
    ),
    **dict.fromkeys(("turn_buffer", "tilise_address"), Manners()),
    "matrix_unit": Manners(keeps=SRAM, still=ALWAYS_BUSY),
    # The rows that a move reads, and the banks that it fills, stay while it waits.
    "mover": Manners(
        inputs={
            "move": row_moves,
            "settled": lambda _: repeat(1),
            **{name: held(bits) for name, bits in (("src_a", 4864), ("src_b", 2432), ("dst", 4096))},
            **dict.fromkeys(("pointers_a", "pointers_b"), held(2)),
        },
        cycles=200,
    ),
    "vector_mac": Manners(keeps=SRAM, still=ALWAYS_BUSY),
    "cascade": Manners(keeps=f"{SRAM}; {QUEUE}"),
    "tensor_engine": Manners(
        keeps=f"operands and PSUM: {SRAM}; {QUEUE}; skew: {RING}",
        inputs={"instruction": loads_and_passes},
        # A row group takes random bits only in tilings that give it results; a short run does not reach all of them.
        still=(*ALWAYS_BUSY, *(f"random__{group}__ready" for group in range(4))),
        cycles=200,
    ),
}
REGISTERED = PipelineConfig(stages=2)
CONFIGS = {
    "dma_mover": DmaMoverConfig(descriptor_cycles=4),
    "dma_engine": DmaEngineConfig(mover=DmaMoverConfig(descriptor_cycles=4)),
    "copy_lanes": CopyConfig(interval=4),
    "quad_mx_dot": DotConfig(pipeline=REGISTERED),
    "quad_mx_pe": DotConfig(pipeline=REGISTERED),
    "core_array": CoreArrayConfig(cols=2, operand_depth=16),
    "aie_tile": SMALL_TILE,
    "dot16": Dot16Config(pipeline=REGISTERED),
    "gmpool_column": GmpoolColumnConfig(pipeline=REGISTERED),
}
"""Configurations with registers, for units whose default has none."""
