"""Blocks of a language model in RTL: every matmul of golden's forward on a machine's engine, at its real size.

Golden runs the model in a format, and each of its results feeds the next step. The engine multiplies the operands that golden
multiplied, and must give golden's results bit for bit; then all that follows from them, the next token too, is the RTL's. So
blocks can run in any order and on any worker::

    golden's forward -> operands and results of each matmul -> engines, a block at a time -> comparison
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from bitpath.golden import trainium3
from bitpath.rtl.common.config import digest
from bitpath.rtl.common.files import replacing
from bitpath.sim.engine import cache, paths
from bitpath.sim.engine.cluster import HERE, Cluster, Piece, finished, sources, tell
from bitpath.sim.engine.runner import Built, build
from bitpath.sim.flows.builds import Part, stage
from bitpath.sim.flows.lm_matmuls import PRODUCTS, BlockRun, Captured, Matmul, Play, Setting
from bitpath.sim.flows.lm_w8a8 import w8a8_outcomes
from bitpath.sim.flows.outcome import (
    FlowRun,
    Outcome,
    codes,
    compared,
    differences,
    mismatch_report,
    play_all,
)
from bitpath.sim.flows.trainium3_layer import QUANTIZER_PART, quantizer_input, quantizer_output
from bitpath.sim.lm.model import KINDS, LINEAR, Model, hidden, logits
from bitpath.sim.lm.plans import W8A8
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.values import Word

TOKENS = 32
"""Tokens that run when their number is not given."""


def chosen_blocks(text: str, count: int) -> range:
    """Return the blocks that ``--blocks`` names: "all", a number of the first ones, or "3:5" without the last.

    Raises ValueError for another text, or blocks that the model of ``count`` blocks lacks.
    """
    first, colon, last = ("0", ":", str(count)) if text == "all" else text.rpartition(":")
    wanted = f"--blocks must be all, a number from 1 to {count}, or FIRST:END as 0:{count}, not {text!r}"
    if not last.isdecimal() or (colon and not first.isdecimal()):
        raise ValueError(wanted)
    found = range(int(first or 0), int(last))
    if not (found and found[-1] < count):
        raise ValueError(wanted)
    return found


# A matmul on its units.


class Run(BlockRun):
    """A matmul of a block on an engine: its products, whose results lie below each other.

    Its ``wall_seconds`` are the processor time of its simulation, since the simulator's start belongs to no matmul.
    """

    def __init__(self, setting: Setting, matmul: Matmul):
        super().__init__(setting, matmul)
        self.products = [
            PRODUCTS[self.machine](a, b, matmul.format_name, self.engine, self.simulator, **setting.options)
            for a, b in zip(matmul.a, matmul.b, strict=True)
        ]
        self.quantised: list[tuple[np.ndarray, np.ndarray, int]] = []

    def take(self, quantised: Iterator[tuple[np.ndarray, np.ndarray, int]]) -> None:
        """Take elements, scales and cycles of the unit for each of `activations`, and make the products' programs of them."""
        for product, tiles in zip(self.products, self.activations, strict=True):
            found = [next(quantised) for _ in tiles]
            product.take([(elements, scales) for elements, scales, _ in found])
            self.quantised += found

    @cached_property
    def activations(self) -> list[list[tuple[np.ndarray, str]]]:
        """The tiles that QuantizeMX's unit quantises for each product, with their formats."""
        return [each.activations(both=self.matmul.kind not in LINEAR) for each in self.products]

    def outcome(self, built: Built, left: Sequence[Mapping[str, Any]]) -> Outcome:
        """Compare the results of the products' plays with golden's."""
        found = [product.results(each) for product, each in zip(self.products, left, strict=True)]
        rtl, times = (np.concatenate(each) for each in zip(*found, strict=True))
        golden = self.matmul.golden.reshape(rtl.shape)
        start = time.monotonic() - sum(each["seconds"] for each in left)
        figures = self.figures(sum(int(each["cycles"]) for each in left))
        figures["peak_mac_per_cycle"] = float(self.products[0].peak)
        outcome = compared(self, built, rtl, golden, start, self.shape, left[0]["folder"], times=times, **figures)
        return self._with_quantised(outcome) if self.quantised else outcome

    def _with_quantised(self, found: Outcome) -> Outcome:
        tiles = [each for own in self.activations for each in own]
        rule = self.products[0].scale_rule
        golden = [trainium3.quantize_tile(tile, fmt, scale_rule=rule) for tile, fmt in tiles]
        sides = [[part for elements, scales, _ in self.quantised for part in (elements, scales)]]
        sides.append([part for each in golden for part in each])
        rtl, expected = (np.concatenate([codes(part).ravel() for part in side]) for side in sides)
        wrong = differences(rtl, expected)
        found.record.update(
            quantized_compared=expected.size,
            quantized_mismatches=wrong,
            quantize_cycles=sum(cycles for _, _, cycles in self.quantised),
            mismatches=found.record["mismatches"] + wrong,
        )
        return replace(found, before=(rtl, expected))

    def settings(self) -> dict[str, Any]:
        return self.products[0].settings()

    def reference(self) -> np.ndarray:
        return np.concatenate([each.reference() for each in self.products])

    def shown(self, *place: int) -> Shown:
        """Return the operands of an output, which are kept as files for the command that explains it."""
        group, row = divmod(place[0], self.matmul.a.shape[1])
        product, where = self.products[group], f"{self.matmul.kind} of block {self.matmul.block}"
        product.matrices = list(self._kept_operands(group))
        own = product.shown(row, place[1])
        where += f", group {group} of heads" * (len(self.products) > 1)
        return replace(own, operands={"matmul": where} | dict(own.operands))

    def _kept_operands(self, group: int) -> Iterator[str]:
        folder = paths.build_root() / "lm" / "operands"
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{self.machine}-{self.format_name}-{self.matmul.block}-{self.matmul.kind}-{group}"
        for side in ("a", "b"):
            path = folder / f"{name}-{side}.npy"
            with replacing(path) as file:
                np.save(file, getattr(self.matmul, side)[group])
            yield from (f"--{side}", paths.shown(path))

    def shown_before(self, *place: int) -> Shown:
        where = f"byte {place[0]} of QuantizeMX's output for {self.matmul.kind} of block {self.matmul.block}"
        return Shown(operands={"place": where}, formats={"": Word(8)})


