"""Defects at the boundaries of the last rounding, put into the RTL one at a time: the directed corners must notice each."""

import pytest

from bitpath.verif.tensix.dot.test_dot import REFERENCE, SEED, TURNED, dot

pytestmark = [pytest.mark.simulator, pytest.mark.deep]
STICKY, FLUSH, STEP = "sticky = Mux(", "~(normal.zero | exponent[-1]", "number) + step)"
DEFECTS = {
    "no sticky bit below the smallest normal number": (
        *(TURNED, "_step", STICKY),
        "sticky = (self.normal.exponent != 0) & Mux(",
    ),
    "no sticky bit two places below the guard bit": (
        *(TURNED, "_step", "self.normal.value[: last - 1]"),
        "self.normal.value[last - 2 : last - 1]",
    ),
    "flushed before it is rounded": (
        *(REFERENCE, "elaborate", FLUSH),
        "~(normal.zero | (normal.exponent <= 0)",
    ),
    "the largest number never rounds up": (
        *(REFERENCE, "elaborate", STEP),
        "number) + Mux(is_bf16 & (number[BF16_UNUSED:] == BF16.max_code), 0, step))",
    ),
}
"""Numerics, method of `DstRound`, its text as it is and with the defect."""


@pytest.mark.parametrize("name", DEFECTS)
def test_the_corners_notice_a_defect(name, bench_fails):
    numerics, method, *texts = DEFECTS[name]
    mutant = (f"bitpath.rtl.tensix.dot.dst_round:DstRound.{method}", *texts)
    bench_fails("dot16", dot(numerics, 3), mutant, seed=SEED, tests="directed_corners.*BF16_into_16")
