"""AIE-ML v2's operations for probes: chains of block and of BF16 products on one lane, conversions of one block."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from bitpath.golden.aie_ml_v2.convert.mx import to_mx
from bitpath.golden.aie_ml_v2.declarations import numerics as declared
from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, MX9, MX_BIAS, MxFormat, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.exact import Block, trace_float_lane, trace_mx_lane
from bitpath.golden.aie_ml_v2.exact import to_mx as exact_to_mx
from bitpath.golden.aie_ml_v2.mac.fused_dot import fused_dot
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.sim.study.probe.unit import Dots, Operand, Operation, Unit, stacked

# Candidate dots of AIE-ML v2: chains of products ``m * 2**q`` around ties and alignment edges, blocks to convert.


STEPS = 4
FLOATS = 8
"""BF16 products of a lane and step."""
RANDOM = 500
"""Random candidates of each kind."""

Chain = Sequence[Sequence[tuple[int, int]]]
"""Products m * 2**q of each step, as pairs (m, q)."""

CHAINS: dict[str, Chain] = {
    "tie odd": [[(1, 0)], [(3, -23)], [(1, -24)], [(-1, 0)]],
    "tie odd, negative": [[(-1, 0)], [(-3, -23)], [(-1, -24)], [(1, 0)]],
    "accumulator alignment": [[(1, 0)], [(1, -23)], [(2, 0)], [(-2, 0)]],
    "accumulator alignment, odd": [[(1, 0)], [(3, -23)], [(2, 0)], [(-2, 0)]],
    "result rounding": [[(1, 0)], [(1, -23)], [(1, 0)], [(-2, 0)]],
    **{f"sweep {p}": [[], [(1, 0)], [(1, -p)], [(-1, 0)]] for p in (23, 24)},
    **{f"eight equal terms {p}": [[], [(1, 0)], [(1, -p)] * 8, [(-1, 0)]] for p in range(24, 28)},
}
"""Hand-made chains."""


def chain_pool(fmt: MxFormat, seed: int) -> Dots:
    """Return chains of block products, with random ones around the hand-made."""
    rng = np.random.default_rng([seed, fmt.magnitude_bits, fmt.elements])
    chains = [*CHAINS.values(), *_around(rng), *_tiny(rng)]
    made = [_blocks(fmt, chain) for chain in chains]
    made += [_zero_terms(fmt), *(_halves_and_shifts(fmt) if fmt.has_shifts else [])]
    by_hand = {name: np.array([each[name] for each in made]) for name in made[0]}
    return stacked(by_hand, _random_blocks(fmt, rng))


def bf16_pool(seed: int) -> Dots:
    """Return chains of BF16 products, specials and zeros beside large numbers among them."""
    rng = np.random.default_rng(seed)
    chains = [*CHAINS.values(), *_around(rng), *_tiny(rng)]
    a, b = (np.zeros((len(chains), STEPS, FLOATS), np.uint16) for _ in range(2))
    for n, chain in enumerate(chains):
        for step, products in enumerate(chain):
            for i, (m, q) in enumerate(products):
                a[n, step, i], b[n, step, i] = _bf16(m, q // 2), _bf16(1, q - q // 2)
    sign, exponent, fraction = (rng.integers(0, n, (2, RANDOM, STEPS, FLOATS)) for n in (2, 1, 128))
    # A few exponents of each chain are far from the others; 0 is a zero or a subnormal, 255 special.
    exponent = rng.integers(100, 150, (2, RANDOM, 1, 1)) + rng.integers(-8, 9, exponent.shape)
    odd = rng.random(exponent.shape) < 0.1
    exponent = np.where(
        odd, rng.choice([0, 0, 0, 60, 190, 250, 255], exponent.shape, p=[0.2] * 3 + [0.12] * 3 + [0.04]), exponent
    )
    fraction = np.where((exponent == 0) & (rng.random(exponent.shape) < 0.5), 0, fraction)
    codes = (sign << 15 | exponent << 7 | fraction).astype(np.uint16)
    zero = np.zeros((2, 2, STEPS, FLOATS), np.uint16)
    # 2**-30, then a zero times a large number, which may push it off the grid.
    zero[:, :, 2, 0], zero[0, :, 3, 0] = 0x3800, [0x0000, 0x8000]
    zero[1, :, 3, 0] = 0x7F00
    return stacked({"a": a, "b": b}, {"a": codes[0], "b": codes[1]}, {"a": zero[0], "b": zero[1]})


def convert_pool(fmt: MxFormat, seed: int) -> Dots:
    """Return blocks of FP32 codes under every mode: the range's edge, ties, specials and subnormals."""
    rng = np.random.default_rng([seed, fmt.magnitude_bits, fmt.elements])
    edge = 2.0 - 2.0**-fmt.magnitude_bits  # half a unit above the largest code, at exponent 127
    rows: list[list[float]] = [
        [edge, 1.0],
        [-edge, 1.0],
        [edge, -edge],
        [-edge, -edge, 1.0, edge],
        [float(FP32.max), 1.0],
        [np.inf, 1.0, -1.0],
        [np.nan, 1.0, -1.0],
        [2.0**-127] * fmt.elements,
        [2.0**-126, 2.0**-127, -(2.0**-127)],
        [0.0],
    ]
    by_hand = np.zeros((len(rows), fmt.elements), np.float32)
    for row, values in zip(by_hand, rows, strict=True):
        row[: len(values)] = values
    # Significands just long enough for ties at an element's last place, in pairs of unequal exponents.
    bits = fmt.magnitude_bits + 2
    size = (RANDOM // 4, fmt.elements)
    significand = rng.integers(1 << bits - 1, 1 << bits, size) * rng.choice([-1, 1], size)
    values = np.ldexp(significand, rng.integers(-3, 1, size) - bits).astype(np.float32)
    x = np.concatenate([by_hand, values]).view(np.uint32)
    modes = np.array(list(RoundingCode), np.uint8)
    return {"x": x.repeat(len(modes), axis=0), "rounding": np.tile(modes, len(x))}


def _around(rng: np.random.Generator) -> list[Chain]:
    """Return chains of a large number, small ones around its last place, and the large one taken off."""
    found: list[Chain] = []
    for _ in range(RANDOM):
        sign, large = int(rng.choice([-1, 1])), int(rng.integers(1, 4))
        small = [
            [(int(rng.choice([-3, -1, 1, 3, 5])), -int(rng.integers(19, 29))) for _ in range(rng.integers(1, 5))]
            for _ in range(2)
        ]
        found.append([[(sign * large, 0)], *small, [(-sign * large, 0)]])
    for _ in range(RANDOM // 2):
        sign, large = int(rng.choice([-1, 1])), int(rng.integers(2, 8))
        # The sum of equal numbers has bits below FP32's last place, which the last rounding drops.
        below = (sign * int(rng.choice([1, 3, 5])), -int(rng.integers(19, 24)))
        found.append([[], [(sign, 0)], [below], [(sign, 0)] * large + [below]])
        # The same in a block, whose exponent is that of its largest codes: 64 times 64.
        found.append([[], [(sign, 0)], [below], [(sign * 64, -6)] * large + [(sign, -12)]])
    return found


def _tiny(rng: np.random.Generator) -> list[Chain]:
    """Return chains whose results lie around FP32's smallest normal number."""
    return [[[], [], [], [(int(rng.choice([-3, -1, 1, 3])), -int(rng.integers(124, 130)))]] for _ in range(8)]


def _blocks(fmt: MxFormat, chain: Chain) -> dict[str, np.ndarray]:
    """Return blocks whose products are those of a chain; the steps' exponents are split between a and b."""
    made = {f"{name}_{part}": np.zeros(STEPS, np.uint8) for name in "ab" for part in ("exponent", "shift")}
    made |= {f"{name}_codes": np.zeros((STEPS, fmt.elements), np.int8) for name in "ab"}
    for step, products in enumerate(chain):
        if not products:
            continue
        least = min(q for _, q in products)
        # The distance of a step's exponents goes into the codes, as far as these reach.
        total = least + 2 * (MX_BIAS + fmt.magnitude_bits - 1)
        made["a_exponent"][step], made["b_exponent"][step] = total // 2, total - total // 2
        for i, (m, q) in enumerate(products):
            limit = fmt.max_code
            made["a_codes"][step, i] = max(-limit, min(limit, m))
            made["b_codes"][step, i] = min(limit, 1 << min(q - least, fmt.magnitude_bits))
    return made


def _zero_terms(fmt: MxFormat) -> dict[str, np.ndarray]:
    """Return the chain 1, then codes 0 under large exponents, which may push the 1 off the grid."""
    made = _blocks(fmt, [[], [], [(1, 0)], []])
    made["a_exponent"][3], made["b_exponent"][3] = 180, 127
    return made


def _halves_and_shifts(fmt: MxFormat) -> list[dict[str, np.ndarray]]:
    """Return a block with small terms in both halves between 1 and -1, and 1 times 3 under one and two shifts."""
    small = [(1, -26)] * 4
    found = [_blocks(fmt, [[], [(1, 0)], [*small, *[(0, -26)] * 4, *small], [(-1, 0)]])]
    for shifted in ("a", "ab"):
        found.append(_blocks(fmt, [[], [], [], [(3, 0)]]))
        for name in shifted:
            found[-1][f"{name}_shift"][3] = 1
    return found


def _random_blocks(fmt: MxFormat, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return chains of random blocks with shifts, some with exponents 0 and 255."""
    size = (RANDOM, STEPS)
    made: dict[str, np.ndarray] = {}
    middle = rng.integers(110, 140, (RANDOM, 1))
    for name in "ab":
        exponent = middle + rng.integers(-6, 7, size)
        made[f"{name}_exponent"] = np.where(rng.random(size) < 0.03, rng.choice([0, 255], size), exponent).astype(
            np.uint8
        )
        made[f"{name}_shift"] = rng.integers(0, 256 if fmt.has_shifts else 1, size, dtype=np.uint8)
        codes = rng.integers(fmt.min_code, fmt.max_code + 1, (*size, fmt.elements))
        made[f"{name}_codes"] = np.where(rng.random(codes.shape) < 0.4, 0, codes).astype(np.int8)
    return made


def _bf16(m: int, q: int) -> int:
    """Return the BF16 code of ``m * 2**q``."""
    return int(np.array(np.ldexp(float(m), q), np.float32).view(np.uint32)) >> 16


WORD = Operand("u4", (1,))
"""Result of a chain: an FP32 code."""


def chain(numerics: AieNumerics, fmt: MxFormat, **given: np.ndarray) -> np.ndarray:
    """Return FP32 codes [N, 1] of chains of block products that start from +0."""
    total = np.zeros(len(given["a_codes"]), np.float32)
    for step in range(STEPS):
        a, b = (
            MxBlocks(fmt, *(given[f"{name}_{part}"][:, step : step + 1] for part in ("exponent", "shift", "codes")))
            for name in ("a", "b")
        )
        total = fused_dot(a, b, total, format=fmt.name, numerics=numerics)
    return total.view(np.uint32)[:, np.newaxis]


def exact_chain(
    numerics: AieNumerics,
    fmt: MxFormat,
    a_exponent: Sequence[int],
    a_shift: Sequence[int],
    a_codes: Sequence[Sequence[int]],
    b_exponent: Sequence[int],
    b_shift: Sequence[int],
    b_codes: Sequence[Sequence[int]],
) -> list[int]:
    """Return the result of `chain` for one dot."""
    total = 0
    for step in range(STEPS):
        a = Block(fmt, a_exponent[step], a_shift[step], tuple(a_codes[step]))
        b = Block(fmt, b_exponent[step], b_shift[step], tuple(b_codes[step]))
        total = trace_mx_lane(numerics, a, b, total).result
    return [total]


def bf16_chain(numerics: AieNumerics, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return FP32 codes [N, 1] of chains of eight BF16 products a step that start from +0."""
    total = np.zeros(len(a), np.float32)
    for step in range(STEPS):
        x, y = (each[:, step].view(DTYPES[BF16]) for each in (a, b))
        total = fused_dot(x, y, total, format="bf16", numerics=numerics)
    return total.view(np.uint32)[:, np.newaxis]


def exact_bf16_chain(numerics: AieNumerics, a: Sequence[Sequence[int]], b: Sequence[Sequence[int]]) -> list[int]:
    """Return the result of `bf16_chain` for one dot."""
    total = 0
    for step in range(STEPS):
        x, y = ([(code, BF16) for code in each[step]] for each in (a, b))
        total = trace_float_lane(numerics, x, y, total).result
    return [total]


def convert(numerics: AieNumerics, fmt: MxFormat, x: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """Return exponent, shift and codes, uint8 [N, 2 + elements], of one block each; `rounding` holds codes of crRnd."""
    out = np.empty((len(x), 2 + x.shape[1]), np.uint8)
    for code in np.unique(rounding):
        chosen = rounding == code
        block = to_mx(x[chosen].view(np.float32), fmt, rounding=int(code), numerics=numerics)
        out[chosen] = np.concatenate([block.exponent, block.shift, block.codes[:, 0].view(np.uint8)], axis=1)
    return out


def exact_convert(numerics: AieNumerics, fmt: MxFormat, x: Sequence[int], rounding: int) -> list[int]:
    """Return the result of `convert` for one dot."""
    block = exact_to_mx(numerics, x, fmt, RoundingCode(rounding))
    return [block.exponent, block.shift, *(code % 256 for code in block.codes)]


def _block_operations(fmt: MxFormat) -> list[Operation]:
    steps, elements = Operand("u1", (STEPS,)), Operand("i1", (STEPS, fmt.elements))
    parts = {"exponent": steps, "shift": steps, "codes": elements}
    products = {f"{name}_{part}": operand for name in "ab" for part, operand in parts.items()}
    given = {"x": Operand("u4", (fmt.elements,)), "rounding": Operand("u1")}
    block, own = Operand("u1", (2 + fmt.elements,)), {"fmt": fmt}
    return [
        Operation(f"chain_{fmt.name}", products, WORD, chain, exact_chain, partial(chain_pool, fmt), own),
        Operation(f"to_{fmt.name}", given, block, convert, exact_convert, partial(convert_pool, fmt), own),
    ]


def _bf16_operation() -> Operation:
    eight = Operand("u2", (STEPS, FLOATS))
    return Operation("chain_bf16", {"a": eight, "b": eight}, WORD, bf16_chain, exact_bf16_chain, bf16_pool)


def _unit(fmt: MxFormat) -> Unit:
    """Return the vector unit with one block format; chips have MX9 or bfp16ebs8, never both."""
    mx_alone = dict.fromkeys(("mx_lossless_shift", "mx9_split_round"), f"{fmt.name} has no shifts")
    mx_alone["float_zero_term"] = "only products of floats read it, which are in the other unit"
    return Unit(
        name=f"vector unit, {fmt.name}",
        # The preset that is named after the format is the default.
        presets=sorted(declared.PRESETS.values(), key=lambda each: fmt.name not in each.name),
        operations=[*([_bf16_operation()] if fmt.has_shifts else []), *_block_operations(fmt)],
        values={"align_fraction_bits": range(20, 27)},
        no_effect={
            "mx4_path": "only MX4 takes it, whose values are equal on both paths",
            "accumulator_bypass": "it moves cycles, not values",
        }
        | ({} if fmt.has_shifts else mx_alone),
    )


VECTOR_UNITS = [_unit(fmt) for fmt in (MX9, BFP16EBS8)]
