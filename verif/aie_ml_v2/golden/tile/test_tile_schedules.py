"""Schedules on the tile: cycles of reads and writes, conflicts at a bank, and refusals."""

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.aie_ml_v2.declarations.tile import AguForm
from bitpath.verif.aie_ml_v2.golden.operands import sparse_rows

ONES = np.ones(64, np.uint8)
LOAD_LATENCY, STORE_MEMORY = 7, 5


def tile(**options):
    """A tile whose x0 and x1 hold ones, with pointers 64 bytes apart in banks of their own."""
    made = aie.Tile(**options)
    for n in range(2):
        made.registers.write(f"x{n}", ONES)
    for n in range(4):
        made.registers.write(f"p{n}", 0x4000 * n)
    return made


def at(pointer, immediate=0):
    return aie.Address(pointer=pointer, immediate=immediate)


def gap(count, **operations):
    """``count`` empty bundles, then one of these operations."""
    return [aie.Bundle()] * count + [aie.Bundle(**operations)]


def load(to="x2", pointer=0, immediate=0):
    return aie.Load(to=to, address=at(pointer, immediate))


def store(source="x2", pointer=1):
    return aie.Store(source=source, address=at(pointer))


def mac(to="dm0", a="x0", b="x1", **options):
    return aie.Mac(mode="int8", to=to, a=a, b=b, **options)


def test_a_load_is_read_after_its_seventh_cycle():
    schedule = [aie.Bundle(lda=load()), *gap(LOAD_LATENCY - 1, st=store())]
    own = tile()
    own.memory.store(0, np.arange(64, dtype=np.uint8))
    report = own.run(schedule)
    assert own.memory.load(0x4000, 64).tolist() == list(range(64))
    assert report.cycles == LOAD_LATENCY + STORE_MEMORY
    assert report.issued == {"lda": 1, "st": 1}
    assert report.products == 0


def test_a_read_too_early_names_both_bundles():
    schedule = [aie.Bundle(lda=load()), *gap(LOAD_LATENCY - 2, st=store())]
    with pytest.raises(
        aie.HazardError, match="bundle 6 must not read x2 in cycle 6, since bundle 0 writes x2 in cycle 6"
    ):
        tile().run(schedule)


def test_a_part_of_a_register_is_a_hazard_too():
    schedule = [aie.Bundle(lda=load("wh1")), aie.Bundle(vec=mac())]
    with pytest.raises(aie.HazardError, match="read x1 in cycle 1, since bundle 0 writes wh1 in cycle 6"):
        tile().run(schedule)


def test_the_old_value_where_hazards_are_exposed():
    own = tile(exposed=True)
    own.memory.store(0, 5 * ONES)
    own.run([aie.Bundle(lda=load("x1")), *gap(5, st=store("x1"))])
    assert own.memory.load(0x4000, 64).tolist() == ONES.tolist()
    assert own.registers.read("x1").tolist() == (5 * ONES).tolist()


@pytest.mark.parametrize(("bypass", "distance"), [(True, 2), (False, 3)])
def test_chained_products_follow_the_bypass(bypass, distance):
    numerics = AIE_ML_V2.variant("other", accumulator_bypass=(bypass, AIE_ML_V2.sources["accumulator_bypass"])).numerics
    first, second = mac(accumulates=False, numerics=numerics), mac(numerics=numerics)
    own = tile()
    report = own.run([aie.Bundle(vec=first), *gap(distance - 1, vec=second)])
    assert set(own.registers.read("dm0").view("<i4").tolist()) == {16}
    assert (report.cycles, report.products) == (distance + 6, 2)
    with pytest.raises(aie.HazardError, match="must not read dm0"):
        tile().run([aie.Bundle(vec=first), *gap(distance - 2, vec=second)])


def test_a_shuffle_takes_what_lands_in_its_cycle():
    flip = {"mode": "T32_1x16_flip"}
    own = tile()
    own.registers.write("x0", np.arange(64, dtype=np.uint8))
    own.run(
        [
            aie.Bundle(mv=aie.Shuffle(to="x3", low="x0", **flip)),
            aie.Bundle(mv=aie.Shuffle(to="x4", low="x3", **flip)),
        ]
    )
    assert own.registers.read("x4").tolist() == list(range(64))


def test_two_results_for_one_register_in_one_cycle():
    schedule = [aie.Bundle(lda=load("x2"), ldb=load("wl2", 1))]
    with pytest.raises(aie.HazardError, match="must not write wl2 in cycle 6, in which bundle 0 writes x2"):
        tile().run(schedule)


