"""Synthesis in generic cells: designs and yardsticks, the Liberty file, the flow with Yosys, records and table."""

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2
from rich.console import Console
from rich.table import Column, Table

from bitpath.golden.arrays.files import SOURCE_BYTES, FileError, read_text
from bitpath.golden.formats.records import to_dict
from bitpath.rtl.common.config import digest
from bitpath.rtl.common.unit import YardstickConfig
from bitpath.rtl.emit import verilog_text
from bitpath.rtl.units import UNITS
from bitpath.sim.engine import cache, paths
from bitpath.sim.engine.cluster import HERE, Cluster, Piece, finished
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.process import require_yosys, yosys_version
from bitpath.sim.engine.tools import require_extra

# Yardsticks for a unit's area: bare arithmetic of the same kind, as small components.


FP32_EXPONENT = 8
FP32_SIGNIFICAND = 24
GUARD = 3
"""Guard bits below the significand of an FP32 adder."""


class Yardstick(wiring.Component):
    """Multipliers, an adder and FP32 shifters, combinational and not connected to each other.

    Members
    -------
    a : In(count * a_bits), b : In(count * b_bits), products : Out(count * (a_bits + b_bits))
    x, y : In(adder_bits), total : Out(adder_bits), with an adder
    exponents, significands, aligned, unnormal, normal, exponent : with FP32 shifters
    """

    clocked = False

    def __init__(self, config: YardstickConfig):
        self.config = config
        members = {
            "a": In(config.count * config.a_bits),
            "b": In(config.count * config.b_bits),
            "products": Out(config.count * (config.a_bits + config.b_bits)),
        }
        if config.adder_bits:
            members |= {"x": In(config.adder_bits), "y": In(config.adder_bits), "total": Out(config.adder_bits)}
        if config.fp32_shifters:
            wide = FP32_SIGNIFICAND + GUARD
            members |= {
                "exponents": In(2 * FP32_EXPONENT),
                "significands": In(2 * FP32_SIGNIFICAND),
                "larger": Out(FP32_SIGNIFICAND),
                "aligned": Out(wide),
                "unnormal": In(wide + 1),
                "normal": Out(wide + 1),
                "exponent": Out(FP32_EXPONENT),
            }
        super().__init__(members)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config = self.config
        for index in range(config.count):
            a, b = self.a.word_select(index, config.a_bits), self.b.word_select(index, config.b_bits)
            m.d.comb += self.products.word_select(index, config.a_bits + config.b_bits).eq(a * b)
        if config.adder_bits:
            m.d.comb += self.total.eq(self.x + self.y)
        if config.fp32_shifters:
            largest = self._align(m)
            self._normalize(m, largest)
        return m

    def _align(self, m: Module) -> Signal:
        """Align the smaller operand's significand by the exponent difference, with a sticky bit; select the larger exponent."""
        exponents = [self.exponents.word_select(index, FP32_EXPONENT) for index in range(2)]
        significands = [self.significands.word_select(index, FP32_SIGNIFICAND) for index in range(2)]
        wide = len(self.aligned)
        swap, smaller, largest = Signal(), Signal(wide), Signal(FP32_EXPONENT)
        distance, shift = Signal(FP32_EXPONENT), Signal(ceil_log2(wide + 1))
        m.d.comb += [
            swap.eq(exponents[0] < exponents[1]),
            largest.eq(Mux(swap, exponents[1], exponents[0])),
            distance.eq(Mux(swap, exponents[1] - exponents[0], exponents[0] - exponents[1])),
            shift.eq(Mux(distance > wide, wide, distance)),
            self.larger.eq(Mux(swap, significands[1], significands[0])),
            smaller.eq(Mux(swap, significands[0], significands[1]) << GUARD),
        ]
        shifted = Signal(2 * wide)
        m.d.comb += [
            shifted.eq(Cat(Signal(wide), smaller) >> shift),
            self.aligned.eq(shifted[wide:]),
            self.aligned[0].eq(shifted[wide] | shifted[:wide].any()),
        ]
        return largest

    def _normalize(self, m: Module, largest: Signal) -> None:
        """Shift the leading one to the top and adjust the exponent."""
        zeros = Signal(range(len(self.unnormal) + 1), init=len(self.unnormal))
        for index in range(len(self.unnormal)):
            with m.If(self.unnormal[index]):
                m.d.comb += zeros.eq(len(self.unnormal) - 1 - index)
        m.d.comb += [self.normal.eq(self.unnormal << zeros), self.exponent.eq(largest + 1 - zeros)]


