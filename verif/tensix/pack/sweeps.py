"""Every 16-bit word of Dst through the packer."""

from collections.abc import Iterator
from dataclasses import asdict, replace

import numpy as np

from bitpath.golden.tensix import pack
from bitpath.golden.tensix.convert.formats import exponent_stream_bytes
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, COLUMNS, EXPONENT5_FORMATS
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.rtl.tensix.pack.layouts import PackedRow, PackRequest
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig
from bitpath.verif.kit.batches import WORD_BITS, Batch, Part, fill, places, words_of
from bitpath.verif.kit.volume import Generator, VolumeTask
from bitpath.verif.tensix.pack.pack import ALL_PACKINGS, Packing

PACK, PACKED = places(PackRequest), places(PackedRow)

PACK_WORDS, PACKED_WORDS = (words_of(sum(width for _, width in layout.values())) for layout in (PACK, PACKED))
ONES = {True: 0x3C00, False: 0x3F80}
"""ReLU's threshold 1, for intermediate formats with 5 exponent bits and others."""


def _packings() -> tuple[Packing, ...]:
    """All packings of 16-bit words without an addend from L1; ReLU's threshold is 1 where it is used."""
    return tuple(
        replace(each, relu_threshold=ONES[each.mid_format in EXPONENT5_FORMATS] if each.relu > 1 else 0)
        for each in ALL_PACKINGS
        if not each.dst32 and not each.accumulate
    )


PACKINGS = _packings()
WORDS = np.arange(1 << 16, dtype=np.uint32).reshape(-1, COLUMNS)
"""Every 16-bit word of Dst."""


def packer(config: ConversionConfig, rng: Generator, block: int) -> Iterator[Batch]:
    """Every 16-bit word: in rows of neighbours, and in rows of words that have nothing to do with each other."""
    packing = PACKINGS[block]
    for name, words in (("neighbours", WORDS), ("mixed", rng.permutation(WORDS.ravel()).reshape(WORDS.shape))):
        yield _packed(config, packing, name, words)


def _packed(config: ConversionConfig, packing: Packing, name: str, words: np.ndarray) -> Batch:
    values = {field: int(value) for field, value in asdict(packing).items()}
    one = fill(1, PACK_WORDS, [(*PACK[f"control.{field}"], value) for field, value in values.items()])
    count = len(words)

    def golden() -> np.ndarray:
        data = pack(words, **packing.arguments, numerics=config.numerics)
        stream = exponent_stream_bytes(words.size) if packing.out_format in BLOCK_FLOATS else 0
        rows = np.zeros((count, PACKED_WORDS), np.uint32)
        rows.view(np.uint8)[:, : packing.row_bytes] = data[stream:].reshape(count, packing.row_bytes)
        if stream:
            rows[:, PACKED["exponent"][0] // WORD_BITS] = data[:count]
        return rows

    parts = (Part(words), Part(one, np.zeros(count, np.uint32)))
    return Batch(f"{packing.bin}, {name}", parts, count, golden)


SWEEPS = (
    VolumeTask(
        name="sweep-packer",
        machine="tensix",
        unit="packer",
        what="every 16-bit Dst word in every pair of formats and ReLU mode, with neighbours and with any; 16 in a vector",
        config=lambda: ConversionConfig(numerics=WORMHOLE.numerics),
        block_vectors=2 * len(WORDS),
        blocks=len(PACKINGS),
        batches=packer,
        layout=lambda: PACK,
    ),
)
