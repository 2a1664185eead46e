"""Exhaustive sweeps of operands through the conversions."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from bitpath.golden import aie_ml_v2
from bitpath.golden.aie_ml_v2.declarations.codes import (
    MX_BLOCK,
    MX_FORMATS,
    SRS_MODES,
    UPS_MODES,
    UPS_SHIFTS,
    MxFormat,
    RoundingCode,
    Saturation,
)
from bitpath.rtl.aie_ml_v2.convert.layouts import MxCode, MxRequest, MxResult
from bitpath.rtl.aie_ml_v2.convert.mx_convert import MxConvertConfig
from bitpath.rtl.aie_ml_v2.convert.srs import IntegerLanesConfig, srs_request
from bitpath.rtl.aie_ml_v2.convert.ups import ups_request
from bitpath.verif.aie_ml_v2.convert.integer_lanes import IntegerAsk
from bitpath.verif.aie_ml_v2.convert.tb_srs import SrsAsk
from bitpath.verif.aie_ml_v2.convert.tb_ups import UpsAsk
from bitpath.verif.kit.batches import Batch, Part, fill, places, side_by_side, words_of
from bitpath.verif.kit.volume import Generator, VolumeTask

BITS = 16
LANES = IntegerLanesConfig().lanes
SRS_SWEPT = range(-4, BITS + 2)
"""Shifts of SRS; the largest ones leave only the rounding direction of a 16-bit number."""
SRS_KINDS = tuple(product(RoundingCode, Saturation, (False, True)))
UPS_KINDS = tuple(product(Saturation, (False, True)))
UPS_GROUP = 8
"""Shifts of UPS in one block."""
LOW_HALVES = (0, 0x7FFF, 0x8000, 0x8001)
"""Lower halves of FP32 codes: exact, and around a half of BF16's last place."""
MX, MX_ANSWER = places(MxRequest), places(MxResult)


def numbers(bits: int, signed: bool) -> np.ndarray:
    """Return every integer of ``bits`` bits."""
    return np.arange(1 << bits) - (1 << bits - 1 if signed else 0)


