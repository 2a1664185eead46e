"""Table of all formal properties of the project by name."""

from bitpath.verif.aie_ml_v2.cascade import properties as cascade
from bitpath.verif.aie_ml_v2.convert import properties as aie_ml_v2_convert
from bitpath.verif.aie_ml_v2.core import properties as aie_ml_v2_core
from bitpath.verif.aie_ml_v2.engine import properties as aie_ml_v2_engine
from bitpath.verif.aie_ml_v2.floats import properties as aie_ml_v2_floats
from bitpath.verif.aie_ml_v2.lanes import properties as aie_ml_v2_elements
from bitpath.verif.aie_ml_v2.mac import properties as mac
from bitpath.verif.aie_ml_v2.mover import properties as aie_ml_v2_mover
from bitpath.verif.aie_ml_v2.scalar import properties as aie_ml_v2_scalar
from bitpath.verif.aie_ml_v2.tile import properties as aie_ml_v2_tile
from bitpath.verif.aie_ml_v2.vector import properties as aie_ml_v2_vector
from bitpath.verif.common.arithmetic import properties as arithmetic
from bitpath.verif.common.dot import properties as dot
from bitpath.verif.common.fp32 import properties as fp32
from bitpath.verif.common.pipeline import properties as pipeline
from bitpath.verif.formal.property import Property
from bitpath.verif.tensix.core import properties as tensix_core
from bitpath.verif.tensix.dot import properties as tensix_dot
from bitpath.verif.tensix.engine import properties as tensix_engine
from bitpath.verif.tensix.matrix import properties as matrix
from bitpath.verif.tensix.pack import properties as pack
from bitpath.verif.tensix.pool import properties as pool
from bitpath.verif.tensix.sfpu import properties as tensix_sfpu
from bitpath.verif.tensix.stream import properties as tensix_stream
from bitpath.verif.tensix.unpack import properties as unpack
from bitpath.verif.trainium3.array import properties as array
from bitpath.verif.trainium3.dma import properties as trainium3_dma
from bitpath.verif.trainium3.dot import properties as trainium3_dot
from bitpath.verif.trainium3.lanes import properties as trainium3_lanes
from bitpath.verif.trainium3.memory import properties as trainium3_memory
from bitpath.verif.trainium3.rmsnorm_quant import properties as rmsnorm_quant
from bitpath.verif.trainium3.tensor import properties as trainium3_tensor
from bitpath.verif.trainium3.vector import properties as trainium3_vector

MODULES = (
    arithmetic,
    dot,
    fp32,
    pipeline,
    trainium3_dot,
    array,
    trainium3_tensor,
    trainium3_vector,
    trainium3_memory,
    rmsnorm_quant,
    trainium3_dma,
    trainium3_lanes,
    tensix_core,
    tensix_dot,
    matrix,
    unpack,
    pack,
    pool,
    tensix_engine,
    tensix_stream,
    tensix_sfpu,
    mac,
    aie_ml_v2_convert,
    aie_ml_v2_floats,
    aie_ml_v2_elements,
    aie_ml_v2_scalar,
    cascade,
    aie_ml_v2_vector,
    aie_ml_v2_core,
    aie_ml_v2_mover,
    aie_ml_v2_tile,
    aie_ml_v2_engine,
)
PROPERTIES: dict[str, Property] = {each.name: each for module in MODULES for each in module.PROPERTIES}
