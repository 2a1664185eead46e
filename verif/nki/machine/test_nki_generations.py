"""Rules of engines, generations and launches, each just kept and just broken, and the reduction of scalar_tensor_tensor."""

import re

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.machine.one_instruction import hbm, psum, quantize, sbuf

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

BF = ml_dtypes.bfloat16
ENGINE = nisa.engine


def scaled(op0, *second, engine):
    return lambda: nisa.tensor_scalar(sbuf(4, 8), sbuf(4, 8), op0, 2.0, False, *second, engine=engine)


def both(op, left, dst, engine=ENGINE.unknown):
    return lambda: nisa.tensor_tensor(dst(4, 8), left(4, 8), sbuf(4, 8), op, engine=engine)


def biased(dtype):
    return lambda: nisa.activation(sbuf(4, 8), nl.exp, sbuf(4, 8), bias=sbuf(4, 1, dtype=dtype))


def matmul(result, dtype):
    return lambda: nisa.nc_matmul(psum(8, 8, dtype=result), sbuf(8, 8, dtype=dtype), sbuf(8, 8, dtype=dtype))


def reversed_reduction():
    nisa.tensor_scalar_reduce(sbuf(4, 8), sbuf(4, 8), nl.subtract, 1.0, nl.add, sbuf(4, 1), reverse0=True)


