"""The exact tier as a device: matmul, ELWMUL and datacopy of one tile, datum by datum, with a hook for each seeded defect.

It shares no code with the oracle but the order of a tile's faces: products of 32x32 matrices are taken in the order of the
kernel library, and equal dot products are computed once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from bitpath.golden import exact, tensix
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, FACE, TILE, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.llk import Case, Op

WIDTHS = {Format.FP32: 4, Format.BF16: 2, Format.FP16: 2, Format.FP8: 1}
Words = tuple[int, ...]


def as_read(_: int, b: int, a: int) -> tuple[int, int]:
    return b, a


@dataclass(frozen=True, kw_only=True)
class ScalarDevice:
    """A device, right by default.

    Attributes
    ----------
    numerics : of the chip, or other ones.
    phases : fidelity phases in their order; None is the case's.
    read : words of SrcB and SrcA that a phase reads.
    exchanges_fields : True if each source is read with the other's bits.
    unpack : code in L1 to source word.
    early : Dst word to intermediate code, FP32's or FP16's.
    block : 16 codes to a block's exponent and datums.
    """

    numerics: TensixNumerics
    phases: tuple[int, ...] | None = None
    read: Callable[[int, int, int], tuple[int, int]] = as_read
    exchanges_fields: bool = False
    unpack: Callable[[int], int] | None = None
    early: Callable[[int], int] | None = None
    block: Callable[[Sequence[int]], tuple[int, list[int]]] | None = None

    def run(self, case: Case, l1_a: np.ndarray, l1_b: np.ndarray | None = None) -> np.ndarray:
        """Return the bytes of the result."""
        left = self.words(case, case.formats.in_a, l1_a)
        if case.op is Op.DATACOPY or l1_b is None:
            words = [exact.tensix.dst_word(self.numerics, word, case.formats.register, old=0) for word in left]
            return self.packed(case, words)
        right = self.words(case, case.formats.in_b, l1_b)
        phases = tensix.phases(case.fidelity) if self.phases is None else self.phases
        if case.op is Op.ELWMUL:
            product = cache(partial(self.product, case, phases))
            return self.packed(case, [product(b, a) for a, b in zip(left, right, strict=True)])
        return self.packed(case, self.matmul(case, phases, left, right))

    def options(self, case: Case) -> dict:
        register = case.formats.register
        return {"style": case.style, "dst32": case.dst32, "srca_format": register, "srcb_format": register}

    def product(self, case: Case, phases: tuple[int, ...], b: int, a: int) -> int:
        dst = 0
        for phase in phases:
            read_b, read_a = self.read(phase, b, a)
            if self.exchanges_fields:
                read_b, read_a = read_a, read_b
            dst = exact.tensix.multiply_add(self.numerics, dst, read_b, read_a, phase=phase, **self.options(case))
        return dst

    def matmul(self, case: Case, phases: tuple[int, ...], left: list[int], right: list[int]) -> list[int]:
        rows, columns = matrix(left), matrix(right).T
        options = self.options(case)

        @cache
        def dot(row: Words, column: Words) -> int:
            dst = 0
            for phase in phases:
                for k in (slice(0, FACE), slice(FACE, TILE)):
                    pairs = [self.read(phase, b, a) for b, a in zip(row[k], column[k], strict=True)]
                    b, a = ([pair[side] for pair in pairs] for side in (0, 1))
                    if self.exchanges_fields:
                        b, a = a, b
                    if case.style is Style.INT8:
                        dst = exact.tensix.dot16_integer(self.numerics, dst, b, a, phase)
                    else:
                        dst = exact.tensix.trace_dot16(self.numerics, dst, b, a, phase=phase, **options).result
            return dst

        dst = [[dot(tuple(row.tolist()), tuple(column.tolist())) for column in columns] for row in rows]
        return tensix.tilize(np.array(dst, np.uint32)).reshape(-1).tolist()

    def words(self, case: Case, fmt: Format, l1: np.ndarray) -> list[int]:
        """Return the source words of a tile's datums in the order of L1."""
        register = case.formats.register
        if fmt in BLOCK_FLOATS:
            blocks = TILE * TILE // BLOCK
            datums = bits_of(l1[blocks:], BLOCK_FLOATS[fmt].datum_bits).reshape(blocks, BLOCK).tolist()
            rows = [
                exact.tensix.unpack_block(self.numerics, fmt, exponent, row)
                for exponent, row in zip(l1[:blocks].tolist(), datums, strict=True)
            ]
            return [word for row in rows for word in row]
        codes = l1.view(f"<u{WIDTHS[fmt]}").tolist()
        if self.unpack is not None:
            return [self.unpack(code) for code in codes]
        convert = cache(exact.tensix.unpack_datum)
        return [convert(self.numerics, code, fmt, register, unsigned=False) for code in codes]

    def packed(self, case: Case, words: list[int]) -> np.ndarray:
        """Return the bytes of a tile of Dst words."""
        given = case.formats
        right = partial(exact.tensix.early_float, self.numerics, mid_format=given.mid, dst32=case.dst32)
        codes = [*map(cache(self.early or right), words)]
        if given.out not in BLOCK_FLOATS:
            late = [exact.tensix.late_float(code, given.mid, given.out) for code in codes]
            return np.array(late, f"<u{WIDTHS[given.out]}").view(np.uint8)
        whole = Format.BF16 if BLOCK_FLOATS[given.out].exponent_bits == 8 else Format.FP16
        halves = [exact.tensix.late_float(code, given.mid, whole) for code in codes]
        pack = self.block or (lambda block: exact.tensix.pack_block(self.numerics, given.out, block))
        blocks = [pack(halves[start : start + BLOCK]) for start in range(0, len(halves), BLOCK)]
        datums = np.array([datum for _, row in blocks for datum in row], np.uint8)
        bits = np.unpackbits(datums.reshape(-1, 1), axis=1, bitorder="little", count=BLOCK_FLOATS[given.out].datum_bits)
        exponents = np.array([exponent for exponent, _ in blocks], np.uint8)
        return np.concatenate([exponents, np.packbits(bits.reshape(-1), bitorder="little")])


def matrix(words: list[int]) -> np.ndarray:
    """Return the datums of a tile as a matrix [32, 32]."""
    return tensix.untilize(np.array(words, np.uint32).reshape(1, 1, 2 * TILE, FACE))


def bits_of(data: np.ndarray, width: int) -> np.ndarray:
    """Return datums of a few bits each, the first in the lowest bits of a byte."""
    return np.unpackbits(data, bitorder="little").reshape(-1, width) @ (1 << np.arange(width))
