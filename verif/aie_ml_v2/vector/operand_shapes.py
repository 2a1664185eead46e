"""Requests for the operand network, with the operands of each lane by golden's exact tier."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_GROUP, SPARSE_KEPT
from bitpath.golden.aie_ml_v2.declarations.modes import COMPLEX_LANES, COMPLEX_MODES, MODES, Mode
from bitpath.golden.aie_ml_v2.exact import convolution_pairs, elementwise_pairs, matrix_pairs
from bitpath.rtl.aie_ml_v2.mac.config import LANE_BITS
from bitpath.rtl.aie_ml_v2.vector.config import OperandShapesConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape
from bitpath.rtl.aie_ml_v2.vector.operand_shapes import MASK_BITS, REGISTER_BITS, operands_layout, registers_layout
from bitpath.verif.aie_ml_v2.mac.mac import stream_bits
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request

# Cached: Amaranth takes milliseconds to build a layout.
request_shape, result_shape = cache(registers_layout), cache(operands_layout)
Lane = tuple[Sequence[int], Sequence[int], int]
"""Elements of x and of y, and the mask."""


@dataclass(frozen=True, kw_only=True)
class Native:
    """A native product as the declarations have it.

    Attributes
    ----------
    mode : the row of Table 7.
    family : "matrix", "sparse", "elem", "broadcast", "conv" or "complex".
    shape : its dimensions: Shape, Convolution, or (lanes, depth).
    broadcasts : True if B has one number, in the scalar operand.
    """

    mode: Mode
    family: str
    shape: object
    broadcasts: bool = False

    @property
    def lanes(self) -> int:
        """Accumulator lanes, of the mode's width."""
        match self.family:
            case "matrix" | "sparse":
                return self.shape.m * self.shape.n
            case "conv":
                return self.shape.outputs * self.shape.channels
            case "complex":
                return 2 * COMPLEX_LANES
        return self.shape[0]

    @property
    def bits(self) -> tuple[int, int]:
        """Bits of an element of A and of B."""
        if self.mode.formats:
            return (self.mode.formats[0].width,) * 2
        return self.mode.a_bits, self.mode.b_bits

    def lane(self, a: list[int], b: list[int], mask: int, lane: int) -> Lane:
        """Return a lane's factors from operand registers, whose elements are codes."""
        match self.family:
            case "matrix":
                size = self.shape.m * self.shape.k, self.shape.k * self.shape.n
                pairs = matrix_pairs(self.shape, a[: size[0]], b[: size[1]], lane)
            case "conv":
                pairs = convolution_pairs(self.shape, a, b, lane)
            case "sparse":
                row, column = divmod(lane, self.shape.n)
                k, kept = self.shape.k, self.shape.k * SPARSE_KEPT // SPARSE_GROUP
                size = k * self.bits[1] // 8
                own = mask >> column * size & (1 << size) - 1
                return a[row * k : (row + 1) * k], b[column * kept : (column + 1) * kept], own
            case "complex":
                pairs = self._numbers(a, b, *divmod(lane, 2))
            case _:
                lanes, depth = self.shape
                pairs = elementwise_pairs(lanes, a[: lanes * depth], b[: lanes * depth], lane)
        x, y = zip(*pairs, strict=True)
        return x, y, 0

    def _numbers(self, a: list[int], b: list[int], number: int, part: int) -> list[tuple[int, int]]:
        """Return the pairs of a part: re re, im im; of the imaginary one re im, im re."""
        pairs = []
        for k in range(self.mode.complex_depth):
            i = 2 * (COMPLEX_LANES * k + number)
            own = b[:2] if self.broadcasts else b[i : i + 2]
            pairs += zip(a[i : i + 2], own[::-1] if part else own, strict=True)
        return pairs


def _natives() -> dict[str, Native]:
    found = {}
    for mode in MODES.values():
        if mode.mx:
            continue
        for shape in mode.shapes:
            family = "sparse" if shape.sparse else "matrix"
            found[f"{mode.name}_{shape.name}"] = Native(mode=mode, family=family, shape=shape)
        for each in mode.elementwise:
            for family in ("elem", "broadcast"):
                name = f"{mode.name}_{family}_{each[0]}_{each[1]}"
                found[name] = Native(mode=mode, family=family, shape=each, broadcasts=family == "broadcast")
        for each in mode.convolutions:
            found[f"{mode.name}_conv_{each.name}"] = Native(mode=mode, family="conv", shape=each)
    for name, mode in COMPLEX_MODES.items():
        for family in ("elem", "broadcast"):
            own = Native(mode=mode, family="complex", shape=None, broadcasts=family == "broadcast")
            found[f"{name}_{family}_{COMPLEX_LANES}"] = own
    return {name.upper(): each for name, each in found.items()}


NATIVES = _natives()


def network_request(
    config: OperandShapesConfig, shape: NativeShape, part: int, x: int, y: int, mask: int, scalar: int
) -> Request:
    """Return a request of whole registers, and the operands of the part's lanes."""
    native = NATIVES[shape.name]
    a_bits, b_bits = native.bits
    a = _elements(x, REGISTER_BITS, a_bits)
    b = _elements(scalar, LANE_BITS, b_bits) if native.broadcasts else _elements(y, REGISTER_BITS, b_bits)
    b = b[:1] if native.family == "broadcast" else b
    halves = native.mode.lane_bits // LANE_BITS
    fields: dict[str, list[int]] = {"x": [], "y": [], "mask": []}
    for k in range(config.lanes):
        lane = (part * config.lanes + k) // halves
        own_x, own_y, own_mask = native.lane(a, b, mask, lane % native.lanes)
        fields["x"].append(stream_bits(own_x, a_bits))
        fields["y"].append(stream_bits(own_y, b_bits))
        fields["mask"].append(own_mask)
    given = {"native": shape, "part": part, "x": x, "y": y, "mask": mask, "scalar": scalar}
    return Request(pack(request_shape(config), given), pack(result_shape(config), fields), f"{shape.name}, part {part}")


def _elements(register: int, size: int, bits: int) -> list[int]:
    return [register >> bits * k & (1 << bits) - 1 for k in range(size // bits)]


def distinct(rng: Random, bits: int, size: int) -> int:
    """Return a register whose elements all differ."""
    return stream_bits(rng.sample(range(1 << min(bits, 16)), size // bits), bits)


def random_request(config: OperandShapesConfig, rng: Random, shape: NativeShape, part: int) -> Request:
    """Return a request whose elements all differ, so that a wrong route shows; unused elements do too."""
    a_bits, b_bits = NATIVES[shape.name].bits
    x, y = distinct(rng, a_bits, REGISTER_BITS), distinct(rng, b_bits, REGISTER_BITS)
    return network_request(config, shape, part, x, y, rng.getrandbits(MASK_BITS), rng.getrandbits(LANE_BITS))
