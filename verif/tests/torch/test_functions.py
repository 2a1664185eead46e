"""Torch's functions in the context `machine`: each against torch on integers, whose bits agree, and against golden."""

import math

import numpy as np
import pytest

layers = pytest.importorskip("bitpath.torch")
samples = pytest.importorskip("bitpath.verif.tests.torch.samples")
functions = pytest.importorskip("bitpath.torch.functions")
torch, golden, integers = samples.torch, samples.golden, samples.integers
nn, functional = torch.nn, torch.nn.functional
pytestmark = pytest.mark.deep


@pytest.fixture
def products(monkeypatch):
    """Return the list of the products that are computed by golden."""
    found = []

    def product(a, b, *names):
        found.append((a, b))
        return own(a, b, *names)

    own = functions.product
    monkeypatch.setattr(functions, "product", product)
    return found


def shaped(*shapes):
    return [integers(*shape, seed=seed) for seed, shape in enumerate(shapes)]


CALLS = {
    "linear": (functional.linear, shaped((2, 3, 8), (5, 8), (5,)), {}),
    "linear by name": (lambda x, w: functional.linear(input=x, weight=w), shaped((8,), (5, 8)), {}),
    "matmul": (torch.matmul, shaped((2, 3, 8), (8, 5)), {}),
    "matmul broadcast": (torch.matmul, shaped((4, 1, 3, 8), (2, 8, 5)), {}),
    "matmul of vectors": (torch.matmul, shaped((8,), (8,)), {}),
    "row by matrices": (torch.matmul, shaped((8,), (4, 8, 3)), {}),
    "matrices by column": (torch.Tensor.matmul, shaped((4, 3, 8), (8,)), {}),
    "@": (lambda a, b: a @ b, shaped((3, 8), (8, 5)), {}),
    "mm": (torch.mm, shaped((3, 8), (8, 5)), {}),
    "mm by name": (lambda a, b: a.mm(mat2=b), shaped((3, 8), (8, 5)), {}),
    "bmm": (torch.bmm, shaped((2, 3, 8), (2, 8, 5)), {}),
    "mv": (torch.mv, shaped((3, 8), (8,)), {}),
    "addmm": (torch.addmm, shaped((5,), (3, 8), (8, 5)), {"beta": 0.5, "alpha": 2}),
    "addmm without its input": (torch.addmm, [torch.tensor(math.nan), *shaped((3, 8), (8, 5))], {"beta": 0}),
    "baddbmm": (torch.baddbmm, shaped((2, 3, 5), (2, 3, 8), (2, 8, 5)), {"alpha": 0.5}),
    "einsum": (torch.einsum, ["bhqd,bhkd->bhqk", *shaped((2, 3, 4, 8), (2, 3, 5, 8))], {}),
    "einsum of a list": (torch.einsum, ["bij, kjl -> lbk", shaped((2, 3, 8), (4, 8, 5))], {}),
    "einsum without output": (torch.einsum, ["...d,hd", *shaped((2, 3, 8), (5, 8))], {}),
    "einsum broadcast": (torch.einsum, ["...ij,...jk->...ik", *shaped((2, 1, 3, 8), (4, 8, 5))], {}),
    "einsum of unlike axes": (torch.einsum, ["...ij,...jk", *shaped((3, 8), (4, 8, 5))], {}),
    "einsum to a number": (torch.einsum, ["i,i->", *shaped((8,), (8,))], {}),
    "conv1d": (functional.conv1d, shaped((2, 6, 9), (8, 3, 3), (8,)), {"stride": 2, "padding": 1, "groups": 2}),
    "conv1d dilated": (functional.conv1d, shaped((2, 6, 9), (8, 6, 3)), {"dilation": 2, "padding": "same"}),
    "conv2d": (
        functional.conv2d,
        shaped((2, 6, 9, 7), (4, 6, 3, 2), (4,)),
        {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)},
    ),
    "conv2d of one": (functional.conv2d, shaped((6, 9, 7), (4, 6, 3, 3)), {"padding": "valid"}),
    "conv2d by channel": (functional.conv2d, shaped((2, 6, 5, 5), (12, 1, 3, 3)), {"groups": 6, "padding": 1}),
    "conv3d": (functional.conv3d, shaped((1, 2, 4, 5, 6), (3, 2, 2, 3, 2)), {"stride": 2}),
}
if hasattr(functional, "grouped_mm"):
    OFFSETS = torch.tensor([2, 2, 10], dtype=torch.int32)
    CALLS["grouped_mm"] = (functional.grouped_mm, shaped((10, 16), (3, 16, 8)), {"offs": OFFSETS})


