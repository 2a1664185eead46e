"""Blocks for QuantizeMX, what golden makes of them, and both as the unit's ports have them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from random import Random

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3FN, E8M0, FP16, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS, X4, ScaleRule
from bitpath.rtl.trainium3.vector.quantize_mx import BLOCK, ELEMENTS, SOURCES, MxBeat, MxQuantized, Rule
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.kit.values import code_text, codes_text

# Conversion of tiles to QuantizeMX's blocks and of its results to tiles, and the modes of a beat.


@dataclass(frozen=True)
class Mode:
    """Choices of a beat at run time."""

    source: FloatFormat
    element: FloatFormat
    rule: ScaleRule

    @property
    def name(self) -> str:
        """Name in bins and tests."""
        return f"{self.source.name}_{self.element.name}_{self.rule.value}"

    @property
    def offset(self) -> int:
        """Difference between a block's largest exponent and its scale."""
        return self.element.emax - (self.rule is ScaleRule.NKI05 and self.element is not E2M1)

    @property
    def control(self) -> int:
        """The fields of the beat beside its elements, in place."""
        fields = {
            "source": SOURCES.index(self.source),
            "element": ELEMENTS.index(self.element),
            "rule": Rule[self.rule.name].value,
        }
        return pack(MxBeat, {"control": fields})


MODES = {mode.name: mode for mode in (Mode(*each) for each in product((BF16, FP16), ELEMENTS, ScaleRule))}


