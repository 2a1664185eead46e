"""Columns by index, start addresses that are read at run time, and gathered transposes: values, bytes known, cycles, rules."""

import re

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki
from bitpath.verif.nki.machine.one_instruction import psum, sbuf

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

BF = ml_dtypes.bfloat16
P, F = 32, 40


def loaded(array):
    """Return a tile of SBUF with an argument's elements."""
    tile = nl.ndarray(array.shape, array.dtype, nl.sbuf)
    nisa.dma_copy(tile, array)
    return tile


def stored(tile):
    out = nl.ndarray(tile.shape, tile.dtype, nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out


def data(dtype=np.float32):
    return np.random.default_rng(3).standard_normal((P, F)).astype(dtype)


def offsets(columns=2, dtype=np.uint32):
    return np.random.default_rng(4).integers(0, F, (P, columns)).astype(dtype)


def in_order(index, group, count):
    """Return the offsets in the order of their use, by the formula."""
    return [int(index[i % group, i // group]) for i in range(count)]


@pytest.mark.parametrize("dtype", [np.float32, BF, np.uint8])
@pytest.mark.parametrize("index_dtype", [np.uint32, np.uint16])
@pytest.mark.parametrize("count", [None, 1, 17, 32])
def test_nki_columns_are_gathered(dtype, index_dtype, count):
    """VectorE takes offset i from row i mod 16; without a number there are 16 for each column of the index."""

    def kernel(x, index):
        source = loaded(x).indirect(loaded(index), count)
        made = nl.ndarray(source.shape, x.dtype, nl.sbuf)
        nisa.tensor_copy(made, source)
        return stored(made)

    x, index = data().astype(dtype), offsets(dtype=index_dtype)
    made = nki.run(kernel, x, index, options=nki.Options(strict=True)).outputs
    assert made.tobytes() == np.ascontiguousarray(x[:, in_order(index, 16, count or 32)]).tobytes()


def test_nki_columns_are_computed_with():
    def kernel(x, index):
        tile = loaded(x)
        made = nl.ndarray((P, 16), nl.float32, nl.sbuf)
        nisa.tensor_tensor(made, tile.indirect(loaded(index)), tile[:, 0:16], nl.add)
        return stored(made)

    x, index = data(), offsets(1)
    run = nki.run(kernel, x, index)
    assert run.outputs.tobytes() == (x[:, in_order(index, 16, 16)] + x[:, :16]).tobytes()
    assert "indirect.lists" in run.standing.keys


@pytest.mark.parametrize("repeated", [False, True])
def test_nki_columns_are_scattered(repeated):
    """The last of equal offsets wins; other columns keep their elements, written or not."""

    def kernel(x, index):
        tile = nl.ndarray((P, F), nl.float32, nl.sbuf)
        nisa.memset(tile[:, 0:30], 7.0)
        nisa.tensor_scalar(tile.indirect(loaded(index), 16), loaded(x)[:, 0:16], nl.multiply, 2.0)
        return stored(tile)

    x = data()
    order = [5] * 16 if repeated else list(range(16, 32))
    index = np.array(order * 2, np.uint32).reshape(P, 1)
    with pytest.warns(nki.NkiWarning, match="bytes are returned that nothing has written"):
        run = nki.run(kernel, x, index, options=nki.Options(new_memory="zero"))
    expected = np.hstack([np.full((P, 30), 7), np.zeros((P, 10))]).astype(np.float32)
    expected[:, order[-1:] if repeated else order] = 2 * x[:, 15:16] if repeated else 2 * x[:, :16]
    assert run.outputs.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("first", "warns"), [(0, False), (24, False), (25, True)])
def test_nki_columns_that_nothing_wrote(first, warns):
    """Only the columns that are read must be written."""

    def kernel(index):
        tile = nl.ndarray((P, F), nl.float32, nl.sbuf)
        nisa.memset(tile[:, 0:40:8] if first % 8 == 0 else tile[:, 0:25], 1.0)
        made = nl.ndarray((P, 1), nl.float32, nl.sbuf)
        nisa.activation(made, nl.copy, tile.indirect(loaded(index), 1))

    index = np.full((P, 1), first, np.uint32)
    if warns:
        with pytest.warns(nki.NkiWarning, match="bytes are read that nothing has written"):
            nki.run(kernel, index)
    else:
        assert not nki.run(kernel, index).warnings


def test_nki_tensor_engine_reads_32_rows_of_the_index():
    def kernel(x, w, index):
        made = nl.ndarray((8, 40), nl.float32, nl.psum)
        nisa.nc_matmul(made, loaded(w), loaded(x).indirect(loaded(index), 40))
        out = nl.ndarray((8, 40), nl.float32, nl.sbuf)
        nisa.tensor_copy(out, made)
        return stored(out)

    def plain(x, w):
        made = nl.ndarray((8, 40), nl.float32, nl.psum)
        nisa.nc_matmul(made, loaded(w), loaded(x))
        out = nl.ndarray((8, 40), nl.float32, nl.sbuf)
        nisa.tensor_copy(out, made)
        return stored(out)

    x, w, index = data(BF), data(BF)[:, :8].copy(), offsets()
    chosen = np.ascontiguousarray(x[:, in_order(index, 32, 40)])
    assert nki.run(kernel, x, w, index).outputs.tobytes() == nki.run(plain, chosen, w).outputs.tobytes()


@pytest.mark.parametrize("at", [0, 3, 7])
@pytest.mark.parametrize("kind", ["tensor", "register"])
def test_nki_a_start_address_on_chip_is_read_at_run_time(at, kind):
    """An engine's operand starts at an index times the step of its dimension; the instruction takes 600 cycles at least."""

    def kernel(x, index):
        tile, own = loaded(x), loaded(index)
        if kind == "register":
            number = nisa.register_alloc()
            nisa.register_load(number, own)
            own = number
        view = tile.reshape((P, 8, 5)).ap([[F, P], [1, 5]], scalar_offset=own, indirect_dim=1)
        made = nl.ndarray((P, F), nl.float32, nl.sbuf)
        nisa.memset(made, 0.0)
        nisa.tensor_scalar(made[:, 0:5], view, nl.multiply, 2.0)
        nisa.tensor_copy(made.reshape((P, 8, 5)).ap([[F, P], [1, 5]], scalar_offset=own, indirect_dim=1), view)
        return stored(made)

    x = data()
    run = nki.run(kernel, x, np.array([[at]], np.int32), options=nki.Options(strict=True))
    expected = np.zeros((P, F), np.float32)
    expected[:, :5] = 2 * x[:, 5 * at : 5 * at + 5]
    expected[:, 5 * at : 5 * at + 5] = x[:, 5 * at : 5 * at + 5]
    assert run.outputs.tobytes() == expected.tobytes()
    assert [each.cycles for each in run.instructions if each.opcode in ("tensor_scalar", "tensor_copy")] == [600, 600]


def test_nki_an_instruction_waits_for_its_index():
    """The index is written late by GpSimd, 158 cycles and 64 of latency; the copy that reads it waits."""

    def kernel():
        tile, index = sbuf(16, 8), nl.ndarray((16, 1), nl.uint32, nl.sbuf)
        nisa.iota(index, [[0, 1]])
        nisa.tensor_copy(nl.ndarray((16, 16), nl.float32, nl.sbuf), tile.indirect(index))

    spans = {span.instruction.opcode: span for span in nki.run(kernel).cycles.spans}
    assert spans["tensor_copy"].start == spans["iota"].end + 64


def gathered(shape, columns, rows=16, count=None, **more):
    """Return a kernel of a gathered transpose of [R, ..., C] by an index [rows, columns]."""

    def kernel(x, index):
        table, own = x, loaded(index)
        number = count or index.shape[0] * columns
        steps = [int(np.prod(shape[k + 1 :])) for k in range(len(shape))]
        pairs = [[steps[0], number], *([step, num] for step, num in zip(steps[1:], shape[1:], strict=True))]
        view = table.ap(pairs, vector_offset=own)
        made = nl.ndarray((shape[-1], *shape[1:-1], number), x.dtype, nl.sbuf)
        nisa.memset(made, 3.0)
        nisa.dma_transpose(made, view, **more)
        return stored(made)

    return kernel


@pytest.mark.parametrize("shape", [(50, 24), (50, 3, 24), (50, 1, 3, 24), (50, 3, 1, 24)])
@pytest.mark.parametrize(("rows", "columns", "count"), [(16, 1, None), (64, 1, None), (128, 2, 144)])
def test_nki_rows_are_gathered_and_transposed(shape, rows, columns, count):
    """Rows follow the index down its columns; the first axis and the last change places."""
    rng = np.random.default_rng([rows, len(shape)])
    x = rng.standard_normal(shape).astype(BF)
    index = rng.integers(0, 50, (rows, columns)).astype(np.uint32)
    made = nki.run(gathered(shape, columns, count=count), x, index, options=nki.Options(strict=True)).outputs
    flat = index.T.flatten()[: count or rows]
    assert made.tobytes() == np.ascontiguousarray(np.swapaxes(x[flat], 0, -1)).tobytes()


def test_nki_a_gathered_transpose_skips_rows():
    x = np.random.default_rng(1).standard_normal((20, 8)).astype(BF)
    index = np.arange(10, 26, dtype=np.uint32).reshape(16, 1)
    made = nki.run(gathered((20, 8), 1, oob_mode=nisa.oob_mode.skip), x, index).outputs
    expected = np.hstack([x[10:].T, np.full((8, 6), 3, BF)])
    assert made.tobytes() == expected.tobytes()


def columns_of(index_shape=(P, 1), dtype="float32", count=None, value=0, **more):
    index = sbuf(*index_shape, dtype="uint32", value=value)
    return sbuf(P, F, dtype=dtype).indirect(index, count, **more)


def copied(view):
    nisa.tensor_copy(nl.ndarray(view.shape, view.dtype, nl.sbuf), view)


WRONG = {
    "offset": (lambda: copied(columns_of(value=F)), f"an offset must be below {F}, not {F}"),
    "rows": (lambda: columns_of((16, 1)), f"index must have shape ({P}, K), not (16, 1)"),
    "axes": (lambda: columns_of((P, 1, 2)), f"index must have shape ({P}, K), not ({P}, 1, 2)"),
    "count": (lambda: copied(columns_of(count=17)), "num_elem must be 1 to 16 with an index of 1 columns, not 17"),
    "again": (lambda: columns_of()[:, 0:2], "columns by index cannot be viewed again"),
    "twice": (lambda: columns_of().indirect(sbuf(P, 1, dtype="uint32")), "cannot be made indirect again"),
    "signed": (lambda: copied(sbuf(P, F).indirect(sbuf(P, 1, dtype="int32"))), "index must be uint32 or uint16"),
    "in psum": (
        lambda: sbuf(P, F).indirect(psum(P, 1)),
        "columns by index need a tile on chip, and their index in SBUF",
    ),
    "index within a quadrant": (
        lambda: copied(sbuf(P, F).indirect(sbuf(2 * P, 1, dtype="uint32")[16 : 16 + P])),
        "src: its index must start at a multiple of 32 partitions, not at 16",
    ),
    "dma": (lambda: nisa.dma_copy(sbuf(P, 16), columns_of()), "DMA takes no columns by index"),
    "wide": (
        lambda: nisa.nc_matmul(psum(8, 16), sbuf(P, 8), columns_of()),
        "TensorE takes no columns of float32 by index",
    ),
    "matmul dst": (
        lambda: nisa.nc_matmul(
            psum(P, F).indirect(sbuf(P, 1, dtype="uint32")), sbuf(8, P, dtype="bfloat16"), sbuf(8, 16, dtype="bfloat16")
        ),
        "nc_matmul dst: must not have indices that are read at run time",
    ),
    "start": (
        lambda: copied(
            sbuf(P, F).ap([[F, P], [1, 1]], scalar_offset=sbuf(1, 1, dtype="int32", value=F), indirect_dim=1)
        ),
        f"an index must be below {F}, not {F}",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_nki_wrong_indices(name):
    kernel, sentence = WRONG[name]
    with pytest.raises(nki.NkiValidationError, match=re.escape(sentence)):
        nki.run(kernel)


@pytest.mark.parametrize(
    ("more", "index", "sentence"),
    [
        ({}, np.full((16, 1), 20, np.uint32), "indices must be below the source's 20 rows, not 20"),
        ({}, np.zeros((16, 1), np.int32), "dma_transpose src index: dtype must be uint32, not int32"),
        ({}, np.zeros((24, 1), np.uint32), "indices must have a multiple of 16 rows up to 128"),
        ({"axes": (0, 1)}, np.zeros((16, 1), np.uint32), "axes: must exchange the first and the last of 2, not (0, 1)"),
        (
            {"dge_mode": nisa.dge_mode.hwdge},
            np.zeros((16, 1), np.uint32),
            "dge_mode: must be unknown or swdge with indices, not hwdge",
        ),
    ],
)
def test_nki_wrong_gathered_transposes(more, index, sentence):
    x = np.zeros((20, 8), BF)
    with pytest.raises(nki.NkiValidationError, match=re.escape(sentence)):
        nki.run(gathered((20, 8), 1, **more), x, index)


def test_nki_a_transpose_without_indices_skips_nothing():
    def kernel(x):
        nisa.dma_transpose(nl.ndarray((8, 16), x.dtype, nl.sbuf), x, oob_mode=nisa.oob_mode.skip)

    with pytest.raises(nki.NkiValidationError, match="oob_mode: skip needs a vector of indices"):
        nki.run(kernel, np.zeros((16, 8), BF))
