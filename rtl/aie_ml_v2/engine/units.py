"""Units of rtl/aie_ml_v2/engine: the matrix-product engine, and the check of its commands."""

from bitpath.rtl.aie_ml_v2.engine.aie_engine import AieEngine
from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig, CommandCheck
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup

UNITS = (
    Unit(
        name="aie_command_check",
        room="aie_ml_v2/engine",
        config_type=AieEngineConfig,
        build=CommandCheck,
        summary="AIE-ML v2: why the engine refuses a command",
        covered=Covered(AieEngineConfig(), 300),
        judges=(Judge(99, AieEngineConfig(), 300),),
    ),
    Unit(
        name="aie_engine",
        room="aie_ml_v2/engine",
        config_type=AieEngineConfig,
        build=AieEngine,
        summary="AIE-ML v2: multiply-accumulate, memories and a row sequencer",
        covered=Covered(AieEngineConfig(unit=VectorMacConfig(lanes=16)), 4),
        agreed=AieEngineConfig(),
        waves=(
            CLOCK,
            WaveGroup("commands", r"(command__|busy|retired|fault|check\.|queue\.)"),
            WaveGroup("host", r"(write|read|data)__"),
            WaveGroup("sequencer", r"sequencer\."),
            WaveGroup("beat and its operands", r"(held|free|issues|i__|operand__|memory_[xy])"),
            WaveGroup("issue and instructions in flight", r"unit\.issue\."),
            WaveGroup("accumulators", r"unit\.(file\.|written|(read|o|write)__)"),
            WaveGroup("first lane", r"unit\.lane_0\."),
            WaveGroup("storer and results", r"(storer\.|store__|released|write\.|word__|answer__|results)"),
        ),
    ),
)

CONTROL = ("aie_engine",)
"""Files without arithmetic (sequencers, register files, memories, wiring), which are not mutated."""
