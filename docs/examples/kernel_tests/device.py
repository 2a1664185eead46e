"""The device under test: put your simulator, or your chip, in the place of `run`."""

import numpy as np

from bitpath.golden.tensix.llk import Case, expected


def run(case: Case, l1_a: np.ndarray, l1_b: np.ndarray | None) -> np.ndarray:
    """Run a kernel on operands in L1 and return the bytes of its result in L1; here golden plays the device."""
    return expected(case, l1_a, l1_b).l1
