"""NKI 0.1, ``neuronxcc.nki``: own kernels, and the published tutorials of SDK 2.26.1 as they are, against instructions written out."""

import sys
from dataclasses import replace
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.golden.nki.old.language import OLD_LANGUAGE, promoted
from bitpath.verif.nki.checkouts import kernel_file
from bitpath.verif.nki.compositions import ACCUMULATE, MATMULS, average_pool, mamba, matmul, normal, product, same

with nki.installed():
    from bitpath.verif.nki import old_kernels

BF16 = np.dtype(ml_dtypes.bfloat16)
STRICT = nki.Options(strict=True, strict_memory=True)


def by_tiles(function, x):
    """Return a function's results for each 128 rows."""
    return np.concatenate([function(x[first : first + 128]) for first in range(0, len(x), 128)])


def opcodes(run):
    return [each.opcode for each in run.instructions]


# Own kernels.


def softmax(x):
    """Write the softmax of rows out."""
    shifted = trainium3.tensor_scalar(x, "subtract", trainium3.tensor_reduce(x, "max"))
    powers = trainium3.activation(shifted, "exp", bias=None)
    return trainium3.tensor_scalar(powers, "multiply", trainium3.reciprocal(trainium3.tensor_reduce(powers, "add")))


@pytest.mark.parametrize("rows", [128, 200, 40])
def test_softmax_of_ragged_rows(rows):
    x = normal("softmax", rows, 48)
    run = nki.run(old_kernels.softmax, x, options=STRICT)
    assert same(run.outputs, by_tiles(softmax, x))
    assert opcodes(run).count("dma_copy") == 2 * -(-rows // 128)


def test_a_mask_leaves_a_box():
    """It holds where a copy casts the result, too; a mask that leaves nothing leaves the instruction out."""
    x = normal("masked", 64, 32)
    run = nki.run(old_kernels.masked, x, options=STRICT)
    expected = x.copy()
    expected[:32, :16] = trainium3.activation(np.ascontiguousarray(x[:32, :16]), "square", bias=None)
    expected[32:] = x[32:].astype(BF16)
    assert same(run.outputs, expected)
    copies = ["tensor_copy", "activation", "tensor_copy", "tensor_copy"]
    assert opcodes(run) == ["dma_copy", *copies, "activation", "dma_copy"]


def test_functions_of_several_instructions():
    x = (np.arange(400, dtype=np.float32) / 64 - 3.125).reshape(40, 10)
    y = np.where(np.arange(40) % 2, 0.5, -4).astype(np.float32)[:, None]
    made = nki.run(old_kernels.composed, x, y, options=STRICT).outputs
    for name, own in zip(("floor", "ceil", "trunc"), made, strict=False):
        assert same(own, getattr(np, name)(x)), name
    assert (np.abs(made[3] - np.cos(x)) < 1e-5).all()
    for name, own in zip(("mod", "fmod"), made[5:], strict=True):
        assert (own == getattr(np, name)(x, y)).all(), name


def test_an_affine_predicate():
    x = normal("causal", 64, 64)
    lowest = np.finfo(np.float32).min
    assert same(nki.run(old_kernels.causal, x, options=STRICT).outputs, np.where(np.tri(64, dtype=bool), x, lowest))


def test_products_add_up_in_psum():
    a, b = normal("a", 384, 64, dtype=BF16), normal("b", 384, 96, dtype=BF16)
    run = nki.run(old_kernels.matmul, a, b, options=STRICT)
    assert same(run.outputs, trainium3.cast(matmul(np.split(a, 3), np.split(b, 3)), BF16))
    assert opcodes(run).count("nc_matmul") == 3
    assert opcodes(run).count("tensor_copy") == 1


def test_products_add_to_what_psum_holds():
    a, b, c = normal("a", 32, 16, dtype=BF16), normal("b", 32, 24, dtype=BF16), normal("c", 16, 24)
    run = nki.run(old_kernels.added, a, b, c, options=STRICT)
    for made, before in zip(run.outputs, (c, np.ones_like(c)), strict=True):
        assert same(made, trainium3.nc_matmul(a, b, dst=before, psum_accumulate_flag=ACCUMULATE))


def test_masks_of_products_and_copies():
    """The second of two tiles of the contraction has 40 rows or none."""
    for rows in (168, 128):
        a, b = normal("a", rows, 64, dtype=BF16), normal("b", rows, 96, dtype=BF16)
        run = nki.run(old_kernels.ragged_matmul, a, b)
        padded = [np.pad(each, ((0, 256 - rows), (0, 0))) for each in (a, b)]
        tiles = 1 if rows == 128 else 2
        made, turned = run.outputs
        assert same(made, trainium3.cast(matmul(*(np.split(each, 2)[:tiles] for each in padded)), BF16))
        assert same(turned, np.ascontiguousarray(a.T))
        assert opcodes(run).count("nc_matmul") == 2 * tiles


def test_an_output_argument_is_written():
    a, b, out = normal("a", 64, 96, dtype=BF16), normal("b", 96, 32, dtype=BF16), np.zeros((64, 32), np.float32)
    assert nki.run(old_kernels.product, a, b, out, options=STRICT).outputs is None
    assert same(out, matmul([np.ascontiguousarray(a.T)], [b]))


@pytest.mark.parametrize("grid", [(2, 3), "inner", "outer"])
def test_instances_of_a_grid(grid):
    x = normal("x", 64, 48)
    nc = OLD_LANGUAGE["nc"]
    cores = {"inner": 1 * nc(2), "outer": nc(2) * 1}.get(grid)
    run = nki.run(old_kernels.doubled[grid if cores is None else (cores, 3)], x, options=STRICT)
    assert same(run.outputs, 2 * x)
    assert {each.core for each in run.instructions} == ({0} if cores is None else {0, 1})
    assert len(run.instructions) == 6 * 3


def test_instances_on_two_cores_of_each_rank():
    x = normal("x", 2, 64, 48)
    grid = OLD_LANGUAGE["nc"](2) * 1, 3
    run = nki.run(old_kernels.doubled[grid], nki.PerRank(x), ranks=2, options=STRICT)
    assert all(same(made, 2 * own) for made, own in zip(run.outputs, x, strict=True))
    assert {each.core for each in run.instructions} == {0, 1, 2, 3}


def test_old_kernels_run_on_the_newest_release():
    x = normal("x", 64, 48)
    with pytest.raises(
        nki.NkiValidationError, match=f"release must be {nki.NEWEST} for a kernel of NKI 0.1.*, not 2.28"
    ):
        nki.run(old_kernels.doubled[2, 3], x, release="2.28")
    own = replace(nki.RELEASES[nki.NEWEST].numerics, has_columns=False)
    assert same(nki.run(old_kernels.doubled[2, 3], x, release=own).outputs, 2 * x)


def test_rows_by_a_tile_of_indices():
    table, indices = normal("table", 100, 24), np.array([[3], [99], [0], [3]], np.int32)
    assert same(nki.run(old_kernels.gathered, table, indices, options=STRICT).outputs, table[indices[:, 0]])


@pytest.mark.parametrize(
    ("what", "error", "says"),
    [
        ("triangle", NotImplementedError, "a mask that leaves no box of elements is outside of the part of NKI 0.1"),
        ("square", nki.NkiValidationError, r"an index must be an affine expression of nl.arange, .* \(old_kernels.py:"),
        (
            "edge",
            nki.NkiValidationError,
            r"an index of dimension 0 must be 0 to 7 where no mask leaves it out, not 8 \(old",
        ),
        ("partitions", nki.NkiValidationError, r"the first dimension of the indices must be that of the partitions"),
        ("changed", NotImplementedError, "a result whose assigned tile has changed since is outside"),
        (
            "rmw",
            NotImplementedError,
            "neuronxcc.nki.language.atomic_rmw: this name is outside .* the NKI migration guide",
        ),
    ],
)
def test_the_rest_is_refused(what, error, says):
    with pytest.raises(error, match=says):
        nki.run(old_kernels.outside, normal("x", 8, 8), what)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("int32", "float16"), "float16"),
        (("float32", "bfloat16"), "float32"),
        (("float16", "bfloat16"), "float32"),
        (("float8_e4m3", "float16"), "float16"),
        (("float8_e4m3", "float8_e5m2"), "bfloat16"),
        (("int16", "int32"), "int32"),
        (("uint16", "int32"), "int32"),
        (("int8", "uint8"), "int16"),
        (("int8", "uint16"), "int32"),
        (("int32", "uint32"), "float32"),
    ],
)
def test_promoted_dtypes(names, expected):
    """The table of "NKI API common fields", and its scalars."""
    dtypes = [np.dtype(getattr(ml_dtypes, name, name)) for name in names]
    assert promoted(*(each.type(0) for each in dtypes)) == expected
    assert promoted(np.int8(0), 2) == "int32"
    assert promoted(np.float16(0), 1.2) == "float32"


