"""Verilog of the module that a bench drives: a unit's packed ports around an instance of somebody's own design."""

from collections.abc import Sequence
from itertools import groupby

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In

from bitpath.sim.engine.check.connect import Link
from bitpath.sim.engine.check.design import Design
from bitpath.sim.engine.check.port_map import PortMap

DEPTH = 64
"""Results that the queue of a design without ready can hold."""

QUEUE = """\
  // The design cannot wait: its results queue here, and requests enter only while the queue has room for theirs.
  reg [{result}:0] queue [0:{last}];
  reg [{index}:0] first = 0, free = 0;
  reg [{count}:0] held = 0, owed = 0;
  wire room = owed < {depth};
  assign offer = {i}__valid & room;
  assign {i}__ready = willing & room;
  wire taken = offer & willing;
  wire given = {o}__valid & {o}__ready;
  assign {o}__valid = came | held != 0;
  assign {o}__payload = held != 0 ? queue[first] : result;
  wire queued = came & (held != 0 | ~given);
  wire left = given & held != 0;
  always @(posedge clk) begin
    if (queued) queue[free] <= result;
    free <= rst ? 0 : free + queued;
    first <= rst ? 0 : first + left;
    held <= rst ? 0 : held + queued - left;
    owed <= rst ? 0 : owed + taken - given;
  end
"""
DELAY = """\
  reg [{last}:0] after = 0;
  always @(posedge clk) after <= rst ? 0 : {{after, taken}};
  assign came = after[{last}];
"""
THROUGH = """\
  assign offer = {i}__valid;
  assign {i}__ready = willing & {o}__ready;
  assign {o}__valid = came;
  assign {o}__payload = result;
"""
"""The same for a combinational unit, through which the handshake passes."""


def wrapper(name: str, component: wiring.Component, design: Design, links: Sequence[Link], port_map: PortMap) -> str:
    """Return the module ``name`` with the component's packed ports, which instantiates the design.

    A design without a ready for its results gets a queue, where the unit has one stream of requests and one of results;
    then its valid may also be a delay.

    Raises ValueError for a design without that ready where the unit has other streams, and for a delay without a queue.
    """
    words = [(packed, list(parts)) for packed, parts in groupby(links, key=lambda link: link.packed)]
    lines = [f"module {name}({', '.join(packed for packed, _ in words)});"]
    lines += [f"  {parts[0].direction} {_range(sum(p.bits for p in parts))}{packed};" for packed, parts in words]
    renamed, queue = _queue(component, links)
    lines += queue
    pins = []
    for number, link in enumerate(links):
        partner, word = link.partner, renamed.get(link.packed, link.packed)
        whole = sum(each.bits for each in links if each.packed == link.packed) == link.bits
        place = (
            word
            if whole
            else f"{word}[{link.lsb + link.bits - 1}:{link.lsb}]"
            if link.bits > 1
            else f"{word}[{link.lsb}]"
        )
        invert = "~" * partner.inverted
        if link.direction == "input":
            pins += [f".{partner.port}({invert}{place})"] if partner.port else []
        elif partner.port:
            lines.append(f"  wire {_range(link.bits)}design_{number};")
            lines.append(f"  assign {place} = {invert}design_{number};")
            pins.append(f".{partner.port}(design_{number})")
        elif partner.constant is not None:
            lines.append(f"  assign {place} = {link.bits}'d{partner.constant};")
    for port, level in port_map.design.items():
        constant = "" if level is None else f"{design.ports[port].bits}'d{level}"
        pins.append(f".{port}({constant})")
    values = ", ".join(f".{key}({value})" for key, value in design.parameters.items())
    values = f" #({values})" if values else ""
    lines += [f"  {design.top}{values} dut (", ",\n".join(f"    {pin}" for pin in pins), "  );"]
    return "\n".join([*lines, "endmodule", ""])


def _range(bits: int) -> str:
    return f"[{bits - 1}:0] " if bits > 1 else ""


def _queue(component: wiring.Component, links: Sequence[Link]) -> tuple[dict[str, str], list[str]]:
    """Return the wires that replace packed ports, and the lines of the queue; both empty if the design has a ready."""
    streams = {
        name: member.flow is In
        for name, member in component.signature.members.items()
        if member.is_signature and isinstance(member.signature, stream.Signature)
    }
    partners = {link.packed: link.partner for link in links}
    unready = [name for name in streams if not streams[name] and _missing(partners.get(f"{name}__ready"))]
    delayed = [link for link in links if link.partner.delay is not None]
    if not unready:
        if delayed:
            raise ValueError(f'--map: "delay N" for {delayed[0].ours} needs a ready of its stream that is "open"')
        return {}, []
    if len(streams) != 2 or not any(streams.values()):
        raise ValueError(
            f'--map: the ready of {unready[0]} can be "open" only in a unit of one input and one output stream'
        )
    i, o = sorted(streams, key=lambda name: not streams[name])
    bits = sum(link.bits for link in links if link.packed == f"{o}__payload")
    delay, clocked = delayed[0].partner.delay if delayed else None, "clk" in partners
    if delay is not None and not (1 <= delay <= DEPTH if clocked else delay == 0):
        raise ValueError(
            f"--map: a delay must be {f'1 to {DEPTH}' if clocked else '0 in a combinational unit'}, not {delay}"
        )
    numbers = {
        "last": DEPTH - 1,
        "index": (DEPTH - 1).bit_length() - 1,
        "count": DEPTH.bit_length() - 1,
        "depth": DEPTH,
    }
    lines = ["  wire offer, willing, came;", f"  wire {_range(bits)}result;"]
    if clocked:
        lines += QUEUE.format(i=i, o=o, result=bits - 1, **numbers).splitlines()
        lines += DELAY.format(last=delay - 1).splitlines() if delay else []
    else:
        lines += THROUGH.format(i=i, o=o).splitlines()
        lines += [f"  assign came = {i}__valid;"] if delay is not None else []
    renamed = {f"{i}__valid": "offer", f"{i}__ready": "willing", f"{o}__valid": "came", f"{o}__payload": "result"}
    return renamed, lines


def _missing(partner: object) -> bool:
    return partner is not None and getattr(partner, "port", None) is None
