"""Bench of an unpacker's addresses: UNPACRs in random states, against the load that golden makes of them."""

from copy import deepcopy
from dataclasses import replace
from random import Random

from cocotb.triggers import Timer

from bitpath.golden.tensix.convert.formats import exponent_stream_bytes
from bitpath.golden.tensix.convert.unpack import CONVERSIONS, DST32_FORMATS, L1_BYTES
from bitpath.golden.tensix.core.state import THREADS, State
from bitpath.golden.tensix.core.unpacker import CONTEXTS, CONTEXTS_1, SKIPPED_ROWS, Load, load_of, unpacr
from bitpath.golden.tensix.declarations.encodings import FIELDS, WIDTHS
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_FLOATS,
    COLUMNS,
    DST16_ROWS,
    FACE,
    SRC_ROWS,
    Format,
)
from bitpath.golden.tensix.isa import Instruction
from bitpath.rtl.tensix.core.config import UnpackAddressConfig
from bitpath.rtl.tensix.core.decode import ZERO_FIELDS
from bitpath.rtl.tensix.core.row_unpacker import rows_layout
from bitpath.rtl.tensix.core.unpack_address import UnpackAddress
from bitpath.verif.kit.unit_bench import UnitBench, cases, pack, pauses, resolved, unpack
from bitpath.verif.tensix.program.views import (
    NO_FORMATS,
    other_fields,
    random_instruction,
    random_state,
    row_order,
    seldom,
    set_own,
    set_shared,
    short,
    view_of,
)

BENCH = UnitBench(UnpackAddress, UnpackAddressConfig)
CONFIG = BENCH.config
CHIP, UNPACKER = CONFIG.chip, CONFIG.unpacker
LAYOUT = rows_layout(CONFIG)
CASES = cases(40)
LINE = 16
"""Bytes that an address of L1 counts."""
FIRST_MODES = ("transposed", "tilised", "to Dst", "shifted")
MODES = ("plain", "zero", "forced", *(() if UNPACKER else FIRST_MODES))
MANNERS = {"plain": 6, "strided": 3, "powers": 1, "anywhere": 1}
"""Where an UNPACR reads and how often: in a tile by X alone, by all counters, in large tiles, or at random."""
FATES = ("executed", "refused")


