"""Conversions between FP32, BF16, FP16 and unsigned and signed integers.

Ref: tt-llk 36b092e, ckernel_sfpu_typecast.h and _cast_fp32_to_fp16a.h, the forms without SFPLOADMACRO.
"""

from collections.abc import Callable

from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.llk.functions.function import P0, P1, Function, Mode
from bitpath.golden.tensix.sfpu.kernel import Kernel

BY_FORMAT, FP16, BF16, FP32, INT32, LOW = 0, 1, 2, 3, 4, 6
"""Load and store modes; LOW is of 16 bits, zero-extended."""

SIGNED_TO_FLOAT = """SFPABS vc=0, vd=1
SFPCAST vc=1, vd=2
SFPSETSGN vc=2, vd=0
SFPSETCC vc=1
SFPADDI imm=0xcf00, vd=0
SFPENCC"""
UNSIGNED_TO_FLOAT = """SFPSETSGN vc=0, vd=1, mod=1
SFPCAST vc=1, vd=2
SFPSETCC vc=0
SFPADDI imm=0x4f00, vd=2
SFPENCC"""
FLOAT_TO_SIGNED = """SFPLOADI vd=1, mod=2
SFPEXEXP vc=0, vd=2, mod=10
SFPLOADI vd=1, imm=0x8000
SFPIADD imm=0xfe1, vc=2, vd=2, mod=1
SFPIADD imm=8, vc=2, vd=2, mod=5
SFPEXMAN vc=0, vd=1
SFPSHFT vc=2, vd=1
SFPENCC
SFPSETCC vc=0
SFPIADD vc=9, vd=1, mod=6
SFPENCC"""
FLOAT_TO_UNSIGNED = """SFPLOADI vd=1, mod=2
SFPSETCC vc=0, mod=4
SFPEXEXP vc=0, vd=2, mod=10
SFPLOADI vd=1, mod=4, imm=0xffff
SFPIADD imm=0xfe0, vc=2, vd=2, mod=1
SFPIADD imm=9, vc=2, vd=2, mod=5
SFPEXMAN vc=0, vd=1
SFPSHFT vc=2, vd=1
SFPENCC"""
ROUND_EVEN = """SFPMOV vc=0, vd=1
SFPSHFT imm=0xff0, vd=1, mod=1
SFPAND vc=12, vd=1
SFPIADD vc=13, vd=0, mod=4
SFPIADD vc=1, vd=0, mod=4"""
NOT_BELOW_ZERO = "SFPSWAP vc=9, vd=0, mod=9"


def _text(load: int, lines: str, register: int, store: int) -> Callable[..., None]:
    def body(k: Kernel, mode: Mode) -> None:
        k.text(
            f"SFPLOAD vd=0, mod={load}, modifier={{m}}\n{lines}\nSFPSTORE vd={register}, mod={store}, modifier={{m}}"
        )

    return body


TYPECASTS = {
    "cast_fp32_to_fp16a": (BY_FORMAT, "SFP_STOCH_RND vc=0, vd=0, mod=8", 0, FP16),
    "typecast_fp32_to_fp16b": (BY_FORMAT, ROUND_EVEN, 0, BF16),
    "typecast_fp32_to_uint16": (BY_FORMAT, f"{NOT_BELOW_ZERO}\nSFP_STOCH_RND vc=0, vd=0, mod=6", 0, LOW),
    "typecast_fp32_to_int32": (BY_FORMAT, FLOAT_TO_SIGNED, 1, INT32),
    "typecast_fp32_to_uint32": (BY_FORMAT, FLOAT_TO_UNSIGNED, 1, INT32),
    "typecast_uint16_to_fp16b": (LOW, "SFPCAST vc=0, vd=0\nSFP_STOCH_RND vc=0, vd=0, mod=1", 0, BY_FORMAT),
    "typecast_int32_to_fp16b": (INT32, f"{SIGNED_TO_FLOAT}\nSFP_STOCH_RND vc=0, vd=0, mod=1", 0, BY_FORMAT),
    "typecast_int32_to_fp32": (INT32, SIGNED_TO_FLOAT, 0, BY_FORMAT),
    "typecast_uint32_to_fp16b": (INT32, f"{UNSIGNED_TO_FLOAT}\nSFP_STOCH_RND vc=2, vd=2, mod=1", 2, BY_FORMAT),
    "typecast_uint32_to_fp32": (INT32, UNSIGNED_TO_FLOAT, 2, FP32),
}
"""Load mode, lines, register with the result, and store mode by name."""

RESULTS = {INT32: Format.INT32, LOW: Format.INT16, FP16: Format.FP16}
"""Format of Dst's words by the store mode."""

FUNCTIONS = tuple(
    Function(
        name=name,
        body=_text(load, lines, register, store),
        setup=(lambda mode: {P0: 1, P1: 0x7FFF}) if lines is ROUND_EVEN else lambda mode: {},
        dst32=INT32 in (load, store),
        result=RESULTS.get(store, Format.FP32 if load == INT32 else Format.BF16 if load == LOW else None),
        reads_uint16=load == LOW,
        writes_uint16=store == LOW,
        writes_fp16=store == FP16,
    )
    for name, (load, lines, register, store) in TYPECASTS.items()
)
