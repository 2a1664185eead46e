"""A Llama-style language model in float32, with every operation of its blocks through a `Backend`.

A token's row x of width H passes L blocks, and the head gives its logits::

    x  = embedding[id]
    x += o(attention(q(n), k(n), v(n)))       n = norm(x), the attention norm
    x += down(silu(gate(m)) * up(m))          m = norm(x), the feed-forward norm
    logits = norm(x) @ head

| operand | becomes |
|---|---|
| attention norm's output | a of q, k, v |
| q and k, each head rotated (RoPE) | a of scores; b of scores, transposed |
| probabilities of the scores | a of values |
| v | b of values |
| the heads side by side | a of o |
| feed-forward norm's output | a of gate, up |
| silu(gate) * up | a of down |

All else is float32 unless the backend computes it otherwise, and embedding, last norm and head always are: each numpy operation
rounds its result once, in the order that the functions below state. Sums and products of float32 matmuls are BLAS's, whose order
depends on the processor, so logits of two machines differ in their last bits.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import check_integers, check_range

KINDS = ("q", "k", "v", "o", "gate", "up", "down", "scores", "values")
"""Matmuls of a block. The first seven multiply by weights, the last two are attention's."""
LINEAR = KINDS[:7]
OPERATIONS = ("norm", "rope", "softmax", "silu", "residual")
"""All other operations of a block: "silu" with its product, "softmax" with scale and mask, "residual" with the sums of biases."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """Weights of a block in float32, as right operands [K, N], whose rows follow each other in memory.

    Attributes
    ----------
    q, k, v : [hidden, heads * head_dim], and [hidden, kv_heads * head_dim] twice.
    o : [heads * head_dim, hidden].
    gate, up, down : [hidden, inner] twice, and [inner, hidden].
    attention_norm, ffn_norm : [hidden].
    biases : [N] of the kinds that have one.
    """

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    o: np.ndarray
    gate: np.ndarray
    up: np.ndarray
    down: np.ndarray
    attention_norm: np.ndarray
    ffn_norm: np.ndarray
    biases: Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False, kw_only=True)
class Model:
    """A language model: weights in float32, and numbers that its arrays do not tell.

    Attributes
    ----------
    name : its name for tables.
    embedding : [vocabulary, hidden].
    blocks : in the order of their use.
    norm : [hidden], before the head.
    head : [hidden, vocabulary]; a tied head is the embedding, transposed.
    heads, kv_heads : of the queries, and of the keys and values; each of the latter serves heads / kv_heads of the former.
    frequencies : float64 [head_dim / 2], radians a position of RoPE's pairs (i, i + head_dim / 2).
    epsilon : of the norms.
    context : most tokens of a sequence.
    ends : ids after which an answer ends.
    """

    name: str
    embedding: np.ndarray
    blocks: tuple[Block, ...]
    norm: np.ndarray
    head: np.ndarray
    heads: int
    kv_heads: int
    frequencies: np.ndarray
    epsilon: float
    context: int
    ends: tuple[int, ...]

    @property
    def head_dim(self) -> int:
        return 2 * len(self.frequencies)


def rms_norm(x: np.ndarray, gamma: np.ndarray, epsilon: float) -> np.ndarray:
    """Return ``x * (1 / sqrt(mean(x * x) + epsilon)) * gamma`` over the last axis, in this order."""
    scale = 1 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + epsilon)
    return x * scale * gamma


class Backend:
    """Operations of the blocks in float32. A subclass computes them otherwise, or keeps their operands.

    `block` is a block's number from 0. The right operands of linear kinds are the same array at each call.
    """

    def norm(self, block: int, place: str, x: np.ndarray, gamma: np.ndarray, epsilon: float) -> Any:
        """Return the left operand of the products that follow a norm: float32 [T, hidden], or a subclass's own form of it.

        `place` is "attention" or "ffn". The model hands the result to `product` and does not look into it.
        """
        return rms_norm(x, gamma, epsilon)

    def product(self, kind: str, block: int, a: Any, b: np.ndarray) -> np.ndarray:
        """Return ``a @ b`` as float32 [..., M, N] of [..., M, K] and [..., K, N]; `kind` is one of `KINDS`.

        Linear kinds have two axes. Attention's products have three, a batch of kv_heads: the queries of a group are rows
        group-major, so that each key and value is converted once::

            scores  [kv_heads, group * T, head_dim] @ [kv_heads, head_dim, S]
            values  [kv_heads, group * T, S] @ [kv_heads, S, head_dim]

        T tokens are new, S are seen. `a` of values has a zero for each token that a row must not see, so sums of numbers
        ignore later rows of b; a format whose blocks share a scale along S does not.
        """
        return np.matmul(a, b)

    def rotate(self, x: np.ndarray, turn: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Return [heads, T, head_dim] with each pair (i, i + head_dim / 2) turned (RoPE).

        ``first * cos - second * sin`` and ``second * cos + first * sin``. Cosine and sine [T, head_dim / 2] are rounded from float64.
        """
        cos, sin = turn
        first, second = np.split(x, 2, axis=-1)
        return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)

    def softmax(self, scores: np.ndarray, scale: float, unseen: np.ndarray) -> np.ndarray:
        """Return the softmax of ``scores * scale`` over the last axis of [heads, T, S]; those where `unseen` [T, S] is true get 0."""
        scores = scores * np.float32(scale)
        scores[:, unseen] = -np.inf
        return softmax(scores)

    def gated(self, gate: np.ndarray, up: np.ndarray) -> np.ndarray:
        """Return ``silu(gate) * up``."""
        return silu(gate) * up

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return ``x + y`` of rows and a residual, or of rows and a bias [1, N]."""
        return x + y


FLOAT32 = Backend()


class Cache:
    """Rotated keys and values of the tokens so far, in float32, for steps of `forward`.

    Parameters
    ----------
    model : whose keys and values these are.
    capacity : most tokens.
    """

    def __init__(self, model: Model, capacity: int):
        shape = (len(model.blocks), model.kv_heads, capacity, model.head_dim)
        self.keys, self.values = np.empty(shape, np.float32), np.empty(shape, np.float32)
        self.length = 0

    def extend(self, block: int, keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Store keys and values [kv_heads, T, head_dim] after the `length` tokens; return those of all tokens."""
        end = self.length + keys.shape[1]
        self.keys[block, :, self.length : end], self.values[block, :, self.length : end] = keys, values
        return self.keys[block, :, :end], self.values[block, :, :end]


