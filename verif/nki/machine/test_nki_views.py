"""Views of tensors: numpy's elements, overlapping operands, and what public kernels rely on."""

from functools import reduce

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from bitpath.golden import nki, trainium3
from bitpath.golden.nki.launch.kernel import contents
from bitpath.golden.nki.memory.dtypes import STORED
from bitpath.verif.nki.machine.one_instruction import hbm, sbuf

# Views of tensors against numpy's: their elements, the places of these, and keys that give no view.


with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

SHAPE = (4, 6, 8)
NUMBERS = np.arange(192, dtype=np.float32).reshape(SHAPE)
MEMORIES = ("sbuf", "private_hbm")
VIEWS = {
    "slices": (lambda t: t[0:4, 1:5:2, 3:8], lambda a: a[0:4, 1:5:2, 3:8]),
    "step beyond the end": (lambda t: t[:, 0:6:4], lambda a: a[:, 0:6:4]),
    "a part of the partitions": (lambda t: t[1:3], lambda a: a[1:3]),
    "every second partition": (lambda t: t[0:4:2, 2:4], lambda a: a[0:4:2, 2:4]),
    "an index": (lambda t: t[:, 2], lambda a: a[:, 2]),
    "an index behind dots": (lambda t: t[..., 5], lambda a: a[..., 5]),
    "dots between": (lambda t: t[1:3, ..., 2:4], lambda a: a[1:3, ..., 2:4]),
    "negative indices": (lambda t: t[:, -2, -5:-1], lambda a: a[:, -2, -5:-1]),
    "numpy's integers": (lambda t: t[:, np.int64(3), np.int32(1) :], lambda a: a[:, 3, 1:]),
    "ds": (lambda t: t[:, nl.ds(2, 3)], lambda a: a[:, 2:5]),
    "ds of a register": (lambda t: t[:, nl.ds(nisa.register_alloc(2), 3)], lambda a: a[:, 2:5]),
    "slice": (lambda t: t.slice(1, 1, 5, 2), lambda a: a[:, 1:5:2]),
    "slice of the last": (lambda t: t.slice(-1, 0, 3), lambda a: a[..., 0:3]),
    "select": (lambda t: t.select(2, 3), lambda a: a[..., 3]),
    "joined": (lambda t: t.reshape((4, 48)), lambda a: a.reshape(4, 48)),
    "split": (lambda t: t.reshape((4, 2, 3, 2, 4)), lambda a: a.reshape(4, 2, 3, 2, 4)),
    "joined and split": (lambda t: t.reshape((4, 3, 16)), lambda a: a.reshape(4, 3, 16)),
    "what is left": (lambda t: t.reshape((4, -1, 4)), lambda a: a.reshape(4, 12, 4)),
    "a slice split": (lambda t: t[:, :, 0:4].reshape((4, 6, 2, 2)), lambda a: a[:, :, 0:4].reshape(4, 6, 2, 2)),
    "reshape_dim": (lambda t: t.reshape_dim(2, (2, 4)), lambda a: a.reshape(4, 6, 2, 4)),
    "flatten_dims": (lambda t: t.flatten_dims(1, 2), lambda a: a.reshape(4, 48)),
    "permute": (lambda t: t.permute((0, 2, 1)), lambda a: a.transpose(0, 2, 1)),
    "permuted and split": (
        lambda t: t.permute((0, 2, 1)).reshape((4, 4, 2, 6)),
        lambda a: a.transpose(0, 2, 1).reshape(4, 4, 2, 6),
    ),
    "expand_dim": (lambda t: t.expand_dim(1), lambda a: a[:, None]),
    "expand_dim behind": (lambda t: t.expand_dim(3), lambda a: a[..., None]),
    "squeeze_dim": (lambda t: t[:, 2:3].squeeze_dim(1), lambda a: a[:, 2]),
    "broadcast": (lambda t: t[:, 2:3].broadcast(1, 5), lambda a: np.broadcast_to(a[:, 2:3], (4, 5, 8))),
    "rearrange": (
        lambda t: t.rearrange(("p", "a", ("b", "c")), ("p", "c", ("a", "b")), {"c": 2}),
        lambda a: a.reshape(4, 6, 4, 2).transpose(0, 3, 1, 2).reshape(4, 2, 24),
    ),
    "narrow words": (lambda t: t.view("uint16"), lambda a: a.view(np.uint16)),
    "bytes of a column": (
        lambda t: t[:, 2, 3:4].view("uint8"),
        lambda a: np.ascontiguousarray(a[:, 2, 3:4]).view(np.uint8),
    ),
    "narrow and wide again": (lambda t: t[:, 1:4].view("int8").view("int32"), lambda a: a[:, 1:4].view(np.int32)),
    "reinterpret_cast": (lambda t: t.reinterpret_cast("uint32"), lambda a: a.view(np.uint32)),
    "ap": (lambda t: t.ap([[48, 4], [8, 6], [1, 4]], offset=2), lambda a: a[..., 2:6]),
    "ap of one partition": (lambda t: t.ap([[7, 1], [2, 5]], offset=50), lambda a: a.reshape(1, -1)[:, 50:60:2]),
    "ap that repeats": (lambda t: t.ap([[48, 4], [0, 3], [1, 8]]), lambda a: np.broadcast_to(a[:, :1], (4, 3, 8))),
    "ap backwards": (lambda t: t.ap([[48, 4], [-1, 48]], offset=47), lambda a: a.reshape(4, 48)[:, ::-1]),
    "ap that overlaps": (
        lambda t: t.ap([[48, 4], [1, 5], [1, 3]]),
        lambda a: as_strided(a, (4, 5, 3), (192, 4, 4)),
    ),
    "ap of a view": (lambda t: t[:, 2:].ap([[48, 4], [1, 8]], offset=1), lambda a: a.reshape(4, 48)[:, 17:25]),
    "ap of words": (
        lambda t: t.ap([[96, 4], [1, 16]], 4, dtype="uint16"),
        lambda a: a.view(np.uint16).reshape(4, 96)[:, 4:20],
    ),
}  # fmt: skip
HBM_VIEWS = {
    "an outer index": (lambda t: t[2], lambda a: a[2]),
    "one element": (lambda t: t[2, 3, 4], lambda a: a[2, 3, 4:5]),
    "outer dimensions joined": (lambda t: t.reshape((24, 8)), lambda a: a.reshape(24, 8)),
    "all permuted": (lambda t: t.permute((2, 0, 1)), lambda a: a.transpose(2, 0, 1)),
    "an outer dimension": (lambda t: t.ap([[1, 2], [96, 2], [8, 3]]), lambda a: as_strided(a, (2, 2, 3), (4, 384, 32))),
}
CHIP_VIEWS = {
    "one partition": (lambda t: t[2], lambda a: a[2:3]),
    "one column": (lambda t: t[:, 2, 3], lambda a: a[:, 2, 3:4]),
    "one element": (lambda t: t[2, 3, 4], lambda a: a[2:3, 3, 4:5]),
}
CASES = [
    *((memory, name, *pair) for memory in MEMORIES for name, pair in VIEWS.items()),
    *(("private_hbm", name, *pair) for name, pair in HBM_VIEWS.items()),
    *(("sbuf", name, *pair) for name, pair in CHIP_VIEWS.items()),
]


