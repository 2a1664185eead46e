"""Options that several commands share."""

from collections.abc import Callable
from typing import Any

import click

SIMULATOR = click.option("--sim", "simulator", default="icarus", show_default=True, help="icarus or verilator.")

_SIZES = (
    click.option("--rows", type=int, help="PEs down."),
    click.option("--cols", type=int, help="PEs across."),
    click.option("--lanes", type=int, help="Lanes of AIE-ML v2's units."),
    click.option("--preset", help="Numerics by name, for example trainium3_quad_mx."),
    click.option("--stages", type=int, help="Register ranks in the datapath; 0 is combinational."),
)


def unit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that :func:`bitpath.sim.configure.configure` takes."""
    for option in reversed(_SIZES):
        command = option(command)
    return command
