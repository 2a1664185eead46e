"""The core: programs over its memories, orders that are missing, and times by engine."""

from functools import partial

import numpy as np
import pytest

from bitpath.golden import trainium3
from bitpath.golden.trainium3 import AccessPattern, Compute, Core, HbmPattern, Operand, QueueConfig, Transfer

F32 = np.dtype(np.float32)
COLUMNS = 4
LOAD = 2 * (720 + 1560 + 90)
"""Ticks of a short hwdge transfer: generation, start, one descriptor."""


def sbuf(offset=0, partitions=32, columns=COLUMNS):
    return Operand("sbuf", AccessPattern(F32, 0, partitions, offset, ((1, columns),), dma=True))


def psum(bank, offset=0):
    return Operand("psum", AccessPattern(F32, 0, 32, 512 * bank + offset, ((1, COLUMNS),)))


def hbm(offset=0, rows=32, columns=COLUMNS):
    return Operand("hbm", HbmPattern(F32, offset, ((columns, rows), (1, columns))))


def compute(name, reads=(), writes=(), engine="vector", function=lambda *values: values[0], **more):
    return Compute(name=name, engine=engine, reads=reads, writes=writes, compute=function, **{"cycles": 64} | more)


def constant(name, place, value=1.0, **more):
    return compute(name, (), (place,), function=partial(np.full, place.pattern.shape, np.float32(value)), **more)


load = partial(Transfer, name="load", destination=sbuf(), source=hbm())


def core(**more):
    made = Core(hbm_bytes=1 << 16, **more)
    made.write(hbm(), np.arange(32 * COLUMNS, dtype=F32).reshape(32, COLUMNS))
    return made


def times(report):
    return {span.name: (span.start, span.end) for span in report.spans}


def test_a_program_moves_computes_and_stores():
    machine = core()
    program = [
        load(),
        compute("double", (sbuf(),), (sbuf(8),), function=lambda x: x + x, after=("load",)),
        load(name="store", destination=hbm(256), source=sbuf(8), after=("double",)),
    ]
    report = machine.run(program)
    assert np.array_equal(machine.read(hbm(256)), 2 * machine.read(hbm()))
    descriptors = 8 * 90 * 2
    ends = [LOAD - 180 + descriptors, LOAD - 180 + descriptors + 128]
    ends.append(ends[1] + LOAD - 180 + descriptors)
    assert times(report) == {"load": (0, ends[0]), "double": (ends[0], ends[1]), "store": (ends[1], ends[2])}
    assert report.end == ends[2]
    assert report.busy == {"vector": 128, "dma": 2 * 4 * descriptors}
    assert report.stalls["vector"] == {"dma": ends[0]}
    (traffic,) = report.traffic.values()
    assert (traffic.transfers, traffic.descriptors, traffic.bytes) == (2, 64, 2 * 32 * 16)


def test_a_cast_takes_the_wider_side_and_an_add_keeps_its_place():
    machine = core()
    halves = Operand("sbuf", AccessPattern(np.dtype(np.float16), 0, 32, 64, ((1, COLUMNS),), dma=True))
    report = machine.run(
        [
            load(name="cast", destination=halves, engine="gpsimd"),
            constant("ones", sbuf()),
            load(name="add", add=True, after=("ones",)),
        ]
    )
    assert np.array_equal(machine.read(halves), machine.read(hbm()).astype(np.float16))
    assert np.array_equal(machine.read(sbuf()), machine.read(hbm()) + np.float32(1))
    assert report.traffic[0].bytes == 2 * 32 * 16


def test_engines_of_two_clocks_and_two_slots():
    """A transpose runs beside a matmul in TensorE's background; VectorE's cycle is two of TensorE's."""
    tensor = partial(constant, engine="tensor")
    report = Core(hbm_bytes=64).run(
        [
            tensor("matmul", psum(0), cycles=512),
            tensor("transpose", psum(1), cycles=128, transpose=True),
            tensor("same bank", psum(0, 8), cycles=128, transpose=True),
            compute("evict", (psum(1),), (sbuf(),), cycles=100, after=("transpose",)),
        ]
    )
    # VectorE starts with a cycle of its own, an even tick.
    assert times(report) == {
        "matmul": (0, 512),
        "transpose": (1, 129),
        "same bank": (512, 640),
        "evict": (130, 330),
    }
    assert report.banks == (0, 1)
    assert report.busy["tensor"] == 640


