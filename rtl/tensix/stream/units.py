"""Units of rtl/tensix/stream: a thread's instruction stream."""

from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.stream.config import (
    CounterConfig,
    InstructionExpanderConfig,
    MopExpanderConfig,
    ReplayExpanderConfig,
)
from bitpath.rtl.tensix.stream.counters import Adc, Rwc
from bitpath.rtl.tensix.stream.expanders import InstructionExpander, MopExpander, ReplayExpander

UNITS = (
    Unit(
        name="mop_expander",
        room="tensix/stream",
        config_type=MopExpanderConfig,
        build=MopExpander,
        summary="Tensix: a MOP becomes a sequence of nine configuration words",
        covered=Covered(MopExpanderConfig(), 500),
        waves=(
            CLOCK,
            WaveGroup("words", r"(i__|o__|word|full|illegal)"),
            WaveGroup("MOP", r"(is_mop|waits|after_mop|leaves|place|last|state|following|mask_high)"),
            WaveGroup("configuration", r"(write__|config_)"),
            WaveGroup("templates", r"(masked|nested)\."),
        ),
    ),
    Unit(
        name="replay_expander",
        room="tensix/stream",
        config_type=ReplayExpanderConfig,
        build=ReplayExpander,
        summary="Tensix: REPLAY loads 32 words from the stream and plays them",
        covered=Covered(ReplayExpanderConfig(), 500),
        waves=(
            CLOCK,
            WaveGroup("words", r"(i__|o__|word|full|illegal)"),
            WaveGroup("REPLAY", r"(replays|plays|loads|executes|length|left|place|played|leaves)"),
            WaveGroup("buffer", r"(buffer|write|read)"),
        ),
    ),
    Unit(
        name="instruction_expander",
        room="tensix/stream",
        config_type=InstructionExpanderConfig,
        build=InstructionExpander,
        summary="Tensix: both expanders of a thread",
        covered=Covered(InstructionExpanderConfig(), 500),
        waves=(
            CLOCK,
            WaveGroup("words", r"(i__|o__|illegal|write__)"),
            WaveGroup("MOP expander", r"mop\."),
            WaveGroup("replay expander", r"replay\."),
        ),
    ),
    Unit(
        name="rwc",
        room="tensix/stream",
        config_type=CounterConfig,
        build=Rwc,
        summary="Tensix: counters of rows and of the fidelity phase",
        covered=Covered(CounterConfig(), 1000),
        judges=(Judge(28, CounterConfig()),),
    ),
    Unit(
        name="adc",
        room="tensix/stream",
        config_type=CounterConfig,
        build=Adc,
        summary="Tensix: address counters of unpackers and packers",
        covered=Covered(CounterConfig(), 1000),
        agreed=CounterConfig(chip=Chip.BLACKHOLE),
        judges=(Judge(29, CounterConfig()),),
    ),
)

CONTROL = ("expanders",)
"""Files without arithmetic: sequencers and memories. They have no mutants."""
