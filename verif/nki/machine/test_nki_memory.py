"""Allocation, new memory, and the bytes that are known: reads of unwritten bytes, and moves."""

import re

import numpy as np
import pytest

from bitpath.golden import nki
from bitpath.golden.nki.launch.kernel import contents
from bitpath.verif.nki.machine.one_instruction import filled, hbm, psum, sbuf

# The state of bytes moves with them; new memory; registers that a tensor fills: kernels of our own.


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


def test_the_dtype_of_a_copy_has_no_effect():
    """Published kernels give one that is not the destination's."""

    def kernel(dtype):
        tile, made = (nl.ndarray((4, 8), nl.float32, nl.sbuf) for _ in range(2))
        nisa.memset(tile, 1 + 2**-20)
        nisa.tensor_copy(made, tile, dtype=dtype)
        return stored(made)

    assert (nki.run(kernel, np.float32, options=nki.Options(strict=True)).outputs == np.float32(1 + 2**-20)).all()
    with pytest.warns(nki.NkiWarning, match="tensor_copy dtype: bfloat16 has no effect on a dst of float32"):
        assert (nki.run(kernel, nl.bfloat16).outputs == np.float32(1 + 2**-20)).all()


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


# Allocation, what new memory holds, and reads of bytes that nothing, or something else, has written.


with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

SBUF_BYTES = 256 * 1024 - 16 * 1024 - 8
STRICT = nki.Options(strict=True)


def place(tensor):
    return tensor.allocation.byte


def warned(kernel, sentence):
    """Run a kernel that is warned of once, at one line, and fails in a strict run."""
    with pytest.warns(nki.NkiWarning, match=re.escape(sentence)):
        run = nki.run(kernel)
    (found,) = run.warnings
    assert sentence in found
    assert found.endswith(")")
    with pytest.raises(nki.NkiValidationError, match=re.escape(sentence)):
        nki.run(kernel, options=STRICT)
    return run


def silent(kernel):
    assert nki.run(kernel, options=STRICT).warnings == ()


def test_a_tensor_takes_the_first_free_bytes():
    def kernel():
        first, second, third = (sbuf(4, num) for num in (16, 100, 8))
        assert [place(each) for each in (first, second, third)] == [0, 64, 512]
        del second
        small, large = sbuf(4, 80), sbuf(4, 33)
        assert (place(small), place(large)) == (64, 576)
        view = first[:, 2:4]
        del first
        assert place(sbuf(4, 1)) == 384
        del view
        assert place(sbuf(4, 1)) == 0

    assert nki.run(kernel).high_water == {"sbuf": 576 + 33 * 4, "psum": 0}


def test_psum_tensors_start_banks():
    def kernel():
        assert [place(psum(4, 8)), place(psum(4, 600)), place(psum(4, 8))] == [0, 0, 0]
        kept = [psum(4, 8), psum(4, 600), psum(4, 8)]
        assert [place(each) for each in kept] == [0, 2048, 6144]

    assert nki.run(kernel).high_water["psum"] == 6144 + 32


def test_automatic_tensors_leave_addresses_alone():
    def kernel():
        fixed = nl.ndarray((4, 16), "float32", nl.sbuf, address=(64, 128))
        assert [place(sbuf(4, 16)), place(sbuf(4, 40))] == [0, 192]
        assert (fixed.allocation.partition, place(fixed)) == (64, 128)

    nki.run(kernel)


def test_a_tensor_that_does_not_fit_gets_memory_of_its_own():
    def kernel():
        kept = nl.ndarray((1, SBUF_BYTES - 64), "uint8")
        x = sbuf(1, 32)
        y = sbuf(1, 32, value=1)
        nisa.tensor_tensor(x, x, y, nl.add)
        assert (contents(x) == 1).all()
        assert kept.name

    with pytest.raises(nki.NkiValidationError, match="128 bytes a partition do not fit into SBUF"):
        nki.run(kernel, options=nki.Options(strict_memory=True))
    with pytest.warns(nki.NkiWarning, match="do not fit into SBUF; it gets memory of its own"):
        assert nki.run(kernel).high_water["sbuf"] == SBUF_BYTES - 64


@pytest.mark.parametrize("memory", ["sbuf", "psum", "shared_hbm", "private_hbm"])
@pytest.mark.parametrize(
    ("dtype", "word"),
    [
        ("float32", 0x7FC00000),
        ("bfloat16", 0x7FC0),
        ("float16", 0x7E00),
        ("int32", 4),
        ("uint8", 4),
        ("float8_e8m0fnu", 0xFF),
    ],
)
def test_new_memory_holds_nan_and_4(memory, dtype, word):
    def kernel():
        made = nl.ndarray((4, 8), dtype, memory)
        found = contents(made)
        assert (found.view(f"u{found.itemsize}") == word).all()
        assert (contents(nl.ndarray((4, 8), dtype, memory)).view(f"u{found.itemsize}") == word).all()

    nki.run(kernel)


def test_a_tensor_with_an_address_keeps_what_lies_there():
    def kernel():
        sbuf(4, 8, address=(0, 64), value=3)
        assert (contents(nl.ndarray((4, 8), "float32", nl.sbuf, address=(0, 64))) == 3).all()

    nki.run(kernel)


def test_a_read_of_bytes_that_nothing_has_written():
    def kernel():
        tile, out = nl.ndarray((4, 8), "float32"), sbuf(4, 4)
        nisa.memset(tile[:, 0:4], 1.0)
        nisa.tensor_scalar(out, tile[:, 0:4], nl.add, 1.0)
        for _ in range(3):
            nisa.tensor_scalar(out, tile[:, 2:6], nl.add, 1.0)

    warned(kernel, "tensor_1: bytes are read that nothing has written (test_nki_memory.py:")


