"""``bitpath explain``: how a machine computes a result bit by bit, from golden's intermediate values."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from bitpath.sim.commands._click import Command, Group, Printer, examples, output_options
from bitpath.sim.engine.options import FILE, K_ORDER, SCALE_RULE, with_options

OUTPUT = click.option(
    "--output", "place", metavar="M,N", help="A dot product: row and column of the layer's, or of --a @ --b."
)


def _numerics(machine: str, preset: str | None, file: Path | None) -> Any:
    """Return the numerics of a file or of a machine's preset, None for those of the format."""
    from bitpath.golden.arrays.arguments import check_choice
    from bitpath.golden.matmul import read_numerics
    from bitpath.sim.study.numerics import TEXTS

    presets = TEXTS[machine].presets
    if file is not None:
        return read_numerics(file, presets, option="--numerics")
    return None if preset is None else presets[check_choice("--preset", preset, presets)].numerics


def _matrices(preset: str | None, shown: str | bool = True) -> Callable[[Callable], Callable]:
    """Return a decorator that adds the options of matrices and of the preset, whose default is shown by another text."""
    return with_options(
        click.option("--a", type=FILE, help="Your own left matrix [M, K] as .npy; with --b."),
        click.option("--b", type=FILE, help="Your own right matrix [K, N]."),
        click.option("--slice", "slice_", metavar="MxKxN", help="The first M rows, K of the contraction, N columns."),
        click.option("--preset", default=preset, show_default=shown, help="Numerics by name."),
        click.option(
            "--numerics", "file", type=FILE, help="JSON file with fields of numerics, for those of its preset."
        ),
    )


def _print(
    machine: str,
    given: Mapping[str, Any],
    one: Mapping[str, Any],
    whole: Mapping[str, Any],
    explain_one: Callable[[], Any],
    printer: Printer,
    *,
    format_name: str,
    step: int | None,
    **arguments: Any,
) -> None:
    """Print the explanation of an output of a matmul if --output is given, else of one step from its operands.

    Parameters
    ----------
    given : options of `_matrices`.
    one : options of one step; the first two are its operands.
    whole : options that --output takes, besides --a and --b.
    format_name, step, arguments : of `output_explanation`.
    """
    from bitpath.sim.flows import operands
    from bitpath.sim.flows.explain import output_explanation

    first, second = list(one)[:2]
    if given["place"] is not None:
        _refuse(one, "--output and {} explain different things; give one of them")
        a, b = operands.cut(*operands.pair(given["a"], given["b"]), given["slice_"])
        found = output_explanation(machine, a, b, format_name, given["place"], step, **arguments)
    elif one[first] is not None and one[second] is not None:
        matrices = {f"--{name.strip('_')}": given[name] for name in ("a", "b", "slice_")}
        _refuse({**whole, **matrices}, "{} goes with --output")
        found = explain_one()
    else:
        raise ValueError(f"nothing to explain; give {first} and {second}, or --output")
    _show(found, printer)


def _show(found: Any, printer: Printer) -> None:
    printer.say(found)
    printer.result(json.loads(found.to_json()))


