"""Known answers of AIE-ML v2, of silicon of its first generation and of XDNA2, and of other programs, in both tiers."""

from dataclasses import replace
from functools import partial

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import (
    BFP16EBS8,
    MX_FORMATS,
    MX_NAN_EXPONENT,
    SPARSE_CHUNK_BYTES,
    RoundingCode,
    Saturation,
)
from bitpath.golden.aie_ml_v2.declarations.modes import COMPLEX_MODES, INTEGER_MODES
from bitpath.golden.aie_ml_v2.declarations.mover import SHUFFLE_CODES
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, XDNA2_BFP16EBS8
from bitpath.golden.aie_ml_v2.mac.sparsity import SparseVector
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.scalar.codec import decode
from bitpath.verif.aie_ml_v2.golden.operands import FMT, SETS, block, chain, chunks, operands, scalar_chain
from bitpath.verif.kit.known_answers import answers, skip_absent

BASE = AIE_ML_V2.numerics
SILICON = "aie_silicon.npz"
OF_FORMATS = pytest.mark.parametrize("name", MX_FORMATS)

# Blocks of amd-quark's two implementations, and of another program.


def unsigned_zeros(codes):
    """Return FP32 codes with +0 for both zeros: the archive's have the sign of the input."""
    return np.where(codes << 1 == 0, 0, codes)


def is_nan(codes):
    return codes & 0x7FFFFFFF > 0x7F800000


@OF_FORMATS
@answers("aie_mx_blocks")
def test_every_finite_block(archive, name):
    finite, own = archive["finite_block"], archive.part(f"{name}_")
    skip_absent(archive.name, {"finite blocks": finite.any()})
    words = archive["x_bits"][finite]
    codes, shift, exponent = (own[part][finite] for part in ("codes", "shift_bits", "block_exp"))
    blocks = aie.to_mx(words.view(np.float32), name)
    twins = [exact.to_mx(BASE, each, MX_FORMATS[name], RoundingCode.CONV_EVEN) for each in words.tolist()]
    yield codes, blocks.codes[:, 0], [each.codes for each in twins]
    yield shift, blocks.shift[:, 0], [each.shift for each in twins]
    yield exponent, blocks.exponent[:, 0].astype(int) - 127, [each.exponent - 127 for each in twins]
    values = unsigned_zeros(aie.from_mx(blocks).view(np.uint32))
    for kind in ("deq_bits", "cpp_even_deq_bits"):
        yield unsigned_zeros(own[kind][finite]), values


@OF_FORMATS
def test_blocks_that_are_not_finite_are_nan_as_in_the_kernel(kat, name):
    archive = kat("aie_mx_blocks")
    special = ~archive["finite_block"]
    skip_absent(archive.name, {"blocks that are not finite": special.any()})
    assert np.all(is_nan(archive[f"{name}_cpp_even_deq_bits"][special]))
    blocks = aie.to_mx(archive["x_bits"][special].view(np.float32), name)
    assert np.all(blocks.exponent == MX_NAN_EXPONENT)
    assert np.all(aie.from_mx(blocks).view(np.uint32) == 0x7FC00000)


@OF_FORMATS
@answers("aie_tile_convert")
def test_blocks_to_fp32(archive, name):
    own = archive.part(f"{name}_")
    given = (own[part][:, np.newaxis] for part in ("exponent", "shift", "codes"))
    twins = [
        exact.Block(MX_FORMATS[name], *each, tuple(codes)) for *each, codes in own.lists("exponent", "shift", "codes")
    ]
    values = aie.from_mx(aie.MxBlocks(MX_FORMATS[name], *given)).view(np.uint32)
    yield own["f32"], values, [exact.from_mx(BASE, each) for each in twins]


# Conversions, PACK and the scalar unit.


@pytest.mark.parametrize("code", RoundingCode)
@answers("aie_silicon")
def test_silicon_conversions(archive, code):
    given = archive["f32_bits"]
    twins = [exact.narrow(each, BF16, code) for each in given.tolist()]
    yield archive[f"bf16_bits_rnd{code.value}"], aie.f32_to_bf16(given, rounding=code), twins


