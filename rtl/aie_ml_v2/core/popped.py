"""The register that a pop makes of its bytes: data as they are, blocks of MX9, or two compressed chunks.

::

    MX9      exponent, shifts, 16 codes; four times        X: codes; E: each exponent twice; G: shifts in two nibbles
    sparse   mask of 64 bits, bytes, zeros; twice          X: two slots for each group; G, E: the masks

Combinational. Ref: AM027 and llvm-aie for MX's registers; UG1583 for compressed chunks.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.golden.aie_ml_v2.declarations.codes import (
    MX9,
    MX_PAIRS,
    SPARSE_ALIGNMENT_BYTES,
    SPARSE_CHUNK_BYTES,
    SPARSE_GROUP,
    SPARSE_KEPT,
    VECTOR_BITS,
)
from bitpath.rtl.aie_ml_v2.core.bundle import PopFormat
from bitpath.rtl.aie_ml_v2.tile.fifo_bytes import FIFO_BITS
from bitpath.rtl.aie_ml_v2.vector.sparse_group import SparseGroup
from bitpath.rtl.common.pipeline.shared_instances import instantiate

BYTE = 8
BLOCK_BITS = BYTE * MX9.block_bytes
BLOCKS = 4
MASK_BITS = SPARSE_CHUNK_BYTES
CHUNKS = 2
KEPT = MASK_BITS * SPARSE_KEPT // SPARSE_GROUP
"""Bytes of a chunk with two entities in each group."""
ELEMENT = data.StructLayout({"x": VECTOR_BITS, "g": VECTOR_BITS // 8, "e": VECTOR_BITS // 8})
"""Layout of an EX."""


class Popped(wiring.Component):
    """Members: ``i`` In(1024), the bytes from the lowest on; ``format`` In(PopFormat); ``o`` Out(ELEMENT)."""

    clocked = False
    apart = True

    def __init__(self):
        super().__init__({"i": In(FIFO_BITS), "format": In(PopFormat), "o": Out(ELEMENT)})

    def elaborate(self, platform):
        m = Module()
        o = self.o
        with m.Switch(self.format):
            with m.Case(PopFormat.BYTES):
                m.d.comb += o.x.eq(self.i)
            with m.Case(PopFormat.MX9):
                m.d.comb += [o.x.eq(self._codes()), o.g.eq(self._shifts()), o.e.eq(self._exponents())]
            with m.Default():
                chunks = self._chunks(m, platform)
                m.d.comb += [
                    o.x.eq(Cat(chunk.slots for chunk in chunks)),
                    o.g.eq(chunks[0].i[:MASK_BITS]),
                    o.e.eq(chunks[1].i[:MASK_BITS]),
                ]
        return m

    def _fields(self, first: int, width: int) -> list[Value]:
        """Return a field of each block: bits from ``first`` on."""
        return [self.i[at : at + width] for at in range(first, first + BLOCKS * BLOCK_BITS, BLOCK_BITS)]

    def _codes(self) -> Value:
        return Cat(self._fields(2 * BYTE, BLOCK_BITS - 2 * BYTE))

    def _exponents(self) -> Value:
        return Cat(each.replicate(2) for each in self._fields(0, BYTE))

    def _shifts(self) -> Value:
        half = MX_PAIRS // 2
        nibbles = (field[at : at + half] for field in self._fields(BYTE, BYTE) for at in (0, half))
        return Cat(Cat(nibble, Const(0, BYTE - half)) for nibble in nibbles)

    def _chunks(self, m: Module, platform) -> list["SparseChunk"]:
        """Both chunks; the second one begins where the first one ends."""
        first = instantiate(m, platform, "chunk_0", SparseChunk)
        second = instantiate(m, platform, "chunk_1", SparseChunk)
        wide = self.format == PopFormat.SPARSE16
        up = SPARSE_ALIGNMENT_BYTES - 1
        words = Signal(range(len(first.i) // (BYTE * SPARSE_ALIGNMENT_BYTES) + 1))
        m.d.comb += [
            words.eq((first.kept + up)[2:] + MASK_BITS // (BYTE * SPARSE_ALIGNMENT_BYTES)),
            first.i.eq(self.i),
            second.i.eq(self.i >> (words << 5)),
            first.wide.eq(wide),
            second.wide.eq(wide),
        ]
        return [first, second]


class SparseChunk(wiring.Component):
    """Slots of a compressed chunk; combinational.

    A group with more than two entities gives 0. Bytes beyond 32 of these repeat.

    Members
    -------
    i : In(320), the mask, then the bytes
    wide : In(1), entities have 16 bits
    slots : Out(256), the low and the high slot of each group
    kept : Out, bytes behind the mask
    """

    clocked = False
    apart = True

    def __init__(self):
        super().__init__(
            {
                "i": In(MASK_BITS + BYTE * KEPT),
                "wide": In(1),
                "slots": Out(BYTE * KEPT),
                "kept": Out(range(MASK_BITS + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        mask, kept = self.i[:MASK_BITS], self.i[MASK_BITS:]
        # The place of each byte among those that are kept.
        below = [Const(0, 1)]
        for byte in range(MASK_BITS):
            count = Signal(range(byte + 2), name=f"below_{byte + 1}")
            m.d.comb += count.eq(below[-1] + mask[byte])
            below.append(count)
        dense = [Signal(BYTE, name=f"byte_{byte}") for byte in range(MASK_BITS)]
        place_bits = exact_log2(KEPT)
        m.d.comb += [
            # A shift: a multiplexer of 32 places for each byte would be a case with as many lines.
            own.eq(Mux(mask[k], kept.word_select(below[k][:place_bits], BYTE), 0))
            for k, own in enumerate(dense)
        ]
        m.d.comb += self.kept.eq(below[-1])
        narrow, wide = [], []
        for number in range(MASK_BITS // SPARSE_GROUP):
            group = instantiate(m, platform, f"group_{number}", SparseGroup)
            places = range(SPARSE_GROUP * number, SPARSE_GROUP * (number + 1))
            entities, present = [dense[place] for place in places], [mask[place] for place in places]
            if number < MASK_BITS // SPARSE_GROUP // 2:
                pairs = [Cat(dense[2 * place : 2 * place + 2]) for place in places]
                either = [mask[2 * place : 2 * place + 2].any() for place in places]
                entities = [Mux(self.wide, *both) for both in zip(pairs, entities, strict=True)]
                present = [Mux(self.wide, *both) for both in zip(either, present, strict=True)]
                wide += list(group.x)
            m.d.comb += [
                *(own.eq(entity) for own, entity in zip(group.a, entities, strict=True)),
                group.mask.eq(Cat(present)),
            ]
            narrow += [slot[:BYTE] for slot in group.x]
        m.d.comb += self.slots.eq(Mux(self.wide, Cat(wide), Cat(narrow)))
        return m
