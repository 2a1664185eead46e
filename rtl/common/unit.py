"""The record that declares a unit: what it is, and in which configurations each check takes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from amaranth.lib import wiring

from bitpath.rtl.common.config import PipelineConfig


@dataclass(frozen=True)
class WaveGroup:
    """Signals that a save file shows under one title.

    Attributes
    ----------
    title : as GTKWave shows it.
    pattern : regular expression that matches a signal's path below the top from its start, dots between its parts.
    """

    title: str
    pattern: str


@dataclass(frozen=True)
class Covered:
    """The run of a unit's bench on Verilator that its coverage is measured in.

    Attributes
    ----------
    config : the unit's configuration.
    cases : random cases of a test, as the bench counts them.
    env : further environment variables that the bench reads.
    tests : regular expression of the tests' names; None for all.
    """

    config: Any
    cases: int
    env: Mapping[str, str] = field(default_factory=dict)
    tests: str | None = None


@dataclass(frozen=True, kw_only=True)
class YardstickConfig:
    """Bare operators that a design's area is divided by.

    Attributes
    ----------
    count, a_bits, b_bits : multipliers of unsigned integers.
    adder_bits : width of one adder; 0 for none.
    fp32_shifters : whether the alignment and normalisation shifters of one FP32 adder are included, without its addition
        and its rounding.
    """

    count: int
    a_bits: int
    b_bits: int
    adder_bits: int = 0
    fp32_shifters: bool = False


@dataclass(frozen=True)
class Judge:
    """A configuration in which the unit's bench judges mutants.

    Attributes
    ----------
    place : its place among all judges; the first judge whose netlist has cells of a file judges that file's mutants.
    config : the unit's configuration.
    cases : random cases of a test; None for those of its coverage, at most 500.
    """

    place: int
    config: Any
    cases: int | None = None


@dataclass(frozen=True)
class Synthesised:
    """A configuration that ``make synth`` maps to cells.

    Attributes
    ----------
    title : as the table shows it.
    config : the unit's configuration.
    macs : multiply-accumulates a cycle.
    yardstick_title, yardstick : what its area is divided by.
    """

    title: str
    config: Any
    macs: int
    yardstick_title: str
    yardstick: YardstickConfig


CLOCK = WaveGroup("clock", r"(clk|rst)$")
INPUTS = WaveGroup("inputs", r"i__")
OUTPUT = WaveGroup("output", r"o__")
DEFAULT_WAVES = (CLOCK, WaveGroup("ports and registers", r"[a-z_0-9]+(\.[a-z_0-9\[\]]+)?$"), WaveGroup("inside", r"."))
"""The groups of a unit that names none: its own signals, then those of its submodules."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A component that stands by itself. Its bench is ``verif/ROOM/tb_NAME.py``.

    Attributes
    ----------
    name : on the command line, of its bench, and of its Verilog module.
    room : folder of its RTL below ``rtl`` and of its verification below ``verif``, for example "trainium3/dot".
    config_type : the frozen dataclass that it takes; its defaults are a small instance.
    build : makes the component from its configuration.
    summary : one line for listings.
    covered : the run that measures its coverage.
    agreed : configuration that every simulator and the netlist are compared in; None for that of ``covered``.
    judges : configurations in which its bench judges mutants; none where other units' benches judge all its files.
    synthesised : configurations that ``make synth`` maps to cells.
    waves : groups of a save file in the order shown; a signal goes to the first that matches, and one that none matches
        is left out.
    """

    name: str
    room: str
    config_type: type
    build: Callable[[Any], wiring.Component]
    summary: str
    covered: Covered
    agreed: Any | None = None
    judges: tuple[Judge, ...] = ()
    synthesised: tuple[Synthesised, ...] = ()
    waves: tuple[WaveGroup, ...] = DEFAULT_WAVES

    @property
    def machine(self) -> str:
        """The folder of its machine, or "common"."""
        return self.room.partition("/")[0]

    @property
    def bench(self) -> str:
        """The module of its cocotb tests."""
        return f"bitpath.verif.{self.room.replace('/', '.')}.tb_{self.name}"

    @property
    def agreed_config(self) -> Any:
        """The configuration that every simulator and the netlist are compared in."""
        return self.covered.config if self.agreed is None else self.agreed


def registered(stages: int) -> PipelineConfig:
    """Pipeline registers: a combinational unit has no handshakes that could stall."""
    return PipelineConfig(stages=stages)
