"""Native products on scalars: the pairs that a lane of each shape multiplies, and complex lanes.

Ref: llvm-aie, intrinsics headers of aie2ps; FIM43-Redeye/xdna-emu for the order of the elements.
"""

from collections.abc import Sequence

from bitpath.golden.aie_ml_v2.declarations.modes import COMPLEX_LANES, Convolution, Mode, Shape
from bitpath.golden.aie_ml_v2.exact.integers import integer_lane
from bitpath.golden.scalar.arguments import check_length, integer
from bitpath.golden.scalar.checked import checked


@checked
def matrix_pairs(shape: Shape, a: Sequence[int], b: Sequence[int], lane: int) -> list[tuple[int, int]]:
    """Return what a lane multiplies: a row of A [M, K] and a column of B [K, N] or, transposed, [N, K]; flat, row by row."""
    check_length("a", a, shape.m * shape.k)
    check_length("b", b, shape.k * shape.n)
    row, column = divmod(integer("lane", lane, range(shape.m * shape.n)), shape.n)
    return [
        (a[shape.k * row + k], b[shape.k * column + k if shape.transposed else shape.n * k + column])
        for k in range(shape.k)
    ]


@checked
def elementwise_pairs(lanes: int, a: Sequence[int], b: Sequence[int], lane: int) -> list[tuple[int, int]]:
    """Return what a lane multiplies: every `lanes`-th element of both registers, or of A with the only one of B."""
    _check_other("b", b, len(a))
    return [(a[i], b[0] if len(b) == 1 else b[i]) for i in range(lane, len(a), lanes)]


@checked
def convolution_pairs(convolution: Convolution, a: Sequence[int], b: Sequence[int], lane: int) -> list[tuple[int, int]]:
    """Return what a lane multiplies: the data from its position on, and the taps of its channel."""
    lanes = convolution.outputs * convolution.channels
    x, c = divmod(integer("lane", lane, range(lanes)), convolution.channels)
    last = convolution.channels * (convolution.taps - 1)
    for name, values, needed in (("a", a, last + lanes), ("b", b, last + convolution.channels)):
        if len(values) < needed:
            raise ValueError(f"{name} must have at least {needed} elements, not {len(values)}")
    return [(a[convolution.channels * (x + u) + c], b[convolution.channels * u + c]) for u in range(convolution.taps)]


@checked
def complex_lane(
    mode: Mode,
    a: Sequence[tuple[int, int]],
    b: Sequence[tuple[int, int]],
    lane: int,
    acc1: tuple[int, int] = (0, 0),
    acc2: tuple[int, int] = (0, 0),
    *,
    negate: int = 0x0A,
    **options: bool,
) -> tuple[int, int]:
    """Return the real and the imaginary lane of complex registers; bits of `negate` turn terms as in `complex_dot`."""
    check_length("a", a, COMPLEX_LANES * mode.complex_depth)
    _check_other("b", b, len(a))
    lane = integer("lane", lane, range(COMPLEX_LANES))
    real: list[tuple[int, int]] = []
    imaginary: list[tuple[int, int]] = []
    for k in range(mode.complex_depth):
        index = COMPLEX_LANES * k + lane
        (ar, ai), (br, bi) = a[index], b[0] if len(b) == 1 else b[index]
        for terms, bit, x, y in (
            (real, 2 * k, ar, br),
            (real, 2 * k + 1, ai, bi),
            (imaginary, 4 + 2 * k, ar, bi),
            (imaginary, 5 + 2 * k, ai, br),
        ):
            terms.append((-x if negate >> bit & 1 else x, y))
    first, second = (
        integer_lane(mode, [x for x, _ in terms], [y for _, y in terms], acc1[part], acc2[part], **options)
        for part, terms in enumerate((real, imaginary))
    )
    return first, second


def _check_other(name: str, values: Sequence[object], length: int) -> None:
    """Raise ValueError unless the other operand has a length, or one element for all lanes."""
    if len(values) != 1:
        check_length(name, values, length, " as a, or 1")
