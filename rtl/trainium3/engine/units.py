"""Unit record of the tensor engine."""

from bitpath.rtl.common.unit import Covered, Unit
from bitpath.rtl.trainium3.engine.instruction import EngineConfig
from bitpath.rtl.trainium3.engine.tensor_engine import TensorEngine

UNITS = (
    Unit(
        name="tensor_engine",
        room="trainium3/engine",
        config_type=EngineConfig,
        build=TensorEngine,
        summary="Trainium3: array, operand memory, PSUM and sequencers",
        covered=Covered(EngineConfig(), 24),
    ),
)

CONTROL = (
    "tensor_engine",
    "instruction",
)
"""Files without arithmetic: sequencers, register files, memories and wiring. They have no mutants."""