def _refuse(options: Mapping[str, Any], message: str) -> None:
    """Raise for the first of the options that is given."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(message.format(name))


@click.group(
    cls=Group,
    epilog=examples(
        "bitpath explain trainium3 --output 3,5 --format mxfp4",
        "bitpath explain tensix --src-a 1,2 --src-b 0.5,-3 --fidelity LoFi",
        "bitpath explain aie_ml_v2 --x 1.5,2 --y 3,-0.25 --format bf16",
    ),
)
def explain_command() -> None:
    """Explain one dot product of a machine, bit by bit."""


@explain_command.command(
    cls=Command,
    extra=None,
    epilog=examples(
        "bitpath explain dot --stationary 1,1,1,1,1,1,1,1 --moving 1,2,3,4,5,6,7,8 --partial 0.5",
        "bitpath explain dot --numerics mine.json --stationary 38 --moving 3c --partial 0",
        "bitpath explain dot --preset multiply_add_fp32 --stationary 1.5 --moving 3 --partial -4.5",
    ),
)
@click.option("--stationary", metavar="CODES", required=True, help="Codes (38 or 0x38) or numbers (1.0), one a term.")
@click.option("--moving", metavar="CODES", required=True, help="The moving elements.")
@click.option("--stationary-format", help="One of the numerics' element formats.  [default: the first]")
@click.option("--moving-format", help="The same for the moving elements.")
@click.option("--scales", default="7f,7f", show_default=True, metavar="CODES", help="Stationary and moving E8M0 codes.")
@click.option("--partial", default="0", show_default=True, metavar="CODE", help="Incoming partial sum.")
@click.option("--preset", default="mx_dot_product", show_default=True, help="Numerics by name.")
@click.option("--numerics", "file", type=FILE, help="JSON file with fields of numerics, for those of its preset.")
@output_options
def dot(preset: str, file: Path | None, printer: Printer, **given: Any) -> None:
    """Explain one step of any dot product, as bitpath check dot_product computes it."""
    from bitpath.golden.arrays.arguments import check_choice
    from bitpath.golden.formats.dot import PRESETS
    from bitpath.golden.matmul import read_numerics
    from bitpath.sim.flows import explain

    numerics = PRESETS[check_choice("--preset", preset, PRESETS)].numerics
    numerics = read_numerics(file, PRESETS, option="--numerics") if file else numerics
    first = numerics.element_formats[0].name
    elements = [(f"--{side}", given[f"{side}_format"] or first, given[side]) for side in ("stationary", "moving")]
    _show(explain.pe_step(numerics, elements, given["scales"], given["partial"]), printer)


@explain_command.command(
    cls=Command,
    extra=None,
    epilog=examples(
        "bitpath explain trainium3 --stationary 38,39,b8,01 --moving 3c,3d,3c,7b --moving-format E5M2",
        "bitpath explain trainium3 --stationary 1,1.5,-2,0 --moving 1,1,1,1 --scales 80,7f --partial 0.5",
        "bitpath explain trainium3 --output 3,5 --format mxfp4 --row 0",
        "bitpath explain trainium3 --output 0,0 --json",
    ),
)
@click.option(
    "--stationary", metavar="CODES", help="One step: four codes (38 or 0x38) or numbers (1.0), as 38,39,-1.0,0x01."
)
@click.option("--moving", metavar="CODES", help="One step: the four moving elements.")
@click.option("--stationary-format", default="E4M3FN", show_default=True, help="E4M3FN or E5M2.")
@click.option("--moving-format", default="E4M3FN", show_default=True, help="E4M3FN or E5M2.")
@click.option("--scales", default="7f,7f", show_default=True, metavar="CODES", help="Stationary and moving E8M0 codes.")
@click.option("--partial", default="0", show_default=True, metavar="CODE", help="Incoming partial sum, FP32.")
@OUTPUT
@click.option("--row", "--step", type=int, help="With --output: one PE row of it in full.")
@click.option("--format", "format_name", default="mxfp8_e4m3", show_default=True, help="Formats of the matrices.")
@SCALE_RULE
@K_ORDER
@_matrices("trainium3_quad_mx")
@output_options
def trainium3(
    format_name: str,
    row: int | None,
    preset: str,
    scale_rule: str | None,
    k_order: str | None,
    printer: Printer,
    **given: Any,
) -> None:
    """Explain one step of a PE (--stationary and --moving), or a whole dot product (--output)."""
    from bitpath.sim.flows import explain

    numerics = _numerics("trainium3", preset, given.pop("file"))
    elements = [(f"--{side}", given[f"{side}_format"], given[side]) for side in ("stationary", "moving")]
    _print(
        "trainium3",
        given,
        {"--stationary": given["stationary"], "--moving": given["moving"]},
        {"--row": row, "--scale-rule": scale_rule, "--k-order": k_order},
        lambda: explain.pe_step(numerics, elements, given["scales"], given["partial"]),
        printer,
        format_name=format_name,
        step=row,
        numerics=numerics,
        **({} if scale_rule is None else {"scale_rule": scale_rule}),
        **({} if k_order is None else {"k_order": k_order}),
    )


@explain_command.command(
    cls=Command,
    extra=None,
    epilog=examples(
        "bitpath explain tensix --src-a 1,2 --src-b 0.5,-3 --fidelity LoFi",
        "bitpath explain tensix --src-a 1.3125 --src-b 0x1fc00 --dst 2 --dst16",
        "bitpath explain tensix --output 3,5 --format bfp8_hifi2 --step 0",
        "bitpath explain tensix --sfpu exp --x -1.5 --dst16",
    ),
)
@click.option("--src-a", metavar="WORDS", help="Up to 16 SrcA words (0x1fc00) or numbers (1.3125), as 1,-0.5,0x20000.")
@click.option("--src-b", metavar="WORDS", help="The SrcB words of the same lanes.")
@click.option("--dst", metavar="WORD", help="Old Dst word or number.  [default: 0]")
@click.option("--dst32/--dst16", default=True, show_default=True, help="Width of Dst.")
@click.option("--style", help="BF16, TF32, FP16 or INT8.  [default: BF16]")
@click.option("--srca-format", metavar="NAME", help="Data format of SrcA, as BFP8.  [default: the style's]")
@click.option("--srcb-format", metavar="NAME", help="Data format of SrcB.")
@click.option("--fidelity", help="LoFi, HiFi2, HiFi3 or HiFi4: phases run in turn.  [default: HiFi4]")
@click.option("--phase", type=int, help="One fidelity phase, 0 to 3, alone.")
@click.option("--sfpu", metavar="NAME", help="A function of tensix.llk, as exp, or a file of assembly: one lane of it.")
@click.option("--x", metavar="CODES", help="With --sfpu: operands, FP32 codes (0x3fc00000) or numbers, one a tile.")
@click.option("--approximate", is_flag=True, default=None, help="With --sfpu: the function's approximate form.")
@click.option("--fast", is_flag=True, default=None, help="With --sfpu: the fast form of the approximate one.")
@OUTPUT
@click.option("--step", type=int, help="With --output: one MVMUL of it in full.")
@click.option("--format", "format_name", help="With --output: bfp8_hifi2, or bfp8 beside --fidelity.  [default: bf16]")
@_matrices("tensix_wormhole")
@output_options
def tensix(
    dst32: bool,
    fidelity: str | None,
    phase: int | None,
    step: int | None,
    format_name: str | None,
    preset: str,
    printer: Printer,
    **given: Any,
) -> None:
    """Explain one output of an MVMUL (--src-a and --src-b), of a whole matmul (--output), or a Vector unit lane (--sfpu)."""
    from bitpath.sim.flows import explain

    numerics = _numerics("tensix", preset, given.pop("file"))
    lane = {name: given.pop(name) for name in ("sfpu", "x", "approximate", "fast")}
    if lane["sfpu"] is not None:
        others = given | {"fidelity": fidelity, "phase": phase, "step": step, "format": format_name}
        others["output"] = others.pop("place")
        _refuse(
            {f"--{name.replace('_', '-').rstrip('-')}": value for name, value in others.items()},
            "{} does not go with --sfpu",
        )
        _show(explain.vector_lane(preset, numerics, dst32=dst32, **lane), printer)
        return
    _refuse({f"--{name}": value for name, value in lane.items()}, "{} goes with --sfpu")
    names = ("src_a", "src_b", "dst", "style", "srca_format", "srcb_format")
    run = fidelity or "HiFi4"
    # As `bitpath run` names formats, or an element format beside --fidelity.
    element = format_name or "bf16"
    whole = element if "_" in element else f"{element}_{run.lower()}"

    def one() -> Any:
        if fidelity is not None and phase is not None:
            raise ValueError("--fidelity and --phase say the same; give one of them")
        src_a, src_b, dst, style, *formats = (given[name] for name in names)
        return explain.dst_output(
            explain.matrix_unit(numerics, style or "BF16", dst32, *formats), src_a, src_b, dst or "0", run, phase
        )

    _print(
        "tensix",
        given,
        {f"--{name.replace('_', '-')}": given[name] for name in names} | {"--phase": phase},
        {"--step": step, "--format": format_name},
        one,
        printer,
        format_name=whole,
        step=step,
        dst32=dst32,
        numerics=numerics,
    )


@explain_command.command(
    name="aie_ml_v2",
    cls=Command,
    extra=None,
    epilog=examples(
        "bitpath explain aie_ml_v2 --x 1.5,2 --y 3,-0.25 --format bf16 --acc1 1",
        "bitpath explain aie_ml_v2 --x 7f/00/64,-3 --y 7f/01/64,-3",
        "bitpath explain aie_ml_v2 --x 7f/64,-3 --y 7f/64,-3 --format bfp16ebs8",
        "bitpath explain aie_ml_v2 --output 3,5 --format mx6 --step 2",
    ),
)
@click.option("--x", metavar="OPERANDS", help="Up to 8 numbers (1.5) or codes (0x3fc0), a block or its numbers.")
@click.option(
    "--y",
    metavar="OPERANDS",
    help="Operands of the same lanes; an MX block is exponent/shifts/codes, as 7f/01/64,-3, of bfp16ebs8 7f/64,-3.",
)
@click.option("--y-format", metavar="NAME", help="Format of --y, of the same width.  [default: that of --format]")
@click.option("--acc1", metavar="CODE", help="An accumulator: number, or FP32 code (0x3f800000).  [default: none]")
@click.option("--acc2", metavar="CODE", help="A second accumulator.")
@click.option("--negate", multiple=True, type=click.Choice(["products", "acc1", "acc2"]), help="Operands to negate.")
@OUTPUT
@click.option("--step", type=int, help="With --output: one instruction of it in full.")
@click.option(
    "--format",
    "format_name",
    default="mx9",
    show_default=True,
    help="As matmul names it, mx9, bf16 or int8 for example.",
)
@click.option("--rounding", type=int, default=12, show_default=True, help="crRnd code of conversions.")
@_matrices(None, "aie_ml_v2; xdna2_bfp16ebs8 for bfp16ebs8")
@output_options
def aie_ml_v2(
    format_name: str, rounding: int, step: int | None, preset: str | None, printer: Printer, **given: Any
) -> None:
    """Explain one lane of a multiply-accumulate (--x and --y), or an output of a whole matmul (--output)."""
    from bitpath.sim.flows import explain

    numerics = _numerics("aie_ml_v2", preset, given.pop("file"))
    lane = {name: given[name] for name in ("x", "y", "y_format", "acc1", "acc2", "negate")}
    formats = {"x_format": format_name, "y_format": lane["y_format"] or format_name}
    _print(
        "aie_ml_v2",
        given,
        {f"--{name.replace('_', '-')}": value or None for name, value in lane.items()},
        {"--step": step},
        lambda: explain.mac_lane(numerics, explain.MacLane(**lane | formats, rounding=rounding)),
        printer,
        format_name=format_name,
        step=step,
        rounding=rounding,
        numerics=numerics,
    )
