"""Data memory: single-port banks in pairs, two loads and a store of the core a cycle, and an outside port for each module.

::

     [module][pair][   word   ][odd][ byte ]     address; the core has banks of pairs, an access both of a pair or one

Ref: AM027 chapter 2 and appendix A; AM020 for the stalls. Who goes first is chosen.
"""

from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, BANK_BYTES, BANK_WORDS, MODULE_PAIRS, MODULES
from bitpath.rtl.common.config import UnitConfig, power_of_two
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup


@dataclass(frozen=True, kw_only=True)
class DataMemoryConfig(UnitConfig, unit="data_memory"):
    """Configuration of data memory; the machine has 4 modules of 4 pairs of banks of 256 words of 32 bytes.

    Attributes
    ----------
    modules, pairs : modules, and pairs of banks in each; powers of two from 1 to 4.
    words : words of a bank, a power of two from 2 to 256.
    bank_bytes : bytes of a word, a power of two from 2 to 32.
    round_robin : whether an outside port goes before the core after a cycle in which it waited; else it gives way always.
    """

    modules: int = power_of_two(1, MODULES, 2)
    pairs: int = power_of_two(1, MODULE_PAIRS, 2)
    words: int = power_of_two(2, BANK_WORDS, 4)
    bank_bytes: int = power_of_two(2, BANK_BYTES, 4)
    round_robin: bool = False

    @property
    def line_bytes(self) -> int:
        """Bytes of the widest access, a word of both banks of a pair."""
        return 2 * self.bank_bytes

    @property
    def all_pairs(self) -> int:
        return self.modules * self.pairs

    @property
    def byte_bits(self) -> int:
        """Bits of a byte's place in a bank's word."""
        return exact_log2(self.bank_bytes)

    @property
    def word_bits(self) -> int:
        """Bits of a word's place in its bank."""
        return exact_log2(self.words)

    @property
    def used_bits(self) -> int:
        """Bits of an address in the memory."""
        return self.byte_bits + 1 + self.word_bits + exact_log2(self.all_pairs)


# One single-port bank of data memory with its arbiter: load A, load B, the store, and an outside port.


STORE, OUTSIDE = 2, 3
"""Numbers of requesters behind both loads."""
REQUESTERS = 4


