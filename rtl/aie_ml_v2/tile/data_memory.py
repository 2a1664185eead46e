"""Data memory: single-port banks in pairs, two loads and a store of the core a cycle, and an outside port for each module.

::

     [module][pair][   word   ][odd][ byte ]     address; the core has banks of pairs, an access both of a pair or one

Ref: AM027 chapter 2 and appendix A; AM020 for the stalls. Who goes first is chosen.
"""

from functools import reduce
from operator import or_

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.rtl.aie_ml_v2.tile.access_decode import AccessDecode, access_layout
from bitpath.rtl.aie_ml_v2.tile.config import DataMemoryConfig
from bitpath.rtl.aie_ml_v2.tile.load_result import LoadResult
from bitpath.rtl.aie_ml_v2.tile.memory_bank import OUTSIDE, STORE, MemoryBank
from bitpath.rtl.common.pipeline.shared_instances import instantiate

LOADS = 2
"""Load A and load B; port 2 is the store."""
ERROR = data.StructLayout({"unaligned": 3, "outside": 3})
"""A bit for each of load A, load B and the store."""


def store_layout(config: DataMemoryConfig) -> data.StructLayout:
    """Layout of a store: bytes from the lowest on, of which those with a mask bit are written."""
    return data.StructLayout(
        {"access": access_layout(config), "data": 8 * config.line_bytes, "mask": config.line_bytes}
    )


def outside_layout(config: DataMemoryConfig) -> data.StructLayout:
    """Layout of an outside port's request: a word of a bank of its module, written where its mask says."""
    return data.StructLayout(
        {
            "odd": 1,
            "word": config.word_bits,
            "pair": exact_log2(config.pairs),
            "writes": 1,
            "data": 8 * config.bank_bytes,
            "mask": config.bank_bytes,
        }
    )


