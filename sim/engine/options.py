"""Names of the machines, and options that several commands share."""

import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

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

rmsnorm_options = with_options(
    click.option(
        "--hidden", type=FILE, help="RMSNorm-Quant: your own hidden states [M, H], float32 or float16 as .npy."
    ),
    click.option("--gamma", type=FILE, help="RMSNorm-Quant: your own gamma [1, H], rounded to BF16.  [default: ones]"),
    click.option("--residual", type=FILE, help="RMSNorm-Quant: a residual [M, H]; golden adds it before the unit."),
    click.option("--pre-norm-gamma", type=FILE, help="RMSNorm-Quant: gamma [1, H] of a pre-norm, in golden too."),
    click.option(
        "--in-scale", type=FILE, help="RMSNorm-Quant: static scales [128, 1].  [default: the largest becomes 240]"
    ),
    click.option("--eps", type=float, help="RMSNorm-Quant: eps, rounded to BF16.  [default: 1e-6]"),
    click.option(
        "--eps-placement", type=Choice(("kernel", "golden")), help="RMSNorm-Quant: eps in the root or added to it."
    ),
    click.option(
        "--dtype-mode",
        type=Choice(("non_ocp", "ocp")),
        help="RMSNorm-Quant: E4M3 up to 240, or E4M3FN up to 448.  [default: non_ocp]",
    ),
    click.option("--lower-bound", type=float, help="RMSNorm-Quant: bound of the absolute maximum.  [default: none]"),
    click.option("--quant-only", is_flag=True, default=None, help="RMSNorm-Quant: leave the normalisation out."),
)
"""Tensors and options of ``bitpath run --flow rmsnorm_quant``; each name is that of golden's argument."""
RMSNORM_OPTIONS = (
    "hidden",
    "gamma",
    "residual",
    "pre_norm_gamma",
    "in_scale",
    "eps",
    "eps_placement",
    "dtype_mode",
    "lower_bound",
    "quant_only",
)


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
