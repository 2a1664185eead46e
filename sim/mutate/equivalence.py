"""Proofs that mutants are no faults: that no input tells them from the design."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile

from bitpath.sim import abc
from bitpath.sim.mutate.netlist import MUTATED
from bitpath.sim.mutate.verdicts import TIMED_OUT
from bitpath.sim.yosys import YosysTimeoutError, require_run
from bitpath.verif.kit.bench import MUTANT_PORT

PREPARING_SECONDS, SECONDS = 120, 20
"""Limits: to make what is common to all proofs, and for each proof."""
_MITER = """read_rtlil {mutated}
hierarchy -top {top}
flatten
hierarchy -top {top}
memory_map
opt_clean
techmap
opt_clean
async2sync
dffunmap
setundef -undriven -zero
opt_expr
opt_merge
opt_clean
{registers}
rename {top} gate
copy gate gold
cd gold
rename {port} none
delete -input none
connect -set none {none}
add -input {port} {width}
cd
miter -equiv -flatten gold gate miter
hierarchy -top miter
techmap
opt_clean
setundef -undriven -zero
setundef -zero
aigmap
opt_clean
design -save miter
"""
_CHOOSE = """design -load miter
delete -input miter/in_{port}
connect -set in_{port} {number}
write_aiger -zinit {name}.aig
"""
PROOFS = {
    "cut registers": ("expose -dff -evert-dff {top}", "ifraig -p; ifraig -p -C 1000"),
    "induction": ("", "scorr -k; ifraig; scorr; scorr -F 2"),
}
"""What is done to the registers before design and mutant are compared, and how ABC compares. With registers as inputs and
outputs: whatever the state, and whatever the inputs, outputs and next state are the same. Else by what follows from power-on in
every cycle."""


@dataclass(frozen=True)
class Proof:
    """Of one mutant: whether it is proved to be no fault; and how, "cut registers" or "induction", or why not."""

    proved: bool
    how: str


def prove(what: str, netlist: Path, top: str, width: int, numbers: Sequence[int], folder: Path) -> dict[int, Proof]:
    """Try to prove mutants equal to the design.

    Parameters
    ----------
    what : begins the sentence of the errors.
    netlist : folder of the netlist of mutants.
    top : its top module.
    width : of the input that chooses a mutant, in bits.
    numbers : of the mutants.
    folder : an empty one for the attempts.

    Raises
    ------
    SimulationError : Yosys or ABC ended with something else than an answer.
    """
    # A copy: the WebAssembly follows no link out of its folder.
    copyfile(netlist / MUTATED, folder / MUTATED)
    found: dict[int, Proof] = {}
    late: set[int] = set()
    for how, (registers, steps) in PROOFS.items():
        place = {"mutated": MUTATED, "top": top, "port": MUTANT_PORT, "width": width, "none": _binary(0, width)}
        miter = _MITER.format(registers=registers.format(top=top), **place)
        for number, proved in _answers(what, miter, steps, [n for n in numbers if n not in found], width, folder):
            if proved:
                found[number] = Proof(True, how)
            elif proved is None:
                late.add(number)
    why = {True: f"{TIMED_OUT}: no proof in {SECONDS} s", False: "no proof"}
    return found | {number: Proof(False, why[number in late]) for number in numbers if number not in found}


def _answers(
    what: str, miter: str, steps: str, numbers: Sequence[int], width: int, folder: Path
) -> Iterator[tuple[int, bool | None]]:
    """Of each mutant whether ABC reduces its difference from the design to 0; None where its time was up."""
    left = list(numbers)
    while left:
        script = miter
        for number in left:
            name = str(number)
            abc.reduced(folder, name).unlink(missing_ok=True)
            script += _CHOOSE.format(port=MUTANT_PORT, number=_binary(number, width), name=name)
            script += abc.reduction(folder, name, steps)
        try:
            require_run(what, folder, "prove", script, PREPARING_SECONDS + SECONDS * len(left))
        except YosysTimeoutError:
            stuck = next((number for number in left if not abc.reduced(folder, str(number)).exists()), left[-1])
        else:
            stuck = None
        while left and left[0] != stuck:
            number = left.pop(0)
            yield number, abc.constant_outputs(abc.reduced(folder, str(number)).read_bytes()) == [0]
        if left:
            yield left.pop(0), None


def _binary(number: int, width: int) -> str:
    return f"{width}'b{number:0{width}b}"
