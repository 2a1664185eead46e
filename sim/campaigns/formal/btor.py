"""BTOR2, the word-level netlist that Yosys writes.

Ref: A. Niemetz, M. Preiner, C. Wolf, A. Biere, "Btor2, BtorMC and Boolector 3.0", CAV 2018.
"""

from dataclasses import dataclass, field

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