@pytest.mark.parametrize(("call", "arguments", "named"), CALLS.values(), ids=CALLS)
def test_integers_give_torchs_bits(call, arguments, named, products):
    expected = call(*arguments, **named)
    with layers.machine(format="bf16"):
        found = call(*arguments, **named)
    assert products
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert torch.equal(found, expected)


@pytest.mark.parametrize(("call", "arguments", "named"), CALLS.values(), ids=CALLS)
def test_results_have_torchs_dtype(call, arguments, named):
    def narrow(x):
        return (
            [narrow(each) for each in x] if isinstance(x, list) else x.bfloat16() if isinstance(x, torch.Tensor) else x
        )

    with layers.machine(format="bf16"):
        assert call(*narrow(arguments), **named).dtype == torch.bfloat16
        if call is not getattr(functional, "grouped_mm", None):
            with torch.autocast("cpu", torch.float16):
                assert call(*arguments, **named).dtype == torch.float16


def test_a_convolution_runs_over_channels_then_the_kernel():
    x, w = torch.randn(2, 6, 5, 5), torch.randn(4, 6, 3, 3)
    with layers.machine(format="mx6"):
        found = functional.conv2d(x, w, padding=1)
    columns = functional.unfold(x, 3, padding=1)
    assert torch.equal(found.flatten(2), golden(columns.mT, w.flatten(1).T, format="mx6").mT)


MASK = torch.tensor([[True, False, True, True], [False] * 4, [True] * 4])
ATTENTION = {
    "plain": ((2, 4, 3, 16), (2, 4, 4, 16), {}),
    "one head": ((3, 16), (4, 16), {"scale": 0.3}),
    "causal": ((2, 4, 3, 16), (2, 4, 3, 16), {"is_causal": True}),
    "mask": ((2, 4, 3, 16), (2, 4, 4, 16), {"attn_mask": MASK}),
    "bias": ((2, 4, 3, 16), (2, 4, 4, 16), {"attn_mask": torch.arange(12.0).reshape(3, 4)}),
    "groups": ((2, 4, 3, 16), (2, 2, 3, 16), {"enable_gqa": True, "is_causal": True}),
}


@pytest.mark.parametrize(("q", "k", "named"), ATTENTION.values(), ids=ATTENTION)
def test_attention_is_two_products(q, k, named, products):
    random = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(shape, generator=random) for shape in (q, k, k))
    exact = functional.scaled_dot_product_attention(query, key, value, **named)
    with layers.machine(format="bf16_lofi"):
        found = functional.scaled_dot_product_attention(query, key, value, **named)
    # Close to torch's own with the wrong mask or scale it could not be.
    assert found.shape == exact.shape
    assert layers.relative_rms(found, exact) < 0.05
    assert len(products) == 2
    repeats = query.shape[-3] // key.shape[-3] if "enable_gqa" in named else 1
    keys, values = (x.repeat_interleave(repeats, -3) if repeats > 1 else x for x in (key, value))
    scores = golden(query, keys.mT, format="bf16_lofi") * named.get("scale", 0.25)
    if named.get("is_causal"):
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -math.inf)
    mask = named.get("attn_mask")
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    weights = scores.softmax(-1).nan_to_num(0)
    assert torch.equal(found, golden(weights, values, format="bf16_lofi"))


def test_dropout_of_attention():
    torch.manual_seed(0)
    with layers.machine(format="bf16"):
        assert not functional.scaled_dot_product_attention(*shaped((3, 8), (4, 8), (4, 8)), dropout_p=1.0).any()


