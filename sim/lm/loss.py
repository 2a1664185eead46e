"""Losses of a language model in a machine's formats: in the whole model, in each part of it, and by source.

The model in float32 is the reference, P its probabilities of the next token, Q those of a run::

    perplexity  exp(-mean ln Q(next token))           over the tokens that have a next one
    KL          mean over tokens of sum P ln(P / Q)   in nats
    top-1       share of tokens whose likeliest next token is the same

Perplexity alone misleads: a run may lie below float32's by chance. KL is 0 only for equal probabilities.

Runs with blocks are noisy: a tiny change of the embeddings moves elements over a rounding's boundary, and grows from block to
block. Each figure of a format has a spread: the largest difference among runs whose embeddings were perturbed. A perturbation
makes each number larger or smaller by 2**-16 of itself, at random. That is below the rounding of every format, and moves float32's
probabilities by a KL of 3e-10 (default model and text).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

import bitpath.golden
from bitpath.golden.losses import kl_divergence, log_softmax
from bitpath.sim.engine import paths
from bitpath.sim.engine.cache import append, hash_files, hash_json, read
from bitpath.sim.lm.arithmetic import Arithmetic, Options, Part
from bitpath.sim.lm.model import KINDS, Backend, Cache, Model, forward, generate
from bitpath.sim.lm.on_tensix import OnTensix
from bitpath.sim.lm.plans import FLOAT32, Plan, cycles, machine_of, parse, rate
from bitpath.sim.lm.tokens import Tokens

PARTS: tuple[Part, ...] = ("operands", "sums", "output")
"""Sources of errors that are shown apart."""
STEP = 2.0**-16
"""Relative step of a perturbed embedding."""
Told = Callable[[], None]
"""Is called after each run."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Figures of one run, see the module; its seconds are those of the process that ran it."""

    perplexity: float
    kl: float
    top1: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Row:
    """The losses of a plan.

    Attributes
    ----------
    plan : its text.
    whole : figures of all matmuls in the plan's formats.
    spread : of perplexity, KL and top-1.
    parts : KL of each source of errors alone.
    answer : text after the prompt; None without one.
    """

    plan: str
    whole: Loss
    spread: tuple[float, float, float]
    parts: Mapping[str, float]
    answer: str | None


@dataclass(frozen=True, kw_only=True)
class Where:
    """KL of a plan when its formats hold in one kind of matmul alone, and in one block alone."""

    plan: str
    kinds: Mapping[str, float]
    blocks: Sequence[float]


class _States(Backend):
    """Keeps what enters each block."""

    def __init__(self) -> None:
        self.found: list[np.ndarray] = []

    def norm(self, block: int, place: str, x: np.ndarray, gamma: np.ndarray, epsilon: float) -> Any:
        if place == "attention":
            self.found.append(x)
        return super().norm(block, place, x, gamma, epsilon)


