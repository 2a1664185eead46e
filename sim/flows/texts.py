"""One record for each machine of its numerics: presets by name, and their tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from bitpath.golden.aie_ml_v2.declarations import choices as aie_ml_v2_choices
from bitpath.golden.aie_ml_v2.declarations import numerics as aie_ml_v2_numerics
from bitpath.golden.formats.sources import Choice, Preset
from bitpath.golden.nki.declarations import errors as nki_errors
from bitpath.golden.tensix.declarations import choices as tensix_choices
from bitpath.golden.tensix.declarations import numerics as tensix_numerics
from bitpath.golden.trainium3.declarations import (
    core,
    dma,
    dtypes,
    engines,
    memory,
    quad_mx,
    rates,
    tensor,
    vector,
)
from bitpath.sim.engine.options import MACHINES


@dataclass(frozen=True, kw_only=True)
class Texts:
    """Numerics of a machine.

    Attributes
    ----------
    presets : numerics by the names that ``bitpath explain --preset`` takes.
    numerics : tables of ``bitpath numerics``: presets that share a dataclass, or choices.
    """

    presets: Mapping[str, Preset]
    numerics: Sequence[Sequence[Preset] | Sequence[Choice]]


TRAINIUM3 = Texts(
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
        vector.GPSIMD_CHOICES,
        (rates.TRAINIUM2, rates.TRAINIUM3),
        (rates.CORE_RATES,),
        rates.CHOICES,
        core.CHOICES,
        nki_errors.CHOICES,
    ),
)
TENSIX = Texts(
    presets=tensix_numerics.PRESETS,
    numerics=((*tensix_numerics.PRESETS.values(),), tensix_choices.CHOICES),
)
AIE_ML_V2 = Texts(
    presets=aie_ml_v2_numerics.PRESETS,
    numerics=((*aie_ml_v2_numerics.PRESETS.values(),), aie_ml_v2_choices.CHOICES),
)
TEXTS = dict(zip(MACHINES, (TRAINIUM3, TENSIX, AIE_ML_V2), strict=True))
