"""Proofs that a mutant is no fault: that no input and no state tells it from the design."""

from pathlib import Path
from shutil import copyfile

from bitpath.sim.errors import SimulationError
from bitpath.sim.mutate.netlist import MULTIPLEXERS, PREPARED, Mutant
from bitpath.sim.mutate.verdicts import TIMED_OUT
from bitpath.sim.process import tail
from bitpath.sim.yosys import run_yosys

SAT_SECONDS = 20
"""For each attempt at a proof."""
STEPS = 4
"""Deepest induction."""

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
# What `sat -verify` says when it found a counterexample, or no induction step.
_REFUSED = "proof did fail"
_PROVE_CUT = "sat -verify -prove-asserts miter\n"
_PROVE_JOINT = "sat -verify -prove-asserts -tempinduct -maxsteps {steps} miter\n"


def proved_equivalent(mutant: Mutant, top: str, netlist: Path, folder: Path) -> tuple[bool, str]:
    """Whether it was proved; and how, "cut registers" or "induction", or why not.

    Parameters
    ----------
    top : the design's top module.
    netlist : folder with the prepared netlist.
    folder : an empty one for the attempts.

    Raises
    ------
    SimulationError : Yosys ended with something else than an answer.
    """
    # A copy: the WebAssembly follows no link out of its folder.
    copyfile(netlist / PREPARED, folder / PREPARED)
    late = False
    for how, ports, prove in (
        ("cut registers", _CUT, _PROVE_CUT),
        ("induction", _JOINT, _PROVE_JOINT.format(steps=STEPS)),
    ):
        parts = {"prepared": PREPARED, "top": top, "command": mutant.command, "multiplexers": MULTIPLEXERS}
        script = _MITER.format(ports=ports, **parts) + prove
        name = how.replace(" ", "_")
        try:
            if run_yosys(folder, name, script, SAT_SECONDS) == 0:
                return True, how
        except TimeoutError:
            late = True
            continue
        if _REFUSED not in (log := folder / f"{name}.log").read_text(errors="replace"):
            raise SimulationError(f"the proof of {mutant.shown} failed:\n{tail(log)}")
    return False, f"{TIMED_OUT}: no proof in {SAT_SECONDS} s" if late else "no proof: the solver found a difference"
