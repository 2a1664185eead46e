"""Each known defect of a simulator or of a test's golden, seeded into a device: the oracle must name it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pytest

from bitpath.golden import exact, tensix
from bitpath.golden.arrays.codec import decode_array, encode_array
from bitpath.golden.formats.catalogue import BF16, FP32, Rounding
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, FACE, TILE, Format, Style
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.golden.tensix.llk import Case, Op, compare, expected
from bitpath.verif.tensix.llk.stimuli import few_columns, few_rows, l1_of

# The exact tier as a device: matmul, ELWMUL and datacopy of one tile, datum by datum, with a hook for each seeded defect.
#
# It shares no code with the oracle but the order of a tile's faces: products of 32x32 matrices are taken in the order of the
# kernel library, and equal dot products are computed once.


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


NUMERICS = WORMHOLE.numerics
RIGHT = ScalarDevice(numerics=NUMERICS)
ALL_BF16 = {"in_a": "BF16", "in_b": "BF16", "register_format": "BF16", "mid_format": "BF16", "out_format": "BF16"}
ALL_FP16 = dict.fromkeys(ALL_BF16, "FP16")
PRODUCT = Case(op="matmul", fidelity="HiFi4", **ALL_BF16)
SIGN = 1 << 18


@pytest.fixture(scope="module")
def operands():
    """Two tiles of BF16 with all fraction bits in use."""
    rng = np.random.default_rng(35)
    return l1_of(few_rows(rng), Format.BF16), l1_of(few_columns(rng), Format.BF16)


def report(case, operands, device):
    """Compare a device that differs from golden."""
    found = compare(case, *operands, device.run(case, *operands))
    assert not found.equal
    assert found.first_difference.expected != found.first_difference.device
    assert found.ulp > 0
    assert sum(found.histogram.values()) == TILE * TILE
    return found


def masked_again(phase, b, a):
    """Cut the field of a later phase out of what phase 0 took."""
    return (b & ~0xF, a & ~0x3F) if phase else (b, a)


def without_sign_of_low_part(phase, b, a):
    return b & ~SIGN if phase & 2 else b, a & ~SIGN if phase & 1 else a


def without_sign(_, b, a):
    return b & ~SIGN, a & ~SIGN


@pytest.mark.parametrize("op", ["matmul", "elwmul"])
@pytest.mark.parametrize("fidelity", ["LoFi", "HiFi2", "HiFi3", "HiFi4"])
@pytest.mark.parametrize("out", ["BF16", "BFP8", "BFP4", "BFP2"])
def test_the_exact_tier_is_equal(operands, op, fidelity, out):
    case = replace(PRODUCT, op=op, fidelity=fidelity, out_format=out)
    assert compare(case, *operands, RIGHT.run(case, *operands)).equal


@pytest.mark.parametrize("op", ["matmul", "elwmul"])
@pytest.mark.parametrize(
    ("fidelity", "defect", "cause"),
    [
        ("HiFi2", {"phases": (0,)}, "phases (0,) in place of (0, 1)"),
        ("HiFi3", {"phases": (0,)}, "phases (0,) in place of (0, 1, 2)"),
        ("HiFi4", {"phases": (0,)}, "phases (0,) in place of (0, 1, 2, 3)"),
        ("LoFi", {"phases": (0, 1, 2, 3)}, "phases (0, 1, 2, 3) in place of (0,)"),
        ("HiFi2", {"phases": (0, 2)}, "phases (0, 2) in place of (0, 1)"),
        ("HiFi3", {"phases": (0, 1)}, "phases (0, 1) in place of (0, 1, 2)"),
        ("HiFi2", {"read": masked_again}, "later phases mask operands that are masked already"),
        ("HiFi4", {"read": masked_again}, "later phases mask operands that are masked already"),
        ("LoFi", {"exchanges_fields": True}, "operands have each other's masks"),
        ("HiFi2", {"exchanges_fields": True}, "operands have each other's masks"),
        ("HiFi2", {"read": without_sign_of_low_part}, "a masked operand's low part has no sign"),
        ("HiFi4", {"read": without_sign_of_low_part}, "a masked operand's low part has no sign"),
        ("LoFi", {"read": without_sign}, "masked operands have no sign"),
    ],
)
def test_fidelity_phases(operands, op, fidelity, defect, cause):
    """tt-metal#55779, tt-metal#47239, tt-llk#837: masks, signs and counts of the phases."""
    found = report(replace(PRODUCT, op=op, fidelity=fidelity), operands, replace(RIGHT, **defect))
    assert found.stage == "phase"
    assert cause in found.causes