# Designs to synthesise: units in the configurations that the README quotes, and their yardsticks.


YARDSTICK = "yardstick"


@dataclass(frozen=True)
class Design:
    """A design to synthesise: a unit or a yardstick in one configuration.

    Attributes
    ----------
    name : name in the table.
    unit : name of a unit, or "yardstick".
    macs : multiply-accumulates a cycle, or 0 if not applicable.
    yardstick : design by whose area its area is divided, or None.
    """

    name: str
    unit: str
    config: Any
    macs: int = 0
    yardstick: "Design | None" = field(default=None)

    @property
    def digest(self) -> str:
        return digest(self.unit, self.config)

    @property
    def machine(self) -> str:
        if self.unit == YARDSTICK:
            return YARDSTICK
        return UNITS[self.unit].machine

    @property
    def full_config(self) -> dict[str, Any]:
        """Return the whole configuration with the unit's name, as plain JSON values."""
        return {"unit": self.unit, **to_dict(self.config)}

    def verilog(self) -> tuple[str, str]:
        """Return its Verilog and the name of the top module."""
        build: Callable[[Any], wiring.Component] = Yardstick if self.unit == YARDSTICK else UNITS[self.unit].build
        top = f"{self.unit}_{self.digest}"
        return verilog_text(build(self.config), top)[0], top


def _quoted() -> Iterator[Design]:
    """Return the units' designs, each yardstick before the first design that uses it."""
    seen: dict[Any, Design] = {}
    for unit in UNITS.values():
        for each in unit.synthesised:
            if each.yardstick not in seen:
                # A yardstick does one multiply-accumulate a cycle for each of its multipliers.
                own = Design(each.yardstick_title, YARDSTICK, each.yardstick, each.yardstick.count)
                seen[each.yardstick] = own
                yield own
            yield Design(each.title, unit.name, each.config, each.macs, seen[each.yardstick])


QUOTED = tuple(_quoted())
"""Designs that ``make synth`` synthesises by default."""


# Default Liberty file for areas and delays: generic CMOS cells, generated from a table.
#
# The cells model a textbook and no process. A transistor has a quarter of the area of a NAND2, whose area is 1, so that areas are
# gate equivalents. Delays are logical effort: parasitic delay plus effort times load, with 65 ps for an inverter that drives four
# others, as in about 130 nm. There are no wires. The figures of a real library differ: compare ratios.


NAME = "generic_cells"
TAU_NS = 0.013
"""Delay of an inverter with its own input load, a fifth of a fan-out of four."""
INPUT_PF = 0.002
"""Input capacitance of the smallest inverter."""
SLEW_SHARE = 0.1
"""Share of the input transition time that adds to the delay."""
SIZES = (1, 2, 4)
"""Drive strengths: transistors get wider, the rest of the cell does not, see :meth:`Cell.area`."""
FIXED_SHARE = 0.5
SLEWS_NS = (0.0, 1.0)
LOADS_PF = (0.0, 0.5)
"""Corners of the tables; values are linear, so that two points each suffice."""


