"""Every significand through the FP32 functions."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.fp32.fp32_functions import Fp32LanesConfig
from bitpath.verif.common.fp32.functions import FUNCTIONS
from bitpath.verif.kit.batches import Batch, Part, Place, side_by_side
from bitpath.verif.kit.volume import Generator, VolumeTask

FUNCTION_BLOCK = 1 << 18
"""Operands of a function in a block."""
BINADES = {"reciprocal": (0,), "square_root": (0, 1), "reciprocal_square_root": (0, 1)}
"""Exponents whose significands give all bits that a function can give: of roots, an even and an odd one."""


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
    *(
        VolumeTask(
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