def forward(
    model: Model, ids: Sequence[int] | np.ndarray, backend: Backend = FLOAT32, cache: Cache | None = None
) -> np.ndarray:
    """Return the logits after each token, float32 [n, vocabulary].

    Without a cache all tokens are computed at once (prefill). With one the ids follow its tokens, and it keeps theirs too:
    calls with one id each are the steps of a decoder, whose products see no later token.

    Parameters
    ----------
    ids : n token ids.
    backend : computes the operations of the blocks.

    Raises
    ------
    TypeError, ValueError : ids are no integers of the vocabulary, or more than the context or the cache holds.
    """
    return logits(model, hidden(model, ids, backend, cache))


def logits(model: Model, states: np.ndarray) -> np.ndarray:
    """Return ``rms_norm(states) @ head``, float32 [n, vocabulary]."""
    return rms_norm(states, model.norm, model.epsilon) @ model.head


def hidden(
    model: Model, ids: Sequence[int] | np.ndarray, backend: Backend = FLOAT32, cache: Cache | None = None
) -> np.ndarray:
    """Return the residual stream after the last block, float32 [n, hidden]; arguments and errors are those of `forward`."""
    tokens, past = _checked(model, ids, cache), cache.length if cache else 0
    cache = cache or Cache(model, len(tokens))
    positions = np.arange(past, past + len(tokens))
    angles = positions[:, None] * model.frequencies
    turn = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    unseen = np.arange(past + len(tokens)) > positions[:, None]
    x = model.embedding[tokens]
    for place, block in enumerate(model.blocks):
        a = backend.norm(place, "attention", x, block.attention_norm, model.epsilon)
        queries, keys, values = (_linear(backend, kind, place, block, a) for kind in ("q", "k", "v"))
        keys, values = cache.extend(place, backend.rotate(_heads(keys, model), turn), _heads(values, model))
        mixed = _attention(backend, place, backend.rotate(_heads(queries, model), turn), keys, values, unseen)
        x = backend.add(x, _linear(backend, "o", place, block, mixed))
        x = feed_forward(backend, place, block, x, model.epsilon)
    cache.length += len(tokens)
    return x


