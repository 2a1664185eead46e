"""ABC, which comes inside Yosys, on and-inverter graphs in AIGER files."""

import shutil
from pathlib import Path

from bitpath.sim.yosys import require_run

# Yosys runs ABC on a design and takes back what ABC then has: the smallest one, put aside meanwhile.
_NOTHING = "module nothing(input a, b, output y); \\$_AND_ g(.A(a), .B(b), .Y(y)); endmodule\n"
_RUN = """read_verilog -icells nothing.v
abc -script reduce.abc
"""
_REDUCE = """write_blif nothing.blif
read_aiger {before}
strash
{step}
write_aiger {after}
read_blif nothing.blif
"""


def reduce(what: str, file: Path, step: str, timeout: float) -> None:
    """Replace a graph with what a step of ABC, such as "scorr", makes of it.

    Parameters
    ----------
    what : begins the sentence of the errors.
    file : the graph, in a folder of its own.
    step : commands of ABC.
    timeout : seconds.

    Raises
    ------
    YosysTimeoutError : it took longer; the graph is as it was.
    SimulationError : ABC refused it.
    """
    folder, after = file.parent, file.with_name(f"after-{file.name}")
    (folder / "nothing.v").write_text(_NOTHING)
    (folder / "reduce.abc").write_text(_REDUCE.format(before=file.name, after=after.name, step=step))
    require_run(what, folder, "reduce", _RUN, timeout)
    shutil.move(after, file)


def constant_outputs(aiger: bytes) -> list[int | None]:
    """Of each output of a binary AIGER file the constant that it is; None where it is none."""
    header, *lines = aiger.split(b"\n")
    magic, _, _, latches, outputs, *_ = header.split()
    if magic != b"aig":
        raise ValueError(f"this is no binary AIGER file, it begins with {header[:20]!r}")
    first = int(latches)
    return [int(line) if int(line) < 2 else None for line in lines[first : first + int(outputs)]]
