# amaranth: UnusedElaboratable=no
"""A unit's bench on a user's own design: the wrapper, the run, and its outcome as JSON and as JUnit XML."""

import hashlib
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In

from bitpath.rtl.common.files import write_whole
from bitpath.rtl.emit import rtlil_text
from bitpath.rtl.flat import CLOCK, flat_ports
from bitpath.rtl.units import find_unit
from bitpath.sim.engine import paths
from bitpath.sim.engine.build import Built, Emitter, build
from bitpath.sim.engine.configure import chosen
from bitpath.sim.engine.design import Design, Link, Partner, Piece, PortMap, connect, messages
from bitpath.sim.engine.options import SimulationError
from bitpath.verif.common.dot import variants
from bitpath.verif.kit import exceptions, mismatches

# A unit's bench on somebody's own design.


# Verilog of the module that a bench drives: a unit's packed ports around an instance of somebody's own design.


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
    drivers = [value for value in port_map.design.values() if isinstance(value, Piece)]
    waits = any(link.partner.after for link in links) or any(driver.after for driver in drivers)
    if waits and not (renamed and "clk" in {link.packed for link in links}):
        raise ValueError('--map: "after" needs a clock, and a ready of the results that is "open": nothing may stall')
    places = {link.ours: _place(link, links, renamed) for link in links}
    driven: dict[str, dict[int, str]] = {port: {} for port in design.ports}
    for number, link in enumerate(links):
        partner, place = link.partner, places[link.ours]
        if link.direction == "input" and partner.pieces:
            code = f"given_{number}"
            width = sum(piece.width(design.ports) for piece in partner.pieces)
            lines += _coded(code, place, width, partner)
            code, later = _later(code, width, partner.after)
            lines += later
            low = 0
            for piece in reversed(partner.pieces):
                bits = piece.width(design.ports)
                if piece.port is not None:
                    driven[piece.port][piece.low] = f"{'~' * piece.inverted}{code}[{low + bits - 1}:{low}]"
                low += bits
        elif partner.pieces:
            lines.append(f"  assign {place} = {{{', '.join(_taken(piece, design) for piece in partner.pieces)}}};")
        elif link.direction == "output" and partner.constant is not None:
            lines.append(f"  assign {place} = {link.bits}'d{partner.constant};")
    for piece, value in port_map.design.items():
        if isinstance(value, int):
            driven[str(piece.port)][piece.low] = f"{piece.width(design.ports)}'d{value}"
        elif value is not None:
            lines += [f"  wire [0:0] {piece.port}_now = {places[str(value.port)]};"]
            code, later = _later(f"{piece.port}_now", 1, value.after)
            lines += later
            driven[str(piece.port)][piece.low] = f"{'~' * value.inverted}{code}"
    pins, wires = _pins(design, driven)
    lines += wires
    values = ", ".join(f".{key}({value})" for key, value in design.parameters.items())
    values = f" #({values})" if values else ""
    lines += [f"  {design.top}{values} dut (", ",\n".join(f"    {pin}" for pin in pins), "  );"]
    return "\n".join([*lines, "endmodule", ""])


def _pins(design: Design, driven: Mapping[str, Mapping[int, str]]) -> tuple[list[str], list[str]]:
    """Return the pins of the design's instance, and the lines of their wires, inputs driven from the lowest bit given on."""
    pins, lines = [], []
    for number, port in enumerate(design.ports.values()):
        own = f"pin_{number}" if port.bits else ""
        pins.append(f".{port.name}({own})")
        if not own:
            # An output that is no vector is open.
            continue
        if port.bounds is None:
            lines.append(f"  wire {_range(port.bits)}{own};")
        else:
            # An array is a wire of all its elements beside it.
            (left, right), flat = port.bounds, f"flat_{number}"
            count = abs(left - right) + 1
            bits = port.bits // count
            lines += [f"  wire [{bits - 1}:0] {own} [{left}:{right}];", f"  wire {_range(port.bits)}{flat};"]
            for k in range(count):
                sides = f"{own}[{min(left, right) + k}]", f"{flat}[{(k + 1) * bits - 1}:{k * bits}]"
                lines.append("  assign {} = {};".format(*(sides if port.direction == "input" else sides[::-1])))
        if port.direction == "input":
            parts = ", ".join(text for _, text in sorted(driven[port.name].items(), reverse=True))
            lines.append(f"  assign {own if port.bounds is None else flat} = {{{parts}}};")
    return pins, lines


def _place(link: Link, links: Sequence[Link], renamed: Mapping[str, str]) -> str:
    """Return a link's part of the packed port."""
    word = renamed.get(link.packed, link.packed)
    if sum(each.bits for each in links if each.packed == link.packed) == link.bits:
        return word
    return f"{word}[{link.lsb + link.bits - 1}:{link.lsb}]" if link.bits > 1 else f"{word}[{link.lsb}]"


