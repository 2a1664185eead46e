"""Unit records of TensorE's modes beside quad MX."""

from bitpath.rtl.common.unit import Covered, Judge, Unit, registered
from bitpath.rtl.trainium3.tensor.background_transpose import BackgroundTranspose
from bitpath.rtl.trainium3.tensor.config import (
    CorePeConfig,
    IssueConfig,
    LoadConfig,
    PassesConfig,
    SelectConfig,
    TransposeConfig,
)
from bitpath.rtl.trainium3.tensor.core_pe import CorePe
from bitpath.rtl.trainium3.tensor.fp32_passes import Fp32Passes
from bitpath.rtl.trainium3.tensor.sparse_select import SparseSelect
from bitpath.rtl.trainium3.tensor.tensor_issue import TensorIssue
from bitpath.rtl.trainium3.tensor.weight_load import WeightLoad

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
    Unit(
        name="background_transpose",
        room="trainium3/tensor",
        config_type=TransposeConfig,
        build=BackgroundTranspose,
        summary="Trainium3: rows to columns in two banks of registers, beside the array",
        covered=Covered(TransposeConfig(), 100),
        judges=(Judge(44, TransposeConfig(size=2), 40),),
    ),
    Unit(
        name="tensor_issue",
        room="trainium3/tensor",
        config_type=IssueConfig,
        build=TensorIssue,
        summary="Trainium3: instructions into the main, the background and the tiles' slots",
        covered=Covered(IssueConfig(cycle_bits=5), 300),
        judges=(Judge(45, IssueConfig(cycle_bits=5), 150),),
    ),
    Unit(
        name="core_pe",
        room="trainium3/tensor",
        config_type=CorePeConfig,
        build=CorePe,
        summary="Trainium3: MX, double row, narrow, FP32, sparse and transpose mode in one processing element",
        covered=Covered(CorePeConfig(pipeline=registered(2)), 400),
        judges=(Judge(43, CorePeConfig(), 150),),
    ),
    Unit(
        name="weight_load",
        room="trainium3/tensor",
        config_type=LoadConfig,
        build=WeightLoad,
        summary="Trainium3: stationary words of some rows loaded four or two columns a cycle, and swapped in",
        covered=Covered(LoadConfig(cols=18), 60),
        judges=(Judge(46, LoadConfig(), 30),),
    ),
)
