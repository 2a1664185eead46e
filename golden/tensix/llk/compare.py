"""A device's result against golden: bit for bit, with the departure that explains a difference."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import prod
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.formats.catalogue import Rounding
from bitpath.golden.tensix.convert.formats import EARLY_FORMATS, exponent_stream_bytes
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, FACE, PHASES, Chip, Format
from bitpath.golden.tensix.declarations.numerics import BfpRange, GmpoolFp16, TensixNumerics
from bitpath.golden.tensix.llk.case import (
    BINARY,
    ELEMENTWISE,
    MID_FORMATS,
    ROUND_10B_MIDS,
    ROW_MAJOR_RESULTS,
    Broadcast,
    Case,
    Device,
    Op,
    Pool,
    ReduceDim,
    chip_of,
)
from bitpath.golden.tensix.llk.expected import Operands, bytes_of, datum_codes, operands_of, places_in_order, result_of

# Departures from the chip that a simulator's or a test's own golden may have, by the stage at which each begins.
#
# Each is another case or another device, executed as golden executes its own: none has arithmetic of its own but for the
# block floats that are rounded at once.
#
# Ref: tt-metal #55779 (masked operands masked again, flush), #47239 (swapped masks), #56553 (flush in ELWMUL), #52155 (middle
# formats), #57410 (block floats rounded at once), #38306 (the sum of -1 unit); tt-llk #837 (signs), #782 (formats of every stage).


STAGES = ("src", "phase", "dst", "mid", "l1")
"""Stages in their order."""
SIGN = np.uint32(1 << 18)
HIGH_A, HIGH_B = np.uint32(~0x3F & 0x7FFFF), np.uint32(~0xF & 0x7FFFF)
"""Bits of a source word that are left when a phase 0 field is cut out of it: with 4 and with 6 fraction bits."""
TRANSPOSITIONS = {
    "unpack_transpose_faces": "faces 1 and 2 of SrcA",
    "unpack_transpose_within_face": "each face of SrcA",
}
"""Transpositions by the case's fields."""
UNARY = tuple(op for op in Op if op not in BINARY)


@dataclass(frozen=True)
class Alternative:
    """A known departure of a device from golden.

    Attributes
    ----------
    stage : the stage of `STAGES` at which it begins.
    cause : what the device does, as a phrase.
    case, device : how golden reproduces it.
    """

    stage: str
    cause: str
    case: Case
    device: Device


def alternatives(case: Case) -> Iterator[Alternative]:
    """Yield the departures that the case can show, in the order of the stages."""
    device = chip_of(case)
    for stage, cause, fields, changes in chain(_src(case), _phase(case, device), _dst(case), _mid(case), _l1(case)):
        try:
            other = replace(case, **fields)
        except ValueError:
            continue  # the case has no such variant
        yield Alternative(stage, cause, other, replace(device, **changes))


Departures = Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]
"""Stage, cause, the case's changed fields, and the device's."""


def _src(case: Case) -> Departures:
    given, numerics = case.formats, case.numerics
    if Format.FP32 in (given.in_a, given.in_b) and given.register is Format.BF16:
        yield "src", "operands are not cut to the register format", {"register_format": Format.TF32}, {}
        yield "src", "operands are rounded to even, not truncated", {}, {"rounds_stimuli": True}
    # Two operands of one ELWMUL exchange their masks alone, which is a departure of its phases.
    tells = case.op in (Op.MATMUL, Op.ELWSUB) or case.broadcast is not Broadcast.NONE
    if tells and (given.in_a, case.dimensions_a) == (given.in_b, case.dimensions_b):
        yield "src", "operands are exchanged", {}, {"exchanged": True}
    for op in UNARY if case.op in UNARY else ():
        yield "src", f"{op.value} in place of {Op(case.op).value}", {"op": op}, {}
    for kind in Broadcast if case.op in ELEMENTWISE else ():
        yield "src", f"broadcast {kind.value}", {"broadcast": kind}, {}
    for name, what in TRANSPOSITIONS.items():
        transposed = getattr(case, name)
        yield "src", f"{what} {'not ' * transposed}transposed", {name: not transposed}, {}
    if Format.FP8 in given and numerics.fp8_e4m3:
        yield "src", "FP8 is E5M2" if case.e4m3 else "FP8 is E4M3", {"e4m3": not case.e4m3}, {}
    if {given.in_a, given.in_b} & set(BLOCK_FLOATS):
        flushed = replace(numerics, bfp_range=BfpRange.FLUSH, bfp_a_range=BfpRange.FLUSH)
        yield "src", "block exponents below 0 are flushed, not wrapped", {}, {"unpacker": flushed}