def test_a_transfer_of_a_higher_priority_delays_one_that_came_first():
    """Each span ends when the engines have served all of its descriptors, also those behind a later transfer's."""
    queues = (QueueConfig(priority=1), QueueConfig(priority=0), *(QueueConfig(),) * 14)
    long = load(name="long", destination=sbuf(0, 8, 1 << 12), source=hbm(1 << 13, 8, 1 << 12), mode="none")
    short = load(name="short", destination=sbuf(1 << 13, 8), source=hbm(0, 8), queue=1, mode="none", engine="scalar")
    machine = Core(hbm_bytes=1 << 18, queues=queues)
    machine.write(hbm(1 << 13, 8, 1 << 12), np.ones((8, 1 << 12), F32))
    machine.write(hbm(0, 8), np.ones((8, COLUMNS), F32))
    alone = times(machine.run([long]))["long"][1]
    wait = constant("wait", sbuf(1 << 14), cycles=100)
    together = machine.run([long, wait, Transfer(**{**vars(short), "after": ("wait",)})])
    assert times(together)["long"][1] == alone + 2 * 8 * 90


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        (
            [load(), compute("read", (sbuf(),), (sbuf(8),))],
            "after of read must lead to load, since both use the same bytes of SBUF",
        ),
        (
            [constant("one", sbuf()), constant("two", sbuf(2), engine="gpsimd")],
            "after of two must lead to one, since both use the same bytes of SBUF",
        ),
        (
            [constant("a", sbuf()), load(name="b", add=True, after=("a",)), load(name="c", add=True, queue=1, after=("a",))],
            "after of c must lead to b, since both use the same bytes of SBUF",
        ),
        ([constant("a", sbuf()), constant("a", sbuf())], "name must be unique in its program, not 'a' again"),
        ([constant("a", sbuf(), after=("b",))], "after of a must name earlier instructions, not 'b'"),
        (
            [compute("read", (sbuf(),), (sbuf(8),))],
            "SBUF must be written before it is read, not be read at byte 0 of partition 0",
        ),
        (
            [compute("wide", (), (sbuf(),), function=lambda: np.zeros(4, F32))],
            "a result of wide must be 128 elements of float32, not 4 of float32",
        ),
    ],
)  # fmt: skip
def test_mistakes_of_a_program(program, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        core().run(program)


def test_adds_in_one_queue_keep_their_order():
    machine = core()
    program = [constant("a", sbuf()), *(load(name=name, add=True, after=("a",)) for name in "bc")]
    machine.run(program)
    assert np.array_equal(machine.read(sbuf()), 1 + 2 * machine.read(hbm()))


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: Operand("hbm", sbuf().pattern), TypeError, "pattern must be HbmPattern in hbm, not AccessPattern"),
        (lambda: Operand("sram", sbuf().pattern), ValueError, "memory must be 'sbuf', 'psum' or 'hbm', not 'sram'"),
        (lambda: constant("a", sbuf(), cycles=0), ValueError, "cycles of a must be 1 or more, not 0"),
        (
            lambda: compute("a", (hbm(),), (sbuf(),)),
            ValueError,
            "operands of a must lie in SBUF or PSUM, since only the DMA reaches HBM",
        ),
        (
            lambda: constant("a", psum(0), engine="gpsimd"),
            ValueError,
            "operands of a must lie in SBUF, since GpSimd does not reach PSUM",
        ),
        (
            lambda: load(source=psum(0)),
            ValueError,
            "operands of load must lie in SBUF or HBM, since the DMA does not reach PSUM",
        ),
        (
            lambda: load(destination=hbm(256), add=True),
            ValueError,
            "a read-add-write, load, must go to SBUF without a cast",
        ),
        (lambda: core().run(["load"]), TypeError, "program must hold Compute and Transfer instructions, not str"),
    ],
)
def test_mistakes_of_an_instruction(make, error, sentence):
    with pytest.raises(error, match=f"^{sentence}$"):
        make()


def test_nothing_runs_where_an_order_is_missing():
    machine = core()
    with pytest.raises(ValueError, match="must lead to"):
        machine.run([constant("one", sbuf()), constant("two", sbuf(), engine="gpsimd")])
    with pytest.raises(ValueError, match="must be written"):
        machine.read(sbuf())


def test_the_spans_are_those_of_the_single_transfer():
    """The core adds nothing to `transfer_cycles` of an idle machine."""
    report = core().run([load()])
    alone = trainium3.transfer_cycles(trainium3.descriptors(sbuf().pattern, hbm().pattern), mode="hwdge", hbm_sides=1)
    assert report.end == 2 * alone.total
