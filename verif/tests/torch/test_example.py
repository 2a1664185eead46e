"""The example of the tutorial: its encoder's tensors, and the table that the page shows."""

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from bitpath.sim.flows import operands

layers = pytest.importorskip("bitpath.torch")
torch = pytest.importorskip("bitpath.verif.tests.torch.samples").torch
example = pytest.importorskip("examples.accuracy_by_layer")
pytestmark = pytest.mark.deep
PAGE = Path(__file__).resolve().parents[3] / "docs/tutorials/layers.md"
MORE = (
    " It is a way I have of driving off the spleen and regulating the circulation. Whenever I find myself growing"
    " grim about the mouth; whenever it is a damp, drizzly November in my soul; whenever I find myself "
    "involuntarily pausing before coffin warehouses, and bringing up the rear of every funeral I meet; and "
    "especially whenever my hypos get such an upper hand of me, that it requires a strong moral principle to "
    "prevent me from deliberately stepping into the street, and methodically knocking people's hats off, then, I "
    "account it high time to get to sea as soon as I can."
)
"""The rest of the text whose beginning the tensors of verif/vectors belong to."""


@pytest.fixture(scope="module")
def model():
    spec = find_spec(example.PACKAGE)
    if spec is None:
        pytest.skip(f"{example.PACKAGE} is not installed; make test-deep installs it")
    return Path(spec.origin).parent / "model"


def test_the_examples_encoder_gives_the_tensors_of_the_layer_that_runs_multiply(model):
    """The tensors are of the first 128 tokens of 177, rounded to float16; another text or a fault changes digits."""
    encoder, found = example.read_model(model), []
    encoder[2].up.register_forward_hook(lambda _layer, inputs, _output: found.append(inputs[0].numpy()))
    with torch.no_grad():
        encoder(example.embed(model, example.TEXT + MORE))
    inputs, weight = operands.layer()
    np.testing.assert_array_equal(encoder[2].up.weight.detach().numpy()[:512].astype(np.float16), weight.T)
    np.testing.assert_allclose(found[0][:128], inputs, rtol=2**-11, atol=2e-4)


def shown(number):
    """Return a block of the page that shows what was printed, by words."""
    return words(re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[number])


def words(text):
    return [line.split() for line in text.splitlines()]


def numbers(lines):
    return np.array([line[1:] for line in lines[1:]], float)


# The float32 operations between the products round as the processor's kernels do: the last digit may differ.


def test_the_page_shows_what_the_example_prints(model, capsys):
    example.main(example.FORMATS)
    printed, page = words(capsys.readouterr().out), shown(0)
    assert len(page) == 38
    assert [line[0] for line in printed] == [line[0] for line in page]
    assert printed[0] == page[0]
    assert np.abs(numbers(printed) - numbers(page)).max() < 0.15


def test_the_page_shows_what_the_reports_print(model):
    encoder, x = example.read_model(model), example.embed(model, example.TEXT)
    chosen = ["*.query", "*.key", "*.value", "*.output", "*.up", "*.down"]
    *rows, total = words(str(layers.coverage(layers.convert(encoder, format="mx9", where=chosen), x)))
    assert [*rows[:8], ["..."], total] == shown(1)
    formats = ["mxfp8_e4m3", "bfp8_hifi2", "mx6"]
    printed, page = words(str(layers.sensitivity(encoder, x, formats, where=["5", "5.*"]))), shown(2)
    assert [printed[0], *(line[0] for line in printed)] == [page[0], *(line[0] for line in page)]
    np.testing.assert_allclose(numbers(printed), numbers(page), rtol=0.02)
