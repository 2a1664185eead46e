"""nki-library's masks of decode attention, exact."""

import numpy as np
import pytest

from bitpath.golden import nki
from bitpath.verif.nki.checkouts import library

BATCH, HEADS, ACTIVE, PRIOR = 2, 2, 3, 512
TILES = PRIOR // 128


def laid_out(mask: np.ndarray, block: int) -> np.ndarray:
    """Return a mask [batch, heads, active, prior] as the kernel stores it, [prior, batch, heads, active].

    Rows are tiles of 128. Key k is row k // 4 of tile k % 4; with blocks of ``block`` keys, groups of 128 blocks are
    transposed each.
    """
    keys = mask.transpose(3, 0, 1, 2)
    groups = keys.reshape(-1, 128, block or TILES, *keys.shape[1:])
    return groups.swapaxes(1, 2).reshape(keys.shape)


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("kind", ["prior", "active", "window", "blocks"])
def test_nki_gen_mask_tkg_gives_the_mask(kind, cores):
    kernel = nki.jit(library("core.attention.gen_mask_tkg").gen_mask_tkg_hbm)
    key = np.arange(PRIOR)
    ends = np.array([100, 300]).repeat(ACTIVE).reshape(BATCH, 1, ACTIVE, 1)
    mask = np.broadcast_to(key < ends, (BATCH, HEADS, ACTIVE, PRIOR))
    more = {}
    if kind == "active":
        triangle = np.tril(np.ones((ACTIVE, ACTIVE), bool))
        more["active_mask"] = np.broadcast_to(triangle[:, None, None], (ACTIVE, BATCH, HEADS, ACTIVE)).astype(
            np.float32
        )
        mask = np.concatenate(
            [mask[..., :-ACTIVE], np.broadcast_to(triangle.T, (BATCH, HEADS, ACTIVE, ACTIVE))], axis=-1
        )
    if kind == "window":
        starts = ends - 50
        starts[0, 0, 1] = 400  # behind its end: the window goes around
        more["start_pos_hbm"] = starts.reshape(1, -1).astype(np.float32)
        around = np.where(starts <= ends, (key >= starts) & (key < ends), (key >= starts) | (key < ends))
        mask = np.broadcast_to(around, (BATCH, HEADS, ACTIVE, PRIOR))
    if kind == "blocks":
        more["block_len"] = 2
    made = nki.run(
        kernel if cores == 1 else kernel[cores],
        ends.reshape(1, -1).astype(np.float32),
        BATCH,
        HEADS,
        ACTIVE,
        PRIOR,
        **more,
        options=nki.Options(strict=True),
    )
    assert (made.outputs == laid_out(mask, more.get("block_len", 0))).all()
    assert made.standing.word == "documented"
