"""Register words in their two bit orders: logical (sign, exponent, fraction) and as the registers hold them."""

from itertools import accumulate

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, checked
from bitpath.golden.tensix.declarations.formats import LAYOUTS, Segment, WordLayout
from bitpath.golden.tensix.operands.arguments import check_width


@checked
def to_physical(words: np.ndarray, layout: WordLayout | str) -> np.ndarray:
    """Return logical words in the register's bit order.

    Parameters
    ----------
    words : uint32 of any shape.
    layout : `SRC`, `DST16_BF16`, `DST16_FP16` or `DST32` of the declarations, or its name.

    Returns
    -------
    uint32 of the same shape.

    Raises
    ------
    TypeError, ValueError : another dtype; an unknown layout; words wider than the layout.
    """
    layout = _checked(words, layout)
    return _assemble(_take_apart(words, layout.logical), layout.physical)


@checked
def from_physical(words: np.ndarray, layout: WordLayout | str) -> np.ndarray:
    """Return words in the register's bit order as logical ones; the inverse of `to_physical`.

    Raises
    ------
    TypeError, ValueError : as `to_physical`.
    """
    layout = _checked(words, layout)
    return _assemble(_take_apart(words, layout.physical), layout.logical)


def _checked(words: np.ndarray, layout: WordLayout | str) -> WordLayout:
    if not isinstance(layout, WordLayout):
        layout = LAYOUTS[check_choice("layout", layout, LAYOUTS)]
    check_array("words", words, np.uint32)
    check_width("words", words, layout.width)
    return layout


def _positions(segments: tuple[Segment, ...]) -> list[tuple[Segment, int]]:
    """Return each segment with the position of its lowest bit in the word."""
    starts = accumulate((segment.width for segment in reversed(segments)), initial=0)
    return list(zip(reversed(segments), starts, strict=False))


def _take_apart(words: np.ndarray, segments: tuple[Segment, ...]) -> dict[str, np.ndarray]:
    fields: dict[str, np.ndarray] = {}
    for segment, position in _positions(segments):
        bits = words >> position & (1 << segment.width) - 1
        fields[segment.name] = fields.get(segment.name, np.uint32(0)) | bits << segment.low
    return fields


def _assemble(fields: dict[str, np.ndarray], segments: tuple[Segment, ...]) -> np.ndarray:
    words = np.zeros_like(fields["sign"])
    for segment, position in _positions(segments):
        words |= (fields[segment.name] >> segment.low & (1 << segment.width) - 1) << position
    return words
