"""Rows of whole matrix products through bfp16ebs8."""

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.sim.study.ledger.amd_chains import FORMAT, XDNA2
from bitpath.sim.study.ledger.evidence import Evidence
from bitpath.sim.study.ledger.operands import matrices
from bitpath.sim.study.ledger.row import Finding, decided, undecided

STATISTICS = "silicon_statistics.json"
EVEN, FLOOR = RoundingCode.CONV_EVEN, RoundingCode.FLOOR
SIZE = 128
"""Rows and columns of the results."""


def errors(a: np.ndarray, b: np.ndarray, rounding: RoundingCode) -> tuple[np.ndarray, np.ndarray]:
    """Return the errors and the exact product."""
    exact = a.astype(np.float64) @ b.astype(np.float64)
    return aie.matmul(a, b, fmt=FORMAT, rounding=rounding) - exact, exact


def correlation(error: np.ndarray, exact: np.ndarray) -> float:
    """Return the correlation of product and exact product."""
    return float(np.corrcoef((exact + error).ravel(), exact.ravel())[0, 1])


def norms(evidence: Evidence) -> Finding:
    """A23: the stated mean magnitude and the errors of both modes."""
    stated = evidence.rows(STATISTICS)["Triton-XDNA#93"]
    found = {}
    for mode in (EVEN, FLOOR):
        error, exact = errors(*matrices(SIZE, 256, SIZE), mode)
        size = np.abs(error)
        found[mode] = size.max(), size.mean(), float(np.sqrt(np.mean(error**2))), correlation(error, exact)
    near = [
        abs(mean / stated["mean"] - 1) < 0.05 and abs(rms / stated["rms"] - 1) < 0.05
        for _, mean, rms, _ in found.values()
    ]
    texts = [f"{most:.3f}, {mean:.3f}, {rms:.3f}, {corr:.6f}" for most, mean, rms, corr in found.values()]
    return decided(f"{texts[0]} in conv even; {texts[1]} in floor", xdna2_bfp16ebs8=near == [True, False])


def relative_errors(evidence: Evidence) -> Finding:
    """A24: relative L2 errors at K = 1024 by mode and distribution."""
    texts = []
    for uniform in (False, True):
        found = []
        for mode in (FLOOR, EVEN):
            error, exact = errors(*matrices(SIZE, 1024, SIZE, uniform=uniform), mode)
            found.append(float(np.linalg.norm(error) / np.linalg.norm(exact)))
        texts.append(f"{found[0]:.4f} and {found[1]:.4f}, ratio {found[0] / found[1]:.2f}")
    return undecided(f"floor and conv even: {texts[0]} for N(0, 1); {texts[1]} for uniform inputs", XDNA2)


def bias(evidence: Evidence) -> Finding:
    """A25: mean error per step of K at K = 512, uniform inputs."""
    found = [errors(*matrices(SIZE, 512, SIZE, uniform=True), mode)[0].mean() / 512 for mode in (FLOOR, EVEN)]
    return undecided(f"{found[0]:.5f} in floor, {found[1]:.5f} in conv even, for uniform inputs below 1", XDNA2)


def one_side(evidence: Evidence) -> Finding:
    """A26: correlation with one operand quantised and with both, K = 64."""
    a, b = matrices(SIZE, 64, SIZE)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    quantised = aie.from_mx(aie.to_mx(np.ascontiguousarray(b.T), FORMAT)).T.astype(np.float64)
    one = float(np.corrcoef((a.astype(np.float64) @ quantised).ravel(), exact.ravel())[0, 1])
    both = [correlation(*errors(*matrices(SIZE, 64, SIZE, uniform=uniform), EVEN)) for uniform in (False, True)]
    return undecided(
        f"{one:.6f} with one operand quantised, {both[0]:.6f} with both, N(0, 1); {both[1]:.6f} with both, uniform",
        XDNA2,
    )


def five_outputs(evidence: Evidence) -> Finding:
    """A31: the published BF16 outputs of the NPU and of a GPU; no inputs are published."""
    npu, gpu = (0x4D5E, 0x4E08, 0x4E58, 0x4E94, 0x4EBC), (0x4D60, 0x4E0A, 0x4E5C, 0x4E97, 0x4EC0)
    units = [b - a for a, b in zip(npu, gpu, strict=True)]
    return undecided(
        f"the NPU's codes are {', '.join(map(str, units))} units below the GPU's, as floor's bias is", XDNA2
    )
