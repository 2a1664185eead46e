"""Every datum of up to 16 bits through the unpacker."""

from collections.abc import Iterator

import numpy as np

from bitpath.golden.tensix import unpack
from bitpath.golden.tensix.convert.formats import exponent_stream_bytes
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, COLUMNS
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig, unpack_request_layout
from bitpath.verif.kit.batches import Batch, Part, fill, places, words_of
from bitpath.verif.kit.volume import Generator, VolumeTask
from bitpath.verif.tensix.unpack.unpack import ALL_CONVERSIONS, Conversion

UNPACK = places(unpack_request_layout(1))
UNPACK_WORDS = words_of(sum(width for _, width in UNPACK.values()))
LONGEST = 16
"""Bits of datums all of whose codes are tried."""


def unpacker(config: ConversionConfig, rng: Generator, _: int) -> Iterator[Batch]:
    """Every datum of at most 16 bits under every exponent that a block may have, in every pair of formats."""
    for conversion in ALL_CONVERSIONS:
        if conversion.datum_bits <= LONGEST:
            yield _unpacked(config, conversion)


def _unpacked(config: ConversionConfig, conversion: Conversion) -> Batch:
    bits, exponents = conversion.datum_bits, np.array(conversion.exponents)
    # BFP2 has four codes only.
    codes = np.resize(np.arange(1 << bits), (max((1 << bits) // COLUMNS, 1), COLUMNS))
    datums, exponent = np.tile(codes, (len(exponents), 1)), np.repeat(exponents, len(codes))
    count = len(datums)
    row = fill(count, words_of(COLUMNS * bits), [(bits * k, bits, datums[:, k]) for k in range(COLUMNS)])
    fields = [(*UNPACK[f"control.{name}"], int(getattr(conversion, name))) for name in ("l1_format", "register_format")]
    fields += [(*UNPACK["control.unsigned"], int(conversion.unsigned)), (*UNPACK["exponents.0"], exponent)]
    parts = (Part(row), Part(fill(count, UNPACK_WORDS, fields)))

    def golden() -> np.ndarray:
        stream = np.zeros(0, np.uint8)
        if conversion.l1_format in BLOCK_FLOATS:
            stream = np.zeros(exponent_stream_bytes(datums.size), np.uint8)
            stream[:count] = exponent
        data = row.astype("<u4").view(np.uint8)[:, : COLUMNS * bits // 8].ravel()
        formats = conversion.l1_format, conversion.register_format
        options = {"unsigned": conversion.unsigned, "count": datums.size, "numerics": config.numerics}
        return unpack(np.concatenate([stream, data]), *formats, **options).reshape(count, COLUMNS)

    return Batch(conversion.bin, parts, count, golden)


def _unpacker_rows() -> int:
    taken = [each for each in ALL_CONVERSIONS if each.datum_bits <= LONGEST]
    return sum(len(each.exponents) * max((1 << each.datum_bits) // COLUMNS, 1) for each in taken)


SWEEPS = (
    VolumeTask(
        name="sweep-unpacker",
        machine="tensix",
        unit="unpacker",
        what="every datum of up to 16 bits, every pair of formats, every block exponent; 16 in a vector",
        config=lambda: ConversionConfig(numerics=WORMHOLE.numerics),
        block_vectors=_unpacker_rows(),
        blocks=1,
        batches=unpacker,
        random=False,
        layout=lambda: UNPACK,
    ),
)
