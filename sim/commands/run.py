"""``bitpath run``: runs real tensors through golden and RTL and compares the bits."""

import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from bitpath.sim.commands._click import Choice, Command, Printer, examples, output_options
from bitpath.sim.engine.options import FILE, MACHINES, RMSNORM_OPTIONS, SCALE_RULE, SIMULATOR, rmsnorm_options

SWITCH = ("on", "off")
CHIPS = ("wormhole", "blackhole")
FLOWS = ("matmul", "rmsnorm_quant", "layer", "core", "softmax", "relu_accumulate", "program", "tile")


@click.command(
    cls=Command,
    epilog=examples(
        "bitpath run",
        "bitpath run --machine tensix --format bf16_hifi4",
        "bitpath run --a X.npy --b W.npy --format mxfp8_e4m3 -o out.npz",
        "bitpath run --format mxfp4 --slice 8x128x8 --waves",
        "bitpath run --flow layer --json --quiet",
        "bitpath run --flow core --shaping off",
        "bitpath run --flow tile --format int8_sparse",
        "bitpath run --flow relu_accumulate --format bf16_relu2",
        "bitpath run --machine tensix --chip blackhole",
        "bitpath run --flow program --format bf16_lofi",
        "bitpath run --machine trainium3 --format sparse_4_16",
        "bitpath run --flow rmsnorm_quant --hidden X.npy --gamma G.npy --lower-bound 2.5",
        "bitpath run --machine trainium3 --scale-rule nki05",
    ),
)
@click.option("--machine", type=Choice(MACHINES), help="One machine; all of them when not given.")
@click.option(
    "--flow",
    type=Choice(FLOWS),
    default="matmul",
    show_default=True,
    help="A matmul; or Trainium3's RMSNorm-Quant, its RMSNorm, QuantizeMX and matmul one after the other, a layer from HBM back "
    "to HBM, or softmax; or Tensix's matmul in two halves with ReLU, which L1 adds, or its product from instruction words of both "
    "chips; or two layers on AIE-ML v2's tile.",
)
@click.option(
    "--format",
    "format_name",
    help="One format: mxfp8_e4m3, mxfp8_e5m2 or mxfp4; with --machine trainium3 also bf16, fp16, tf32, fp32, fp8_double_row "
    "or sparse_ with 4_16, 4_12, 4_8, 2_8, 2_4, 1_4 or 1_2; bf16_hifi4, or any of bf16, tf32, fp16, fp8, bfp8, bfp4, bfp2, int8 with "
    "lofi, hifi2, hifi3 or hifi4, int8 or int8_descaled; mx9, mx6, mx4, bf16, fp16, or fp8_ with e4m3, e4m3fn, e4m3fnuz, e5m2 or e5m2fnuz. Those of "
    "the real layer when not given.",
)
@SCALE_RULE
@SIMULATOR
@click.option(
    "--slice",
    "slice_",
    metavar="MxKxN",
    help="The first M rows, K of the contraction, N columns; MxK with --flow rmsnorm_quant.",
)
@click.option("--a", type=FILE, help="Your own left matrix [M, K], float32 or float16 as .npy; with --b.")
@click.option("--b", type=FILE, help="Your own right matrix [K, N].")
@click.option("-o", "--output", type=FILE, help="Write the results as .npz: result and golden, float32 or bytes.")
@click.option("--chip", type=Choice(CHIPS), help="Tensix: the chip whose numerics the engine has.  [default: wormhole]")
@click.option("--rows", type=int, help="Rows of PEs or dot products.")
@click.option("--cols", type=int, help="Columns of PEs or dot products.")
@click.option("--lanes", type=int, help="Lanes of AIE-ML v2's vector unit, or of the RMSNorm-Quant unit.")
@rmsnorm_options
@click.option("--shaping", type=Choice(SWITCH), help="Core: limits of the traffic classes, on or off.  [default: on]")
@click.option("--qos", type=Choice(SWITCH), help="Core: priorities of the DMA queues, on or off.  [default: on]")
@click.option("--waves", is_flag=True, help="Record the waves of the simulations; bitpath waves UNIT opens them.")
@output_options
def command(output: Path | None, printer: Printer, **given: Any) -> None:
    """Multiply in golden and in RTL and compare the bits.

    Takes a transformer layer's matrices, or your own with --a and --b. Prints a row for each format, writes
    build/reports/run.json, and fails when a bit differs. Each run is kept in build/reports/runs, from which `bitpath report`
    makes its page.
    """
    from rich.console import Console

    from bitpath.sim.flows.builds import stage

    progress = Console(stderr=True, quiet=printer.quiet)
    # Prepare all runs before any simulation, so that wrong arguments fail at once.
    with stage(progress, "loading golden and converting the matrices"):
        from bitpath.sim.engine import paths
        from bitpath.sim.engine.results import write_records
        from bitpath.sim.flows import outcome
        from bitpath.sim.flows.builds import built_ahead
        from bitpath.sim.flows.history import Keeper

        if output is not None:
            outcome.check_writable(output)
        rmsnorm = {name: given.pop(name) for name in RMSNORM_OPTIONS}
        switches = {name: given.pop(name) for name in ("shaping", "qos")}
        runs = _runs(
            switches={name: value for name, value in switches.items() if value is not None},
            rmsnorm={name: value for name, value in rmsnorm.items() if value is not None},
            **given,
        )
    if output is not None and len(runs) > 1:
        raise ValueError("-o takes the results of one format; name it with --format")

    console = outcome.console(quiet=printer.silent)
    records: list[dict[str, Any]] = []
    kept, keeper = [], Keeper(len(runs))
    try:
        with built_ahead(runs, progress) as builds:
            for each in runs:
                found = each.compare(progress, builds)
                records.append(found.record)
                # Keep and show each result at once: a later run may fail.
                write_records(paths.reports() / "run.json", records)
                report = outcome.mismatch_report(each, found)
                kept.append(found.record | found.kept | {"report": report})
                keeper.keep(kept)
                outcome.show(console, found.record, first=len(records) == 1)
                if report:
                    printer.fail(report)
    finally:
        printer.result(records)
    if output is not None:
        outcome.save(output, found)
    sys.exit(any(record["mismatches"] for record in records))


