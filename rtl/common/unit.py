"""Record of a unit: its component, its bench, and its configuration for each check."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from amaranth.lib import wiring

from bitpath.rtl.common.config import PipelineConfig


@dataclass(frozen=True)
class WaveGroup:
    """A titled group of signals in a wave viewer's save file.

    Attributes
    ----------
    title : group name in GTKWave.
    pattern : regular expression for the start of a signal's path below the top, with dots between its parts.
    """

    title: str
    pattern: str


@dataclass(frozen=True)
class Covered:
    """The Verilator run of a unit's bench that measures coverage.

    Attributes
    ----------
    config : the unit's configuration.
    cases : random cases of each test.
    env : further environment variables of the bench.
    tests : regular expression of test names; None runs all.
    """

    config: Any
    cases: int
    env: Mapping[str, str] = field(default_factory=dict)
    tests: str | None = None


@dataclass(frozen=True, kw_only=True)
class YardstickConfig:
    """Bare operators whose area is the unit of a design's area.

    Attributes
    ----------
    count, a_bits, b_bits : multipliers of unsigned integers.
    adder_bits : width of one adder; 0 for none.
    fp32_shifters : True adds the alignment and normalisation shifters of one FP32 adder, without its adder and rounder.
    """

    count: int
    a_bits: int
    b_bits: int
    adder_bits: int = 0
    fp32_shifters: bool = False


@dataclass(frozen=True)
class Judge:
    """Configuration in which a unit's bench judges mutants.

    Attributes
    ----------
    place : order among all judges; the first judge whose netlist has cells of a file judges that file's mutants.
    config : the unit's configuration.
    cases : random cases of each test; None takes those of ``covered``, at most 500.
    """

    place: int
    config: Any
    cases: int | None = None


@dataclass(frozen=True)
class Synthesised:
    """Configuration that ``make synth`` maps to cells.

    Attributes
    ----------
    title : row title in the table.
    config : the unit's configuration.
    macs : multiply-accumulates a cycle.
    yardstick_title, yardstick : operators that divide the area.
    """

    title: str
    config: Any
    macs: int
    yardstick_title: str
    yardstick: YardstickConfig


CLOCK = WaveGroup("clock", r"(clk|rst)$")
INPUTS = WaveGroup("inputs", r"i__")
OUTPUT = WaveGroup("output", r"o__")
DEFAULT_WAVES = (
    CLOCK,
    WaveGroup("streams", r"\w+__(payload|valid|ready)\b"),
    WaveGroup("ports and registers", r"[a-z_0-9]+(\.[a-z_0-9\[\]]+)?$"),
    WaveGroup("inside", r"."),
)
"""Groups of a unit without its own: the unit's signals, then those of its submodules."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A component with its own bench, ``verif/ROOM/tb_NAME.py``.

    Attributes
    ----------
    name : name on the command line, of the bench and of the Verilog module.
    config_type : frozen dataclass of its configuration, from the unit's room; the defaults are a small instance.
    default : configuration of a command without settings; None takes the defaults of ``config_type``. A datapath that is
        combinational inside other units has pipeline stages here, so that it has a clock.
    build : function from configuration to component.
    summary : one line for listings.
    covered : run that measures coverage.
    agreed : configuration in which simulators and netlist are compared; None takes that of ``covered``.
    uncompared : reason why simulators and netlist are not compared; empty if they are.
    judges : configurations in which its bench judges mutants; empty if other benches judge all its files.
    synthesised : configurations that ``make synth`` maps to cells.
    waves : groups of the save file in order, ports first: as many as a screen shows are open initially. A signal goes to the
        first match, or to a last group of all others.
    holds : True if its bench can send an operand one value alone, for a design of somebody's own that does not have it.
    """

    name: str
    config_type: type
    build: Callable[[Any], wiring.Component]
    summary: str
    covered: Covered
    default: Any | None = None
    agreed: Any | None = None
    uncompared: str = ""
    judges: tuple[Judge, ...] = ()
    synthesised: tuple[Synthesised, ...] = ()
    waves: tuple[WaveGroup, ...] = DEFAULT_WAVES
    holds: bool = False

    @property
    def room(self) -> str:
        """Folder of its RTL below ``rtl`` and of its verification below ``verif``, for example "trainium3/dot"."""
        return self.config_type.__module__.removeprefix("bitpath.rtl.").rpartition(".")[0].replace(".", "/")

    @property
    def machine(self) -> str:
        """Folder of its machine, or "common"."""
        return self.room.partition("/")[0]

    @property
    def bench(self) -> str:
        """Module name of its cocotb tests."""
        return f"bitpath.verif.{self.room.replace('/', '.')}.tb_{self.name}"

    @property
    def default_config(self) -> Any:
        """Configuration of a command without settings."""
        return self.config_type() if self.default is None else self.default

    @property
    def agreed_config(self) -> Any:
        """Configuration in which simulators and netlist are compared."""
        return self.covered.config if self.agreed is None else self.agreed


def registered(stages: int) -> PipelineConfig:
    """Return a pipeline of ``stages`` stages; a combinational unit cannot test stalls of its handshake."""
    return PipelineConfig(stages=stages)
