"""Registers whose reset no output shows, and registers that have none."""

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
    "tensix/core/row_packer": "request",
    "tensix/core/row_unpacker": "held need present written",
    "tensix/engine/tensix_engine": "exponents exponents following held held held_control present rows tile written",
    "tensix/matrix/cell_row": "operands operands",
    "tensix/unpack/tilise_address": "request start",
    "tensix/unpack/turn_buffer": "faces turns",
    "tensix/unpack/unpacker": "rows",
    "tensix/vector/sfp_stochastic_round": "results value",
    "trainium3/array/psum_column": "index mask mode random store value",
    "trainium3/array/psum_memory": "shown",
    "trainium3/core/tensor_slots": "banks held held held place",
    "trainium3/core/lane_engine": "column gathered held",
    "trainium3/core/lane_reader": "held",
    "trainium3/core/tensor_operands": "found held kept own words",
    "trainium3/dma/dma_mover": "held held",
    "trainium3/dma/dma_transpose": "at banks command counts credit held place row",
    "trainium3/dma/read_add_write": "beat forward kept",
    "trainium3/dot/pe": "moving partial second stationary",
    "trainium3/memory/access_walker": "command counts deltas element mosts reaches size tag",
    "trainium3/memory/dge": "base boundary command counts deltas ends high is_run kept low number nums partition present reach run step",
    "trainium3/memory/held_answer": "held",
    "trainium3/memory/indirect_offsets": "column command",
    "trainium3/memory/sbuf": "chosen partition",
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