def packed(codes: np.ndarray, element: FloatFormat) -> np.ndarray:
    """Element codes uint8 [n, 32] as the unit's bytes: E2M1's four of a partition in its two lower bytes."""
    if element.width == E4M3FN.width:
        return codes
    pairs = codes.reshape(len(codes), -1, X4 // 2, 2)
    halves = (pairs[..., 0] | pairs[..., 1] << E2M1.width).astype(np.uint8)
    return np.pad(halves, ((0, 0), (0, 0), (0, X4 // 2))).reshape(len(codes), -1)


def unpacked(codes: np.ndarray, element: FloatFormat) -> np.ndarray:
    """Element codes uint8 [n, 32] of the unit's bytes; the inverse of :func:`packed`."""
    if element.width == E4M3FN.width:
        return codes
    halves = codes.reshape(len(codes), -1, X4)[..., : X4 // 2]
    return np.stack([halves & 15, halves >> E2M1.width], axis=-1).reshape(len(codes), -1)


def tile_blocks(tile: np.ndarray) -> np.ndarray:
    """A tile [P, F, 4] as blocks [P/8 * F, 32], element i of a block's partition p at 4p + i.

    The blocks of a group of 8 partitions stand together, along F.
    """
    groups = tile.reshape(-1, SCALE_PARTITIONS, *tile.shape[1:])
    return np.ascontiguousarray(groups.transpose(0, 2, 1, 3)).reshape(-1, SCALE_PARTITIONS * X4)


def blocks_tile(blocks: np.ndarray, free: int) -> np.ndarray:
    """The tile [P, F, 4] of blocks [P/8 * F, 32] in the order of :func:`tile_blocks`."""
    groups = blocks.reshape(-1, free, SCALE_PARTITIONS, X4).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(groups).reshape(-1, free, X4)


GROUPS = 4
"""Blocks down a tile of 32 partitions."""


def golden_blocks(blocks: np.ndarray, mode: Mode) -> tuple[np.ndarray, np.ndarray]:
    """Quantise blocks uint16 [n, 32], element i of partition p at 4p + i: codes uint8 [n, 32] and scales uint8 [n]."""
    columns = -(-len(blocks) // GROUPS)
    padded = np.pad(blocks, ((0, columns * GROUPS - len(blocks)), (0, 0)))
    tile = blocks_tile(padded, columns)
    data, scale = trainium3.quantize_mx(
        tile.reshape(len(tile), -1).view(DTYPES[mode.source]), DTYPES[mode.element], scale_rule=mode.rule.value
    )
    codes = tile_blocks(data.view(np.uint8).reshape(tile.shape))
    return codes[: len(blocks)], scale.reshape(-1)[: len(blocks)]


def _shown(block: np.ndarray, mode: Mode, place: str) -> Shown:
    """The element or E2M1 elements that differ, and the largest one; all of them if the scale differs."""
    name, _, byte = place.partition(".")
    finite = [code for code in block.tolist() if code & ~mode.source.sign_mask <= mode.source.max_code]
    largest = max(finite, key=lambda code: code & ~mode.source.sign_mask, default=None)
    own = block[_held(int(byte), mode)] if name == "codes" else block
    operands = {
        "mode": f"{mode.source.name} to {mode.element.name}, {mode.rule.value}",
        ("element" if len(own) == 1 else "elements") if name == "codes" else "block": codes_text(mode.source, own),
        "largest": "none is finite" if largest is None else code_text(mode.source, largest),
    }
    # A byte that holds two codes is shown as a word.
    formats: dict[str, FloatFormat] = {"scale": E8M0}
    return Shown(operands=operands, formats=formats | ({"codes": mode.element} if mode.element.width == 8 else {}))


def _held(byte: int, mode: Mode) -> slice:
    """The elements whose codes are in a byte of the result; for an unused byte of E2M1 its partition's."""
    if mode.element.width == 8:
        return slice(byte, byte + 1)
    partition, place = divmod(byte, X4)
    first = X4 * partition
    return slice(first + 2 * place, first + 2 * place + 2) if place < X4 // 2 else slice(first, first + X4)


def requests(blocks: np.ndarray, codes: np.ndarray, scales: np.ndarray, mode: Mode) -> list[Request]:
    """Blocks with the element codes [n, 32] and scales that must come of them."""
    scale_place = pack(MxQuantized, {"scale": 1})
    control = mode.control
    return [
        Request(
            int.from_bytes(block.astype("<u2").tobytes(), "little") | control,
            int.from_bytes(code.tobytes(), "little") | scale * scale_place,
            partial(_shown, block, mode),
        )
        for block, code, scale in zip(blocks, packed(codes, mode.element), scales.tolist(), strict=True)
    ]


def with_golden(blocks: np.ndarray, mode: Mode) -> list[Request]:
    """Blocks with what golden makes of them."""
    return requests(blocks, *golden_blocks(blocks, mode), mode)


def every_pattern(source: FloatFormat, rng: Random) -> np.ndarray:
    """Blocks [n, 32] with all 65,536 codes, twice: 32 neighbours, which have one exponent, and 31 with a larger element.

    The larger one, in any place, is up to 40 binades above, so that every code is also divided by the scale of another,
    down to where nothing is left of it; only infinities and NaN find none above them.
    """
    codes = np.arange(1 << source.width, dtype=np.uint16)
    alone = codes.reshape(-1, BLOCK)
    rest = np.resize(codes, -(-len(codes) // (BLOCK - 1)) * (BLOCK - 1)).reshape(-1, BLOCK - 1)
    beside = np.empty((len(rest), BLOCK), np.uint16)
    for row, block in zip(rest, beside, strict=True):
        exponent = max(int(code) >> source.fraction_bits & source.exponent_mask for code in row)
        larger = min(exponent + rng.randint(1, 40), source.exponent_mask - 1)
        place = rng.randrange(BLOCK)
        block[:] = np.insert(row, place, larger << source.fraction_bits | rng.getrandbits(source.fraction_bits))
    return np.concatenate([alone, beside])


def random_blocks(source: FloatFormat, count: int, rng: Random) -> np.ndarray:
    """Blocks [count, 32]: any codes, or elements within a few binades of a random exponent, with zeros and specials at times."""
    blocks = np.empty((count, BLOCK), np.uint16)
    for block in blocks:
        block[:] = any_block(source, rng)
    return blocks


def any_block(source: FloatFormat, rng: Random) -> Sequence[int]:
    if rng.random() < 0.2:
        return [rng.getrandbits(source.width) for _ in range(BLOCK)]
    top, spread = rng.randrange(source.exponent_mask), rng.choice((0, 3, 20))
    codes = [
        max(0, top - rng.randint(0, spread)) << source.fraction_bits
        | rng.getrandbits(source.fraction_bits)
        | rng.getrandbits(1) * source.sign_mask
        for _ in range(BLOCK)
    ]
    for _ in range(rng.choice((0, 0, 1, 4))):
        special = rng.choice((0, source.sign_mask, source.infinity_code, source.nan_code, 1))
        codes[rng.randrange(BLOCK)] = special | rng.getrandbits(1) * source.sign_mask
    return codes