class Study:
    """Runs of a model on a text; each result is kept below build/lm for later processes.

    Parameters
    ----------
    model, tokens : the model and its tokenizer.
    digest : of the model's files.
    ids : the text.
    options : of the machines.
    cached : one token at a time, each with a cache of those before it, as a decoder runs; False is all tokens at once.
    told : is called after each run, kept ones too.
    """

    def __init__(
        self,
        model: Model,
        tokens: Tokens | None,
        digest: str,
        ids: Sequence[int],
        options: Options,
        *,
        cached: bool = False,
        told: Told = lambda: None,
    ):
        self.model, self.tokens, self.ids, self.options = model, tokens, np.asarray(ids), options
        self.cached, self.told = cached, told
        self.common = {"model": digest, "options": repr(options), "sources": _sources()}
        self.weights: tuple[str, dict[Any, Any]] = ("", {})
        self.known = {each["key"]: each["value"] for each in read(_store())}

    @cached_property
    def states(self) -> list[np.ndarray]:
        """The residual stream before each block in float32, [n, hidden]."""
        backend = _States()
        forward(self.model, self.ids, backend)
        return backend.found

    @cached_property
    def reference(self) -> np.ndarray:
        """Log-probabilities of the model in float32, float64 [n, vocabulary]."""
        return log_softmax(forward(self.model, self.ids))

    @property
    def perplexity(self) -> float:
        """Perplexity of the model in float32."""
        return measured(self.reference, self.reference, self.ids, 0.0).perplexity

    def loss(self, plan: Plan, *, part: Part = "machine", seed: int = 0) -> Loss:
        """Return the figures of a run; a `seed` above 0 moves the embeddings."""
        question = {"plan": str(plan), "part": part, "seed": seed, "ids": self.ids.tolist(), "cached": self.cached}
        return Loss(**self._kept(question, lambda: asdict(self._loss(plan, part, seed))))

    def _loss(self, plan: Plan, part: Part, seed: int) -> Loss:
        start, model, ids, first = monotonic(), self.model, self.ids, 0
        if seed:
            model = replace(model, embedding=moved(model.embedding, ids, seed))
        elif plan.block and not self.cached:
            # The blocks before are float32's, whose result is known.
            first, ids = plan.block, np.arange(len(ids))
            model = replace(model, embedding=self.states[first], blocks=model.blocks[first:])
        backend, cache = self._backend(plan, part, first), Cache(model, len(ids))
        steps = ids.reshape(-1, 1) if self.cached else [ids]
        own = log_softmax(np.concatenate([forward(model, step, backend, cache) for step in steps]))
        return measured(self.reference, own, self.ids, monotonic() - start)

    def _backend(self, plan: Plan, part: Part = "machine", first: int = 0) -> Backend:
        # The converted weights of one plan at a time are as large as the model.
        formats = repr(plan.formats)
        if self.weights[0] != formats:
            self.weights = (formats, {})
        kind = OnTensix if plan.vector else Arithmetic
        return kind(plan, part=part, options=self.options, kept=self.weights[1], first=first)

    def row(self, plan: Plan, *, spread: int, prompt: Sequence[int] | None, answer: int) -> Row:
        """Return the losses of a plan, its spread over `spread` perturbed runs, and its answer of at most `answer` tokens."""
        whole = self.loss(plan)
        others = [whole, *(self.loss(plan, seed=seed) for seed in range(1, spread + 1))]
        figures = np.array([[each.perplexity, each.kl, each.top1] for each in others])
        matmuls = replace(plan, vector=())
        parts: dict[str, float] = {part: self.loss(matmuls, part=part).kl for part in self.parts}
        text = None if prompt is None else self.answer(plan, prompt, answer)
        perplexity, kl, top1 = np.ptp(figures, axis=0).tolist()
        return Row(plan=str(plan), whole=whole, spread=(perplexity, kl, top1), parts=parts, answer=text)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Sources of errors that the options have."""
        return PARTS if self.options.output != FLOAT32 else PARTS[:-1]

    def where(self, plan: Plan) -> Where:
        """Return the KL of a plan in each kind of matmul alone and in each block alone."""
        kinds = {kind: self.loss(plan.only(kinds=(kind,))).kl for kind in KINDS}
        blocks = [self.loss(plan.only(block=block)).kl for block in range(len(self.model.blocks))]
        return Where(plan=str(plan), kinds=kinds, blocks=blocks)

    def operations(self, plan: Plan) -> dict[str, float]:
        """Return the KL of the matmuls alone, of each operation of a plan on Tensix alone, and of these operations together."""
        alone = Plan(formats={"*": FLOAT32})
        found = {"matmuls": self.loss(replace(plan, vector=())).kl}
        found |= {each: self.loss(replace(alone, vector=(each,))).kl for each in plan.vector}
        return found | {"all but the matmuls": self.loss(replace(alone, vector=plan.vector)).kl}

    def answer(self, plan: Plan, prompt: Sequence[int], count: int) -> str:
        """Return the text of at most `count` tokens after a prompt, each the likeliest, without the token that ends it."""

        def ids() -> dict[str, Any]:
            return {"ids": list(islice(generate(self.model, prompt, count, self._backend(plan)), count))}

        found = self._kept({"plan": str(plan), "prompt": list(prompt), "count": count}, ids)["ids"]
        assert self.tokens is not None
        return self.tokens.decode(each for each in found if each not in self.model.ends)

    def _kept(self, question: Mapping[str, Any], answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        key = hash_json({**self.common, **question})
        if key not in self.known:
            self.known[key] = answer()
            append(_store(), {"key": key, "value": self.known[key]})
        self.told()
        return self.known[key]


@cache
def _sources() -> str:
    """Return the digest of the sources that a result depends on."""
    return hash_files([Path(str(bitpath.golden.__file__)).parent, Path(__file__).parent])


def _store() -> Path:
    return paths.build_root() / "lm" / "results.jsonl"


def measured(reference: np.ndarray, own: np.ndarray, ids: np.ndarray, seconds: float) -> Loss:
    """Return the figures of log-probabilities [n, vocabulary] against the reference's."""
    following = own[np.arange(len(ids) - 1), ids[1:]]
    return Loss(
        perplexity=float(np.exp(-following.mean())),
        kl=kl_divergence(own, reference),
        top1=float((reference.argmax(axis=-1) == own.argmax(axis=-1)).mean()),
        seconds=seconds,
    )


