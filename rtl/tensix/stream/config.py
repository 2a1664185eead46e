"""Configurations of the instruction stream's units."""

from dataclasses import dataclass

from bitpath.golden.tensix.declarations.chips import Chip


@dataclass(frozen=True, kw_only=True)
class MopExpanderConfig:
    """Configuration of a MOP expander, which is the same on both chips."""


@dataclass(frozen=True, kw_only=True)
class ReplayExpanderConfig:
    """Configuration of a replay expander, which is the same on both chips."""


@dataclass(frozen=True, kw_only=True)
class InstructionExpanderConfig:
    """Configuration of both expanders of a thread, which are the same on both chips."""


@dataclass(frozen=True, kw_only=True)
class CounterConfig:
    """Configuration of a thread's counters.

    Attributes
    ----------
    chip : decides bits of a modifier's index and numbers of the thread's configuration registers.
    """

    chip: Chip = Chip.WORMHOLE