def _coded(name: str, place: str, bits: int, partner: Partner) -> list[str]:
    """Return the wire ``name`` with the design's code of a part of a packed port."""
    code = place
    if partner.values is not None:
        (_, last), *others = reversed(partner.values)
        code = "".join(f"{place} == {own} ? {bits}'d{value} : " for own, value in reversed(others)) + f"{bits}'d{last}"
    # Bits are chosen of a vector of one bit too.
    return [f"  wire [{bits - 1}:0] {name};", f"  assign {name} = {code};"]


def _later(name: str, bits: int, cycles: int) -> tuple[str, list[str]]:
    """Return the wire ``name`` some cycles later, and the lines of its registers."""
    lines = []
    for cycle in range(cycles):
        lines += [
            f"  reg [{bits - 1}:0] {name}_{cycle};",
            f"  always @(posedge clk) {name}_{cycle} <= {name if cycle == 0 else f'{name}_{cycle - 1}'};",
        ]
    return f"{name}_{cycles - 1}" if cycles else name, lines


def _taken(piece: Piece, design: Design) -> str:
    """Return a piece of the design's outputs."""
    if piece.port is None:
        return f"{piece.bits}'d{piece.constant}"
    number, port = list(design.ports).index(piece.port), design.ports[piece.port]
    word = f"pin_{number}" if port.bounds is None else f"flat_{number}"
    high = port.bits - 1 if piece.high is None else piece.high
    return f"{'~' * piece.inverted}{word}" + (f"[{high}:{piece.low}]" if port.bits > 1 else "")


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
    return partner is not None and not getattr(partner, "pieces", ())


def configuration(unit: str, design: Design, port_map: PortMap, settings: dict[str, Any]) -> Any:
    """Return the unit's configuration: that of the settings, by default with pipeline stages only if the design has a clock."""
    config = chosen(unit, **settings)
    given = settings.get("stages") is not None or settings.get("config") is not None
    if given or not hasattr(config, "pipeline"):
        return config
    clocked = any(piece.port in design.ports for piece in port_map.partner("clk").pieces)
    if clocked == bool(_clock(find_unit(unit).build(config))):
        return config
    return chosen(unit, **settings | {"stages": int(clocked)})


def _clock(component: Any) -> list[str]:
    """Return the clock and the reset that a component has."""
    text, _ = rtlil_text(component, "unit")
    return [each for each in CLOCK if re.search(rf"^\s*wire .*\\{each}$", text, re.MULTILINE)]