def test_two_updates_of_one_pointer_in_one_bundle():
    with pytest.raises(aie.HazardError, match="must not write p0 in cycle 0, in which bundle 0 writes p0"):
        tile().run([aie.Bundle(lda=load("x2"), ldb=load("x3"))])


def test_loads_that_meet_at_a_bank():
    meeting = [aie.Bundle(lda=load("x2", 0), ldb=load("x3", 3))]
    own = tile()
    own.registers.write("p3", 0x1000)
    with pytest.raises(
        aie.HazardError, match="must not meet at a bank in cycle 4: bundle 0 at 0x0, bundle 0 at 0x1000"
    ):
        own.run(meeting)
    own = tile(conflicts="stall")
    own.registers.write("p3", 0x1000)
    report = own.run(meeting)
    assert (report.cycles, report.stalls) == (LOAD_LATENCY + 1, {"banks": 1})
    assert tile().run(meeting).stalls == {"banks": 0}


def test_a_load_and_a_store_of_one_line_in_one_cycle():
    """The load finds the old bytes, and the banks serve one after the other."""
    own = tile(conflicts="stall")
    report = own.run([aie.Bundle(lda=load("x2", 0), st=aie.Store(source="x0", address=at(3)))])
    assert report.stalls == {"banks": 0}
    own.registers.write("p1", 0)
    own.registers.write("p0", 0)
    report = own.run([aie.Bundle(lda=load("x2", 0), st=store("x0", 1))])
    assert report.stalls == {"banks": 1}
    assert own.registers.read("x2").tolist() == [0] * 64
    assert own.memory.load(0, 64).tolist() == ONES.tolist()


def test_pointers_by_every_form():
    own = tile()
    dims = aie.dimensions_from_steps((2, 2), (64, 256, 1024))
    for name in ("m", "dn", "dj"):
        own.registers.write(f"{name}0", int(getattr(dims, name)))
    own.registers.write("dn4", int(dims.dn2))
    own.registers.write("dj4", int(dims.dj2))
    own.registers.write("dj1", 128)
    nest = aie.Address(pointer=0, form=AguForm.THREE_D, register=0)
    inner = aie.Address(pointer=3, form=AguForm.TWO_D, register=0)
    indexed = aie.Address(pointer=1, form=AguForm.INDEXED, register=1)
    seen = []
    for _ in range(4):
        own.run([aie.Bundle(lda=aie.PointerAdd(address=nest))])
        seen.append(own.registers.read("p0"))
    assert seen == [64, 256, 320, 1024]
    own.run([aie.Bundle(ldb=aie.PointerAdd(address=inner), st=aie.Store(source="x0", address=indexed))])
    assert own.registers.read("p3") == 0xC000 + 64
    assert own.registers.read("dc0") == 1
    assert own.registers.read("p1") == 0x4000
    assert own.memory.load(0x4080, 64).tolist() == ONES.tolist()
    own.run([aie.Bundle(lda=load("x2", 3, -512))])
    assert own.registers.read("p3") == 0xC000 + 64 - 512


def test_an_mx9_element_from_memory_to_memory():
    """A pop gives what `to_registers` gives; a push what `to_mx` gives."""
    x = np.linspace(-3, 5, 64, dtype=np.float32)
    data = aie.pack_mx(aie.to_mx(x, "mx9")).ravel()
    own = tile()
    own.memory.store(0, data[:64])
    own.memory.store(64, np.pad(data[64:], (0, 56)))
    own.registers.write("dm0", x.view(np.uint8))
    own.registers.write("p2", 0x8020)
    own.run([aie.Bundle(lda=aie.Fill(fifo=0)), aie.Bundle(lda=aie.Pop(to="ex1", fifo=0, fmt="mx9"))])
    held = aie.to_registers(aie.to_mx(x, "mx9"))
    assert own.registers.read("ex1").tolist() == np.concatenate([held.data, held.g, held.e]).tolist()
    assert (own.registers.read("r24"), own.registers.read("p0")) == (56, 128)
    own.run([aie.Bundle(st=aie.Push(source="dm0")), aie.Bundle(st=aie.Flush())])
    stored = np.concatenate([own.memory.load(0x8000 + 64 * i, 64) for i in range(2)])
    assert stored[32:104].tolist() == data.tolist()
    assert not stored[:32].any()
    assert not stored[104:].any()
    assert (own.registers.read("r26"), own.registers.read("p2")) == (0, 0x8020 + 72)


