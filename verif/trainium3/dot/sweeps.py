"""All products of two FP8 codes through the quad-MX dot product."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from bitpath.golden.formats.catalogue import E8M0, FP32
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.quad_mx_dot import dot_layout
from bitpath.verif.kit.batches import Batch, side_by_side
from bitpath.verif.kit.volume import Generator, VolumeTask
from bitpath.verif.trainium3.dot.volume import TERMS, pairs_batch

CODES = 1 << 8
"""Of an FP8 format."""


def fp8_products(config: DotConfig, rng: Generator, lane: int) -> Iterator[Batch]:
    """Every pair of codes in one lane; the other products and the partial sum are -0, which no sum shows."""
    scales = np.full(CODES, E8M0.bias)
    partial_sum = np.full((CODES, CODES), FP32.sign_mask, np.uint32)
    for formats in product(config.numerics.element_formats, repeat=2):
        codes = []
        for fmt, sign in zip(formats, (1, 0), strict=True):
            side = np.full((CODES, TERMS), sign * fmt.sign_mask)
            side[:, lane] = np.arange(CODES)
            codes.append(side)
        kind = f"lane {lane}, {formats[0].name} with {formats[1].name}"
        yield pairs_batch(config, kind, formats, tuple(codes), (scales, scales), partial_sum)


SWEEPS = (
    VolumeTask(
        name="sweep-fp8-products",
        machine="trainium3",
        unit="quad_mx_dot",
        what="products: every pair of codes of every pair of FP8 formats, in every lane",
        config=DotConfig,
        block_vectors=CODES**2 * len(DotConfig().numerics.element_formats) ** 2,
        blocks=TERMS,
        batches=fp8_products,
        random=False,
        layout=lambda: side_by_side(("", dot_layout(DotConfig().numerics))),
    ),
)