def test_masking_the_masked_operand_hides_all_later_phases(operands):
    """tt-metal#55779: HiFi4 equals LoFi bit for bit, and a tolerance of 0.05 does not show it."""
    lofi = RIGHT.run(replace(PRODUCT, fidelity="LoFi"), *operands)
    hidden = replace(RIGHT, read=masked_again).run(PRODUCT, *operands)
    assert np.array_equal(hidden, lofi)
    found = compare(PRODUCT, *operands, hidden)
    assert found.causes[:2] == (
        "later phases mask operands that are masked already",
        "phases (0,) in place of (0, 1, 2, 3)",
    )


@pytest.mark.parametrize(
    ("numerics", "cause"),
    [
        ({"final_tie": Rounding.RNE}, "ties of results to even"),
        ({"product_tie": Rounding.RNE}, "ties of aligned products to even"),
        ({"pre_round": False}, "no rounding to 10 fraction bits before a 16-bit sum"),
        ({"group": 16}, "groups of 16 products"),
        ({"product_guard_bits": 13}, "aligned products keep 13 more bits"),
    ],
)
def test_the_matrix_units_rounding(numerics, cause):
    rng = np.random.default_rng(7)
    operands = l1_of(few_rows(rng, 8), Format.BF16), l1_of(few_columns(rng, 8), Format.BF16)
    device = replace(RIGHT, numerics=replace(NUMERICS, **numerics))
    if "final_tie" in numerics:  # the packer's too
        device = replace(device, early=partial(exact.tensix.early_float, NUMERICS, mid_format=Format.BF16, dst32=False))
    found = report(replace(PRODUCT, fidelity="LoFi"), operands, device)
    assert found.stage == "dst"
    assert cause in found.causes


def test_the_quirk_of_a_sum_of_minus_one_unit():
    """tt-metal#38306: -(1 + 2**-23) + 1 in a 32-bit Dst is -2**-23, or Wormhole's -2**4."""
    case = Case(op="matmul", dst32=True, **ALL_BF16 | {"mid_format": "FP32", "out_format": "FP32"})
    left, right = np.zeros((TILE, TILE)), np.zeros((TILE, TILE))
    left[:, [0, 8, 16]] = -1.0, -(2.0**-12), 1.0
    right[[0, 8, 16]] = np.array([[1.0, 2.0**-11, 1.0]]).T
    operands = l1_of(left, Format.BF16), l1_of(right, Format.BF16)
    fixed = replace(RIGHT, numerics=replace(NUMERICS, minus_one_quirk=False)).run(case, *operands)
    assert set(expected(case, *operands).l1.view(np.float32)) == {-16.0}
    assert set(fixed.view(np.float32)) == {-(2.0**-23)}
    found = compare(case, *operands, fixed)
    assert (found.stage, found.causes) == ("dst", ("without the quirk of a sum of -1 unit",))


def test_elwmul_flushes_on_the_exponent_sum():
    """tt-metal#56553: 0.0253906 * 0.0024414 is 0 in FP16, whose sum of exponents is 0, although the product is normal."""
    case = Case(op="elwmul", **ALL_FP16)
    operands = tuple(l1_of(np.full((TILE, TILE), value), Format.FP16) for value in (0.025390625, 0.00244140625))
    assert not expected(case, *operands).l1.any()
    product = np.float16(0.025390625 * 0.00244140625)
    assert product >= np.finfo(np.float16).smallest_normal
    kept = np.full(TILE * TILE, product).view(np.uint8)
    found = compare(case, *operands, kept)
    assert found.stage == "dst"
    assert found.causes == ("no rounding and no flush at Dst's width: 32-bit words narrowed by the packer",)


