"""Known answers through the RTL of PACK, UNPACK and MX to FP32; a run chooses its unit's test.

Results are compared with the archives', not with golden.
"""

import cocotb
import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS, Saturation
from bitpath.verif.aie_ml_v2.lanes import tb_mx_widen, tb_pack_unpack
from bitpath.verif.aie_ml_v2.lanes.known_answers import archive
from bitpath.verif.aie_ml_v2.lanes.tb_pack_unpack import Ask, register_bytes, request_of, words
from bitpath.verif.kit.pipeline import LIMIT


@cocotb.test(**LIMIT)
async def packed(dut):
    """Elements in every saturation, and every byte unpacked."""
    answers = archive("int4")
    size = register_bytes()
    cases = []
    for bits in (4, 8):
        for saturation, both in zip(Saturation, answers[f"pack{2 * bits}_out"], strict=True):
            for signed, expected in enumerate(both):
                ask = Ask(False, bits, bool(signed), saturation)
                given = words(answers[f"pack{2 * bits}_x"].astype(f"<i{2 * bits // 8}"))
                cases += [request_of(ask, *pair) for pair in zip(given, _halves(expected, bits), strict=True)]
    for signed, name in enumerate(("unsigned", "signed")):
        every = np.arange(256, dtype=np.uint8)
        results = words(answers[f"unpack4_{name}"].astype(np.uint8).ravel())
        given = [every[k * size // 2 :][: size // 2].tobytes() for k in range(len(results))]
        ask = Ask(True, 4, bool(signed), Saturation.NONE)
        cases += [request_of(ask, half * 2, result) for half, result in zip(given, results, strict=True)]
    await tb_pack_unpack.BENCH.send(dut, cases)


def _halves(expected: np.ndarray, bits: int) -> list[bytes]:
    """Return results in the lower halves of registers, the last one filled up as `words` does."""
    size = register_bytes()
    count = size * 4 // bits
    some = np.concatenate([expected, expected])[: -(-len(expected) // count) * count] & (1 << bits) - 1
    rows = some[0::2] | some[1::2] << 4 if bits == 4 else some
    return [each.tobytes().ljust(size, b"\0") for each in rows.astype(np.uint8).reshape(-1, size // 2)]


@cocotb.test(**LIMIT)
async def blocks(dut):
    """Every block of the three formats."""
    answers = archive("convert")
    cases = []
    for name, fmt in MX_FORMATS.items():
        given = (answers[f"{name}_{part}"][:, np.newaxis] for part in ("exponent", "shift", "codes"))
        cases += tb_mx_widen.requests_of(fmt, *given, answers[f"{name}_f32"])
    await tb_mx_widen.BENCH.send(dut, cases)
