"""Bench of the issue check: every value of each field, operations that meet, wrong addresses, and random bundles of a schedule."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode, Saturation
from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, AguForm
from bitpath.golden.aie_ml_v2.tile.addresses import Address
from bitpath.golden.aie_ml_v2.tile.tile import Bundle
from bitpath.golden.aie_ml_v2.tile.transfers import PointerAdd
from bitpath.rtl.aie_ml_v2.core.bundle import BUNDLE, VECTOR_SLOT, LoadOp, StoreOp, VectorOp
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.core.issue_check import AGUS, IssueCheck
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.rtl.aie_ml_v2.tile.agu import AguMode
from bitpath.verif.aie_ml_v2.core.encoding import encoded, vector_name
from bitpath.verif.aie_ml_v2.core.programs import LACKING, MEETING, SHAPES, ProgramMaker, kinds_of
from bitpath.verif.kit.unit_bench import UnitBench, cases, pack, pauses, resolved

# Every value of each field of an operation beside legal ones, and which of them golden has.


X, DM = {"index": 0, "size": 1}, {"index": 0, "size": 2}
_HERE = {"pointer": 3, "is_immediate": 1}
_OK = {"op": StoreOp.SRS, "source": {"index": 0, "size": 0}, "address": _HERE, "rounding": 12, "saturation": 1}


def every_value(config: AieTileConfig) -> Iterator[tuple[str, int, bool]]:
    """Yield every value of each field of an operation beside legal ones: slot and field, the bundle's word, and whether golden has it."""
    mac = {"op": VectorOp.INTEGER, "native": config.multiply.products[0], "to": 0}
    names = SHAPES[next(each for each in SHAPES if "_".join(each).upper() == config.multiply.products[0].name)]
    mac |= {side: vector_name(f"{kind}0") for side, kind in zip("ab", names, strict=True)}
    load = {"op": LoadOp.LOAD, "to": X, "address": _HERE}
    srs, push = _OK, {"op": StoreOp.PUSH, "source": DM, "rounding": 12}
    has = config.multiply.mx9
    for name, base, path, bits, legal in (
        ("lda op", load, ("op",), 3, {0, 1, 2, 3, 4}),
        ("ldb op", load, ("op",), 3, {0, 1, 2, 3, 4}),
        ("lda size", load, ("to", "size"), 2, {0, 1}),
        ("ldb index", load, ("to", "index"), 5, {each for each in range(4 * config.pairs) if each % 2 == 0}),
        ("lda mode", load, ("address", "mode"), 2, {AguMode.POST_MODIFY.value, AguMode.INDEXED.value}),
        ("ldb immediate", load, ("address", "immediate"), 10, {each % 1024 for each in range(-512, 512, 64)}),
        ("st op", srs, ("op",), 3, {0, 1, 3, 4}),
        ("st rounding", srs, ("rounding",), 4, {each.value for each in RoundingCode}),
        ("st saturation", srs, ("saturation",), 2, {each.value for each in Saturation}),
        ("st size", srs, ("source", "size"), 2, {0, 1, 2}),
        ("st index", srs, ("source", "index"), 5, set(range(4 * config.accumulators))),
        ("st immediate", srs, ("address", "immediate"), 10, {each % 1024 for each in range(-128, 128, 16)}),
        ("vec op", mac, ("op",), 2, {0, 1}),
        ("vec native", mac, ("native",), VECTOR_SLOT["native"].width, {config.multiply.products[0].value}),
        ("vec to", mac, ("to",), 3, set(range(config.accumulators))),
        ("vec a size", mac, ("a", "size"), 2, {mac["a"]["size"]}),
        ("vec b size", mac, ("b", "size"), 2, {mac["b"]["size"]}),
        *((("st push rounding", push, ("rounding",), 4, {each.value for each in RoundingCode}),) if has else ()),
    ):
        for value in range(1 << bits):
            fields = _with(base, path, value - (1 << bits) if path[-1] == "immediate" and value >> bits - 1 else value)
            yield name, pack(BUNDLE, {name.split()[0]: fields}), value in legal


def _with(fields: Any, path: tuple[str, ...], value: int) -> Any:
    """Return fields with another value in one of them."""
    name, *rest = path
    return fields | {name: _with(fields[name], tuple(rest), value) if rest else value}


ALIGNED = (
    ("a load of a W", "lda", {"op": LoadOp.LOAD, "to": {"index": 1, "size": 0}, "address": _HERE}, 32),
    ("a load of an X", "ldb", {"op": LoadOp.LOAD, "to": X, "address": _HERE}, 64),
    ("SRS of a bm to 16 bytes", "st", _OK, 16),
    ("SRS of a bm to 32 bytes", "st", _OK | {"wide": 1}, 32),
    ("SRS of a dm to 64 bytes", "st", _OK | {"source": DM}, 64),
)
"""Accesses with their slot and the bytes by which their addresses are multiples."""


BENCH = UnitBench(IssueCheck, AieTileConfig)
CONFIG = BENCH.config
CASES = cases(300)


