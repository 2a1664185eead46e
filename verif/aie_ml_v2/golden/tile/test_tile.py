"""The tile: registers, addresses, banks, memory, FIFOs and stream ports, by both tiers, by loops, and by hand."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import Registers, exact
from bitpath.golden.aie_ml_v2.declarations.tile import (
    ACCESS_WIDTHS,
    LINE_BYTES,
    MEMORY_BYTES,
    REGISTERS,
    STORAGE_BITS,
    AguForm,
)
from bitpath.verif.aie_ml_v2.golden.operands import sparse_rows

# Every register's name against a shadow that is built from the specification's sentences, in both directions.


def parts(name):
    """Return a register as names of the smallest registers, the lowest first: W, and halves of F, G and E; BM; and scalars."""
    kind, number = re.fullmatch(r"([a-z]+)(\d*)", name).groups()
    n = int(number or 0)
    rows = {
        "x": [f"wl{n}", f"wh{n}"],
        "y": [f"x{2 * n}", f"x{2 * n + 1}"],
        "e": [f"el{n}", f"eh{n}"],
        "g": [f"gl{n}", f"gh{n}"],
        "f": [f"fl{n}", f"fh{n}"],
        "eg": [f"g{n}", f"e{n}"],
        "q": [f"eg{n}"],
        "ewl": [f"wl{n}", f"gl{n}", f"el{n}"],
        "ewh": [f"wh{n}", f"gh{n}", f"eh{n}"],
        "ex": [f"x{n}", f"g{n}", f"e{n}"],
        "ey": [f"ex{2 * n}", f"ex{2 * n + 1}"],
        "fewl": [f"wl{n}", f"fl{n}", f"gl{n}", f"el{n}"],
        "fewh": [f"wh{n}", f"fh{n}", f"gh{n}", f"eh{n}"],
        "fex": [f"x{n}", f"f{n}", f"g{n}", f"e{n}"],
        "fey": [f"fex{2 * n}", f"fex{2 * n + 1}"],
        "cml": [f"bmll{n}", f"bmlh{n}"],
        "cmh": [f"bmhl{n}", f"bmhh{n}"],
        "dm": [f"cml{n}", f"cmh{n}"],
        "lf": [f"lfl{n}", f"lfh{n}"],
        "l": [f"r{2 * n}", f"r{2 * n + 1}"],
        "d": [f"m{n}", f"dn{n}", f"dj{n}", f"dc{n}"],
    }
    return [leaf for part in rows[kind] for leaf in parts(part)] if kind in rows else [name]


LEAVES = sorted({leaf for name in REGISTERS for leaf in parts(name)})
WIDTHS = {
    **{f"{name}{half}": bits for name, bits in (("w", 256), ("f", 64), ("g", 32), ("e", 32), ("lf", 512)) for half in "lh"},
    **{f"bm{half}{part}": 512 for half in "lh" for part in "lh"},
    **dict.fromkeys(("p", "m", "dn", "dj", "dc", "sp", "lr", "pc", "ls", "le"), 20),
    **dict.fromkeys(("r", "lc", "lci"), 32),
    "s": 6, "lfe": 512, "sf": 1024,
}  # fmt: skip


def width(name):
    return sum(WIDTHS[leaf.rstrip("0123456789")] for leaf in parts(name))


def number_of(value):
    return value if isinstance(value, int) else int.from_bytes(value.tobytes(), "little")


def value_of(registers, name, number):
    scalar = isinstance(registers.read(name), int)
    return number if scalar else np.frombuffer(number.to_bytes(width(name) // 8, "little"), np.uint8)


class Shadow:
    def __init__(self, rng):
        self.rng, self.registers = rng, Registers()
        self.values = dict.fromkeys(LEAVES, 0)

    def write(self, name):
        bits = width(name)
        number = int.from_bytes(self.rng.bytes(bits // 8 + 1), "little") & (1 << bits) - 1
        self.registers.write(name, value_of(self.registers, name, number))
        for leaf in parts(name):
            self.values[leaf] = number & (1 << width(leaf)) - 1
            number >>= width(leaf)

    def expected(self, name):
        number = 0
        for leaf in reversed(parts(name)):
            number = number << width(leaf) | self.values[leaf]
        return number

    def check(self):
        for name in REGISTERS:
            assert number_of(self.registers.read(name)) == self.expected(name), name


def test_every_register_is_0_at_first():
    Shadow(np.random.default_rng(1)).check()


def test_the_names_are_those_of_the_specification():
    counts = {
        "w": 24,
        "x": 12,
        "y": 6,
        "bm": 32,
        "cm": 16,
        "dm": 8,
        "e": 12,
        "ey": 6,
        "fey": 6,
        "q": 4,
        "r": 32,
        "l": 16,
        "d": 8,
    }
    halves = {"w": "wl wh", "cm": "cml cmh", "bm": "bmll bmlh bmhl bmhh"}
    for kind, count in counts.items():
        spelt = "|".join(halves.get(kind, kind).split())
        assert sum(bool(re.fullmatch(rf"({spelt})\d+", name)) for name in REGISTERS) == count, kind
    bits = {
        "x": 6144,
        "e": 768,
        "g": 768,
        "f": 1536,
        "dm": 16384,
        "r": 1024,
        "p": 160,
        "lf": 2048,
        "lfe": 512,
        "sf": 1024,
        "s": 24,
    }
    assert {name: STORAGE_BITS[name] for name in bits} == bits


def test_a_write_changes_exactly_its_part_of_every_name():
    """Write the registers of each kind over random ones, and read all names after the first and the last of a kind."""
    shadow = Shadow(np.random.default_rng(2))
    for leaf in LEAVES:
        shadow.write(leaf)
    for kind in sorted({name.rstrip("0123456789") for name in REGISTERS}):
        names = [name for name in REGISTERS if name.rstrip("0123456789") == kind]
        shadow.write(names[0])
        shadow.check()
        for name in names:
            shadow.write(name)
        shadow.check()


def test_lanes_of_an_accumulator():
    """Lane 37 of 32 bits is lane 5 of bmhl."""
    registers = Registers()
    lanes = np.zeros(64, np.uint32)
    lanes[37] = 0x12345678
    registers.write("dm3", lanes.view(np.uint8))
    assert registers.read("bmhl3").view(np.uint32).tolist() == [0] * 5 + [0x12345678] + [0] * 10
    assert registers.read("cmh3").view(np.uint32)[5] == 0x12345678


def test_moves_between_widths():
    registers = Registers()
    registers.write("r5", 0xFFF12345)
    registers.move("p2", "r5")
    assert registers.read("p2") == 0x12345
    registers.write("r6", 0xFFFFFFFF)
    registers.move("r6", "p2")
    assert registers.read("r6") == 0x12345
    registers.move("s1", "r5")
    assert registers.read("s1") == 5


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda r: r.read("cm0"),
            ValueError,
            "name must be one of 421 names from 'wl0' to 's3', not 'cm0'; did you mean 'cml0'?",
        ),
        (lambda r: r.write("r0", 1 << 32), ValueError, "value must be 0 to 4294967295 in r0, not 4294967296"),
        (lambda r: r.write("p0", -1), ValueError, "value must be 0 to 1048575 in p0, not -1"),
        (lambda r: r.write("r0", np.zeros(4, np.uint8)), TypeError, "value must be an integer, not a ndarray"),
        (lambda r: r.write("wl0", 3), TypeError, "value must be a numpy array, not 3"),
        (lambda r: r.write("x0", np.zeros(32, np.uint8)), ValueError, "value must have shape [64] for x0, not (32,)"),
        (lambda r: r.move("x0", "r0"), ValueError, "to must name a scalar register, not x0"),
        (lambda r: r.move("r0", "eg0"), ValueError, "source must name a scalar register, not eg0"),
    ],
)
def test_mistakes_of_registers(call, error, says):
    with pytest.raises(error, match=f"^{re.escape(says)}"):
        call(Registers())


# Addresses, banks, memory, FIFOs and stream ports of the tile: by both tiers, by nested loops, and by hand.


SPACE = 1 << 20
CODE = st.one_of(st.integers(0, SPACE - 1), st.integers(0, 3), st.integers(SPACE - 3, SPACE - 1))
COUNTED = {"post_modify": 0, "2d": 1, "3d": 2}
ACCESS = st.tuples(st.integers(0, MEMORY_BYTES - 1), st.sampled_from(ACCESS_WIDTHS)).map(
    lambda access: (access[0] - access[0] % access[1], access[1])
)
MEMORY = np.random.default_rng(34).integers(0, 256, 4096, dtype=np.uint8)


def codes(dims):
    return [int(getattr(dims, name)) for name in ("m", "dn", "dj", "dc", "dn2", "dj2", "dc2")]


def filled(image):
    memory = aie.DataMemory(len(image))
    for line in range(0, len(image), LINE_BYTES):
        memory.store(line, image[line : line + LINE_BYTES])
    return memory


def image_of(memory, size):
    return np.concatenate([memory.load(line, LINE_BYTES) for line in range(0, size, LINE_BYTES)])


@settings(deadline=None)
@given(CODE, st.lists(CODE, min_size=7, max_size=7), st.sampled_from(list(COUNTED)))
def test_a_step_in_both_tiers(p, fields, form):
    m, dn, dj, dc, dn2, dj2, dc2 = fields
    levels = [exact.Level(dn, dj, dc), exact.Level(dn2, dj2, dc2)]
    address, after, dims = aie.agu_step(p, aie.Dimensions(*fields), form=form)
    expected, counted = exact.agu_step(p, m, levels[: COUNTED[form]])
    counters = [each.counter for each in (*counted, *levels[COUNTED[form] :])]
    assert (int(address), int(after)) == (p, expected)
    assert codes(dims) == [m, dn, dj, counters[0], dn2, dj2, counters[1]]


def test_an_indexed_access_leaves_its_pointer():
    dims = aie.Dimensions(8, dj=-4, dc=7)
    address, p, after = aie.agu_step(np.array([2, 100]), dims, form="indexed")
    assert (address.tolist(), p.tolist(), after) == ([SPACE - 2, 96], [2, 100], dims)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=2), st.lists(CODE, min_size=3, max_size=3), CODE, st.integers(0, 2)
)
def test_a_nest_of_loops(sizes, steps, p, extra):
    """The last loop has three turns."""
    steps = steps[: len(sizes) + 1]
    turns = product(*map(range, (3, *reversed(sizes))))
    expected = [(p + sum(i * s for i, s in zip(turn, reversed(steps), strict=True))) % SPACE for turn in turns]
    form = AguForm.TWO_D if len(sizes) == 1 else AguForm.THREE_D
    dims = aie.dimensions_from_steps(sizes, steps)
    stream = aie.agu_stream(p, dims, len(expected) - extra, form=form)
    assert stream.tolist() == expected[: len(expected) - extra]
    m, levels = exact.nest_levels(sizes, steps)
    assert codes(dims) == [m, *(each for level in (*levels, exact.Level(0, 0))[:2] for each in level)]


def test_nests_of_the_specification():
    two = aie.dimensions_from_steps([4], [64, 1024])
    assert codes(two) == [832, 3, 64, 0, 0, 0, 0]
    assert aie.agu_stream(0x1000, two, 5, form="2d").tolist() == [0x1000, 0x1040, 0x1080, 0x10C0, 0x1400]
    three = aie.dimensions_from_steps([2, 16], [1024, 64, 0])
    assert codes(three) == [SPACE - 1984, 1, 1024, 0, 15, 0xFFC40, 0]
    offsets = [0, 1024, 64, 1088, *(each for k in range(2, 16) for each in (64 * k, 1024 + 64 * k)), 0]
    assert aie.agu_stream(0, three, 33, form="3d").tolist() == offsets
    assert aie.agu_stream(np.zeros((2, 3), int), three, 0, form="3d").shape == (2, 3, 0)


@settings(deadline=None)
@given(st.lists(ACCESS, max_size=3), st.lists(st.integers(0, 2), max_size=3))
def test_banks_in_both_tiers(requests, near):
    """Some requests are moved beside the first."""
    requests = [
        (requests[0][0] // 64 * 64 + each[0] % 64, each[1]) if i in near and i else each
        for i, each in enumerate(requests)
    ]
    for request in requests:
        assert set(aie.banks(*request)) == exact.banks(*request)
    assert aie.conflict_cycles(requests) == exact.conflict_cycles(requests)


def test_banks_of_the_specification():
    assert aie.banks(0x30040, 64) == aie.banks(0x31000, 64) == (24, 25)
    assert aie.conflict_cycles([(0x30040, 64), (0x31000, 64)]) == 1
    assert aie.banks(0x34000, 64) == (26, 27)
    assert aie.conflict_cycles([(0x30040, 64), (0x34000, 64)]) == 0
    assert (aie.banks(0x30040, 32), aie.banks(0x31060, 32)) == ((24,), (25,))
    assert aie.conflict_cycles([(0x30040, 32), (0x31060, 32)]) == 0
    assert aie.conflict_cycles([]) == 0


def test_memory_holds_what_is_stored():
    memory, shadow, rng = aie.DataMemory(512), np.zeros(512, np.uint8), np.random.default_rng(35)
    for _ in range(300):
        width = int(rng.choice(ACCESS_WIDTHS))
        address = int(rng.integers(512 // width)) * width
        data = rng.integers(0, 256, width, dtype=np.uint8)
        memory.store(address, data)
        shadow[address : address + width] = data
        other = int(rng.integers(512 // width)) * width
        assert np.array_equal(memory.load(other, width), shadow[other : other + width])
    loaded = memory.load(0, 4)
    loaded[:] = 0
    assert np.array_equal(image_of(memory, 512), shadow)


SIZES = st.lists(st.sampled_from([None, -1, 0, 1, 17, 32, 48, 64, 72, 80, 96, 128]), min_size=1, max_size=12)


@settings(deadline=None)
@given(st.integers(0, 63), SIZES)
def test_load_fifo_in_both_tiers(start, sizes):
    memory, fifo = filled(MEMORY), aie.LoadFifo(start)
    for size, expected in zip(sizes, exact.load_fifo(MEMORY.tobytes(), start, sizes), strict=True):
        data, underflow = np.zeros(0, np.uint8), False
        if size is None:
            fifo = fifo.fill(memory)
        else:
            data, underflow, fifo = fifo.pop_sparse(memory) if size < 0 else fifo.pop(memory, size)
        assert (data.tobytes(), underflow, fifo.count, fifo.pointer) == expected


@pytest.mark.parametrize("size", [1, 8, 40, 64])
def test_pops_of_a_line_at_most_give_the_byte_stream(size):
    memory = filled(MEMORY)
    for start in range(64):
        fifo = aie.LoadFifo(start).fill(memory)
        for place in range(start, start + 8 * size, size):
            assert fifo.head == place
            data, underflow, fifo = fifo.pop(memory, size)
            assert (data.tobytes(), underflow) == (MEMORY[place : place + size].tobytes(), False)


def test_mx9_of_the_specification():
    """A fill and four pops of 72 bytes take five lines."""
    memory = filled(MEMORY)
    fifo = aie.LoadFifo().fill(memory)
    assert (fifo.count, fifo.pointer) == (64, 64)
    for place, left in enumerate((56, 48, 40, 32)):
        data, underflow, fifo = fifo.pop(memory, 72)
        assert np.array_equal(data, MEMORY[72 * place : 72 * place + 72])
        assert (fifo.count, underflow, fifo.head) == (left, False, 72 * place + 72)
    assert (fifo.pointer, fifo.fill(memory).count) == (5 * 64, 96)


def test_missing_bytes_are_zero():
    memory = filled(MEMORY)
    data, underflow, fifo = aie.LoadFifo(60).pop(memory, 72)
    assert underflow
    assert (data[:4].tolist(), data[4:].any()) == (MEMORY[60:64].tolist(), False)
    assert (fifo.count, fifo.pointer, fifo.data.any()) == (0, 64, False)
    full = aie.LoadFifo().fill(memory).fill(memory)
    assert (full.count, full.fill(memory)) == (128, full)


@pytest.mark.parametrize("start", [0, 3, 17])
def test_sparse_pops_give_the_chunks(start):
    rng = np.random.default_rng(36)
    dense = sparse_rows(rng, 1, 16 * 6, 256)[0].astype(np.uint8)
    chunks = [aie.compress(dense[place : place + 64]) for place in range(0, len(dense), 64)]
    image = np.zeros(1024, np.uint8)
    stream = np.concatenate(chunks)
    image[start : start + len(stream)] = stream
    memory, fifo = filled(image), aie.LoadFifo(start).fill(filled(image))
    for low, high in zip(chunks[::2], chunks[1::2], strict=True):
        data, underflow, fifo = fifo.pop_sparse(memory)
        assert (data.tolist(), underflow) == ([*low.tolist(), *high.tolist()], False)


def test_a_pop_with_a_modifier_jumps_from_its_first_byte():
    memory = filled(MEMORY)
    _, _, fifo = aie.LoadFifo(5).fill(memory).pop(memory, 30)
    _, after, _ = aie.agu_step(fifo.head, aie.Dimensions(100), form="post_modify")
    data, underflow, _ = aie.LoadFifo(int(after)).fill(memory).pop(memory, 64)
    assert (data.tobytes(), underflow) == (MEMORY[135:199].tobytes(), False)


PUSHES = st.lists(st.one_of(st.none(), st.binary(max_size=128), st.binary(min_size=72, max_size=72)), max_size=12)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 127), PUSHES)
def test_store_fifo_in_both_tiers(start, pushes):
    memory, fifo, flags = filled(MEMORY), aie.StoreFifo(start), []
    for data in pushes:
        overflow = False
        if data is None:
            fifo = fifo.flush(memory)
        else:
            overflow, fifo = fifo.push(memory, np.frombuffer(data, np.uint8))
        flags.append(overflow)
    image, overflows, count, pointer = exact.store_fifo(MEMORY.tobytes(), start, pushes)
    assert image_of(memory, len(MEMORY)).tobytes() == image
    assert (flags, fifo.count, fifo.pointer) == (overflows, count, pointer)


@pytest.mark.parametrize("start", [*range(0, 64, 5), 1, 63])
def test_pushes_write_the_byte_stream(start):
    """Eight pushes of 72 bytes from an aligned address, seven from another; the flushes write the remaining bytes."""
    memory, fifo, rng = filled(MEMORY), aie.StoreFifo(start), np.random.default_rng(37)
    stream = rng.integers(0, 256, 72 * (8 if start == 0 else 7 - start // 8), dtype=np.uint8)
    for place in range(0, len(stream), 72):
        overflow, fifo = fifo.push(memory, stream[place : place + 72])
        assert not overflow
    fifo = fifo.flush(memory).flush(memory)
    expected = MEMORY.copy()
    expected[start : start + len(stream)] = stream
    assert np.array_equal(image_of(memory, len(MEMORY)), expected)
    assert (fifo.count, fifo.pointer) == (0, start + len(stream))
    assert fifo.flush(memory) is fifo


def test_pushes_lose_what_has_no_room():
    memory, fifo = filled(MEMORY), aie.StoreFifo(count=64, data=np.pad(np.arange(64, dtype=np.uint8), (0, 64)))
    overflow, fifo = fifo.push(memory, np.full(72, 7, np.uint8))
    assert (overflow, fifo.count, fifo.pointer, fifo.held.tolist()) == (True, 64, 64, [7] * 64)
    assert memory.load(0, 64).tolist() == list(range(64))


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60), st.sampled_from([(4, 1), (8, 2), (1, 3)]))
def test_a_stream_port_keeps_order_and_loses_nothing(pattern, sizes):
    depth, latency = sizes
    port, sent, received = aie.StreamPort(depth, latency), [], []
    for i, (writes, reads) in enumerate([*pattern, *[(False, True)] * (depth + latency)]):
        word = aie.StreamWord(i, i % 3 == 0)
        there, ready = port.can_read, port.can_write
        taken, found = port.cycle(word if writes else None, read=reads)
        assert (taken, found is not None) == (writes and ready, reads and there)
        sent += [(i, word)] * taken
        received += [] if found is None else [(i, found)]
        assert port.in_flight == len(sent) - len(received) <= depth
    assert [word for _, word in sent] == [word for _, word in received]
    assert all(after - before >= latency for (before, _), (after, _) in zip(sent, received, strict=True))


def test_the_latency_of_a_stream_port():
    for latency in (1, 2):
        port = aie.StreamPort(8, latency)
        found = [port.cycle(aie.StreamWord(i), read=True)[1] for i in range(6)]
        assert found == [None] * latency + [aie.StreamWord(i) for i in range(6 - latency)]
    full = aie.StreamPort()
    assert [full.cycle(aie.StreamWord(9))[0] for _ in range(5)] == [True] * 4 + [False]


def test_results_of_non_blocking_reads():
    assert aie.stream_result(None) == (0, 0)
    assert aie.stream_result(aie.StreamWord(5)) == (5, 2)
    assert aie.stream_result(aie.StreamWord(5, True)) == (5, 3)


BYTES = np.zeros(64, np.uint8)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: aie.Dimensions(SPACE), ValueError, "m must be -524288 to 1048575, not 1048576"),
        (lambda: aie.Dimensions(0, dn=BYTES - 0.5), TypeError, "dn must be an array of integers, not of float64"),
        (
            lambda: aie.Dimensions(0, dc=np.array([0, 1 << 21])),
            ValueError,
            "dc must hold numbers of 20 bits, not 0 to 2097152",
        ),
        (lambda: aie.dimensions_from_steps([], [1]), ValueError, "sizes must have 1 or 2 elements, not 0"),
        (lambda: aie.dimensions_from_steps([2], [1]), ValueError, "steps must have 2 elements for 1 sizes, not 1"),
        (lambda: aie.dimensions_from_steps([0], [1, 2]), ValueError, "sizes[0] must be 1 to 1048576, not 0"),
        (
            lambda: aie.agu_step(0, aie.Dimensions(0), form="4d"),
            ValueError,
            "form must be 'post_modify', '2d', '3d' or 'indexed', not '4d'",
        ),
        (
            lambda: aie.agu_stream(0, aie.Dimensions(0), -1, form="2d"),
            ValueError,
            "count must be 0 to 1048576, not -1",
        ),
        (lambda: aie.banks(4, 8), ValueError, "address must be a multiple of the width 8, not 0x4"),
        (lambda: aie.banks(0, 3), ValueError, "width must be 1, 2, 4, 8, 16, 32 or 64, not 3"),
        (lambda: aie.banks(1 << 18, 1), ValueError, "address must be 0 to 262143, not 262144"),
        (lambda: aie.DataMemory(65), ValueError, "size must be a multiple of 64, not 65"),
        (lambda: aie.DataMemory(0), ValueError, "size must be 64 to 262144, not 0"),
        (lambda: aie.DataMemory(64).load(64, 1), ValueError, "address must be 0 to 63, not 64"),
        (
            lambda: aie.DataMemory(64).store(0, BYTES[:3]),
            ValueError,
            "data must have one axis of 1, 2, 4, 8, 16, 32 or 64, not shape (3,)",
        ),
        (lambda: aie.LoadFifo(count=129), ValueError, "count must be 0 to 128, not 129"),
        (lambda: aie.LoadFifo(SPACE), ValueError, "pointer must be 0 to 1048575, not 1048576"),
        (lambda: aie.LoadFifo(data=BYTES), ValueError, "data must have shape (128,), not (64,)"),
        (
            lambda: aie.StoreFifo(count=3, data=np.ones(128, np.uint8)),
            ValueError,
            "data must be 0 above its 3 bytes",
        ),
        (lambda: aie.LoadFifo().pop(aie.DataMemory(64), 129), ValueError, "size must be 0 to 128, not 129"),
        (lambda: aie.LoadFifo(64).fill(aie.DataMemory(64)), ValueError, "address must be 0 to 63, not 64"),
        (
            lambda: aie.StoreFifo().push(aie.DataMemory(64), np.zeros(129, np.uint8)),
            ValueError,
            "data must have one axis of 0 to 128, not shape (129,)",
        ),
        (lambda: aie.StreamPort(0), ValueError, "depth must be 1 to 65535, not 0"),
        (lambda: aie.StreamPort(1, 0), ValueError, "latency must be 1 to 65535, not 0"),
        (
            lambda: aie.StreamPort().cycle(aie.StreamWord(1 << 32)),
            ValueError,
            "write.word must be 0 to 4294967295, not 4294967296",
        ),
    ],
)
def test_mistakes_of_tile(make, error, says):
    with pytest.raises(error, match=f"^{re.escape(says)}$"):
        make()
