"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

SIMULATOR = click.option("--sim", "simulator", default="icarus", show_default=True, help="icarus or verilator.")

_SIZES = (
    click.option("--rows", type=int, help="PEs down."),
    click.option("--cols", type=int, help="PEs across."),
    click.option("--lanes", type=int, help="Lanes of AIE-ML v2's units, of RMSNorm-Quant and of the FP32 functions."),
    click.option("--max-row-length", type=int, help="Elements of RMSNorm-Quant's longest row."),
    click.option("--preset", help="Numerics by name, for example trainium3_quad_mx."),
    click.option("--stages", type=int, help="Register ranks in the datapath; 0 is combinational."),
    click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The whole configuration as JSON, as runs leave it; alone.",
    ),
)


def unit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that :func:`bitpath.sim.engine.configure.chosen` takes."""
    for option in reversed(_SIZES):
        command = option(command)
    return command
