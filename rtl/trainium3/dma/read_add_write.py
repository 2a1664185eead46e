"""Read-add-write at the destination of a DMA engine.

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2026-08.
"""

from dataclasses import dataclass

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.rtl.common.config import UnitConfig, in_range, power_of_two
from bitpath.rtl.common.fp32.fp32_arithmetic import Fp32Add, Fp32ToBf16
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.dma.dma_cast import BEAT_BYTES
from bitpath.rtl.trainium3.faults import Fault


@dataclass(frozen=True, kw_only=True)
class ReadAddWriteConfig(UnitConfig, unit="read_add_write"):
    """Configuration of read-add-write.

    Attributes
    ----------
    beat_bytes : bytes of a beat, a power of two from 4 to 32; the machine's have 32.
    address_bits : bits of a word's address.
    checks : whether modes are checked; without it they must be right.
    """

    beat_bytes: int = power_of_two(4, BEAT_BYTES, 4)
    address_bits: int = in_range(1, 40, 4)
    checks: bool = True


class WriteMode(enum.Enum, shape=2):
    """Operation of a beat on the word in memory."""

    STORE = 0
    ADD_BF16 = 1
    ADD_FP32 = 2


def store_layout(config: ReadAddWriteConfig) -> data.StructLayout:
    """Layout of a write: a word, a mask bit for each byte, and the word's address."""
    return data.StructLayout({"data": 8 * config.beat_bytes, "mask": config.beat_bytes, "address": config.address_bits})


def beat_layout(config: ReadAddWriteConfig) -> data.StructLayout:
    """Layout of a beat: a write, and its operation on the word in memory."""
    return data.StructLayout({"store": store_layout(config), "mode": WriteMode})


def adder_ports(config: ReadAddWriteConfig) -> wiring.Signature:
    """Members of :class:`ReadAddWrite`."""
    return wiring.Signature(
        {
            "i": In(stream.Signature(beat_layout(config))),
            "fetch": Out(stream.Signature(config.address_bits)),
            "fetched": In(8 * config.beat_bytes),
            "write": Out(stream.Signature(store_layout(config))),
            "fault": Out(Fault),
        }
    )


