"""The default model against transformers: ids, logits, perplexity, the states between blocks, greedy answers.

The archive's tolerances are those of an independent float32 forward: 2.1e-4 in a logit, 2.6e-4 in a log-probability, 1e-6
of the perplexity, 0.016 in the states of block 14, which reach 23,558. The normalised states, which reach 38, have no bound there:
they may differ by 100 units in the last place of the largest.
"""

from math import exp

import numpy as np
import pytest

from bitpath.sim.engine.options import MissingToolError
from bitpath.sim.lm.model import Backend, forward, generate, hidden, logits, rms_norm
from bitpath.sim.lm.tokens import read_tokens
from bitpath.sim.lm.weights import open_checkpoint, read_model

LOGIT, LOG_PROBABILITY, STATE, NORMED = 2.1e-4, 2.6e-4, 0.016, 100 * 2.0**-18
TEXTS, CHATS = r"(?!chat\d|hidden|last).*", r"chat\d+"


@pytest.fixture(scope="module")
def checkpoint():
    try:
        return open_checkpoint()
    except MissingToolError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def tokens(checkpoint):
    return read_tokens(checkpoint)


@pytest.fixture(scope="module")
def model(checkpoint):
    return read_model(checkpoint)


def test_texts_have_the_ids_of_the_models_own_tokenizer(kat, tokens):
    count = 0
    for name, text in kat("lm_reference").parts(TEXTS):
        assert tokens.encode(str(text["text"])) == text["ids"].tolist(), name
        count += 1
    assert count


def prompts(archive):
    """Yield name, question, whether the system message is there, and ids of prompt and answer."""
    for name, chat in archive.parts(CHATS):
        for kind in ("plain", "system"):
            ids = (chat[f"{kind}_{part}_ids"].tolist() for part in ("prompt", "answer"))
            yield f"{name}_{kind}", str(chat["question"]), kind == "system", *ids


def test_prompts_have_the_ids_of_the_models_own_template(kat, tokens):
    archive, count = kat("lm_reference"), 0
    for name, question, system, ids, answer in prompts(archive):
        assert tokens.prompt(question, system=system) == ids, name
        text = str(archive[f"{name}_answer"]).removesuffix("<|im_end|>")
        assert tokens.decode(answer) == text
        count += 1
    assert count


def compare(found, text):
    """Compare logits with a text's answers."""
    ids, exact = text["ids"], found.astype(np.float64)
    largest = exact.max(-1, keepdims=True)
    normaliser = np.log(np.exp(exact - largest).sum(-1)) + largest[:, 0]
    known = exact - normaliser[:, None]
    following = known[np.arange(len(ids) - 1), ids[1:]]
    np.testing.assert_allclose(following, text["next_logp"], rtol=0, atol=LOG_PROBABILITY)
    np.testing.assert_allclose(normaliser, text["logsumexp"], rtol=0, atol=LOGIT)
    np.testing.assert_array_equal(found.argmax(-1), text["top5"][:, 0])
    best = -np.sort(-known, axis=-1)[:, :5]
    np.testing.assert_allclose(best, text["top5_logp"], rtol=0, atol=LOG_PROBABILITY)
    named = np.take_along_axis(known, text["top5"].astype(int), -1)
    np.testing.assert_allclose(named, text["top5_logp"], rtol=0, atol=LOG_PROBABILITY)
    assert exp(-following.mean()) == pytest.approx(float(text["perplexity"]), rel=1e-6)


class States(Backend):
    """Keeps the residual stream after each block."""

    def __init__(self):
        self.after, self.before = {}, {}

    def norm(self, block, place, x, gamma, epsilon):
        if place == "ffn":
            self.before[block] = x
        return super().norm(block, place, x, gamma, epsilon)

    def product(self, kind, block, a, b):
        product = super().product(kind, block, a, b)
        if kind == "down":
            self.after[block] = self.before[block] + product
        return product


def test_the_states_between_blocks(kat, model):
    archive, backend = kat("lm_reference"), States()
    text = archive.part(f"{archive['hidden_text']}_")
    found = hidden(model, text["ids"], backend)
    compared = [int(name.removeprefix("hidden_")) for name in archive if name.removeprefix("hidden_").isdigit()]
    assert compared
    for block in compared:
        np.testing.assert_allclose(backend.after[block], archive[f"hidden_{block}"], rtol=0, atol=STATE)
    normed = rms_norm(found, model.norm, model.epsilon)
    np.testing.assert_allclose(normed, archive["hidden_normed"], rtol=0, atol=NORMED)
    last = logits(model, found)
    np.testing.assert_allclose(last[-1], archive["last_logits"], rtol=0, atol=LOGIT)
    compare(last, text)


@pytest.mark.deep
def test_the_logits_of_every_text(kat, model):
    count = 0
    for _, text in kat("lm_reference").parts(TEXTS):
        compare(forward(model, text["ids"]), text)
        count += text["ids"].size
    assert count


@pytest.mark.deep
def test_greedy_answers(kat, model):
    count = 0
    for name, _, _, prompt, answer in prompts(kat("lm_reference")):
        assert list(generate(model, prompt, len(answer))) == answer, name
        count += len(answer)
    assert count
