"""Known answers of the scalar functions through the RTL; results are compared with the archive's, not with golden."""

import cocotb

from bitpath.golden.aie_ml_v2.declarations.scalar import ScalarFunction
from bitpath.rtl.aie_ml_v2.scalar.scalar_functions import ScalarFunctionsConfig
from bitpath.verif.aie_ml_v2.lanes.bench import LIMIT, LaneBench
from bitpath.verif.aie_ml_v2.lanes.known_answers import archive
from bitpath.verif.aie_ml_v2.scalar.scalar_functions import FunctionCases
from bitpath.verif.kit.bench import config_from_environment


@cocotb.test(**LIMIT)
async def known_answers(dut):
    answers = archive("scalar")
    source = FunctionCases(config_from_environment(ScalarFunctionsConfig), 1)
    codes = answers["nlf_x"].tolist()
    cases = [
        case
        for function in ScalarFunction
        for case in source.cases(function, codes, answers=answers[f"nlf_{function.value}"])
    ]
    await LaneBench(source).swept(dut, cases)
