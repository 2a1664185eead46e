"""Allocation, new memory, and the bytes that are known: reads of unwritten bytes, and moves."""

import numpy as np
import pytest

from bitpath.golden import nki
from bitpath.golden.nki.launch.kernel import contents
from bitpath.verif.nki.machine.one_instruction import STRICT, filled, hbm, psum, sbuf, silent, warned

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

    with pytest.warns(nki.NkiWarning, match="992 of 1024 bytes are returned that nothing has written"):
        run = nki.run(kernel[2])
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
        return stored(source[0:rows])

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

    with pytest.warns(nki.NkiWarning, match="tensor_2: 12 of 12 bytes are returned that nothing has written"):
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


def places(run):
    """Return the first bytes that each instruction writes."""
    return [each.writes[0].bytes[0] for each in run.instructions]


# Places of tensors without an address, by their live ranges.


def test_straight_line_tensors_share_psum():
    """Nine tiles with names of their own are in use one after the other: they rotate over eight banks."""

    def kernel():
        tiles = [nl.ndarray((4, 8), "float32", nl.psum, f"tile_{k}") for k in range(9)]
        for each in tiles:
            filled(each, 1)
            nisa.tensor_copy(sbuf(4, 8), each)

    run = nki.run(kernel, options=STRICT)
    assert run.high_water == {"sbuf": 64, "psum": 2048}
    assert places(run)[::3] == [0, 2048, 4096, 6144, 8192, 10240, 12288, 14336, 0]


def test_tensors_that_are_in_use_at_one_time_do_not_fit():
    """Nine tiles that are summed at the end need nine banks; the sum is the same."""

    def kernel():
        tiles = [nl.ndarray((4, 8), "float32", nl.psum, f"tile_{k}") for k in range(9)]
        for k, each in enumerate(tiles):
            filled(each, k)
        total = sbuf(4, 8)
        for each in tiles:
            nisa.tensor_tensor(total, total, each, nl.add)
        assert (contents(total) == 36).all()

    sentence = (
        "PSUM: 18432 bytes a partition are in use at instruction 8, memset, and do not fit into 16384: "
        "tile_0 32 bytes, instructions 0 to 10; tile_1 32 bytes, instructions 1 to 11; "
    )
    run = warned(kernel, sentence)
    assert run.high_water["psum"] == 18432
    with pytest.raises(nki.NkiValidationError, match="PSUM: 18432 bytes"):
        nki.run(kernel, options=nki.Options(strict_memory=True))


def test_a_tensor_is_in_use_from_its_first_instruction_on():
    """Tensors that are allocated and never used, or no longer used, take no bytes, whoever holds them."""

    def kernel():
        kept = [nl.ndarray((1, SBUF_BYTES), "uint8") for _ in range(3)]
        for each in kept[:2]:
            filled(each, 0)

    silent(kernel)
    assert places(nki.run(kernel)) == [0, 0]
    with pytest.raises(nki.NkiValidationError, match=f"{SBUF_BYTES + 1} bytes a partition do not fit into SBUF"):
        nki.run(lambda: nl.ndarray((1, SBUF_BYTES + 1), "uint8"))


def test_places_without_gaps_where_rotation_leaves_none():
    """Three tiles of one bank that stay, each with one that goes behind it, then four banks in a row."""

    def kernel():
        kept = []
        for _ in range(3):
            kept.append(psum(4, 8))
            psum(4, 8)
        psum(4, 4 * 512)
        for each in kept:
            nisa.tensor_copy(sbuf(4, 8), each)

    silent(kernel)
    assert places(nki.run(kernel))[:7] == [0, 2048, 2048, 4096, 4096, 6144, 6144]


