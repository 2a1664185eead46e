"""Signal bits proved constant: by ABC's SAT sweeping, all candidates at once, with free inputs.

The outputs of a flattened module are replaced by one output of all candidates. A bit that ABC reduces to a constant is constant
in every cycle of every run, by joint induction over the cycles from power-on: first over constants, which settles most, then
over all equal nets. Modules with several instances, and the largest of a large design, come before the top: a proof with free
inputs holds for every instance. Writable memories larger than :data:`MEMORY_WORDS` return free values, which can only lose
proofs. Answers are journaled under the Verilog, so a later run asks only for new candidates.
"""

import math
import re
import tempfile
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from bitpath.sim.campaigns.circuits import abc, aiger
from bitpath.sim.campaigns.coverage.netlist import DESIGN, Net, Netlist
from bitpath.sim.engine import cache, journal, paths
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.yosys import YosysTimeoutError, require_run, yosys_version

PROVE_SECONDS = 1800
"""Time limit of one step, and of making the first step's graph."""
MEMORY_WORDS = 64
OUTPUT = "bitpath_candidates"
GRAPH = "candidates"
MOST_BITS = 40_000
"""Most driven bits in one query, which mostly takes 1 to 2 min, and over 10 min for `exponential`. Of a larger design the
largest modules are left out and asked by themselves: their outputs are free, but for those already proved constant. A second
pass leaves out only modules of several instances, whatever the size is then."""
_FLATTEN = """read_rtlil design.il
hierarchy -top {root}
flatten
write_rtlil flat.il
"""
_PREPARE = """read_rtlil candidates.il
hierarchy -top {top}
opt_clean
memory_collect
delete t:$mem_v2 r:WR_PORTS>0 %i r:SIZE>{words} %i
{to_gates}
setundef -undriven -anyseq
aigmap
opt_clean
write_aiger -zinit prepared.aig
"""
STEPS = ("scorr -k", "scorr -k -C 20000 -F 2", "ifraig; scorr")
"""Induction over constants, over two cycles with more effort, and over equal nets; each step works on the graph that
the one before it reduced. ABC's newer &scorr fails to see that an output is the constant its induction needs."""


def constant_nets(netlist: Netlist, signals: Mapping[Net, str]) -> dict[Net, frozenset[int]]:
    """Return the nets, each given by one of its names, that are proved constant in every instance of their module, with their values.

    Raises SimulationError if Yosys or ABC failed. A timeout is not an error: the open bits stay unproved.
    """
    found: dict[Net, frozenset[int]] = {}
    # The first pass asks large modules of one instance alone, with free inputs. The second one asks what is left in its place.
    for most in (MOST_BITS, math.inf):
        roots = netlist.roots(most)
        for root, inside in roots.items():
            asked = {net: signal for net, signal in signals.items() if net not in found and net.module in inside}
            left_out = netlist.too_large(root, roots.keys(), MOST_BITS)
            found |= _constant_in(netlist, root, left_out, asked, found)
    return found


def _constant_in(
    netlist: Netlist,
    root: str,
    left_out: Set[str],
    signals: Mapping[Net, str],
    before: Mapping[Net, frozenset[int]],
) -> dict[Net, frozenset[int]]:
    """Return the nets that are proved constant for any inputs of the module, by what has been proved of others."""
    # The numbers of nets come from how the Verilog is read, and their answers from the rest of this package.
    here = cache.hash_files(
        [Path(str(module.__file__)) for module in (abc, aiger)]
        + [Path(__file__), Path(__file__).with_name("netlist.py")]
    )
    without = {module: _constant_outputs(netlist, module, before) for module in sorted(left_out)}
    key = cache.hash_json([netlist.digest(root), without, here, yosys_version()])
    file = paths.build_root() / "coverage" / "constants" / f"{root}.jsonl"
    known = {
        Net(record["module"], record["bit"]): frozenset(record["constant"])
        for record in journal.read(file)
        if record["key"] == key
    }
    everywhere, left = netlist.instances(root), netlist.instances(root, without.keys())
    # One answer holds for all instances of a net's module.
    asked = [net for net in signals if net not in known and left.get(net.module) == everywhere[net.module]]

    bits = {net: netlist.flat_bits(net.module, signals[net], left[net.module]) for net in asked}
    answers, whole = _answers(netlist, root, without, bits) if asked else ({}, True)
    for net, constant in answers.items():
        known[net] = constant
        # The next run asks again for answers that ran out of time.
        if constant or whole:
            journal.append(file, {"key": key, "module": net.module, "bit": net.bit, "constant": sorted(constant)})
    return {net: known[net] for net in signals if known.get(net)}


