"""Proofs that a mutant is no fault: that no input and no state tells it from the design."""

from pathlib import Path
from shutil import copyfile

from bitpath.sim.mutate.netlist import PREPARED, Mutant
from bitpath.sim.yosys import run_yosys

SAT_SECONDS = 60
"""For each attempt at a proof."""
STEPS = 4
"""Deepest induction."""

_MITER = """read_rtlil {prepared}
flatten
rename {top} gold
design -stash gold
read_rtlil {prepared}
{command}
flatten
rename {top} gate
design -stash gate
design -copy-from gold gold
design -copy-from gate gate
{ports}
miter -equiv -flatten -make_assert gold gate miter
hierarchy -top miter
memory_map
opt -full
opt_merge -share_all
opt_clean -purge
"""
# Every register becomes an input and an output: whatever the state, and whatever the inputs, the next state is the same.
_CUT = "expose -evert-dff gold gate"
# Registers are compared too: what was the same in the steps before is the same in the next.
_JOINT = "expose -dff gold gate"
_PROVE_CUT = "sat -verify -prove-asserts miter\n"
_PROVE_JOINT = "sat -verify -prove-asserts -tempinduct -set-init-def -maxsteps {steps} miter\n"


def proved_equivalent(mutant: Mutant, top: str, netlist: Path, folder: Path) -> str | None:
    """How it was proved, "cut registers" or "induction"; None where no proof was found in the time.

    Parameters
    ----------
    top : the design's top module.
    netlist : folder with the prepared netlist.
    folder : an empty one for the attempts.
    """
    # A copy: the WebAssembly follows no link out of its folder.
    copyfile(netlist / PREPARED, folder / PREPARED)
    for how, ports, prove in (
        ("cut registers", _CUT, _PROVE_CUT),
        ("induction", _JOINT, _PROVE_JOINT.format(steps=STEPS)),
    ):
        script = _MITER.format(prepared=PREPARED, top=top, command=mutant.command, ports=ports) + prove
        try:
            if run_yosys(folder, how.replace(" ", "_"), script, SAT_SECONDS) == 0:
                return how
        except TimeoutError:
            continue
    return None
