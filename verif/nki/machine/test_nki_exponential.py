"""The row sum of exponential: of powers before their cast, or of the elements of dst, as a run's options say."""

import re

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

BF16 = ml_dtypes.bfloat16


def summed(dtype, **options):
    """Return the powers and the row sums of a tile, and the choices that they depend on."""
    x = np.random.default_rng(7).standard_normal((4, 64)).astype(BF16)

    def kernel(x):
        tile, powers, total = nl.load(x), nl.ndarray(x.shape, dtype), nl.ndarray((4, 1), "float32")
        nisa.exponential(powers, tile, 0.0, total, nisa.reduce_cmd.reset_reduce)
        outs = [nl.ndarray(each.shape, each.dtype, nl.shared_hbm) for each in (powers, total)]
        for out, each in zip(outs, (powers, total), strict=True):
            nisa.dma_copy(out, each)
        return tuple(outs)

    run = nki.run(kernel, x, options=nki.Options(strict=True, **options))
    return x, *run.outputs, set(run.standing.keys)


def serial(values):
    return np.add.accumulate(values.astype(np.float32), axis=1, dtype=np.float32)[:, -1:]


def test_by_default_powers_are_added_before_their_cast():
    x, powers, total, keys = summed(nl.bfloat16)
    wide, _ = trainium3.exponential(x, 0.0)
    assert (total == serial(wide)).all()
    assert (total != serial(powers)).any()
    assert "exponential.sum_before_cast" in keys


def test_the_elements_of_dst_are_added_where_the_run_says_so():
    _, powers, total, keys = summed(nl.bfloat16, exponential="trainium3_exponential_of_dst")
    assert (total == serial(powers)).all()
    assert "exponential.sum_of_dst" in keys


def test_with_fp32_there_is_no_choice():
    *_, first, keys = summed(nl.float32)
    *_, second, more = summed(nl.float32, exponential="trainium3_exponential_of_dst")
    assert (first == second).all()
    assert not {each for each in keys | more if each.startswith("exponential.")}


def test_another_preset_is_refused():
    sentence = "exponential must be 'trainium3_exponential' or 'trainium3_exponential_of_dst', not 'exact'"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        nki.Options(exponential="exact")