@answers("aie_tile_convert")
def test_tile_integers(archive):
    """Every BF16 code of the archive at each of its shifts."""
    given = archive["bf16_bits"]
    assert archive["bf16_int32"].size == given.size * archive["bf16_shift"].size
    for shift, expected in archive.rows("bf16_shift", "bf16_int32"):
        yield expected, aie.bf16_to_int32(given, int(shift))
        yield expected[::7], [exact.bf16_to_int32(each, int(shift)) for each in given[::7].tolist()]


def by_shift(shifts):
    """Yield each shift and where it stands."""
    for shift in np.unique(shifts).tolist():
        yield shift, shifts == shift


@answers("aie_tile_convert")
def test_integers_to_fp32(archive):
    numbers, shifts, expected = (archive[f"fix_{part}"] for part in ("n", "shift", "f32"))
    for shift, here in by_shift(shifts):
        yield expected[here], aie.fix_to_float(numbers[here], shift)[0]
    yield expected, [code for code, _ in map(exact.fix_to_float, numbers.tolist(), shifts.tolist())]


@answers("aie_tile_convert")
def test_fp32_to_integers(archive):
    codes, shifts, expected, flags = (archive[f"float_{part}"] for part in ("bits", "shift", "int32", "flags"))
    for shift, here in by_shift(shifts):
        results, seen = aie.float_to_fix(codes[here], shift)
        yield expected[here], results
        yield flags[here], seen
    both = list(zip(expected.tolist(), flags.tolist(), strict=True))
    yield both, list(map(exact.float_to_fix, codes.tolist(), shifts.tolist()))


@pytest.mark.parametrize("signed", [False, True])
@answers("aie_tile_int4")
def test_nibbles(archive, signed):
    expected = archive[f"unpack4_{'signed' if signed else 'unsigned'}"]
    every = np.arange(len(expected), dtype=np.uint8)
    twins = [exact.unpack4(byte, signed) for byte in every.tolist()]
    yield expected, aie.unpack4(every[:, np.newaxis], signed=signed), twins


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("bits", [8, 4])
@answers("aie_tile_int4")
def test_packed(archive, bits, signed):
    x = archive[f"pack{2 * bits}_x"].astype(np.int64)
    x = x if signed else x % (1 << 2 * bits)
    for saturation, expected in zip(Saturation, archive[f"pack{2 * bits}_out"][:, int(signed)], strict=True):
        twins = [exact.pack(each, bits, saturation, signed) for each in x.tolist()]
        yield expected, aie.pack(x, bits=bits, saturate=saturation, signed=signed), twins


@answers("aie_tile_scalar")
def test_every_operation(archive):
    inputs = ("a", "b", "carry_in", "acc")
    for index, name in enumerate(archive["op_names"].tolist()):
        here = archive["op"] == index
        a, b, carry, acc = (archive[each][here] for each in inputs)
        if here.any():
            result, carries = aie.scalar_op(name, a, b, carry=carry, acc=acc)
            yield archive["result"][here], result
            yield archive["carry_out"][here], carries
    names = archive["op_names"][archive["op"]].tolist()
    twins = list(map(exact.scalar_op, names, *(archive[each].tolist() for each in inputs)))
    yield list(archive.lists("result", "carry_out")), twins


@answers("aie_tile_scalar")
def test_steps_of_divisions(archive):
    steps = archive["divs"]
    yield steps[:, 3:].T, np.stack(aie.divide_step(*steps[:, :3].T))
    yield steps[:, 3:], [exact.divide_step(*each) for each in steps[:, :3].tolist()]


@answers("aie_tile_scalar")
def test_divisions(archive):
    quotient, divisor, *expected = archive["divide"].T
    rest = np.zeros_like(quotient)
    for _ in range(32):
        rest, quotient = aie.divide_step(rest, quotient, divisor)
    yield np.stack(expected), np.stack([quotient, rest])


