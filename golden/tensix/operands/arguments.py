"""Checks of the Matrix unit's arguments: formats, styles, numerics, fidelity phases and register words."""

from dataclasses import replace
from enum import IntEnum
from typing import TypeVar

import numpy as np

from bitpath.golden.arrays.arguments import (
    check_array,
    check_broadcast,
    check_shape,
    checked,
    integer,
    member,
    numerics_of,
    one_of,
)
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_ROWS,
    COLUMNS,
    EXPONENT5_FORMATS,
    FIDELITY_PHASES,
    PHASES,
    STYLE_FORMATS,
    STYLE_OWN_FORMAT,
    Chip,
    Fidelity,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS, WORMHOLE, TensixNumerics

Numbered = TypeVar("Numbered", bound=IntEnum)


def format_member(name: str, value: Format | int | str) -> Format:
    """Return a data format given as a member, a hardware code, or a name."""
    try:
        return Format[value] if isinstance(value, str) else Format(value)
    except (KeyError, ValueError):
        raise ValueError(f"{name} must be {one_of(Format.__members__)}, not {value!r}") from None


def numbered_member(name: str, value: IntEnum | int | str, kind: type[Numbered]) -> Numbered:
    """Return a member given as itself, as its number or as its name."""
    try:
        return kind[value] if isinstance(value, str) else kind(value)
    except (KeyError, ValueError):
        known = one_of(f"{each.name} ({each.value})" for each in kind)
        raise ValueError(f"{name} must be {known}, not {value!r}") from None


def source_format(name: str, value: Format | int | str | None, style: Style) -> Format:
    """Return the format of a source, by default the style's own."""
    if value is None:
        return STYLE_OWN_FORMAT[style]
    fmt = format_member(name, value)
    if fmt not in STYLE_FORMATS[style]:
        known = one_of(each.name for each in STYLE_FORMATS[style])
        raise ValueError(f"{name} must be {known} with style {style.value}, not {fmt.name}")
    return fmt


def numerics_or_default(numerics: TensixNumerics | None, chip: Chip | str | None = None) -> TensixNumerics:
    """Return the numerics given, those of the chip's preset, or Wormhole's for neither; raise ValueError for both."""
    if chip is None:
        return numerics_of(numerics, WORMHOLE)
    chip = member("chip", chip, Chip)
    if numerics is not None:
        raise ValueError(f"chip must be None with numerics, not {chip.value!r}")
    return CHIP_PRESETS[chip].numerics


def numerics_with(quirk: bool, numerics: TensixNumerics | None, chip: Chip | str | None = None) -> TensixNumerics:
    """Return the numerics of `numerics_or_default`; `quirk` False switches the -1 quirk off in them."""
    numerics = numerics_or_default(numerics, chip)
    return replace(numerics, minus_one_quirk=numerics.minus_one_quirk and quirk)


def check_phase(phase: int) -> int:
    """Return a fidelity phase, 0 to 3, as Python's int."""
    return integer("phase", phase, range(PHASES))


def check_dst32(style: Style, dst32: bool) -> None:
    """Raise ValueError for INT8 with a 16-bit Dst."""
    if style is Style.INT8 and not dst32:
        raise ValueError("dst32 must be True with style INT8, not False")


def check_words(name: str, words: np.ndarray, rows: int, bits: int) -> None:
    """Raise unless an array is uint32 [..., rows, 16] of words of `bits` bits."""
    check_array(name, words, np.uint32)
    check_shape(name, words, "...", rows, COLUMNS)
    check_width(name, words, bits)


def check_width(name: str, words: np.ndarray, bits: int) -> None:
    """Raise ValueError for a word of more than `bits` bits."""
    if words.size and int(words.max()) >> bits:
        raise ValueError(f"{name} must hold words of {bits} bits, not {words.max():#x}")


def check_source(name: str, words: np.ndarray, rows: int, fmt: Format) -> None:
    """Raise unless an array holds logical source words of a format, uint32 [..., rows, 16] of 19 bits."""
    check_words(name, words, rows, 19)
    if fmt in EXPONENT5_FORMATS and np.any(words >> 15 & 0b111):
        raise ValueError(f"{name} must hold exponents of 5 bits with {fmt.name}, not exponents above 31")


def check_operands(
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    rows: tuple[int, int],
    style: str | Style,
    dst32: bool,
    srca_format: Format | int | str | None = None,
    srcb_format: Format | int | str | None = None,
) -> tuple[Style, tuple[Format, Format], tuple[int, ...]]:
    """Check an instruction's operands; return the style, the formats of SrcA and SrcB, and the common leading axes.

    Parameters
    ----------
    rows : rows of Dst and SrcB, and of SrcA.
    """
    style = member("style", style, Style)
    formats = source_format("srca_format", srca_format, style), source_format("srcb_format", srcb_format, style)
    check_dst32(style, dst32)
    check_words("dst", dst, rows[0], 32 if dst32 else 16)
    check_source("src_b", src_b, rows[0], formats[1])
    check_source("src_a", src_a, rows[1], formats[0])
    return style, formats, check_broadcast(dst=dst.shape[:-2], src_b=src_b.shape[:-2], src_a=src_a.shape[:-2])


# Broadcasts of SrcB in ELWMUL, ELWADD and ELWSUB: one row to all rows, column 0 to all columns, or both.
#
# They choose datums and compute nothing, so that one function serves all three operations.
#
# Ref: tt-isa-documentation 3930471, ELWMUL and ELWADD.


@checked
def broadcast_src_b(src_b: np.ndarray, *, row: int | None = None, column_0: bool = False) -> np.ndarray:
    """Return the SrcB block that an element-wise operation with broadcast reads.

    Parameters
    ----------
    src_b : uint32 [..., 8, 16] logical words, an aligned block of SrcB.
    row : row of the block, repeated in all 8 rows; None leaves the rows. The instruction may name any row of SrcB.
    column_0 : True if column 0 is repeated in all 16 columns.

    Returns
    -------
    uint32 [..., 8, 16], for `src_b` of `elwmul`, `elwadd` and `elwsub`.

    Raises
    ------
    TypeError, ValueError : another dtype or shape, words too wide, a row that is not there.
    """
    check_words("src_b", src_b, BLOCK_ROWS, 19)
    row = None if row is None else integer("row", row, range(BLOCK_ROWS))
    rows = slice(None) if row is None else slice(row, row + 1)
    columns = slice(1 if column_0 else COLUMNS)
    return np.broadcast_to(src_b[..., rows, columns], src_b.shape).copy()


# Fidelity: which of the four phases of the 7x5-bit multiplier an operation runs, one instruction each.
#
# Ref: tt-isa-documentation 3930471, SrcASrcB; tt-llk, llk_math_matmul.h.


@checked
def phases(fidelity: str | Fidelity) -> tuple[int, ...]:
    """Return the phases of "LoFi", "HiFi2", "HiFi3" or "HiFi4", in order.

    Raises
    ------
    TypeError, ValueError : another fidelity.
    """
    return FIDELITY_PHASES[member("fidelity", fidelity, Fidelity)]
