"""Names of the machines, and options that several commands share."""

import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

# Errors on the way to and through a simulator, and the exit codes of the ``bitpath`` command.


EXIT_CODES = {
    0: "All is equal, or done.",
    1: "A bit differs, or a check, a simulation or a proof fails.",
    2: "An option or an input is wrong, or disk or memory are full.",
    3: "A program or a package is missing; the message is the line that installs it.",
    130: "Ctrl-C, kill or the end of the terminal interrupted the command.",
}
"""Meaning of each exit code; 130 is the shell's own for an interruption."""
FAILED, REFUSED, MISSING, INTERRUPTED = 1, 2, 3, 130


class MissingToolError(OSError):
    """A program or library is missing; the message is the line that installs it."""


class SimulationError(RuntimeError):
    """A build or run failed, or checked too little; the message names the log and the command that replays it."""


ENGINES = {"trainium3": "tensor_engine", "tensix": "tensix_engine", "aie_ml_v2": "aie_engine"}
"""Unit that runs the matmul of each machine; `sim.flows.machines` has a record of each."""
MACHINES = tuple(ENGINES)
FILE = click.Path(path_type=Path, dir_okay=False)


class Choice(click.Choice[str]):
    """One of several names; an unknown one is answered with the closest."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        from bitpath.golden.scalar.checked import suggestion

        message = super().get_invalid_choice_message(value, ctx).rstrip(".")
        return f"{message}{suggestion(str(value), self.choices) or '.'}"


SIMULATORS = Choice(("verilator", "icarus"))
SIMULATOR = click.option(
    "--sim", "simulator", type=SIMULATORS, default="verilator", show_default=True, help="Simulator that runs the RTL."
)

SCALE_RULE = click.option(
    "--scale-rule",
    type=Choice(("ocp", "nki05")),
    help="Rule of Trainium3's block scales: ocp, before NKI 0.5, or nki05, from it on.  [default: ocp]",
)


K_ORDER = click.option(
    "--k-order",
    type=Choice(("interleaved", "adjacent")),
    help="Which 32 elements along K share a scale of Trainium3: interleaved in a tile of 512, or neighbours.  [default: interleaved]",
)


def with_options(*options: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that adds options to a command."""
    return lambda command: reduce(lambda inner, option: option(inner), reversed(options), command)


unit_options = with_options(
    click.option("--rows", type=int, help="Rows of PEs or dot products."),
    click.option("--cols", type=int, help="Columns of PEs or dot products."),
    click.option("--lanes", type=int, help="Lanes of AIE-ML v2's units, of RMSNorm-Quant and of the FP32 functions."),
    click.option("--max-row-length", type=int, help="Elements of RMSNorm-Quant's longest row."),
    click.option("--preset", help="Numerics by name, for example trainium3_quad_mx."),
    click.option("--stages", type=int, help="Pipeline stages of the datapath; 0 is combinational."),
    click.option(
        "--config",
        type=FILE,
        help="JSON file with the whole configuration, such as config.json of a run; excludes the other settings.",
    ),
)
"""The options of :func:`bitpath.sim.engine.configure.chosen`."""


def _pattern(_ctx: click.Context, _option: click.Parameter, pattern: str | None) -> str | None:
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise ValueError(f"--filter: {pattern!r} is not a regular expression: {error}") from None
    return pattern


bench_options = with_options(
    SIMULATOR,
    click.option("--seed", type=int, help="Seed of all random choices; drawn and printed when not given."),
    click.option("--filter", "tests", callback=_pattern, help="Regular expression for the names of the tests to run."),
    click.option("--waves", is_flag=True, help="Record a wave, which bitpath waves opens."),
    click.option(
        "--timeout",
        type=click.FloatRange(0, min_open=True),
        default=600.0,
        show_default=True,
        help="Seconds after which the run fails.",
    ),
)
"""The options of a bench's run."""