@pytest.mark.parametrize("name", ["inv", "sqrt", "invsqrt"])
@answers("aie_tile_scalar")
def test_functions(archive, name):
    codes = archive["nlf_x"]
    twins = [exact.scalar_function(name, code)[0] for code in codes.tolist()]
    yield archive[f"nlf_{name}"], aie.scalar_function(name, codes)[0], twins


# Shuffles: routes of data, E, G and F bytes, derived by another author; most were also measured on AIE2.

NARROW = 255
"""Stands for no route: fields narrower than 64 bits move no E, G and F."""


def number(route):
    return int.from_bytes(route.tobytes(), "little")


def sources(size):
    """Bytes that hold their own place, of the low and of the high register."""
    numbers = np.arange(2 * size, dtype=np.uint8)
    return numbers[:size], numbers[size:]


@answers("aie_tile_shuffle")
def test_routes_of_data(archive):
    low, high = sources(64)
    for code, name, route in archive.rows("code", "name", "route"):
        mode = SHUFFLE_CODES[int(code)]
        assert mode.name == name
        yield route, aie.shuffle(low, None if mode.half is None else high, mode=int(code))
        yield number(route), exact.shuffle(number(low), number(high), mode)


@answers("aie_tile_shuffle")
def test_routes_of_exponents_shifts_and_signs(archive):
    """E and G by one route, F by another."""
    parts = {name: sources(size) for name, size in (("data", 64), ("f", 16), ("g", 8), ("e", 8))}
    low, high = (aie.MxRegisters("mx6", **{name: part[i] for name, part in parts.items()}) for i in range(2))
    moved = 0
    for code, eg_route, f_route in archive.rows("code", "eg_route", "f_route"):
        mode = SHUFFLE_CODES[int(code)]
        other = None if mode.half is None else high
        if mode.bits < 64:
            assert np.all(eg_route == NARROW)
            assert np.all(f_route == NARROW)
            with pytest.raises(ValueError, match="mode must have fields of 64 bits or more for MX"):
                aie.shuffle_mx(low, other, mode=int(code))
            continue
        got = aie.shuffle_mx(low, other, mode=int(code))
        for name, route in (("e", eg_route), ("g", eg_route), ("f", f_route)):
            yield route, getattr(got, name)
            pair = (number(part) for part in parts[name])
            yield number(route), exact.shuffle(*pair, mode, 8 * len(route))
        moved += 1
    assert moved == sum(int(name[1 : name.index("_")]) >= 64 for name in archive["name"].tolist()) > 0


# Matmuls measured on first-generation silicon.


def lanes(archive):
    a = archive["mac_a"].view(ml_dtypes.bfloat16).reshape(-1, 4, 1, 8)
    b = archive["mac_b"].view(ml_dtypes.bfloat16).reshape(-1, 8, 4).swapaxes(1, 2)[:, np.newaxis]
    return a, b, archive["mac_out"].reshape(-1, 4, 4)


def wrong_lanes(archive, numerics):
    a, b, expected = lanes(archive)
    got = aie.fused_dot(a, b, format="bf16", numerics=numerics).view(np.uint32)
    assert got.size == expected.size
    return int(np.sum((got != expected) & ~(is_nan(got) & is_nan(expected))))


@answers("aie_silicon")
def test_silicon_lanes(archive):
    """Every lane must equal silicon; NaN payloads are not compared, they depend on the datapath."""
    yield 0, wrong_lanes(archive, BASE)
    a, b, expected = lanes(archive)
    finite = (expected & 0x7F800000 != 0x7F800000) & (expected << 1 != 0)
    for tile, row, column in np.argwhere(finite).tolist():
        x, y = (
            [(int(code), BF16) for code in operand.view(np.uint16)] for operand in (a[tile, row, 0], b[tile, 0, column])
        )
        yield expected[tile, row, column], exact.trace_float_lane(BASE, x, y).result


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("align_rounding", RoundingCode.FLOOR),
        ("align_rounding", RoundingCode.SYMMETRIC_FLOOR),
        ("align_rounding", RoundingCode.SYMMETRIC_INF),
        ("align_rounding", RoundingCode.POSITIVE_INF),
        ("result_rounding", RoundingCode.SYMMETRIC_FLOOR),
        ("align_fraction_bits", 22),
        ("align_fraction_bits", 24),
    ],
)
def test_silicon_decides(kat, field, value):
    """The measured lanes tell the reference from its neighbours."""
    wrong = wrong_lanes(kat(SILICON), replace(BASE, **{field: value}))
    decides = f"lanes that tell {field} {value} from the reference"
    skip_absent(SILICON, {decides: wrong})