def test_dst_flushes_at_its_own_width():
    """tt-metal#55779: a product below FP16's normal numbers is 0 in a 16-bit Dst; a Dst of FP32 keeps it."""
    case = Case(op="matmul", **ALL_FP16)
    left, right = np.zeros((TILE, TILE)), np.zeros((TILE, TILE))
    left[:, 0], right[0] = 1.25 * 2.0**-8, 1.25 * 2.0**-7
    operands = l1_of(left, Format.FP16), l1_of(right, Format.FP16)
    assert not expected(case, *operands).l1.any()
    wide = replace(case, dst32=True, mid_format="TF32")
    found = compare(case, *operands, RIGHT.run(wide, *operands))
    assert not found.equal
    assert found.stage == "dst"
    assert found.causes == ("no rounding and no flush at Dst's width: 32-bit words narrowed by the packer",)


def test_denormals_are_flushed_where_they_enter():
    """SrcA's denormals are zeros before they reach Dst."""
    case = Case(op="datacopy", **{name: fmt for name, fmt in ALL_BF16.items() if name != "in_b"})
    codes = np.arange(TILE * TILE, dtype=np.uint16).view(np.uint8)
    assert compare(case, codes, None, RIGHT.run(case, codes)).equal
    found = compare(case, codes, None, codes)
    assert (found.equal, found.first_difference.datum, found.ulp) == (False, 1, 127)
    assert (found.stage, found.causes) == (None, ()), "SrcA and the packer must both keep them"


def rounded_to_bf16(code):
    """Round the stimulus as a float library does."""
    return int(encode_array(BF16, decode_array(FP32, np.array([code], np.uint32)))[0]) << 3


@pytest.mark.parametrize(
    ("unpack", "cause"),
    [
        (rounded_to_bf16, "operands are rounded to even, not truncated"),
        (lambda code: code >> 13, "operands are not cut to the register format"),
    ],
    ids=["rounded", "whole"],
)
@pytest.mark.parametrize("op", ["matmul", "elwmul"])
def test_stimuli_are_the_unpacked_words(op, unpack, cause):
    """tt-metal#49200: the operand is the unpacker's result of FP32, not the float."""
    rng = np.random.default_rng(49200)
    operands = l1_of(few_rows(rng), Format.FP32), l1_of(few_columns(rng), Format.FP32)
    case = replace(PRODUCT, op=op, in_a="FP32", in_b="FP32")
    whole = replace(RIGHT, unpack=unpack)
    right = RIGHT.run(case, *operands)
    assert compare(case, *operands, right).equal
    device = whole.run(replace(case, register_format="TF32") if unpack is not rounded_to_bf16 else case, *operands)
    found = compare(case, *operands, device)
    assert not found.equal
    assert found.stage == "src"
    assert cause in found.causes


@pytest.mark.parametrize("named", ["BF16", "BFP8"])
def test_the_middle_format(operands, named):
    """tt-metal#52155: BF16 to BFP8 by the middle BFP8 rounds twice, by BF16 once."""
    other = {"BF16": "BFP8", "BFP8": "BF16"}[named]
    case = replace(PRODUCT, op="elwmul", mid_format=named, out_format="BFP8")
    early = partial(exact.tensix.early_float, NUMERICS, mid_format=Format[other], dst32=False)
    found = report(case, operands, replace(RIGHT, early=early))
    assert found.stage == "mid"
    assert f"middle {other}" in found.causes


def even_early(word):
    return exact.tensix.early_float(replace(NUMERICS, final_tie=Rounding.RNE), word, Format.BF16, dst32=True)


