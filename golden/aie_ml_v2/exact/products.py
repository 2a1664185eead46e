"""Native products on scalars: the pairs that a lane of each shape multiplies, and complex lanes.

Ref: llvm-aie, intrinsics headers of aie2ps; FIM43-Redeye/xdna-emu for the order of the elements.
"""

from collections.abc import Sequence

from bitpath.golden.aie_ml_v2.declarations.modes import COMPLEX_LANES, Convolution, Mode, Shape
from bitpath.golden.aie_ml_v2.exact.integers import integer_lane
from bitpath.golden.scalar.arguments import check_length
from bitpath.golden.scalar.checked import checked


@checked
def matrix_pairs(shape: Shape, a: Sequence[int], b: Sequence[int], lane: int) -> list[tuple[int, int]]:
    """Return what a lane multiplies: a row of A [M, K] and a column of B [K, N] or, transposed, [N, K]; flat, row by row."""
    check_length("a", a, shape.m * shape.k)
    check_length("b", b, shape.k * shape.n)
    row, column = divmod(lane, shape.n)
    return [
        (a[shape.k * row + k], b[shape.k * column + k if shape.transposed else shape.n * k + column])
        for k in range(shape.k)
    ]


@checked
def elementwise_pairs(lanes: int, a: Sequence[int], b: Sequence[int], lane: int) -> list[tuple[int, int]]:
    """Return what a lane multiplies: every `lanes`-th element of both registers, or of A with the only one of B."""
    check_length("b", b, 1 if len(b) == 1 else len(a), " as a, or 1")
    return [(a[i], b[0] if len(b) == 1 else b[i]) for i in range(lane, len(a), lanes)]


@checked
def convolution_pairs(convolution: Convolution, a: Sequence[int], b: Sequence[int], lane: int) -> list[tuple[int, int]]:
    """Return what a lane multiplies: the data from its position on, and the taps of its channel."""
    for name, values, positions in (("a", a, convolution.outputs + convolution.taps - 1), ("b", b, convolution.taps)):
        check_length(name, values[: convolution.channels * positions], convolution.channels * positions)
    x, c = divmod(lane, convolution.channels)
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
    check_length("b", b, 1 if len(b) == 1 else len(a), " as a, or 1")
    for each in (*a, *b, acc1, acc2):
        check_length("numbers", each, 2)
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
