"""Matrices that a run multiplies: those of the real layer, or the user's."""

import re
from pathlib import Path

import numpy as np

import bitpath.verif
from bitpath.golden.arrays.files import FileError, read_npy, read_npz

LAYER = Path(bitpath.verif.__file__).parent / "vectors" / "minilm_layer2.npz"
"""Layer 2 of the sentence encoder all-MiniLM-L6-v2; see the note beside it."""


def _arrays(*names: str) -> list[np.ndarray]:
    """Read arrays of the layer's file; raise ValueError if it is damaged."""
    try:
        arrays = read_npz(LAYER)
        return [arrays[name] for name in names]
    except (FileError, KeyError):
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
    """Return the user's matrices, or the layer's if both are missing; raise ValueError if one is missing."""
    if (a is None) != (b is None):
        raise ValueError(f"--{'b' if b is None else 'a'} is missing; --a and --b go together")
    return layer() if a is None or b is None else (load("--a", a), load("--b", b))


def load(option: str, path: Path, *, widen: bool = True) -> np.ndarray:
    """A user's matrix as float32, which holds every float16; without `widen` as it is.

    Raises FileError as `read_npy`, for a dtype that would be rounded, and for an array that is no matrix.
    """
    matrix = read_npy(path, option)
    native = matrix.dtype.newbyteorder("=")
    if native not in (np.float16, np.float32):
        raise FileError(f"{option}: {path} must be float32 or float16, not {matrix.dtype}")
    if matrix.ndim != 2 or not matrix.size:
        raise FileError(f"{option}: {path} must have two dimensions of at least 1, not shape {matrix.shape}")
    return matrix.astype(np.float32 if widen else native, order="C", copy=False)


def quantised(matrix: np.ndarray, bits: int) -> tuple[np.ndarray, float]:
    """Scale a matrix to integers of at most 2**(bits - 1) - 1, rounded half to even; return them and the number of one
    step.

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
