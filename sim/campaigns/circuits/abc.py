"""ABC, as bundled in Yosys, on and-inverter graphs in AIGER files."""

from pathlib import Path

TO_GATES = """memory_map
opt_clean
techmap
opt_clean
async2sync
dffunmap
"""
"""Passes that reduce a flat design to gates and flip-flops, as an and-inverter graph requires."""
# Yosys runs ABC on a design and reads back its result; the design itself is saved meanwhile.
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
    """Return lines of a Yosys script that let ABC reduce ``NAME.aig`` to :func:`reduced`; the design is deleted.

    ``steps`` are commands of ABC, such as "scorr"; ``folder`` is the working folder of the script.
    """
    (folder / "nothing.v").write_text(_NOTHING)
    (folder / f"{name}.abc").write_text(_REDUCE.format(name=name, steps=steps, reduced=reduced(folder, name).name))
    return _RUN.format(name=name)


def reduced(folder: Path, name: str) -> Path:
    """Return the graph that ABC wrote, or None if it does not exist yet."""
    return folder / f"{name}-reduced.aig"
