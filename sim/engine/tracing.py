# amaranth: UnusedElaboratable=no
"""Additions of a build with waves: wires in the Verilog, and Verilator's FST without Debian packages or Yosys's
signals.

The simulator reads the Verilog with these further lines::

    reg [40:0] expected__moving_east = 0;     golden's value of the last comparison, written by the bench
    reg mismatch__moving_east = 0;            1 if the last comparison failed, written by the bench
    reg mismatch = 0;                         the same for all comparisons
    reg [40:0] mismatch__actual = 0;          values of a comparison of no output's, written by the bench
    reg [40:0] mismatch__expected = 0;
    wire [8:0] number__moving_east__elements_0 = { moving_east[40:40], moving_east[7:0] };
    wire [8:0] expected__moving_east__elements_0 = { expected__moving_east[40:40], expected__moving_east[7:0] };
    wire [7:0] \\moving_east.elements[0]  = moving_east[7:0];

``number__`` and ``expected__`` of a field stand below the fields that select its number format, see
:mod:`bitpath.sim.engine.numbers`. Their names have no dots, which Surfer would read as scopes. The last line names a field as
Amaranth does; only the module around somebody's own design lacks it.
"""

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitpath.rtl.units import UNITS
from bitpath.sim.engine.numbers import rule_of
from bitpath.sim.engine.stepped import module_ports
from bitpath.verif.kit.batches import places

HEADERS = tuple(Path(__file__).parent / "fst" / name for name in ("lz4.h", "zlib.h"))
"""The functions of LZ4 and zlib that Verilator's FST writer calls; their own headers are Debian packages."""
SOURCES = (Path(__file__), Path(__file__).with_name("numbers.py"), *HEADERS)
"""Files that belong to the key of every build."""
LIBRARIES = ("liblz4.a", "libz.a")
"""Libraries that Verilator's makefile links for FST. They are empty, because the headers define the functions inline."""
EMPTY_ARCHIVE = b"!<arch>\n"
OPTIONS = ("--trace-fst", "-LDFLAGS", "-L.")
_GENERATED = re.compile(r"\s*(?:reg|wire) .*\\\$")
"""Declaration of a signal that Yosys named."""


def write_fst_files(folder: Path) -> None:
    """Write headers and libraries of the FST writer into the build's folder, where compiler and linker look first."""
    for header in HEADERS:
        shutil.copy(header, folder)
    for name in LIBRARIES:
        (folder / name).write_bytes(EMPTY_ARCHIVE)


def left_out(sources: list[str]) -> Iterator[str]:
    """Return control lines that leave the signals named by Yosys out of the wave.

    They are half of the signals, and no group of a save file displays them.
    """
    for source in sources:
        for number, line in enumerate(Path(source).read_text(errors="replace").splitlines(), 1):
            if _GENERATED.match(line):
                yield f'tracing_off -file "{source}" -lines {number}'


EXPECTED, MISMATCH, NUMBER = "expected__", "mismatch__", "number__"
"""Starts of the added names."""
VALUES = {f"{MISMATCH}actual": "", f"{MISMATCH}expected": "expected"}
"""Registers with the values of a comparison of no output's, and the kinds of their lines; as wide as the widest output."""
HANDSHAKE = ("__valid", "__ready")
"""Ends of the names of outputs that scoreboards do not compare."""
_MODULE = re.compile(r"^module (\w+)\(.*?^endmodule", re.MULTILINE | re.DOTALL)
_DECLARED = re.compile(r"^  (?:wire|reg) (?:signed )?(?:\[(\d+):0\] )?(\w+|\\\S+ )", re.MULTILINE)


def plain(name: str) -> str:
    """Return a field's name without dots and brackets: ``o__payload.codes[3]`` becomes ``o__payload__codes_3``."""
    return re.sub(r"\[(\d+)\]", r"_\1", name).replace(".", "__")