# The published tutorials.


EXAMPLES = "nki/examples"


def example(path):
    return kernel_file(f"{EXAMPLES}/{path}", "aws-neuron-sdk-2.26.1")


def stand_in(monkeypatch, *names):
    """Stand in for a package that a tutorial imports for its checks alone."""
    for name in names:
        module = ModuleType(name)
        module.__version__, module.softmax = "1.0", None
        monkeypatch.setitem(sys.modules, name, module)


def test_tutorial_tensor_addition():
    a, b = normal("a", 256, 1024, dtype=np.float16), normal("b", 256, 1024, dtype=np.float16)
    module = example("tensor_addition/spmd_tensor_addition_nki_kernels.py")
    assert same(module.nki_tensor_add(a, b), a + b)
    assert same(nki.run(nki.jit(module.nki_tensor_add), a, b, options=STRICT).outputs, a + b)
    module = example("tensor_addition/spmd_multiple_nc_tensor_addition_nki_kernels.py")
    assert same(module.nki_tensor_add_nc2(a, b), a + b)
    assert same(example("getting_started_baremetal.py").nki_tensor_add_kernel(a[:4], b[:4]), a[:4] + b[:4])


def test_tutorial_transpose2d():
    x = np.arange(60, dtype=np.int8).reshape(5, 12)
    run = nki.run(
        example("transpose2d/transpose2d_nki_kernels.py").tensor_transpose2D_kernel_, x, (3, 4), options=STRICT
    )
    assert same(run.outputs, x.reshape(5, 3, 4).transpose(0, 2, 1).reshape(5, 12))
    assert opcodes(run) == ["dma_copy", "tensor_copy", "dma_copy"]