# Native products, made from the specification without this project.

INT4 = "int8xint4_4x32x8T"
MATRICES = {f"{name}_{each.name}": (name, each) for name, row in INTEGER_MODES.items() for each in row.shapes}
"""The archives' names of matrix shapes, dense and sparse, of which they have some."""
CONVOLUTIONS = {
    f"{name}_conv_{each.name}": (name, each) for name, row in INTEGER_MODES.items() for each in row.convolutions
}
ELEMENTWISE = {"int8_elem_64_2": ("int8", 64), "int16_elem_64": ("int16", 64), "int16_64_elem_32_2": ("int16_64", 32)}
COMPLEX = {"cint16_elem_16_2": "cint16", "cint32x16_elem_16": "cint32x16"}
DENSE = ("int16_64_4x4x8", "int32x16_4x2x8", "int8_4x8x16")
STREAMED = ("int8_8x16x8T", "int8_4x16x16T", "int16_64_4x8x8T")


def cases(archive, name, *fields):
    """Yield arrays of a mode as int64, case by case, with the signs of the operands."""
    for *each, signs in archive.part(f"{name}_").rows(*fields, "signed"):
        signed_a, signed_b = signs.tolist()
        yield *(array.astype(np.int64) for array in each), {"signed_a": signed_a, "signed_b": signed_b}


def exact_lanes(row, pairs, a, b, acc):
    """Return the results of lanes, whose operands `pairs` returns by the lane's number."""
    every = [pairs(a.tolist(), b.tolist(), lane) for lane in range(len(acc))]
    return [
        exact.integer_lane(row, *zip(*pair, strict=True), one) for pair, one in zip(every, acc.tolist(), strict=True)
    ]


def test_every_array_has_its_test(kat):
    for archive, names in (
        ("aie_tile_mac_shapes", {*DENSE, *CONVOLUTIONS, *ELEMENTWISE, *COMPLEX}),
        ("aie_tile_sparse", {*STREAMED, INT4}),
    ):
        assert {name.removesuffix("_out") for name in kat(archive) if name.endswith("_out")} == names


@pytest.mark.parametrize("name", DENSE)
@answers("aie_tile_mac_shapes", whole="{name}_out")
def test_matrices(archive, name):
    mode, shape = MATRICES[name]
    for a, b, acc, out, signs in cases(archive, name, "a", "b", "acc", "out"):
        tiles = a.reshape(shape.m, shape.k), b.reshape(shape.k, shape.n), acc.reshape(shape.m, shape.n)
        got = aie.integer_matmul(*tiles, mode=mode, shape=shape.name, **signs)
        twins = exact_lanes(INTEGER_MODES[mode], partial(exact.matrix_pairs, shape), a, b, acc)
        yield out, got.ravel(), twins


@pytest.mark.parametrize("name", ELEMENTWISE)
@answers("aie_tile_mac_shapes", whole="{name}_out")
def test_elementwise(archive, name):
    mode, count = ELEMENTWISE[name]
    for a, b, acc, out, signs in cases(archive, name, "a", "b", "acc", "out"):
        twins = exact_lanes(INTEGER_MODES[mode], partial(exact.elementwise_pairs, count), a, b, acc)
        yield out, aie.elementwise(a, b, acc, mode=mode, **signs), twins