def port_fields(unit: str, config: Any) -> dict[str, dict[str, tuple[int, int]]]:
    """Return lowest bit and width of the fields of a unit's ports, by port and by name in the wave; {} for no unit's."""
    if unit not in UNITS:
        return {}
    signature = UNITS[unit].build(config).signature
    found = {}
    for path, member, _ in signature.flatten(signature.create()):
        port = "__".join(map(str, path))
        inside = places(member.shape, port)
        if port not in inside:
            found[port] = {re.sub(r"\.(\d+)\b", r"[\1]", name): place for name, place in inside.items()}
    return found


def with_wave_wires(verilog: str, top: str, fields: Mapping[str, Mapping[str, tuple[int, int]]]) -> str:
    """Return the Verilog of a build with waves.

    Parameters
    ----------
    fields : lowest bit and width of the fields of each port of module ``top`` that has fields, by their names in the wave;
        empty without any, and then only ``top`` is extended.
    """

    def widened(found: re.Match[str]) -> str:
        here = _DECLARED.findall(found[0]) if fields else ()
        declared = {name.strip("\\ "): _Signal(name, int(high or 0) + 1) for high, name in here if "$" not in name}
        lines = dict(_wires(NUMBER, declared, every=False))
        if found[1] == top:
            ports = module_ports(verilog, top)
            lines["mismatch"] = "reg mismatch = 0;"
            widest = max((port.bits for port in ports if port.direction == "output"), default=1)
            for name in VALUES:
                lines[name] = f"reg {_range(widest)}{name} = 0;"
            for port in ports:
                inside = fields.get(port.name, {})
                parts = _fields(port.name, inside)
                lines |= {
                    name: f"wire {_range(part.bits)}\\{name}  = {part.whole};"
                    for name, part in parts.items()
                    if name not in declared
                }
                lines |= dict(_wires(NUMBER, parts))
                if port.direction == "output" and not port.name.endswith(HANDSHAKE):
                    name = f"{EXPECTED}{port.name}"
                    lines[name] = f"reg {_range(port.bits)}{name} = 0;"
                    lines[MISMATCH + port.name] = f"reg {MISMATCH}{port.name} = 0;"
                    lines |= dict(_wires(EXPECTED, _fields(name, inside)))
        return found[0].removesuffix("endmodule") + "".join(f"  {line}\n" for line in lines.values()) + "endmodule"

    return _MODULE.sub(widened, verilog)


@dataclass(frozen=True)
class _Signal:
    """A signal in Verilog: ``bits`` of ``name`` from bit ``low`` on; all of it if that is None."""

    name: str
    bits: int
    low: int | None = None

    def part(self, high: int, low: int) -> str:
        if self.low is None and (high, low) == (self.bits - 1, 0):
            return self.name
        return f"{self.name}[{(self.low or 0) + high}:{(self.low or 0) + low}]"

    @property
    def whole(self) -> str:
        return self.part(self.bits - 1, 0)


def _range(bits: int) -> str:
    """Return the range of a declaration. GTKWave does not find a single bit under the name that Verilator gives to [0:0]."""
    return f"[{bits - 1}:0] " if bits > 1 else ""


def _fields(port: str, places: Mapping[str, tuple[int, int]]) -> dict[str, _Signal]:
    return {name: _Signal(port, bits, low) for name, (low, bits) in places.items()}


def _wires(start: str, signals: Mapping[str, _Signal], *, every: bool = True) -> Iterator[tuple[str, str]]:
    """Return name and declaration of a wire for each signal, or only for those whose format others of them select."""
    for name, signal in signals.items():
        rule, selectors = rule_of(name, signal.bits, signals) or (None, ())
        above = [signals[each] for each in selectors]
        codes = [[(signal.bits - 1, 0)]] if rule is None else rule.parts(signal.bits)
        for index, parts in enumerate(codes if rule is not None or every else ()):
            wire = f"{start}{plain(name)}" + (f"_{index}" if len(codes) > 1 else "")
            bits = sum(each.bits for each in above) + sum(high - low + 1 for high, low in parts)
            values = [*(each.whole for each in above), *(signal.part(*part) for part in parts)]
            yield wire, f"wire {_range(bits)}{wire} = {{ {', '.join(values)} }};"
