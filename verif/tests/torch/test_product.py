"""The operator of a product: torch's rules, gradients and transforms, and weights that are converted once."""

import copy
import gc

import pytest

layers = pytest.importorskip("bitpath.torch")
samples = pytest.importorskip("bitpath.verif.tests.torch.samples")
products = pytest.importorskip("bitpath.torch.product")
torch, tensors, golden, integers = samples.torch, samples.tensors, samples.golden, samples.integers
nn, func = torch.nn, torch.func
pytestmark = [
    pytest.mark.deep,
    # Torch's own rules for forward gradients.
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning"),
]


def mx4(x, w, bias=None):
    return layers.linear(x, w, bias, format="mx4")


# The checker itself looks at gradients of tensors that are no leaves.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")
@pytest.mark.parametrize("name", ["mxfp8_e4m3", "bf16_lofi", "mx9"])
@pytest.mark.parametrize("backward", [None, "mx6"])
def test_the_operator_obeys_torchs_rules(name, backward):
    x, w, _ = tensors(2, 3)
    own = pytest.importorskip("bitpath.torch.arithmetic").arithmetic(format=name, backward_format=backward)
    found = torch.library.opcheck(torch.ops.bitpath.matmul.default, (x, w.T, *own, torch.bfloat16))
    assert set(found.values()) == {"SUCCESS"}


@pytest.mark.parametrize("backward", [None, "bf16"])
def test_a_compiled_layer_has_the_same_bits_and_gradients(backward):
    def layer(*each):
        return layers.linear(*each, format="mx6", backward_format=backward, rounding=0)

    found = []
    for call in (layer, torch.compile(layer, backend="aot_eager", fullgraph=True)):
        leaves = tensors(2, 3)
        y = call(*leaves)
        y.square().sum().backward()
        found.append([y, *(each.grad for each in leaves)])
    assert all(map(torch.equal, *found))


# Gradients are straight-through: with integers, whose sums are exact, they are those of torch's own product.


@pytest.mark.parametrize("leading", [(), (3,), (2, 3)])
def test_the_gradient_is_that_of_torchs_linear(leading):
    gradients = []
    for linear in (mx4, nn.functional.linear):
        leaves = [integers(*shape).requires_grad_() for shape in ((*leading, 48), (5, 48), (5,))]
        y = linear(*leaves)
        y.backward(torch.arange(y.numel(), dtype=torch.float32).reshape(y.shape))
        gradients.append([each.grad for each in leaves])
    assert all(map(torch.equal, *gradients))


def test_the_gradient_in_a_format():
    x, w, _ = tensors(4)
    gradient = torch.randn(4, 5, generator=torch.Generator().manual_seed(1))
    layers.linear(x, w, format="mx9", backward_format="mx4").backward(gradient)
    assert torch.equal(x.grad, golden(gradient, w, format="mx4"))
    assert torch.equal(w.grad, golden(x.T, gradient, format="mx4").T)


X, DX = integers(3, 48), integers(3, 48, seed=1)
W, DW = integers(5, 48, seed=2), integers(5, 48, seed=3)
TRANSFORMS = {
    "grad": lambda call: func.grad(lambda x: (call(x, W) * DX[:, :5]).sum())(X),
    "grad of a parameter": lambda call: func.grad(lambda w: (call(X, w) * DX[:, :5]).sum())(W),
    "jvp": lambda call: func.jvp(call, (X, W), (DX, DW))[1],
    "jvp of x": lambda call: func.jvp(lambda x: call(x, nn.Parameter(W)), (X,), (DX,))[1],
    "vjp": lambda call: func.vjp(call, X, W)[1](DX[:, :5]),
    "jacrev": lambda call: func.jacrev(call)(X, W),
    "jacfwd": lambda call: func.jacfwd(call)(X, W),
    "hessian": lambda call: func.hessian(lambda x: call(x, x[:, :48]).sum())(X),
    "grad by rows": lambda call: torch.vmap(func.grad(lambda x: call(x, W).sum()))(X),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("backward", [None, "bf16"])
def test_transforms_of_torch_func(transform, backward):
    """bf16 holds these integers, so that the gradient in the format has the same bits."""

    def own(x, w):
        return layers.linear(x, w, format="mx4", backward_format=backward)

    found, expected = (transform(call) for call in (own, nn.functional.linear))
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    assert all(torch.equal(*pair) for pair in pairs)


def test_forward_mode_gives_the_machines_result_too():
    y, _ = func.jvp(mx4, (X, W), (DX, DW))
    assert torch.equal(y, golden(X, W.T, format="mx4"))


@pytest.mark.parametrize(
    ("a", "b", "places"),
    [
        ((7, 3, 48), (48, 5), (0, None)),
        ((3, 7, 48), (48, 5), (1, None)),
        ((3, 48), (48, 5, 7), (None, 2)),
        ((7, 3, 48), (7, 48, 5), (0, 0)),
        ((7, 3, 48), (2, 48, 5), (0, None)),
        ((2, 3, 48), (7, 48, 5), (None, 0)),
        ((7, 2, 3, 48), (48, 7, 5), (0, 1)),
    ],
)
def test_a_batch_by_vmap_has_the_bits_of_single_products(a, b, places):
    random = torch.Generator().manual_seed(0)
    sides = [torch.randn(shape, generator=random) for shape in (a, b)]

    def call(a, b):
        with layers.machine(format="mx6"):
            return a @ b

    batch = torch.vmap(call, in_dims=places)(*sides)
    for place, one in enumerate(batch):
        own = [x if axis is None else x.select(axis, place) for x, axis in zip(sides, places, strict=True)]
        assert torch.equal(one, golden(*own, format="mx6"))


# A weight is converted once for each of its values.


@pytest.fixture
def prepared(monkeypatch):
    """Return the list of the arrays that are converted."""
    found = []

    def prepare(b, **names):
        found.append(b)
        return own(b, **names)

    own = products.prepare
    monkeypatch.setattr(products, "prepare", prepare)
    return found


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return layers.convert(nn.Linear(48, 5), format="mx6")


def check(layer, x=None):
    x = torch.ones(2, 48) if x is None else x
    assert torch.equal(layer(x), samples.golden_linear(x, layer.weight, layer.bias, format="mx6").to(x.dtype))


def test_inference_converts_a_weight_once(layer, prepared):
    for call in (torch.no_grad, torch.inference_mode, torch.enable_grad):
        with call():
            check(layer)
            check(layer, torch.randn(3, 1, 48))
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(torch.ones(2, 48)), layer(torch.ones(2, 48)))
    assert len(prepared) == 1


