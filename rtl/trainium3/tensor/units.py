"""Unit records of TensorE's modes beside quad MX."""

from bitpath.rtl.common.unit import Covered, Judge, Unit
from bitpath.rtl.trainium3.tensor.config import PassesConfig
from bitpath.rtl.trainium3.tensor.fp32_passes import Fp32Passes

UNITS = (
    Unit(
        name="fp32_passes",
        room="trainium3/tensor",
        config_type=PassesConfig,
        build=Fp32Passes,
        summary="Trainium3: FP32 columns as the halves of four passes, or rounded to TF32",
        covered=Covered(PassesConfig(), 400),
        judges=(Judge(2, PassesConfig()),),
    ),
)