def test_a_sparse_pop_jumps_back():
    dense = np.zeros(128, np.uint8)
    dense[::4], dense[3::4] = 7, 9
    stream = np.concatenate([aie.compress(chunk) for chunk in dense.reshape(2, 64)])
    own = tile()
    own.memory.store(0x4000, stream[:64])
    own.memory.store(0x4040, np.pad(stream[64:], (0, 128 - len(stream))))
    own.registers.write("m1", 0)
    pop = aie.Pop(to="ex2", fifo=1, fmt="sparse8", jump=aie.Address(pointer=1, register=1))
    own.run([aie.Bundle(ldb=aie.Fill(fifo=1)), aie.Bundle(ldb=pop)])
    data = own.registers.read("ex2")
    assert data[:64].tolist() == [7, 9] * 32
    assert np.unpackbits(data[64:], bitorder="little").tolist() == (dense != 0).astype(int).tolist()
    assert (own.registers.read("r25"), own.registers.read("p1")) == (0, 0x4000)


def test_a_line_that_changes_while_a_fifo_loads_it():
    own = tile()
    own.registers.write("p1", 0)
    with pytest.raises(ValueError, match="the line at 0x0 must not change while a FIFO loads it"):
        own.run([aie.Bundle(st=store("x0", 1)), aie.Bundle(lda=aie.Fill(fifo=0))])


def test_slots_of_products():
    mx9 = aie.Mac(mode="mx9", to="dm1", a="ex0", b="ey1", b_high="ey2", accumulates=False)
    with pytest.raises(aie.HazardError, match="bundle 1 must not issue to vec, which bundle 0 takes for 2 cycles"):
        tile().run([aie.Bundle(vec=mx9), aie.Bundle(vec=mac())])
    assert tile().run([aie.Bundle(vec=mx9), aie.Bundle(), aie.Bundle(vec=mac(accumulates=False))]).products == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: aie.Bundle(mv=mac()), r"mv must hold an operation of this slot, not Mac, which \('vec',\) issue"),
        (lambda: load("dm0"), "to must name a register of 128, 256 or 512 bits, not dm0"),
        (lambda: load(immediate=32), "immediate must be a multiple of 64 from -512 to 448, not 32"),
        (lambda: mac(a="y0"), "a must name a register of 64 bytes, not y0"),
        (lambda: mac(b_high="ey2"), "b_high must be None in mode int8"),
        (lambda: aie.Mac(mode="mx6", to="dm0", a="x0", b="x1"), "mode must be .*'mx9', not 'mx6'"),
        (lambda: aie.Pop(to="x1", fifo=0, fmt="mx9"), "to must be 'ex0'"),
        (lambda: aie.Pop(to="x1", fifo=0, jump=at(1)), "jump must modify p0, not p1"),
        (
            lambda: aie.Pop(to="x1", fifo=0, jump=aie.Address(pointer=0, form=AguForm.INDEXED)),
            "jump must move its pointer, not be of form indexed",
        ),
        (lambda: aie.Address(pointer=8), "pointer must be 0 to 7, not 8"),
        (lambda: aie.Address(pointer=0, form=AguForm.TWO_D), "register must name a modifier in form 2d, not be None"),
        (lambda: aie.Address(pointer=0, register=1, immediate=64), "immediate must be 0 beside a register, not 64"),
        (lambda: aie.Shuffle(to="ex1", low="x0", mode=106), "low must be 'ex0'"),
        (lambda: aie.Tile(conflicts="wait"), "conflicts must be 'raise' or 'stall', not 'wait'"),
        (lambda: tile().run([aie.Bundle()] * 3, limit=2), "bundles must be 0 to 2, not 3"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(("columns", "to", "b"), [(16, "dm0", "ey0"), (8, "cml0", "ex0")])
def test_a_sparse_product_of_four_rows(columns, to, b):
    """Each EX has the slots and the masks of eight columns; with one EX the product fills half of the lanes."""
    rng = np.random.default_rng(16)
    dense = sparse_rows(rng, 1, 4 * columns, 256)[0].reshape(columns, 16).astype(np.int8)
    left = rng.integers(-128, 128, (4, 16)).astype(np.int8)
    slots = aie.to_sparse(dense).slots.view(np.uint8).reshape(-1, 64)
    masks = np.packbits(dense != 0, bitorder="little").reshape(-1, 16)
    tile = aie.Tile()
    tile.registers.write("x4", left.view(np.uint8).ravel())
    for n, parts in enumerate(zip(slots, masks, strict=True)):
        tile.registers.write(f"ex{n}", np.concatenate(parts))
    product = aie.Mac(mode="int8", shape=f"4x16x{columns}T", to=to, a="x4", b=b, accumulates=False)
    tile.run([aie.Bundle(vec=product)])
    found = tile.registers.read(to).view(np.int32).reshape(4, columns)
    assert np.array_equal(found, left.astype(np.int64) @ dense.T.astype(np.int64))