def tensor(memory):
    made = nl.shared_constant(NUMBERS)
    if memory == "sbuf":
        tile = nl.ndarray(SHAPE, "float32", nl.sbuf)
        nisa.dma_copy(tile, made)
        return tile
    return made


@pytest.mark.filterwarnings("ignore:.*documents differ")
@pytest.mark.parametrize(("memory", "name", "ours", "numpys"), CASES, ids=[f"{each[1]}, {each[0]}" for each in CASES])
def test_a_view_has_numpys_elements(memory, name, ours, numpys):
    def kernel():
        whole = tensor(memory)
        view, expected = ours(whole), numpys(NUMBERS)
        found = contents(view)
        assert found.shape == view.shape == expected.shape
        assert (view.ndim, view.size, len(view)) == (expected.ndim, expected.size, len(expected))
        assert (found.view(np.uint8) == np.ascontiguousarray(expected).view(np.uint8)).all()
        assert view.get_pattern() == [[step, num] for step, num in zip(view.strides, view.shape, strict=True)]
        if memory != "sbuf" or view.steps[0] == 1:
            assert (contents(view.ap(view.get_pattern())) == found).all()
        assert whole.strides == (48, 8, 1)
        if memory != "sbuf" and np.shares_memory(expected, NUMBERS):
            longer = [k for k, num in enumerate(view.shape) if num > 1]
            assert [view.strides[k] * view.itemsize for k in longer] == [expected.strides[k] for k in longer]
            assert view.is_contiguous() == expected.flags.c_contiguous

    nki.run(kernel)