def srs(config: IntegerLanesConfig, rng: Generator, block: int) -> Iterator[Batch]:
    """Every 16-bit number as a 32-bit and a 64-bit accumulator, to both output widths, with every shift."""
    rounding, saturation, signed = SRS_KINDS[block]
    for acc_bits, out_bits in ((acc, out) for acc, outs in SRS_MODES.items() for out in outs):
        rows = numbers(BITS, signed=True).astype(f"<i{acc_bits // 8}").reshape(-1, LANES * 32 // acc_bits)
        for shift in SRS_SWEPT:
            ask = SrsAsk(acc_bits, out_bits, shift, rounding, saturation, signed)
            yield _lanes(ask, rows)


def ups(config: IntegerLanesConfig, rng: Generator, block: int) -> Iterator[Batch]:
    """Every 16-bit number (8-bit for 8-bit inputs) to accumulators of both widths, with every shift."""
    kind, group = divmod(block, len(UPS_SHIFTS) // UPS_GROUP)
    saturation, signed = UPS_KINDS[kind]
    for acc_bits, vector_bits in ((acc, vector) for acc, vectors in UPS_MODES.items() for vector in vectors):
        values = numbers(min(vector_bits, BITS), signed)
        rows = values.astype(f"<{'i' if signed else 'u'}{vector_bits // 8}").reshape(-1, LANES * 32 // acc_bits)
        for shift in UPS_SHIFTS[group * UPS_GROUP : (group + 1) * UPS_GROUP]:
            ask = UpsAsk(acc_bits, vector_bits, shift, saturation, signed)
            yield _lanes(ask, rows)


def _lanes(ask: IntegerAsk, rows: np.ndarray) -> Batch:
    """Rows of numbers at the bottom of a request, and a control word above."""
    request, result = (places(each) for each in ask.layouts(LANES))
    fields = [place for path, place in request.items() if path.startswith("control")]
    lowest, width = fields[0][0], sum(each for _, each in fields)
    words, count = words_of(lowest + width), len(rows)
    parts = (Part(_words(rows)), Part(fill(1, words, [(lowest, width, ask.control)]), np.zeros(count, np.uint32)))

    def answer() -> np.ndarray:
        """Results of the lanes and the flag above them."""
        results, overflow = ask.golden(rows.astype(np.int64))
        answers = np.zeros((count, result["overflow"][0] // 32 + 1), np.uint32)
        given = _words(results.astype(f"<i{ask.bits_of(ask.gives) // 8}"))
        answers[:, : given.shape[1]] = given
        answers[:, -1] = overflow.any(axis=1)
        return answers

    return Batch(f"{ask.bin}, shift {ask.shift}", parts, count, answer)


def _words(rows: np.ndarray) -> np.ndarray:
    """Rows of little-endian numbers as words, zeros above the last."""
    data = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
    return np.pad(data, [(0, 0), (0, -data.shape[1] % 4)]).view(np.uint32)


def mx_codes(rng: Generator) -> np.ndarray:
    """Every upper half of an FP32 code with some lower halves, uint32 [n, 16]: in a block, exponents near each other."""
    codes = np.add.outer(np.arange(1 << BITS) << BITS, LOW_HALVES).ravel()
    order = np.argsort((codes >> 23 & 0xFF) + rng.uniform(-6, 6, codes.size))
    return codes[order].astype(np.uint32).reshape(-1, MX_BLOCK)


def mx_convert(config: MxConvertConfig, rng: Generator, block: int) -> Iterator[Batch]:
    """Every upper half of an FP32 code in one rounding code, to all block formats."""
    rounding = tuple(RoundingCode)[block]
    for fmt in MX_FORMATS.values():
        rows = mx_codes(rng)
        control = {"block_format": MxCode.of(fmt).value, "rounding": rounding.value}
        words = words_of(sum(width for _, width in MX.values()))
        one = fill(1, words, [(*MX[f"control.{name}"], value) for name, value in control.items()])
        parts = (Part(rows), Part(one, np.zeros(len(rows), np.uint32)))
        golden = lambda rows=rows, fmt=fmt: _blocks(config, rows, fmt, rounding)  # noqa: E731
        yield Batch(f"{fmt.name}, {rounding.name}", parts, len(rows), golden)


def _blocks(config: MxConvertConfig, rows: np.ndarray, fmt: MxFormat, rounding: RoundingCode) -> np.ndarray:
    """Return blocks and their memory images in the unit's format."""
    blocks = aie_ml_v2.to_mx(rows.view(np.float32), fmt, rounding=rounding, numerics=config.numerics)
    size = sum(width for _, width in MX_ANSWER.values()) // 8
    answers = np.zeros((len(rows), size), np.uint8)
    answers[:, :1], answers[:, 1:2] = blocks.exponent, blocks.shift
    answers[:, 2 : 2 + MX_BLOCK] = blocks.codes[:, 0].view(np.uint8)
    answers[:, 2 + MX_BLOCK : 2 + MX_BLOCK + fmt.block_bytes] = aie_ml_v2.pack_mx(blocks)[:, 0]
    return answers.view(np.uint32)


def _rows(values: int, acc_bits: int) -> int:
    return values * acc_bits // (LANES * 32)


SWEEPS = (
    VolumeTask(
        name="sweep-srs",
        machine="aie_ml_v2",
        unit="srs",
        what=f"every 16-bit number at shifts {SRS_SWEPT[0]} to {SRS_SWEPT[-1]}, every mode; {LANES} or {LANES // 2} in a vector",
        config=IntegerLanesConfig,
        block_vectors=len(SRS_SWEPT) * sum(len(outs) * _rows(1 << BITS, acc) for acc, outs in SRS_MODES.items()),
        blocks=len(SRS_KINDS),
        batches=srs,
        random=False,
        layout=lambda: side_by_side(("", srs_request(LANES))),
    ),
    VolumeTask(
        name="sweep-ups",
        machine="aie_ml_v2",
        unit="ups",
        what=f"every 16-bit number at every shift, every mode; {LANES} or {LANES // 2} in a vector",
        config=IntegerLanesConfig,
        block_vectors=UPS_GROUP
        * sum(_rows(1 << min(vector, BITS), acc) for acc, vectors in UPS_MODES.items() for vector in vectors),
        blocks=len(UPS_KINDS) * len(UPS_SHIFTS) // UPS_GROUP,
        batches=ups,
        random=False,
        layout=lambda: side_by_side(("", ups_request(LANES))),
    ),
    VolumeTask(
        name="sweep-mx-convert",
        machine="aie_ml_v2",
        unit="mx_convert",
        what="every upper half of an FP32 code with 4 lower ones, every format and rounding; 16 in a vector",
        config=MxConvertConfig,
        block_vectors=len(MX_FORMATS) * (len(LOW_HALVES) << BITS) // MX_BLOCK,
        blocks=len(RoundingCode),
        batches=mx_convert,
        layout=lambda: MX,
    ),
)
