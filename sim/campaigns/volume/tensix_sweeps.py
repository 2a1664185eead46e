"""Whole ranges of operands through Tensix' units."""

from collections.abc import Iterator
from dataclasses import asdict, replace

import numpy as np

from bitpath.golden.tensix import pack, unpack
from bitpath.golden.tensix.convert.block_floats import exponent_stream_bytes
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, COLUMNS, EXPONENT5_FORMATS, PHASES
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.golden.tensix.operands.sources import field_a, field_b, integer_field_a, integer_field_b
from bitpath.rtl.tensix.dot.config import MultiplierConfig
from bitpath.rtl.tensix.dot.fidelity_multiplier import MAGNITUDE_BITS
from bitpath.rtl.tensix.pack.layouts import PackedRow, PackRequest
from bitpath.rtl.tensix.unpack.config import ConversionConfig
from bitpath.rtl.tensix.unpack.layouts import UnpackRequest
from bitpath.sim.campaigns.volume.task import Generator, Task
from bitpath.sim.campaigns.volume.vectors import WORD_BITS, Batch, Part, fill, places, side_by_side, words_of
from bitpath.verif.tensix.pack.pack import ALL_PACKINGS, Packing
from bitpath.verif.tensix.unpack.unpack import ALL_CONVERSIONS, Conversion

MAGNITUDES = 1 << MAGNITUDE_BITS
HALVES = 2
"""Of SrcA's magnitudes: a block has one of them in one phase."""
UNPACK, PACK, PACKED = places(UnpackRequest), places(PackRequest), places(PackedRow)
UNPACK_WORDS, PACK_WORDS, PACKED_WORDS = (
    words_of(sum(width for _, width in layout.values())) for layout in (UNPACK, PACK, PACKED)
)
LONGEST = 16
"""Bits of datums all of whose codes are tried."""
ONES = {True: 0x3C00, False: 0x3F80}
"""ReLU's threshold 1, for intermediate formats with 5 exponent bits and others."""


def multiplier(config: MultiplierConfig, rng: Generator, block: int) -> Iterator[Batch]:
    """Every pair of magnitudes in one phase, of floats and of integers; SrcB's integers have a bit less."""
    phase, half = divmod(block, HALVES)
    size = MAGNITUDES // HALVES
    for is_integer in (0, 1):
        others = MAGNITUDES >> is_integer
        a, b = np.arange(half * size, (half + 1) * size), np.arange(others)
        index = (np.repeat(np.arange(size, dtype=np.uint32), others), np.tile(b.astype(np.uint32), size))
        # Ports by name: is_integer, phase, src_a, src_b.
        one = np.array([[is_integer, phase]], np.uint32)
        parts = (
            Part(one, np.zeros(size * others, np.uint32)),
            Part(a.astype(np.uint32)[:, np.newaxis], index[0], 2),
            Part(b.astype(np.uint32)[:, np.newaxis], index[1], 3),
        )
        fields = _integer_fields(a, b, phase) if is_integer else (field_a(a, phase), field_b(b, phase))
        kind = f"{'integers' if is_integer else 'floats'}, phase {phase}"
        golden = lambda fields=fields: np.multiply.outer(*fields).astype(np.uint32).ravel()  # noqa: E731
        yield Batch(kind, parts, size * others, golden)


def _integer_fields(a: np.ndarray, b: np.ndarray, phase: int) -> tuple[np.ndarray, np.ndarray]:
    """Golden leaves fields in their places; the multiplier has both in its lowest bits, SrcB's low one moved up by 3."""
    fields_b = integer_field_b(b, phase)
    return integer_field_a(a, phase) >> (0 if phase & 1 else 5), fields_b << 3 if phase & 2 else fields_b >> 4


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
    fields += [(*UNPACK["control.unsigned"], int(conversion.unsigned)), (*UNPACK["exponent"], exponent)]
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


def _packings() -> tuple[Packing, ...]:
    """All that take 16-bit words and nothing from L1, with a threshold where there is one."""
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


def _unpacker_rows() -> int:
    taken = [each for each in ALL_CONVERSIONS if each.datum_bits <= LONGEST]
    return sum(len(each.exponents) * max((1 << each.datum_bits) // COLUMNS, 1) for each in taken)


SWEEPS = (
    Task(
        name="sweep-fidelity-multiplier",
        machine="tensix",
        unit="fidelity_multiplier",
        what="every pair of magnitudes in every phase, floats and integers",
        config=MultiplierConfig,
        block_vectors=MAGNITUDES // HALVES * (MAGNITUDES + MAGNITUDES // 2),
        blocks=PHASES * HALVES,
        batches=multiplier,
        random=False,
        layout=lambda: side_by_side(*((name, WORD_BITS) for name in ("is_integer", "phase", "src_a", "src_b"))),
    ),
    Task(
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
    Task(
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