def _runs(
    *,
    rmsnorm: dict[str, Any],
    switches: dict[str, str],
    flow: str,
    machine: str | None,
    format_name: str | None,
    scale_rule: str | None,
    simulator: str,
    slice_: str | None,
    a: Path | None,
    b: Path | None,
    waves: bool,
    **sizes: int | str | None,
) -> list[Any]:
    """Return the flow in each format: a matmul on each machine, another flow on the machine that has it."""
    from bitpath.sim.flows import operands

    if flow == "matmul":
        pair = operands.pair(a, b)
        flows = _flows(machine, format_name)
    else:
        flows = _other_flow(flow, machine, (a, b))
    if rmsnorm and flow != "rmsnorm_quant":
        raise ValueError(f"--{next(iter(rmsnorm)).replace('_', '-')} goes with --flow rmsnorm_quant")
    for name in switches:
        if not all(name in getattr(module, "SWITCHES", ()) for module in flows.values()):
            raise ValueError(f"--{name} goes with --flow core")
    states = {name: value == "on" for name, value in switches.items()}
    given = _sizes(flows, sizes)
    rules = _rules(flows, scale_rule)
    runs = []
    for name, module in flows.items():
        wanted = slice_ or (module.SLICES.get(simulator) if a is None and "hidden" not in rmsnorm else None)
        tensors = operands.cut(*pair, wanted) if flow == "matmul" else module.operands(wanted, **rmsnorm)
        engine = module.engine_for(simulator, **given[name])
        formats = module.FORMATS if format_name is None else (format_name,)
        if format_name is None and "in_scale" in rmsnorm:
            formats = ("static",)
        own = [module.Run(*tensors, each, engine, simulator, **rules[name], **states) for each in formats]
        for run in own:
            run.waves = waves
            run.matrices = _options({"a": a, "b": b, "slice": wanted, **rmsnorm, **switches})
            run.sizes = _options(given[name])
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


def _other_flow(flow: str, machine: str | None, files: tuple[Path | None, Path | None]) -> dict[str, ModuleType]:
    """Return the module of a flow of the real layer; raise ValueError for another machine, or for own matrices."""
    from bitpath.sim.flows.machines import RECORDS

    owner, module = next((name, each.flows[flow]) for name, each in RECORDS.items() if flow in each.flows)
    if machine not in (None, owner):
        raise ValueError(f"--flow {flow} is {owner}'s; --machine is {machine}")
    if any(file is not None for file in files):
        raise ValueError(f"--a and --b go with --flow matmul; --flow {flow} takes the real layer")
    return {flow: module}


def _sizes(flows: dict[str, ModuleType], sizes: dict[str, int | str | None]) -> dict[str, dict[str, int | str]]:
    """Return the given options of an engine for each machine that has them; raise ValueError for one of no machine."""
    given = {name: size for name, size in sizes.items() if size is not None}
    for name in given:
        if not any(name in flow.SIZES for flow in flows.values()):
            raise ValueError(f"--{name} is not an option of {' or '.join(flows)}")
    return {
        machine: {name: size for name, size in given.items() if name in flow.SIZES} for machine, flow in flows.items()
    }


def _rules(flows: dict[str, ModuleType], scale_rule: str | None) -> dict[str, dict[str, str]]:
    """Return the given scale rule for each flow that has scale rules; raise ValueError if none has."""
    having = [name for name, flow in flows.items() if hasattr(flow, "SCALE_RULES")]
    if scale_rule is not None and not having:
        raise ValueError(
            f"--scale-rule goes with trainium3's matmul, layer and core; {' and '.join(flows)} has no scale rule"
        )
    return {name: {"scale_rule": scale_rule} if scale_rule and name in having else {} for name in flows}


def _flows(machine: str | None, format_name: str | None) -> dict[str, ModuleType]:
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