@dataclass(frozen=True)
class Cell:
    """A combinational cell of the library.

    Attributes
    ----------
    name, function : in Liberty's terms; inputs are single capitals.
    transistors : number of transistors, which gives the area.
    effort : input load relative to an inverter of the same drive.
    parasitic : delay without load, in units of :data:`TAU_NS`.
    sense : timing sense of all inputs.
    """

    name: str
    function: str
    transistors: int
    effort: float
    parasitic: float
    sense: str = "negative_unate"

    @property
    def inputs(self) -> list[str]:
        return sorted({letter for letter in self.function if letter.isalpha()})

    def area(self, size: int) -> float:
        """Return the gate equivalents of a drive strength."""
        return self.transistors / 4 * (FIXED_SHARE + (1 - FIXED_SHARE) * size)


CELLS = (
    Cell("inv", "!A", 2, 1, 1),
    Cell("buf", "A", 4, 1, 2.5, "positive_unate"),
    Cell("nand2", "!(A&B)", 4, 4 / 3, 2),
    Cell("nand3", "!(A&B&C)", 6, 5 / 3, 3),
    Cell("nand4", "!(A&B&C&D)", 8, 2, 4),
    Cell("nor2", "!(A|B)", 4, 5 / 3, 2),
    Cell("nor3", "!(A|B|C)", 6, 7 / 3, 3),
    Cell("and2", "A&B", 6, 4 / 3, 3.5, "positive_unate"),
    Cell("or2", "A|B", 6, 5 / 3, 3.5, "positive_unate"),
    Cell("aoi21", "!((A&B)|C)", 6, 2, 7 / 3),
    Cell("aoi22", "!((A&B)|(C&D))", 8, 2, 4),
    Cell("oai21", "!((A|B)&C)", 6, 2, 7 / 3),
    Cell("oai22", "!((A|B)&(C|D))", 8, 2, 4),
    Cell("xor2", "(A&!B)|(!A&B)", 10, 3, 4, "non_unate"),
    Cell("xnor2", "(A&B)|(!A&!B)", 10, 3, 4, "non_unate"),
    Cell("mux2", "(A&!S)|(B&S)", 12, 2, 5, "non_unate"),
    # Carry of a mirror full adder; the sum is two XORs, because the mapper supports one output a cell.
    Cell("maji3", "!((A&B)|(A&C)|(B&C))", 10, 2, 4),
)
FLIP_FLOP = "dff"
FLIP_FLOP_TRANSISTORS = 22


def liberty() -> str:
    """Return the text of the Liberty file."""
    loads, slews = (", ".join(f"{value:g}" for value in values) for values in (LOADS_PF, SLEWS_NS))
    head = f"""library({NAME}) {{
  delay_model : table_lookup;
  time_unit : "1ns";
  voltage_unit : "1V";
  current_unit : "1mA";
  pulling_resistance_unit : "1kohm";
  leakage_power_unit : "1nW";
  capacitive_load_unit(1, pf);
  input_threshold_pct_rise : 50;
  input_threshold_pct_fall : 50;
  output_threshold_pct_rise : 50;
  output_threshold_pct_fall : 50;
  slew_lower_threshold_pct_rise : 20;
  slew_lower_threshold_pct_fall : 20;
  slew_upper_threshold_pct_rise : 80;
  slew_upper_threshold_pct_fall : 80;
  default_max_transition : {SLEWS_NS[-1]:g};
  lu_table_template(linear) {{
    variable_1 : input_net_transition;
    variable_2 : total_output_net_capacitance;
    index_1("{slews}");
    index_2("{loads}");
  }}
"""
    cells = [_cell(cell, size) for cell in CELLS for size in SIZES]
    return head + "".join([*cells, _flip_flop()]) + "}\n"


def _cell(cell: Cell, size: int) -> str:
    load = INPUT_PF * cell.effort * size
    pins = "".join(f"    pin({name}) {{ direction : input; capacitance : {load:g}; }}\n" for name in cell.inputs)
    timing = "".join(_timing(name, cell, size) for name in cell.inputs)
    return (
        f"  cell({cell.name}_x{size}) {{\n    area : {cell.area(size):g};\n{pins}"
        f'    pin(Y) {{\n      direction : output;\n      function : "{cell.function}";\n'
        f"      max_capacitance : {LOADS_PF[-1]:g};\n{timing}    }}\n  }}\n"
    )


