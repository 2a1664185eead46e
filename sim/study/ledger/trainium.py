"""Rows of the ledger about Trainium."""

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import cast

import ml_dtypes
import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import encode_array
from bitpath.golden.formats.catalogue import BF16, E8M0
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS, X4
from bitpath.golden.trainium3.declarations.vector import PRESETS, MatmulNumerics
from bitpath.sim.study.ledger.row import Evidence, Finding, Prediction, Verdict, decided, undecided
from bitpath.sim.study.probe.probe import predictions

QUAD_MX, MATMUL, BF16_PRODUCTS = "trainium3_quad_mx", "trainium3_matmul", "trainium2_bf16_products"
BFLOAT16 = ml_dtypes.bfloat16
PARTITIONS = 32
"""Partitions of the smallest matmul."""
ONE, SMALLEST = 0x38, 0x01
"""1.0 and 2**-9 in E4M3FN."""
LOG = Path(__file__).with_name("device_log.toml")
TERMS = {1: ((0, 0),), 2: ((0, 0), (0, 1), (1, 0)), 3: ((0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0))}
"""Products of pieces by the number of BF16 pieces: matrix, vector."""


@cache
def device_log() -> tuple[np.ndarray, np.ndarray]:
    """Return the printed values of the device and of the vendor's golden, float32 [72] each."""
    runs = tomllib.loads(LOG.read_text())["run"]
    device, golden = (
        np.array([value for run in runs for value in run[side]], np.float32) for side in ("device", "golden")
    )
    return device, golden


def _unequal() -> np.ndarray:
    """Return the indexes of the values that are not the BF16 number nearest to the vendor's golden."""
    device, golden = device_log()
    return np.flatnonzero(encode_array(BF16, golden.astype(np.float64)) != device.astype(BFLOAT16).view(np.uint16))


def log_values(evidence: Evidence) -> Finding:
    """R1: golden's write to a BF16 PSUM, applied to the sums that the vendor's golden prints."""
    count = device_log()[0].size
    equal = count - _unequal().size
    return decided(f"{equal} of {count}", trainium3_quad_mx=equal == count - 1)