def moved(embedding: np.ndarray, ids: np.ndarray, seed: int) -> np.ndarray:
    """Return embeddings whose rows `ids` have moved: each number is larger or smaller by `STEP` of itself, at random."""
    rows, found = np.unique(ids), embedding.copy()
    up = np.random.default_rng(seed).integers(0, 2, (len(rows), embedding.shape[1])).astype(bool)
    found[rows] = embedding[rows] * np.where(up, 1 + STEP, 1 - STEP).astype(np.float32)
    return found


@dataclass(frozen=True, kw_only=True)
class Step:
    """A plan that `cheapest` has run: its text, cycles of its matmuls and KL."""

    plan: str
    cycles: float
    kl: float


def cheapest(study: Study, formats: Sequence[str], bound: float) -> Iterator[tuple[Plan, Step]]:
    """Yield plans from the most exact to the cheapest one that is found within a bound of KL; the last one is the result.

    Each kind of matmul has one of the formats. The first plan has the format of the least KL everywhere. Each step moves one
    kind to a cheaper format. It takes the move that costs the least KL for each cycle saved, with that kind alone in the
    format. A move that exceeds the bound is taken back and not tried again.

    Raises
    ------
    ValueError : no format keeps the bound.
    """
    count = len(study.ids)
    start = min(formats, key=lambda name: study.loss(parse(name)).kl)
    best = Plan(formats={kind: parse(start).format_of(kind, 0) for kind in KINDS})
    kl = study.loss(best).kl
    if kl > bound:
        raise ValueError(
            f"--bound must be at least {kl:.4g}, the KL of {start}, the most exact of the formats; not {bound}"
        )
    yield best, Step(plan=str(best), cycles=cycles(best, study.model, count), kl=kl)

    def gain(kind: str, name: str) -> tuple[float, float]:
        """Return the KL that a kind in a format costs, and the cycles that it saves."""
        new = replace(best, formats={**best.formats, kind: name})
        saved = cycles(best, study.model, count) - cycles(new, study.model, count)
        own = study.loss(parse(name).only(kinds=(kind,))).kl - study.loss(best.only(kinds=(kind,))).kl
        return own, saved

    tried: set[tuple[str, str]] = set()
    while True:
        moves = {
            (kind, target): gain(kind, target)
            for kind in KINDS
            for target in {parse(name).format_of(kind, 0) for name in formats}
            if (kind, target) not in tried and rate(target) > rate(best.formats[kind])
        }
        if not moves:
            return
        kind, target = min(moves, key=lambda move: max(moves[move][0], 0.0) / moves[move][1])
        tried.add((kind, target))
        new = replace(best, formats={**best.formats, kind: target})
        kl = study.loss(new).kl
        if kl <= bound:
            best = new
            yield best, Step(plan=str(best), cycles=cycles(best, study.model, count), kl=kl)


def machine_names(plan: Plan) -> str:
    """Return the machines that a plan's formats name."""
    found = [machine_of(name)[0] for name in plan.formats.values()]
    return ", ".join(dict.fromkeys(machine.name for machine in found if machine is not None)) or "-"
