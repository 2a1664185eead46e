"""Whole ranges of operands through Trainium3's units."""

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from bitpath.golden.formats.catalogue import E8M0, FP32
from bitpath.rtl.common.fp32.fp32_lanes import Fp32LanesConfig
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.quad_mx_dot import dot_layout
from bitpath.sim.campaigns.volume.quad_mx import TERMS, pairs_batch
from bitpath.sim.campaigns.volume.task import Generator, Task
from bitpath.sim.campaigns.volume.vectors import Batch, Part, Place, side_by_side
from bitpath.verif.common.fp32.functions import FUNCTIONS

CODES = 1 << 8
"""Of an FP8 format."""
FUNCTION_BLOCK = 1 << 18
"""Operands of a function in a block."""
BINADES = {"reciprocal": (0,), "square_root": (0, 1), "reciprocal_square_root": (0, 1)}
"""Exponents whose significands give all bits that a function can give: of roots, an even and an odd one."""


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


def significands(name: str, config: Fp32LanesConfig, rng: Generator, block: int) -> Iterator[Batch]:
    """Consecutive operands, from the first of these binades on; every second one of a reciprocal is negative."""
    binade, start = divmod(block * FUNCTION_BLOCK, 1 << FP32.fraction_bits)
    codes = np.arange(start, start + FUNCTION_BLOCK) | FP32.bias + BINADES[name][binade] << FP32.fraction_bits
    if name == "reciprocal":
        codes |= (codes & 1) << 31
    rows = codes.astype(np.uint32).reshape(-1, config.lanes)
    golden = FUNCTIONS[name].vectorised
    yield Batch(
        name, (Part(rows),), len(rows), lambda: np.ascontiguousarray(golden(rows.view(np.float32))).view(np.uint32)
    )


def _codes_layout() -> dict[str, Place]:
    return side_by_side(*((f"lane {k}", FP32.width) for k in range(Fp32LanesConfig().lanes)))


SWEEPS = (
    Task(
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
    *(
        Task(
            name=f"sweep-{name.replace('_', '-')}",
            machine="trainium3",
            unit=name,
            what=f"every significand{' at an even and an odd exponent' * (len(binades) > 1)}, {Fp32LanesConfig().lanes} in a vector",
            config=Fp32LanesConfig,
            block_vectors=FUNCTION_BLOCK // Fp32LanesConfig().lanes,
            blocks=len(binades) << FP32.fraction_bits >> FUNCTION_BLOCK.bit_length() - 1,
            batches=partial(significands, name),
            random=False,
            layout=_codes_layout,
        )
        for name, binades in BINADES.items()
    ),
)