def test_tutorial_average_pool2d():
    x = normal("pool", 4, 8, 8, dtype=np.float16)
    module = example("average_pool2d/average_pool2d_nki_kernels.py")
    assert same(nki.run(module.tensor_avgpool_kernel, x, 2, options=STRICT).outputs, average_pool(x))


def test_tutorial_of_indices():
    x = normal("x", 4, 5)
    even, odd = nki.run(example("index-case-1.py").tensor_split_kernel_, x, options=STRICT).outputs
    assert same(even, np.ascontiguousarray(x[:, ::2]))
    assert same(odd, np.ascontiguousarray(x[:, 1::2]))
    x = normal("pool", 2, 6, 6)
    run = nki.run(example("index-case-3.py").tensor_maxpool_kernel_, x, 2, options=STRICT)
    assert same(run.outputs, x.reshape(2, 3, 2, 3, 2).max(axis=(2, 4)))


@pytest.mark.parametrize(
    ("name", "shape", "more", "blocks"),
    MATMULS,
)
def test_tutorial_matrix_multiplication(name, shape, more, blocks):
    k, m, n = shape
    lhs, rhs = normal("lhs", k, m, dtype=BF16), normal("rhs", k, n, dtype=BF16)
    module = example("matrix_multiplication/matrix_multiplication_nki_kernels.py")
    assert same(nki.run(getattr(module, name), lhs, rhs, *more, options=STRICT).outputs, product(lhs, rhs, blocks))


@pytest.mark.parametrize("path", ["mm-nl-spmd.py", "mm-nisa-spmd.py"])
def test_tutorial_matmul_of_a_grid(path):
    lhs, rhs = normal("lhs", 128, 512, dtype=BF16), normal("rhs", 128, 1024, dtype=BF16)
    kernel = example(path).matmul_128x128x512_spmd[4, 2]
    first = np.ascontiguousarray(lhs.T) if path == "mm-nl-spmd.py" else lhs
    assert same(nki.run(kernel, first, rhs, options=STRICT).outputs, product(lhs, rhs))


def rmsnorm(x, weight):
    """Write the tutorial out."""
    total = trainium3.tensor_reduce(trainium3.activation(x, "square", bias=None), "add")
    root = trainium3.activation(trainium3.tensor_scalar(total, "multiply", 1 / x.shape[1]), "rsqrt", bias=None)
    scaled = trainium3.tensor_scalar(x, "multiply", root)
    return trainium3.tensor_tensor(scaled, np.repeat(weight[None], len(x), axis=0), "multiply")


@pytest.mark.filterwarnings("ignore::bitpath.golden.nki.NkiWarning")
@pytest.mark.parametrize("rows", [128, 160])
def test_tutorial_rmsnorm(rows):
    """The kernel's last rows are not loaded in its second chunk, and not stored."""
    x, weight = normal("x", rows, 512), normal("weight", 512)
    run = nki.run(example("rmsnorm/rmsnorm_nki_kernels.py").nki_rmsnorm_kernel, x, weight)
    assert same(run.outputs, by_tiles(lambda tile: rmsnorm(tile, weight), x))
    assert bool(run.warnings) == (rows % 128 != 0)


