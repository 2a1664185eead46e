"""Bench of the packers' addresses: PACRs in random states, against the stores that golden makes of them."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from cocotb.triggers import Timer

from bitpath.golden.tensix.convert.formats import INTEGERS
from bitpath.golden.tensix.convert.pack import ACCUMULATING_FORMATS
from bitpath.golden.tensix.core.packer import MASKS, RELATIVE, Store, pacr, stores_of
from bitpath.golden.tensix.core.state import THREADS, State
from bitpath.golden.tensix.declarations.encodings import FIELDS, WIDTHS
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_FLOATS,
    COLUMNS,
    DST16_FP16,
    DST16_ROWS,
    DST32,
    Chip,
    Format,
)
from bitpath.golden.tensix.isa import Instruction
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.decode import ZERO_FIELDS
from bitpath.rtl.tensix.core.pack_address import PackAddress
from bitpath.rtl.tensix.core.row_packer import ADDRESS_BITS, FLUSH_STEPS, PACKERS, SOURCES, pack_rows_layout
from bitpath.verif.kit.unit_bench import UnitBench, cases, pack, pauses, resolved, unpack
from bitpath.verif.tensix.program.loads import ALL_COLUMNS, packings
from bitpath.verif.tensix.program.views import (
    NO_FORMATS,
    other_fields,
    random_instruction,
    random_state,
    row_order,
    seldom,
    set_shared,
    short,
    view_of,
)

BENCH = UnitBench(PackAddress, ChipConfig)
CONFIG = BENCH.config
CHIP = CONFIG.chip
LAYOUT = pack_rows_layout(CONFIG)
CASES = cases(200)
LINE = 16
"""Bytes that an address of L1 counts."""
LINES = 1 << ADDRESS_BITS
L1_BYTES = 2 * LINES * LINE
"""Golden's L1, in which no PACR passes the end: the unit behind this one refuses those that do."""
FATES = ("executed", "refused")


LEGAL = packings(CHIP)
NO_MIDDLES = sorted({*range(16)} - {each.mid for each in LEGAL})
"""Codes of no intermediate format."""


