"""Speed of a language model in the formats of the machines: CPU seconds of a text, and of a token of an answer."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bitpath.sim.lm.arithmetic import Arithmetic
from bitpath.sim.lm.model import FLOAT32, Cache, Model, forward
from bitpath.sim.lm.plans import FORMATS, W8A8, parse
from bitpath.sim.lm.tokens import TEXT, read_tokens
from bitpath.sim.lm.weights import open_checkpoint, read_model
from bitpath.sim.study.bench import record

TOKENS, STEPS, PROMPT = 512, 8, 32
"""Tokens of the text; tokens of the answer, and those before it."""
SECONDS = "CPU s"
LIMITS = {"bf16_lofi": 30, "bfp8_hifi2": 55, "bf16_hifi4": 100}
"""Most CPU seconds of the text on Tensix."""
LIMIT, STEP_LIMIT = 30, 0.3
"""The same of all other formats, and of a token of the answer."""


def measured(quick: bool) -> Iterator[dict[str, Any]]:
    """Yield a record of each format: a text at once, then one token at a time, both with converted weights; ratios are to float32."""
    checkpoint = open_checkpoint()
    model, text = read_model(checkpoint), read_tokens(checkpoint).encode(TEXT)
    ids = np.resize(text, PROMPT if quick else TOKENS)
    plain = _seconds(model, ids, FLOAT32)
    names = [(machine, name) for machine, own in FORMATS.items() for name in own]
    for machine, name in [*names[:3], ("trainium3", W8A8), *names[3:]]:
        backend = Arithmetic(parse(name))
        # The first run converts the weights, and compiles.
        forward(model, ids[:2], backend)
        limits = LIMITS.get(name, LIMIT), STEP_LIMIT
        titles = f"{len(ids)} tokens", "a token of an answer"
        for title, seconds, before, limit in zip(titles, _seconds(model, ids, backend), plain, limits, strict=True):
            config = {"format": name, "at_most": limit}
            yield record(f"lm, {name}, {title}", machine, seconds, SECONDS, config, to=(seconds / before, "float32"))


def _seconds(model: Model, ids: np.ndarray, backend: Any) -> tuple[float, float]:
    cache = Cache(model, PROMPT + STEPS)
    forward(model, ids[:PROMPT], backend, cache)
    whole = _cpu(lambda: forward(model, ids, backend))
    return whole, _cpu(lambda: [forward(model, ids[:1], backend, cache) for _ in range(STEPS)]) / STEPS


def _cpu(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start