def _constant_outputs(netlist: Netlist, module: str, known: Mapping[Net, frozenset[int]]) -> dict[str, int]:
    """Return the bits of a module's outputs that are known to be the same constant in all instances."""
    found = {}
    for signal in netlist.outputs(module):
        net, wired = netlist.net(module, signal), netlist.constant(module, signal)
        values = known.get(net, frozenset()) if net is not None else frozenset() if wired is None else {wired}
        if len(values) == 1:
            (found[signal],) = values
    return found


def _answers(
    netlist: Netlist,
    root: str,
    without: Mapping[str, Mapping[str, int]],
    asked: Mapping[Net, Sequence[tuple[str, int]]],
) -> tuple[dict[Net, frozenset[int]], bool]:
    """Return the proved values of each net's bits, empty if unproved; and True if all steps ended in time."""
    bits = [(net, bit) for net, each in asked.items() for bit in each]
    whole = True
    with tempfile.TemporaryDirectory(dir=netlist.folder.parent) as place:
        folder = Path(place)
        design = (netlist.folder / DESIGN).read_text()
        for module, constants in without.items():
            design = hollow(design, module, constants)
        (folder / DESIGN).write_text(design)
        try:
            require_run(root, folder, "flatten", _FLATTEN.format(root=root), PROVE_SECONDS)
            text = with_output((folder / "flat.il").read_text(), [bit for _, bit in bits])
            (folder / "candidates.il").write_text(text)
            prepare = _PREPARE.format(top=root, words=MEMORY_WORDS, to_gates=abc.TO_GATES)
            require_run(root, folder, "prepare", prepare, PROVE_SECONDS)
            # One that a time-out cut is not read.
            (folder / "prepared.aig").replace(folder / f"{GRAPH}.aig")
            for step in STEPS:
                require_run(root, folder, "prove", abc.reduction(folder, GRAPH, step), PROVE_SECONDS)
                abc.reduced(folder, GRAPH).replace(folder / f"{GRAPH}.aig")
        except YosysTimeoutError:
            whole = False
        found = folder / f"{GRAPH}.aig"
        constant = aiger.constant_outputs(found.read_bytes()) if found.exists() else [None] * len(bits)
    if len(constant) != len(bits):
        raise SimulationError(f"ABC answered for {len(constant)} of {len(bits)} bits of {root}")
    values: dict[Net, set[int | None]] = {}
    for (net, _), each in zip(bits, constant, strict=True):
        values.setdefault(net, set()).add(each)
    proved = {net: {each for each in found if each is not None} for net, found in values.items()}
    return {net: frozenset(proved[net] if None not in found else ()) for net, found in values.items()}, whole


def hollow(rtlil: str, module: str, constants: Mapping[str, int]) -> str:
    """Leave a module nothing but its ports, and these bits of its outputs, ``o[3]``, at their constants."""
    start = rtlil.index(f"\nmodule \\{module}\n") + 1
    end = rtlil.index("\nend\n", start)
    head, *body = rtlil[start:end].split("\n")
    ports = [line for line in body if re.match(r"  wire .*(input|output) \d+ ", line)]
    ties = [f"  connect \\{signal.replace('[', ' [')} 1'{value}" for signal, value in constants.items()]
    return rtlil[:start] + "\n".join([head, *ports, *ties]) + rtlil[end:]


def with_output(rtlil: str, bits: Sequence[tuple[str, int]]) -> str:
    """Replace the outputs of a flat design by one of these bits, the first lowest.

    Raises ValueError if it lacks a bit's wire.
    """
    wires = set(re.findall(r"^  wire .*?\\(\S+)$", rtlil, re.MULTILINE))
    for name, _ in bits:
        if name not in wires:
            raise ValueError(f"the flattened design has no wire {name}")
    body, end = rtlil.rstrip().rpartition("\nend")[:2]
    body = re.sub(r"^(  wire\b.*?) output \d+ ", r"\1 ", body, flags=re.MULTILINE)
    added = [f"  wire width {len(bits)} output 1000000 \\{OUTPUT}"]
    added += [f"  connect \\{OUTPUT} [{place}] \\{name} [{index}]" for place, (name, index) in enumerate(bits)]
    return "\n".join([body, *added]) + f"{end}\n"