class Case:
    """A PACR in a state in which most PACRs are legal."""

    def __init__(self, rng: Random):
        self.rng, self.thread = rng, rng.randrange(THREADS)
        self.state = random_state(CHIP, rng, L1_BYTES)
        self.packing = rng.choice(LEGAL)
        self.mid, self.out, self.dst32 = self.packing.mid, self.packing.out, self.packing.dst32
        if seldom(rng, 0.15):
            # Most of these formats do not go together.
            self.mid, self.out, self.dst32 = rng.choice([*Format]), rng.choice([*Format]), bool(rng.getrandbits(1))
            self.packing = replace(self.packing, mid=self.mid, out=self.out, dst32=self.dst32)
        if seldom(rng):
            self.out = rng.choice(NO_FORMATS)
        if seldom(rng):
            self.mid = rng.choice(NO_MIDDLES)
        known = [*MASKS, *[mask for mask in range(16) if seldom(rng)]] if CHIP is Chip.WORMHOLE else [0, *range(16)]
        self.instruction = random_instruction(
            CHIP,
            rng,
            "PACR",
            **dict.fromkeys(ZERO_FIELDS["PACR"], 0),
            packers=rng.choice(known),
            flush=seldom(rng, 0.1),
        )
        self._formats()
        self._places()

    def _of_each(self, name: str, value: int, others: Sequence[int]) -> None:
        """Set a field of every packer to one value, seldom of one packer to another value."""
        values = [int(value)] * PACKERS[CHIP]
        if seldom(self.rng, 0.06):
            values[self.rng.randrange(len(values))] = int(self.rng.choice(others))
        set_shared(self.state, name, *values)

    def _formats(self) -> None:
        rng, state = self.rng, self.state
        others = [each.out for each in LEGAL if replace(each, out=self.packing.out) == self.packing]
        accumulates = rng.getrandbits(1) if self.out in ACCUMULATING_FORMATS else seldom(rng)
        self._of_each("pack_in_format", self.mid, range(16))
        self._of_each("pack_out_format", self.out, others or range(16))
        self._of_each("pack_uncompressed", 1, [0])
        self._of_each("l1_accumulate", accumulates, [0])
        threshold = rng.randrange(1 << 8) if self.mid not in INTEGERS or seldom(rng) else 0
        self._of_each("exponent_threshold_enabled", int(threshold > 0), [0])
        self._of_each("exponent_threshold", threshold, range(1 << 8))
        relu = 4 + rng.getrandbits(2) if seldom(rng) else rng.getrandbits(2)
        fields = {
            "dst_format": rng.getrandbits(4) if seldom(rng) else self.mid,
            "read_32b": self.dst32,
            "read_raw": self.packing.raw,
            "round_10b": self.packing.round_10b,
            "relu_mode": relu,
            "relu_threshold": rng.getrandbits(15) | seldom(rng) << 15,
            "edge_mask": rng.choice((ALL_COLUMNS, rng.getrandbits(16))),
            "pack_e4m3": rng.getrandbits(1),
            "packer_stochastic": seldom(rng) if self.out in BLOCK_FLOATS else rng.getrandbits(1),
        }
        for name, value in fields.items():
            set_shared(state, name, int(value))

    def _places(self) -> None:
        """Rows of Dst and addresses: mostly whole rows."""
        rng, state = self.rng, self.state
        rows = 1 if CHIP is Chip.BLACKHOLE and not seldom(rng) else rng.choice((1, 16, rng.randint(1, 64)))
        if seldom(rng):
            # More than Dst has.
            rows += DST16_ROWS << rng.randrange(WIDTHS["x"] - (DST16_ROWS * COLUMNS).bit_length() + 1)
        near = {"x": COLUMNS * short(rng, 3) + seldom(rng) * rng.getrandbits(4)}
        near |= {name: rng.getrandbits(bits) for name, bits in WIDTHS.items() if name != "x"}
        far = {"x": near["x"] + COLUMNS * rows - 1 + seldom(rng) * rng.getrandbits(4)}
        if seldom(rng):
            near["x"], far["x"] = far["x"], near["x"]
        adcs = state.adc[self.thread]
        channels = {"channel_0": near, "channel_1": far}
        packers = replace(
            adcs.packers, **{name: replace(getattr(adcs.packers, name), **each) for name, each in channels.items()}
        )
        state.adc[self.thread] = replace(adcs, packers=packers)
        self._set_offsets(rng.randrange(DST16_ROWS), self._strides(near))
        addresses = [rng.randrange(LINES) for _ in range(PACKERS[CHIP])]
        # Bits from 17 on do not count, but for the highest one.
        addresses = [address | rng.getrandbits(14) << 17 for address in addresses]
        if rng.getrandbits(1):
            addresses[0] |= RELATIVE
        set_shared(state, "pack_address", *addresses)
        set_shared(state, "exponent_section", *(short(rng, 16) for _ in addresses))

    def _strides(self, near: dict[str, int]) -> int:
        """Set strides of whole rows, seldom others; return the rows that they give."""
        rng, before = self.rng, 0
        width = {0: 4, 1: 2}.get(self.mid & 3, 1)
        for name, counter in near.items():
            field = f"packer_{name}_stride"
            bits = 4 if name == "x" else FIELDS[CHIP][field][0].width
            unit = width if name == "x" else COLUMNS * width
            stride = unit * short(rng, bits - unit.bit_length() + 1) if not seldom(rng) else rng.getrandbits(bits)
            # Bits above the fourth of X's stride do not count.
            set_shared(self.state, field, stride | (rng.getrandbits(4) << 4 if name == "x" else 0))
            before += counter * stride
        return before // (COLUMNS * width)

    def _set_offsets(self, row: int, before: int) -> None:
        """Let rows begin at about a row, behind those that the counters give."""
        # Blackhole's read interfaces start at the four rows that hold the first one.
        step = SOURCES if CHIP is Chip.BLACKHOLE and self.rng.random() < 0.7 else 1
        starts = [(row + self.rng.randrange(64)) // step * step for _ in range(PACKERS[CHIP])]
        offsets = [(start - before) % DST16_ROWS | self.rng.getrandbits(2) << 10 for start in starts]
        set_shared(self.state, "packer_dst_offset", *offsets)


def used(instruction: Instruction) -> list[int]:
    """Return the packers, or Blackhole's read interfaces, that a PACR names."""
    mask = MASKS[instruction["packers"]] if CHIP is Chip.WORMHOLE else instruction["packers"] or (1 << SOURCES) - 1
    return [number for number in range(SOURCES) if mask >> number & 1]


def firsts(instruction: Instruction, stores: list[Store]) -> dict[int, int]:
    """Return the first Dst row of each source."""
    if CHIP is Chip.WORMHOLE:
        return {each.packer: each.row for each in stores}
    interfaces = [0] if instruction["flush"] else used(instruction)
    return {number: stores[0].row & ~(SOURCES - 1) | number for number in interfaces}


def threshold_of(state: State, thread: int, packer: int) -> int:
    """Return the exponent threshold of a packer, 0 if it is off."""
    read = state.config.read
    return read("exponent_threshold", thread, packer) if read("exponent_threshold_enabled", thread, packer) else 0


def refused(state: State, thread: int, instruction: Instruction, stores: list[Store]) -> bool:
    """Return whether a core refuses a PACR that golden executes."""
    read, first = state.config.read, stores[0]
    names = ("pack_in_format", "pack_out_format", "l1_accumulate")
    alike = {
        (*(read(name, thread, packer) for name in names), threshold_of(state, thread, packer))
        for packer in (0, *(each.packer for each in stores))
    }
    inside = first.column > 0 or first.datums % COLUMNS > 0 or first.datums == 0
    return len(alike) > 1 or (not instruction["flush"] and (inside or first.datums // COLUMNS > DST16_ROWS))


def expected_record(state: State, thread: int, instruction: Instruction, stores: list[Store]) -> dict:
    """Return the record; sources and packers that take no part are 0."""
    read, first = state.config.read, stores[0]
    rows, relu = firsts(instruction, stores), read("relu_mode", thread)
    begins, exponents = (
        {each.packer: getattr(each, name) // LINE for each in stores} for name in ("data", "exponents")
    )
    return {
        "sources": sum(1 << number for number in rows),
        "first": [rows.get(number, 0) for number in range(SOURCES)],
        "rows": FLUSH_STEPS if instruction["flush"] else first.datums // COLUMNS,
        "begins": [begins.get(packer, 0) for packer in range(PACKERS[CHIP])],
        "exponents": [exponents.get(packer, 0) for packer in range(PACKERS[CHIP])],
        "last": instruction["last"],
        "flush": instruction["flush"],
        "zero": instruction["zero"],
        "order": row_order(state),
        "masked": read("edge_mask", thread) ^ ALL_COLUMNS,
        "fp16": first.layout is DST16_FP16,
        "stochastic": read("gasket_stochastic", thread),
        "control": {
            "mid_format": first.mid_format,
            "out_format": first.out_format,
            "dst32": first.layout is DST32,
            "raw": read("read_raw", thread),
            "unsigned": first.mid_format is Format.INT8 and read("read_unsigned", thread),
            "relu": relu & 3,
            "relu_threshold": read("relu_threshold", thread) if relu > 1 else 0,
            "accumulate": first.accumulates,
            "exponent_threshold": threshold_of(state, thread, 0),
            "round_10b": read("round_10b", thread),
            "e4m3": read("pack_e4m3", thread),
        },
    }


def found_record(bits: int, expected: dict) -> dict:
    """Return the fields of a record, 0 in places of sources and packers that take no part."""
    found = unpack(LAYOUT, bits)
    taken = [expected["sources"] >> number & 1 for number in range(SOURCES)]
    packers = taken[: PACKERS[CHIP]] if CHIP is Chip.WORMHOLE else [1]
    record = {name: found[name] for name in expected}
    record["first"] = [found["first"][number] * taken[number] for number in range(SOURCES)]
    for name in ("begins", "exponents"):
        record[name] = [found[name][packer] * packers[packer] for packer in range(PACKERS[CHIP])]
    return record


@BENCH.test(
    "pack_address.stores", "Packers have offsets and addresses of their own, and Blackhole's interfaces four rows"
)
async def stores(frame):
    """PACRs of every pair of formats in random states of configuration and counters: rows of Dst, addresses and
    control, or a refusal where golden refuses."""
    rng = pauses.rng("states")
    dut = frame.dut
    records, flags = frame.scoreboard("o", LAYOUT), frame.scoreboard("refused", 1)
    coverage = frame.coverage(FATES)
    for number in range(CASES):
        case = Case(rng)
        state, thread, instruction = case.state, case.thread, case.instruction
        dut.view.value = view_of(state, thread, instruction, other_fields(CHIP, rng, ("PACR",)))
        await Timer(1, unit="ns")
        shown = f"case {number}, thread {thread}, {case.mid!r} to {case.out!r}, {instruction}"
        try:
            found = stores_of(state, thread, instruction)
            pacr(state, thread, instruction)
            refuses = refused(state, thread, instruction, found)
        except ValueError as error:
            found, refuses = error, True
        coverage.hit(FATES[refuses])
        flags.compare(resolved(dut.refused), int(refuses), f"{shown}, {found}")
        if not refuses:
            record = expected_record(state, thread, instruction, found)
            records.compare(
                pack(LAYOUT, found_record(resolved(dut.o), record)), pack(LAYOUT, record), f"{shown}, {found}"
            )