def _phase(case: Case, device: Device) -> Departures:
    if not case.has_phases:
        return
    yield "phase", "later phases mask operands that are masked already", {}, {"operands": _masked_again}
    for count in range(1, PHASES + 1):
        for chosen in (each for each in combinations(range(PHASES), count) if each != device.phases):
            yield "phase", f"phases {chosen} in place of {device.phases}", {}, {"phases": chosen}
    yield "phase", "phases run in reverse", {}, {"phases": device.phases[::-1]}
    if case.op in (Op.MATMUL, Op.ELWMUL):
        yield "phase", "operands have each other's masks", {}, {"swapped_fields": True}
    yield "phase", "a masked operand's low part has no sign", {}, {"operands": _unsigned_low}
    yield "phase", "masked operands have no sign", {}, {"operands": _unsigned}


def _function(case: Case) -> Departures:
    numerics, plain = case.numerics, {"approximate": False, "fast": False}
    if case.in_b is None:
        nothing = {"op": Op.DATACOPY, "function": None, "parameters": (), "seed": 0, "words": (), **plain}
        yield "dst", "no function", nothing, {}
    forms = {
        "accurate": plain,
        "approximate": plain | {"approximate": True},
        "fast": {"approximate": True, "fast": True},
    }
    for form, fields in forms.items() if case.function else ():
        if fields != {name: getattr(case, name) for name in plain}:
            yield "dst", f"the function's {form} form", fields, {}
    for chip in Chip:
        if chip is not case.chip:
            yield "dst", f"the function of {chip.value}", {"chip": chip}, {}
    other = replace(numerics, sfpstore_flush=not numerics.sfpstore_flush)
    yield "dst", "the other choice of SFPSTORE's FP32 denormals", {}, {"matrix": other}
    other = replace(numerics, sfpabs_clears_infinity=not numerics.sfpabs_clears_infinity)
    yield "dst", "the other choice of SFPABS of -Inf", {}, {"matrix": other}


def _dst(case: Case) -> Departures:
    numerics = case.numerics
    if case.op is Op.SFPU:
        yield from _function(case)
    for cause, fields in _numerics(numerics):
        yield "dst", cause, {}, {"matrix": replace(numerics, **fields)}
    given, wide = case.formats, {"dst32": True}
    if not case.dst32:
        if case.held is Format.FP16 and given.mid is Format.FP16:
            wide["mid_format"] = Format.TF32  # type: ignore[assignment]  # a field's value
        yield "dst", "no rounding and no flush at Dst's width: 32-bit words narrowed by the packer", wide, {}
    else:
        yield "dst", "Dst has 16-bit words", {"dst32": False}, {}
    for pool, dim in ((pool, dim) for pool in Pool for dim in ReduceDim) if case.op is Op.REDUCE else ():
        yield "dst", f"pool {pool.value} and reduce_dim {dim.value}", {"pool": pool, "reduce_dim": dim}, {}


