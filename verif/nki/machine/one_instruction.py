"""Tiles of zeros for kernels of one instruction, and the checks of rules that such kernels break or keep."""

import re

import pytest

from bitpath.golden import nki

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl


def sbuf(*shape, dtype="float32", address=None, value=0):
    """Return a tile in SBUF that holds a number."""
    return filled(nl.ndarray(shape, dtype, nl.sbuf, address=address), value)


def psum(*shape, dtype="float32", address=None):
    return filled(nl.ndarray(shape, dtype, nl.psum, address=address), 0)


def hbm(*shape, dtype="float32"):
    return nl.zeros(shape, dtype, nl.shared_hbm)


def filled(tile, value):
    nisa.memset(tile, value)
    return tile


def matmul(*, dst=None, columns=8, rows=8, moving_rows=8, wide=8, dtypes=("bfloat16", "bfloat16"), **more):
    left, right = sbuf(rows, columns, dtype=dtypes[0]), sbuf(moving_rows, wide, dtype=dtypes[1])
    nisa.nc_matmul(dst or psum(columns, wide), left, right, **more)


def quantize(source="bfloat16", where=sbuf, scales=8):
    nisa.quantize_mx(
        where(32, 8, dtype="float8_e4m3fn_x4"), sbuf(32, 32, dtype=source), sbuf(32, scales, dtype="uint8")
    )


def one(function, *args, **kwargs):
    """Return a kernel of one instruction; arguments of `MAKERS` are made when it runs."""
    return lambda: function(*[each() if each in MAKERS else each for each in args], **kwargs)


def tile():
    return sbuf(4, 8)


def in_hbm():
    return hbm(4, 8)


def in_psum():
    return psum(4, 8)


def halves():
    return sbuf(4, 8, dtype="bfloat16")


def integers():
    return sbuf(4, 8, dtype="int32")


def column():
    return sbuf(4, 1)


MAKERS = (tile, in_hbm, in_psum, halves, integers, column)


STRICT = nki.Options(strict=True)


def warned(kernel, sentence, target="trn3"):
    """Return the run of a kernel that is warned of once, at one line, and fails in a strict run."""
    with pytest.warns(nki.NkiWarning, match=re.escape(sentence)):
        run = nki.run(kernel, options=nki.Options(target=target))
    (found,) = run.warnings
    assert re.fullmatch(rf".*{re.escape(sentence)}.* \((test_nki_\w+|one_instruction).py:\d+\)", found), found
    with pytest.raises(nki.NkiValidationError, match=re.escape(sentence)):
        nki.run(kernel, options=nki.Options(target=target, strict=True))
    return run


def silent(kernel, target="trn3"):
    """Run a kernel that a strict run accepts."""
    assert nki.run(kernel, options=nki.Options(target=target, strict=True)).warnings == ()


def check_broken(kernel, sentence, target="trn3"):
    """Run a kernel that breaks a rule: the error is a sentence with the line of the instruction."""
    with pytest.raises(nki.NkiValidationError) as caught:
        _run(kernel, target)
    assert re.fullmatch(f"({sentence})(.*?) \\((test_nki_\\w+|one_instruction).py:\\d+\\)", str(caught.value)), str(
        caught.value
    )
    assert isinstance(caught.value, ValueError)


def check_allowed(kernel, target="trn3"):
    """Run a kernel that breaks no rule."""
    assert _run(kernel, target).warnings == ()


def _run(kernel, target):
    def run():
        kernel()

    return nki.run(run, options=nki.Options(target=target, strict_memory=True))
