"""Bench of the conversion from MX to FP32: every code at the ends of the exponents, random blocks at every pace, latency, resets.

``BITPATH_CASES`` sets the random requests of a test.
"""

from collections.abc import Sequence
from functools import partial
from itertools import cycle, islice, product
from random import Random

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, MX_FORMATS, MX_PAIRS, MxFormat
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.layouts import MxCode
from bitpath.rtl.aie_ml_v2.lanes.layouts import MxWidenConfig, mx_elements, mx_request
from bitpath.rtl.aie_ml_v2.lanes.mx_widen import MxWiden
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Made, Request, StreamBench, hit
from bitpath.verif.kit.testplan import covers

EXPONENTS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 85, 127, 170, 250, 251, 252, 253, 254, 255)
"""Exponents of the directed cases: those at which a code of some format underflows or overflows, and a few more."""
CLASSES = ("zero", "-zero", "number", "-number", "infinity", "-infinity", "nan")


def class_of(code: int) -> str:
    """Return the class of an FP32 code, with its sign."""
    magnitude = code & ~FP32.sign_mask
    if magnitude > FP32.infinity_code:
        return "nan"
    kind = "zero" if not magnitude else "infinity" if magnitude == FP32.infinity_code else "number"
    return f"-{kind}" if code & FP32.sign_mask else kind


def requests_of(
    fmt: MxFormat,
    exponent: np.ndarray,
    shift: np.ndarray,
    codes: np.ndarray,
    results: np.ndarray | None = None,
) -> list[Request]:
    """Return requests of blocks: uint8 [n, blocks] twice, int8 [n, blocks, 16], and FP32 codes or None for golden's."""
    if results is None:
        blocks = aie.MxBlocks(fmt, exponent, shift, codes)
        results = aie.from_mx(blocks, numerics=BENCH.config.numerics).view(np.uint32)
    rows = zip(exponent.tolist(), shift.tolist(), codes.tolist(), results.tolist(), strict=True)
    return [_request_of(fmt, *row) for row in rows]


def _request_of(fmt: MxFormat, exponent: list[int], shift: list[int], codes: list, results: list[int]) -> Request:
    rows = zip(exponent, shift, codes, strict=True)
    blocks = [dict(zip(("exponent", "shift", "codes"), row, strict=True)) for row in rows]
    return Request(
        pack(mx_request(BENCH.config.blocks), {"blocks": blocks, "block_format": MxCode.of(fmt)}),
        pack(mx_elements(BENCH.config.blocks), results),
        partial(_shown, fmt, blocks),
        tuple({f"{fmt.name}/{class_of(code)}" for code in results}),
    )


def _shown(fmt: MxFormat, blocks: list[dict], path: str) -> Shown:
    """Return the block of the element that differs."""
    block = {name: str(value) for name, value in blocks[int(path or 0) // MX_BLOCK].items()}
    return Shown(operands={"format": fmt.name, **block}, formats={"": FP32})


def draw(formats: Sequence[MxFormat], rng: Random) -> list[Request]:
    made, count = [], BENCH.config.blocks
    for fmt in formats:
        exponent = [rng.choice((rng.getrandbits(8), rng.choice(EXPONENTS))) for _ in range(count)]
        shift = [rng.getrandbits(MX_PAIRS) for _ in range(count)]
        codes = [[rng.randint(fmt.min_code, fmt.max_code) for _ in range(MX_BLOCK)] for _ in range(count)]
        made += requests_of(
            fmt, np.array([exponent], np.uint8), np.array([shift], np.uint8), np.array([codes], np.int8)
        )
    return made


BENCH = StreamBench(
    __name__, MxWidenConfig, MxWiden, list(MX_FORMATS.values()), draw, lambda fmt: (fmt.name,), draws="cases"
)
random_cases, latency, resets = BENCH.tests("random_cases")
covers(
    "mx_widen.stream",
    "Each request has a format of its own",
    "Blocks of the three formats by turns, full speed, gaps, stalls and both; latency of one cycle; resets",
    random_cases,
    latency,
    resets,
)


@covers(
    "mx_widen.codes",
    "A code's leading bit sets the exponent, and the most negative code has a leading bit of its own",
    "Every code of the three formats with either shift bit at 19 exponents: those at which codes underflow or "
    "overflow, and four between",
)
@covers(
    "mx_widen.specials",
    "No FP32 subnormals come out, and a NaN block has no number",
    "Zeros of both signs below the normal numbers, infinity from the most negative code, NaN blocks, and exponent "
    "255 as an ordinary one",
)
@BENCH.sweep()
def directed() -> Made:
    """Every code with either shift bit and each of the exponents; neighbouring pairs have opposite shift bits."""
    made: list[Request] = []
    for fmt in MX_FORMATS.values():
        every = [*range(fmt.min_code, fmt.max_code + 1)]
        whole = -(-len(every) // MX_BLOCK)
        codes = np.array([*islice(cycle(every), whole * MX_BLOCK)], np.int8).reshape(whole, MX_BLOCK)
        rows = [(e, s, row) for e, s in product(EXPONENTS, (0x55, 0xAA)) for row in codes]
        rows += rows[: -len(rows) % BENCH.config.blocks]
        exponent, shift, codes = (np.array(each) for each in zip(*rows, strict=True))
        shape = (-1, BENCH.config.blocks)
        bytes_of = (each.astype(np.uint8).reshape(shape) for each in (exponent, shift))
        made += requests_of(fmt, *bytes_of, codes.reshape(*shape, MX_BLOCK))
    # A NaN block has NaN instead of infinity.
    seen = [name for name in CLASSES if name != ("infinity" if BENCH.config.numerics.mx_nan_block else "nan")]
    return made, hit(made, [f"{name}/{each}" for name, each in product(MX_FORMATS, seen)])
