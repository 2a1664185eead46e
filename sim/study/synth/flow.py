"""Synthesis flow, Verilog to area, flip-flops and longest path: Yosys with its abc, from pip."""

import json
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bitpath.golden.arrays.files import SOURCE_BYTES, FileError, read_text
from bitpath.sim.engine import cache, paths
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.tools import require_extra
from bitpath.sim.engine.yosys import require_run, yosys_version
from bitpath.sim.study.synth.library import liberty

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
    require_run("synthesis", folder, "prepare", _PREPARE.format(top=top), SYNTH_SECONDS)
    found: dict[str, Any] = {
        "flip_flops": _statistics(folder / "generic.json", top)["num_cells_by_type"].get(_FLIP_FLOP, 0)
    }
    for mode in modes:
        script = SCRIPTS[mode]
        (folder / f"{mode}.abc").write_text("\n".join(script) + "\n")
        require_run("synthesis", folder, mode, _MAP.format(mode=mode), SYNTH_SECONDS)
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
