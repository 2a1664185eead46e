"""Known answers of the scalar functions through the RTL; results are compared with the archive's, not with golden."""

import cocotb

from bitpath.golden.aie_ml_v2.declarations.scalar import ScalarFunction
from bitpath.verif.aie_ml_v2.lanes.known_answers import archive
from bitpath.verif.aie_ml_v2.scalar.tb_scalar_functions import BENCH, cases
from bitpath.verif.kit.pipeline import LIMIT


@cocotb.test(**LIMIT)
async def known_answers(dut):
    answers = archive("scalar")
    codes = answers["nlf_x"].tolist()
    made = [cases(each, codes, answers=answers[f"nlf_{each.value}"]) for each in ScalarFunction]
    await BENCH.send(dut, [request for each in made for request in each])