@pytest.mark.parametrize("need_weights", [True, False])
def test_multi_head_attention_is_torchs_own_with_products_by_golden(need_weights, products):
    torch.manual_seed(0)
    layer, x = nn.MultiheadAttention(32, 2, batch_first=True).eval(), torch.randn(2, 5, 32)
    with torch.no_grad():
        exact, weights = layer(x, x, x, need_weights=need_weights)
        with layers.machine(format="bf16"):
            found, own = layer(x, x, x, need_weights=need_weights)
    # Three projections, or one for all, then scores, values and the projection of the output.
    assert len(products) == 4
    assert layers.relative_rms(found, exact) < 0.01
    assert not torch.equal(found, exact)
    assert (own is None) == (weights is None) == (not need_weights)


LEFT = {
    "integers": (torch.matmul, [torch.ones(2, 3, dtype=torch.int64), torch.ones(3, 2, dtype=torch.int64)], {}),
    "complex": (torch.matmul, [torch.ones(2, 3, dtype=torch.complex64), torch.ones(3, 2, dtype=torch.complex64)], {}),
    "integers in a list": (
        torch.einsum,
        ["ij,jk", [torch.ones(2, 3, dtype=torch.int64), torch.ones(3, 2, dtype=torch.int64)]],
        {},
    ),
    "out": (torch.matmul, shaped((2, 3), (3, 2)), {"out": torch.empty(2, 2)}),
    "outer product": (torch.einsum, ["i,j->ij", *shaped((3,), (5,))], {}),
    "elements": (torch.einsum, ["ij,ij->ij", *shaped((3, 4), (3, 4))], {}),
    "three": (torch.einsum, ["ij,jk,kl", *shaped((2, 3), (3, 4), (4, 5))], {}),
    "diagonal": (torch.einsum, ["ii,ij", *shaped((3, 3), (3, 4))], {}),
    "add": (torch.add, shaped((2, 3), (2, 3)), {}),
}


@pytest.mark.parametrize(("call", "arguments", "named"), LEFT.values(), ids=LEFT)
def test_other_calls_stay_torchs(call, arguments, named, products):
    expected = call(*arguments, **named).clone()
    with layers.machine(format="mx4"):
        assert torch.equal(call(*arguments, **named), expected)
    assert not products


def test_the_inner_context_counts_and_an_exception_leaves_it():
    a, b = torch.randn(3, 48), torch.randn(48, 5)
    with layers.machine(format="mx4"):
        with layers.machine(format="mx9", rounding=0):
            assert torch.equal(a @ b, golden(a, b, format="mx9", rounding=0))
        assert torch.equal(a @ b, golden(a, b, format="mx4"))
        with pytest.raises(ValueError, match=r"^a and b must have shapes .*, not \[3, 48\] and \[5, 48\]$"):
            a @ b.T
    assert torch.equal(a @ b, torch.matmul(a, b))


def test_a_gradient_within_the_context_is_in_float32():
    a = torch.randn(3, 48, requires_grad=True)
    b = torch.randn(48, 5)
    with layers.machine(format="mx4"):
        (a @ b).sum().backward()
    np.testing.assert_array_equal(a.grad, torch.ones(3, 5) @ b.T)


def test_a_compiled_function_has_the_same_bits():
    x = torch.randn(2, 4, 6, 16)

    def call(x):
        with layers.machine(format="mx6"):
            return functional.scaled_dot_product_attention(x, x, x) @ x.mT

    assert torch.equal(torch.compile(call, backend="aot_eager", fullgraph=True)(x), call(x))


def test_mistakes_of_names_are_those_of_linear():
    with pytest.raises(ValueError, match=r"^format must be one of floats for a layer, not 'int8'$"):
        layers.machine(format="int8")
    with pytest.raises(TypeError, match=r"^options of trainium3 must be .*, not 'chip'$"):
        layers.machine(format="mxfp4", chip="wormhole")
