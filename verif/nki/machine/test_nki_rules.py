"""Rules of memories, allocations, indices, engines, generations and launches: each just kept and just broken."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.golden.nki.declarations.errors import UNDEFINED
from bitpath.verif.nki.machine.one_instruction import (
    check_allowed,
    check_broken,
    filled,
    hbm,
    in_hbm,
    in_psum,
    matmul,
    one,
    psum,
    quantize,
    sbuf,
    silent,
    tile,
    warned,
)

# Rules of engines, generations and launches, each just kept and just broken, and the reduction of scalar_tensor_tensor.


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


def product_of(result, dtype):
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
    "no engine": (
        both(nl.add, sbuf, sbuf, "nonsense"),
        "tensor_tensor engine: must be a member of nki.isa.engine, not 'nonsense'",
    ),
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
    "bfloat16 in PSUM": (product_of("bfloat16", "bfloat16"), "nc_matmul dst: bfloat16 needs gen4, not gen3"),
    "E4M3FN": (
        product_of("float32", "float8_e4m3fn"),
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
    assert nki.run(product_of("float32", "bfloat16"), options=nki.Options(target="trn2")).instructions


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
        for out, each in zip(outs, (made, results), strict=True):
            nisa.dma_copy(out, each)
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


# Undefined behaviour, of which a run is warned and that a strict run refuses, each beside the nearest that is defined.


def products(*accumulate, between=None):
    """Add matmuls in PSUM, with an instruction between the first and the second."""

    def kernel():
        made, one = psum(8, 8), sbuf(8, 8, dtype="bfloat16", value=1)
        for k, each in enumerate(accumulate):
            nisa.nc_matmul(made, one, one, accumulate=each)
            if between is not None and k == 0:
                between(made)

    return kernel


def reductions(*commands):
    """Run select_reduce with each command; the registers are read in the end."""

    def kernel():
        for command in commands:
            nisa.select_reduce(
                sbuf(4, 8), sbuf(4, 8, dtype="uint8"), sbuf(4, 8), 0.0, sbuf(4, 1), nisa.reduce_cmd[command]
            )

    return kernel


def activations(*commands):
    def kernel():
        for command in commands:
            nisa.activation(
                sbuf(4, 8), nl.copy, sbuf(4, 8), reduce_op=nl.add, reduce_cmd=nisa.reduce_cmd[command],
                reduce_res=sbuf(4, 1) if command == commands[-1] else None,
            )  # fmt: skip

    return kernel


def gathered(dtype):
    return lambda: nisa.local_gather(sbuf(16, 16, dtype=dtype), sbuf(16, 8), sbuf(16, 1, dtype="uint16"))


def moved(**more):
    return lambda: nisa.dma_copy(sbuf(4, 8), sbuf(4, 8), **more)


def turned(**more):
    return lambda: nisa.dma_transpose(sbuf(8, 4), sbuf(4, 8), **more)


HWDGE = nisa.dge_mode.hwdge
WARNED_OF = {
    "accumulation onto a memset": (
        products(True),
        "nc_matmul dst: must not be added to on gen3 where an instruction other than a matmul has written",
        products(False, True),
        "trn2",
    ),
    "accumulation onto a memset behind a matmul": (
        products(None, None, between=lambda made: nisa.memset(made, 0.0)),
        "nc_matmul dst: must not be added to on gen3 where an instruction other than a matmul has written",
        products(None, None, between=lambda made: nisa.tensor_copy(sbuf(8, 8), made)),
        "trn2",
    ),
    "VectorE's registers behind idle": (
        lambda: (reductions("reset_reduce")(), nisa.exponential(sbuf(4, 8), sbuf(4, 8)), reductions("reduce")()),
        "select_reduce: accumulators are read that nothing has set",
        reductions("reset_reduce", "reduce"),
        "trn3",
    ),
    "VectorE's registers of idle": (
        reductions("idle"),
        "select_reduce: accumulators are read that nothing has set",
        reductions("reset_reduce"),
        "trn3",
    ),
    "ScalarE's registers at the start": (
        activations("reduce"),
        "activation: accumulators are read that nothing has set",
        activations("reset_reduce", "idle"),
        "trn3",
    ),
    "ScalarE's registers that stay idle": (
        activations("idle"),
        "activation: accumulators are read that nothing has set",
        activations("reset", "idle"),
        "trn3",
    ),
    "cast of a gather": (
        gathered("bfloat16"),
        "local_gather dst: dtype must be src_buffer's float32, not bfloat16",
        gathered("float32"),
        "trn3",
    ),
    "name as a priority": (
        moved(priority="nonsense"), "dma_copy priority must be an integer, not 'nonsense'", moved(priority=0), "trn3"
    ),
    "priority of a copy": (moved(priority=4), "dma_copy priority must be 0 to 3, not 4", moved(priority=3), "trn3"),
    "priority of a transpose": (
        turned(priority=-1), "dma_transpose priority must be 0 to 3, not -1", turned(priority=0), "trn3"
    ),
    "priority on gen3": (moved(priority=0), "dma_copy priority: must be None on gen3, not 0", moved(), "trn2"),
    "engine of descriptors": (
        moved(engine=ENGINE.vector, dge_mode=HWDGE),
        "dma_copy engine: must be sync, scalar or unknown, not vector",
        moved(engine=ENGINE.sync, dge_mode=HWDGE),
        "trn3",
    ),
    "name as an engine of descriptors": (
        moved(engine="nonsense"), "dma_copy engine: must be sync, scalar or unknown, not nonsense", moved(), "trn3"
    ),
    "engine without hwdge": (
        moved(engine=ENGINE.scalar),
        "dma_copy engine: must be unknown without dge_mode hwdge, not scalar",
        moved(engine=ENGINE.scalar, dge_mode=HWDGE),
        "trn3",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WARNED_OF)
def test_nki_what_is_undefined_is_warned_of_and_refused_by_a_strict_run(name):
    kernel, sentence, defined, target = WARNED_OF[name]
    warned(kernel, sentence, target)
    silent(defined, target)


def test_nki_a_strict_run_accepts_kinds_of_what_is_undefined():
    options = nki.Options(strict=True, accepted=("queue",))
    with pytest.warns(nki.NkiWarning, match="dma_copy priority must be 0 to 3, not 4"):
        nki.run(moved(priority=4), options=options)
    with pytest.raises(nki.NkiValidationError, match="accumulators are read"):
        nki.run(reductions("idle"), options=options)
    with pytest.raises(ValueError, match=re.escape("accepted must be of unwritten, returned, ")):
        nki.Options(accepted=("all",))


def test_nki_every_warning_is_of_a_kind_that_a_run_may_accept():
    sources = "".join(path.read_text() for path in sorted(Path(nki.__file__).parent.rglob("*.py")))
    kinds = re.findall(r'(?:warn|doubtful)\(\s*"(\w+)"', sources)
    assert set(kinds) == set(UNDEFINED)


def test_nki_gen4_accumulates_onto_a_memset():
    silent(products(True))


def test_nki_a_gather_into_another_dtype_is_a_cast():
    def kernel(x):
        made, source = nl.ndarray((16, 16), nl.int16), nl.load(x)
        nisa.local_gather(made, source, sbuf(16, 1, dtype="uint16"))
        out = nl.ndarray(made.shape, made.dtype, nl.shared_hbm)
        nisa.dma_copy(out, made)
        return out

    x = np.full((16, 2), 2.5, np.float32)
    with pytest.warns(nki.NkiWarning, match="dtype must be src_buffer's float32, not int16"):
        assert (nki.run(kernel, x).outputs == 2).all()  # to the nearest, ties to even


@pytest.mark.parametrize("priority", [None, 0, 1, 2, 3])
def test_nki_a_priority_reaches_the_queue_of_the_dma(priority):
    run = nki.run(moved(priority=priority))
    assert run.instructions[-1].queue == trainium3.QueueConfig(priority=3 if priority is None else priority)


def loads(*priorities, behind=False):
    """Return the names of loads with priorities in the order of their times; ``behind`` a load each of what they read."""

    def kernel(x):
        for k, priority in enumerate(priorities):
            source = x
            if behind:
                source = nl.ndarray(x.shape, x.dtype)
                nisa.dma_copy(source, x, name=f"source {k}")
            nisa.dma_copy(nl.ndarray(x.shape, x.dtype), source, priority=priority, name=f"{k}")

    spans = nki.run(kernel, np.zeros((4, 8), np.float32)).cycles.spans
    return [span.instruction.name for span in sorted(spans, key=lambda span: span.start)]


@pytest.mark.parametrize(
    ("priorities", "order"),
    [
        ((None, None, None), "012"),
        ((3, None, 2), "201"),
        ((None, 2, 1, 0), "3210"),
        ((1, 0, 1, 0), "1302"),
        ((0, None, 0, 1), "0231"),
    ],
)
def test_nki_dma_of_the_lower_priority_is_served_first(priorities, order):
    """In the order of the kernel inside a priority; without one it is the lowest."""
    assert "".join(loads(*priorities)) == order


@pytest.mark.parametrize("priorities", [(0, 0), (None, 0), (0, None)])
def test_nki_a_dma_follows_what_it_depends_on(priorities):
    """A load of a higher priority is served in front of others, but not of that of what it reads."""
    order = loads(*priorities, behind=True)
    assert all(order.index(f"source {k}") < order.index(f"{k}") for k in range(2))


def test_nki_a_dma_follows_by_depends_on_and_at_a_barrier():
    def kernel(barrier):
        first = nisa.dma_copy(sbuf(4, 8), sbuf(4, 8), name="first")
        if barrier:
            nisa.core_barrier(hbm(4, 8), (0, 1))
        second = nisa.dma_copy(sbuf(4, 8), sbuf(4, 8), priority=0, name="second")
        if not barrier:
            second.depends_on(first)

    for run in (nki.run(kernel, False), nki.run(nki.jit(kernel)[2], True)):
        for core in {span.instruction.core for span in run.cycles.spans}:
            names = [each.instruction.name for each in run.cycles.spans if each.instruction.core == core]
            assert [name for name in names if name] == ["first", "second"]


# Rules of memories, partitions, allocations and indices: a kernel that breaks each, and one that just does not.


with nki.installed():
    import nki.isa as nisa
    import nki.language as nl
    from nki import collectives

ADD = nl.add


def mx(first, tile=((0, 0), (32, 128))):
    """Multiply MX words with scales that begin at a partition of their quadrant."""
    left = right = sbuf(32, 4, dtype="float8_e4m3fn_x4")
    scales = sbuf(32, 4, dtype="uint8")
    view = scales[first : first + 4]
    nisa.nc_matmul_mx(psum(4, 4), left, right, view, view, tile_position=tile[0], tile_size=tile[1])


def gather(limit):
    index = filled(nl.ndarray((4, 1), "int32", nl.sbuf), limit)
    nisa.dma_copy(sbuf(4, 8), hbm(5, 8).ap([[8, 4], [1, 8]], vector_offset=index))


def mx_matmul(**more):
    left = right = sbuf(32, 4, dtype="float8_e4m3fn_x4")
    scales = sbuf(32, 4, dtype="uint8")
    nisa.nc_matmul_mx(psum(4, 4), left, right, scales, scales, **more)


def transpose(**more):
    nisa.nc_matmul(
        psum(8, 8, dtype="bfloat16"),
        sbuf(8, 8, dtype="bfloat16"),
        filled(sbuf(8, 8, dtype="bfloat16"), 0),
        is_transpose=True,
        **more,
    )


RULES = {
    # Memories.
    "operand of a matmul": (
        lambda: nisa.nc_matmul(psum(8, 8), psum(8, 8), sbuf(8, 8)),
        "nc_matmul stationary: must be in sbuf, not in psum",
        lambda: nisa.nc_matmul(psum(8, 8), sbuf(8, 8), sbuf(8, 8)),
    ),
    **{
        f"psum_accumulate_flag {flag} of {name}": (
            lambda multiply=multiply, flag=flag: multiply(psum_accumulate_flag=flag),
            f"{name} psum_accumulate_flag must be 0, 1, 2, 3, 4 or 6, not {flag}",
            lambda multiply=multiply, flag=flag: multiply(psum_accumulate_flag=flag % 5),
        )
        for name, multiply in (("nc_matmul", matmul), ("nc_matmul_mx", mx_matmul))
        for flag in (5, 7, 8, -1, True)
    },
    "result of a matmul": (lambda: matmul(dst=sbuf(8, 8)), "nc_matmul dst: must be in psum, not in sbuf", matmul),
    "result of quantize_mx": (lambda: quantize(where=psum), "quantize_mx dst: must be in sbuf, not in psum", quantize),
    "result of iota": (
        lambda: nisa.iota(psum(4, 8, dtype="int32"), [[1, 8]]),
        "iota dst: must be in sbuf, not in psum",
        lambda: nisa.iota(sbuf(4, 8, dtype="int32"), [[1, 8]]),
    ),
    "tile of affine_select": (
        lambda: nisa.affine_select(sbuf(4, 8), [[1, 8]], 1, psum(4, 8), 0.0),
        "affine_select on_true_tile: must be in sbuf, not in psum",
        lambda: nisa.affine_select(sbuf(4, 8), [[1, 8]], 1, sbuf(4, 8), 0.0),
    ),
    "source of a gather": (
        lambda: nisa.nc_n_gather(sbuf(4, 8), psum(4, 8), sbuf(4, 8, dtype="uint32")),
        "nc_n_gather data: must be in sbuf, not in psum",
        lambda: nisa.nc_n_gather(sbuf(4, 8), sbuf(4, 8), sbuf(4, 8, dtype="uint32")),
    ),
    "DMA": (
        one(nisa.dma_copy, in_hbm, in_psum),
        "dma_copy src: must be in sbuf or private_hbm or shared_hbm, not in psum",
        one(nisa.dma_copy, in_hbm, tile),
    ),
    "GpSimd": (
        one(nisa.tensor_copy, tile, in_psum, engine=nisa.engine.gpsimd),
        r"tensor_copy engine: GpSimd cannot reach PSUM, where tensor_\d+ is",
        one(nisa.tensor_copy, tile, in_psum, engine=nisa.engine.vector),
    ),
    "compute on HBM": (
        one(nisa.tensor_copy, tile, in_hbm),
        "tensor_copy src: must be in sbuf or psum, not in shared_hbm",
        one(nisa.tensor_copy, tile, tile),
    ),
    # Two operands in PSUM.
    "tensor_tensor": (
        one(nisa.tensor_tensor, tile, in_psum, in_psum, op=ADD),
        "tensor_tensor data1 and data2: must not both be in PSUM",
        one(nisa.tensor_tensor, in_psum, in_psum, tile, op=ADD),
    ),
    "scalar_tensor_tensor": (
        one(nisa.scalar_tensor_tensor, tile, in_psum, ADD, 1.0, ADD, in_psum),
        "scalar_tensor_tensor data and operand1: must not both be in PSUM",
        one(nisa.scalar_tensor_tensor, in_psum, tile, ADD, 1.0, ADD, in_psum),
    ),
    "scan": (
        one(nisa.tensor_tensor_scan, tile, in_psum, in_psum, 0.0, ADD, ADD),
        "tensor_tensor_scan data0 and data1: must not both be in PSUM",
        one(nisa.tensor_tensor_scan, in_psum, tile, in_psum, 0.0, ADD, ADD),
    ),
    "predicated copy": (
        lambda: nisa.tensor_copy_predicated(sbuf(4, 8), psum(4, 8), psum(4, 8, dtype="uint8")),
        "tensor_copy_predicated src and predicate: must not both be in PSUM",
        lambda: nisa.tensor_copy_predicated(sbuf(4, 8), psum(4, 8), sbuf(4, 8, dtype="uint8")),
    ),
    # Partitions.
    "96 partitions": (
        lambda: filled(nl.ndarray((128, 4), "float32")[32:128], 0),
        "memset dst: 96 partitions must start at 0, not at 32",
        lambda: filled(nl.ndarray((128, 4), "float32")[0:96], 0),
    ),
    "33 partitions": (
        lambda: filled(nl.ndarray((128, 4), "float32")[32:65], 0),
        "memset dst: 33 partitions must start at 0, 64, not at 32",
        lambda: filled(nl.ndarray((128, 4), "float32")[64:97], 0),
    ),
    "32 partitions": (
        lambda: filled(nl.ndarray((128, 4), "float32")[16:48], 0),
        "memset dst: 32 partitions must start at 0, 32, 64, 96, not at 16",
        lambda: filled(nl.ndarray((128, 4), "float32")[96:128], 0),
    ),
    "partition of an allocation": (
        lambda: (
            filled(nl.ndarray((32, 4), "float32", nl.sbuf, address=(48, 0))[16:20], 0)
            and filled(nl.ndarray((32, 4), "float32", nl.sbuf, address=(48, 0))[0:20], 0)
        ),
        "memset dst: 20 partitions must start at 0, 32, 64, 96, not at 48",
        lambda: filled(nl.ndarray((64, 4), "float32", nl.sbuf, address=(48, 0))[16:36], 0),
    ),
    "partition of one row": (
        lambda: filled(nl.ndarray((128, 4), "float32")[5], 0),
        "memset dst: 1 partitions must start at 0, 32, 64, 96, not at 5",
        lambda: nisa.dma_copy(nl.ndarray((128, 4), "float32")[5], sbuf(1, 4)),
    ),
    "step over partitions": (
        lambda: filled(nl.ndarray((128, 4), "float32")[0:64:2], 0),
        "memset dst: must have 1 to 128 partitions that follow each other",
        lambda: nisa.dma_copy(nl.ndarray((128, 4), "float32")[0:64:2], sbuf(32, 4)),
    ),
    "row of MX scales": (
        lambda: mx(5),
        "nc_matmul_mx stationary_scale_offset must be 0, 4, 8 or 12, not 5",
        lambda: mx(4),
    ),
    "free dimensions": (
        lambda: sbuf(4, 400).ap([[400, 4], [100, 2], [40, 2], [10, 2], [3, 2]]).expand_dim(1),
        r"tensor_\d+: a view must have at most 5 dimensions, not 6",
        lambda: filled(sbuf(4, 400).ap([[400, 4], [100, 2], [40, 2], [10, 2], [3, 2]]), 0),
    ),
    # Allocations.
    "partitions of a tensor": (
        lambda: nl.ndarray((129, 4), "float32", name="tall"),
        r"tall: shape must have 1 to 128 partitions and a free dimension, not \(129, 4\)",
        lambda: nl.ndarray((128, 4), "float32"),
    ),
    "dimensions of a tensor": (
        lambda: nl.ndarray((4,), "float32", name="flat"),
        r"flat: shape must have 1 to 128 partitions and a free dimension, not \(4,\)",
        lambda: nl.ndarray((4,), "float32", nl.shared_hbm),
    ),
    "end of SBUF": (
        lambda: nl.ndarray((4, 8), "float32", nl.sbuf, "far", (0, 256 * 1024 - 28)),
        "far: bytes 262116 to 262147 must start at a multiple of 4 and lie below 262144",
        lambda: nl.ndarray((4, 8), "float32", nl.sbuf, "far", (0, 256 * 1024 - 32)),
    ),
    "last partition": (
        lambda: nl.ndarray((32, 8), "float32", nl.sbuf, "low", (97, 0)),
        "low: partitions 97 to 128 must be below 128",
        lambda: nl.ndarray((32, 8), "float32", nl.sbuf, "low", (96, 0)),
    ),
    "start of a bank": (
        lambda: psum(4, 8, address=(0, 1024)),
        r"tensor_\d+: a PSUM address must start a bank of 2048 bytes, not 1024",
        lambda: psum(4, 8, address=(0, 7 * 2048)),
    ),
    "alignment": (
        lambda: nl.ndarray((4, 8), "float32", nl.sbuf, "odd", (0, 2)),
        "odd: bytes 2 to 33 must start at a multiple of 4 and lie below 262144",
        lambda: nl.ndarray((4, 8), "bfloat16", nl.sbuf, "odd", (0, 2)),
    ),
    "address in HBM": (
        lambda: nl.ndarray((4, 8), "float32", nl.shared_hbm, "there", (0, 0)),
        r"there: address must be None in HBM, not \(0, 0\)",
        lambda: nl.ndarray((4, 8), "float32", nl.shared_hbm, "there"),
    ),
    "dtype of a tensor": (
        lambda: nl.ndarray((4, 8), "float64"),
        "dtype must be one of bool, .*, not 'float64'",
        lambda: nl.ndarray((4, 8), np.float16),
    ),
    # Indices.
    "end of a slice": (
        lambda: sbuf(4, 8)[:, 4:9],
        r"tensor_\d+: a slice of dimension 1 must lie in 0 to 8, not 4 to 9",
        lambda: sbuf(4, 8)[:, 4:8],
    ),
    "index": (
        lambda: sbuf(4, 8)[:, 8],
        r"tensor_\d+: an index of dimension 1 must be 0 to 7, not 8",
        lambda: sbuf(4, 8)[:, -8],
    ),
    "end of a pattern": (
        lambda: filled(sbuf(4, 8).ap([[8, 4], [1, 9]]), 0),
        r"tensor_\d+: elements must be 0 to 7, not 0 to 8",
        lambda: filled(sbuf(4, 8).ap([[8, 4], [-1, 8]], offset=7), 0),
    ),
    "partition step of a pattern": (
        lambda: sbuf(4, 8).ap([[4, 4], [1, 4]]),
        r"tensor_\d+: the first step must be 8, the elements of a partition, not 4",
        lambda: sbuf(4, 8).ap([[4, 1], [1, 4]]),
    ),
    "index read at run time": (lambda: gather(5), r"tensor_\d+: an index must be below 5, not 5", lambda: gather(4)),
    "negative index read at run time": (
        lambda: gather(-1),
        r"tensor_\d+: an index must be below 5, not -1",
        lambda: gather(0),
    ),
    "written loop variable": (
        lambda: [nisa.register_move(i, 3) for i in nl.dynamic_range(2)],
        "a loop's variable must not be written",
        lambda: [nisa.register_move(nisa.register_alloc(1), i) for i in nl.dynamic_range(2)],
    ),
    "text as a mode": (
        lambda: nisa.dma_copy(sbuf(4, 8), hbm(4, 8), oob_mode="skip"),
        "dma_copy oob_mode: must be a member of nki.isa.oob_mode, not 'skip'",
        lambda: nisa.dma_copy(sbuf(4, 8), hbm(4, 8), oob_mode=None, dge_mode=3),
    ),
    "flag of a matmul by position": (
        lambda: nisa.nc_matmul(psum(4, 8), sbuf(4, 4), sbuf(4, 8), *[False] * 3, None, (), (), None, 3),
        "nc_matmul takes 10 arguments in release 2.33, not 11",
        lambda: nisa.nc_matmul(psum(4, 8), sbuf(4, 4, value=1), sbuf(4, 8, value=1), perf_mode=None),
    ),
    "one core": (
        one(nisa.sendrecv, tile, tile, 1, 1, 0),
        "sendrecv needs a launch of two cores",
        lambda: nisa.core_barrier(hbm(4, 8), (0, 1)),
    ),
}


def test_a_broken_rule_is_one_sentence_with_its_line(subtests):
    for name, (breaks, sentence, _) in RULES.items():
        with subtests.test(name):
            check_broken(breaks, sentence)


def test_the_nearest_that_is_allowed(subtests):
    for name, (_, _, keeps) in RULES.items():
        with subtests.test(name):
            check_allowed(keeps)


def returned(buffer):
    made = nl.ndarray((4, 8), "float32", buffer)
    nisa.memset(made, 0.0) if buffer is nl.sbuf else nisa.dma_copy(made, sbuf(4, 8))
    return made


@pytest.mark.parametrize("buffer", [nl.sbuf, nl.private_hbm])
def test_a_returned_tensor_is_in_shared_hbm(buffer):
    with pytest.raises(nki.NkiValidationError, match="a returned tensor must be in shared_hbm, not tensor_1"):
        nki.run(returned, buffer)
    assert nki.run(returned, nl.shared_hbm).outputs.shape == (4, 8)


def test_an_argument_may_be_returned():
    x = np.arange(4, dtype=np.float32)
    assert (nki.run(lambda x: x, x).outputs == x).all()


UNSUPPORTED = {
    "nki.isa.no_such": lambda: nisa.no_such,
    "nki.language.mgrid": lambda: nl.mgrid,
    "nki.language.par_dim": lambda: nl.par_dim,
    "nki.collectives.broadcast": lambda: collectives.broadcast,
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_not_modelled_says_its_name(name):
    with pytest.raises(NotImplementedError, match=f"^{re.escape(name)}: "):
        UNSUPPORTED[name]()
