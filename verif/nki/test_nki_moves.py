"""The state of bytes moves with them; new memory; registers that a tensor fills: kernels of our own."""

import numpy as np
import pytest

from bitpath.golden import nki

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl


def stored(tile):
    result = nl.ndarray(tile.shape, tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(result, tile)
    return result


def half_written(rows: int, columns: int):
    """Return a tile whose first partition alone is written."""
    tile = nl.ndarray((rows, columns), nl.float32)
    nisa.memset(tile[0:1], 3.0 + nl.program_id())
    return tile


def test_nki_sendrecv_moves_bytes_that_nothing_has_written():
    @nki.jit
    def kernel():
        sent, received = half_written(32, 8), nl.ndarray((32, 8), nl.float32)
        other = 1 - nl.program_id()
        nisa.sendrecv(sent, received, other, other, 0)
        nisa.tensor_scalar(received[0:1], received[0:1], nl.add, 1.0)
        return stored(received)

    run = nki.run(kernel[2])
    assert not run.warnings
    assert (run.outputs[0] == 4).all()  # what core 1, the last to store, got from core 0
    assert np.isnan(run.outputs[1:]).all()


def test_nki_nc_stream_shuffle_moves_bytes_that_nothing_has_written():
    """Partitions 0 and 3 get the written one; a read of another one is a warning."""

    @nki.jit
    def kernel(rows):
        source, moved = half_written(32, 8), nl.ndarray((32, 8), nl.float32)
        nisa.nc_stream_shuffle(moved, source, [0, 1, 2, 0] + [255] * 28)
        nisa.tensor_copy(source[0:1], moved[0:1])
        nisa.tensor_scalar(source[0:rows], moved[0:rows], nl.add, 1.0)
        return stored(source)

    assert not nki.run(kernel, 1).warnings
    with pytest.warns(nki.NkiWarning, match="bytes are read that nothing has written"):
        nki.run(kernel, 2)


def test_nki_broadcast_to_is_one_dma():
    x = np.arange(8, dtype=np.float32).reshape(1, 8)
    run = nki.run(lambda x: stored(nl.broadcast_to(nl.load(x), (128, 8))), x)
    assert (run.outputs == x).all()
    assert [each.opcode for each in run.instructions] == ["dma_copy"] * 3


def test_nki_register_alloc_takes_a_tensor():
    def kernel(count):
        register, total = nisa.register_alloc(nl.load(count)), nl.zeros((1, 1), nl.float32)
        while register:
            nisa.tensor_scalar(total, total, nl.add, 1.0)
            nisa.register_move(register, int(register) - 1)
        return stored(total)

    assert nki.run(kernel, np.array([[3]], np.int32)).outputs == 3


def test_nki_memset_of_floats_into_integers():
    """0.0 is a warning, and another float an error."""

    def kernel(value):
        tile = nl.ndarray((4, 8), nl.uint8)
        nisa.memset(tile, value)
        return stored(tile)

    with pytest.warns(nki.NkiWarning, match=r"value must be an integer for uint8, not 0\.0"):
        assert not nki.run(kernel, 0.0).outputs.any()
    with pytest.raises(nki.NkiValidationError, match=r"must be an integer, not 2\.0"):
        nki.run(kernel, 2.0)


@pytest.mark.parametrize(("memory", "float_holds", "integer_holds"), [("nan", np.nan, 4), ("zero", 0, 0)])
def test_nki_new_memory(memory, float_holds, integer_holds):
    def kernel():
        return [stored(nl.ndarray((2, 3), dtype)) for dtype in (nl.bfloat16, nl.int16, nl.float8_e4m3fn_x4)]

    floats, integers, words = nki.run(kernel, options=nki.Options(new_memory=memory)).outputs
    assert np.array_equal(floats.astype(np.float32), np.full((2, 3), float_holds, np.float32), equal_nan=True)
    assert (integers == integer_holds).all()
    assert (words == integer_holds).all()


def test_nki_new_memory_has_two_names():
    with pytest.raises(ValueError, match="new_memory must be nan or zero, not 'one'"):
        nki.Options(new_memory="one")