class MemoryBank(wiring.Component):
    """Serves one request a cycle: the core's first one, or an outside one if the core has none or it is ``owed``.

    Latency: a word comes one cycle after its request is served.

    Parameters
    ----------
    config : sizes of the memory.

    Members
    -------
    asks : In(4), requests of load A, load B, the store and the outside port
    places : In(4 places), the word of each
    owed : In(1), the outside port goes first
    outside_writes : In(1)
    data, mask : In, of the store and of the outside port
    served : Out(4), the request that is served
    o : Out(word)
    """

    def __init__(self, config: DataMemoryConfig):
        self.config = config
        word = 8 * config.bank_bytes
        super().__init__(
            {
                "asks": In(REQUESTERS),
                "places": In(REQUESTERS * config.word_bits),
                "owed": In(1),
                "outside_writes": In(1),
                "data": In(2 * word),
                "mask": In(2 * config.bank_bytes),
                "served": Out(REQUESTERS),
                "o": Out(word),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        word = 8 * config.bank_bytes
        m.submodules.cells = cells = memory.Memory(shape=word, depth=config.words, init=[])
        read, write = cells.read_port(), cells.write_port(granularity=8)
        place = Signal(config.word_bits)
        m.d.comb += [read.addr.eq(place), read.en.eq(self.served.any()), write.addr.eq(place), self.o.eq(read.data)]
        with m.If(self.asks[OUTSIDE] & (self.owed | ~self.asks[:OUTSIDE].any())):
            m.d.comb += self.served[OUTSIDE].eq(1)
        with m.Else():
            m.d.comb += self.served.eq(self.asks[:OUTSIDE] & -self.asks[:OUTSIDE])
        for requester in range(REQUESTERS):
            with m.If(self.served[requester]):
                m.d.comb += place.eq(self.places.word_select(requester, config.word_bits))
        outside, writes = self.served[OUTSIDE], Signal()
        m.d.comb += [
            writes.eq(self.served[STORE] | (outside & self.outside_writes)),
            write.data.eq(self.data.word_select(outside, word)),
            write.en.eq(Mux(writes, self.mask.word_select(outside, config.bank_bytes), 0)),
        ]
        return m


# Place of an access in data memory: its pair of banks, their word, the bytes of it, and the fault of its address.


def access_layout(config: DataMemoryConfig) -> data.StructLayout:
    """Layout of an access: ``size`` is the logarithm of its bytes, up to a line."""
    return data.StructLayout({"address": ADDRESS_BITS, "size": range(config.byte_bits + 2)})


class AccessDecode(wiring.Component):
    """It is combinational, with latency 0. Low address bits of an access that is not aligned, and bits beyond the
    memory, are left out.

    Parameters
    ----------
    config : sizes of the memory.

    Members
    -------
    access : In(access_layout)
    pair : Out, number of the pair of banks
    word : Out, place of the word in its bank
    needs : Out(2), the even and the odd bank
    first : Out, place of the first byte in the word; 0 for a whole line
    bytes : Out(bank_bytes), the bytes of the access in each word that it needs
    unaligned, outside : Out(1), errors of the address
    """

    clocked = False

    def __init__(self, config: DataMemoryConfig):
        self.config = config
        super().__init__(
            {
                "access": In(access_layout(config)),
                "pair": Out(range(config.all_pairs)),
                "word": Out(config.word_bits),
                "needs": Out(2),
                "first": Out(config.byte_bits),
                "bytes": Out(config.bank_bytes),
                "unaligned": Out(1),
                "outside": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, address = self.config, self.access.address
        # Bits of the place in a line, in a bank's word and which of both words.
        line_bits = config.byte_bits + 1
        below, wide = Signal(line_bits), Signal()
        m.d.comb += [
            below.eq((1 << self.access.size) - 1),
            wide.eq(self.access.size > config.byte_bits),
            self.first.eq(address[: config.byte_bits] & ~below[: config.byte_bits]),
            self.needs.eq(Mux(wide, 0b11, 1 << address[config.byte_bits])),
            self.bytes.eq(Cat((byte & ~below[: config.byte_bits]) == self.first for byte in range(config.bank_bytes))),
            self.word.eq(address[line_bits:]),
            self.pair.eq(address[line_bits + config.word_bits :]),
            self.unaligned.eq((address[:line_bits] & below).any()),
            self.outside.eq(address[config.used_bits :].any()),
        ]
        return m


# The bytes of a load, out of words that its banks may give in different cycles.


class LoadResult(wiring.Component):
    """Collects both words of a load, aligns them, and holds its bytes until the core goes on again.

    Latency: ``o`` is right in the cycle after ``goes``, and until the cycle of the next one.

    Parameters
    ----------
    config : sizes of the memory.

    Members
    -------
    served : In(2), the bank that reads for the load in this cycle, even and odd
    words : In(2 words), what the banks read in the cycle before
    odd, wide : In(1), the load needs the odd bank alone, or both
    first : In, place of the first byte in the word
    bytes : In(bank_bytes), bytes of the word that the load needs
    goes : In(1), the load is complete in this cycle, and the core goes on
    o : Out(line_bytes), the load's bytes, zeros above
    """

    def __init__(self, config: DataMemoryConfig):
        self.config = config
        word = 8 * config.bank_bytes
        super().__init__(
            {
                "served": In(2),
                "words": In(2 * word),
                "odd": In(1),
                "wide": In(1),
                "first": In(config.byte_bits),
                "bytes": In(config.bank_bytes),
                "goes": In(1),
                "o": Out(2 * word),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word = 8 * self.config.bank_bytes
        moved = Signal()
        odd, wide = Signal(reset_less=True), Signal(reset_less=True)
        first, shown = Signal.like(self.first, reset_less=True), Signal.like(self.bytes, reset_less=True)
        fresh = Signal(2)
        held, collected, out = (Signal(2 * word, name=name, reset_less=True) for name in ("held", "collected", "out"))
        narrow, masked = Signal(word), Signal(word)
        m.d.comb += [
            collected.eq(
                Cat(
                    Mux(fresh[bank], self.words.word_select(bank, word), held.word_select(bank, word))
                    for bank in range(2)
                )
            ),
            masked.eq(Mux(odd, collected[word:], collected[:word]) & Cat(bit.replicate(8) for bit in shown)),
            narrow.eq(masked >> (first << 3)),
            self.o.eq(Mux(moved, Mux(wide, collected, narrow), out)),
        ]
        m.d.sync += [
            fresh.eq(self.served),
            held.eq(collected),
            out.eq(self.o),
            moved.eq(self.goes),
            odd.eq(self.odd),
            wide.eq(self.wide),
            first.eq(self.first),
            shown.eq(self.bytes),
        ]
        return m


LOADS = 2
"""Load A and load B; port 2 is the store."""
ERROR = data.StructLayout({"unaligned": 3, "outside": 3})
"""A bit for each of load A, load B and the store."""


def store_layout(config: DataMemoryConfig) -> data.StructLayout:
    """Layout of a store: bytes from the lowest on; those with a mask bit are written."""
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
    """Data memory: bytes in banks. The core presents the accesses of one memory cycle until it goes on, ``advance``
    without ``stall``.

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


RECORDS = (
    Unit(
        name="data_memory",
        config_type=DataMemoryConfig,
        build=DataMemory,
        summary="AIE-ML v2: banks with two loads and a store a cycle, and outside ports",
        covered=Covered(DataMemoryConfig(), 400),
        judges=(Judge(92, DataMemoryConfig(round_robin=True), 200),),
        waves=(
            CLOCK,
            WaveGroup("core", r"(load__|store__|advance|stall|error|data__)"),
            WaveGroup("outside", r"(outside|answer)__"),
            WaveGroup("conflicts", r"(waiting|served|done|owed|goes)"),
            WaveGroup("loads", r"result_"),
            WaveGroup("banks", r"bank_"),
        ),
    ),
)