# Blocks, each in one process of its engine.


Row = dict[str, Any]
"""A record of a matmul, with what only the history keeps of it and the report of its mismatches."""


def play_block(setting: Setting, matmuls: Sequence[Matmul], console: Console | None = None) -> list[Row]:
    """Play the matmuls of a block, all in one process of the engine; return a row for each.

    Raises SimulationError if a build or a simulation failed, or a unit did nothing.
    """
    console = console or Console(quiet=True)
    title = f"{setting.format_name}, block {matmuls[0].block}"

    def play(part: Part, bench: str, contents: Sequence[Any]) -> tuple[Built, list[dict[str, Any]]]:
        tell(f"{title}: {part[0]}")
        with stage(console, f"building {part[0]} for {setting.simulator}, once"):
            built = build(*part, setting.simulator, waves=setting.waves)
        return built, play_all(console, built, bench, title, contents)

    pairs = (w8a8_outcomes if setting.format_name == W8A8 else _outcomes)(setting, matmuls, play)
    return [each.record | {"kept": each.kept, "report": mismatch_report(run, each)} for run, each in pairs]


def _outcomes(setting: Setting, matmuls: Sequence[Matmul], play: Play) -> Iterator[tuple[FlowRun, Outcome]]:
    runs = [Run(setting, each) for each in matmuls]
    products = [each for run in runs for each in run.products]
    bench = products[0].bench
    if setting.machine == "trainium3":
        tiles = [each for run in runs for own in run.activations for each in own]
        rule = str(setting.scale_rule)
        _, left = play(QUANTIZER_PART, bench, [quantizer_input(*each, rule) for each in tiles])
        results = ((*quantizer_output(each, *own), int(each["cycles"])) for each, own in zip(left, tiles, strict=True))
        for run in runs:
            run.take(results)
    built, left = play(setting.part, bench, [each.content for each in products])
    plays = iter(left)
    for run in runs:
        yield run, run.outcome(built, [next(plays) for _ in run.products])


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The blocks of a format that are finished, in a file below build: without a mismatch, so that nothing is to be seen again.

    Its name says on what they depend: model, text, format, engine and sources.
    """

    file: Path

    @classmethod
    def of(cls, setting: Setting, model: Model, ids: Sequence[int]) -> "Kept":
        inputs = [weights(model), list(map(int, ids)), setting.simulator, setting.scale_rule, sources()]
        key = cache.hash_json([*inputs, digest(*setting.part)])
        return cls(file=paths.build_root() / "lm" / f"{setting.machine}-{setting.format_name}-{key[:16]}.jsonl")

    def rows(self) -> dict[int, list[Row]]:
        """Return the rows of each finished block."""
        return {each["block"]: each["rows"] for each in cache.read(self.file)}

    def add(self, block: int, rows: Sequence[Row]) -> None:
        """Keep a finished block unless a bit differs in it."""
        if not any(row["mismatches"] for row in rows):
            cache.append(self.file, {"block": block, "rows": list(rows)})


def weights(model: Model) -> str:
    """Return the digest of the numbers that a model's blocks depend on."""
    found = sha256(repr((model.heads, model.kv_heads, model.epsilon, model.frequencies.tolist())).encode())
    blocks = ((getattr(each, name) for name in (*LINEAR, "attention_norm", "ffn_norm")) for each in model.blocks)
    biases = (bias for each in model.blocks for _, bias in sorted(each.biases.items()))
    for array in (model.embedding, model.norm, *(each for block in blocks for each in block), *biases):
        # In the order of memory, so that no transposed weight is copied.
        found.update(array.ravel(order="K"))
    return found.hexdigest()


