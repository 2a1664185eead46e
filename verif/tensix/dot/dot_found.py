"""Operands of the Tensix dot product from a solver: each detects one small fault of the RTL."""

from collections.abc import Iterator

from bitpath.golden.tensix.declarations.formats import Style
from bitpath.verif.tensix.dot.dot import DotCase, Mode

FOUND = (
    (
        Mode(Style.BF16, False),
        0,
        "77C80 6BC00 77E40 77340 6F680 77F40 7FE40 40000 6E7C0 6E7C0 7DD00 787C0 7C7C0 7ADC0 7C740 78780",
        "20200 6B920 20980 21180 29360 20A10 189D0 145A0 2A3F0 2A3F0 40000 203F0 1C3F0 5AAB0 1C3B0 20380",
        0x6C87,
    ),
    (
        Mode(Style.BF16, False),
        3,
        "7FFF8 7FFF0 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8",
        "5FFF8 617F8 617F8 617F8 213F8 217F8 5F7F8 217F8 5FBF8 61BF0 617F0 21BF8 21BF8 21BF8 21BF8 21BF8",
        0x7987,
    ),
    (
        Mode(Style.BF16, True),
        1,
        "7A028 6FC38 5E828 73828 7BC38 7BC18 6FC30 7BC38 74838 74410 77C20 72C30 5E838 7A838 7BC38 74838",
        "411B0 4ABC0 1E1D0 09230 00D90 00DF0 0CE40 00FB0 083F0 081F0 43E80 08BC0 1E380 02300 00FD0 083F0",
        0xB77B407F,
    ),
    (
        Mode(Style.BF16, False),
        0,
        "4FD00 4FF40 4FFC0 4FF00 4F980 4FC00 4FB80 4F800 47D80 47C80 47A80 47980 47F40 47D40 47F00 47F00",
        "4CDE0 4FF40 4FA50 4FF60 0F230 4F9E0 0FB80 0F8E0 4BCB0 4BF30 0A890 0B1C0 099A0 4B9F0 4C250 4C370",
        0x410,
    ),
    (
        Mode(Style.BF16, False),
        0,
        "5F180 5F340 5DBC0 5DB80 5E040 5FBC0 5FBC0 5FBC0 5E3C0 5E300 5F340 5E3C0 5DF40 5E000 5FBC0 57AC0",
        "00830 40440 007F0 00650 00BB0 007C0 407D0 407E0 02240 02000 00410 02250 01E90 00400 00610 48940",
        0x280,
    ),
    (
        Mode(Style.BF16, False),
        2,
        "7FFF8 7FFF8 40000 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 5FFF8 5FC78",
        "40000 40000 7FFF0 40000 40000 40000 40000 40000 40000 40000 40000 40000 40000 40000 02008 01008",
        0xA0,
    ),
)
"""Mode and phase, 16 words of SrcA and of SrcB as hexadecimal digits, and Dst."""


def found(mode: Mode) -> Iterator[DotCase]:
    for of_mode, phase, a, b, dst in FOUND:
        if of_mode == mode:
            yield DotCase(mode, phase, _words(a), _words(b), dst)


def _words(digits: str) -> tuple[int, ...]:
    return tuple(int(word, 16) for word in digits.split())
