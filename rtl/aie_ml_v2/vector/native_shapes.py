"""Native products of the vector unit, and the elements of X and Y that each lane of them multiplies.

A route is a table: for every lane the places of its elements in X and in Y, in the order of its products. Lanes of 64 bits
are counted in pairs of 32; the lower lane of a pair has the operands of both.

Ref: llvm-aie, intrinsics headers of aie2ps, for the shapes; FIM43-Redeye/xdna-emu for the order of the elements.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from amaranth.lib import enum

from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_GROUP, SPARSE_KEPT
from bitpath.golden.aie_ml_v2.declarations.modes import (
    COMPLEX_LANES,
    COMPLEX_MODES,
    FLOAT8,
    FLOAT16,
    INT8,
    INT16,
    INT16_64,
    INT32X16,
    Convolution,
    Mode,
    Shape,
)
from bitpath.rtl.aie_ml_v2.mac.config import LANE_BITS

Places = Callable[[int], tuple[int, ...]]
"""Lane -> places of its elements in an operand register."""
BITS = {FLOAT16.name: 16, FLOAT8.name: 8}
"""Bits of a float's element."""
PART = 2
"""Numbers of a complex one: its real and its imaginary part."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """Elements that the lanes of a native product multiply.

    Attributes
    ----------
    lanes : accumulator lanes, each of `lane_bits`.
    x_bits, y_bits : bits of an element.
    x, y : places of a lane's elements; of a sparse product all entities along k in x, and the slots in y.
    broadcasts : the only element of Y is in the scalar operand.
    mask : bytes of Y that a lane's mask describes, as their number and the first of each lane; None for a dense product.
    is_matrix : a product of matrices.
    """

    lanes: int
    lane_bits: int
    x_bits: int
    y_bits: int
    x: Places
    y: Places
    broadcasts: bool = False
    mask: tuple[int, Places] | None = None
    is_matrix: bool = False

    @property
    def halves(self) -> int:
        """Lanes of 32 bits that a lane takes."""
        return self.lane_bits // LANE_BITS


def _route(mode: Mode, lanes: int, x: Places, y: Places, **more) -> Route:
    width = BITS.get(mode.name, 0)
    x_bits, y_bits = mode.a_bits or width, mode.b_bits or width
    return Route(lanes=lanes, lane_bits=mode.lane_bits, x_bits=x_bits, y_bits=y_bits, x=x, y=y, **more)


def _matrix(mode: Mode, shape: Shape) -> Route:
    m, k, n = shape.m, shape.k, shape.n
    return _route(
        mode,
        m * n,
        lambda lane: tuple(lane // n * k + i for i in range(k)),
        lambda lane: tuple(i * n + lane % n for i in range(k)),
        is_matrix=True,
    )


def _sparse(mode: Mode, shape: Shape) -> Route:
    m, k, n = shape.m, shape.k, shape.n
    kept = k * SPARSE_KEPT // SPARSE_GROUP
    size = (mode.b_bits or BITS[mode.name]) // 8
    return _route(
        mode,
        m * n,
        lambda lane: tuple(lane // n * k + i for i in range(k)),
        lambda lane: tuple(lane % n * kept + i for i in range(kept)),
        mask=(k * size, lambda lane: (lane % n * k * size,)),
        is_matrix=True,
    )


def _elements(mode: Mode, lanes: int, depth: int, broadcasts: bool = False) -> Route:
    def places(lane: int) -> tuple[int, ...]:
        return tuple(lane + i * lanes for i in range(depth))

    return _route(mode, lanes, places, (lambda _: (0,) * depth) if broadcasts else places, broadcasts=broadcasts)


def _convolution(mode: Mode, shape: Convolution) -> Route:
    channels, taps = shape.channels, range(shape.taps)
    return _route(
        mode,
        shape.outputs * channels,
        lambda lane: tuple(channels * (lane // channels + u) + lane % channels for u in taps),
        lambda lane: tuple(channels * u + lane % channels for u in taps),
    )


def _complex(mode: Mode, broadcasts: bool = False) -> Route:
    """Real lanes multiply re*re and im*im, imaginary ones re*im and im*re, of each number."""
    numbers = [COMPLEX_LANES * k for k in range(mode.complex_depth)]

    def places(lane: int, cross: int, number: int) -> tuple[int, ...]:
        return tuple(
            PART * (number * (first + lane // PART)) + (part ^ cross) for first in numbers for part in range(PART)
        )

    return _route(
        mode,
        PART * COMPLEX_LANES,
        lambda lane: places(lane, 0, 1),
        lambda lane: places(lane, lane % PART, 0 if broadcasts else 1),
        broadcasts=broadcasts,
    )


def _all() -> dict[str, Route]:
    """Return the routes by name: mode, family and shape."""
    found: dict[str, Route] = {}
    families = (("elem", False), ("broadcast", True))
    for mode in (INT8, INT16, INT16_64, INT32X16, FLOAT16, FLOAT8):
        for shape in mode.shapes:
            found[f"{mode.name}_{shape.name}"] = (_sparse if shape.sparse else _matrix)(mode, shape)
        for (lanes, depth), (family, broadcasts) in product(mode.elementwise, families):
            found[f"{mode.name}_{family}_{lanes}_{depth}"] = _elements(mode, lanes, depth, broadcasts)
        for each in mode.convolutions:
            found[f"{mode.name}_conv_{each.name}"] = _convolution(mode, each)
    for (name, mode), (family, broadcasts) in product(COMPLEX_MODES.items(), families):
        found[f"{name}_{family}_{COMPLEX_LANES}"] = _complex(mode, broadcasts)
    return found


ROUTES = _all()
"""Native products of integers and floats by name; those of MX are in `Permute`."""
NativeShape = enum.Enum("NativeShape", {name.upper(): code for code, name in enumerate(ROUTES)}, module=__name__)
"""Codes of the routes."""
