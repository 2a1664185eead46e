"""``bitpath explain``: how a machine computes a result bit by bit, from golden's intermediate values."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import click

PATH = click.Path(path_type=Path, dir_okay=False)


def _machine(name: str, preset: str) -> tuple[ModuleType, Any]:
    """Return the machine's module of texts and the numerics of its preset."""
    from bitpath.sim.flows.machines import RECORDS

    record = RECORDS[name]
    if preset not in record.presets:
        raise ValueError(f"unknown preset {preset!r}, known are {', '.join(record.presets)}")
    return record.explain, record.presets[preset].numerics


def _refuse(options: Mapping[str, Any], message: str) -> None:
    """Raise for the first of the options that is given."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(message.format(name))


@click.group()
def command() -> None:
    """Explain one dot product, bit by bit."""


@command.command()
@click.option("--stationary", metavar="CODES", help="One step: four element codes in hexadecimal, as 38,39,b8,01.")
@click.option("--moving", metavar="CODES", help="One step: the four moving elements.")
@click.option("--stationary-format", default="E4M3FN", show_default=True, help="E4M3FN or E5M2.")
@click.option("--moving-format", default="E4M3FN", show_default=True, help="E4M3FN or E5M2.")
@click.option("--scales", default="7f,7f", show_default=True, metavar="CODES", help="Stationary and moving E8M0 codes.")
@click.option("--partial", default="0", show_default=True, metavar="CODE", help="Incoming partial sum, FP32.")
@click.option("--output", "place", metavar="M,N", help="A dot product: row and column of the layer's, or of --a @ --b.")
@click.option("--row", type=int, help="With --output: one PE row of it in full.")
@click.option("--format", "format_name", default="mxfp8_e4m3", show_default=True, help="Formats of the matrices.")
@click.option("--a", type=PATH, help="Your own left matrix [M, K] as .npy; with --b.")
@click.option("--b", type=PATH, help="Your own right matrix [K, N].")
@click.option("--preset", default="trainium3_quad_mx", show_default=True, help="Numerics by name.")
def trainium3(
    stationary: str | None,
    moving: str | None,
    stationary_format: str,
    moving_format: str,
    scales: str,
    partial: str,
    place: str | None,
    row: int | None,
    format_name: str,
    a: Path | None,
    b: Path | None,
    preset: str,
) -> None:
    """One step of a PE (--stationary and --moving), or a whole dot product (--output)."""
    from bitpath.sim.flows import operands

    texts, numerics = _machine("trainium3", preset)
    given = {"--stationary": stationary, "--moving": moving}
    if place is not None:
        _refuse(given, "--output and {} explain different things; give one of them")
        left, right = operands.pair(a, b)
        click.echo(texts.dot_product(numerics, left, right, format_name, place, row))
    elif stationary is not None and moving is not None:
        _refuse({"--row": row, "--a": a, "--b": b}, "{} goes with --output")
        elements = (("--stationary", stationary_format, stationary), ("--moving", moving_format, moving))
        click.echo(texts.step(numerics, elements, scales, partial))
    else:
        raise ValueError("nothing to explain; give --stationary and --moving, or --output")


@command.command()
@click.option("--src-a", metavar="WORDS", help="Up to 16 SrcA words (0x1fc00) or numbers (1.3125), as 1,-0.5,0x20000.")
@click.option("--src-b", metavar="WORDS", help="The SrcB words of the same lanes.")
@click.option("--dst", metavar="WORD", help="Old Dst word or number.  [default: 0]")
@click.option("--dst32/--dst16", default=True, show_default=True, help="Width of Dst.")
@click.option("--style", help="BF16, TF32, FP16 or INT8.  [default: BF16]")
@click.option("--srca-format", metavar="NAME", help="Data format of SrcA, as BFP8.  [default: the style's]")
@click.option("--srcb-format", metavar="NAME", help="Data format of SrcB.")
@click.option("--fidelity", help="LoFi, HiFi2, HiFi3 or HiFi4: phases run in turn.  [default: HiFi4]")
@click.option("--phase", type=int, help="One fidelity phase, 0 to 3, alone.")
@click.option("--output", "place", metavar="M,N", help="A dot product: row and column of the layer's, or of --a @ --b.")
@click.option("--step", type=int, help="With --output: one MVMUL of it in full.")
@click.option("--format", "format_name", help="With --output: format of the matrices, as bfp8.  [default: bf16]")
@click.option("--a", type=PATH, help="Your own left matrix [M, K] as .npy; with --b.")
@click.option("--b", type=PATH, help="Your own right matrix [K, N].")
@click.option("--preset", default="tensix_wormhole", show_default=True, help="Numerics by name.")
def tensix(
    src_a: str | None,
    src_b: str | None,
    dst: str | None,
    dst32: bool,
    style: str | None,
    srca_format: str | None,
    srcb_format: str | None,
    fidelity: str | None,
    phase: int | None,
    place: str | None,
    step: int | None,
    format_name: str | None,
    a: Path | None,
    b: Path | None,
    preset: str,
) -> None:
    """One output of an MVMUL (--src-a and --src-b), or of a whole matmul (--output)."""
    from bitpath.sim.flows import operands

    texts, numerics = _machine("tensix", preset)
    one = {"--src-a": src_a, "--src-b": src_b, "--dst": dst, "--style": style, "--phase": phase}
    one |= {"--srca-format": srca_format, "--srcb-format": srcb_format}
    whole = {"--step": step, "--format": format_name, "--a": a, "--b": b}
    if place is not None:
        _refuse(one, "--output and {} explain different things; give one of them")
        left, right = operands.pair(a, b)
        click.echo(
            texts.matmul_output(numerics, left, right, format_name or "bf16", fidelity or "HiFi4", dst32, place, step)
        )
    elif src_a is not None and src_b is not None:
        _refuse(whole, "{} goes with --output")
        if fidelity is not None and phase is not None:
            raise ValueError("--fidelity and --phase say the same; give one of them")
        unit = texts.unit(numerics, style or "BF16", dst32, srca_format, srcb_format)
        click.echo(texts.output(unit, src_a, src_b, dst or "0", fidelity or "HiFi4", phase))
    else:
        raise ValueError("nothing to explain; give --src-a and --src-b, or --output")


@command.command(name="aie_ml_v2")
@click.option("--x", metavar="OPERANDS", help="Up to 8 numbers (1.5) or codes (0x3fc0), 16 numbers or a block for MX.")
@click.option(
    "--y", metavar="OPERANDS", help="Operands of the same lanes; an MX block is exponent/shifts/codes, as 7f/01/64,-3."
)
@click.option("--y-format", metavar="NAME", help="Format of --y, of the same width.  [default: that of --format]")
@click.option("--acc1", metavar="CODE", help="An accumulator: number, or FP32 code (0x3f800000).  [default: none]")
@click.option("--acc2", metavar="CODE", help="A second accumulator.")
@click.option("--negate", multiple=True, type=click.Choice(["products", "acc1", "acc2"]), help="Operands to negate.")
@click.option("--output", "place", metavar="M,N", help="A dot product: row and column of the layer's, or of --a @ --b.")
@click.option("--step", type=int, help="With --output: one instruction of it in full.")
@click.option(
    "--format", "format_name", default="mx9", show_default=True, help="As matmul names it: mx9, bf16, int8..."
)
@click.option("--rounding", type=int, default=12, show_default=True, help="crRnd code of conversions.")
@click.option("--a", type=PATH, help="Your own left matrix [M, K] as .npy; with --b.")
@click.option("--b", type=PATH, help="Your own right matrix [K, N].")
@click.option("--preset", default="aie_ml_v2", show_default=True, help="Numerics by name.")
def aie_ml_v2(
    x: str | None,
    y: str | None,
    y_format: str | None,
    acc1: str | None,
    acc2: str | None,
    negate: tuple[str, ...],
    place: str | None,
    step: int | None,
    format_name: str,
    rounding: int,
    a: Path | None,
    b: Path | None,
    preset: str,
) -> None:
    """One lane of a multiply-accumulate (--x and --y), or an output of a whole matmul (--output)."""
    from bitpath.sim.flows import operands

    texts, numerics = _machine("aie_ml_v2", preset)
    one = {"--x": x, "--y": y, "--y-format": y_format, "--acc1": acc1, "--acc2": acc2, "--negate": negate or None}
    if place is not None:
        _refuse(one, "--output and {} explain different things; give one of them")
        left, right = operands.pair(a, b)
        click.echo(texts.matmul_output(numerics, left, right, format_name, rounding, place, step))
    elif x is not None and y is not None:
        _refuse({"--step": step, "--a": a, "--b": b}, "{} goes with --output")
        lane = texts.Lane(
            x=x,
            y=y,
            x_format=format_name,
            y_format=y_format or format_name,
            acc1=acc1,
            acc2=acc2,
            negate=negate,
            rounding=rounding,
        )
        click.echo(texts.lane(numerics, lane))
    else:
        raise ValueError("nothing to explain; give --x and --y, or --output")