def digests(design: Design) -> dict[str, str]:
    """Return the SHA-256 of every file of a design, by the path as messages show it."""
    return {paths.shown(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in design.read}


def build_design(
    unit: str, config: Any, design: Design, port_map: PortMap, simulator: str, *, waves: bool = False
) -> tuple[Built, list[list[int | None]]]:
    """Compile the design in a wrapper with the unit's ports, or take it from the cache, whose key has every file's content.

    Return it with the operands that the design does not have, as `bitpath.verif.kit.pipeline.held` reads them.

    Raises ValueError if the ports do not fit or the simulator rejects a file of the design, and as
    :func:`bitpath.sim.engine.build.build`.
    """
    component, name = find_unit(unit).build(config), f"check_{unit}"
    links = connect(unit, flat_ports(component, _clock(component)), design, port_map)
    missing = _held(links)
    if missing and not find_unit(unit).holds:
        raise ValueError(
            f"--map: the bench of {unit} sends every operand all its values; the design must have them all"
        )
    heading = [f"// {design.top} as {unit}, for bitpath check."]
    heading += [f"// {digest} {file}" for file, digest in digests(design).items()]
    wrapped = wrapper(name, component, design, links, port_map)
    verilog = "\n".join([*heading, wrapped])

    def emit(unit: str, config: Any, folder: Path) -> SimpleNamespace:
        file = folder / f"{name}.v"
        file.write_text(verilog)
        return SimpleNamespace(top=name, files=(*files, file), no_inline=())

    files, includes = ([each.resolve() for each in group] for group in (design.sources.files, design.sources.includes))
    # Other files, or the same in another folder, are another design even with the same top module: two commands at a time
    # may build and run them.
    defines = tuple(design.sources.defines.items())
    place = hashlib.sha256("\n".join([wrapped, str(defines), *map(str, files)]).encode()).hexdigest()[:8]
    emitter = Emitter(emit, (), f"{verilog}\n{place}", tuple(includes), defines, unit)
    try:
        built = build(f"check-{design.top}-{place}", config, simulator, waves=waves, emitter=emitter)
    except SimulationError as error:
        if lines := _complaints(str(error), design.sources.files):
            raise ValueError(f"{simulator} rejects {design.top}: {messages(lines)}") from None
        raise
    return replace(built, unit=f"{design.top} as {unit}"), missing


def _held(links: Sequence[Link]) -> list[list[int | None]]:
    """Return lowest bit, width and value of the operands that have one value, and the source of those that have another's."""
    places = {link.ours: link.lsb for link in links}
    return [
        [link.lsb, link.bits, link.partner.constant, places.get(link.partner.same_as or "")]
        for link in links
        if link.operand and not link.partner.pieces
    ]


def _complaints(text: str, files: Sequence[Path]) -> list[str]:
    """Return the lines of a simulator's messages that name a line of one of the files, with paths as they were given."""
    found = []
    for line in text.splitlines():
        for file in files:
            if f"{file.resolve()}:" in line and "warning" not in line.lower():
                found.append(line.replace(str(file.resolve()), str(file)).removeprefix("%Error: "))
    return found


def new_folder(top: str, simulator: str) -> Path:
    """Return a new folder for a run, apart from the runs of this project's own units."""
    base = paths.checks() / top
    base.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{time.strftime('%Y%m%d-%H%M%S')}-{simulator}-", dir=base))


OBSERVED = "observed.jsonl"
"""File in a run's folder with requests and results, for `fitting_variants`."""


def check_exceptions(unit: str, config: Any, given: Sequence[str]) -> None:
    """Raise ValueError for an exception that is neither a name nor an expression over the unit's operands."""
    component = find_unit(unit).build(config)
    exceptions.check(given, [port.name for port in flat_ports(component, ()) if port.direction == "input"])


def excepted(records: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """Return the differences that were passed over in all tests, by exception."""
    return sum((Counter(each.get("excepted", {})) for each in records), Counter())


def fitting_variants(unit: str, config: Any, folder: Path) -> list[str]:
    """Return lines that name the single-field variants of the numerics that give all results that a run observed.

    Empty for a unit whose bench does not compare dot products, and for a run without mismatches.
    """
    file = folder / OBSERVED
    if not find_unit(unit).holds or not file.exists():
        return []
    observed = [tuple(json.loads(line)) for line in file.read_text().splitlines()]
    return variants.lines(find_unit(unit).build(config), config, observed)


# Outcome of a checked design as JSON and as JUnit XML.


def record(
    folder: Path, identity: Mapping[str, Any], replay: str | None, volume: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the record of a finished run: its identity, its comparisons, and its first mismatch.

    Parameters
    ----------
    folder : of the run.
    identity : names and files of unit and design.
    replay : command that replays a failure; None after a run that passed.
    volume : counts of vectors played and of those that differ, which the totals include; None without any, or if the run has
        left them itself.
    """
    run = json.loads((folder / "run.json").read_text())
    file = folder / "records.jsonl"
    counted = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    first, further = mismatches.whole(folder)
    known, played = len(further) + bool(first), dict(volume or run.get("volume") or {})
    return {
        **identity,
        **{key: run[key] for key in ("config", "seed", "tests", "failed", "skipped", "wall_seconds")},
        # A test that stops early leaves no count; then the reported mismatches are those that are known.
        "compared": sum(each["compared"] for each in counted) + played.get("vectors", 0),
        # Vectors that differ are counted beyond those that are reported.
        "mismatches": max(known, played.get("mismatches", 0)),
        "excepted": dict(excepted(counted)),
        **({"volume": played} if played else {}),
        "passed": replay is None,
        "first_mismatch": first or None,
        "replay": replay,
    }


def write_junit(path: Path, folder: Path, content: Mapping[str, Any], message: str) -> None:
    """Write the run's test cases under the design's name; failed ones have the report of the run.

    A run that ended without results, or failed as a whole, is one failed case.
    """
    try:
        root = ElementTree.parse(folder / "results.xml").getroot()
    except (FileNotFoundError, ElementTree.ParseError):
        root = ElementTree.Element("testsuites")
    suites = list(root.iter("testsuite")) or [ElementTree.SubElement(root, "testsuite")]
    name = f"{content['top']} as {content['unit']}"
    for suite in suites:
        suite.set("name", name)
    if "volume" in content:
        case = ElementTree.SubElement(suites[0], "testcase", name="volume", time=str(content["volume"]["seconds"]))
        if content["volume"]["mismatches"]:
            ElementTree.SubElement(case, "failure", message=message.splitlines()[0])
    for case in root.iter("testcase"):
        case.set("classname", name)
    failures = [*root.iter("failure"), *root.iter("error")]
    if not failures and not content["passed"]:
        case = ElementTree.SubElement(suites[0], "testcase", name="run", classname=name)
        failures = [ElementTree.SubElement(case, "failure", message=message.splitlines()[0])]
    for failure in failures:
        failure.text = message
    suites[0].set("tests", str(len(list(root.iter("testcase")))))
    suites[0].set("failures", str(len(failures)))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n")
