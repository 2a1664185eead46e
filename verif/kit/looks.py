"""What a bench looks at, and when, while it is recorded."""

from dataclasses import dataclass, field

from cocotb.simtime import get_sim_time


@dataclass
class Looks:
    """Since a recorder last asked: simulation times in steps, with what was looked at.

    Attributes
    ----------
    reads : a signal's name.
    compared : a scoreboard's name, the value that it was given, and how many bits that has.
    """

    reads: list[tuple[int, str]] = field(default_factory=list)
    compared: list[tuple[int, str, int, int]] = field(default_factory=list)

    def read(self, name: str) -> None:
        """Note that a signal was read."""
        self.reads.append((get_sim_time(), name))

    def compare(self, name: str, value: int, bits: int) -> None:
        """Note that a scoreboard compared a value."""
        self.compared.append((get_sim_time(), name, value, bits))


noted: Looks | None = None
"""Of the recorder that is running; None where there is none."""