def feed_forward(backend: Backend, place: int, block: Block, x: np.ndarray, epsilon: float) -> np.ndarray:
    """Return rows [T, hidden] after the second half of a block, whose number is `place`."""
    a = backend.norm(place, "ffn", x, block.ffn_norm, epsilon)
    gate, up = (_linear(backend, kind, place, block, a) for kind in ("gate", "up"))
    return backend.add(x, _linear(backend, "down", place, block, backend.gated(gate, up)))


def generate(model: Model, ids: Sequence[int] | np.ndarray, count: int, backend: Backend = FLOAT32) -> Iterator[int]:
    """Yield at most `count` ids, up to the model's context, each of the largest logit after all before it; one of `Model.ends` is the last.

    The ids given are one prefill; every further token is a step with the cache. Errors are those of `forward`.
    """
    # An answer ends where the context is full.
    count = min(count, model.context + 1 - len(ids))
    cache = Cache(model, len(ids) + max(count, 0))
    for _ in range(count):
        token = int(np.argmax(logits(model, hidden(model, ids, backend, cache)[-1:])))
        yield token
        if token in model.ends:
            return
        ids = [token]


def _checked(model: Model, ids: Sequence[int] | np.ndarray, cache: Cache | None) -> np.ndarray:
    tokens = np.asarray(ids)
    check_integers("ids", tokens, 64, signed=True)
    if tokens.ndim != 1 or not tokens.size:
        raise ValueError(f"ids must have one dimension of at least 1, not shape {tokens.shape}")
    check_range("ids", tokens, range(len(model.embedding)))
    most = min(model.context, cache.keys.shape[2]) if cache else model.context
    total = len(tokens) + (cache.length if cache else 0)
    if total > most:
        raise ValueError(f"ids must be at most {most} tokens with those of the cache, not {total}")
    return tokens


def _linear(backend: Backend, kind: str, place: int, block: Block, a: Any) -> np.ndarray:
    product = backend.product(kind, place, a, getattr(block, kind))
    return backend.add(product, block.biases[kind][np.newaxis]) if kind in block.biases else product


def _heads(x: np.ndarray, model: Model) -> np.ndarray:
    """Return [T, heads * head_dim] as [heads, T, head_dim]."""
    return x.reshape(len(x), -1, model.head_dim).transpose(1, 0, 2)


def _attention(
    backend: Backend, place: int, queries: np.ndarray, keys: np.ndarray, values: np.ndarray, unseen: np.ndarray
) -> np.ndarray:
    """Return the heads side by side, [T, heads * head_dim]; `unseen` [T, S] marks the tokens that a row must not see."""
    (heads, count, head_dim), kv_heads = queries.shape, len(keys)
    grouped = queries.reshape(kv_heads, -1, head_dim)
    scores = backend.product("scores", place, grouped, keys.transpose(0, 2, 1))
    shares = backend.softmax(scores.reshape(heads, count, -1), head_dim**-0.5, unseen)
    shares = shares.reshape(kv_heads, heads // kv_heads * count, -1)
    mixed = backend.product("values", place, shares, values)
    return mixed.reshape(heads, count, head_dim).transpose(1, 0, 2).reshape(count, -1)


def softmax(x: np.ndarray) -> np.ndarray:
    """Return ``e / sum(e)`` with ``e = exp(x - max(x))`` over the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def silu(x: np.ndarray) -> np.ndarray:
    """Return ``x / (1 + exp(-x))``."""
    with np.errstate(over="ignore"):  # an infinite divisor gives the limit, zero
        return x / (1 + np.exp(-x))
