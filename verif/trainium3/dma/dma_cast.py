"""Beats for the cast of a DMA engine, and what golden makes of them."""

from functools import partial
from random import Random

import numpy as np

from bitpath.golden.formats.catalogue import CATALOGUE, FP32, FloatFormat
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.rtl.trainium3.dma.dma_cast import cast_layout
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.kit.values import codes_text
from bitpath.verif.trainium3.dtype_words import cast_words, corners

Pair = tuple[str, str]
"""Names of the source's and the destination's dtype."""
PAIRS = [(source, destination) for source in FORMATS for destination in FORMATS]


def elements(pair: Pair, beat_bytes: int) -> int:
    return 8 * beat_bytes // max(map(container_bits, pair))


def beats(codes: np.ndarray, name: str, count: int) -> list[int]:
    """Codes as integers of `count` elements each, packed from the low end."""
    words = codes.astype(f"<u{container_bits(name) // 8}").reshape(-1, count)
    return [int.from_bytes(word.tobytes(), "little") for word in words]


def requests(codes: np.ndarray, pair: Pair, beat_bytes: int, expected: np.ndarray | None = None) -> list[Request]:
    """Beats of all codes, zeros behind the last, with golden's results or those given."""
    count = elements(pair, beat_bytes)
    spare = -len(codes) % count
    codes = np.pad(codes, (0, spare))
    results = cast_words(codes, *pair) if expected is None else np.pad(expected, (0, spare))
    control = pack(
        cast_layout(beat_bytes),
        {"pair": {"source": Dtype[pair[0].upper()], "destination": Dtype[pair[1].upper()]}},
    )
    sent = beats(codes, pair[0], count)
    return [
        Request(payload | control, result, partial(_shown, pair, codes[count * place : count * (place + 1)]))
        for place, (payload, result) in enumerate(zip(sent, beats(results, pair[1], count), strict=True))
    ]


def _shown(pair: Pair, codes: np.ndarray, _: str) -> Shown:
    fmt = FORMATS[pair[0]]
    known = isinstance(fmt, FloatFormat) and fmt.width == container_bits(pair[0])
    text = codes_text(CATALOGUE[fmt.name], codes) if known else " ".join(f"{code:#x}" for code in codes.tolist())
    return Shown(operands={"pair": f"{pair[0]} to {pair[1]}", "elements": text})


def near_ties(rng: Random, count: int) -> np.ndarray:
    """FP32 codes: of each exponent `count` numbers half-way between shorter ones, beside that, or with a run of equal bits; and
    NaN with each bit of the fraction alone."""
    codes = [FP32.exponent_mask << FP32.fraction_bits | 1 << bit for bit in range(FP32.fraction_bits)]
    for exponent in range(FP32.exponent_mask + 1):
        for _ in range(count):
            place = rng.randrange(FP32.fraction_bits)
            half = 1 << place
            below = rng.choice((half, half + 1, half - 1, half + rng.getrandbits(place), 0))
            above = rng.getrandbits(FP32.fraction_bits) >> place + 1 << place + 1
            fraction = rng.choice((above, 0, FP32.fraction_mask - 2 * half + 1)) | below
            sign = rng.getrandbits(1) * FP32.sign_mask
            codes.append(fraction & FP32.fraction_mask | exponent << FP32.fraction_bits | sign)
    return np.array(codes)


def any_codes(rng: Random, name: str, count: int) -> np.ndarray:
    """Random codes; every fourth one is at a limit."""
    bits, limits = container_bits(name), corners(name)
    return np.array([rng.choice(limits) if rng.random() < 0.25 else rng.getrandbits(bits) for _ in range(count)])
