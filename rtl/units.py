"""Index of all units by name, from the unit records of the rooms."""

from difflib import get_close_matches

from bitpath.rtl.aie_ml_v2.cascade import units as aie_ml_v2_cascade
from bitpath.rtl.aie_ml_v2.convert import units as aie_ml_v2_convert
from bitpath.rtl.aie_ml_v2.core import units as aie_ml_v2_core
from bitpath.rtl.aie_ml_v2.engine import units as aie_ml_v2_engine
from bitpath.rtl.aie_ml_v2.floats import units as aie_ml_v2_floats
from bitpath.rtl.aie_ml_v2.lanes import units as aie_ml_v2_lanes
from bitpath.rtl.aie_ml_v2.mac import units as aie_ml_v2_mac
from bitpath.rtl.aie_ml_v2.mover import units as aie_ml_v2_mover
from bitpath.rtl.aie_ml_v2.scalar import units as aie_ml_v2_scalar
from bitpath.rtl.aie_ml_v2.tile import units as aie_ml_v2_tile
from bitpath.rtl.aie_ml_v2.vector import units as aie_ml_v2_vector
from bitpath.rtl.common.fp32 import units as common_fp32
from bitpath.rtl.common.unit import Unit
from bitpath.rtl.tensix.core import units as tensix_core
from bitpath.rtl.tensix.dot import units as tensix_dot
from bitpath.rtl.tensix.engine import units as tensix_engine
from bitpath.rtl.tensix.matrix import units as tensix_matrix
from bitpath.rtl.tensix.pack import units as tensix_pack
from bitpath.rtl.tensix.pool import units as tensix_pool
from bitpath.rtl.tensix.stream import units as tensix_stream
from bitpath.rtl.tensix.unpack import units as tensix_unpack
from bitpath.rtl.tensix.vector import units as tensix_vector
from bitpath.rtl.trainium3.array import units as trainium3_array
from bitpath.rtl.trainium3.core import units as trainium3_core
from bitpath.rtl.trainium3.dma import units as trainium3_dma
from bitpath.rtl.trainium3.dot import units as trainium3_dot
from bitpath.rtl.trainium3.engine import units as trainium3_engine
from bitpath.rtl.trainium3.lanes import units as trainium3_lanes
from bitpath.rtl.trainium3.memory import units as trainium3_memory
from bitpath.rtl.trainium3.rmsnorm_quant import units as trainium3_rmsnorm_quant
from bitpath.rtl.trainium3.tensor import units as trainium3_tensor
from bitpath.rtl.trainium3.vector import units as trainium3_vector

ROOMS = (
    trainium3_dot,
    trainium3_tensor,
    trainium3_array,
    trainium3_vector,
    trainium3_rmsnorm_quant,
    trainium3_engine,
    trainium3_dma,
    trainium3_memory,
    trainium3_lanes,
    trainium3_core,
    common_fp32,
    tensix_core,
    tensix_dot,
    tensix_unpack,
    tensix_pack,
    tensix_pool,
    tensix_matrix,
    tensix_engine,
    tensix_stream,
    tensix_vector,
    aie_ml_v2_mac,
    aie_ml_v2_vector,
    aie_ml_v2_mover,
    aie_ml_v2_convert,
    aie_ml_v2_floats,
    aie_ml_v2_lanes,
    aie_ml_v2_scalar,
    aie_ml_v2_cascade,
    aie_ml_v2_engine,
    aie_ml_v2_tile,
    aie_ml_v2_core,
)
"""Modules that declare units; add a new room here."""

UNITS: dict[str, Unit] = {unit.name: unit for room in ROOMS for unit in room.UNITS}


def find_unit(name: str) -> Unit:
    """Return the unit of that name; ValueError lists the known names."""
    if name not in UNITS:
        what = f"unknown unit {name!r}" if name else "no unit named"
        meant = "".join(f"; did you mean {close!r}?" for close in get_close_matches(name.lower(), UNITS, 1))
        raise ValueError(f"{what}, known are {', '.join(UNITS)}{meant}")
    return UNITS[name]


def control_files() -> frozenset[str]:
    """Return the files without arithmetic, for example "rtl/tensix/matrix/cell_row"; they have no mutants."""
    return frozenset(f"rtl/{room.UNITS[0].room}/{name}" for room in ROOMS for name in getattr(room, "CONTROL", ()))
