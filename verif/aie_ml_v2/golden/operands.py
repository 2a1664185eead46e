"""Operands of golden's tests, the comparison of both tiers' conversion to blocks, and a product by its steps of K."""

from itertools import product

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, SPARSE_PAIRS
from bitpath.golden.arrays.codec import decode_array
from bitpath.golden.formats.catalogue import FP32
from bitpath.verif.common.boundary_codes import codes

# Known answers of XDNA2 as blocks: chained products of bfp16ebs8, and the lanes of golden that differ from silicon's.


FMT = BFP16EBS8.name
SETS = ("p4_uniform", "p5_mx32", "xbfp_k512")


def operands(archive, name):
    """Return blocks of A [steps, M, 1, 1] and of B [steps, 1, N, 1], and the accumulators' codes [M, N]."""
    a, b = (archive[f"{name}_{side}_codes"] for side in "ab")
    left, right = (archive[f"{name}_{side}_exp"] for side in "ab")
    shapes = [(*left.shape, 1, 1), (left.shape[0], 1, right.shape[1], 1)]
    sides = [
        aie.MxBlocks(FMT, exponent.reshape(shape), np.zeros(shape, np.uint8), codes.reshape(*shape, 8))
        for exponent, codes, shape in zip((left, right), (a, b), shapes, strict=True)
    ]
    return *sides, archive[f"{name}_out_bits"]


def every_lane(side, shape):
    """Return the blocks of the rows or columns of a product, one for each lane."""
    parts = (
        np.broadcast_to(each, (*shape, *each.shape[2:])).copy() for each in (side.exponent, side.shift, side.codes)
    )
    return aie.MxBlocks(side.fmt, *parts)


def chain(a, b, numerics=None):
    """Return the codes of the accumulators after all steps, from an empty one."""
    acc = None
    for x, y in zip(range(len(a.exponent)), range(len(b.exponent)), strict=True):
        acc = aie.fused_dot(a[x], b[y], acc, format=FMT, numerics=numerics)
    return acc.view(np.uint32)


def scalar_chain(numerics, a, b):
    """Return the code of the exact twin's accumulator after chunks of blocks."""
    acc = None
    for x, y in zip(a, b, strict=True):
        acc = exact.trace_mx_lane(numerics, x, y, acc).result
    return acc


def block(codes, exponent):
    """Return the exact twin's block of up to eight codes."""
    return exact.Block(BFP16EBS8, int(exponent), 0, (*map(int, codes), *(0,) * (BFP16EBS8.elements - len(codes))))


def chunks(probe, sign=1):
    """Return the blocks of a probe's chunks, those of A and those of B; `sign` -1 negates the products."""
    pairs = [
        (block([sign * code for code in each["a"]], each["ea"]), block(each["b"], each["eb"]))
        for each in probe["chunks"]
    ]
    return tuple(zip(*pairs, strict=True))


NEGATIONS = list(product((False, True), repeat=3))
KINDS = ("plain", "spread", "specials", "overflow", "underflow", "ties")


def sparse_rows(rng, rows, groups, size):
    """Groups with every allowed mask, nonzero where held."""
    masks = rng.choice(list(SPARSE_PAIRS), (rows, groups))
    held = masks[..., np.newaxis] >> np.arange(4) & 1
    return (rng.integers(1, size, (rows, groups, 4)) * held).reshape(rows, -1)


