"""Proofs that a mutant is no fault: that no input tells it from the design."""

from pathlib import Path
from shutil import copyfile

from bitpath.sim import abc
from bitpath.sim.mutate.netlist import MULTIPLEXERS, PREPARED, Mutant
from bitpath.sim.mutate.verdicts import TIMED_OUT
from bitpath.sim.yosys import YosysTimeoutError, require_run

SECONDS = 60
"""For each step of a proof."""
GRAPH = "miter.aig"
_MITER = """read_rtlil {prepared}
{multiplexers}
flatten
rename {top} gold
design -stash gold
read_rtlil {prepared}
{command}
{multiplexers}
flatten
rename {top} gate
design -stash gate
design -copy-from gold gold
design -copy-from gate gate
{ports}
miter -equiv -flatten gold gate miter
hierarchy -top miter
flatten
memory_map
opt_clean
techmap
opt_clean
async2sync
dffunmap
setundef -undriven -zero
aigmap
opt_clean
write_aiger -zinit {graph}
"""
PROOFS = {
    "cut registers": ("expose -evert-dff gold gate", ("ifraig; iprove",)),
    "induction": ("", ("scorr -k", "ifraig; scorr", "scorr -C 20000 -F 2")),
}
"""What is done to the registers before the two are compared, and ABC's steps. With registers as inputs and outputs: whatever
the state, and whatever the inputs, outputs and next state are the same. Else by what follows from power-on in every cycle."""


def proved_equivalent(mutant: Mutant, top: str, netlist: Path, folder: Path) -> tuple[bool, str]:
    """Whether it was proved; and how, "cut registers" or "induction", or why not.

    Parameters
    ----------
    top : the design's top module.
    netlist : folder with the prepared netlist.
    folder : an empty one for the attempts.

    Raises
    ------
    SimulationError : Yosys or ABC ended with something else than an answer.
    """
    # A copy: the WebAssembly follows no link out of its folder.
    copyfile(netlist / PREPARED, folder / PREPARED)
    what = f"the proof of {mutant.shown}"
    late = False
    for how, (ports, steps) in PROOFS.items():
        parts = {"prepared": PREPARED, "top": top, "command": mutant.command, "multiplexers": MULTIPLEXERS}
        try:
            require_run(what, folder, "miter", _MITER.format(ports=ports, graph=GRAPH, **parts), SECONDS)
            for step in steps:
                abc.reduce(what, folder / GRAPH, step, SECONDS)
                if abc.constant_outputs((folder / GRAPH).read_bytes()) == [0]:
                    return True, how
        except YosysTimeoutError:
            late = True
    return False, f"{TIMED_OUT}: no proof in {SECONDS} s a step" if late else "no proof"
