"""Known answers of amd-quark's two implementations through the RTL of the conversion to MX.

``BITPATH_KAT_DIR`` is the folder that holds them. Blocks that the RTL gives are compared with the archive's, not with
golden.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import MX_BIAS, MX_BLOCK, MX_FORMATS, MX_NAN_EXPONENT, RoundingCode
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.mx_convert import MxConvert, MxConvertConfig
from bitpath.verif.aie_ml_v2.convert.mx_convert import conversions, results_of
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import Pipeline, Request
from bitpath.verif.kit.testplan import covers

UNIT = MxConvert(config_from_environment(MxConvertConfig))
LIMIT = {"timeout_time": 1, "timeout_unit": "ms"}


def archive() -> dict[str, np.ndarray]:
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "aie_mx_blocks.npz") as answers:
        return dict(answers)


async def convert(dut, words: np.ndarray, blocks: aie.MxBlocks) -> None:
    """Convert FP32 codes [n, 16] and expect these blocks [n, 1]."""
    given = conversions(words, blocks.fmt, RoundingCode.CONV_EVEN)
    requests = [
        Request(each.payload, result.bits, each.shown) for each, result in zip(given, results_of(blocks), strict=True)
    ]
    async with bench(dut, UNIT.signature, drain=False) as frame:
        await Pipeline(frame, UNIT.latency).sweep(requests)


@covers("mx_convert.known_answers", "Independent implementations by other authors")
@cocotb.test(**LIMIT)
@cocotb.parametrize(name=list(MX_FORMATS))
async def finite_blocks(dut, name):
    """600 finite blocks in three formats and one non-finite block from amd-quark; ten rounding codes measured on
    silicon for FP32 to BF16."""
    answers = archive()
    finite = answers["finite_block"]
    blocks = aie.MxBlocks(
        name,
        (answers[f"{name}_block_exp"][finite] + MX_BIAS).astype(np.uint8)[:, np.newaxis],
        answers[f"{name}_shift_bits"][finite][:, np.newaxis],
        answers[f"{name}_codes"][finite][:, np.newaxis],
    )
    values = aie.from_mx(blocks).view(np.uint32)
    for kind in ("deq_bits", "cpp_even_deq_bits"):
        expected = answers[f"{name}_{kind}"][finite]
        zero = expected & ~np.uint32(FP32.sign_mask) == 0
        assert np.array_equal(np.where(zero, 0, expected), np.where(values == FP32.sign_mask, 0, values))
    await convert(dut, answers["x_bits"][finite], blocks)


@covers("mx_convert.known_answers")
@cocotb.test(**LIMIT)
@cocotb.parametrize(name=list(MX_FORMATS))
async def other_blocks(dut, name):
    """Non-finite blocks, whose elements are all NaN in the kernel."""
    answers = archive()
    special = ~answers["finite_block"]
    assert np.all(answers[f"{name}_cpp_even_deq_bits"][special] & ~np.uint32(FP32.sign_mask) > FP32.infinity_code)
    count = int(special.sum())
    nan = np.full((count, 1), MX_NAN_EXPONENT, np.uint8)
    await convert(
        dut,
        answers["x_bits"][special],
        aie.MxBlocks(name, nan, np.zeros_like(nan), np.zeros((count, 1, MX_BLOCK), np.int8)),
    )
