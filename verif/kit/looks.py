"""Log of the signals that a bench reads and compares, with times, for recordings."""

from dataclasses import dataclass, field

from cocotb.simtime import get_sim_time


@dataclass
class Looks:
    """Reads and comparisons since the recorder's last query, with simulation times in steps.

    Attributes
    ----------
    reads : times and signal names.
    compared : times, names of outputs or streams, compared values and their widths in bits.
    """

    reads: list[tuple[int, str]] = field(default_factory=list)
    compared: list[tuple[int, str, int, int]] = field(default_factory=list)

    def read(self, name: str) -> None:
        """Note that a signal was read."""
        self.reads.append((get_sim_time(), name))

    def compare(self, name: str, value: int, bits: int) -> None:
        """Note that a scoreboard compared a value of an output or a stream."""
        self.compared.append((get_sim_time(), name, value, bits))


noted: Looks | None = None
"""Log of the running recorder; None if none runs."""