def step(layer):
    layer(torch.ones(2, 48)).sum().backward()
    torch.optim.SGD(layer.parameters(), lr=0.1).step()


def assign(layer):
    del layer.weight
    layer.weight = nn.Parameter(torch.randn(5, 48))


def swap(layer):
    layer.weight.data = torch.randn(5, 48)


def back_and_forth(layer):
    layer.half()
    layer.float()


def fill(layer):
    with torch.no_grad():
        layer.weight[1, 2] = 7


CHANGES = {
    "step": step,
    "load_state_dict": lambda layer: layer.load_state_dict(nn.Linear(48, 5).state_dict()),
    "assign": assign,
    "swap": swap,
    "half and float": back_and_forth,
    "fill": fill,
    "init": lambda layer: nn.init.zeros_(layer.weight),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_weight_is_converted_anew(layer, prepared, change):
    for _ in range(3):
        check(layer)
        change(layer)
    check(layer)
    check(layer)
    assert len(prepared) == 4


def test_other_arithmetic_converts_anew(layer, prepared):
    check(layer)
    x = torch.ones(2, 48)
    assert torch.equal(
        layers.linear(x, layer.weight, format="mx6", rounding=0), golden(x, layer.weight.T, format="mx6", rounding=0)
    )
    with torch.autocast("cpu", torch.bfloat16):
        for _ in range(2):
            narrow = layers.linear(x, layer.weight, format="mx6", rounding=0)
    assert torch.equal(narrow, golden(x, layer.weight.T.bfloat16(), format="mx6", rounding=0).bfloat16())
    check(layer)
    assert len(prepared) == 4


def test_tensors_that_are_no_parameters_are_not_kept(prepared):
    w = torch.ones(5, 48)
    for _ in range(2):
        mx4(torch.ones(2, 48), w)
    with torch.inference_mode():
        w = nn.Parameter(torch.ones(5, 48))
        for _ in range(2):
            mx4(torch.ones(2, 48), w)
    assert len(prepared) == 4


def test_converted_weights_live_as_long_as_the_weight(layer, prepared):
    gc.collect()
    before = len(products._KEPT)
    own = copy.deepcopy(layer)
    check(own)
    assert len(products._KEPT) == before + 1
    del own
    gc.collect()
    assert len(products._KEPT) == before


def test_views_are_kept_up_to_twice_the_parameter(prepared):
    experts = nn.Parameter(torch.randn(3, 48, 5))
    with layers.machine(format="mx6"):
        for _ in range(2):
            for each in experts:
                assert torch.equal(torch.ones(2, 48) @ each, golden(torch.ones(2, 48), each, format="mx6"))
            torch.ones(2, 5) @ experts.mT
    assert len(prepared) == 4
    with layers.machine(format="mx6"):
        for columns in range(1, 6):
            torch.ones(2, 48) @ experts[..., :columns]
    (views,) = [each for owner, each in products._KEPT.items() if owner is experts]
    assert sum(each.elements for each in views.values()) <= 2 * experts.numel()