def test_tensors_leave_those_at_addresses_alone():
    """The bytes of an address are taken from the first to the last instruction that touches them."""

    def kernel():
        fixed = [nl.ndarray((4, 8), "float32", nl.psum, address=(64, bank * 2048)) for bank in (0, 1)]
        psum(4, 8)
        filled(fixed[0], 1)
        kept = psum(4, 8)
        nisa.tensor_copy(sbuf(4, 8), fixed[0])
        psum(4, 7 * 512)
        nisa.tensor_copy(sbuf(4, 8), kept)

    run = nki.run(kernel)
    assert [
        each for each, made in zip(places(run), run.instructions, strict=True) if "psum" in str(made.operands["dst"])
    ] == [0, 0, 2048, 0]
    assert run.high_water["psum"] == 8 * 2048


def test_an_instruction_waits_for_the_bytes_of_its_tensor():
    """A ninth tile takes the bank of the first one, and its writer waits for that one's reader."""

    def kernel(count):
        for _ in range(count):
            tile = psum(4, 512)
            nisa.activation(sbuf(4, 512), nl.exp, tile)
            nisa.activation(sbuf(4, 512), nl.exp, tile)

    def starts(count):
        spans = nki.run(kernel, count).cycles.spans
        return [span.start for span in spans if "psum" in span.instruction.operands["dst"]]

    ends = [span.end for span in nki.run(kernel, 9).cycles.spans if span.instruction.opcode == "activation"]
    assert starts(8)[-1] == starts(9)[7]
    assert starts(9)[8] >= ends[1]


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

    warned(kernel, "tensor_1: bytes are read that nothing has written")


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


def half_filled(dtype="float32", rows=16):
    """Return a tile whose first four columns alone are written."""
    tile = nl.ndarray((rows, 8), dtype, name="tile")
    nisa.memset(tile[:, 0:4], 1)
    return tile


def predicated(tile):
    """Take the columns 4 to 7 of a filled tile, and keep the others of a new one."""
    made, mask = nl.ndarray((16, 8), "float32"), sbuf(16, 8, dtype="uint8")
    nisa.memset(mask[:, 0:4], 1)
    nisa.tensor_copy_predicated(made, tile, mask)
    return made


def gathered_in_partitions(tile):
    made, places = nl.ndarray((16, 8), "float32"), nl.ndarray((16, 8), "uint32")
    nisa.iota(places, [[1, 8]])
    nisa.nc_n_gather(made, tile, places)
    return made


def gathered_in_groups(tile):
    """Fill the first two columns with element 0, and the others not at all."""
    made = nl.ndarray((16, 8), "float32")
    nisa.local_gather(made, tile, sbuf(16, 1, dtype="uint16"), 1, 4)
    return made


def turned_twice(*engines):
    def turned(tile):
        there, back = nl.ndarray((8, 16), "float32"), nl.ndarray((16, 8), "float32")
        for made, source in ((there, tile), (back, there)):
            nisa.nc_transpose(made, source, nisa.vector_engine) if engines else nisa.dma_transpose(made, source)
        return back

    return turned


MOVES = {
    "predicated copy": predicated,
    "gather in a partition": gathered_in_partitions,
    "gather in a group": gathered_in_groups,
    "transposes by DMA": turned_twice(),
    "transposes by VectorE": turned_twice("vector"),
}


@pytest.mark.parametrize("name", MOVES)
def test_a_move_keeps_what_is_known_of_elements(name):
    """The first four columns of what is made are written, and the others are not."""

    def kernel(columns):
        made = MOVES[name](half_filled())
        nisa.tensor_scalar(sbuf(16, 8)[:, columns], made[:, columns], nl.add, 1.0)

    silent(lambda: kernel(slice(0, 4)))
    warned(lambda: kernel(slice(4, 5)), "bytes are read that nothing has written")


def test_a_matmul_transposes_what_is_known_of_elements():
    def kernel(rows):
        made = nl.ndarray((8, 16), "float32", nl.psum)
        nisa.nc_matmul(made, half_filled(), nl.shared_identity_matrix(16, "float32"), is_transpose=True)
        nisa.tensor_scalar(sbuf(8, 16)[rows], made[rows], nl.add, 1.0)

    silent(lambda: kernel(slice(0, 4)))
    warned(lambda: kernel(slice(0, 5)), "bytes are read that nothing has written")


