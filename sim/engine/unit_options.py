"""Command options for the configuration of a unit, shared by several commands."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

SIMULATOR = click.option("--sim", "simulator", default="icarus", show_default=True, help="icarus or verilator.")

_SIZES = (
    click.option("--rows", type=int, help="Rows of PEs or dot products."),
    click.option("--cols", type=int, help="Columns of PEs or dot products."),
    click.option("--lanes", type=int, help="Lanes of AIE-ML v2's units, of RMSNorm-Quant and of the FP32 functions."),
    click.option("--max-row-length", type=int, help="Elements of RMSNorm-Quant's longest row."),
    click.option("--preset", help="Numerics by name, for example trainium3_quad_mx."),
    click.option("--stages", type=int, help="Pipeline stages of the datapath; 0 is combinational."),
    click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        help="JSON file with the whole configuration, such as config.json of a run; excludes the other settings.",
    ),
)


def unit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of :func:`bitpath.sim.engine.configure.chosen` to a command."""
    for option in reversed(_SIZES):
        command = option(command)
    return command
