"""Tables and figures by the names that pages use, for example ``{{ numerics("tensix") }}``."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import wavedrom

from bitpath.golden import trainium3
from bitpath.golden.formats.catalogue import CATALOGUE
from bitpath.golden.nki import NEWEST
from bitpath.golden.tensix import llk
from bitpath.rtl.emit import verilog_text
from bitpath.rtl.trainium3.array.config import ArrayConfig
from bitpath.rtl.trainium3.engine.instruction import EngineConfig
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.formal import listing
from bitpath.sim.engine.options import EXIT_CODES
from bitpath.sim.study.numerics import TEXTS, documents, numerics_rows
from bitpath.sim.study.numerics import standings as count_standings
from bitpath.verif.properties import PROPERTIES
from parts import core, datapaths, house, kernels, ledger, records, releases, tile, units
from parts.records import markdown

SIZES = (4, 32)
"""Rows and columns of the arrays whose Verilog is measured."""


def numerics(machine: str) -> str:
    """Return the tables of a machine's numerics with standing and source, and of the documents that they name."""
    tables = [numerics_rows(rows) for rows in TEXTS[machine].numerics]
    named = documents(row[-1] for _, rows in tables for row in rows)
    tables.append((("document", "title"), named))
    return "\n\n".join(markdown(list(headings), [list(row) for row in rows]) for headings, rows in tables)


def standings() -> str:
    """Return for each machine how many of its statements have which standing."""
    counted = {name: count_standings(machine.numerics) for name, machine in TEXTS.items()}
    kinds = list(next(iter(counted.values())))
    return markdown(["machine", *kinds], [[name, *found.values()] for name, found in counted.items()])


def formats() -> str:
    """Return the catalogue of formats."""
    rows = [
        [
            f"`{each.name}`",
            each.width,
            each.exponent_bits,
            each.fraction_bits,
            each.bias,
            each.specials.value.replace("_", " "),
        ]
        for each in CATALOGUE.values()
    ]
    return markdown(["format", "bits", "exponent", "fraction", "bias", "specials"], rows)


def emitted() -> str:
    """Return the size of the Verilog of Trainium3's array and engine at two array sizes, as `bitpath emit` writes it now."""
    rows = []
    for name, config in (("systolic_array", ArrayConfig), ("tensor_engine", _engine)):
        small, large = (len(verilog_text(UNITS[name].build(config(rows=size, cols=size)), name)[0]) for size in SIZES)
        rows.append([f"`{name}`", small, large, f"{large / small:.2f}"])
    return markdown(["unit", *(f"{size}x{size}, bytes" for size in SIZES), "ratio"], rows)


def functions() -> str:
    """Return the kernel library's functions with operands, forms, parameters and source."""
    rows = [
        [
            f"`{name}`",
            each.operands,
            ", ".join(each.forms),
            {None: "16, 32", False: "16", True: "32"}[each.dst32],
            ", ".join(f"{key} {value}" for key, value in each.parameters.items()),
            each.source,
        ]
        for name, each in llk.FUNCTIONS.items()
    ]
    return markdown(["function", "operands", "forms", "bits of Dst", "parameters", "source"], rows)


def absent_functions() -> str:
    """Return the kernel library's functions that golden has not, with their reasons."""
    return markdown(["function", "why"], [[f"`{name}`", reason] for name, reason in llk.ABSENT.items()])


def _engine(**size: int) -> EngineConfig:
    return EngineConfig(array=ArrayConfig(**size))


def wave(text: str) -> str:
    """Draw a bit field or a handshake from WaveJSON."""
    drawing = wavedrom.render(json.dumps(json.loads(text)))
    return f'<div class="wave">{drawing.tostring()}</div>'


def names() -> Mapping[str, Callable[..., Any] | Mapping[str, str] | str | int]:
    """Return all that a page may name."""
    single = {path.stem: records.figures(path.stem) for path in records.RECORDS.glob("*.toml")}
    return single | {
        "table": records.table,
        "numerics": numerics,
        "standings": standings,
        "formats": formats,
        "properties": lambda: listing(list(PROPERTIES.values())),
        "property_count": len(PROPERTIES),
        "unit_count": len(UNITS),
        "units": units.overview,
        "unit_sections": units.sections,
        "datapath": datapaths.svg,
        "core_timeline": core.timeline,
        "core_traffic": core.traffic,
        "latency_table": trainium3.latency_table,
        "tile_cycles": tile.cycle_table,
        "tile_layers": tile.layer_table,
        "emitted": emitted,
        "ledger_rows": ledger.ledger,
        "ledger_predictions": ledger.predictions,
        "nki_newest": NEWEST,
        "nki_releases": releases.changes,
        "nki_parameters": releases.parameters,
        "kernel_grid": kernels.covered,
        "kernel_refusals": kernels.refused,
        "kernel_counts": kernels.counts(),
        "house": house.matrix,
        "house_counts": lambda: markdown(
            ["wing", "folders", "files", "lines", "imports between folders", "reads the wings"], house.counts()
        ),
        "wave": wave,
        "function_list": functions,
        "absent_functions": absent_functions,
        "exit_codes": lambda: markdown(["code", "meaning"], [list(each) for each in EXIT_CODES.items()]),
    }
