"""Known answers through the RTL of PACK, UNPACK and MX to FP32; a run chooses its unit's test.

Results are compared with the archives', not with golden.
"""

import cocotb
import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS, Saturation
from bitpath.rtl.aie_ml_v2.lanes.layouts import MxWidenConfig, PackConfig
from bitpath.verif.aie_ml_v2.lanes.bench import LIMIT, LaneBench
from bitpath.verif.aie_ml_v2.lanes.known_answers import archive
from bitpath.verif.aie_ml_v2.lanes.mx_widen import MxCases
from bitpath.verif.aie_ml_v2.lanes.pack_unpack import Ask, PackCases
from bitpath.verif.kit.bench import config_from_environment


@cocotb.test(**LIMIT)
async def packed(dut):
    """Elements in every saturation, and every byte unpacked."""
    answers = archive("int4")
    source = PackCases(config_from_environment(PackConfig))
    cases = []
    for bits in (4, 8):
        for saturation, both in zip(Saturation, answers[f"pack{2 * bits}_out"], strict=True):
            for signed, expected in enumerate(both):
                ask = Ask(False, bits, bool(signed), saturation)
                given = source.words(answers[f"pack{2 * bits}_x"].astype(f"<i{2 * bits // 8}"))
                cases += [source.case(ask, *pair) for pair in zip(given, _halves(source, expected, bits), strict=True)]
    for signed, name in enumerate(("unsigned", "signed")):
        every = np.arange(256, dtype=np.uint8)
        results = source.words(answers[f"unpack4_{name}"].astype(np.uint8).ravel())
        given = [every[k * source.bytes // 2 :][: source.bytes // 2].tobytes() for k in range(len(results))]
        ask = Ask(True, 4, bool(signed), Saturation.NONE)
        cases += [source.case(ask, half * 2, result) for half, result in zip(given, results, strict=True)]
    await LaneBench(source).swept(dut, cases)


def _halves(source: PackCases, expected: np.ndarray, bits: int) -> list[bytes]:
    """Return results in the lower halves of registers, the last one filled up as `PackCases.words` does."""
    count = source.bytes * 4 // bits
    some = np.concatenate([expected, expected])[: -(-len(expected) // count) * count] & (1 << bits) - 1
    rows = some[0::2] | some[1::2] << 4 if bits == 4 else some
    return [each.tobytes().ljust(source.bytes, b"\0") for each in rows.astype(np.uint8).reshape(-1, source.bytes // 2)]


@cocotb.test(**LIMIT)
async def blocks(dut):
    """Every block of the three formats."""
    answers = archive("convert")
    source = MxCases(config_from_environment(MxWidenConfig))
    cases = []
    for name, fmt in MX_FORMATS.items():
        given = (answers[f"{name}_{part}"][:, np.newaxis] for part in ("exponent", "shift", "codes"))
        cases += source.cases(fmt, *given, answers[f"{name}_f32"])
    await LaneBench(source).swept(dut, cases)