def _numerics(numerics: TensixNumerics) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield other numerics of the Matrix unit."""
    quirk = "without" if numerics.minus_one_quirk else "with"
    yield f"{quirk} the quirk of a sum of -1 unit", {"minus_one_quirk": not numerics.minus_one_quirk}
    for name, what in (
        ("product_tie", "aligned products"),
        ("sum_tie", "aligned sums"),
        ("dst_tie", "the aligned Dst word"),
        ("final_tie", "results"),
    ):
        yield f"ties of {what} to even", {name: Rounding.RNE}
    yield (
        "all ties to even",
        dict.fromkeys(("product_tie", "sum_tie", "dst_tie", "final_tie"), Rounding.RNE),
    )
    yield "no rounding to 10 fraction bits before a 16-bit sum", {"pre_round": False}
    yield "empty fields leave the largest exponent alone", {"empty_terms_in_maximum": False}
    yield "products of zeros have no exponent", {"zero_terms_keep_bias": False}
    for group in {4, 8, 16} - {numerics.group}:
        yield f"groups of {group} products", {"group": group}
    yield "aligned products keep 13 more bits", {"product_guard_bits": 13}
    yield "integers of exponent 0 keep their bits", {"int8_zero_exponent_flush": False}
    yield "denormal sources are kept", {"zero_flag_disabled": True}
    other = GmpoolFp16.LITERAL if numerics.gmpool_fp16 is GmpoolFp16.REBIAS else GmpoolFp16.REBIAS
    yield f"exponents of FP16 maxima are {other.value}", {"gmpool_fp16": other}


def _mid(case: Case) -> Departures:
    given = case.formats
    even = replace(case.numerics, final_tie=Rounding.RNE)
    yield "mid", "the packer's ties go to even", {}, {"packer": even}
    for mid in (*MID_FORMATS[case.held], *ROUND_10B_MIDS):
        if mid is not given.mid:
            yield "mid", f"middle {mid.name}", {"mid_format": mid}, {}
    raw = given.mid if given.mid in EARLY_FORMATS[case.dst32, True] else Format.BF16
    yield "mid", "no flush and no rounding to the middle format", {"mid_format": raw}, {"raw": True}
    yield "mid", "Round_10b" if not case.round_10b else "no Round_10b", {"round_10b": not case.round_10b}, {}
    if case.edge_mask is not None:
        yield "mid", "no edge mask", {"edge_mask": None, "edge_minus_infinity": False}, {}
        other = "0" if case.edge_minus_infinity else "minus infinity"
        yield "mid", f"masked datums are {other}", {"edge_minus_infinity": not case.edge_minus_infinity}, {}
    for mode in range(4):
        if mode != case.relu:
            yield "mid", f"ReLU {mode}", {"relu": mode}, {}


def _l1(case: Case) -> Departures:
    if case.formats.out in BLOCK_FLOATS:
        yield "l1", "block floats are rounded at once, not to 7 bits and truncated", {}, {"to_blocks": _rounded_at_once}
    if case.l1_accumulate:
        yield "l1", "the result replaces what was in L1", {"l1_accumulate": False}, {}
    yield "l1", "datums in another order", {}, {"other_order": True}


def _masked_again(phase: int, src_b: np.ndarray, src_a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (src_b & HIGH_B, src_a & HIGH_A) if phase else (src_b, src_a)


def _unsigned_low(phase: int, src_b: np.ndarray, src_a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return src_b & ~SIGN if phase & 2 else src_b, src_a & ~SIGN if phase & 1 else src_a


def _unsigned(_: int, src_b: np.ndarray, src_a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return src_b & ~SIGN, src_a & ~SIGN


def _rounded_at_once(words: np.ndarray, fmt: Format) -> np.ndarray:
    """Return a block float whose magnitudes are rounded to its own bits in one step, ties away from zero."""
    block = BLOCK_FLOATS[fmt]
    fraction_bits = 15 - block.exponent_bits
    blocks = words.astype(np.int64).reshape(-1, BLOCK)
    exponent = blocks >> fraction_bits & (1 << block.exponent_bits) - 1
    significand = blocks & (1 << fraction_bits) - 1 | (exponent > 0).astype(np.int64) << fraction_bits
    largest = exponent.max(axis=1, keepdims=True)
    shift = largest - exponent + fraction_bits + 1 - block.magnitude_bits
    magnitude = np.minimum((significand << 1 >> np.minimum(shift, 62)) + 1 >> 1, (1 << block.magnitude_bits) - 1)
    sign = np.where(magnitude > 0, blocks >> 15, 0)
    codes = (sign << block.magnitude_bits | magnitude).astype(np.uint8).reshape(-1)
    bits = np.unpackbits(codes.reshape(-1, 1), axis=1, bitorder="little", count=block.datum_bits)
    exponents = np.zeros(exponent_stream_bytes(words.size), np.uint8)
    exponents[: largest.size] = largest[:, 0]
    return np.concatenate([exponents, np.packbits(bits.reshape(-1), bitorder="little")])


@dataclass(frozen=True)
class Difference:
    """The first datum in L1 whose bits differ.

    Attributes
    ----------
    datum : its number in the order of L1.
    row, column : its place in the result's matrix.
    expected, device : the codes; a block float's has the exponent above the datum's own bits.
    """

    datum: int
    row: int
    column: int
    expected: int
    device: int


@dataclass(frozen=True)
class Report:
    """A comparison of a device's result with golden's.

    Attributes
    ----------
    equal : True if all bytes are equal.
    first_difference : the first datum that differs, None if all are equal.
    stage : the earliest of "src", "phase", "dst", "mid" and "l1" with a departure that gives the device's bytes; None if all are
        equal, or if no known departure does.
    causes : the departures of that stage that give them, as phrases.
    ulp : the largest distance, in units in the last place; a block float's is that of the BF16 or FP16 numbers.
    histogram : datums by distance: those of 0, those of 1, and those up to each further power of two but above the one before.
    """

    equal: bool
    first_difference: Difference | None
    stage: str | None
    causes: tuple[str, ...]
    ulp: int
    histogram: dict[int, int]


@checked
def compare(
    case: Case, l1_a: Any, l1_b: Any, device_l1: Any, *, l1_before: Any = None, pack_bits: Any = None
) -> Report:
    """Compare a device's result with `expected`; the tolerance is zero.

    Parameters
    ----------
    l1_a, l1_b, l1_before, pack_bits : as in `expected`.
    device_l1 : the device's result in L1, in the same form.

    Raises
    ------
    TypeError, ValueError : as `expected`.
    """
    operands = operands_of(case, l1_a, l1_b, l1_before, pack_bits)
    right = result_of(case, chip_of(case), operands)
    found = bytes_of("device_l1", device_l1, len(right))
    if np.array_equal(found, right):
        return Report(True, None, None, (), 0, {0: prod(case.result_dimensions)})
    places = places_in_order(case, right), places_in_order(case, found)
    distances = np.abs(places[1] - places[0])
    stage, causes = _explained(case, operands, found)
    return Report(
        equal=False,
        first_difference=_first(case, right, found),
        stage=stage,
        causes=causes,
        ulp=int(distances.max()),
        histogram=_histogram(distances),
    )


def _explained(case: Case, operands: Operands, found: np.ndarray) -> tuple[str | None, tuple[str, ...]]:
    """Return the earliest stage with departures that give these bytes, and the departures."""
    known = list(alternatives(case))
    for stage in STAGES:
        causes = tuple(
            each.cause
            for each in known
            if each.stage == stage and np.array_equal(result_of(each.case, each.device, operands), found)
        )
        if causes:
            return stage, causes
    return None, ()


def _first(case: Case, right: np.ndarray, found: np.ndarray) -> Difference:
    codes = datum_codes(case, right), datum_codes(case, found)
    datum, columns = int(np.argmax(codes[0] != codes[1])), case.result_dimensions[1]
    if case.op in ROW_MAJOR_RESULTS:
        row, column = divmod(datum, columns)
    else:
        high, wide = case.tile
        tile, within = divmod(datum, high * wide)
        face, place = divmod(within, FACE * FACE)
        row = tile // (columns // wide) * high + face // (wide // FACE) * FACE + place // FACE
        column = tile % (columns // wide) * wide + face % (wide // FACE) * FACE + place % FACE
    return Difference(datum, row, column, int(codes[0][datum]), int(codes[1][datum]))


def _histogram(distances: np.ndarray) -> dict[int, int]:
    steps = np.where(distances > 0, 1 << np.ceil(np.log2(np.maximum(distances, 1))).astype(np.int64), 0)
    values, counts = np.unique(steps, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))
