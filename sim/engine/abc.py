"""ABC, which comes inside Yosys, on and-inverter graphs in AIGER files."""

from pathlib import Path

TO_GATES = """memory_map
opt_clean
techmap
opt_clean
async2sync
dffunmap
"""
"""Passes that leave gates and flip-flops of a flat design, as a graph takes them."""
# Yosys runs ABC on a design and takes back what ABC then has: the smallest one, put aside meanwhile.
_NOTHING = "module nothing(input a, b, output y); \\$_AND_ g(.A(a), .B(b), .Y(y)); endmodule\n"
_RUN = """design -reset
read_verilog -icells nothing.v
abc -script {name}.abc
"""
_REDUCE = """write_blif nothing.blif
read_aiger {name}.aig
strash
{steps}
write_aiger {reduced}
read_blif nothing.blif
"""


def reduction(folder: Path, name: str, steps: str) -> str:
    """Lines of a Yosys script with which ABC makes another graph of ``NAME.aig``, :func:`reduced`; they leave no design.

    Parameters
    ----------
    folder : in which the script will be run.
    name : of the graph.
    steps : commands of ABC, such as "scorr".
    """
    (folder / "nothing.v").write_text(_NOTHING)
    (folder / f"{name}.abc").write_text(_REDUCE.format(name=name, steps=steps, reduced=reduced(folder, name).name))
    return _RUN.format(name=name)


def reduced(folder: Path, name: str) -> Path:
    """The graph that ABC has made, if it has come so far."""
    return folder / f"{name}-reduced.aig"
