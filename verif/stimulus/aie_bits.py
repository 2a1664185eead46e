"""Payloads of thousands of requests: arrays as integers, and integers as the fields of a layout."""

from typing import Any

import numpy as np
from amaranth.lib import data


def array_bits(array: np.ndarray) -> int:
    """An array's bytes as an integer, element 0 lowest."""
    return int.from_bytes(array.astype(array.dtype.newbyteorder("<")).tobytes(), "little")


def join(shape: Any, **fields: int) -> int:
    """The integer of a layout whose fields are given as integers already; `verif.kit.packing.pack` takes a hundred times as
    long for an array."""
    layout = data.Layout.cast(shape)
    bits = 0
    for name, value in fields.items():
        bits |= value << layout[name].offset
    return bits