@pytest.mark.parametrize("name", CONVOLUTIONS)
@answers("aie_tile_mac_shapes", whole="{name}_out")
def test_convolutions(archive, name):
    mode, shape = CONVOLUTIONS[name]
    for a, b, acc, out, signs in cases(archive, name, "a", "b", "acc", "out"):
        twins = exact_lanes(INTEGER_MODES[mode], partial(exact.convolution_pairs, shape), a, b, acc)
        yield out, aie.convolve(a, b, acc, mode=mode, shape=shape.name, **signs), twins


@pytest.mark.parametrize("name", COMPLEX)
@answers("aie_tile_mac_shapes", whole="{name}_out")
def test_complex(archive, name):
    mode = COMPLEX[name]
    for a, b, acc, out, mask in archive.part(f"{name}_").rows("a", "b", "acc", "out", "mask"):
        x, y, first = ([tuple(each) for each in side.tolist()] for side in (a, b, acc))
        twins = [
            exact.complex_lane(COMPLEX_MODES[mode], x, y, lane, one, negate=int(mask)) for lane, one in enumerate(first)
        ]
        yield out, aie.complex_dot(a, b, acc, mode=mode, negate=int(mask)), twins


def loaded(archive, name, entity_bytes):
    """Return the slots and masks of each case's stream, chunk by chunk to its end."""
    start, stream = archive[f"{name}_stream_start"], archive[f"{name}_stream"]
    for case in np.split(stream, start[1:-1]):
        slots, masks, taken = [], [], 0
        while taken < len(case):
            chunk = aie.sparse_load(case[taken:], entity_bytes)
            slots.append(chunk.slots)
            masks.append(chunk.mask)
            taken += aie.decompress(case[taken:])[2]
        yield np.concatenate(slots), np.concatenate(masks)


@answers("aie_tile_sparse", whole="mask_positions")
def test_positions_of_every_mask(archive):
    found = [exact.positions(mask, "drop") for mask in range(16)]
    yield archive["mask_positions"], [[-1 if each is None else each for each in pair] for pair in found]


@pytest.mark.parametrize("name", [*STREAMED, INT4])
@answers("aie_tile_sparse")
def test_streams(archive, name):
    """Streams decompress to the slots and masks, and to B; B compresses to the streams."""
    size, b = 2 if name.startswith("int16") else 1, archive[f"{name}_b"]
    data = b.astype("<i2").view(np.uint8) if size == 2 else b.astype(np.uint8)
    if name == INT4:
        data = data[..., ::2] & 15 | data[..., 1::2] << 4
    bytes_of_b = data.reshape(len(b), -1, SPARSE_CHUNK_BYTES)
    yield archive[f"{name}_stream"], np.concatenate([aie.compress(chunk) for case in bytes_of_b for chunk in case])
    rows = zip(loaded(archive, name, size), archive[f"{name}_slots"], archive[f"{name}_mask"], bytes_of_b, strict=True)
    for (slots, masks), expected, mask, case in rows:
        yield expected, slots.astype(f"<u{size}").view(np.uint8).ravel()
        yield mask, masks
        yield case.ravel(), aie.to_dense(SparseVector(slots, masks)).astype(f"<u{size}").view(np.uint8).ravel()


