"""A destination that overlaps a source at a shift: exactly these views are warned of."""

import numpy as np
import pytest

from bitpath.golden import nki
from bitpath.verif.nki.machine.one_instruction import hbm, sbuf

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