def test_a_write_through_a_view_changes_its_elements_alone():
    def kernel():
        tile = sbuf(*SHAPE)
        nisa.memset(tile[:, 1:5:2, 3:8], 7.0)
        expected = np.zeros(SHAPE, np.float32)
        expected[:, 1:5:2, 3:8] = 7
        assert (contents(tile) == expected).all()
        nisa.tensor_copy(tile.permute((0, 2, 1))[:, 0:2], tile[:, 1:5, 2:5].reshape_dim(1, (2, 2))[:, 0:2, 0, 0:3])

    with pytest.raises(nki.NkiValidationError, match="must have the elements of"):
        nki.run(kernel)


@pytest.mark.parametrize("seed", range(40))
def test_reshapes_of_permuted_slices_copy_where_numpy_would(seed):
    """A chain of views gives numpy's elements; it is refused where numpy has to copy."""
    rng = np.random.default_rng(seed)

    def step(pair, _):
        ours, numpys = pair
        if rng.integers(2):
            order = tuple(int(each) for each in rng.permutation(ours.ndim))
            return ours.permute(order), numpys.transpose(order)
        keys = tuple(slice(int(rng.integers(num)), None, int(rng.integers(1, 3))) for num in ours.shape)
        return ours[keys], numpys[keys]

    def kernel():
        ours, numpys = reduce(step, range(4), (nl.shared_constant(NUMBERS), NUMBERS))
        assert (contents(ours) == numpys).all()
        factors = [num for num in (2, 3, 4, 6, 8, 12) if numpys.size % num == 0]
        for shape in ((numpys.size,), *((num, numpys.size // num) for num in factors)):
            made = numpys.reshape(shape)
            if np.shares_memory(made, NUMBERS):
                assert (contents(ours.reshape(shape)) == made).all()
            else:
                with pytest.raises(nki.NkiValidationError, match="must split or join dimensions"):
                    ours.reshape(shape)

    nki.run(kernel)


MISTAKES = {
    "two dots": (lambda t: t[..., ...], "a key must have at most one ..."),
    "too many items": (lambda t: t[0, 0, 0, 0], "a key must have at most 3 items, not 4"),
    "a list": (lambda t: t[[1, 2]], r"an index must be an integer, a slice, nl.ds or a register, not \[1, 2\]"),
    "a float": (lambda t: t[:, 1.0], "an index must be an integer, a slice, nl.ds or a register, not 1.0"),
    "an end beyond": (lambda t: t[:, 2:7], "a slice of dimension 1 must lie in 0 to 6, not 2 to 7"),
    "ds beyond": (lambda t: t[:, nl.ds(5, 2)], "a slice of dimension 1 must lie in 0 to 6, not 5 to 7"),
    "nothing": (lambda t: t[:, 3:3], "a slice of dimension 1 must lie in 0 to 6, not 3 to 3"),
    "backwards": (lambda t: t[:, 5:0:-1], "the step of dimension 1 must be at least 1, not -1"),
    "too negative": (lambda t: t[:, -7], "an index of dimension 1 must be 0 to 5, not -7"),
    "more elements": (lambda t: t.reshape((4, 49)), r"shape must have 48 elements, not \(49,\)"),
    "two unknown": (lambda t: t.reshape((4, -1, -1)), "shape must have 48 elements"),
    "fewer partitions": (lambda t: t.reshape((2, 96)), r"reshape must keep 4 partitions, not give \(2, 96\)"),
    "a copy": (lambda t: t[:, :, 0:7].reshape((4, 42)), r"shape \(42,\) must split or join dimensions"),
    "partitions moved": (lambda t: t.permute((1, 0, 2)), "dims must permute 3 dimensions and keep partitions first"),
    "not all dimensions": (lambda t: t.permute((0, 1)), "dims must permute 3 dimensions"),
    "broadcast of six": (lambda t: t.broadcast(1, 12), "dimension 1 must have one element to be broadcast, not 6"),
    "broadcast of partitions": (lambda t: t.broadcast(0, 8), "dimension 0, the partitions, cannot change"),
    "squeeze of six": (lambda t: t.squeeze_dim(1), "dimension 1 must have one element to go away, not 6"),
    "flattened partitions": (lambda t: t.flatten_dims(0, 1), "dimension 0, the partitions, cannot change"),
    "no such dimension": (lambda t: t.select(3, 0), "dim must be below 3, not 3"),
    "rearranged partitions": (
        lambda t: t.rearrange(("p", "a", "b"), ("a", "p", "b")),
        "dims must permute 3 dimensions and keep partitions first",
    ),
    "an unknown name": (
        lambda t: t.rearrange(("p", "a", "b"), ("p", "a", "c")),
        "patterns must name the same dimensions",
    ),
    "a size that does not divide": (
        lambda t: t.rearrange(("p", "a", ("b", "c")), ("p", "a", "b", "c"), {"c": 3}),
        "fixed_sizes must split 8 into b, c with at most one size left out",
    ),
    "half a word": (lambda t: t.view("uint16")[:, :, 0:1].view("float32"), "have a multiple of 4 bytes"),
    "words from an odd place": (
        lambda t: t.view("uint16")[:, :, 1:3].view("uint32"),
        "rows must start at multiples of 4",
    ),
    "a strided word": (lambda t: t[:, :, 0:8:2].view("uint16"), "the last dimension must be contiguous"),
    "two offsets": (
        lambda t: t.ap([[48, 4], [1, 8]], scalar_offset=sbuf(1, 1), vector_offset=sbuf(4, 1)),
        "a view takes scalar_offset or vector_offset, not both",
    ),
    "an index of partitions": (
        lambda t: t.ap([[48, 4], [1, 8]], scalar_offset=nisa.register_alloc(0)),
        "an index of the partitions must be known before the run",
    ),
    "indirect twice": (
        lambda t: t.select(1, sbuf(1, 1, dtype="int32")).select(1, sbuf(1, 1, dtype="int32")),
        "an indirect view cannot be made indirect again",
    ),
    "vector_select on chip": (
        lambda t: t.vector_select(0, sbuf(4, 1, dtype="int32")),
        "vector_select takes dimension 0 of a tensor in HBM",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_no_view_says_why(name):
    make, sentence = MISTAKES[name]
    with pytest.raises(nki.NkiValidationError, match=f"^tensor_1: .*{sentence}"):
        nki.run(lambda: make(tensor("sbuf")))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_all_is_one_where_no_element_is_zero(dtype):
    """Over the last dimensions, NaN counts as not 0, and -0 as 0."""
    given = np.array([[1, -2, 3], [4, 0, 5], [-0.0, 6, 7]])
    if dtype != "int32":
        given[0, 0] = np.nan

    def kernel(x):
        tile = nl.load(x)
        made = contents(nl.all(tile, 1))
        assert (made.astype(np.float32).reshape(-1) == [1, 0, 0]).all()
        assert nl.all(tile, 1, keepdims=True).shape == (3, 1)
        assert nl.all(tile, -1, dtype="uint8").dtype == "uint8"

    nki.run(kernel, given.astype(STORED[dtype]))


# A destination that overlaps a source at a shift: exactly these views are warned of.


with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

SENTENCE = "tensor_1 over bytes of tensor_1 that it reads, at a shift"


def tile(*shape, dtype="float32", value=1):
    return sbuf(*(shape or (4, 64)), dtype=dtype, value=value)


def copies(dst, src, shape=(4, 64)):
    """Return a kernel that copies from one view of a tile to another."""

    def kernel():
        own = tile(*shape)
        nisa.tensor_copy(dst(own), src(own))

    return kernel


def adds(dst, src):
    def kernel():
        own = tile()
        nisa.tensor_tensor(dst(own), own[:, 32:64], src(own), nl.add)

    return kernel


def narrower():
    own = tile()
    nisa.tensor_copy(own.view("bfloat16")[:, 0:64], own)


def scalar():
    own = tile()
    nisa.tensor_scalar(own, own, nl.multiply, own[:, 0:1])


def reduced(own_column):
    def kernel():
        own = tile()
        column = own[:, 3:4] if own_column else nl.ndarray((4, 1), "float32")
        nisa.tensor_reduce(column, nl.add, own, axis=1)

    return kernel


def registers():
    own = tile()
    nisa.activation_reduce(own, nl.copy, own, nl.add, own[:, 0:1])


def second_source():
    own = tile()
    nisa.tensor_tensor(own[:, 0:32], own[:, 0:32], own[:, 1:33], nl.add)


def addressed(byte):
    """Copy between two tensors of given addresses, 256 bytes each."""

    def kernel():
        first, second = (sbuf(4, 64, address=(0, each)) for each in (0, byte))
        nisa.memset(first, 1.0)
        nisa.tensor_copy(second, first)

    return kernel


def partitions(instruction):
    def kernel():
        own = tile(64, 16)
        instruction(own[32:64], own[0:32])
        instruction(own[0:32], own[0:32])

    return kernel


def broadcast():
    own = tile(32, 16)
    nisa.nc_stream_shuffle(own, own[0:1], [0] * 32)


def rows_by_dma(shift):
    def kernel():
        own = tile(64, 16)
        nisa.dma_copy(own[shift : shift + 8], own[0:8])

    return kernel


def rows_of_hbm(shift):
    def kernel():
        own = hbm(64, 16)
        nisa.dma_copy(own[shift : shift + 8], own[0:8])

    return kernel


def columns(at):
    def kernel():
        own = tile(16, 64)
        nisa.tensor_copy(own[:, at : at + 16], own.indirect(sbuf(16, 1, dtype="uint32", value=20)))

    return kernel


WARNED = {
    "one element": copies(lambda t: t[:, 1:33], lambda t: t[:, 0:32]),
    "backwards": copies(lambda t: t[:, 0:32], lambda t: t[:, 1:33]),
    "a strided view of the same bytes": copies(lambda t: t[:, 0:64:2], lambda t: t[:, 0:32]),
    "transposed": copies(lambda t: t.reshape((4, 8, 8)).permute((0, 2, 1)), lambda t: t.reshape((4, 8, 8))),
    "a broadcast": copies(lambda t: t[:, 0:8], lambda t: t[:, 0:1].broadcast(1, 8)),
    "the second source": second_source,
    "narrower elements": narrower,
    "reduced into itself": reduced(True),
    "partitions by DMA": rows_by_dma(4),
    "rows of HBM": rows_of_hbm(4),
    "columns by index": columns(5),
}
SILENT = {
    "identical": copies(lambda t: t, lambda t: t),
    "identical in another shape": copies(lambda t: t.reshape((4, 8, 8)), lambda t: t.reshape((4, 2, 32))),
    "interleaved": copies(lambda t: t[:, 0:64:2], lambda t: t[:, 1:64:2]),
    "interleaved blocks": copies(lambda t: t.reshape((4, 8, 8))[:, :, 0:4], lambda t: t.reshape((4, 8, 8))[:, :, 4:8]),
    "side by side": copies(lambda t: t[:, 0:32], lambda t: t[:, 32:64]),
    "other partitions": partitions(nisa.tensor_copy),
    "other partitions by DMA": partitions(nisa.dma_copy),
    "a partition over others": broadcast,
    "half of it in place": adds(lambda t: t[:, 0:32], lambda t: t[:, 0:32]),
    "scalars": scalar,
    "reduced elsewhere": reduced(False),
    "registers": registers,
    "rows of HBM apart": rows_of_hbm(8),
    "other columns": columns(21),
}


@pytest.mark.parametrize("name", WARNED)
def test_nki_a_shifted_overlap_is_warned_of(name):
    with pytest.warns(nki.NkiWarning, match=SENTENCE) as seen:
        run = nki.run(WARNED[name])
    assert len(seen) == len(run.warnings) == 1
    assert run.warnings[0].split(":")[0] == run.instructions[-1].opcode
    with pytest.raises(nki.NkiValidationError, match=SENTENCE):
        nki.run(WARNED[name], options=nki.Options(strict=True))


@pytest.mark.parametrize("name", SILENT)
def test_nki_other_overlaps_are_silent(name):
    assert not nki.run(SILENT[name], options=nki.Options(strict=True)).warnings


@pytest.mark.parametrize(("byte", "warns"), [(0, False), (4, True), (252, True), (256, False)])
def test_nki_an_overlap_of_two_tensors(byte, warns):
    """Tensors at given addresses overlap by their bytes; that the second one's are the first one's is another warning."""
    kinds = "at a shift|another tensor at this address"
    if not warns:
        assert not [each for each in nki.run(addressed(byte)).warnings if "shift" in each]
        return
    with pytest.warns(nki.NkiWarning, match=kinds):
        run = nki.run(addressed(byte))
    assert any("tensor_copy: writes tensor_2 over bytes of tensor_1 that it reads" in each for each in run.warnings)


def test_nki_an_overlap_is_read_before_it_is_written():
    """The warning names the undefined order; here all is read first."""

    def kernel(x):
        own = nl.ndarray((4, 64), "float32")
        nisa.dma_copy(own, x)
        nisa.tensor_copy(own[:, 1:64], own[:, 0:63])
        out = nl.ndarray((4, 64), "float32", nl.shared_hbm)
        nisa.dma_copy(out, own)
        return out

    x = np.random.default_rng(1).standard_normal((4, 64)).astype(np.float32)
    with pytest.warns(nki.NkiWarning, match="at a shift"):
        made = nki.run(kernel, x).outputs
    assert made.tobytes() == np.hstack([x[:, :1], x[:, :63]]).tobytes()


# Views and constants that public kernels rely on.


with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

BF16 = np.dtype(ml_dtypes.bfloat16)


@nki.jit
def read_behind_the_end(x, uses):
    tile = nl.ndarray((4, 8), x.dtype)
    nisa.dma_copy(tile, x)
    view = tile.ap([[8, 4], [1, 4]], offset=8 + 5)  # 5 to 8 of partition 1 on: one element too many
    made = nl.ndarray((4, 4), x.dtype, nl.shared_hbm)
    nisa.dma_copy(made, view if uses else tile[:, 4:])
    return made


def test_nki_ap_is_checked_where_an_instruction_takes_it():
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    assert (read_behind_the_end(x, False) == x[:, 4:]).all()
    with pytest.raises(nki.NkiValidationError, match=r"elements must be 0 to 7, not 5 to 8 \(test_nki_views.py:\d+\)"):
        read_behind_the_end(x, True)


@nki.jit
def transpose_by_identity(x):
    tile = nl.ndarray(x.shape, x.dtype)
    nisa.dma_copy(tile, x)
    identity = nl.shared_identity_matrix(x.shape[0], dtype=x.dtype)
    turned = nl.ndarray(x.shape[::-1], nl.float32, nl.psum)
    nisa.nc_matmul(turned, tile, identity)
    made = nl.ndarray(turned.shape, x.dtype)
    nisa.tensor_copy(made, turned)
    stored = nl.ndarray(made.shape, x.dtype, nl.shared_hbm)
    nisa.dma_copy(stored, made)
    return stored


def test_nki_shared_identity_matrix_lies_in_sbuf():
    x = np.random.default_rng(13).standard_normal((64, 100)).astype(BF16)
    assert (transpose_by_identity(x) == x.T).all()


@nki.jit
def wide_matmul(x, y):
    tiles = []
    for each in (x, y):
        tiles.append(nl.ndarray(each.shape, each.dtype))
        nisa.dma_copy(tiles[-1], each)
    total = nl.ndarray((x.shape[1], y.shape[1]), nl.float32, nl.psum)
    nisa.nc_matmul(total, *tiles)
    made = nl.ndarray(total.shape, nl.float32)
    nisa.tensor_copy(made, total)
    stored = nl.ndarray(made.shape, nl.float32, nl.shared_hbm)
    nisa.dma_copy(stored, made)
    return stored


def test_nki_nc_matmul_takes_columns_of_several_banks_on_gen4_alone():
    x, y = (np.random.default_rng(14).standard_normal((8, n)).astype(BF16) for n in (5, 600))
    assert wide_matmul(x, y).tobytes() == trainium3.nc_matmul(x, y, multi_bank=True).tobytes()
    with pytest.raises(nki.NkiValidationError, match="600 columns into float32 results; 512 are allowed on gen3"):
        nki.run(wide_matmul, x, y, options=nki.Options(target="trn2"))


@pytest.mark.parametrize(
    ("memory", "copy"), [("sbuf", "tensor_copy"), ("psum", "tensor_copy"), ("private_hbm", "dma_copy")]
)
def test_nki_an_assignment_names_the_copy(memory, copy):
    def kernel():
        made = nl.ndarray((4, 8), nl.float32, getattr(nl, memory), name="made")
        made[:, 0:4] = made[:, 4:8]

    sentence = rf"^made: a kernel must not assign to elements; write nisa.{copy}\(made\[...\], ...\) \(test_nki_views.py:\d+\)$"
    with pytest.raises(nki.NkiValidationError, match=sentence):
        nki.run(kernel)


@pytest.mark.parametrize("memory", ["sbuf", "private_hbm"])
def test_nki_an_offset_of_ap_on_a_view_with_one_is_a_warning(memory):
    """Also an offset of 0, from where the guide would begin anew; none, and one on a view without, are not."""

    def kernel(column, offset):
        made = nl.zeros((4, 8), nl.float32, getattr(nl, memory), name="made")
        view = made[:, column:].ap([[8, 4], [1, 2]], offset=offset)
        assert view.offset == column + (offset or 0)

    for offset in (0, 3):
        with pytest.warns(nki.NkiWarning, match="documents differ"):
            found = nki.run(kernel, 2, offset).warnings
        sentence = f"made: offset {offset} adds to the view's 2; documents differ (test_nki_views.py:"
        assert [each[: len(sentence)] for each in found] == [sentence]
    with pytest.raises(nki.NkiValidationError, match="made: offset 3 adds to the view's 2"):
        nki.run(kernel, 2, 3, options=nki.Options(strict=True))
    assert nki.run(kernel, 2, None).warnings == ()
    assert nki.run(kernel, 0, 3).warnings == ()
