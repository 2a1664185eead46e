"""Index of all units by name, from the records beside their components."""

from difflib import get_close_matches

from bitpath.rtl.aie_ml_v2.cascade import cascade
from bitpath.rtl.aie_ml_v2.convert import mx_convert, srs, ups
from bitpath.rtl.aie_ml_v2.core import aie_tile, issue_check
from bitpath.rtl.aie_ml_v2.engine import aie_engine
from bitpath.rtl.aie_ml_v2.engine import command as aie_ml_v2_command
from bitpath.rtl.aie_ml_v2.floats import operators
from bitpath.rtl.aie_ml_v2.lanes import mx_widen, pack_unpack
from bitpath.rtl.aie_ml_v2.mac import mac_lane, post_add, wide_lanes
from bitpath.rtl.aie_ml_v2.mover import nonlinear, shuffle, vector_alu, vector_move
from bitpath.rtl.aie_ml_v2.scalar import scalar_functions
from bitpath.rtl.aie_ml_v2.tile import agu, data_memory, fifos, registers, stream_port
from bitpath.rtl.aie_ml_v2.vector import native_mac, operand_shapes, vector_mac
from bitpath.rtl.common.dot import dot_product
from bitpath.rtl.common.fp32 import fp32_functions
from bitpath.rtl.common.unit import Unit
from bitpath.rtl.tensix.core import (
    config_file,
    decode,
    matrix_operands,
    pack_address,
    tensix_core,
    unpack_address,
    vector_access,
    wait_gate,
)
from bitpath.rtl.tensix.dot import dot16
from bitpath.rtl.tensix.engine import command as tensix_command
from bitpath.rtl.tensix.engine import tensix_engine
from bitpath.rtl.tensix.matrix import matrix_unit, mover
from bitpath.rtl.tensix.pack import packer
from bitpath.rtl.tensix.pool import gmpool_column
from bitpath.rtl.tensix.sfpu import sfp_stochastic_round, sfpu, sfpu_lane
from bitpath.rtl.tensix.stream import counters, expanders
from bitpath.rtl.tensix.unpack import tilise_address, turn_buffer, unpacker
from bitpath.rtl.trainium3.array import psum, psum_memory, systolic_array
from bitpath.rtl.trainium3.core import core, dma_engine
from bitpath.rtl.trainium3.dma import dma_cast, dma_mover, dma_queues, dma_transpose, read_add_write
from bitpath.rtl.trainium3.dot import element_map, pe, quad_mx_dot
from bitpath.rtl.trainium3.engine import tensor_engine
from bitpath.rtl.trainium3.lanes import activation2_lane, copy_lanes, engine_lane, rand2_lane
from bitpath.rtl.trainium3.memory import access_walker, dge, indirect_offsets, sbuf, scale_fetch
from bitpath.rtl.trainium3.rmsnorm_quant import rmsnorm_quant
from bitpath.rtl.trainium3.tensor import (
    background_transpose,
    core_pe,
    fp32_passes,
    sparse_select,
    tensor_issue,
    weight_load,
)
from bitpath.rtl.trainium3.vector import exponential, quantize_mx, xorwow

MODULES = (
    quad_mx_dot,
    pe,
    element_map,
    fp32_passes,
    sparse_select,
    background_transpose,
    tensor_issue,
    core_pe,
    weight_load,
    systolic_array,
    psum,
    psum_memory,
    quantize_mx,
    xorwow,
    exponential,
    rmsnorm_quant,
    tensor_engine,
    dma_cast,
    read_add_write,
    dma_queues,
    dma_mover,
    dma_transpose,
    access_walker,
    scale_fetch,
    indirect_offsets,
    dge,
    sbuf,
    activation2_lane,
    rand2_lane,
    copy_lanes,
    engine_lane,
    dma_engine,
    core,
    fp32_functions,
    dot_product,
    decode,
    config_file,
    wait_gate,
    matrix_operands,
    unpack_address,
    pack_address,
    vector_access,
    tensix_core,
    dot16,
    unpacker,
    turn_buffer,
    tilise_address,
    packer,
    gmpool_column,
    matrix_unit,
    mover,
    tensix_command,
    tensix_engine,
    expanders,
    counters,
    sfp_stochastic_round,
    sfpu_lane,
    sfpu,
    mac_lane,
    post_add,
    wide_lanes,
    vector_mac,
    native_mac,
    operand_shapes,
    vector_alu,
    vector_move,
    shuffle,
    nonlinear,
    mx_convert,
    srs,
    ups,
    operators,
    pack_unpack,
    mx_widen,
    scalar_functions,
    cascade,
    aie_ml_v2_command,
    aie_engine,
    agu,
    data_memory,
    registers,
    fifos,
    stream_port,
    issue_check,
    aie_tile,
)
"""Files that hold components with records of units; add a new one here."""

UNITS: dict[str, Unit] = {unit.name: unit for module in MODULES for unit in module.RECORDS}


def find_unit(name: str) -> Unit:
    """Return the unit of that name; ValueError lists the known names."""
    if name not in UNITS:
        what = f"unknown unit {name!r}" if name else "no unit named"
        meant = "".join(f"; did you mean {close!r}?" for close in get_close_matches(name.lower(), UNITS, 1))
        raise ValueError(f"{what}, known are {', '.join(UNITS)}{meant}")
    return UNITS[name]