class DataMemory(wiring.Component):
    """Bytes in banks. The core presents the accesses of one memory cycle until it goes on, ``advance`` without ``stall``.

    A bank serves load A, load B, the store, and then an outside port, one a cycle; ``stall`` is 1 while an access of the
    core is not served. So a load finds the bytes from before the store beside it, and the stall lasts as many cycles as the
    requests of the busiest bank, less one, and those in which an outside port went first.

    Latency: a load's bytes are there from the cycle after the core has gone on to the one in which it goes on again.

    Parameters
    ----------
    config : sizes, and how outside ports wait.

    Members
    -------
    load : In(stream of access_layout, always ready), load A and load B
    store : In(stream of store_layout, always ready)
    advance : In(1), the rest of the core is ready to go on
    stall : Out(1), the memory is not
    error : Out(ERROR), of the accesses that are presented
    data : Out(stream of a line, always ready), of each load, zeros above its bytes
    outside : In(stream of outside_layout), of each module
    answer : Out(stream of a word, always ready), one cycle after an outside read is taken
    """

    def __init__(self, config: DataMemoryConfig):
        self.config = config
        super().__init__(
            {
                "load": In(stream.Signature(access_layout(config), always_ready=True)).array(LOADS),
                "store": In(stream.Signature(store_layout(config), always_ready=True)),
                "advance": In(1),
                "stall": Out(1),
                "error": Out(ERROR),
                "data": Out(stream.Signature(8 * config.line_bytes, always_ready=True)).array(LOADS),
                "outside": In(stream.Signature(outside_layout(config))).array(config.modules),
                "answer": Out(stream.Signature(8 * config.bank_bytes, always_ready=True)).array(config.modules),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        valids = [self.load[0].valid, self.load[1].valid, self.store.valid]
        places = []
        for name, access in zip("abs", (self.load[0].p, self.load[1].p, self.store.p.access), strict=True):
            place = instantiate(m, platform, f"decode_{name}", AccessDecode, config)
            m.d.comb += place.access.eq(access)
            places.append(place)
        m.d.comb += [
            self.error.unaligned.eq(Cat(v & place.unaligned for v, place in zip(valids, places, strict=True))),
            self.error.outside.eq(Cat(v & place.outside for v, place in zip(valids, places, strict=True))),
        ]

        waiting, served = ([Signal(2, name=f"{n}_{port}") for port in "abs"] for n in ("waiting", "served"))
        goes = Signal()
        m.d.comb += [
            self.stall.eq(Cat(left & ~now for left, now in zip(waiting, served, strict=True)).any()),
            goes.eq(self.advance & ~self.stall),
        ]
        for port, (valid, place) in enumerate(zip(valids, places, strict=True)):
            done = Signal(2, name=f"done_{'abs'[port]}")
            m.d.comb += waiting[port].eq(Mux(valid, place.needs & ~done, 0))
            m.d.sync += done.eq(Mux(goes, 0, done | served[port]))

        words = self._banks(m, platform, places, waiting, served)
        for number in range(LOADS):
            self._load(m, platform, number, places[number], served[number], goes, words)
        return m

    def _banks(self, m, platform, places, waiting, served) -> list:
        """Instantiate the banks; return the words of each pair that were read in the cycle before, the even bank's low."""
        config = self.config
        line = 8 * config.bank_bytes
        stored = Signal(2 * line)
        mask = Signal(2 * config.bank_bytes)
        store, place = self.store.p, places[STORE]
        wide = place.needs.all()
        narrow = store.data[:line] << (place.first << 3)
        bytes_below = store.mask[: config.bank_bytes] << place.first
        m.d.comb += [
            stored.eq(Mux(wide, store.data, narrow[:line].replicate(2))),
            mask.eq(Mux(wide, store.mask, (bytes_below & place.bytes)[: config.bank_bytes].replicate(2))),
        ]
        grants: list[list[list]] = [[[], []] for _ in range(STORE + 1)]
        words = []
        for module in range(config.modules):
            outside, answer = self.outside[module], self.answer[module]
            owed, read = Signal(name=f"owed_{module}"), Signal(range(2 * config.pairs), name=f"read_{module}")
            taken, outputs = [], []
            number = Cat(outside.p.odd, outside.p.pair)
            for index in range(2 * config.pairs):
                pair, odd = divmod(index, 2)
                bank = instantiate(m, platform, f"bank_{module}_{index}", MemoryBank, config)
                here = module * config.pairs + pair
                m.d.comb += [
                    bank.asks.eq(
                        Cat(
                            *(left[odd] & (at.pair == here) for left, at in zip(waiting, places, strict=True)),
                            outside.valid & (number == index),
                        )
                    ),
                    bank.places.eq(Cat(*(at.word for at in places), outside.p.word)),
                    bank.owed.eq(owed),
                    bank.outside_writes.eq(outside.p.writes),
                    bank.data.eq(Cat(stored.word_select(odd, line), outside.p.data)),
                    bank.mask.eq(Cat(mask.word_select(odd, config.bank_bytes), outside.p.mask)),
                ]
                for port, granted in enumerate(grants):
                    granted[odd].append(bank.served[port])
                taken.append(bank.served[OUTSIDE])
                outputs.append(bank.o)
            words += [Cat(outputs[even : even + 2]) for even in range(0, len(outputs), 2)]
            m.d.comb += [outside.ready.eq(Cat(taken).any()), answer.p.eq(Array(outputs)[read])]
            m.d.sync += [read.eq(number), answer.valid.eq(outside.ready & ~outside.p.writes)]
            if config.round_robin:
                m.d.sync += owed.eq(outside.valid & ~outside.ready)
        for port, granted in enumerate(grants):
            m.d.comb += served[port].eq(Cat(reduce(or_, granted[odd]) for odd in range(2)))
        return words

    def _load(self, m, platform, number, place, served, goes, words) -> None:
        """Collect the words of a load."""
        name = "ab"[number]
        pair = Signal(range(self.config.all_pairs), name=f"pair_{name}", reset_less=True)
        there = Signal(name=f"there_{name}")
        result = instantiate(m, platform, f"result_{name}", LoadResult, self.config)
        m.d.sync += pair.eq(place.pair)
        m.d.comb += [
            result.served.eq(served),
            result.words.eq(Array(words)[pair]),
            result.odd.eq(place.needs[1]),
            result.wide.eq(place.needs.all()),
            result.first.eq(place.first),
            result.bytes.eq(place.bytes),
            result.goes.eq(goes),
            self.data[number].valid.eq(there),
            self.data[number].p.eq(result.o),
        ]
        with m.If(goes):
            m.d.sync += there.eq(self.load[number].valid)