def layernorm(x, epsilon, gamma, beta, version):
    """Write a tutorial out: version 1 by means, version 2 by bn_stats of 512 columns."""
    columns = x.shape[1]
    if version == 1:

        def mean_of(values):
            return trainium3.tensor_scalar(trainium3.tensor_reduce(values, "add"), "multiply", 1 / columns)

        mean = mean_of(x)
        squares = mean_of(trainium3.activation(x, "square", bias=None))
        variance = trainium3.tensor_tensor(squares, trainium3.tensor_tensor(mean, mean, "multiply"), "subtract")
    else:
        stats = [trainium3.bn_stats(np.ascontiguousarray(x[:, k : k + 512])) for k in range(0, columns, 512)]
        mean, variance = np.split(trainium3.bn_aggr(np.concatenate(stats, axis=1)), 2, axis=1)
    scale = trainium3.activation(trainium3.tensor_scalar(variance, "add", epsilon), "rsqrt", bias=None)
    made = trainium3.tensor_scalar(x, "subtract", np.ascontiguousarray(mean), op1="multiply", operand1=scale)
    for row, op in ((gamma, "multiply"), (beta, "add")):
        made = trainium3.tensor_tensor(made, np.repeat(row[None], len(x), axis=0), op)
    return made


@pytest.mark.filterwarnings("ignore::bitpath.golden.nki.NkiWarning")
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("rows", "columns"), [(128, 512), (140, 768)])
def test_tutorial_layernorm(version, rows, columns):
    x, gamma, beta = normal("x", rows, columns), normal("gamma", columns), normal("beta", columns)
    kernel = getattr(example("layernorm/layernorm_nki_kernel.py"), f"nki_layernorm_kernel_v{version}")
    run = nki.run(kernel, x, 1e-5, gamma, beta)
    assert same(run.outputs, by_tiles(lambda tile: layernorm(tile, 1e-5, gamma, beta, version), x))


@pytest.mark.parametrize("name", ["mamba_v1", "mamba_v2", "mamba_v3"])
def test_tutorial_fused_mamba(name):
    states, length = 2, 512
    delta, u = abs(normal("delta", 1, 128, length)), normal("u", 1, 128, length)
    a, b, c = -abs(normal("a", 128, states)), normal("b", 1, states, length), normal("c", 1, states, length)
    run = nki.run(getattr(example("fused_mamba/mamba_nki_kernels.py"), name), delta, u, a, b, c, options=STRICT)
    assert same(run.outputs[0], mamba(delta[0], u[0], a, b[0], c[0]))


@pytest.mark.parametrize("version", [1, 2])
def test_tutorial_attention(version, monkeypatch):
    stand_in(monkeypatch, "torch")
    q, k, v = (normal(name, 128, 128) for name in "qkv")
    run = nki.run(getattr(example("attention/attention_kernels.py"), f"attn_fwd_v{version}"), q, k, v, options=STRICT)
    weights = softmax(matmul([q], [k]))
    assert same(run.outputs, matmul([np.ascontiguousarray(weights.T)], [np.ascontiguousarray(v.T)]))


@pytest.mark.parametrize("causal", [False, True])
def test_tutorial_stable_diffusion_attention(causal, monkeypatch):
    stand_in(monkeypatch, "scipy", "scipy.special")
    q, k, v = (normal(name, 256, 64) for name in "qkv")
    module = example("sd_attention/sd_attention_nki_kernels.py")
    run = nki.run(module.fused_self_attn_for_SD_small_head_size, q, k, v, causal, options=STRICT)
    query, key, value = (trainium3.cast(each, BF16) for each in (q / 8, k, v))
    tiles = slice(0, 128), slice(128, 256)
    for rows in tiles:
        left = np.ascontiguousarray(query[rows].T)
        scores = np.concatenate([matmul([left], [np.ascontiguousarray(key[each].T)]) for each in tiles], axis=1)
        if causal:
            scores = np.where(np.tri(256, dtype=bool)[rows], scores, np.finfo(np.float32).min)
        powers = trainium3.activation(scores, "exp", bias=trainium3.tensor_reduce(scores, "max", negate=True))
        share = trainium3.reciprocal(trainium3.tensor_reduce(powers, "add"))
        weights = np.ascontiguousarray(trainium3.cast(powers, BF16).T)
        sums = matmul([value[each] for each in tiles], [weights[each] for each in tiles])
        expected = trainium3.tensor_tensor(sums, np.repeat(share.T, 64, axis=0), "multiply")
        assert same(np.ascontiguousarray(run.outputs[rows]), np.ascontiguousarray(expected.T))