@pytest.mark.parametrize("name", STREAMED)
@answers("aie_tile_sparse")
def test_sparse_products(archive, name):
    mode, shape = MATRICES[name]
    row = INTEGER_MODES[mode]
    every = zip(cases(archive, name, "a", "acc", "out"), loaded(archive, name, row.b_bits // 8), strict=True)
    for (a, acc, out, signs), (slots, masks) in every:
        values = slots.view(f"i{row.b_bits // 8}") if signs["signed_b"] else slots
        b = SparseVector(values.reshape(shape.n, -1, 2), masks.reshape(shape.n, -1))
        yield out, aie.sparse_matmul(a, b, format=mode, acc=acc, **signs)
        for i, j in ((0, 0), (shape.m - 1, shape.n - 1), (1, 2)):
            pairs = [
                pair
                for group, mask in enumerate(b.mask[j].tolist())
                for pair in exact.pairs(
                    a[i, 4 * group : 4 * group + 4].tolist(), tuple(b.slots[j, group].tolist()), mask
                )
            ]
            yield out[i, j], exact.integer_lane(row, *zip(*pairs, strict=True), int(acc[i, j]))


# The tile's addresses and banks.

FORMS = ("post_modify", "2d", "3d")
AGU = "aie_tile_agu.npz"


@answers("aie_tile_agu")
def test_address_streams(archive):
    own = archive.part("agu_")
    kind, count = own["kind"], own["addr"].shape[1]
    for form in np.unique(kind).tolist():
        here = kind == form
        p = own["p0"][here]
        dims = aie.Dimensions(*(own[name][here] for name in ("m", "dn", "dj", "dc", "dn2", "dj2", "dc2")))
        yield own["addr"][here], aie.agu_stream(p, dims, count, form=FORMS[form])
        for _ in range(count):
            _, p, dims = aie.agu_step(p, dims, form=FORMS[form])
        for name, value in (("p", p), ("dc", dims.dc), ("dc2", dims.dc2)):
            yield own[f"{name}_end"][here], value
    skip_absent(AGU, {form: number in kind for number, form in enumerate(FORMS)})


@answers("aie_tile_agu")
def test_address_streams_on_integers(archive):
    names = list(archive.part("agu_"))
    for row in archive.part("agu_").lists(*names):
        fields = dict(zip(names, row, strict=True))
        levels = [exact.Level(*(fields[f"d{part}{level}"] for part in "njc")) for level in ("", "2")]
        p, counted, others = fields["p0"], tuple(levels[: fields["kind"]]), levels[fields["kind"] :]
        addresses = []
        for _ in fields["addr"]:
            addresses.append(p)
            p, counted = exact.agu_step(p, fields["m"], counted)
        counters = [level.counter for level in (*counted, *others)]
        yield [*fields["addr"], *(fields[f"{name}_end"] for name in ("p", "dc", "dc2"))], [*addresses, p, *counters]


@answers("aie_tile_agu")
def test_banks_and_conflicts(archive):
    seen = set()
    for addresses, widths, masks, stall in archive.part("bank_").lists("addr", "width", "mask", "stall"):
        requests = [request for request in zip(addresses, widths, strict=True) if request[1]]
        tiers = ([sum(1 << bank for bank in banks(*each)) for each in requests] for banks in (aie.banks, exact.banks))
        yield [mask for mask in masks if mask], *tiers
        yield stall, aie.conflict_cycles(requests), exact.conflict_cycles(requests)
        seen.add(stall)
    skip_absent(AGU, {f"{stalls} stall cycles": stalls in seen for stalls in range(3)})


# XDNA2: conversions to bfp16ebs8, products, chains that probe the accumulator.

XDNA2 = XDNA2_BFP16EBS8.numerics
CONVERSIONS, CHAIN = "silicon_xdna2_convert.npz", "silicon_xdna2_chain.json"


def converted(archive, numerics):
    """Return the rows of the archive whose block golden makes, as booleans."""
    rows = zip(*(archive[name] for name in ("x_bits", "mode", "exponent", "codes")), strict=True)
    equal = []
    for bits, mode, exponent, codes in rows:
        got = aie.to_mx(bits.view(np.float32), FMT, rounding=int(mode), numerics=numerics)
        twin = exact.to_mx(numerics, bits.tolist(), BFP16EBS8, RoundingCode(int(mode)))
        assert (twin.exponent, twin.codes) == (got.exponent[0], tuple(got.codes[0].tolist()))
        equal.append(bool(got.exponent[0] == exponent and np.array_equal(got.codes[0], codes)))
    return np.array(equal)


def test_every_conversion(kat):
    archive = kat(CONVERSIONS)
    assert converted(archive, XDNA2).all()
    skip_absent(CONVERSIONS, {code.name: code in archive["mode"] for code in RoundingCode})


def test_silicon_has_no_nan_blocks(kat):
    """With them golden misses the probe of infinities and NaN, and no other."""
    archive = kat(CONVERSIONS)
    equal = converted(archive, replace(XDNA2, mx_nan_block=True))
    skip_absent(CONVERSIONS, {"X1": "X1" in archive["probe"]})
    assert set(archive["probe"][~equal].tolist()) == {"X1"}


@pytest.mark.parametrize("name", SETS)
def test_every_product(kat, name):
    a, b, expected = operands(kat("silicon_xdna2_mmul"), name)
    assert expected.size
    assert np.array_equal(chain(a, b), expected)
    for m, n in np.ndindex(expected.shape):
        sides = (
            [block(*each) for each in zip(x.codes[:, i, j, 0], x.exponent[:, i, j, 0], strict=True)]
            for x, i, j in ((a, m, 0), (b, 0, n))
        )
        assert scalar_chain(XDNA2, *sides) == expected[m, n]


@pytest.mark.parametrize(
    "fields",
    [
        {"align_rounding": RoundingCode.FLOOR},
        {"align_rounding": RoundingCode.CEIL},
        {"align_rounding": RoundingCode.SYMMETRIC_FLOOR},
        {"align_rounding": RoundingCode.SYMMETRIC_CEIL},
        {"align_fraction_bits": 22},
        {"align_fraction_bits": 24},
        {"mx_post_add_first": False},
    ],
    ids=str,
)
def test_silicon_decides_the_fields_of_the_sum(kat, fields):
    """Each alternative puts most lanes of the long chain off silicon, where the preset has none."""
    a, b, expected = operands(kat("silicon_xdna2_mmul"), "xbfp_k512")
    wrong = np.sum(chain(a, b, replace(XDNA2, **fields)) != expected)
    assert wrong > expected.size // 2


def differing(probes, numerics):
    """Return the ids of the probes, and of "-" tie_odd with negated products, that golden does not reproduce."""
    cases = [(each["id"], 1, each) for each in probes]
    cases += [(f"-{name}", -1, each) for name, _, each in cases if name == "tie_odd"]
    results = (
        (name, sign * each["silicon"], scalar_chain(numerics, *chunks(each, sign))) for name, sign, each in cases
    )
    return {name for name, silicon, code in results if decode(FP32, code).value != silicon}


def test_every_chain(kat):
    probes = kat(CHAIN)["probes"]
    assert probes
    assert differing(probes, XDNA2) == set()
    for each in probes:
        sides = (
            aie.MxBlocks(
                FMT,
                np.array([[x.exponent] for x in side], np.uint8),
                np.zeros((len(side), 1), np.uint8),
                np.array([[x.codes] for x in side], np.int8),
            )
            for side in chunks(each)
        )
        assert chain(*sides).view(np.float32) == np.float32(each["silicon"])


@pytest.mark.parametrize(
    ("fields", "missed"),
    [
        ({"align_rounding": RoundingCode.SYMMETRIC_INF}, ["-tie_odd", "tie_odd"]),
        ({"align_rounding": RoundingCode.CONV_ODD}, ["-tie_odd", "tie_odd"]),
        ({"align_rounding": RoundingCode.POSITIVE_INF}, ["tie_odd"]),
        ({"align_rounding": RoundingCode.NEGATIVE_INF}, ["-tie_odd"]),
        ({"align_rounding": RoundingCode.FLOOR}, ["-tie_odd"]),
        # The authors' own description: it misses one lane of a run whose lanes are not public.
        ({"align_rounding": RoundingCode.SYMMETRIC_ZERO}, []),
        ({"align_fraction_bits": 22}, ["-tie_odd", "tie_odd"]),
        ({"align_fraction_bits": 24}, ["-tie_odd", "tie_odd"]),
    ],
    ids=str,
)
def test_crafted_ties_decide_the_alignment(kat, fields, missed):
    """Silicon's result of the crafted tie, and of the same tie with negated products."""
    probes = kat(CHAIN)["probes"]
    skip_absent(CHAIN, {"tie_odd": any(each["id"] == "tie_odd" for each in probes)})
    assert sorted(differing(probes, replace(XDNA2, **fields)) & {"tie_odd", "-tie_odd"}) == missed