class Case:
    """An UNPACR of a mode in a state in which most such UNPACRs are legal."""

    def __init__(self, rng: Random, mode: str):
        self.rng, self.mode, self.thread = rng, mode, rng.randrange(THREADS)
        self.state = random_state(CHIP, rng, CONFIG.l1_words * 64)
        blocks = [fmt for fmt in CONVERSIONS if fmt in BLOCK_FLOATS]
        others = [fmt for fmt in CONVERSIONS if fmt not in BLOCK_FLOATS]
        self.fmt = rng.choice(blocks if mode == "forced" else others if mode == "tilised" else [*CONVERSIONS])
        self.out = rng.choice(CONVERSIONS[self.fmt])
        self.instruction = self._instruction()
        self.context = self._context()
        self.offset = short(rng, 4)
        self._formats()
        self._modes()
        self._counters()

    def place(self, base: int) -> None:
        """Set the base address of the tile, of which a part is the context's offset."""
        offset = min(self.offset, base)
        self._set_context("base_address", f"base_addresses_{UNPACKER}", base - offset)
        offsets = f"base_offsets_{UNPACKER}"
        places = len(FIELDS[CHIP][offsets])
        set_shared(self.state, offsets, *(offset if k == self.context % places else 0 for k in range(places)))

    def _context(self) -> int:
        """Return the context that the instruction takes in most cases; a wrong one of unpacker 1 is rare."""
        state, multi = self.state, self.instruction["multi_context"]
        state.contexts[UNPACKER][self.thread] = self.rng.randrange(CONTEXTS)
        if not multi:
            return 0
        number = (
            state.contexts[UNPACKER][self.thread]
            if self.instruction["context_counter"]
            else self.instruction["context"]
        )
        context = self.rng.randrange(CONTEXTS_1 if UNPACKER and not seldom(self.rng) else CONTEXTS)
        offsets = [self.rng.getrandbits(4) for _ in range(2)]
        offsets[UNPACKER] = (context - number) % CONTEXTS | self.rng.getrandbits(1) << 3
        set_own(state, "context_offset", *offsets)
        return context

    def _set_context(self, first: str, others: str, value: int) -> None:
        """Set a field of the context; other contexts have others."""
        places = FIELDS[CHIP][others]
        place = self.context % (len(places) + 1)
        values = [self.rng.getrandbits(each.width) for each in places]
        if place:
            values[place - 1] = value
            self._set(first, self.rng.getrandbits(FIELDS[CHIP][first][0].width))
        else:
            self._set(first, value)
        set_shared(self.state, others, *values)

    def _set(self, name: str, value: int) -> None:
        """Set a field of both unpackers; the other one's differs where it has its own."""
        values = [self.rng.getrandbits(1), self.rng.getrandbits(1)]
        values[UNPACKER] = value
        set_shared(self.state, name, *values) if name in OF_EACH else set_shared(self.state, name, value)

    def _x_dim(self, value: int) -> None:
        self._set("x_dim", value)
        if UNPACKER == 0:
            self._set_context("context_x_dim", "context_x_dims", value)

    def _instruction(self) -> Instruction:
        rng = self.rng
        return random_instruction(
            CHIP,
            rng,
            "UNPACR",
            unpacker=UNPACKER,
            **dict.fromkeys(ZERO_FIELDS["UNPACR"], 0),
            zero=int(self.mode == "zero"),
            adc=rng.randrange(THREADS) if seldom(rng, 0.1) else self.thread,
        )

    def _formats(self) -> None:
        rng = self.rng
        self._set("l1_format", rng.choice(NO_FORMATS) if seldom(rng) else self.fmt)
        self._set("unpack_out_format", rng.choice(NO_FORMATS) if seldom(rng) else self.out)
        self._set("force_exponent", int(self.mode == "forced"))
        self._set("forced_exponent", short(rng, 5))
        self._set_context("uncompressed", f"uncompressed_{UNPACKER}", 1 - seldom(rng))
        self._set("descriptor_uncompressed", 1 - seldom(rng))

    def _modes(self) -> None:
        rng, mode = self.rng, self.mode
        self._set("transpose", rng.getrandbits(1) if UNPACKER else int(mode == "transposed") ^ seldom(rng))
        self._set("tilise", int(mode == "tilised") ^ seldom(rng))
        multi = self.instruction["multi_context"]
        if UNPACKER == 0:
            wanted, other = int(mode == "to Dst"), rng.getrandbits(1)
            self._set_context("unpack_to_dst", "contexts_to_dst", wanted if multi else other)
            self._set("descriptor_to_dst", other if multi else wanted)
        stride = rng.getrandbits(rng.choice((3, 3, 5, 12)))
        shift = rng.getrandbits(4) if mode in ("shifted", "transposed") else seldom(rng)
        place = 4 * (self.context % 4)
        shifts = rng.getrandbits(16) & ~(15 << place) | shift << place
        set_shared(self.state, "shift_amounts", stride if mode == "tilised" else shifts & 0xFFF)
        set_shared(self.state, "last_shift_amount", shifts >> 12)
        set_own(self.state, "override_with_address", int(mode != "to Dst") ^ seldom(rng, 0.1))

    def _counters(self) -> None:
        """Rows and datums: mostly multiples of 16 inside of the tile and of L1, seldom anywhere."""
        rng, state, unit = self.rng, self.state, f"unpacker_{UNPACKER}"
        faces = FACE if self.mode == "transposed" else 1
        rows = faces * rng.choice((1, rng.randint(1, SRC_ROWS // faces), rng.randint(1, 4)))
        row = faces * rng.randrange((SRC_ROWS - rows) // faces + 1) + seldom(rng) * rng.getrandbits(10)
        first, manner = COLUMNS * short(rng, rng.choice((4, 10))), rng.choices([*MANNERS], [*MANNERS.values()])[0]
        self.place(short(rng, 32 if seldom(rng) else 14))
        if UNPACKER == 0:
            address = (SKIPPED_ROWS + row) * COLUMNS + seldom(rng) * rng.getrandbits(4)
            self._set_context("dst_address", "dst_addresses", address)
        set_shared(state, "add_dst_address", rng.getrandbits(1))
        near, far = self._tile(manner, first, rows)
        if manner in ("plain", "powers") and not (self.instruction["multi_context"] and UNPACKER == 0):
            far["y"] = row if UNPACKER else SKIPPED_ROWS + row
        near["x"] += seldom(rng) * rng.getrandbits(4)
        far["x"] = near["x"] + COLUMNS * rows - 1 + seldom(rng) * rng.getrandbits(4)
        if seldom(rng):
            near["x"], far["x"] = far["x"], near["x"]
        adcs = state.adc[self.thread]
        adc = getattr(adcs, unit)
        adc = replace(adc, channel_0=replace(adc.channel_0, **near), channel_1=replace(adc.channel_1, **far))
        state.adc[self.thread] = replace(adcs, **{unit: adc})

    def _tile(self, manner: str, first: int, rows: int) -> tuple[dict[str, int], dict[str, int]]:
        """Set the tile's sizes and strides; return the counters of both channels."""
        rng = self.rng
        if manner == "anywhere":
            # Sizes, strides and the other counters stay as they were drawn, and L1 does not reach there.
            return {"x": COLUMNS * rng.getrandbits(13)}, {}
        width = 4 if self.out in DST32_FORMATS else L1_BYTES.get(self.out, 1)
        if manner == "powers":
            # A tile or a first datum of a power of two; a lost bit would leave nothing of it.
            self._x_dim(1 << rng.randrange(16))
            for name in ("y_dim", "z_dim"):
                self._set(name, 1 << rng.randrange(16))
            counter, bits = rng.choice([(name, bits) for name, bits in WIDTHS.items() if name != "x"])
            near = dict.fromkeys("yzw", 0) | {"x": first, counter: rng.getrandbits(1) << rng.randrange(bits)}
            far = dict.fromkeys("yzw", 0)
        elif manner == "plain":
            self._x_dim(first + COLUMNS * rows + COLUMNS * short(rng, 8))
            for name in ("y_dim", "z_dim"):
                self._set(name, 1 + short(rng, 2))
            near, far = dict.fromkeys("yzw", 0) | {"x": first}, dict.fromkeys("yzw", 0)
        else:
            self._x_dim(COLUMNS * short(rng, 12))
            for name in ("y_dim", "z_dim"):
                self._set(name, short(rng, 4))
            near = {name: short(rng, 3) for name in "yzw"} | {"x": first}
            far = {name: short(rng, 3) for name in "yzw"}
            far["y"] += SKIPPED_ROWS
        for name in ("unpack_y_stride", "unpack_z_stride", "unpack_w_stride"):
            steps = short(rng, 6) if manner == "strided" else 1
            self._set(name, COLUMNS * width * steps + seldom(rng) * rng.getrandbits(4))
        return near, far


OF_EACH = (
    *("l1_format", "unpack_out_format", "force_exponent", "forced_exponent", "uncompressed", "descriptor_uncompressed"),
    *("transpose", "tilise", "x_dim", "y_dim", "z_dim", "base_address"),
    *("unpack_y_stride", "unpack_z_stride", "unpack_w_stride"),
)
"""Fields that each unpacker has."""


def datum_bits(fmt: Format) -> int:
    return BLOCK_FLOATS[fmt].datum_bits if fmt in BLOCK_FLOATS else 8 * L1_BYTES[fmt]


def with_exponents(load: Load) -> bool:
    """Return whether the exponents of block floats precede the datums."""
    return load.control.in_format in BLOCK_FLOATS and load.control.forced_exponent is None


def data_address(load: Load) -> int:
    """Return the byte address of the first datum."""
    exponents = exponent_stream_bytes(load.datums) if with_exponents(load) else 0
    return load.address + exponents + load.first * datum_bits(load.control.in_format) // 8


def refused(thread: int, instruction: Instruction, load: Load) -> bool:
    """Return whether a core refuses an UNPACR that golden executes."""
    control, tilises = load.control, load.control.row_stride is not None
    whole = FACE * COLUMNS if control.transpose else COLUMNS
    return (
        (instruction["multi_context"] and instruction["adc"] != thread)
        or (tilises and control.in_format in BLOCK_FLOATS)
        or load.first % COLUMNS > 0
        or load.count % whole > 0
        or load.rows > SRC_ROWS
        or (with_exponents(load) and load.first + load.count > load.datums)
        or ((control.transpose or tilises) and data_address(load) % LINE > 0)
        or (UNPACKER == 0 and not control.to_dst and load.row + load.rows > SRC_ROWS)
    )


def expected_record(state: State, instruction: Instruction, load: Load) -> dict:
    """Return the fields that a mode uses."""
    control, tilises = load.control, load.control.row_stride is not None
    record = {
        "address": data_address(load) // 4,
        "rows": load.rows,
        "row": load.row % (DST16_ROWS if control.to_dst else SRC_ROWS),
        "flips": instruction["flip"],
        "zero": instruction["zero"],
        "turns": control.transpose,
        "tilises": tilises,
        "forced": control.forced_exponent is not None,
        "control": {
            "l1_format": control.in_format,
            "register_format": control.out_format,
            "unsigned": control.unsigned,
            "e4m3": control.e4m3,
            "to_dst": control.to_dst,
        },
    }
    record |= {"order": row_order(state)} if control.to_dst else {}
    record["stride"] = control.row_stride // LINE if tilises else control.col_shift
    record |= {"exponent": load.address + load.first // COLUMNS} if with_exponents(load) else {}
    return record | ({"forced_exponent": control.forced_exponent} if record["forced"] else {})


def golden_load(state: State, thread: int, instruction: Instruction) -> tuple[Load, int] | None:
    """Return golden's load and the counter of contexts after it, or None if golden refuses it; the state does not change."""
    state = deepcopy(state)
    try:
        load = load_of(state, thread, instruction)
        unpacr(state, thread, instruction)
    except ValueError:
        return None
    return load, state.contexts[UNPACKER][thread]


async def compared(dut, case: Case, boards: tuple, shown: str) -> bool:
    """Compare a case's record and counter or its refusal; return whether it is refused."""
    records, flags, counters = boards
    thread, instruction = case.thread, case.instruction
    dut.counter.value = case.state.contexts[UNPACKER][thread]
    dut.view.value = view_of(case.state, thread, instruction, other_fields(CHIP, case.rng, ("UNPACR",)))
    await Timer(1, unit="ns")
    load, counted = golden_load(case.state, thread, instruction) or (None, None)
    refuses = load is None or refused(thread, instruction, load)
    shown = f"{shown}, thread {thread}, {case.fmt.name} to {case.out.name}, {instruction}, {load}"
    flags.compare(resolved(dut.refused), int(refuses), shown)
    if load is not None and not refuses:
        record, found = expected_record(case.state, instruction, load), unpack(LAYOUT, resolved(dut.o))
        counters.compare(resolved(dut.counted), counted, shown)
        records.compare(pack(LAYOUT, {name: found[name] for name in record}), pack(LAYOUT, record), shown)
    return refuses


@BENCH.test(
    "unpack_address.loads",
    "Exponents stand before the datums, strides count bytes, and rows count from four",
    mode=MODES,
)
async def loads(frame, mode):
    """UNPACRs of every mode and format in random states of configuration and counters: addresses, rows and control, or
    a refusal where golden refuses."""
    rng = pauses.rng("states")
    boards = frame.scoreboard("o", LAYOUT), frame.scoreboard("refused", 1), frame.scoreboard("counted", 3)
    coverage = frame.coverage(FATES)
    for number in range(CASES):
        coverage.hit(FATES[await compared(frame.dut, Case(rng, mode), boards, f"case {number}")])


@BENCH.test(
    "unpack_address.last_bytes",
    "Tilised rows reach as far as their stride, and the last of Blackhole's wide rows may be half a row",
    mode=MODES,
)
async def last_bytes(frame, mode):
    """In every mode and format an UNPACR that ends with L1's last bytes, and the same 16 bytes later, which is refused."""
    rng = pauses.rng("ends")
    boards = frame.scoreboard("o", LAYOUT), frame.scoreboard("refused", 1), frame.scoreboard("counted", 3)
    left = max(4, CASES // 20)
    while left:
        case = Case(rng, mode)
        base = last_base(case)
        if base is None:
            continue
        left -= 1
        for step in range(2):
            case.place(base + step)
            await compared(frame.dut, case, boards, f"address {base} + {step}")


def last_base(case: Case) -> int | None:
    """Return the last base address at which golden executes a case; None if it executes it nowhere."""
    low, high = 0, CONFIG.l1_words * 4
    while low < high - 1:
        middle = (low + high) // 2
        case.place(middle)
        executes = golden_load(case.state, case.thread, case.instruction) is not None
        low, high = (middle, high) if executes else (low, middle)
    return low or None
