"""A unit's bench on somebody's own design."""

import hashlib
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.emit import rtlil_text
from bitpath.rtl.flat import CLOCK, flat_ports
from bitpath.rtl.units import find_unit
from bitpath.sim.engine import paths
from bitpath.sim.engine.build import Built, Emitter, build
from bitpath.sim.engine.check.connect import connect
from bitpath.sim.engine.check.design import Design, messages
from bitpath.sim.engine.check.port_map import PortMap
from bitpath.sim.engine.check.wrapper import wrapper
from bitpath.sim.engine.configure import chosen
from bitpath.sim.engine.errors import SimulationError


def configuration(unit: str, design: Design, port_map: PortMap, settings: dict[str, Any]) -> Any:
    """Return the unit's configuration: that of the settings, with one pipeline stage by default if only the design has a clock."""
    config = chosen(unit, **settings)
    given = settings.get("stages") is not None or settings.get("config") is not None
    if port_map.partner("clk").port not in design.ports or given or _clock(find_unit(unit).build(config)):
        return config
    if getattr(config, "pipeline", None) != PipelineConfig():
        return config
    return chosen(unit, **settings | {"stages": 1})


def _clock(component: Any) -> list[str]:
    """Return the clock and the reset that a component has."""
    text, _ = rtlil_text(component, "unit")
    return [each for each in CLOCK if re.search(rf"^\s*wire .*\\{each}$", text, re.MULTILINE)]


def digests(design: Design) -> dict[str, str]:
    """Return the SHA-256 of every file of a design, by the path as messages show it."""
    return {paths.shown(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in design.read}


def build_design(
    unit: str, config: Any, design: Design, port_map: PortMap, simulator: str, *, waves: bool = False
) -> Built:
    """Compile the design in a wrapper with the unit's ports, or take it from the cache, whose key has every file's content.

    Raises ValueError if the ports do not fit or the simulator rejects a file of the design, and as
    :func:`bitpath.sim.engine.build.build`.
    """
    component, name = find_unit(unit).build(config), f"check_{unit}"
    links = connect(unit, flat_ports(component, _clock(component)), design, port_map)
    heading = [f"// {design.top} as {unit}, for bitpath check."]
    heading += [f"// {digest} {file}" for file, digest in digests(design).items()]
    wrapped = wrapper(name, component, design, links, port_map)
    verilog = "\n".join([*heading, wrapped])

    def emit(unit: str, config: Any, folder: Path) -> SimpleNamespace:
        file = folder / f"{name}.v"
        file.write_text(verilog)
        return SimpleNamespace(top=name, files=(*files, file), no_inline=())

    files, includes = ([each.resolve() for each in group] for group in (design.files, design.includes))
    # Other files, or the same in another folder, are another design even with the same top module: two commands at a time
    # may build and run them.
    place = hashlib.sha256("\n".join([wrapped, *map(str, files)]).encode()).hexdigest()[:8]
    emitter = Emitter(emit, (), f"{verilog}\n{place}", tuple(includes))
    try:
        built = build(f"check-{design.top}-{place}", config, simulator, waves=waves, emitter=emitter)
    except SimulationError as error:
        if lines := _complaints(str(error), design.files):
            raise ValueError(f"{simulator} rejects {design.top}: {messages(lines)}") from None
        raise
    return replace(built, unit=f"{design.top} as {unit}")


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
