"""Known answers of 64-bit lanes: matrices, element-wise products, convolutions, complex products, lane by lane.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.aie_ml_v2.declarations.modes import COMPLEX_LANES, COMPLEX_MODES, INT16_64
from bitpath.golden.aie_ml_v2.exact import convolution_pairs, elementwise_pairs, matrix_pairs
from bitpath.rtl.aie_ml_v2.mac.wide_lanes import LaneWidth
from bitpath.verif.aie_ml_v2.mac.tb_wide_lanes import CONFIG, SIGNATURE, play
from bitpath.verif.aie_ml_v2.mac.wide_lanes import MASK, WIDTHS, WideCase
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.testplan import covers

NUMERICS = CONFIG.numerics


def shapes() -> Iterator[tuple[str, LaneWidth, object]]:
    """Yield a mode's name in the archive, its width, and a function from operands and lane to pairs."""
    for width, mode in WIDTHS.items():
        tile = mode.shapes[0]
        yield f"{mode.name}_{tile.name}", width, lambda a, b, lane, tile=tile: matrix_pairs(tile, a, b, lane)
    yield "int16_64_elem_32_2", LaneWidth.INT16_64, lambda a, b, lane: elementwise_pairs(32, a, b, lane)
    for each in INT16_64.convolutions:
        name = f"int16_64_conv_{each.name}"
        yield name, LaneWidth.INT16_64, lambda a, b, lane, each=each: convolution_pairs(each, a, b, lane)


def lanes(archive: dict[str, np.ndarray]) -> Iterator[tuple[WideCase, int]]:
    """Yield every lane of every case with the archive's result."""
    for name, width, pairs in shapes():
        fields = [archive[f"{name}_{key}"].tolist() for key in ("a", "b", "acc", "out", "signed")]
        for a, b, acc, out, signed in zip(*fields, strict=True):
            for lane in range(len(out)):
                own = pairs(a, b, lane)
                # Products that a shape does not have are those of zeros.
                own += [(0, 0)] * (WIDTHS[width].depth - len(own))
                x, y = zip(*own, strict=True)
                case = WideCase(lane_width=width, x=x, y=y, signed=tuple(signed), acc1=acc[lane] & MASK)
                yield case, out[lane] & MASK
    yield from complex_lanes(archive)


def complex_lanes(archive: dict[str, np.ndarray]) -> Iterator[tuple[WideCase, int]]:
    """Yield real and imaginary lanes: all products of a part, in the order of its negation bits."""
    widths = {mode: width for width, mode in WIDTHS.items()}
    for name, key in (("cint16", "cint16_elem_16_2"), ("cint32x16", "cint32x16_elem_16")):
        mode = COMPLEX_MODES[name]
        fields = [archive[f"{key}_{field}"].tolist() for field in ("a", "b", "acc", "out", "mask")]
        for a, b, acc, out, mask in zip(*fields, strict=True):
            for lane, part in np.ndindex(COMPLEX_LANES, 2):
                numbers = [COMPLEX_LANES * k + lane for k in range(mode.complex_depth)]
                x = tuple(each for i in numbers for each in a[i])
                # The imaginary part multiplies crosswise.
                y = tuple(each for i in numbers for each in (b[i][::-1] if part else b[i]))
                negated = mask >> 4 * part & (1 << len(x)) - 1
                case = WideCase(lane_width=widths[mode], x=x, y=y, acc1=acc[lane][part] & MASK, negated=negated)
                yield case, out[lane][part] & MASK


@covers("wide_lanes.known_answers", "Another program computed them with Python's integers")
@cocotb.test(timeout_time=100, timeout_unit="ms")
async def every_lane(dut):
    """Every lane of 4x4x8 with 64 bits, of 4x2x8 of 32 by 16 bits, of element-wise products, convolutions and complex
    products."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "aie_tile_mac_shapes.npz") as files:
        answered = list(lanes(dict(files)))
    for case, expected in answered:
        assert case.result(NUMERICS) == expected
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await play(frame, [case for case, _ in answered], pauses.never(), pauses.rng("junk"))
