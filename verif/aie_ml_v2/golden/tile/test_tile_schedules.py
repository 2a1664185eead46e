"""Programs on the tile: when operations read and write, what meets at a bank, and whole layers."""

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode, Saturation
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.aie_ml_v2.declarations.tile import AguForm
from bitpath.verif.aie_ml_v2.golden.operands import sparse_rows

# Layers on the tile: equal to the product and its conversion, one operation at a time, within their cycles.


RNG = np.random.default_rng(20261127)
ZEROS, ONES = np.zeros((16, 64), int), np.ones((32, 16), int)
WIDTHS = {"int8": (8, 32), "int16_64": (16, 64)}


def integers(mode, *shape):
    limit = 1 << WIDTHS[mode][0] - 1
    return RNG.integers(-limit, limit, shape)


def pruned(matrix):
    """Return a matrix with two numbers of each four along K set to 0."""
    groups = matrix.reshape(-1, 4, matrix.shape[1]).copy()
    np.put_along_axis(groups, RNG.random(groups.shape).argsort(axis=1)[:, :2], 0, axis=1)
    return groups.reshape(matrix.shape)


def same_blocks(first, second):
    return all(
        np.array_equal(*(getattr(each, part) for each in (first, second))) for part in ("exponent", "shift", "codes")
    )


def expected(a, b, mode, shift, **options):
    width, acc_bits = WIDTHS[mode]
    options = {"rounding": RoundingCode.CONV_EVEN, "saturate": Saturation.SATURATE} | options
    return aie.srs(aie.matmul(a, b, format=mode).astype(np.int64), shift, acc_bits=acc_bits, out_bits=width, **options)


@pytest.mark.parametrize(("mode", "sparse"), [("int8", False), ("int8", True), ("int16_64", False), ("int16_64", True)])
@pytest.mark.parametrize("blocks", [(1, 2, 1), (2, 3, 2), (3, 2, 1)])
def test_integers(mode, sparse, blocks):
    """Blocks along M, K and N."""
    m, k, n = {
        ("int8", False): (16, 8, 16),
        ("int8", True): (16, 16, 16),
        ("int16_64", False): (8, 4, 16),
        ("int16_64", True): (8, 8, 16),
    }[mode, sparse]
    a, b = integers(mode, m * blocks[0], k * blocks[1]), integers(mode, k * blocks[1], n * blocks[2])
    b = pruned(b) if sparse else b
    result, report = aie.run_layer(aie.integer_layer(a, b, mode=mode, shift=7, sparse=sparse))
    assert (result == expected(a, b, mode, 7)).all()
    assert report.products == 4 * np.prod(blocks)
    assert report.stalls == {"banks": 0}


def test_rounding_and_saturation():
    a, b = integers("int8", 16, 32), integers("int8", 32, 16)
    options = {"rounding": RoundingCode.FLOOR, "saturate": Saturation.NONE}
    result, _ = aie.run_layer(aie.integer_layer(a, b, mode="int8", shift=3, **options))
    assert (result == expected(a, b, "int8", 3, **options)).all()


def test_the_next_layer_takes_the_result():
    a, b, c = integers("int8", 32, 64), integers("int8", 64, 32), integers("int8", 32, 16)
    first, _ = aie.run_layer(aie.integer_layer(a, b, mode="int8", shift=9))
    second, _ = aie.run_layer(aie.integer_layer(first, c, mode="int8", shift=8))
    assert (second == expected(expected(a, b, "int8", 9), c, "int8", 8)).all()


@pytest.mark.parametrize("blocks", [(1, 1, 1), (2, 3, 2), (1, 2, 3)])
def test_mx9(blocks):
    m, k, n = (16 * each for each in blocks)
    a, b = (RNG.standard_normal(size).astype(np.float32) for size in ((m, k), (k, n)))
    result, report = aie.run_layer(aie.mx9_layer(a, b))
    whole = aie.to_mx(aie.matmul(a, b, format="mx9"), "mx9")
    assert same_blocks(result, whole)
    assert report.products == 4 * np.prod(blocks)
    assert report.stalls == {"banks": 0}
    chained = aie.mx9_layer(result, b.T)
    following, _ = aie.run_layer(chained)
    assert same_blocks(following, aie.to_mx(aie.matmul(aie.from_mx(result), b.T, format="mx9"), "mx9"))
    assert chained.macs == m * n * k


