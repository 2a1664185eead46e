"""Beats for read-add-write, a memory behind it, and what golden makes of both."""

from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.trainium3 import read_add_write
from bitpath.rtl.trainium3.dma.read_add_write import ReadAddWriteConfig, WriteMode, beat_layout, store_layout
from bitpath.verif.kit.unit_bench import Bench, Shown, pack, resolved, unpack
from bitpath.verif.kit.values import codes_text
from bitpath.verif.trainium3.dtype_words import array_of, codes_of

FORMATS = {WriteMode.ADD_BF16: BF16, WriteMode.ADD_FP32: FP32}


@dataclass(frozen=True)
class Beat:
    """A beat by its fields; the mask has whole elements."""

    address: int
    data: bytes
    mask: int
    mode: WriteMode

    def payload(self, config: ReadAddWriteConfig) -> int:
        """The beat as the unit's port has it."""
        store = {"data": int.from_bytes(self.data, "little"), "mask": self.mask, "address": self.address}
        return pack(beat_layout(config), {"store": store, "mode": self.mode})

    def result(self, present: bytes) -> bytes:
        """The word after the beat."""
        after = self.data
        if self.mode in FORMATS:
            name = FORMATS[self.mode].name.lower()
            b, a = (array_of(_codes(each, self.mode), name) for each in (present, self.data))
            after = codes_of(read_add_write(b, a)).astype(f"<u{FORMATS[self.mode].width // 8}").tobytes()
        return bytes(
            new if self.mask >> k & 1 else old for k, (new, old) in enumerate(zip(after, present, strict=True))
        )


def _codes(word: bytes, mode: WriteMode) -> np.ndarray:
    return np.frombuffer(word, f"<u{FORMATS[mode].width // 8}")


def any_beat(rng: Random, config: ReadAddWriteConfig, addresses: int, modes: list[WriteMode]) -> Beat:
    """A beat at one of the first addresses; most add, with a mask of whole elements."""
    mode = rng.choice(modes)
    size = FORMATS[mode].width // 8 if mode in FORMATS else 1
    elements = config.beat_bytes // size
    chosen = (1 << elements) - 1 if rng.random() < 0.5 else rng.getrandbits(elements)
    mask = sum(((1 << size) - 1) << size * k for k in range(elements) if chosen >> k & 1)
    word = b"".join(any_element(rng, mode).to_bytes(size, "little") for _ in range(elements))
    return Beat(rng.randrange(addresses), word, mask, mode)


def any_element(rng: Random, mode: WriteMode) -> int:
    """A code near 1, any code, or a special."""
    if mode not in FORMATS:
        return rng.getrandbits(8)
    fmt = FORMATS[mode]
    if rng.random() < 0.6:
        exponent = fmt.bias + rng.randint(-3, 3)
        magnitude = exponent << fmt.fraction_bits | rng.getrandbits(fmt.fraction_bits)
        return magnitude | rng.getrandbits(1) * fmt.sign_mask
    specials = (0, 1, fmt.max_code, fmt.infinity_code, fmt.nan_code, fmt.infinity_code | 1, 1 << fmt.fraction_bits)
    return rng.choice((*specials, rng.getrandbits(fmt.width - 1))) | rng.getrandbits(1) * fmt.sign_mask


class Memory:
    """Words behind the unit: it answers `fetch` in the next cycle and takes `write`; expects golden's writes in order.

    A read beside a write of the same word returns the old word or the new one, at random.

    Parameters
    ----------
    frame : of the test.
    stall : share of cycles in which a port is not ready.
    compares : False if the caller compares the words, and nothing is expected.
    """

    def __init__(
        self, frame: Bench, config: ReadAddWriteConfig, rng: Random, stall: float = 0.0, *, compares: bool = True
    ):
        self.dut, self.config, self.rng, self.stall = frame.dut, config, rng, stall
        self.words = [rng.randbytes(config.beat_bytes) for _ in range(1 << config.address_bits)]
        self.shadow = list(self.words)
        self.fetched = 0
        self.write_cycles: list[int] = []
        self.board = frame.scoreboard("write", store_layout(config)) if compares else None
        self._frame = frame
        frame.onlook("fetch")
        frame.onlook("write")
        frame.start("memory", self._serve())

    def set(self, address: int, word: bytes) -> None:
        """Set a word before a beat reaches it."""
        self.words[address] = self.shadow[address] = word

    def expect(self, beat: Beat) -> int:
        """Expect the write of a beat; return its payload."""
        present = self.shadow[beat.address]
        word = self.shadow[beat.address] = beat.result(present)
        written = bytes(each if beat.mask >> k & 1 else 0 for k, each in enumerate(word))
        fields = {"data": int.from_bytes(written, "little"), "mask": beat.mask, "address": beat.address}
        assert self.board is not None
        self.board.expect(pack(store_layout(self.config), fields), partial(_shown, beat, present))
        return beat.payload(self.config)

    async def _serve(self) -> None:
        dut, bits = self.dut, 8 * self.config.beat_bytes
        asked: int | None = None
        while True:
            for port in ("fetch", "write"):
                getattr(dut, f"{port}__ready").value = int(self.rng.random() >= self.stall)
            await FallingEdge(dut.clk)
            asked = resolved(dut.fetch__payload) if _moves(dut, "fetch") else None
            before = None if asked is None else self.words[asked]
            if _moves(dut, "write"):
                self._store(resolved(dut.write__payload))
            await RisingEdge(dut.clk)
            if asked is None:
                dut.fetched.value = self.rng.getrandbits(bits)
            else:
                self.fetched += 1
                word = self.rng.choice((before, self.words[asked]))
                dut.fetched.value = int.from_bytes(word, "little")

    def _store(self, payload: int) -> None:
        if self.board is not None:
            self.board.got(payload)
        self.write_cycles.append(self._frame.elapsed)
        fields = unpack(store_layout(self.config), payload)
        word = int(fields.data).to_bytes(self.config.beat_bytes, "little")
        old = self.words[fields.address]
        merged = (new if fields.mask >> k & 1 else kept for k, (new, kept) in enumerate(zip(word, old, strict=True)))
        self.words[fields.address] = bytes(merged)


def _moves(dut: Any, name: str) -> bool:
    return bool(resolved(getattr(dut, f"{name}__valid")) and resolved(getattr(dut, f"{name}__ready")))


def _shown(beat: Beat, present: bytes, _: str) -> Shown:
    operands = {"mode": beat.mode.name, "mask": f"{beat.mask:#x}", "address": str(beat.address)}
    for name, word in (("present", present), ("added", beat.data)):
        fmt = FORMATS.get(beat.mode)
        operands[name] = word.hex() if fmt is None else codes_text(fmt, _codes(word, beat.mode))
    return Shown(operands=operands)