def test_the_packers_ties(operands):
    """FP32 with ties: only the last of 16 fraction bits is set."""
    case = replace(PRODUCT, fidelity="LoFi", dst32=True)
    exact_ties = np.zeros((TILE, TILE))
    exact_ties[:, :2] = 1.0, 2.0**-8
    ones = np.ones((TILE, TILE))
    tiles = l1_of(exact_ties, Format.BF16), l1_of(ones, Format.BF16)
    found = report(case, tiles, replace(RIGHT, early=even_early))
    assert (found.stage, found.ulp) == ("mid", 1)
    assert "the packer's ties go to even" in found.causes


def rounded_at_once(codes):
    """Divide by the step of the block and round to the three magnitude bits of BFP4, ties away from zero."""
    values = [float(each) for each in decode_array(BF16, np.array(codes, np.uint16))]
    exponent = max(code >> 7 & 0xFF for code in codes)
    step = 2.0 ** (exponent - 127 - 2)
    magnitudes = [min(int(abs(value) / step + 0.5), 7) for value in values]
    return exponent, [8 * (value < 0 and m > 0) + m for value, m in zip(values, magnitudes, strict=True)]


def test_block_floats_are_rounded_to_seven_bits_and_truncated(operands):
    """tt-metal#57410: BFP4 is BFP8's magnitude without its four lowest bits."""
    case = replace(PRODUCT, out_format="BFP4")
    found = report(case, operands, replace(RIGHT, block=rounded_at_once))
    assert (found.stage, found.causes) == ("l1", ("block floats are rounded at once, not to 7 bits and truncated",))


@pytest.mark.parametrize(
    ("op", "device_op"), [("transpose", "datacopy"), ("tilize", "datacopy"), ("datacopy", "transpose")]
)
def test_the_places_of_datums(op, device_op):
    rng = np.random.default_rng(3)
    l1 = l1_of(rng.standard_normal((TILE, TILE)), Format.BF16)
    case = Case(op=op, **{name: fmt for name, fmt in ALL_BF16.items() if name != "in_b"})
    found = compare(case, l1, None, expected(replace(case, op=device_op), l1).l1)
    assert found.stage == "src"
    assert f"{device_op} in place of {op}" in found.causes


def test_bits_decide_and_not_a_correlation(operands):
    """tt-llk#837: one bit of one datum in 1,024 is a difference, at a correlation above 0.999999."""
    right = expected(PRODUCT, *operands).l1
    device = right.copy()
    device[2 * 500] ^= 1
    numbers = [decode_array(BF16, each.view(np.uint16)) for each in (right, device)]
    assert np.corrcoef(*numbers)[0, 1] > 0.999999
    found = compare(PRODUCT, *operands, device)
    assert (found.equal, found.stage, found.causes, found.ulp) == (False, None, (), 1)
    assert found.histogram == {0: TILE * TILE - 1, 1: 1}
    assert (found.first_difference.datum, found.first_difference.row, found.first_difference.column) == (500, 15, 20)


def test_phase_1_alone_on_a_cleared_dst(operands):
    """The slice of phase 1 is of the original operand."""
    b, a = (tensix.unpack(each, "BF16", "BF16", count=TILE * TILE).reshape(-1, 16) for each in operands)
    lofi, hifi2 = (expected(replace(PRODUCT, fidelity=each), *operands) for each in ("LoFi", "HiFi2"))
    assert not np.array_equal(lofi.l1, hifi2.l1)
    assert np.array_equal(lofi.dst_after_phase[0], hifi2.dst_after_phase[0])
    alone = np.zeros((8, 16), np.uint32)
    for b_row, a_row in ((0, 0), (16, 32)):
        alone = tensix.mvmul(alone, b[b_row : b_row + 8], a[a_row : a_row + 16], style="BF16", dst32=False, phase=1)
    device = replace(RIGHT, phases=(1,)).run(PRODUCT, *operands)
    assert np.array_equal(device.view(np.uint16)[: 8 * 16].reshape(8, 16), alone)
    assert alone.any()