@pytest.mark.parametrize("copy", ["tensor_copy", "dma_copy"])
def test_a_copy_moves_what_is_known_of_bytes(copy):
    """Copying a tile that is written in part is no mistake; computing with the rest of the copy is."""

    def copied(columns):
        def kernel():
            tile, other = nl.ndarray((4, 8), "float32", name="tile"), sbuf(4, 8)
            nisa.memset(tile[:, 0:4], 1.0)
            getattr(nisa, copy)(other, tile)
            nisa.tensor_scalar(other[:, columns], other[:, columns], nl.add, 1.0)

        return kernel

    silent(copied(slice(0, 4)))
    warned(copied(slice(3, 5)), "bytes are read that nothing has written")


def test_a_read_through_another_tensor_at_the_address():
    def read(write_again):
        def kernel():
            one = nl.ndarray((4, 8), "float32", nl.sbuf, "one", (0, 0))
            two = nl.ndarray((4, 8), "float32", nl.sbuf, "two", (0, 16))
            filled(two, 2)
            filled(one[:, 0:4] if write_again else one, 1)
            nisa.tensor_scalar(two, two, nl.add, 1.0)

        return kernel

    silent(read(True))
    warned(read(False), "two: bytes are read that another tensor at this address wrote")


def test_an_allocation_forgets_what_was_written():
    def kernel():
        sbuf(4, 8, address=(0, 0))
        again = nl.ndarray((4, 8), "float32", nl.sbuf, "again", (0, 0))
        nisa.tensor_scalar(again, again, nl.add, 1.0)

    warned(kernel, "again: bytes are read that nothing has written")


def test_accumulation_onto_what_nothing_has_written():
    def kernel(made):
        one = sbuf(8, 4, dtype="bfloat16", value=1)
        nisa.nc_matmul(made, one, one, accumulate=True)

    with pytest.warns(nki.NkiWarning) as caught:
        nki.run(lambda: kernel(nl.ndarray((4, 4), "float32", nl.psum)))
    assert "nc_matmul dst: accumulate is True where nothing has written" in str(caught[0].message)
    with pytest.raises(nki.NkiValidationError, match="accumulate is True"):
        nki.run(lambda: kernel(nl.ndarray((4, 4), "float32", nl.psum)), options=STRICT)
    silent(lambda: kernel(psum(4, 4)))


def test_the_first_matmul_of_each_element_overwrites():
    """Regions that overlap are added where an earlier matmul has written, and overwritten elsewhere."""

    def kernel():
        made = psum(4, 8)
        one = sbuf(8, 4, dtype="bfloat16", value=1)
        nisa.memset(made, 100.0)
        nisa.nc_matmul(made[:, 0:4], one, one)
        nisa.nc_matmul(made[:, 2:6], one, one)
        assert (contents(made) == np.array([8, 8, 16, 16, 8, 8, 100, 100])).all()
        nisa.memset(made, 1.0)
        nisa.nc_matmul(made[:, 4:8], one, one)
        assert (contents(made) == np.array([1, 1, 1, 1, 9, 9, 8, 8])).all()
        nisa.nc_matmul(made[:, 0:4], one, one, accumulate=False)
        assert (contents(made)[:, 0:4] == 8).all()

    silent(kernel)


def test_the_first_write_belongs_to_the_allocation():
    """Two tensors at one address have been allocated before the first matmul; each begins its own sum."""

    def kernel():
        one = sbuf(8, 4, dtype="bfloat16", value=1)
        tiles = [nl.ndarray((4, 4), "float32", nl.psum, address=(0, 2048)) for _ in range(2)]
        for tile in tiles:
            nisa.nc_matmul(tile, one, one)
            nisa.nc_matmul(tile, one, one)
            assert (contents(tile) == 16).all()

    silent(kernel)


ARGUMENTS = {"log": (0.0, 1.0), "sin": (3.5, 3.0), "arctan": (-2.0, 1.5), "sqrt": (-1.0, 4.0), "rsqrt": (1e-30, 1e-20)}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_outside_of_a_functions_range(name):
    """The argument is that behind scale and bias."""
    outside, inside = ARGUMENTS[name]
    function = getattr(nl, name)

    def kernel(value):
        def run():
            nisa.activation(sbuf(4, 8), function, sbuf(4, 8), scale=0.5, bias=value)

        return run

    warned(kernel(outside), f"activation {name}: the result is valid for ")
    silent(kernel(inside))


def test_an_argument_array_takes_what_the_kernel_writes():
    x = np.arange(32, dtype=np.float32).reshape(4, 8)

    def kernel(x):
        tile = nl.load(x)
        nisa.tensor_scalar(tile, tile, nl.multiply, 2.0)
        nisa.dma_copy(x, tile)

    nki.run(kernel, x)
    assert (x == 2 * np.arange(32).reshape(4, 8)).all()


def test_constants_of_the_grid_and_of_tiles():
    def kernel():
        assert (nl.program_ndim(), nl.num_programs(), nl.program_id(0)) == (0, 1, 0)
        assert nl.tile_size.total_available_sbuf_size == nl.tile_size.sbuf_fmax_bytes == SBUF_BYTES
        assert hbm(4, 8).buffer is nl.shared_hbm

    nki.run(kernel)