KEPT = {
    "multiply on ScalarE": scaled(nl.multiply, engine=ENGINE.scalar),
    "add on ScalarE": scaled(nl.add, engine=ENGINE.scalar),
    "multiply and add on ScalarE": scaled(nl.multiply, nl.add, 1.0, engine=ENGINE.scalar),
    "rsqrt on GpSimd": lambda: nisa.tensor_scalar(
        sbuf(4, 8, value=1), sbuf(4, 8, value=1), nl.rsqrt, engine=ENGINE.gpsimd
    ),
    "a copy on GpSimd": lambda: nisa.tensor_scalar(sbuf(4, 8), sbuf(4, 8), None, engine=ENGINE.gpsimd),
    "maximum on VectorE": scaled(nl.maximum, engine=ENGINE.vector),
    "power in SBUF": both(nl.power, sbuf, sbuf),
    "add on GpSimd": both(nl.add, sbuf, sbuf, ENGINE.gpsimd),
    "add in PSUM": both(nl.add, psum, sbuf),
    "bias of bfloat16": biased("bfloat16"),
}
BROKEN = {
    "maximum on ScalarE": (scaled(nl.maximum, engine=ENGINE.scalar), "op0 and op1: must not be max on scalar"),
    "add and multiply on ScalarE": (
        scaled(nl.add, nl.multiply, 1.0, engine=ENGINE.scalar),
        "op0 and op1: must not be add and multiply on scalar",
    ),
    "multiply on GpSimd": (scaled(nl.multiply, engine=ENGINE.gpsimd), "op0 and op1: must not be multiply on gpsimd"),
    "multiply on TensorE": (
        scaled(nl.multiply, engine=ENGINE.tensor),
        "tensor_scalar engine: must be vector, scalar, gpsimd or unknown, not tensor",
    ),
    "power from PSUM": (both(nl.power, psum, sbuf), "tensor_tensor engine: GpSimd cannot reach PSUM"),
    "power into PSUM": (both(nl.power, sbuf, psum), "tensor_tensor engine: GpSimd cannot reach PSUM"),
    "add on ScalarE": (
        both(nl.add, sbuf, sbuf, ENGINE.scalar),
        "tensor_tensor engine: must be vector, gpsimd or unknown, not scalar",
    ),
    "bias of TF32": (biased("tfloat32"), "activation bias: dtype must be bool, int8"),
    "a reversed reduction": (reversed_reduction, "tensor_scalar_reduce reverse0: must be False"),
}
NEEDS_GEN4 = {
    "bfloat16 in PSUM": (matmul("bfloat16", "bfloat16"), "nc_matmul dst: bfloat16 needs gen4, not gen3"),
    "E4M3FN": (
        matmul("float32", "float8_e4m3fn"),
        "nc_matmul stationary and moving: float8_e4m3fn needs gen4, not gen3",
    ),
    "exponential": (lambda: nisa.exponential(sbuf(4, 8), sbuf(4, 8)), "exponential needs gen4, not gen3"),
    "quantize_mx": (quantize, "quantize_mx needs gen4, not gen3"),
    "rand2": (lambda: nisa.rand2(sbuf(4, 8), 0.0, 1.0), "rand2 needs gen4, not gen3"),
    "activate2": (
        lambda: nisa.activate2(sbuf(4, 8), nl.exp, sbuf(4, 8), 1.0, 1.0, nl.multiply, nl.add),
        "activate2 needs gen4, not gen3",
    ),
    "nc_matmul_mx": (
        lambda: nisa.nc_matmul_mx(
            psum(8, 8), *[sbuf(32, 8, dtype="float8_e5m2_x4")] * 2, *[sbuf(32, 8, dtype="uint8")] * 2
        ),
        "nc_matmul_mx needs gen4, not gen3",
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_nki_a_kept_rule(name):
    assert not nki.run(KEPT[name], options=nki.Options(strict=True)).warnings


@pytest.mark.parametrize("name", BROKEN)
def test_nki_a_broken_rule(name):
    kernel, sentence = BROKEN[name]
    with pytest.raises(nki.NkiValidationError, match=re.escape(sentence)):
        nki.run(kernel)


@pytest.mark.parametrize("name", NEEDS_GEN4)
def test_nki_an_instruction_of_gen4(name):
    kernel, sentence = NEEDS_GEN4[name]
    nki.run(kernel)
    with pytest.raises(nki.NkiValidationError, match=re.escape(sentence)):
        nki.run(kernel, options=nki.Options(target="trn2"))


def test_nki_gen3_multiplies_bfloat16_into_fp32():
    assert nki.run(matmul("float32", "bfloat16"), options=nki.Options(target="trn2")).instructions


@pytest.mark.parametrize("cores", [(0,), (1, 0), [0, 1, 2]])
def test_nki_a_barrier_of_other_cores(cores):
    def kernel():
        nisa.core_barrier(hbm(4, 8), cores)

    with pytest.raises(
        nki.NkiValidationError, match=re.escape(f"must be (0, 1) in a launch of two cores, not {tuple(cores)}")
    ):
        nki.run(nki.jit(kernel)[2])
    nki.run(kernel)


def test_nki_a_list_as_an_argument():
    def kernel(x):
        assert x == [1, 2]

    nki.run(kernel, [1, 2])
    with pytest.raises(nki.NkiValidationError, match="x: must not be a list in a strict run; pass a tuple"):
        nki.run(kernel, [1, 2], options=nki.Options(strict=True))


def test_nki_keywords_of_jit_have_no_effect():
    """The library's kernels give those of the compiler."""
    assert (
        nki.run(nki.jit(mode="auto", debug_kernel=True)(lambda: None), options=nki.Options(strict=True)).outputs is None
    )


@pytest.mark.parametrize("number", [0, 1])
def test_nki_the_revision_of_the_silicon(number):
    found = []
    nki.run(lambda: found.append(nisa.get_nc_sub_version()), options=nki.Options(sub_version=number))
    assert found == [number]
    assert nisa.sync_engine is ENGINE.sync


@pytest.mark.parametrize("op", [nl.add, nl.multiply, nl.maximum, nl.minimum])
@pytest.mark.parametrize("dtype", [np.float32, BF])
def test_nki_scalar_tensor_tensor_reduces_its_fp32_results(op, dtype):
    """As in NKI 0.7: the results before their cast are reduced serially, and a second reduction goes on with the registers."""

    def kernel(x, y):
        a, b, made = (nl.ndarray(x.shape, x.dtype) for _ in range(3))
        nisa.dma_copy(a, x)
        nisa.dma_copy(b, y)
        results = nl.ndarray((x.shape[0], 2), nl.float32)
        given = {"op0": nl.multiply, "operand0": 1.5, "op1": nl.subtract, "operand1": b, "reduce_op": op}
        nisa.scalar_tensor_tensor(made, a, **given, reduce_res=results[:, 0:1])
        more = {"reduce_cmd": nisa.reduce_cmd.reduce, "reduce_res": results[:, 1:2]}
        nisa.scalar_tensor_tensor(made, a, **given, **more)
        outs = nl.ndarray(x.shape, x.dtype, nl.shared_hbm), nl.ndarray(results.shape, nl.float32, nl.shared_hbm)
        for out, tile in zip(outs, (made, results), strict=True):
            nisa.dma_copy(out, tile)
        return outs

    rng = np.random.default_rng(6)
    x, y = (rng.standard_normal((16, 20)).astype(dtype) for _ in range(2))
    run = nki.run(kernel, x, y, options=nki.Options(strict=True))
    made, reduced = run.outputs
    words = trainium3.scalar_tensor_tensor(x, "multiply", 1.5, "subtract", y, dtype=np.float32)
    assert made.tobytes() == words.astype(dtype).tobytes()
    step = {nl.add: np.add, nl.multiply: np.multiply, nl.maximum: np.maximum, nl.minimum: np.minimum}[op]
    identity = {nl.add: 0, nl.multiply: 1, nl.maximum: -np.inf, nl.minimum: np.inf}[op]
    state, expected = np.full(16, identity, np.float32), []
    for _ in range(2):
        for column in words.T:
            state = step(state, column)
        expected.append(state)
    assert reduced.tobytes() == np.array(expected).T.astype(np.float32).tobytes()
    assert ("reduction.order" in run.standing.keys) == (op in (nl.add, nl.multiply))
    assert [each.cycles for each in run.instructions if each.opcode == "scalar_tensor_tensor"] == [64 + 64] * 2
