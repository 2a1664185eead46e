"""Matrices that a run multiplies: those of the real layer, or the user's."""

import math
import os
import re
import stat
import zipfile
import zlib
from pathlib import Path
from tokenize import TokenError
from typing import BinaryIO

import numpy as np

import bitpath.verif

LAYER = Path(bitpath.verif.__file__).parent / "vectors" / "minilm_layer2.npz"
"""Layer 2 of the sentence encoder all-MiniLM-L6-v2; see the note beside it."""


def _arrays(*names: str) -> list[np.ndarray]:
    """Read arrays of the layer's file; raise ValueError if it is damaged."""
    try:
        with LAYER.open("rb") as content, np.load(content) as file:
            return [file[name] for name in names]
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error):
        raise ValueError(f"{LAYER} is damaged; install bitpath again, or check the file out again") from None


def layer() -> tuple[np.ndarray, np.ndarray]:
    """The feed-forward up-projection: input [128, 384] and transposed weight [384, 512], float32."""
    inputs, weight = _arrays("ffn_in", "ffn_up_weight")
    return inputs.astype(np.float32), weight.T.astype(np.float32)


def normalised_layer() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The step from the residual stream on: hidden [128, 384], gamma [384] and the up-projection's weight, float32."""
    hidden, gamma, weight = _arrays("hidden", "gamma", "ffn_up_weight")
    return hidden.astype(np.float32), gamma, weight.T.astype(np.float32)


def pair(a: Path | None, b: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the user's matrices, or the layer's if neither is given; raise ValueError for only one."""
    if (a is None) != (b is None):
        raise ValueError(f"--{'b' if b is None else 'a'} is missing; --a and --b go together")
    return layer() if a is None or b is None else (load("--a", a), load("--b", b))


def load(option: str, path: Path, *, widen: bool = True) -> np.ndarray:
    """A user's matrix as float32, which holds every float16; without `widen` as it is.

    Raises OSError for a file that cannot be read, ValueError for one that is not .npy or no matrix, and TypeError for a
    dtype that would be rounded.
    """
    try:
        # A pipe would block the opening, and a device has no end.
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError("it is not a regular file")
        with path.open("rb") as file:
            matrix = _matrix(file)
            return matrix.astype(np.float32, order="C") if widen else matrix
    except OSError as error:
        raise OSError(f"{option}: {path} cannot be read: {error.strerror or error}") from None
    except (ValueError, TypeError) as error:
        raise type(error)(f"{option}: {path} {error}") from None


def _matrix(file: BinaryIO) -> np.ndarray:
    """Read a .npy file; numpy alone would allocate any shape, take a negative one, and ignore bytes after the elements."""
    shape, fortran, dtype = _header(file)
    if dtype.newbyteorder("=") not in (np.float16, np.float32):
        raise TypeError(f"must be float32 or float16, not {dtype}")
    if len(shape) != 2 or not all(type(extent) is int and extent > 0 for extent in shape):
        raise ValueError(f"must have two dimensions of at least 1, not shape {shape}")
    size, left = math.prod(shape) * dtype.itemsize, os.fstat(file.fileno()).st_size - file.tell()
    if left != size:
        raise ValueError(f"is not a whole .npy file: shape {shape} has {size} bytes, the file has {left}")
    return (
        np.fromfile(file, dtype)
        .reshape(shape, order="F" if fortran else "C")
        .astype(dtype.newbyteorder("="), order="C")
    )


def _header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Return shape, Fortran order and dtype of a .npy file."""
    form = np.lib.format
    try:
        read = form.read_array_header_1_0 if form.read_magic(file) == (1, 0) else form.read_array_header_2_0
        return read(file)
    except (ValueError, TypeError, EOFError, SyntaxError, MemoryError, ArithmeticError, LookupError, TokenError):
        # numpy raises these for a damaged header.
        raise ValueError("is not a whole .npy file") from None


def quantised(matrix: np.ndarray, bits: int) -> tuple[np.ndarray, float]:
    """Scale a matrix to integers of at most 2**(bits - 1) - 1, rounded half to even; return them and the number that 1 stands for.

    Raises ValueError for infinities and NaN.
    """
    if not np.isfinite(matrix).all():
        raise ValueError("the matrices must be finite to become integers")
    largest, amax = (1 << bits - 1) - 1, float(np.abs(matrix).max()) or 1.0
    return np.rint(matrix.astype(np.float64) * largest / amax).astype(np.int64), amax / largest


def cut(a: np.ndarray, b: np.ndarray, wanted: str | None) -> tuple[np.ndarray, np.ndarray]:
    """The first rows, contraction and columns, as ``wanted`` ("MxKxN") says; raise ValueError beyond the matrices."""
    if wanted is None:
        return a, b
    m, k, n = extents(wanted, (*a.shape, b.shape[1]), "MxKxN", "8x128x8")
    return np.ascontiguousarray(a[:m, :k]), np.ascontiguousarray(b[:k, :n])


def extents(wanted: str, largest: tuple[int, ...], pattern: str, example: str) -> tuple[int, ...]:
    """Return the extents of a slice; raise ValueError unless each is from 1 to its entry of ``largest``."""
    if not re.fullmatch("x".join([r"\d+"] * len(largest)), wanted):
        raise ValueError(f"--slice must be {pattern}, for example {example}, not {wanted!r}")
    numbers = tuple(map(int, wanted.split("x")))
    if not all(0 < number <= limit for number, limit in zip(numbers, largest, strict=True)):
        raise ValueError(
            f"--slice must be {'x'.join('1' for _ in largest)} to {'x'.join(map(str, largest))}, not {wanted}"
        )
    return numbers
