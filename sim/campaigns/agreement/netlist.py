"""Maps a unit's Verilog with Yosys and abc to the project's generic cells.

The cells and abc's script are those of ``make synth``. A module with several instances is mapped once; the others are
flattened into their parents. Large memories stay memories, like a chip's macros. The reset value of every flip-flop is 0: a
register with reset value 1 becomes a flip-flop between two inverters.
"""

from functools import partial
from importlib.metadata import files
from pathlib import Path
from typing import Any

from bitpath.rtl.common.config import digest
from bitpath.rtl.emit import verilog_text
from bitpath.rtl.units import find_unit
from bitpath.sim.engine import cache, paths, yosys
from bitpath.sim.engine.tools import require_extra
from bitpath.sim.study.synth import flow, library

MEMORY_WORDS, MEMORY_BITS = 8, 64
"""A memory with more words or wider ones stays a memory; a smaller one becomes flip-flops."""
NETLIST, TOP = "netlist.json", "netlist"
_SCRIPT = f"""read_verilog -sv source.v
hierarchy -check -top {TOP}
{{keep}}
synth -top {TOP} -flatten -nordff -run begin:fine
memory_map t:$mem_v2 r:SIZE<={MEMORY_WORDS} %i r:WIDTH<={MEMORY_BITS} %i
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
write_json {NETLIST}
"""


def netlist(unit: str, config: Any) -> Path:
    """Return the unit's netlist in Yosys' JSON, with the top module :data:`TOP`, from the cache if it is there.

    Raises MissingToolError without Yosys, and SimulationError if Yosys refused the Verilog or took too long.
    """
    require_extra("synth")
    text, shared = verilog_text(find_unit(unit).build(config), TOP)
    keep = "".join(f"setattr -mod -set keep_hierarchy 1 {name}\n" for name in shared)
    inputs = {
        "source.v": text,
        "cells.lib": library.liberty(),
        "area.abc": "\n".join(flow.SCRIPTS["area"]) + "\n",
    }
    script = _SCRIPT.format(keep=keep)
    # Names every file of Yosys' package with its digest.
    record = next(Path(str(file.locate())) for file in files(yosys.PACKAGE) or () if file.name == "RECORD")
    hashes = {name: cache.hash_text(content) for name, content in inputs.items()}
    key = {"script": script, "inputs": hashes, "yosys": cache.hash_files([record])}
    folder = paths.build_root() / "netlists" / f"{unit}-{digest(unit, config)}"
    cache.ensure(folder, key, partial(_synthesize, unit, inputs, script))
    return folder / NETLIST


def _synthesize(unit: str, inputs: dict[str, str], script: str, folder: Path) -> dict[str, Any]:
    for name, content in inputs.items():
        (folder / name).write_text(content)
    yosys.require_run(f"the netlist of {unit}", folder, "netlist", script, flow.SYNTH_SECONDS)
    return {}
