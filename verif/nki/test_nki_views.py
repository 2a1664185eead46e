"""Views and constants that public kernels rely on."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3

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
    with pytest.raises(nki.NkiValidationError, match=r"elements must be 0 to 7, not 5 to 8 \(test_nki_views.py:22\)"):
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
