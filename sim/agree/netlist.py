"""A unit as gates: its Verilog through Yosys and abc to the project's own generic cells, and those cells' models.

The mapping is the one that ``make synth`` counts; large memories stay memories, as macros of a chip are. A flip-flop holds
at power-on what the RTL says: one that starts at 1 is one that starts at 0 between two inverters.
"""

from importlib.metadata import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bitpath.golden.spec
import bitpath.rtl
from bitpath.rtl.config import digest
from bitpath.rtl.emit import verilog_text
from bitpath.rtl.units import find_unit
from bitpath.sim import yosys
from bitpath.sim.build import Emitter
from bitpath.sim.synth import flow, library
from bitpath.sim.tools import require_extra

SUFFIX = "_netlist"
MEMORY_WORDS = 64
"""A memory of more words stays one; of fewer it becomes flip-flops."""
NETLIST, MODELS = "netlist.v", "cells.v"
_SCRIPT = f"""read_verilog -sv source.v
hierarchy -check -top {{top}}
synth -top {{top}} -flatten -nordff -run begin:fine
memory_map t:$mem_v2 r:SIZE<={MEMORY_WORDS} %i
opt -fast -full
opt -undriven -fine
techmap
opt -full
opt_clean -purge
dfflegalize -cell $_DFF_P_ 0 -mince 100000000
simplemap
dfflibmap -liberty cells.lib
abc -liberty cells.lib -script area.abc
opt_clean -purge
write_verilog -noexpr -noattr {NETLIST}
design -reset
read_liberty cells.lib
opt_clean -purge
setattr -set init 1'0 {library.FLIP_FLOP}/w:Q
write_verilog -noattr {MODELS}
"""


def emitter() -> Emitter:
    """What :func:`bitpath.sim.build.build` takes for the netlist of the unit ``NAME_netlist``.

    Raises
    ------
    MissingToolError : Yosys is not installed.
    """
    require_extra("synth")
    sources = [Path(package.__file__).parent for package in (bitpath.rtl, bitpath.golden.spec)]
    # Names every file of Yosys' package with its digest.
    record = next(file for file in files(yosys.PACKAGE) or () if file.name == "RECORD")
    modules = (Path(module.__file__) for module in (library, flow, yosys))
    tools = (Path(__file__), *modules, Path(str(record.locate())))
    return Emitter(_emit, (*sources, *tools))


def _emit(name: str, config: Any, out: Path) -> SimpleNamespace:
    unit = name.removesuffix(SUFFIX)
    top = f"{name}_{digest(name, config)}"
    (out / "source.v").write_text(verilog_text(find_unit(unit).build(config), top)[0])
    (out / "cells.lib").write_text(library.liberty())
    (out / "area.abc").write_text("\n".join(flow.SCRIPTS["area"]) + "\n")
    yosys.require_run(f"the netlist of {unit}", out, "netlist", _SCRIPT.format(top=top), flow.SYNTH_SECONDS)
    return SimpleNamespace(top=top, files=(out / MODELS, out / NETLIST), no_inline=())