class Table:
    """The check with a bundle in each cycle, whose rest and fault are compared. Slots without an operation, and their
    addresses, hold random bits."""

    def __init__(self, frame):
        self.dut, self._rng = frame.dut, pauses.rng("junk")
        self.issue, self.faults = frame.scoreboard("issue", BUNDLE), frame.scoreboard("fault", Fault)

    def lead(self, slot, place=0):
        """Set where a slot's address leads."""
        getattr(self.dut, f"{slot}_address").value = place

    async def check(self, word, rest, fault, shown, *, advance=0, place=0):
        """Give a bundle whose addresses lead to a place, and compare its remaining operations."""
        junk = 0
        for name, slot in BUNDLE:
            if not word >> slot.offset & (1 << slot.width) - 1:
                operation = slot.shape["op"].width
                junk |= self._rng.getrandbits(slot.width - operation) << slot.offset + operation
                if name in AGUS:
                    self.lead(name, self._rng.getrandbits(ADDRESS_BITS))
            elif name in AGUS:
                self.lead(name, place)
        word, rest = word | junk, rest | junk
        self.dut.bundle.value, self.dut.advance.value = word, advance
        await FallingEdge(self.dut.clk)
        for board, right, real in ((self.issue, rest, self.dut.issue), (self.faults, fault.value, self.dut.fault)):
            board.compare(resolved(real), right, shown)
        await RisingEdge(self.dut.clk)


@BENCH.test("issue_check.values", "What golden's operations do not take is refused, and no other")
async def field_values(frame):
    """Every value of each field of a load, SRS, a push and a product beside legal ones, and every kind of operation
    that the tile lacks."""
    table = Table(frame)
    coverage = frame.coverage([*{name for name, *_ in every_value(CONFIG)}, *LACKING])
    for name, word, legal in every_value(CONFIG):
        await table.check(word, word if legal else 0, Fault.NONE if legal else Fault.OPERATION, f"{name}: {word:#x}")
        coverage.hit(name)
    for name, word in LACKING.items():
        await table.check(word(CONFIG), 0, Fault.OPERATION, name)
        coverage.hit(name)


@BENCH.test("issue_check.meetings", "The later slot's is left out, and nothing else")
async def meetings(frame):
    """Every kind of operation that meets another one at a port, a slot, a FIFO, a pointer or a counter."""
    table, coverage = Table(frame), frame.coverage([*MEETING, "vec"])
    for name, (bundles, kept) in MEETING.items():
        await frame.reset()
        words, rests = [encoded(each) for each in bundles], [encoded(each) for each in kept]
        rests += [0] * (len(words) - len(rests))
        for number, (word, rest) in enumerate(zip(words, rests, strict=True)):
            last = number == len(words) - 1
            await table.check(word, rest, Fault.BUSY if last else Fault.NONE, f"{name}, bundle {number}", advance=1)
        coverage.hit(name)
    await frame.reset()
    frame.dut.second.value = 1
    word = next(word for name, word, legal in every_value(CONFIG) if name == "vec to" and legal)
    await table.check(word, 0, Fault.BUSY, "behind MX9")
    coverage.hit("vec")


@BENCH.test("issue_check.pointers", "Two address generators must not write one register")
async def pointers(frame):
    """Random updates of pointers and counters in three slots, of every form."""
    rng = pauses.rng("pointers")
    table, coverage = Table(frame), frame.coverage(["NONE", "BUSY"])
    for _ in range(4 * CASES):
        bundle, kept, written = {}, {}, set()
        for slot in AGUS:
            form = rng.choice([*AguForm])
            modifier = {"register": rng.randrange(4 if form is AguForm.THREE_D else 8)}
            if form in (AguForm.POST_MODIFY, AguForm.INDEXED) and rng.random() < 0.5:
                modifier = {"immediate": 64 * rng.randrange(-8, 8)}
            bundle[slot] = PointerAdd(address=Address(pointer=rng.randrange(8), form=form, **modifier))
            names = set(bundle[slot].address.written)
            if not names & written:
                kept[slot] = bundle[slot]
            written |= names
        fault = Fault.NONE if kept == bundle else Fault.BUSY
        await table.check(encoded(Bundle(**bundle)), encoded(Bundle(**kept)), fault, str(bundle))
        coverage.hit(fault.name)


@BENCH.test("issue_check.addresses", "An access that is not aligned, or lies beyond the memory, does nothing")
async def addresses(frame):
    """Every byte of a line, every power of two and the ends of the memory, for accesses of each width and for the store
    FIFO."""
    dut = frame.dut
    size, bits = 1 << CONFIG.memory.used_bits, len(dut.lda_address)
    table, coverage = Table(frame), frame.coverage(["NONE", "UNALIGNED", "RANGE"])
    places = [*range(64), *(1 << bit for bit in range(bits)), size - 64, size - 1, (1 << bits) - 1]
    for name, slot, fields, width in ALIGNED:
        word = pack(BUNDLE, {slot: fields})
        for place in places:
            fault = Fault.UNALIGNED if place % width else Fault.RANGE if place >= size else Fault.NONE
            await table.check(word, 0 if fault.value else word, fault, f"{name} at {place:#x}", place=place)
            coverage.hit(fault.name)
    for op, holds, place in product((StoreOp.PUSH, StoreOp.FLUSH), (0, 1), places):
        fields = {"op": op, "source": {"index": 0, "size": 2}, "rounding": 12} if op is StoreOp.PUSH else {"op": op}
        if op is StoreOp.PUSH and not CONFIG.multiply.mx9:
            continue
        dut.pushed.value, dut.holds.value = place, holds
        fault = Fault.RANGE if place >= size and (op is StoreOp.PUSH or holds) else Fault.NONE
        word = pack(BUNDLE, {"st": fields})
        await table.check(word, 0 if fault.value else word, fault, f"{op.name} at {place:#x}, holds {holds}")


@BENCH.test("issue_check.schedules", "None of their operations is refused", kind=kinds_of(CONFIG))
async def schedules(frame, kind):
    """Random schedules of every kind of product that golden plays."""
    table = Table(frame)
    for number, each in enumerate(ProgramMaker(CONFIG, pauses.rng("schedules"), kind).program(CASES).bundles):
        word = encoded(each)
        await table.check(word, word, Fault.NONE, f"bundle {number}", advance=1)