def _timing(name: str, cell: Cell, size: int) -> str:
    """Return the timing from an input to Y; rising and falling are equal."""
    ohms = TAU_NS / INPUT_PF / size
    delay = [[cell.parasitic * TAU_NS + SLEW_SHARE * slew + ohms * load for load in LOADS_PF] for slew in SLEWS_NS]
    # The transition time is about the charging time of the output.
    slew = [[cell.parasitic * TAU_NS + ohms * load for load in LOADS_PF] for _ in SLEWS_NS]
    tables = {"cell_rise": delay, "cell_fall": delay, "rise_transition": slew, "fall_transition": slew}
    text = "".join(f"        {kind}(linear) {{ values({_rows(rows)}); }}\n" for kind, rows in tables.items())
    return f'      timing() {{\n        related_pin : "{name}";\n        timing_sense : {cell.sense};\n{text}      }}\n'


def _rows(rows: list[list[float]]) -> str:
    return ", ".join('"' + ", ".join(f"{value:.6g}" for value in row) + '"' for row in rows)


def _flip_flop() -> str:
    return f"""  cell({FLIP_FLOP}) {{
    area : {FLIP_FLOP_TRANSISTORS / 4:g};
    ff(IQ, IQN) {{ clocked_on : "CK"; next_state : "D"; }}
    pin(CK) {{ direction : input; clock : true; capacitance : {INPUT_PF:g}; }}
    pin(D) {{ direction : input; capacitance : {INPUT_PF:g}; }}
    pin(Q) {{ direction : output; function : "IQ"; }}
  }}
"""


# Synthesis flow, Verilog to area, flip-flops and longest path: Yosys with its abc, from pip.


SYNTH_SECONDS = 3600
_COMMON = ("strash", "ifraig", "scorr")
_SIZING = ("topo", "buffer -c -N 16", "topo")
# Writes the longest path to stats.txt, because the WebAssembly build loses the output of abc.
_TIMING = ("topo", "stime -d")
SCRIPTS = {
    # Area script: prefers sharing over depth.
    "area": (*_COMMON, "dc2", "dc2", "strash", "&get -n", "&dch -f", "&nf", "&put", *_SIZING, "dnsize -c"),
    # Delay script: minimal depth, then area.
    "fast": (*_COMMON, "balance", "&get -n", "&dch", "&nf", "&put", *_SIZING, "upsize", "dnsize", *_TIMING),
}
"""abc's two scripts. Its older mappers (map, amap) fail in the WebAssembly build with an assertion; &nf works."""
_PREPARE = """read_verilog -sv source.v
hierarchy -check -top {top}
synth -top {top} -flatten -noabc
setattr -unset init w:*
opt -full
dfflegalize -cell $_DFF_P_ x
tee -o generic.json stat -json
dfflibmap -liberty cells.lib
opt_clean -purge
write_rtlil mapped.il
"""
_MAP = """read_rtlil mapped.il
abc -liberty cells.lib -script {mode}.abc
opt_clean -purge
tee -o {mode}.json stat -liberty cells.lib -json
"""
_GATE, _GATE_TOP = "module gate(input a, b, output y); assign y = ~(a & b); endmodule", "gate"
_FLIP_FLOP = "$_DFF_P_"


@dataclass(frozen=True)
class Synthesized:
    """Area and delay of one design; results of scripts that did not run are None.

    Attributes
    ----------
    ge_area, ge_fast : gate equivalents after the area and the delay script.
    ns_fast : the longest path after the delay script, between ports and flip-flops, without wires.
    flip_flops : number of flip-flops.
    """

    ge_area: float | None = None
    ge_fast: float | None = None
    ns_fast: float | None = None
    flip_flops: int | None = None