class ReadAddWrite(wiring.Component):
    """Stores beats, or adds them to the words in memory: BF16 or FP32, one rounding to nearest even.

    ::

        i, fetch        | fetched + i -> write    if nobody waits
                        |  -> kept -> write       else, in order

    A beat's word is fetched in the cycle in which the beat is taken, added and offered in the next. A word that waits for its
    write is forwarded, so a beat may follow onto the same word at once. At most two beats are between `i` and `write`, and
    a beat is taken while there is at most one. Throughput is a beat a cycle; latency is a cycle.

    Parameters
    ----------
    config : bytes of a beat, bits of its address, and whether modes are checked.

    Members
    -------
    i : In(stream of beat_layout)
    fetch : Out(stream of addresses), of words that beats are added to
    fetched : In(word), of the address taken in the cycle before; whether it shows a write of that cycle does not matter
    write : Out(stream of store_layout); bytes outside the mask are 0
    fault : Out(Fault), OPERATION in the cycle in which a beat of no mode is taken; it writes nothing
    """

    def __init__(self, config: ReadAddWriteConfig):
        self.config = config
        super().__init__(adder_ports(config))

    def elaborate(self, platform):
        m = Module()
        layout = store_layout(self.config)
        beat = Signal(beat_layout(self.config), reset_less=True)
        busy = Signal()
        level = Signal(range(3))
        kept = [Signal(layout, name=f"kept_{place}", reset_less=True) for place in range(2)]
        forward = Signal(
            data.StructLayout({"data": layout["data"].shape, "mask": layout["mask"].shape}), reset_less=True
        )

        result = Signal(layout)
        present = self._overlaid(self.fetched, forward.data, forward.mask)
        total = self._sum(m, platform, present, beat.store.data, beat.mode)
        m.d.comb += [
            result.address.eq(beat.store.address),
            result.mask.eq(beat.store.mask),
            result.data.eq(self._overlaid(0, total, beat.store.mask)),
        ]

        room = Signal()
        taken = Signal()
        adds = Signal()
        legal = Value.cast(self.i.p.mode).matches(*WriteMode) if self.config.checks else Const(1)
        m.d.comb += [
            room.eq(busy + level <= 1),
            adds.eq(legal & (self.i.p.mode != WriteMode.STORE)),
            self.fault.eq(Mux(self.i.valid & self.i.ready & ~legal, Fault.OPERATION, Fault.NONE)),
            self.fetch.valid.eq(self.i.valid & adds & room),
            self.fetch.p.eq(self.i.p.store.address),
            self.i.ready.eq(room & (~adds | self.fetch.ready)),
            taken.eq(self.i.valid & self.i.ready & legal),
            self.write.valid.eq(busy | level.any()),
            self.write.p.eq(Mux(level.any(), kept[0], result)),
        ]
        m.d.sync += busy.eq(taken)
        # With room for a beat, at most one is on its way.
        waiting = Signal(layout)
        m.d.comb += waiting.eq(Mux(busy, result, kept[0]))
        same = (busy | level.any()) & (waiting.address == self.i.p.store.address)
        with m.If(taken):
            m.d.sync += [
                beat.eq(self.i.p),
                forward.data.eq(waiting.data),
                forward.mask.eq(Mux(same, waiting.mask, 0)),
            ]

        leaves = Signal()
        stays = Signal()
        m.d.comb += [
            leaves.eq(level.any() & self.write.ready),
            stays.eq(busy & (level.any() | ~self.write.ready)),
        ]
        m.d.sync += level.eq(level + stays - leaves)
        with m.If(leaves):
            m.d.sync += kept[0].eq(kept[1])
        with m.If(stays):
            with m.If(level - leaves == 0):
                m.d.sync += kept[0].eq(result)
            with m.Else():
                m.d.sync += kept[1].eq(result)
        return m

    def _overlaid(self, below: Value | int, above: Value, mask: Value) -> Value:
        """The bytes of `above` where the mask is set, those of `below` elsewhere."""
        below = Value.cast(below)
        return Cat(
            Mux(mask[k], above.word_select(k, 8), below[8 * k : 8 * k + 8]) for k in range(self.config.beat_bytes)
        )

    def _sum(self, m: Module, platform, present: Value, added: Value, mode: Value) -> Value:
        """The word after a beat: a word of 32 bits has one adder for FP32 or its lower BF16, one for its upper BF16."""
        words = []
        present = Value.cast(present)
        for k in range(self.config.beat_bytes // 4):
            operands = [each.word_select(k, FP32.width) for each in (present, added)]
            adders = []
            for half in ("lower", "upper"):
                adder = instantiate(m, platform, f"{half}_{k}", Fp32Add)
                narrow = instantiate(m, platform, f"{half}_bf16_{k}", Fp32ToBf16)
                for port, operand in zip((adder.a, adder.b), operands, strict=True):
                    as_fp32 = operand[BF16.width :] if half == "upper" else operand[: BF16.width]
                    padded = Cat(Value.cast(0).replicate(BF16.width), as_fp32)
                    wide = operand if half == "lower" else padded
                    m.d.comb += port.eq(Mux(mode == WriteMode.ADD_FP32, wide, padded))
                m.d.comb += narrow.i.eq(adder.o)
                adders.append((adder, narrow))
            halves = Cat(narrow.o[BF16.width :] for _, narrow in adders)
            total = Mux(mode == WriteMode.ADD_FP32, adders[0][0].o, halves)
            words.append(Mux(mode == WriteMode.STORE, operands[1], total))
        return Cat(words)


RECORDS = (
    Unit(
        name="read_add_write",
        config_type=ReadAddWriteConfig,
        build=ReadAddWrite,
        summary="Trainium3: DMA beats stored, or added in BF16 or FP32 to words in memory",
        covered=Covered(ReadAddWriteConfig(), 300),
        judges=(Judge(41, ReadAddWriteConfig(), 150),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("fetch", r"fetch"),
            WaveGroup("beat", r"(beat|busy|forward|result)"),
            WaveGroup("adders", r"(lower|upper)_"),
            WaveGroup("waiting", r"(kept|level|waiting)"),
            WaveGroup("write", r"write"),
        ),
    ),
)
