"""PACK and UNPACK on single elements. Ref: llvm-aie."""

from bitpath.golden.aie_ml_v2.declarations.codes import Saturation
from bitpath.golden.aie_ml_v2.exact.integers import saturate, wrap
from bitpath.golden.scalar.checked import checked


@checked
def unpack4(byte: int, signed: bool = True) -> tuple[int, int]:
    """Return the elements in the low and in the high nibble of a byte."""
    return wrap(byte % 16, 4, signed), wrap(byte // 16, 4, signed)


@checked
def pack(x: int, bits: int, saturation: Saturation = Saturation.NONE, signed: bool = True) -> int:
    """Bring an element of ``2 * bits`` bits into `bits` bits."""
    return saturate(x, bits, saturation, signed)
