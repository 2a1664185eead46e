"""Formats as which an instruction reads SrcA and SrcB: the configured ones, on Blackhole those that the banks imply.

Ref: tt-isa-documentation, SrcASrcB of Blackhole, MOVD2B; ttsim v1.10.0 for MOVB2D.
"""

from bitpath.golden.tensix.core.errors import UndefinedBehavior
from bitpath.golden.tensix.core.source_banks import SourceBanks
from bitpath.golden.tensix.core.state import State
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format, Style


def src_a_format(state: State, thread: int) -> Format:
    """Return SrcA's format.

    Raises
    ------
    UndefinedBehavior : the bank's implied format is undefined; the code is no format's.
    """
    return _format(state, thread, "src_a_format", state.src_a, "implied_src_a_disabled")


def src_b_format(state: State, thread: int) -> Format:
    """Return SrcB's format; raises as `src_a_format`."""
    return _format(state, thread, "src_b_format", state.src_b, "implied_src_b_disabled")


def movb2d_format(state: State, thread: int) -> Format:
    """Return the format by which MOVB2D fills Dst: SrcA's, for which SrcB's bank stands; raises as `src_a_format`."""
    return _format(state, thread, "src_a_format", state.src_b, "implied_src_a_disabled")


def movd2b_format(state: State, thread: int) -> Format:
    """Return the format by which MOVD2B fills SrcB: SrcA's, for which SrcB's bank stands; raises as `src_a_format`."""
    return _format(state, thread, "src_a_format", state.src_b, "implied_src_b_disabled")


def style_of(state: State, thread: int, fmt: Format) -> Style:
    """Return as what the Matrix unit reads both sources, which SrcA's format and INT8_math_enabled decide."""
    if state.config.read("int8_math", thread):
        return Style.INT8
    if fmt is Format.TF32:
        return Style.TF32
    return Style.FP16 if fmt in EXPONENT5_FORMATS or fmt is Format.INT8 else Style.BF16


def format_of(what: str, code: int) -> Format:
    """Return the format of a code of the hardware's; raise UndefinedBehavior for a code that no format has."""
    try:
        return Format(code)
    except ValueError:
        raise UndefinedBehavior(f"{what} must be the code of a format, not {code}") from None


def _format(state: State, thread: int, field: str, bank: SourceBanks, disabling: str) -> Format:
    code: int | None = state.config.read(field, thread)
    if state.chip is Chip.BLACKHOLE and not state.config.of_thread(disabling, thread):
        code = bank.formats[bank.matrix_bank]
        if code is None:
            raise UndefinedBehavior(
                f"{field} must be implied by the bank, which an UNPACR or UNPACR_NOP must have given"
            )
    return format_of(field, code)
