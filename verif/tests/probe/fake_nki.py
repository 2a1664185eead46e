"""The vendor's names that Trainium3's device script uses, computed by golden: they test the script, not the device."""

from types import ModuleType

import ml_dtypes
import numpy as np

from bitpath.golden import trainium3

STORED = {"tfloat32": np.float32, "float8_e4m3fn_x4": np.uint32, "float8_e5m2_x4": np.uint32}
"""How tiles of dtypes that numpy lacks are stored."""
ELEMENTS = {"float8_e4m3fn_x4": ml_dtypes.float8_e4m3fn, "float8_e5m2_x4": ml_dtypes.float8_e5m2}


class Tile:
    """A tensor on the device."""

    def __init__(self, array, dtype):
        self.array, self.dtype, self.shape = array, dtype, array.shape

    def __array__(self, dtype=None, copy=None):
        return self.array

    def view(self, dtype):
        return Tile(self.array.view(STORED.get(dtype, dtype)), dtype)

    def elements(self):
        """Return the elements of words, [P, F, 4]."""
        return self.array.view(np.uint8).reshape(*self.shape, 4).view(ELEMENTS[self.dtype])


def ndarray(shape, dtype, buffer):
    return Tile(np.zeros(shape, STORED.get(dtype, dtype)), dtype)


def copy(dst, src):
    assert dst.shape == src.shape
    dst.array[...] = np.asarray(src)


def nc_matmul_mx(dst, stationary, moving, stationary_scale, moving_scale):
    scales = np.asarray(stationary_scale), np.asarray(moving_scale)
    dst.array[...] = trainium3.nc_matmul_mx(stationary.elements(), moving.elements(), *scales)


def nc_matmul(dst, stationary, moving):
    tf32 = {f"{name}_tf32": tile.dtype == "tfloat32" for name, tile in (("stationary", stationary), ("moving", moving))}
    dst.array[...] = trainium3.nc_matmul(stationary.array, moving.array, **tf32)


def quantize_mx(dst, src, dst_scale):
    data, scale = trainium3.quantize_mx(src.array, np.dtype(ELEMENTS[dst.dtype]))
    dst.array[...] = data.view(np.uint8).reshape(*dst.shape, 4).view(np.uint32)[..., 0]
    dst_scale.array[...] = scale


def modules():
    """Return the modules by name."""
    nki, isa, language = (ModuleType(name) for name in ("nki", "nki.isa", "nki.language"))
    nki.jit, nki.isa, nki.language = (lambda kernel: kernel), isa, language
    isa.dma_copy = isa.tensor_copy = copy
    isa.nc_matmul_mx, isa.nc_matmul, isa.quantize_mx = nc_matmul_mx, nc_matmul, quantize_mx
    language.ndarray, language.bfloat16 = ndarray, ml_dtypes.bfloat16
    language.sbuf, language.psum, language.shared_hbm = "sbuf", "psum", "shared_hbm"
    language.uint8, language.uint32, language.float32 = np.uint8, np.uint32, np.float32
    for name in STORED:
        setattr(language, name, name)
    return {each.__name__: each for each in (nki, isa, language)}