def near_codes(fmt):
    """FP32 codes at numbers of the format and at midpoints, with their neighbours; and the edges of FP32."""
    step = max(1, (1 << fmt.width) // 300)
    with np.errstate(invalid="ignore"):
        numbers = decode_array(fmt, np.arange(0, fmt.max_code + 1, step))
    midpoints = (numbers[:-1] + numbers[1:]) / 2
    limit = np.float64(fmt.max) * (1 + 2.0 ** -(fmt.fraction_bits + 1))
    values = np.concatenate([numbers, midpoints, [limit, 2 * limit]])
    with np.errstate(over="ignore"):
        bits = values.astype(np.float32).view(np.uint32).astype(np.int64)
    edges = [0, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC12345, 0x7FFFFFFF]
    bits = np.concatenate([bits, bits + 1, np.maximum(bits - 1, 0), edges])
    return np.concatenate([bits, bits | 1 << 31]).astype(np.uint32)


def fp32_blocks(rng, fmt, count):
    """Any codes; near one exponent; ties and all-ones significands of the format; few bits; subnormals and huge."""
    shape = (count, 16)
    bits = rng.integers(0, 1 << 32, shape)
    near = rng.integers(0, 2, shape) << 31 | rng.integers(118, 130, shape) << 23 | rng.integers(0, 1 << 23, shape)
    # A last place of the element, half of it, and the bits around: in the pair of the largest element and in others.
    place = 24 - fmt.magnitude_bits
    fraction = rng.integers(0, 1 << fmt.magnitude_bits, shape) << place - 1
    fraction |= rng.choice([0, 1, (1 << place - 1) - 1, 1 << place - 2, (1 << place - 2) - 1], shape)
    ties = rng.integers(0, 2, shape) << 31 | rng.integers(124, 128, shape) << 23 | fraction & 0x7FFFFF
    ones = rng.integers(0, 2, shape) << 31 | rng.integers(125, 128, shape) << 23 | 0x7FFFFF
    edges = rng.integers(0, 2, shape) << 31 | rng.choice([0, 0, 1, 2, 253, 254, 254], shape) << 23
    edges |= rng.choice([0, 1, 0x400000, 0x7FFFFF], shape)
    kinds = np.stack([bits, near, ties, ones, edges])
    blocks = np.take_along_axis(kinds, rng.integers(0, 5, (1, count, 1)), axis=0)[0]
    return blocks.astype(np.uint32)


def boundary_blocks(fmt):
    """FP32 codes [N, elements]: FP32's boundaries and their neighbours, each as the largest element and among smaller ones.

    Below each stand codes next to half and one of the last place that it leaves.
    """
    rows = []
    for code in codes(FP32):
        place = 1 << FP32.fraction_bits - fmt.magnitude_bits + 1
        magnitude = code & ~FP32.sign_mask
        below = [max(0, magnitude - (steps << FP32.fraction_bits)) for steps in range(fmt.magnitude_bits + 2)]
        near = [place >> 1, place, (place >> 1) + 1, place - 1, magnitude | place >> 1, magnitude ^ place]
        rows.append(np.resize([code, 0, FP32.sign_mask, *near, *below], fmt.elements))
    return np.array(rows, np.uint32)


def check_blocks_at_boundaries(numerics, fmt):
    """Compare both tiers' reading of blocks whose elements are next to FP32's smallest normal and largest number."""
    powers = 1 << np.arange(fmt.magnitude_bits)
    near = np.concatenate([powers - 1, powers, powers + 1, [fmt.max_code]])
    near = np.unique(np.clip(np.concatenate([near, -near, [fmt.min_code]]), fmt.min_code, fmt.max_code))
    rows = np.resize(near, -(-len(near) // fmt.elements) * fmt.elements).reshape(-1, fmt.elements).astype(np.int8)
    shifts = (0x00, 0xFF) if fmt.has_shifts else (0,)
    for exponent, shift in product((*range(fmt.magnitude_bits + 3), 127, *range(251, 256)), shifts):
        bytes_ = (np.full(len(rows), each, np.uint8) for each in (exponent, shift))
        got = aie.from_mx(aie.MxBlocks(fmt, *bytes_, rows), numerics=numerics).view(np.uint32).reshape(rows.shape)
        blocks = [exact.Block(fmt, exponent, shift, tuple(row)) for row in rows.tolist()]
        assert got.tolist() == [exact.from_mx(numerics, block) for block in blocks]
        # The smallest normal number, and half of it: a power of two in the codes and in the exponent.
        for power, block_row in ((p, got[rows == 1 << p]) for p in range(fmt.magnitude_bits)):
            field = exponent + power - fmt.magnitude_bits + 1 - (shift > 0)
            if 0 <= field <= 1:
                assert set(block_row.tolist()) == {field << FP32.fraction_bits}


def check(numerics, bits, fmt, code):
    got = aie.to_mx(bits.view(np.float32), fmt, rounding=code, numerics=numerics)
    values = aie.from_mx(got, numerics=numerics).view(np.uint32)
    for i, row in enumerate(bits.tolist()):
        block = exact.to_mx(numerics, row, fmt, code)
        assert (got.exponent[i, 0], got.shift[i, 0]) == (block.exponent, block.shift)
        assert got.codes[i, 0].tolist() == list(block.codes)
        assert values[i].tolist() == exact.from_mx(numerics, block)


def accumulators(rng, kind, sums):
    """One third arbitrary codes, one third cancelling the sum or close to it, one third special or near a limit."""
    bits = rng.integers(0, 1 << 32, sums.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        near = (-sums).astype(np.float32).view(np.uint32) + rng.integers(-2, 3, sums.shape)
    special = rng.choice([0, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001], sums.shape)
    special |= rng.integers(0, 2, sums.shape) << 31
    choice = rng.integers(0, 2 if kind == "finite" else 3, sums.shape)
    return np.choose(choice, [near, bits, special]).astype(np.uint32).view(np.float32)


def negations(values):
    return dict(zip(("negate_products", "negate_acc1", "negate_acc2"), values, strict=True))


def matrices(rng, kind):
    """13 x 70 and 70 x 37: sizes that no shape divides."""
    a, b = (rng.standard_normal(shape, dtype=np.float32) for shape in ((13, 70), (70, 37)))
    if kind == "spread":
        a, b = (each * np.exp2(rng.integers(-60, 60, each.shape)).astype(np.float32) for each in (a, b))
    elif kind == "specials":
        a[3, 5], a[7, 9], a[7, 1], b[5, 3], b[20, 30] = np.inf, np.nan, -np.inf, -np.inf, np.nan
        a[9], b[:, 9], a[10] = 0, 0, -0.0
    elif kind == "overflow":
        a, b = a * np.float32(2.0**62), b * np.float32(2.0**63)
    elif kind == "underflow":
        a, b = a * np.float32(2.0**-63), b * np.float32(2.0**-66)
    elif kind == "ties":
        a, b = (rng.integers(-3, 4, each.shape).astype(np.float32) for each in (a, b))
        b *= np.exp2(rng.integers(0, 26, b.shape)).astype(np.float32)
    return a, b


def both(a, b, **options):
    """Return a product by the steps of K in numpy, and by the loops."""
    program, acc = aie.matmul_program(a, b, **options), None
    fmt = "fp8" if options["format"].startswith("fp8") else options["format"]
    for k in range(program.tiles[1]):
        left, right = program.a[:, k, np.newaxis, :, np.newaxis], program.b[k][np.newaxis, :, np.newaxis]
        acc = aie.fused_dot(left, right, acc, format=fmt, numerics=program.numerics)
    return aie.result_matrix(program, acc), aie.matmul(a, b, **options)