def odd_value(evidence: Evidence) -> Finding:
    """R1b: the value that differs, and a sum that tells an exact one from an aligned one."""
    device, golden = device_log()
    (index,) = _unequal()
    stationary, moving = np.zeros((2, PARTITIONS, X4), int)
    stationary[0], moving[0] = [ONE, *[SMALLEST] * 3], [ONE, *[2 * SMALLEST] * 3]
    scales = [E8M0.bias] * (PARTITIONS // SCALE_PARTITIONS)
    gives = predictions(
        "trainium3",
        "nc_matmul_mx_e4m3fn",
        stationary=stationary.tolist(),
        moving=moving.tolist(),
        stationary_scale=scales,
        moving_scale=scales,
    )
    return undecided(
        f"{golden[index].astype(BFLOAT16)} from {golden[index]}; the device has {device[index]}",
        QUAD_MX,
        Prediction(
            experiment="nc_matmul_mx in E4M3FN of 1 * 1 and three products 2**-9 * 2**-8 in one quad", gives=gives
        ),
    )


def rounding(evidence: Evidence) -> Finding:
    """R2: the chance that stochastic rounding gives the nearest number in all values but one at most."""
    _, golden = device_log()
    exact = golden.astype(np.float64)
    unit = np.exp2(np.floor(np.log2(np.abs(exact))) - BF16.fraction_bits)
    nearest = 1 - np.abs(exact - golden.astype(BFLOAT16).astype(np.float64)) / unit
    chance = float(np.prod(nearest) * (1 + np.sum((1 - nearest) / nearest)))
    return decided(
        f"stochastic rounding would print this log with probability {chance:.0e}", trainium3_quad_mx=chance < 1e-6
    )


def complex_products(evidence: Evidence) -> Finding:
    """R3: a discrete Fourier transform of 64 points on BF16 pieces, relative error by the number of pieces."""
    found = {name: [_transform_error(count, name) for count in TERMS] for name in (MATMUL, BF16_PRODUCTS)}
    errors = {name: ", ".join(f"{each:.1e}" for each in values) for name, values in found.items()}
    flat = all(1e-3 < each < 3e-3 for each in found[MATMUL])
    one = Prediction(
        experiment="nc_matmul of 1.0078125 * 1.0078125 - 1.015625 (BF16)",
        gives={name: f"0x{_square_minus(name):08x}" for name in (MATMUL, BF16_PRODUCTS)},
    )
    own = Verdict.REPRODUCED if flat else Verdict.REFUTED
    return Finding(
        golden=f"{errors[MATMUL]}; with BF16 products {errors[BF16_PRODUCTS]}",
        verdicts={MATMUL: own, BF16_PRODUCTS: Verdict.UNDECIDED},
        predictions=(one,),
    )


def _matmul(a: np.ndarray, b: np.ndarray, name: str) -> np.ndarray:
    """Return a @ b of BF16 matrices as one nc_matmul."""
    numerics = cast(MatmulNumerics, PRESETS[name].numerics)
    return trainium3.nc_matmul(np.ascontiguousarray(a.T).astype(BFLOAT16), b.astype(BFLOAT16), numerics=numerics)


def _square_minus(name: str) -> int:
    a, b = np.array([[1.0078125, 1]], np.float32), np.array([[1.0078125], [-1.015625]], np.float32)
    return int(_matmul(a, b, name).view(np.uint32)[0, 0])


def _transform_error(count: int, name: str, size: int = 64) -> float:
    """Return the relative L2 error of W @ x, W the Fourier matrix and x [64, 64] of N(0, 1), on `count` BF16 pieces each."""
    rng = np.random.Generator(np.random.PCG64(31))
    angle = -2 * np.pi * np.outer(np.arange(size), np.arange(size)) / size
    w, x = (np.cos(angle), np.sin(angle)), (rng.standard_normal((size, size)), rng.standard_normal((size, size)))
    w_pieces, x_pieces = ([_pieces(part, count) for part in side] for side in (w, x))

    def product(i: int, j: int) -> np.ndarray:
        terms = [_matmul(w_pieces[i][first], x_pieces[j][second], name) for first, second in TERMS[count]]
        return np.array(terms).sum(axis=0, dtype=np.float32)

    got = (product(0, 0) - product(1, 1)) + 1j * (product(0, 1) + product(1, 0))
    exact = (w[0] + 1j * w[1]) @ (x[0] + 1j * x[1])
    return float(np.linalg.norm(got - exact) / np.linalg.norm(exact))


def _pieces(values: np.ndarray, count: int) -> Sequence[np.ndarray]:
    pieces = []
    for _ in range(count):
        pieces.append(values.astype(np.float32).astype(BFLOAT16).astype(np.float32))
        values = values - pieces[-1]
    return pieces


def scale_rule(evidence: Evidence) -> Finding:
    """R4: the scale of a block whose largest value is 480, in both FP8 formats."""
    return _scales(("float8_e4m3fn", "float8_e5m2"))


def e2m1(evidence: Evidence) -> Finding:
    """R4b: the scale of the same block in E2M1."""
    return _scales(("float4_e2m1fn",))


def _scales(names: Sequence[str]) -> Finding:
    """Compare with the emax of the vendor's tests: 7 for E4M3FN, 14 for E5M2, 2 for E2M1."""
    emax = {"float8_e4m3fn": 7, "float8_e5m2": 14, "float4_e2m1fn": 2}
    block = np.full((32, 4), 0.01, BFLOAT16)
    block[0, 0] = 480
    codes = {}
    for rule in ("nki05", "ocp"):
        scales = [
            trainium3.quantize_mx(block, np.dtype(getattr(ml_dtypes, each)), scale_rule=rule)[1] for each in names
        ]
        codes[rule] = [int(each[0, 0]) for each in scales]
    stated = [127 + 8 - emax[name] for name in names]
    shown = "; ".join(f"{rule}: scale {', '.join(map(str, each))}" for rule, each in codes.items())
    return decided(f"{shown} for {', '.join(names)}", **{rule: each == stated for rule, each in codes.items()})


def stochastic(evidence: Evidence) -> Finding:
    """R5: both roundings are arguments; there is no environment that chooses."""
    return Finding(golden="rounding is an argument of a matmul", verdicts={QUAD_MX: Verdict.NOT_EXPRESSIBLE})
