"""nki-library's mxfp_load_utils: a tile transposed as words of BF16 pairs, then quantised."""

import ml_dtypes
import numpy as np

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.compositions import scale_rows

BLOCK = 512


def test_nki_mxfp_load_performance_wrapper_gives_the_bits_of_quantize_mx():
    kernel = library("experimental.mxfp_subkernels.mxfp_load_utils").mxfp_load_performance_wrapper
    x = np.random.default_rng(1).standard_normal((128, 2 * BLOCK)).astype(ml_dtypes.bfloat16)
    run = nki.run(kernel, x, options=nki.Options(strict=True))
    data, scale = run.outputs
    for block in range(2):
        # Elements 4 p to 4 p + 3 of a row, two words of two BF16, go to partition p.
        words = x[:, block * BLOCK :][:, :BLOCK].reshape(128, 128, 4)
        swizzled = np.ascontiguousarray(words.transpose(1, 0, 2)).reshape(128, BLOCK)
        golden, golden_scale = trainium3.quantize_mx(swizzled, ml_dtypes.float8_e4m3fn)
        columns = slice(block * 128, block * 128 + 128)
        assert (data[:, columns] == trainium3.pack_x4(golden)).all()
        assert (scale[:, columns][scale_rows(128)] == golden_scale).all()
    assert run.standing.word == "inferred"
    assert set(run.standing.keys) == {"quantize_mx.ocp"}
