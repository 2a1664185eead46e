"""Arrays of blocks: exponent, shift bits and element codes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MxFormat
from bitpath.golden.aie_ml_v2.operands.arguments import mx_format
from bitpath.golden.arrays.arguments import check_array
from bitpath.golden.scalar.as_numpy import as_array


@dataclass(frozen=True, eq=False)
class MxBlocks:
    """Blocks along the last axis of a tensor: of 16 elements, in BFP16EBS8 of 8.

    Attributes
    ----------
    fmt : the format, or its name.
    exponent : uint8 [..., B], the shared exponents, bias 127.
    shift : uint8 [..., B]; bit j belongs to elements 2j and 2j + 1. BFP16EBS8 has no shifts: 0.
    codes : int8 [..., B, 16 | 8], -2**m to 2**m - 1.

    Raises
    ------
    TypeError, ValueError : another format, dtype, shape, or a shift or code that does not fit.
    """

    fmt: MxFormat
    exponent: np.ndarray
    shift: np.ndarray
    codes: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "fmt", mx_format(self.fmt))
        for name in ("exponent", "shift", "codes"):
            object.__setattr__(self, name, as_array(name, getattr(self, name)))
        check_array("exponent", self.exponent, np.uint8)
        check_array("shift", self.shift, np.uint8)
        check_array("codes", self.codes, np.int8)
        if self.shift.shape != self.exponent.shape:
            raise ValueError(f"shift must have exponent's shape {self.exponent.shape}, not {self.shift.shape}")
        if not self.fmt.has_shifts and self.shift.any():
            raise ValueError(f"shift must be 0 in {self.fmt.name}, not {self.shift.max():#x}")
        if self.exponent.ndim < 1 or self.codes.shape != (*self.exponent.shape, self.fmt.elements):
            expected = ", ".join(map(str, (*self.exponent.shape, self.fmt.elements)))
            raise ValueError(f"codes must have shape [{expected}] with at least two axes, not {self.codes.shape}")
        lowest, highest = self.fmt.min_code, self.fmt.max_code
        if self.codes.size and (self.codes.min() < lowest or self.codes.max() > highest):
            raise ValueError(
                f"codes reach from {self.codes.min()} to {self.codes.max()}; {self.fmt.name} has {lowest} to {highest}"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the arrays of exponents and shifts, the last axis being that of blocks."""
        return self.exponent.shape

    @property
    def element_shifts(self) -> np.ndarray:
        """The shift of every element, int8 [..., B, 16 | 8]."""
        pairs = self.shift[..., np.newaxis] >> np.arange(self.fmt.elements // 2, dtype=np.uint8) & 1
        return pairs.repeat(2, axis=-1).view(np.int8)

    def __getitem__(self, key: Any) -> "MxBlocks":
        """Index the axes of `shape`; the axis of blocks has to stay."""
        index = key if isinstance(key, tuple) else (key,)
        whole = index if Ellipsis in index else (*index, Ellipsis)
        return MxBlocks(self.fmt, self.exponent[whole], self.shift[whole], self.codes[(*whole, slice(None))])
