"""One record for each machine: the flows, numerics and explanations that all commands take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from types import ModuleType

from bitpath.golden.aie_ml_v2.declarations import choices as aie_ml_v2_choices
from bitpath.golden.aie_ml_v2.declarations import numerics as aie_ml_v2_numerics
from bitpath.golden.formats.presets import Preset
from bitpath.golden.formats.sources import Choice
from bitpath.golden.nki.declarations import standing as nki_standing
from bitpath.golden.tensix.declarations import choices as tensix_choices
from bitpath.golden.tensix.declarations import numerics as tensix_numerics
from bitpath.golden.trainium3.declarations import (
    core,
    core_rates,
    dma,
    dtypes,
    engines,
    gpsimd,
    memory,
    quad_mx,
    rates,
    tensor,
    vector,
)
from bitpath.sim.engine.machines import MACHINES
from bitpath.sim.flows import (
    aie_ml_v2_explain,
    aie_ml_v2_matmul,
    aie_ml_v2_tile,
    tensix_explain,
    tensix_matmul,
    tensix_program,
    tensix_relu_accumulate,
    trainium3_core,
    trainium3_explain,
    trainium3_layer,
    trainium3_matmul,
    trainium3_modes,
    trainium3_rmsnorm_quant,
    trainium3_softmax,
)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Flows, presets and texts that the commands use for a machine.

    Attributes
    ----------
    matmul : the matmul flow, a module with FORMATS, FORMAT_NAMES, SIZES, SLICES, `formats_of`, `engine_for` and `Run`.
    modes : a matmul flow of further formats, which run when they are named; or None.
    flows : other flows by name, modules with FORMATS, SIZES, SLICES, `engine_for`, `operands` and `Run`.
    explain : the module whose texts ``bitpath explain`` prints.
    presets : numerics by the names that ``bitpath explain --preset`` takes.
    numerics : tables of ``bitpath numerics``: presets that share a dataclass, or choices.
    """

    matmul: ModuleType
    modes: ModuleType | None = None
    flows: Mapping[str, ModuleType] = field(default_factory=dict)
    explain: ModuleType
    presets: Mapping[str, Preset]
    numerics: Sequence[Sequence[Preset] | Sequence[Choice]]


TRAINIUM3 = Machine(
    matmul=trainium3_matmul,
    modes=trainium3_modes,
    flows={
        "rmsnorm_quant": trainium3_rmsnorm_quant,
        "layer": trainium3_layer,
        "core": trainium3_core,
        "softmax": trainium3_softmax,
    },
    explain=trainium3_explain,
    presets=quad_mx.PRESETS,
    numerics=(
        (*quad_mx.PRESETS.values(),),
        quad_mx.CHOICES,
        *(tuple(group) for _, group in groupby(vector.PRESETS.values(), key=lambda preset: type(preset.numerics))),
        vector.CHOICES,
        dtypes.CHOICES,
        (dma.TRAINIUM3_DMA,),
        dma.CHOICES,
        *(tuple(group) for _, group in groupby(memory.PRESETS.values(), key=lambda preset: type(preset.numerics))),
        memory.CHOICES,
        *(tuple(group) for _, group in groupby(tensor.PRESETS.values(), key=lambda preset: type(preset.numerics))),
        tensor.CHOICES,
        engines.CHOICES,
        gpsimd.CHOICES,
        (rates.TRAINIUM2, rates.TRAINIUM3),
        (core_rates.CORE_RATES,),
        core_rates.CHOICES,
        core.CHOICES,
        nki_standing.CHOICES,
    ),
)
TENSIX = Machine(
    matmul=tensix_matmul,
    flows={"relu_accumulate": tensix_relu_accumulate, "program": tensix_program},
    explain=tensix_explain,
    presets=tensix_numerics.PRESETS,
    numerics=((*tensix_numerics.PRESETS.values(),), tensix_choices.CHOICES),
)
AIE_ML_V2 = Machine(
    matmul=aie_ml_v2_matmul,
    flows={"tile": aie_ml_v2_tile},
    explain=aie_ml_v2_explain,
    presets=aie_ml_v2_numerics.PRESETS,
    numerics=((*aie_ml_v2_numerics.PRESETS.values(),), aie_ml_v2_choices.CHOICES),
)
RECORDS = dict(zip(MACHINES, (TRAINIUM3, TENSIX, AIE_ML_V2), strict=True))
