"""Unit records of TensorE's modes beside quad MX."""

from bitpath.rtl.common.unit import Covered, Judge, Unit
from bitpath.rtl.trainium3.tensor.config import PassesConfig, SelectConfig
from bitpath.rtl.trainium3.tensor.fp32_passes import Fp32Passes
from bitpath.rtl.trainium3.tensor.sparse_select import SparseSelect

UNITS = (
    Unit(
        name="fp32_passes",
        room="trainium3/tensor",
        config_type=PassesConfig,
        build=Fp32Passes,
        summary="Trainium3: FP32 columns as the halves of four passes, or rounded to TF32",
        covered=Covered(PassesConfig(), 400),
        judges=(Judge(41, PassesConfig()),),
    ),
    Unit(
        name="sparse_select",
        room="trainium3/tensor",
        config_type=SelectConfig,
        build=SparseSelect,
        summary="Trainium3: the moving elements that the tags of four rows of PEs select",
        covered=Covered(SelectConfig(), 100),
        judges=(Judge(42, SelectConfig(cols=1)),),
    ),
)
