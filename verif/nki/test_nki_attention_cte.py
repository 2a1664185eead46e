"""nki-library's attention_cte against float64 and against flash attention written out on golden's instructions."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.compositions import deviation, matmul, transposed

BF16 = np.dtype(ml_dtypes.bfloat16)
LOWEST = float(np.finfo(np.float32).min)
STARTS = (0, 37, 130, 200, 256)
"""Where packed sequences begin, and the end."""


@dataclass(frozen=True)
class Case:
    """An attention.

    Attributes
    ----------
    heads, key_heads, queries, keys, size : of query heads, key heads, positions and a head.
    prior, used : keys before the others, and how many of them count.
    packed : whether the queries are sequences of their own, from `STARTS` on.
    sink, causal, window, offset : a sink's score; the mask; the position of the first query.
    flags : arguments of the kernel as they are.
    """

    heads: int = 1
    key_heads: int = 1
    queries: int = 256
    keys: int = 256
    size: int = 64
    prior: int = 0
    used: int = 0
    packed: bool = False
    sink: bool = False
    causal: bool = True
    window: int = 0
    offset: int = 0
    flags: dict[str, Any] = field(default_factory=dict)

    def operands(self) -> dict[str, np.ndarray]:
        """Return arrays by name: q, v and v_prior [heads, positions, size], k and k_prior [heads, size, positions]."""
        rng = np.random.default_rng(4)
        shapes = {
            "q": (self.heads, self.queries, self.size),
            "k": (self.key_heads, self.size, self.keys),
            "v": (self.key_heads, self.keys, self.size),
            "k_prior": (self.key_heads, self.size, self.prior),
            "v_prior": (self.key_heads, self.prior, self.size),
            "sink": (self.heads, 1),
        }
        scales = {"q": 0.3}
        return {name: (scales.get(name, 1) * rng.standard_normal(shape)).astype(BF16) for name, shape in shapes.items()}

    def bounds(self) -> np.ndarray:
        """Return first key and end of the sequence of each query, [2, queries]."""
        sequences = pairwise(STARTS)
        return np.concatenate([np.full((end - start, 2), (start, end)) for start, end in sequences]).T

    def arguments(self) -> dict[str, Any]:
        given, turned = self.operands(), lambda array: np.ascontiguousarray(array.swapaxes(1, 2))
        names = ["q", "k", "v", *(["k_prior", "v_prior"] if self.prior else []), *(["sink"] if self.sink else [])]
        made: dict[str, Any] = {name: given[name] for name in names} | {"causal_mask": self.causal} | self.flags
        if self.flags.get("tp_q") is False:
            made["q"] = turned(made["q"])
        if self.flags.get("tp_k"):
            made |= {name: turned(made[name]) for name in names if name.startswith("k")}
        if self.prior:
            made["prior_used_len"] = np.array([self.used], np.int32)
        if self.packed:
            low, high = self.bounds().astype(np.float32)
            made |= {"bound_min": low[:, None], "bound_max": high[:, None]}
        if self.window:
            made["sliding_window"] = self.window
        if self.offset:
            made |= {"cp_offset": np.array([[self.offset]], np.int32), "global_cp_deg": 4}
        return made

    def exact(self) -> np.ndarray:
        """Return the result in float64."""
        given = {name: values.astype(np.float64) for name, values in self.operands().items()}
        keys = np.concatenate([given["k_prior"][:, :, : self.used], given["k"]], axis=2)
        values = np.concatenate([given["v_prior"][:, : self.used], given["v"]], axis=1)
        query = np.arange(self.queries)[:, None] + self.offset
        key = np.arange(keys.shape[2]) - self.used
        kept = (key <= query) | (not self.causal)
        kept &= (query - key < self.window) | (not self.window)
        if self.packed:
            low, high = self.bounds()
            kept &= (key >= low[:, None]) & (key < high[:, None])
        made = np.empty(given["q"].shape)
        for head, q in enumerate(given["q"]):
            own = head * self.key_heads // self.heads
            powers = np.where(kept, np.exp(q @ keys[own] * self.flags.get("scale", 1)), 0)
            total = powers.sum(axis=1, keepdims=True) + (np.exp(given["sink"][head]) if self.sink else 0)
            made[head] = powers @ values[own] / total
        return made.swapaxes(1, 2) if self.flags.get("tp_out") else made


CASES = {
    "causal": Case(),
    "queries_of_no_whole_group": Case(queries=200, keys=200),
    "prefix": Case(prior=512, used=300),
    "prefix_of_one_key_transposed": Case(prior=512, used=1, flags={"tp_k": True}),
    "prefix_and_window": Case(prior=512, used=400, window=100),
    "packed_sequences": Case(packed=True),
    "packed_sequences_and_window": Case(packed=True, window=20),
    "transposed_result": Case(flags={"tp_out": True}),
    "transposed_queries": Case(flags={"tp_q": False}),
    "scale": Case(flags={"scale": 0.5}),
    "sink": Case(sink=True),
    "sink_and_window": Case(sink=True, window=100),
    "two_heads_on_one_of_keys": Case(heads=2),
    "context_parallel": Case(queries=128, keys=512, offset=256),
    "prefix_of_sections": pytest.param(Case(prior=12288, used=11000), marks=pytest.mark.deep),
    "sections": Case(queries=128, keys=12288, causal=False),
}


def run_attention(case: Case, cores: int = 1) -> np.ndarray:
    kernel = library("core.attention.attention_cte").attention_cte
    options = nki.Options(strict=True)
    return nki.run(kernel if cores == 1 else kernel[cores], **case.arguments(), options=options).outputs


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_nki_attention_cte_is_near_float64_with_equal_bits_on_two_cores(case):
    one, two = (run_attention(case, cores) for cores in (1, 2))
    assert deviation(one, case.exact()) < 0.004
    assert one.tobytes() == two.tobytes()


def attended(scores: list[np.ndarray], maxima: list[np.ndarray], values: np.ndarray) -> np.ndarray:
    """Return softmax of tiles of scores [128, keys], times values; keys behind the last value have no weight."""
    highest = trainium3.tensor_reduce(np.concatenate(maxima, axis=1), "max", negate=True)
    powers = [trainium3.activation_reduce(tile, "exp", bias=highest, dtype=BF16) for tile in scores]
    weights = np.concatenate([tile for tile, _ in powers], axis=1)
    total = trainium3.tensor_reduce(np.concatenate([each.reshape(-1, 1) for _, each in powers], axis=1), "add")
    places = range(0, len(values), 128)
    made = matmul([transposed(weights[:, k : k + 128]) for k in places], [values[k : k + 128] for k in places])
    zeros = np.zeros((len(made), 1), np.float32)
    share = trainium3.reciprocal(total)
    return trainium3.cast(trainium3.activation(made, "copy", scale=share, bias=zeros, dtype=np.float32), BF16)


def test_nki_attention_cte_of_packed_sequences_gives_the_bits_of_its_instructions():
    case = CASES["packed_sequences"]
    given = {name: values[0] for name, values in case.operands().items()}
    made = []
    for first in (0, 128):
        rows = slice(first, first + 128)
        low, high = case.bounds()[:, rows].astype(np.float32)
        last = np.minimum(np.arange(first, first + 128, dtype=np.float32), high)
        scores = matmul([transposed(given["q"][rows])], [given["k"]])
        kept, highest = trainium3.range_select(
            scores, "greater_equal", "less_equal", low[:, None].copy(), last[:, None].copy(), reduce_cmd="reset_reduce"
        )
        made.append(attended([kept], [highest.reshape(-1, 1)], given["v"][: first + 128]))
    assert run_attention(case)[0].tobytes() == np.concatenate(made).tobytes()


def test_nki_attention_cte_with_a_prefix_gives_the_bits_of_its_instructions():
    case = Case(queries=128, keys=128, prior=512, used=300)
    given = {name: values[0] for name, values in case.operands().items()}
    queries = transposed(given["q"])
    zeros, used = (np.full((128, 1), value, np.float32) for value in (0, case.used))
    before, highest = trainium3.range_select(
        matmul([queries], [given["k_prior"]]), "greater_equal", "less", zeros, used, reduce_cmd="reset_reduce"
    )
    own = trainium3.affine_select(
        [(-1, 128)], 1, matmul([queries], [given["k"]]), LOWEST, "greater_equal", dtype=np.float32
    )
    own, own_highest = trainium3.tensor_scalar_reduce(own, "multiply", 1.0, reduce_op="max", dtype=np.float32)
    maxima = [highest.reshape(-1, 1), own_highest.reshape(-1, 1)]
    golden = attended([before, own], maxima, np.concatenate([given["v_prior"], given["v"]]))
    assert run_attention(case)[0].tobytes() == golden.tobytes()