@pytest.mark.parametrize(
    ("mode", "sparse", "least"),
    [("int8", False, 477), ("mx9", False, 456), ("int8", True, 954), ("int16_64", False, 119), ("int16_64", True, 238)],
)
@pytest.mark.deep
def test_rates_of_the_real_layer(mode, sparse, least):
    """64 x 128 x 64: multiply-accumulates a cycle, of 512, 512, 1024, 128 and 256; the specification's part of them."""
    k = 64 if mode == "int16_64" else 128
    if mode == "mx9":
        a, b = (RNG.standard_normal(size).astype(np.float32) for size in ((64, k), (k, 64)))
        layer = aie.mx9_layer(a, b)
    else:
        a, b = integers(mode, 64, k), integers(mode, k, 64)
        b = pruned(b) if sparse else b
        layer = aie.integer_layer(a, b, mode=mode, shift=9, sparse=sparse)
    result, report = aie.run_layer(layer)
    assert layer.macs / report.cycles >= least
    if mode == "mx9":
        assert same_blocks(result, aie.to_mx(aie.matmul(a, b, format="mx9"), "mx9"))
    else:
        assert (result == expected(a, b, mode, 9)).all()


def test_operands_in_one_pair_of_banks():
    """Both loads of a bundle meet: one stall for each such bundle, and the same result."""
    a, b = integers("int8", 32, 64), integers("int8", 64, 32)
    layer = aie.integer_layer(a, b, mode="int8", shift=9, b_at=0x2000)
    with pytest.raises(aie.HazardError, match="must not meet at a bank"):
        aie.run_layer(layer)
    result, report = aie.run_layer(layer, conflicts="stall")
    assert (result == expected(a, b, "int8", 9)).all()
    assert report.stalls == {"banks": 2 * report.products // 4}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: aie.integer_layer(np.zeros((8, 8), int), np.zeros((8, 16), int), mode="int8", shift=0),
            "M must be a multiple of 16",
        ),
        (
            lambda: aie.integer_layer(np.zeros((16, 8), int), np.zeros((8, 16), int), mode="int16", shift=0),
            "mode must be",
        ),
        (
            lambda: aie.integer_layer(ZEROS[:, :32], ONES, mode="int8", shift=0, sparse=True),
            "dense must set two bits in each group of four, not 1111",
        ),
        (
            lambda: aie.integer_layer(ZEROS[:, :8], ONES[:8], mode="int8", shift=0),
            "K must be at least 16 in mode int8, not 8",
        ),
        (
            lambda: aie.integer_layer(np.zeros((16, 2048), int), np.zeros((2048, 16), int), mode="int8", shift=0),
            "a must have at most 16384 bytes in memory, not 32768",
        ),
        (
            lambda: aie.mx9_layer(np.zeros((8, 16), np.float32), np.zeros((16, 16), np.float32)),
            "M must be a multiple of 16, not 8",
        ),
        (
            lambda: aie.mx9_layer(np.zeros((16, 32), np.float32), np.zeros((16, 16), np.float32)),
            "a must be MX9 with 1 blocks a row",
        ),
    ],
)
def test_layers_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# Schedules on the tile: cycles of reads and writes, conflicts at a bank, and refusals.


ONE_LINE = np.ones(64, np.uint8)
LOAD_LATENCY, STORE_MEMORY = 7, 5


def tile(**options):
    """A tile whose x0 and x1 hold ones, with pointers 64 bytes apart in banks of their own."""
    made = aie.Tile(**options)
    for n in range(2):
        made.registers.write(f"x{n}", ONE_LINE)
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
    own.memory.store(0, 5 * ONE_LINE)
    own.run([aie.Bundle(lda=load("x1")), *gap(5, st=store("x1"))])
    assert own.memory.load(0x4000, 64).tolist() == ONE_LINE.tolist()
    assert own.registers.read("x1").tolist() == (5 * ONE_LINE).tolist()


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
    assert own.memory.load(0, 64).tolist() == ONE_LINE.tolist()


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
    assert own.memory.load(0x4080, 64).tolist() == ONE_LINE.tolist()
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
def test_schedules_are_refused(make, message):
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