@dataclass(frozen=True)
class Flow:
    """Synthesis flow with one cell library, given as a Liberty text."""

    liberty: str

    @classmethod
    def of(cls, file: Path | None) -> "Flow":
        """Return the flow with a Liberty file, plain or gzipped, or with the project's generic cells for None.

        Raises FileError as `read_text`, or if the file has no library.
        """
        if file is None:
            return cls(liberty())
        text = read_text(file, "--liberty", most=SOURCE_BYTES)
        if _library_name(text) is None:
            raise FileError(f"--liberty: {file} is not a Liberty file, it has no library")
        return cls(text)

    @property
    def name(self) -> str:
        """Return the name in records: flow and library."""
        return f"bitpath {_library_name(self.liberty)}"

    @property
    def key(self) -> dict[str, Any]:
        """Return all inputs of a result besides the Verilog."""
        return {
            "liberty": cache.hash_text(self.liberty),
            "scripts": SCRIPTS,
            "steps": [_PREPARE, _MAP, _GATE],
            "yosys": yosys_version(),
        }

    def synthesize(self, verilog: str, top: str, modes: tuple[str, ...] = tuple(SCRIPTS)) -> Synthesized:
        """Return area and delay of a module after some of the scripts, from the cache if known.

        Raises MissingToolError without Yosys, and SimulationError if Yosys rejected the Verilog or the library, or the
        library lacks a NAND2 or a flip-flop.
        """
        require_extra("synth")
        gate = self._found(_GATE, _GATE_TOP, ("area",))["area"]
        if not gate["area"]:
            raise SimulationError(f"{self.name}: a NAND2, of which areas are counted, has no area in this library")
        found = self._found(verilog, top, modes)
        values: dict[str, Any] = {"flip_flops": found["flip_flops"]}
        for mode in modes:
            values[f"ge_{mode}"] = round(found[mode]["area"] / gate["area"], 1)
            if "ps" in found[mode]:
                values[f"ns_{mode}"] = round(found[mode]["ps"] / 1000, 3)
        return Synthesized(**values)

    def _found(self, verilog: str, top: str, modes: tuple[str, ...]) -> dict[str, Any]:
        """Return flip-flops, and for each script the area in the library's unit and the longest path in ps."""
        folder = paths.build_root() / "synth" / f"{top}-{cache.hash_text(self.liberty)[:8]}-{'-'.join(modes)}"
        key = self.key | {"verilog": cache.hash_text(verilog), "modes": modes}
        return cache.ensure(folder, key, partial(_synthesize, verilog, top, self.liberty, modes))


def _library_name(text: str) -> str | None:
    found = re.search(r'^[ \t]*library\s*\(\s*"?([^"\s)]+)"?\s*\)', text, re.MULTILINE)
    return found[1] if found else None


def _synthesize(verilog: str, top: str, text: str, modes: tuple[str, ...], folder: Path) -> dict[str, Any]:
    (folder / "source.v").write_text(verilog)
    (folder / "cells.lib").write_text(text)
    require_yosys("synthesis", folder, "prepare", _PREPARE.format(top=top), SYNTH_SECONDS)
    found: dict[str, Any] = {
        "flip_flops": _statistics(folder / "generic.json", top)["num_cells_by_type"].get(_FLIP_FLOP, 0)
    }
    for mode in modes:
        script = SCRIPTS[mode]
        (folder / f"{mode}.abc").write_text("\n".join(script) + "\n")
        require_yosys("synthesis", folder, mode, _MAP.format(mode=mode), SYNTH_SECONDS)
        # A design without gates has no path.
        found[mode] = {"area": _statistics(folder / f"{mode}.json", top).get("area", 0.0)}
        if script[-len(_TIMING) :] == _TIMING:
            found[mode]["ps"] = _longest_path(folder / "stats.txt")
    for name in ("cells.lib", "mapped.il"):
        (folder / name).unlink()
    return found


