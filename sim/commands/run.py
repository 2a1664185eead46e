"""``bitpath run``: real tensors through golden and RTL, whose bits are compared; each flow is a subcommand with its options."""

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from bitpath.sim.commands._click import Choice, Command, Group, Printer, cluster_options, examples, output_options
from bitpath.sim.engine.options import FILE, MACHINES, SCALE_RULE, SIMULATOR, with_options

SIZES = ("rows", "cols", "lanes", "chip")
"""Options of an engine."""
SWITCHES = ("shaping", "qos")


class Flows(Group):
    """The flows; a line without a flow multiplies."""

    title = "Flows"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ("-h", "--help")):
            args = ["matmul", *args]
        return super().parse_args(ctx, args)


class Flow(Command):
    """A flow; an option of another flow is answered with that flow's name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            having = [flow.name for flow in run_command.commands.values() if _has(flow, error.option_name)]
            if not having:
                raise
            from bitpath.golden.scalar.checked import one_of

            message = f"{error.option_name} goes with bitpath run {one_of(having)}, not with {self.name}"
            raise click.NoSuchOption(error.option_name, message, ctx=ctx) from None


def _has(flow: click.Command, option: str) -> bool:
    return any(option in each.opts for each in flow.params if not getattr(each, "hidden", False))


@click.group(
    cls=Flows,
    subcommand_metavar="[FLOW] [OPTIONS OF THE FLOW]",
    epilog=examples(
        "bitpath run",
        "bitpath run matmul -h",
        "bitpath run --machine tensix --format bf16_hifi4",
        "bitpath run layer --json --quiet",
        "bitpath run core --shaping off",
    ),
)
def run_command() -> None:
    """Run real tensors through golden and RTL and compare the bits.

    Without a flow it runs matmul. A flow takes a transformer layer's tensors and prints a row for each format, writes
    build/reports/run.json, and fails when a bit differs. Each run is kept in build/reports/runs, from which `bitpath self
    report` makes its page.
    """


def flow(
    name: str, machines: Sequence[str], summary: str, *options: Callable[..., Any], formats: str, lines: Sequence[str]
) -> None:
    """Add a flow: its options are those of all flows and its own; ``machines`` can run it, ``lines`` are its examples."""

    @run_command.command(name, cls=Flow, help=summary, epilog=examples(*lines))
    @with_options(
        click.option(
            "--machine",
            type=Choice(machines),
            hidden=len(machines) == 1,
            help="One machine; all of them when not given.",
        ),
        click.option("--format", "format_name", help=formats),
        *options,
        SIMULATOR,
        click.option(
            "-o", "--output", type=FILE, help="Write the results as .npz: result and golden, float32 or bytes."
        ),
        click.option(
            "--waves", is_flag=True, help="Record the waves of the simulations; bitpath waves UNIT opens them."
        ),
    )
    @output_options
    def command(printer: Printer, **given: Any) -> None:
        _run(name, printer, **given)


def _slice(help_: str = "The first M rows, K of the contraction, N columns.", metavar: str = "MxKxN") -> Any:
    return click.option("--slice", "slice_", metavar=metavar, help=help_)


ROWS = click.option("--rows", type=int, help="Rows of PEs or dot products.")
COLS = click.option("--cols", type=int, help="Columns of PEs or dot products.")
CHIP = click.option(
    "--chip",
    type=Choice(("wormhole", "blackhole")),
    help="Tensix: the chip whose numerics the engine has.  [default: wormhole]",
)
ALL_MX = "One format: mxfp8_e4m3, mxfp8_e5m2 or mxfp4; all when not given."

flow(
    "matmul",
    MACHINES,
    "Multiply two matrices on one machine or on all of them.",
    SCALE_RULE,
    _slice(),
    click.option("--a", type=FILE, help="Your own left matrix [M, K], float32 or float16 as .npy; with --b."),
    click.option("--b", type=FILE, help="Your own right matrix [K, N]."),
    CHIP,
    ROWS,
    COLS,
    click.option("--lanes", type=int, help="Lanes of AIE-ML v2's vector unit."),
    formats="One format: mxfp8_e4m3, mxfp8_e5m2 or mxfp4; with --machine trainium3 also bf16, fp16, tf32, fp32, "
    "fp8_double_row or sparse_ with 4_16, 4_12, 4_8, 2_8, 2_4, 1_4 or 1_2; bf16_hifi4, or any of bf16, tf32, fp16, fp8, bfp8, "
    "bfp4, bfp2, int8 with lofi, hifi2, hifi3 or hifi4, int8 or int8_descaled; mx9, mx6, mx4, bf16, fp16, or fp8_ with e4m3, "
    "e4m3fn, e4m3fnuz, e5m2 or e5m2fnuz. Those of the real layer when not given.",
    lines=(
        "bitpath run --machine tensix --format bf16_hifi4",
        "bitpath run --a X.npy --b W.npy --format mxfp8_e4m3 -o out.npz",
        "bitpath run --format mxfp4 --slice 8x128x8 --waves",
        "bitpath run --machine tensix --chip blackhole",
        "bitpath run --machine trainium3 --format sparse_4_16",
        "bitpath run --machine trainium3 --scale-rule nki05",
    ),
)
flow(
    "rmsnorm_quant",
    ("trainium3",),
    "Normalise rows and quantise them to MX on Trainium3's RMSNorm-Quant unit.",
    _slice("The first M rows and K elements of each.", "MxK"),
    click.option("--lanes", type=int, help="Lanes of the unit."),
    click.option("--hidden", type=FILE, help="Your own hidden states [M, H], float32 or float16 as .npy."),
    click.option("--gamma", type=FILE, help="Your own gamma [1, H], rounded to BF16.  [default: ones]"),
    click.option("--residual", type=FILE, help="A residual [M, H]; golden adds it before the unit."),
    click.option("--pre-norm-gamma", type=FILE, help="Gamma [1, H] of a pre-norm, in golden too."),
    click.option("--in-scale", type=FILE, help="Static scales [128, 1].  [default: the largest becomes 240]"),
    click.option("--eps", type=float, help="The eps, rounded to BF16.  [default: 1e-6]"),
    click.option(
        "--eps-placement", type=Choice(("kernel", "golden")), help="Put eps in the root or add it to the root."
    ),
    click.option(
        "--dtype-mode",
        type=Choice(("non_ocp", "ocp")),
        help="E4M3 up to 240, or E4M3FN up to 448.  [default: non_ocp]",
    ),
    click.option("--lower-bound", type=float, help="Bound of the absolute maximum.  [default: none]"),
    click.option("--quant-only", is_flag=True, default=None, help="Leave the normalisation out."),
    formats="Scales: row or static; both when not given.",
    lines=("bitpath run rmsnorm_quant --hidden X.npy --gamma G.npy --lower-bound 2.5",),
)
flow(
    "layer",
    ("trainium3",),
    "Run RMSNorm, QuantizeMX and a matmul one after the other on Trainium3's units.",
    SCALE_RULE,
    _slice(),
    ROWS,
    COLS,
    formats=ALL_MX,
    lines=("bitpath run layer --json --quiet", "bitpath run layer --format mxfp4 --slice 8x128x8"),
)
flow(
    "core",
    ("trainium3",),
    "Run a part of the layer from HBM back to HBM on Trainium3's core.",
    SCALE_RULE,
    click.option("--shaping", type=Choice(("on", "off")), help="Limits of the traffic classes.  [default: on]"),
    click.option("--qos", type=Choice(("on", "off")), help="Priorities of the DMA queues.  [default: on]"),
    formats="One format: mxfp8_e4m3 or mxfp8_e5m2; both when not given.",
    lines=("bitpath run core --format mxfp8_e4m3", "bitpath run core --shaping off"),
)
flow(
    "softmax",
    ("trainium3",),
    "Compute the softmax of each row on Trainium3's units.",
    _slice("The first M rows and K elements of each.", "MxK"),
    formats="One format: fp32 or bf16; both when not given.",
    lines=("bitpath run softmax --format bf16",),
)
flow(
    "relu_accumulate",
    ("tensix",),
    "Multiply in two halves with ReLU on Tensix, and add the halves in L1.",
    _slice(),
    CHIP,
    ROWS,
    COLS,
    formats="One format: bf16_ or fp32_ with relu1, relu2 or relu3; all when not given.",
    lines=("bitpath run relu_accumulate --format bf16_relu2",),
)
flow(
    "program",
    ("tensix",),
    "Multiply with instruction words on the cores of both Tensix chips.",
    formats="One format: bf16_lofi, bf16_hifi2, bf16_hifi3, bf16_hifi4, fp8_lofi or int8; all when not given.",
    lines=("bitpath run program --format bf16_lofi",),
)
flow(
    "tile",
    ("aie_ml_v2",),
    "Run two layers on AIE-ML v2's tile.",
    _slice(),
    formats="One format: int8, int8_sparse, int16, int16_sparse or mx9; int8 and mx9 when not given.",
    lines=("bitpath run tile --format int8_sparse",),
)


@run_command.command(
    "lm",
    cls=Flow,
    epilog=examples(
        "bitpath run lm --machine tensix",
        "bitpath run lm --format mx9 --blocks all",
        "bitpath run lm --format mxfp8_e4m3 --blocks all --scheduler tcp://host:8786",
        "bitpath run lm --format mx6 --kind q --kind down --tokens 8",
        "bitpath run lm --format bf16_hifi4 --program",
    ),
)
@with_options(
    click.option("--machine", type=Choice(MACHINES), help="One machine; all of them when not given."),
    click.option(
        "--format", "format_name", help="One format of floats; those of each machine's matmul flow when not given."
    ),
    click.option(
        "--linear",
        type=Choice(("w8a8",)),
        help="Trainium3's RMSNorm-Quant before each linear layer, FP8 with a scale for each row and each output channel.",
    ),
    SCALE_RULE,
    click.option(
        "--model",
        type=click.Path(path_type=Path),
        help="A GGUF file, or a folder with config.json and safetensors.  [default: SmolLM2-135M-Instruct]",
    ),
    click.option("--text", type=FILE, help="A file with the text.  [default: a story]"),
    click.option("--tokens", type=click.IntRange(1), help="Tokens of the text.  [default: 32]"),
    click.option("--prompt", help="A question to the model instead of a text; all of its tokens run."),
    click.option(
        "--blocks", metavar="N|FIRST:END|all", default="1", show_default=True, help="The model's blocks to run."
    ),
    click.option(
        "--kind",
        "kinds",
        multiple=True,
        type=Choice(("q", "k", "v", "o", "gate", "up", "down", "scores", "values")),
        help="A kind of matmul; repeat it for several, all when not given.",
    ),
    click.option(
        "--program",
        is_flag=True,
        help="Run matmuls of the first block as programs of the machines' cores instead, and on Tensix its second half.",
    ),
    SIMULATOR,
    click.option("--waves", is_flag=True, help="Record the waves of the simulations; bitpath waves UNIT opens them."),
)
@cluster_options
@output_options
def lm(printer: Printer, cluster: Any, **given: Any) -> None:
    """Run the matmuls of a language model's blocks on the machines' engines.

    Golden runs the model in each format, and the engine of the machine multiplies the operands of each matmul at their real
    size; all bits must be equal. A single block runs here, several ones on workers. Finished blocks are kept: an interrupted run
    resumes. With all blocks the model's next token follows from the RTL's results.
    """
    from rich.console import Console

    from bitpath.sim.flows.builds import stage

    with stage(Console(stderr=True, quiet=printer.quiet), "loading golden and the model"):
        from bitpath.sim.commands.run_lm import run_lm
    sys.exit(run_lm(printer, cluster, **given))


def _run(name: str, printer: Printer, *, output: Path | None, **given: Any) -> None:
    """Run a flow, show and keep each result, and exit with 1 if a bit differs."""
    from rich.console import Console

    from bitpath.sim.flows.builds import stage

    progress = Console(stderr=True, quiet=printer.quiet)
    # Prepare all runs before any simulation, so that wrong arguments fail at once.
    with stage(progress, "loading golden and converting the matrices"):
        from bitpath.sim.commands.run_report import Report
        from bitpath.sim.flows import outcome
        from bitpath.sim.flows.builds import built_ahead

        if output is not None:
            outcome.check_writable(output)
        runs = _runs(name, **given)
    if output is not None and len(runs) > 1:
        raise ValueError("-o takes the results of one format; name it with --format")

    report = Report(printer, len(runs))
    with report, built_ahead(runs, progress) as builds:
        for each in runs:
            found = each.compare(progress, builds)
            report.add(found.record, found.kept, outcome.mismatch_report(each, found))
            report.show(found.record)
    if output is not None:
        outcome.save(output, found)
    sys.exit(report.differs)


def _runs(
    name: str,
    *,
    machine: str | None,
    format_name: str | None,
    simulator: str,
    waves: bool,
    scale_rule: str | None = None,
    a: Path | None = None,
    b: Path | None = None,
    **given: Any,
) -> list[Any]:
    """Return the flow in each format: a matmul on each machine, another flow on the machine that has it."""
    from bitpath.sim.flows import operands
    from bitpath.sim.flows.machines import RECORDS

    own_files, sliced = a is not None or given.get("hidden") is not None, "slice_" in given
    slice_ = given.pop("slice_", None)
    given = {option: value for option, value in given.items() if value is not None}
    sizes = {option: given.pop(option) for option in SIZES if option in given}
    switches = {option: given.pop(option) for option in SWITCHES if option in given}
    if name == "matmul":
        pair = operands.pair(a, b)
        flows = _matmuls(machine, format_name)
    else:
        flows = {name: next(each.flows[name] for each in RECORDS.values() if name in each.flows)}
    having = [each for each, module in flows.items() if hasattr(module, "SCALE_RULES")]
    if scale_rule is not None and not having:
        raise ValueError(f"--scale-rule goes with trainium3's MX formats; {' and '.join(flows)} has no scale rule")
    runs = []
    for each, module in flows.items():
        wanted = slice_ or (None if own_files else module.SLICES.get(simulator))
        places = (wanted,) if sliced else ()
        tensors = operands.cut(*pair, wanted) if name == "matmul" else module.operands(*places, **given)
        engine_sizes = _sizes(flows, sizes)[each]
        engine = module.engine_for(simulator, **engine_sizes)
        formats = module.FORMATS if format_name is None else (format_name,)
        if format_name is None and "in_scale" in given:
            formats = ("static",)
        rule = {"scale_rule": scale_rule} if scale_rule is not None and each in having else {}
        states = {option: value == "on" for option, value in switches.items()}
        own = [module.Run(*tensors, form, engine, simulator, **rule, **states) for form in formats]
        for run in own:
            run.waves = waves
            run.matrices = _options({"a": a, "b": b, "slice": wanted, **given, **switches})
            run.sizes = _options(engine_sizes)
        runs += own
    return runs


def _options(given: Mapping[str, Any]) -> list[str]:
    """Return the words of the options that were given."""
    return [
        word
        for name, value in given.items()
        if value is not None
        for word in (f"--{name.replace('_', '-')}", *([] if value is True else [str(value)]))
    ]


def _sizes(flows: dict[str, ModuleType], sizes: dict[str, int | str | None]) -> dict[str, dict[str, int | str]]:
    """Return the given options of an engine for each machine that has them; raise ValueError for one of no machine."""
    given = {name: size for name, size in sizes.items() if size is not None}
    for name in given:
        if not any(name in flow.SIZES for flow in flows.values()):
            raise ValueError(f"--{name} is not an option of {' or '.join(flows)}")
    return {
        machine: {name: size for name, size in given.items() if name in flow.SIZES} for machine, flow in flows.items()
    }


def _matmuls(machine: str | None, format_name: str | None) -> dict[str, ModuleType]:
    """Return the flow of each machine to run: the given one, those with the format, or all."""
    from bitpath.golden.arrays.arguments import check_choice, suggestion
    from bitpath.golden.machines import MACHINES as KNOWN
    from bitpath.sim.flows.machines import RECORDS

    flows = {name: record.matmul for name, record in RECORDS.items()}
    modes = {name: record.modes for name, record in RECORDS.items() if record.modes is not None}
    if machine is not None:
        further = modes.get(machine)
        if further is None or format_name is None:
            return {machine: flows[machine]}
        if format_name in further.FORMATS:
            return {f"{machine}'s {format_name}": further}
        check_choice(f"format of {machine}", format_name, (*flows[machine].FORMATS, *further.FORMATS))
        return {machine: flows[machine]}
    if format_name is None:
        return flows
    found = {}
    for name, flow in flows.items():
        with contextlib.suppress(ValueError):
            flow.formats_of(format_name)
            found[name] = flow
    if not found:
        known = "; ".join(f"{name}'s {flow.FORMAT_NAMES}" for name, flow in flows.items())
        names = [name for each in KNOWN.values() for name in each.formats]
        # Golden multiplies more formats than the engines do.
        hint = ", which no engine runs here" if format_name in names else suggestion(format_name, names)
        for name, flow in modes.items():
            if format_name in flow.FORMATS:
                hint = f", which runs with --machine {name}"
        raise ValueError(f"format must be {known}, not {format_name!r}{hint}")
    return found
