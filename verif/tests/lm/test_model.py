"""The model's forward against a plain one in float64, its cache against prefill, and the operands that its backend gets."""

import re
from dataclasses import replace

import numpy as np
import pytest

from bitpath.sim.lm.model import KINDS, LINEAR, Backend, Cache, forward, generate
from bitpath.verif.tests.lm.tiny import tiny

MODELS = {
    "grouped": {},
    "own head and biases": {"tied": False, "biases": LINEAR},
    "wide heads": {"head_dim": 24, "kv_heads": 1},
    "a head a query": {"kv_heads": 4, "blocks": 1},
}
IDS = [5, 17, 5, 99, 0, 64, 127, 3, 3, 42]
BOUND = 1e-4
"""Largest difference of logits, which reach 62: 26 units in their last place. Seen are 1.6e-5; the order of BLAS's sums differs."""


@pytest.fixture(params=MODELS)
def model(request):
    return tiny(**MODELS[request.param])


def norm(x, gamma, epsilon):
    return x / np.sqrt(np.mean(x**2) + epsilon) * gamma


def plain(model, ids):
    """Return logits in float64, token by token and head by head; RoPE multiplies pairs as complex numbers."""
    half, group = model.head_dim // 2, model.heads // model.kv_heads
    rows = [model.embedding[token].astype(float) for token in ids]
    for block in model.blocks:

        def linear(kind, x, block=block):
            return x @ getattr(block, kind).astype(float) + block.biases.get(kind, 0)

        def turned(x, place):
            pairs = (x[:, :half] + 1j * x[:, half:]) * np.exp(1j * place * model.frequencies)
            return np.concatenate([pairs.real, pairs.imag], axis=1)

        seen = []
        for place, x in enumerate(rows):
            a = norm(x, block.attention_norm, model.epsilon)
            q, k, v = (linear(kind, a).reshape(-1, model.head_dim) for kind in ("q", "k", "v"))
            seen.append((turned(k, place), v))
            mixed = []
            for head, query in enumerate(turned(q, place)):
                keys, values = (np.array([each[part][head // group] for each in seen]) for part in (0, 1))
                e = np.exp(keys @ query / np.sqrt(model.head_dim))
                mixed.append(e @ values / e.sum())
            after = x + linear("o", np.concatenate(mixed))
            a = norm(after, block.ffn_norm, model.epsilon)
            gate = linear("gate", a)
            rows[place] = after + linear("down", gate / (1 + np.exp(-gate)) * linear("up", a))
    return np.array([norm(x, model.norm, model.epsilon) @ model.head for x in rows])


def test_logits_are_those_of_a_plain_forward(model):
    found = forward(model, IDS)
    assert (found.dtype, found.shape) == (np.float32, (len(IDS), 128))
    np.testing.assert_allclose(found, plain(model, IDS), rtol=0, atol=BOUND)


@pytest.mark.parametrize("pieces", [[1] * len(IDS), [4, 1, 5]], ids=str)
def test_steps_with_a_cache_give_the_logits_of_prefill(model, pieces):
    cache, ends = Cache(model, len(IDS)), np.cumsum(pieces)
    found = [forward(model, IDS[end - size : end], cache=cache) for size, end in zip(pieces, ends, strict=True)]
    np.testing.assert_allclose(np.concatenate(found), forward(model, IDS), rtol=0, atol=BOUND)
    assert cache.length == len(IDS)


def test_no_row_sees_a_later_token():
    model = tiny()
    one, other = forward(model, IDS), forward(model, [*IDS[:6], 1, 2, 4, 8])
    np.testing.assert_array_equal(one[:6], other[:6])
    assert (one[6:] != other[6:]).any(axis=1).all()


def test_generation_is_greedy_and_stops_at_an_end():
    model, ids = tiny(), [5, 17]
    expected = []
    for _ in range(8):
        expected.append(int(forward(model, ids + expected)[-1].argmax()))
    assert list(generate(model, ids, 8)) == expected
    end = expected[3]
    assert list(generate(replace(model, ends=(end,)), ids, 8)) == expected[: expected.index(end) + 1]


class Recorder(Backend):
    """Keeps what it is asked for."""

    def __init__(self):
        self.products, self.norms = [], []

    def norm(self, block, place, x, gamma, epsilon):
        result = super().norm(block, place, x, gamma, epsilon)
        self.norms.append((block, place, x, gamma, result))
        return result

    def product(self, kind, block, a, b):
        result = super().product(kind, block, a, b)
        assert result.dtype == np.float32
        self.products.append((kind, block, a, b, result))
        return result


ORDER = ("q", "k", "v", "scores", "values", "o", "gate", "up", "down")


def test_a_backend_gets_every_norm_and_every_product():
    model, backend = tiny(), Recorder()
    forward(model, IDS, backend)
    assert [each[:2] for each in backend.products] == [(kind, block) for block in (0, 1) for kind in ORDER]
    assert set(ORDER) == set(KINDS)
    assert [each[:2] for each in backend.norms] == [
        (block, place) for block in (0, 1) for place in ("attention", "ffn")
    ]
    for kind, block, _, b, _ in backend.products:
        if kind in LINEAR:
            assert b is getattr(model.blocks[block], kind)
    shapes = {kind: (a.shape, b.shape) for kind, _, a, b, _ in backend.products}
    n = len(IDS)
    assert shapes["scores"] == ((2, 2 * n, 16), (2, 16, n))
    assert shapes["values"] == ((2, 2 * n, n), (2, n, 16))
    assert shapes["o"] == ((n, 64), (64, 64))


def test_operands_are_those_that_the_module_states():
    model, backend = tiny(), Recorder()
    forward(model, IDS, backend)
    (_, _, x, gamma, a), (_, _, after, _, inner) = backend.norms[:2]
    q, k, v, scores, values, o, gate, up, down = backend.products[:9]
    np.testing.assert_array_equal(x, model.embedding[IDS])
    assert gamma is model.blocks[0].attention_norm
    assert all(each[2] is a for each in (q, k, v))
    assert all(each[2] is inner for each in (gate, up))
    # Rows of a group are its first query head's tokens, then its second's.
    np.testing.assert_array_equal(scores[2][1, : len(IDS)], scores[2].reshape(4, len(IDS), 16)[2])
    np.testing.assert_array_equal(values[3][1], v[4][:, 16:])
    shares = values[2]
    np.testing.assert_allclose(shares.sum(-1), 1, atol=1e-6)
    assert not shares.reshape(4, len(IDS), -1)[
        :, np.triu_indices(len(IDS), 1)[0], np.triu_indices(len(IDS), 1)[1]
    ].any()
    np.testing.assert_array_equal(o[2][:, 16:32], values[4].reshape(4, len(IDS), 16)[1])
    np.testing.assert_array_equal(after, x + o[4])
    np.testing.assert_array_equal(down[2], gate[4] / (1 + np.exp(-gate[4])) * up[4])
    np.testing.assert_array_equal(backend.norms[2][2], after + down[4])


def test_a_norms_result_goes_to_products_unseen():
    class Wrapped(Recorder):
        def norm(self, block, place, x, gamma, epsilon):
            return (super().norm(block, place, x, gamma, epsilon),)

        def product(self, kind, block, a, b):
            return super().product(kind, block, a[0] if isinstance(a, tuple) else a, b)

    model = tiny()
    np.testing.assert_array_equal(forward(model, IDS, Wrapped()), forward(model, IDS))


@pytest.mark.parametrize(
    ("ids", "error", "says"),
    [
        ([], TypeError, "ids must be an array of integers, not of float64"),
        ([0.5], TypeError, "ids must be an array of integers, not of float64"),
        ([[1, 2]], ValueError, "ids must have one dimension of at least 1, not shape (1, 2)"),
        ([1, 128], ValueError, "ids must be 0 to 127, not 1 to 128"),
        ([-1, 2], ValueError, "ids must be 0 to 127, not -1 to 2"),
        ([1] * 65, ValueError, "ids must be at most 64 tokens with those of the cache, not 65"),
    ],
)
def test_mistakes_are_one_sentence(ids, error, says):
    with pytest.raises(error, match=f"^{re.escape(says)}$"):
        forward(tiny(), ids)


def test_a_full_cache_is_refused():
    model = tiny()
    cache = Cache(model, 4)
    forward(model, [1, 2, 3], cache=cache)
    with pytest.raises(ValueError, match=r"^ids must be at most 4 tokens with those of the cache, not 5$"):
        forward(model, [4, 5], cache=cache)
    assert cache.length == 3
