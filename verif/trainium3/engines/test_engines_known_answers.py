"""Known answers of Activation2 and rand2, which a program of its own computed with fractions."""

import ml_dtypes
import numpy as np

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.fp32 import convert
from bitpath.golden.trainium3 import Xorwow, activate2, rand2
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.declarations.engines import ReduceCommand
from bitpath.golden.trainium3.exact import activate2 as exact_activate2
from bitpath.verif.trainium3.dtype_words import bits, tile


def cases(archive):
    """Yield each case's description and its arrays."""
    for number, case in enumerate(archive["meta"].tolist()):
        prefix = f"a{number}_"
        yield case, {key.removeprefix(prefix): value for key, value in archive.items() if key.startswith(prefix)}


def test_activate2(kat):
    archive, compared = kat("trn_core_act.npz"), 0
    for (name, op0, op1, op, reduce_op, *reverse, parameter), arrays in cases(archive):
        flags = [each == "1" for each in reverse]
        immediates = arrays["imm"].view(np.float32)
        for dtype, key in ((np.float32, "out"), (ml_dtypes.bfloat16, "out_bf16")):
            got, registers = activate2(
                tile(name, arrays["data"]), op, op0, op1, immediates[:, :1], immediates[:, 1:],
                relu_param=np.uint32(parameter).view(np.float32), reverse0=flags[0], reverse1=flags[1],
                reduce_op=reduce_op, reduce_cmd="reset_reduce", dtype=dtype,
            )  # fmt: skip
            assert bits(got) == arrays[key].tolist()
            assert bits(registers[:, np.newaxis]) == arrays["reduce"].tolist()
            compared += got.size
        for p, row in enumerate(arrays["data"].tolist()):
            expected = exact_activate2(
                row, name, op, (op0, op1), tuple(arrays["imm"][p].tolist()), reverse=tuple(flags),
                relu_param=int(parameter), reduce_op=reduce_op, reduce_cmd=ReduceCommand.RESET_REDUCE,
            )  # fmt: skip
            assert expected == (arrays["out"][p].tolist(), int(arrays["reduce"][p, 0]))
    assert compared == 2 * sum(arrays["out"].size for _, arrays in cases(archive)) > 0


def test_rand2(kat):
    archive = kat("trn_core_act.npz")
    state, words = archive["rand2_state"], archive["rand2_words"]
    assert Xorwow(state).elements(words.shape[1]).tolist() == words.tolist()
    for name, ends in (("fp32", "rand2_min_max"), ("bf16", "rand2_min_max"), ("int8", "rand2_int8_min_max")):
        low, high = archive[ends].view(np.float32)
        dtype = {"int8": np.int8, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}[name]
        got = rand2(Xorwow(state), words.shape[1], low, high, dtype=dtype)
        assert bits(got) == archive[f"rand2_{name}"].tolist()
    assert archive["rand2_bf16"].tolist() == [
        [convert(code, FP32, FORMATS["bf16"]) for code in row] for row in archive["rand2_fp32"].tolist()
    ]