# All blocks of a format, those that are not kept in the order of their ends.


@dataclass(frozen=True, kw_only=True, eq=False)
class Finished:
    """A block that has been played, now or before.

    Attributes
    ----------
    setting, block, rows : its format, its number, and a row for each of its matmuls.
    done, total : finished blocks of the format with this one, and those that were asked for.
    before : True if it was kept.
    seconds_left : estimate for the others; None if none was played yet.
    next_token : id of the text's next token, with the format's last block, if all of the model's blocks agree with golden.
    """

    setting: Setting
    block: int
    rows: Sequence[Row]
    done: int
    total: int
    before: bool
    seconds_left: float | None
    next_token: int | None


def play_blocks(
    model: Model,
    ids: Sequence[int],
    setting: Setting,
    blocks: Sequence[int],
    *,
    kinds: Sequence[str] = KINDS,
    cluster: Cluster = HERE,
    console: Console | None = None,
) -> Iterator[Finished]:
    """Run golden's forward in a format and yield its blocks as they are finished, first those that were kept.

    A single block is played in this process and shown on the console; several ones, or one on a scheduler, by workers.

    Raises SimulationError as `play_block`, and as `cluster.finished`.
    """
    console = console or Console(quiet=True)
    # A part of a block, and waves, are wanted now.
    kept = Kept.of(setting, model, ids) if tuple(kinds) == KINDS and not setting.waves else None
    before = {block: rows for block, rows in (kept.rows() if kept else {}).items() if block in blocks}
    missing = [block for block in blocks if block not in before]
    whole = len(blocks) == len(model.blocks) and tuple(kinds) == KINDS
    captured = Captured(setting, missing, kinds)
    if missing or whole:
        with stage(console, f"{setting.format_name}, blocks in golden"):
            states = hidden(replace(model, blocks=model.blocks[: blocks[-1] + 1]), ids, captured)
    pieces = [
        Piece(block, f"{setting.format_name}, block {block}", play_block, (setting, captured.matmuls[block]))
        for block in missing
    ]
    start, agree = time.monotonic(), True
    for done, (block, rows) in enumerate(chain(before.items(), _played(pieces, cluster, console)), 1):
        if kept and block not in before:
            kept.add(block, rows)
        agree &= not any(row["mismatches"] for row in rows)
        rate = (time.monotonic() - start) / (done - len(before)) if done > len(before) else None
        token = int(np.argmax(logits(model, states[-1:]))) if whole and agree and done == len(blocks) else None
        yield Finished(
            setting=setting,
            block=block,
            rows=rows,
            done=done,
            total=len(blocks),
            before=block in before,
            seconds_left=None if rate is None else rate * (len(blocks) - done),
            next_token=token,
        )


def _played(pieces: Sequence[Piece], cluster: Cluster, console: Console) -> Iterator[tuple[int, list[Row]]]:
    if len(pieces) == 1 and cluster.scheduler is None:
        (piece,) = pieces
        yield piece.key, piece.call(*piece.arguments, console)
        return
    with console.status("") as status:
        for each in finished(pieces, cluster, status.update):
            yield each.piece.key, each.result()
