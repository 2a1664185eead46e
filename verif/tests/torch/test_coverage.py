"""`coverage`: MACs by module against their formulas, and the report in three forms."""

import json

import pytest

layers = pytest.importorskip("bitpath.torch")
models = pytest.importorskip("bitpath.verif.tests.torch.models")
torch = models.torch
nn = torch.nn
pytestmark = pytest.mark.deep


def found(model, inputs, **names):
    model = layers.convert(model, **names) if names else model
    return {(each.module, each.format): (each.calls, each.amount) for each in layers.coverage(model, inputs).products}


def test_products_before_and_after():
    model, inputs = models.language()
    rows, width = 12, 32
    macs = {
        "attention.inner": (1, rows * width * 3 * width),
        "attention": (2, 2 * 2 * 2 * 6 * 6 * 16),
        "attention.outer": (1, rows * width * width),
        "experts.router": (1, rows * width * 4),
        "experts": (3, 2 * 4 * rows * width * 48 + 4 * rows * width),
        "": (1, rows * width * 50),
    }
    assert found(model, inputs) == {(name, None): each for name, each in macs.items()}
    assert found(model, inputs, format="mx6") == {(name, "mx6"): each for name, each in macs.items()}
    some = found(model, inputs, format="mx6", where=["experts"])
    assert some == {(name, "mx6" if name == "experts" else None): each for name, each in macs.items()}


class Other(nn.Module):
    """Products that no context takes."""

    def __init__(self):
        super().__init__()
        self.recurrent, self.both = nn.LSTM(8, 4, batch_first=True), nn.Bilinear(4, 4, 3)
        self.back = nn.ConvTranspose1d(3, 2, 3)

    def forward(self, x):
        y, _ = self.recurrent(x)
        return self.back(self.both(y, y).mT), torch.tensordot(y, y[0], dims=[[2], [1]])


def test_products_that_stay_torchs_are_counted():
    macs = {
        "recurrent": 2 * 5 * 4 * 4 * (8 + 4),
        "both": 2 * 5 * 3 * 4 * 4,
        "back": 2 * 3 * 5 * 2 * 3,
        "": 2 * 5 * 5 * 4,
    }
    own = found(Other(), torch.randn(2, 5, 8), format="mx6")
    assert {name: amount for (name, _), (_, amount) in own.items()} == macs
    assert {shape for _, shape in own} == {None}


@pytest.mark.parametrize("build", models.MODELS.values(), ids=models.MODELS)
def test_a_conversion_keeps_the_macs(build):
    model, inputs = build()
    before = layers.coverage(model, inputs)
    after = layers.coverage(layers.convert(model, format="mx6"), inputs)
    assert (before.converted, after.converted) == (0, 100)
    assert before.total == after.total > 0


def test_weights_without_inputs():
    model, _ = models.language()
    own = layers.coverage(layers.convert(model, format="mx6", where=["attention.*"]))
    assert own.unit == "weights"
    assert [(each.module, each.format, each.amount) for each in own.products] == [
        ("attention.inner", "mx6", 32 * 96),
        ("attention.outer", "mx6", 32 * 32),
        ("experts", None, 2 * 4 * 32 * 48),
        ("experts.router", None, 4 * 32),
    ]


def test_the_model_keeps_its_state():
    model = nn.Sequential(nn.BatchNorm1d(8), nn.Linear(8, 2), nn.Dropout())
    model[2].eval()
    before = {name: each.clone() for name, each in model.state_dict().items()}
    layers.coverage(model, torch.randn(4, 8))
    assert [each.training for each in model.modules()] == [True, True, True, False]
    assert all(torch.equal(each, before[name]) for name, each in model.state_dict().items())
    assert not any(each._forward_hooks or each._forward_pre_hooks for each in model.modules())


@pytest.mark.parametrize(
    "inputs", [torch.ones(2, 8), (torch.ones(2, 8),), [torch.ones(2, 8)], {"input": torch.ones(2, 8)}]
)
def test_inputs_of_each_kind(inputs):
    assert found(nn.Linear(8, 4), inputs) == {("", None): (1, 2 * 8 * 4)}


def test_it_shows_itself():
    model = layers.convert(nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 4)), format="mx6", where=["0"])
    own = layers.coverage(model, torch.ones(2, 8))
    assert str(own).splitlines() == [
        "module  class          format  calls  MACs  percent",
        "0       MachineLinear  mx6         1    64     66.7",
        "1       Linear         torch       1    32     33.3",
        "66.7 % of 96 MACs are in a machine's arithmetic.",
    ]
    assert own._repr_html_().count("<tr>") == 3
    assert own._repr_html_().endswith("<p>66.7 % of 96 MACs are in a machine's arithmetic.</p>")
    read = json.loads(own.to_json())
    assert (read["unit"], read["total"]) == ("MACs", 96)
    assert read["products"][1] == {"module": "1", "kind": "Linear", "calls": 1, "amount": 32, "format": None}


def test_a_model_without_products_says_what_it_has():
    own = layers.coverage(nn.Sequential(nn.ReLU(), nn.ReLU(), nn.Flatten()), torch.ones(2, 8))
    assert str(own) == "The model makes no products that are counted; it has 1 Sequential, 2 ReLU, 1 Flatten."
    assert own.converted == 0


def test_other_models_are_refused():
    with pytest.raises(TypeError, match=r"^model must be a Module, not a Tensor$"):
        layers.coverage(torch.ones(2))
