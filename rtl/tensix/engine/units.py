"""Units of the Tensix engine room: the engine, and the check of its commands."""

from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.engine.command import CommandCheck, TensixEngineConfig
from bitpath.rtl.tensix.engine.tensix_engine import TensixEngine
from bitpath.rtl.tensix.matrix.instruction import MatrixUnitConfig

UNITS = (
    Unit(
        name="tensix_command_check",
        room="tensix/engine",
        config_type=TensixEngineConfig,
        build=CommandCheck,
        summary="Tensix: why the engine refuses a command",
        covered=Covered(TensixEngineConfig(), 300),
        judges=(Judge(99, TensixEngineConfig(), 1000),),
    ),
    Unit(
        name="tensix_engine",
        room="tensix/engine",
        config_type=TensixEngineConfig,
        build=TensixEngine,
        summary="Tensix: Matrix unit, unpackers, packer and memories",
        covered=Covered(TensixEngineConfig(unit=MatrixUnitConfig(rows=4, cols=8)), 4),
        agreed=TensixEngineConfig(),
        waves=(
            CLOCK,
            WaveGroup("commands", r"(command__|busy|retired|fault|check\.)"),
            WaveGroup("host", r"(write|read|data)__"),
            WaveGroup("loads", r"(left|right)\."),
            WaveGroup("sequencer", r"sequencer\."),
            WaveGroup("Matrix unit", r"unit\.(instruction|starting|flight_|fire|step|src_[ab]\.|dst_register\.)"),
            WaveGroup("first dot product", r"unit\.cells_0\.cell_0\."),
            WaveGroup("packer and results", r"(storer|results)\."),
        ),
    ),
)

CONTROL = (
    "l1_port",
    "tensix_engine",
)
"""Files without arithmetic: sequencers, register files, memories and wiring. They have no mutants."""
