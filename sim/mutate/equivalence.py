"""Proofs that mutants are no faults: that no input tells them from the design."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile

from bitpath.sim import abc, aiger
from bitpath.sim.mutate.netlist import MUTATED
from bitpath.sim.mutate.verdicts import TIMED_OUT
from bitpath.sim.yosys import YosysTimeoutError, require_run
from bitpath.verif.kit.bench import MUTANT_PORT

PREPARING_SECONDS = 600
"""Limit on making the graphs of all that have the same top."""
SECONDS, USUAL_SECONDS = 20, 2
"""Limit on each proof, and what most take together with others; where they take more, each is tried by itself."""
_MITER = """read_rtlil {mutated}
hierarchy -top {top}
flatten
hierarchy -top {top}
{to_gates}
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
write_aiger -zinit -symbols {graph}
"""
GRAPH = "miter.aig"
MODULE = "its module"
_CUT = "expose -dff -evert-dff {top}", "ifraig -p; ifraig -p -C 1000"
PROOFS = {MODULE: _CUT, "cut registers": _CUT, "induction": ("", "scorr -k; ifraig; scorr; scorr -F 2")}
"""What is done to the registers before design and mutant are compared, and how ABC compares. With registers as inputs and
outputs: whatever the state, and whatever the inputs, outputs and next state are the same; first of the module that has the
mutant, with anything at its inputs, then of the whole. Else by what follows from power-on in every cycle."""


@dataclass(frozen=True)
class Proof:
    """Of one mutant: whether it is proved to be no fault; and how, one of PROOFS, or why not."""

    proved: bool
    how: str


def prove(
    what: str, netlist: Path, top: str, width: int, modules: Mapping[int, str], folder: Path, *, patient: bool = True
) -> dict[int, Proof]:
    """Try to prove mutants equal to the design.

    Parameters
    ----------
    what : begins the sentence of the errors.
    netlist : folder of the netlist of mutants.
    top : its top module.
    width : of the input that chooses a mutant, in bits.
    modules : of the mutants, by their numbers.
    folder : an empty one for the attempts.
    patient : whether those that are not proved as fast as most get SECONDS, each.

    Raises
    ------
    SimulationError : Yosys or ABC ended with something else than an answer.
    """
    # A copy: the WebAssembly follows no link out of its folder.
    copyfile(netlist / MUTATED, folder / MUTATED)
    place = {"mutated": MUTATED, "port": MUTANT_PORT, "width": width, "none": f"{width}'b0"}
    place |= {"to_gates": abc.TO_GATES, "graph": GRAPH}
    found: dict[int, Proof] = {}
    late: set[int] = set()
    for how, (registers, steps) in PROOFS.items():
        tops = defaultdict(list)
        for number, module in modules.items():
            if number not in found and not (how == MODULE and module == top):
                tops[module if how == MODULE else top].append(number)
        for each, numbers in tops.items():
            script = _MITER.format(registers=registers.format(top=each), top=each, **place)
            try:
                require_run(what, folder, "miter", script, PREPARING_SECONDS)
            except YosysTimeoutError:
                late.update(numbers)
                continue
            # Once for all, and not by Yosys, which would take seconds for each.
            graph = aiger.read((folder / GRAPH).read_bytes())
            for number in numbers:
                (folder / f"{number}.aig").write_bytes(graph.fixed(_select(number, width)).binary())
            for number, proved in _answers(what, steps, numbers, folder, patient=patient).items():
                if proved:
                    found[number] = Proof(True, how)
                elif proved is None:
                    late.add(number)
    why = {True: f"{TIMED_OUT}: no proof in {SECONDS} s", False: "no proof"}
    return found | {number: Proof(False, why[number in late]) for number in modules if number not in found}


def _answers(what: str, steps: str, numbers: Sequence[int], folder: Path, *, patient: bool) -> dict[int, bool | None]:
    """Of each mutant whether ABC reduces its difference from the design to 0; None where its time was up."""
    try:
        return _reduce(what, steps, numbers, folder, SECONDS * patient + USUAL_SECONDS * len(numbers))
    except YosysTimeoutError:
        if len(numbers) == 1 or not patient:
            return dict.fromkeys(numbers)
    alone = [_answers(what, steps, [number], folder, patient=True) for number in numbers]
    return {number: answer for each in alone for number, answer in each.items()}


def _reduce(what: str, steps: str, numbers: Sequence[int], folder: Path, seconds: int) -> dict[int, bool | None]:
    names = [str(number) for number in numbers]
    script = "".join(abc.reduction(folder, name, steps) for name in names)
    require_run(what, folder, "prove", script, seconds)
    graphs = [abc.reduced(folder, name).read_bytes() for name in names]
    return {number: aiger.constant_outputs(graph) == [0] for number, graph in zip(numbers, graphs, strict=True)}


def _select(number: int, width: int) -> dict[str, bool]:
    """What chooses a mutant, by the names of the miter's inputs."""
    names = [f"in_{MUTANT_PORT}[{bit}]" for bit in range(width)] if width > 1 else [f"in_{MUTANT_PORT}"]
    return {name: bool(number >> bit & 1) for bit, name in enumerate(names)}