def test_gathered_rows_that_are_skipped_stay_as_they_are():
    def kernel(table, columns):
        index, made = nl.ndarray((16, 1), "uint32"), nl.ndarray((8, 16), "float16")
        nisa.iota(index, [[0, 1]], channel_multiplier=1)
        rows = table.ap([[8, 16], [1, 8]], vector_offset=index)
        nisa.dma_transpose(made, rows, oob_mode=nisa.oob_mode.skip)
        nisa.tensor_scalar(sbuf(8, 16)[:, columns], made[:, columns], nl.add, 1.0)

    table = np.ones((12, 8), np.float16)
    assert not nki.run(kernel, table, slice(0, 12), options=STRICT).warnings
    with pytest.raises(nki.NkiValidationError, match="bytes are read that nothing has written"):
        nki.run(kernel, table, slice(11, 13), options=STRICT)


def test_gpsimd_writes_the_partitions_of_its_cores():
    """nonzero_with_count takes each 16th partition by itself; topk writes its results alone."""

    def counted(rows):
        source, made = nl.ndarray((32, 4), "float32"), nl.ndarray((64, 5), "int32")
        nisa.dma_copy(source[0:1], sbuf(1, 4))
        nisa.nonzero_with_count(made[0:32], source)
        nisa.dma_copy(made[32:33], made[16:17])
        nisa.tensor_scalar(sbuf(64, 5)[rows], made[rows], nl.add, 1.0)

    silent(lambda: counted(slice(0, 1)))
    for rows in (slice(0, 2), slice(32, 33)):
        warned(lambda rows=rows: counted(rows), "bytes are read that nothing has written")

    def largest(rows, columns):
        values, places = nl.ndarray((16, 20), "bfloat16"), nl.ndarray((16, 20), "uint32")
        nisa.topk(values, places, sbuf(16, 8, dtype="bfloat16"), 100)
        for each in (values, places):
            nisa.tensor_scalar(sbuf(16, 20)[rows, columns], each[rows, columns], nl.add, 1.0)

    silent(lambda: largest(slice(0, 16), slice(0, 1)))
    silent(lambda: largest(slice(0, 4), slice(0, 2)))
    with pytest.raises(nki.NkiValidationError, match="bytes are read that nothing has written"):
        nki.run(lambda: largest(slice(0, 5), slice(0, 2)), options=STRICT)


@pytest.mark.parametrize("copies", ["tensor_copy", "dma_copy"])
def test_what_is_returned_must_be_written(copies):
    """A result that nothing has written, by itself or by a copy of what nothing has written, and an argument."""

    def result(moves):
        def kernel():
            out = nl.ndarray((4, 8), "float32", nl.shared_hbm, "out")
            if moves:
                tile, other = nl.ndarray((4, 8), "float32"), nl.ndarray((4, 8), "float32")
                nisa.memset(tile[:, 0:4], 1.0)
                getattr(nisa, copies)(other, tile)
                nisa.dma_copy(out, other)
            return [(out,)]

        return kernel

    warned(result(False), "out: 128 of 128 bytes are returned that nothing has written")
    warned(result(True), "out: 64 of 128 bytes are returned that nothing has written")

    def argument(x):
        nisa.dma_copy(x, nl.ndarray((4, 8), "float32"))

    with pytest.warns(nki.NkiWarning, match="x: 128 of 128 bytes are returned that nothing has written"):
        nki.run(argument, np.zeros((4, 8), np.float32))


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
        fresh = nl.ndarray((4, 6), "float32", nl.psum)
        nisa.nc_matmul(fresh[:, 0:4], one, one)
        nisa.nc_matmul(fresh[:, 2:6], one, one)
        assert (contents(fresh) == np.array([8, 8, 16, 16, 8, 8])).all()

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
