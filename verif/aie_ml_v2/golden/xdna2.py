"""Known answers of XDNA2 as blocks: chained products of bfp16ebs8, and the lanes of golden that differ from silicon's."""

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8

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