def _statistics(file: Path, top: str) -> dict[str, Any]:
    """Return the statistics of Yosys for the module."""
    return json.loads(file.read_text())["modules"][f"\\{top}"]


def _longest_path(file: Path) -> float:
    """Return picoseconds from the last line of abc's stime: name, inputs, outputs, cells, area and delay."""
    # Yosys skips abc for a design without logic.
    lines = file.read_text().splitlines() if file.exists() else []
    return float(lines[-1].split()[-1]) if lines else 0.0


# Records of synthesis runs, several designs at once, and their changes over time.


MEASURED = ("ge_area", "ge_fast", "ns_fast", "flip_flops")


def synth_records(
    designs: Sequence[Design], flow: Flow, cluster: Cluster = HERE
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the index of a design in the list and its record, as each becomes known.

    Raises MissingToolError without Yosys, and SimulationError at the end if some designs failed.
    """
    require_extra("synth")
    failures = []
    pieces = [Piece(index, design.name, _record, (design, flow)) for index, design in enumerate(designs)]
    for each in finished(pieces, cluster):
        try:
            yield each.piece.key, each.result()
        except SimulationError as error:
            failures.append(f"{each.piece.name}: {error}")
    if failures:
        raise SimulationError("\n".join(failures))


def _record(design: Design, flow: Flow) -> dict[str, Any]:
    found = flow.synthesize(*design.verilog())
    return {
        "name": design.name,
        "machine": design.machine,
        "config": design.full_config,
        "digest": design.digest,
        "flow": flow.name,
        **asdict(found),
        "macs": design.macs,
    }


def trend_file() -> Path:
    """Return the file of all changed results with their times, which only grows."""
    return paths.reports() / "synth_trend.jsonl"


def last_results(trend: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the newest record of each digest and flow."""
    return {(record["digest"], record["flow"]): record for record in cache.read(trend)}


def append_trend(trend: Path, record: dict[str, Any], before: dict[str, Any] | None) -> None:
    """Append a record if it differs from ``before``, the newest one of its digest and flow."""
    if before is None or any(before[name] != record[name] for name in MEASURED):
        cache.append(trend, {"time": time.strftime("%Y-%m-%dT%H:%M:%S"), **record})


# Table of areas and longest paths of a synthesis run.


COLUMNS = ("design", "digest", "GE area", "GE fast", "ns fast", "flip-flops", "GE/MAC", "to yardstick", "since last")


def show_synth(
    console: Console,
    found: Sequence[tuple[Design, dict[str, Any]]],
    before: dict[tuple[str, str], dict[str, Any]],
) -> None:
    """Print one row for each design, and below the table the whole configurations.

    ``found`` are designs and their records; ``before`` is the newest earlier record by digest and flow.
    """
    areas = {record["digest"]: record["ge_area"] for _, record in found}
    numbers = (Column(name, justify="right") for name in COLUMNS[2:])
    table = Table(*COLUMNS[:2], *numbers, title=found[0][1]["flow"])
    for design, record in found:
        last = before.get((record["digest"], record["flow"]))
        yardstick = areas.get(design.yardstick.digest) if design.yardstick else None
        table.add_row(
            design.name,
            design.digest,
            f"{record['ge_area']:,.0f}",
            f"{record['ge_fast']:,.0f}",
            f"{record['ns_fast']:.2f}",
            f"{record['flip_flops']:,}",
            f"{record['ge_area'] / design.macs:,.0f}" if design.macs else "-",
            f"{record['ge_area'] / yardstick:.2f}" if yardstick else "-",
            f"{100 * (record['ge_area'] / last['ge_area'] - 1):+.1f} %" if last else "new",
        )
    console.print(table)
    for design, _ in found:
        console.print(f"{design.digest}: {json.dumps(design.full_config)}", soft_wrap=True, highlight=False)
