"""Unit records of the systolic array and PSUM."""

from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup, registered
from bitpath.rtl.trainium3.array.config import ArrayConfig, CoreArrayConfig, PsumConfig, PsumMemoryConfig
from bitpath.rtl.trainium3.array.psum import Psum, StochasticPsum
from bitpath.rtl.trainium3.array.psum_memory import PsumMemory
from bitpath.rtl.trainium3.array.systolic_array import SystolicArray
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.tensor.config import CorePeConfig

UNITS = (
    Unit(
        name="systolic_array",
        room="trainium3/array",
        config_type=ArrayConfig,
        build=SystolicArray,
        summary="Trainium3: rows x cols PEs, skewed and de-skewed, row tiling",
        covered=Covered(ArrayConfig(operand_depth=512, dot=DotConfig(pipeline=registered(2))), 24),
        judges=(Judge(19, ArrayConfig()),),
    ),
    Unit(
        name="core_array",
        room="trainium3/array",
        config_type=CoreArrayConfig,
        build=SystolicArray,
        summary="Trainium3: the same array with PEs of all modes and fast weight load",
        covered=Covered(CoreArrayConfig(operand_depth=64, dot=CorePeConfig(pipeline=registered(2))), 4),
        judges=(Judge(47, CoreArrayConfig(rows=2, cols=2, operand_depth=64, dot=CorePeConfig(sparse=False)), 3),),
    ),
    Unit(
        name="psum",
        room="trainium3/array",
        config_type=PsumConfig,
        build=Psum,
        summary="Trainium3: PSUM banks, FP32 or BF16, overwrite or accumulate",
        covered=Covered(PsumConfig(cols=2, bank_depth=16), 1000),
    ),
    Unit(
        name="stochastic_psum",
        room="trainium3/array",
        config_type=PsumConfig,
        build=StochasticPsum,
        summary="Trainium3: PSUM with the generators of its stochastic rounding",
        covered=Covered(PsumConfig(cols=10, lanes=2, banks=2, bank_depth=16), 200),
        judges=(Judge(12, PsumConfig()),),
        waves=(
            CLOCK,
            WaveGroup("writes", r"write\b"),
            WaveGroup("host", r"(host|data)__"),
            WaveGroup("generators", r"(load__|shown|states|xorwow_)"),
            WaveGroup("first column", r"psum\.columns_0\.(psum_columns_0\.)*psum_column_0\."),
            WaveGroup("banks", r"psum\."),
        ),
    ),
    Unit(
        name="psum_memory",
        room="trainium3/array",
        config_type=PsumMemoryConfig,
        build=PsumMemory,
        summary="Trainium3: PSUM at byte addresses, two lanes of TensorE and the engines",
        covered=Covered(PsumMemoryConfig(), 60),
        judges=(Judge(36, PsumMemoryConfig(), 40),),
        waves=(
            CLOCK,
            WaveGroup("main", r"(command__0|i__0|walker_main|.*_main)"),
            WaveGroup("background", r"(command__1|i__1|walker_background|.*_background)"),
            WaveGroup("engines", r"(access_|data__|answer_|shown_)"),
            WaveGroup("faults and waits", r"(refused|fault|clear|waits)"),
            WaveGroup("banks", r"(chosen|serves|present|columns)_"),
        ),
    ),
)

CONTROL = (
    "systolic_array",
    "core_edge",
    "operand_row",
    "psum",
)
"""Files without arithmetic: sequencers, register files, memories and wiring. They have no mutants."""
