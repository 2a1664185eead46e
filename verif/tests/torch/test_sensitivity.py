"""`sensitivity`: each loss against a model that `convert` makes, and the table in three forms."""

import json

import pytest

import bitpath

layers = pytest.importorskip("bitpath.torch")
models = pytest.importorskip("bitpath.verif.tests.torch.models")
torch = models.torch
nn = torch.nn
pytestmark = pytest.mark.deep
MODULES = ["", "attention", "attention.inner", "attention.outer", "experts", "experts.router"]


def test_losses_are_those_of_models_with_one_converted_module():
    model, (tokens,) = models.language()
    told = []
    found = layers.sensitivity(model, tokens, ["mx6", "bf16_lofi"], progress=lambda *each: told.append(each))
    assert found.metric == "kl_divergence"
    assert told == [(done, 14) for done in range(1, 15)]
    with torch.no_grad():
        exact = model(tokens)["logits"]
        for name, losses in found.losses.items():
            assert list(losses) == [each or "(model)" for each in MODULES] + ["(all)"]
            for module in (*MODULES, "*"):
                converted = layers.convert(model, format=name, where=[module])
                loss = layers.kl_divergence(converted(tokens)["logits"], exact)
                assert losses[{"": "(model)", "*": "(all)"}.get(module, module)] == loss > 0
    assert not any(each._forward_hooks for each in model.modules())


def test_a_model_in_a_format_is_the_reference_and_stays():
    model, inputs = models.attention()
    own = layers.convert(model, format="mx6", where=["inner"])
    (losses,) = layers.sensitivity(own, inputs, ["mx4"]).losses.values()
    assert list(losses) == ["(model)", "outer", "(all)"]
    with torch.no_grad():
        exact = own(*inputs)
        outer = layers.convert(own, format="mx4", where=["outer"])(*inputs)
    assert losses["outer"] == layers.relative_rms(outer, exact)


def test_arguments_by_title_modules_and_a_metric():
    model, inputs = models.attention()
    formats = {"near": {"format": "mxfp4", "k_order": "adjacent"}, "far": {"format": "mxfp4"}}

    def largest(result, reference):
        return (result - reference).abs().max()

    found = layers.sensitivity(model, inputs, formats, metric=largest, where=["*er"])
    assert found.metric == "largest"
    with torch.no_grad():
        exact = model(*inputs)
        for title, names in formats.items():
            assert list(found.losses[title]) == ["inner", "outer", "(all)"]
            one = layers.convert(model, **names, where=["inner"])(*inputs)
            assert found.losses[title]["inner"] == float(largest(one, exact))
    assert found.losses["near"] != found.losses["far"]


def test_groups_of_modules():
    model, (tokens,) = models.language()
    groups = {"attention": ["attention*"], "inner and head": ["attention.inner", ""], "routers": ["*.router"]}
    (losses,) = layers.sensitivity(model, tokens, ["mx6"], where=groups).losses.values()
    assert list(losses) == [*groups, "(all)"]
    with torch.no_grad():
        exact = model(tokens)["logits"]
        for title, where in (*groups.items(), ("(all)", [each for some in groups.values() for each in some])):
            converted = layers.convert(model, format="mx6", where=where)(tokens)["logits"]
            assert losses[title] == layers.kl_divergence(converted, exact)


@pytest.mark.parametrize(
    "options", [{"format": "mxfp8_e4m3", "k_order": "adjacent"}, {"format": "bf16_lofi"}, {"format": "mx6"}]
)
def test_operands_and_sums_apart(options):
    """The same errors as `compare` has of one product."""
    torch.manual_seed(0)
    layer, x = nn.Linear(96, 24, bias=False).eval(), torch.randn(16, 96)
    exact = x.double() @ layer.weight.T.detach().double()

    def error(y, _):
        return layers.relative_rms(y, exact)

    found = layers.sensitivity(layer, x, {"own": options}, split=True, metric=error)
    name, others = options["format"], {key: each for key, each in options.items() if key != "format"}
    split = bitpath.compare(x, layer.weight.T.detach(), formats=[name], split=True, **others).errors
    assert list(found.losses) == ["own", "own, operands", "own, sums"]
    scale = float(exact.square().mean().sqrt())
    for title, each in zip(found.losses, split.values(), strict=True):
        # `compare` does not round the parts to float32, of 24 bits.
        assert found.losses[title]["(model)"] == pytest.approx(each.rms / scale, rel=1e-4, abs=2**-25)


def test_it_shows_itself():
    found = layers.Sensitivity(
        "relative_rms", {"mx6": {"up": 0.0123456, "(all)": 0.5}, "mx4": {"up": 2.0, "(all)": 7e-9}}
    )
    assert str(found).splitlines() == [
        "relative_rms     mx6    mx4",
        "up            0.0123      2",
        "(all)            0.5  7e-09",
    ]
    assert found._repr_html_().count("<td>") == 6
    assert json.loads(found.to_json()) == found.to_dict() == {"metric": "relative_rms", "losses": found.losses}


class Strange(nn.Linear):
    def forward(self, x):
        return {"y": super().forward(x)}


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"formats": "mx6"}, TypeError, "formats must be a list of names, not 'mx6'"),
        ({"formats": []}, ValueError, "formats must name at least one format"),
        ({"formats": ["int8"]}, ValueError, "format must be one of floats for a layer, not 'int8'"),
        ({"where": ["up"]}, ValueError, "where must choose at least one module of the model, which has ''"),
        ({"model": nn.ReLU()}, ValueError, "model must have layers that multiply, not only ReLU"),
        ({"model": models.Attention, "inputs": ()}, TypeError, "model must be a Module, not .*"),
        (
            {"model": layers.convert(nn.Linear(8, 4), format="mx6")},
            ValueError,
            "model must make products in the modules of where that are not converted",
        ),
        (
            {"model": Strange(8, 4)},
            TypeError,
            "model must return a tensor, a tuple of tensors or logits, not a dict",
        ),
    ],
)
def test_mistakes_are_one_sentence(change, error, says):
    with pytest.raises(error, match=f"^{says}$"):
        layers.sensitivity(**({"model": nn.Linear(8, 4), "inputs": torch.ones(2, 8), "formats": ["mx6"]} | change))
