"""One record for each machine: the flows that all commands take."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType

from bitpath.sim.engine.options import MACHINES
from bitpath.sim.flows import (
    aie_ml_v2_matmul,
    aie_ml_v2_tile,
    tensix_matmul,
    tensix_program,
    tensix_relu_accumulate,
    trainium3_core,
    trainium3_layer,
    trainium3_matmul,
    trainium3_modes,
    trainium3_rmsnorm_quant,
    trainium3_softmax,
)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Flows that the commands use for a machine.

    Attributes
    ----------
    matmul : the matmul flow, a module with FORMATS, FORMAT_NAMES, SIZES, SLICES, `formats_of`, `engine_for` and `Run`.
    modes : a matmul flow of further formats, which run when they are named; or None.
    flows : other flows by name, modules with FORMATS, SIZES, SLICES, `engine_for`, `operands` and `Run`.
    """

    matmul: ModuleType
    modes: ModuleType | None = None
    flows: Mapping[str, ModuleType] = field(default_factory=dict)


TRAINIUM3 = Machine(
    matmul=trainium3_matmul,
    modes=trainium3_modes,
    flows={
        "rmsnorm_quant": trainium3_rmsnorm_quant,
        "layer": trainium3_layer,
        "core": trainium3_core,
        "softmax": trainium3_softmax,
    },
)
TENSIX = Machine(
    matmul=tensix_matmul,
    flows={"relu_accumulate": tensix_relu_accumulate, "program": tensix_program},
)
AIE_ML_V2 = Machine(
    matmul=aie_ml_v2_matmul,
    flows={"tile": aie_ml_v2_tile},
)
RECORDS = dict(zip(MACHINES, (TRAINIUM3, TENSIX, AIE_ML_V2), strict=True))
