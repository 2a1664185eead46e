"""Print digests of golden's results on fixed operands as JSON; runs where golden alone is installed.

Operands come from SHAKE-256, whose bytes no version of numpy changes.
"""

import hashlib
import json
import math

import ml_dtypes
import numpy as np

from bitpath.golden import aie_ml_v2, tensix, trainium3
from bitpath.golden.aie_ml_v2.matmul.matmul import FORMATS as AIE_FORMATS
from bitpath.golden.formats.catalogue import MX_FORMATS
from bitpath.golden.tensix.matmul.host import FORMATS as TENSIX_FORMATS
from bitpath.golden.trainium3.vector.activation import NEAREST


def words(name, *shape):
    """Return int16 words; the name is the seed."""
    return np.frombuffer(hashlib.shake_256(name.encode()).digest(2 * math.prod(shape)), np.int16).reshape(shape)


def floats(name, *shape):
    """Return float32 numbers with 16 significant bits and magnitudes from 2**-27 to 8."""
    exponents = (words(f"{name} exponents", *shape) & 15) - 27
    return np.ldexp(words(name, *shape).astype(np.float32), exponents)


def matrix(name, fmt, *shape):
    """Return a matrix of a format: integers of 7 bits, which all integer formats hold, or floats."""
    if fmt.startswith("int"):
        return (words(name, *shape) >> 9).astype(np.int32 if "32" in fmt else np.int16 if "16" in fmt else np.int8)
    return floats(name, *shape)


def results():
    """Yield each operation's name and result."""
    a, b, tile = floats("a", 40, 160), floats("b", 160, 24), floats("tile", 128, 64)
    for fmt in MX_FORMATS:
        yield f"trainium3.matmul {fmt}", trainium3.matmul(a, b, a_format=fmt, b_format=fmt)
    narrow = tile.astype(ml_dtypes.bfloat16)
    yield "trainium3.nc_matmul", trainium3.nc_matmul(narrow, narrow)
    yield "trainium3.quantize_mx", trainium3.quantize_mx(narrow, ml_dtypes.float8_e4m3fn)
    yield "trainium3.rmsnorm_quant", trainium3.rmsnorm_quant(narrow, narrow[0])
    yield "trainium3.exponential", trainium3.exponential(tile, 1.5)[0]
    yield "trainium3.reciprocal", trainium3.reciprocal(tile)
    for op in NEAREST:
        yield f"trainium3.activation {op}", trainium3.activation(tile, op)
    for fmt in TENSIX_FORMATS:
        for fidelity in ("LoFi", "HiFi4"):
            operands = matrix("a", fmt, 40, 160), matrix("b", fmt, 160, 24)
            yield f"tensix.matmul {fmt} {fidelity}", tensix.matmul(*operands, format=fmt, fidelity=fidelity)
    for fmt in AIE_FORMATS:
        yield (
            f"aie_ml_v2.matmul {fmt}",
            aie_ml_v2.matmul(matrix("a", fmt, 40, 160), matrix("b", fmt, 160, 24), format=fmt),
        )
    yield "aie_ml_v2.tanh", aie_ml_v2.tanh(tile)
    yield "aie_ml_v2.exp2", aie_ml_v2.exp2(tile)
    yield "aie_ml_v2.srs", aie_ml_v2.srs(words("lanes", 64).astype(np.int32), 3, out_bits=8, rounding=12)


def digest(result):
    """Return the digest of an array, or of the arrays of a tuple."""
    arrays = result if isinstance(result, tuple) else (result,)
    return hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)).hexdigest()


print(json.dumps({name: digest(result) for name, result in results()}))
