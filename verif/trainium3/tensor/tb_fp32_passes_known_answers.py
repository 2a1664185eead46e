"""Known answers of FP32 in four passes and of TF32: matmuls of the halves and roundings that the RTL gives.

``BITPATH_KAT_DIR`` is the folder that holds them. The exact tier multiplies; results are compared with the archive.
"""

import os
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from bitpath.golden.formats.catalogue import FP32, Rounding
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.tensor import LOW_BITS
from bitpath.golden.trainium3.exact import multiply_add
from bitpath.rtl.trainium3.tensor.fp32_passes import (
    PASSES,
    Fp32Passes,
    PassesConfig,
    PassMode,
    pass_layout,
    request_layout,
)
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack, unpack
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(PassesConfig)
REQUEST, COLUMN = request_layout(CONFIG), pass_layout(CONFIG)
ONE = FP32.bias << FP32.fraction_bits
LOW, HIGH, TF32 = range(3)
"""Forms of a column."""


def fp32_code(element: Any, bits: int) -> int:
    """The FP32 code of an operand with a significand of ``bits`` bits whose highest one is that of FP32's."""
    if element.nan:
        return FP32.nan_code
    sign = element.sign * FP32.sign_mask
    if element.inf:
        return FP32.infinity_code | sign
    value = Fraction(element.significand) * Fraction(2) ** (element.exponent - FP32.bias - bits + 1)
    code = round_to_format(value, FP32, Rounding.RTZ)
    assert round_to_format(value, FP32, Rounding.RNA) == code, f"{element} is no FP32 number"
    return code | sign


def chain(pairs: Iterable[tuple[int, int]], start: int = 0) -> int:
    """Multiply-adds of pairs of FP32 codes from a partial sum on, each with its rounding."""
    return reduce(lambda total, pair: multiply_add(CONFIG.numerics, pair[0], FP32, pair[1], FP32, total), pairs, start)


def requests(column: np.ndarray, *, fused: bool) -> list[int]:
    """Requests whose columns are the low halves, the high halves, and TF32; FUSED gives both halves twice."""
    codes = [*column.tolist(), *[0] * (CONFIG.rows - len(column))]
    modes = [(PassMode.FUSED, 0)] if fused else [(PassMode.SPLIT, LOW), (PassMode.SPLIT, HIGH)]
    fields = {"codes": codes, "moving_onezero": 0, "stationary_onezero": 0}
    return [pack(REQUEST, fields | {"mode": mode, "number": number}) for mode, number in (*modes, (PassMode.TF32, 0))]


def codes(form: int, payload: int, rows: int) -> list[int]:
    """A column's elements as FP32 codes."""
    elements = unpack(COLUMN, payload).elements
    # A low half's highest bit has the weight of the significand's twelfth.
    return [fp32_code(elements[row], FP32.precision + LOW_BITS * (form == LOW)) for row in range(rows)]


def special(code: int) -> bool:
    return code & ~FP32.sign_mask >= FP32.infinity_code


def counted(x: int, y: int, number: int) -> tuple[int, int]:
    """Operands of a pass: infinity and NaN count in the last one, as +0 in the others."""
    return (0, 0) if number < PASSES - 1 and (special(x) or special(y)) else (x, y)


def whole(low: int, high: int) -> int:
    """The number of both halves."""
    return high if special(high) or not low else chain([(low, ONE)], high)


@covers("fp32_passes.known_answers", "Another program computed them with fractions")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_product(dut):
    """Five matmuls of FP32: each of their passes, their sums, fused and as TF32."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_core_fp32.npz") as archive:
        files = dict(archive)
    seen: list[int] = []
    async with bench(dut, Fp32Passes(CONFIG).signature) as frame:
        driver, board = frame.driver("i"), frame.scoreboard("products", FP32.width, output="o")
        frame.monitor("o", seen.append)
        for case, rows, m, n in files["meta"].tolist():
            sides = [files[f"p{case}_{side}"].T for side in ("st", "mv")]
            fused = [column for columns in sides for column in columns]
            for columns in sides:
                for column in columns:
                    for payload in requests(column, fused=False):
                        driver.send_bits(payload)
            for column in fused:
                driver.send_bits(requests(column, fused=True)[0])
            seen.clear()
            while len(seen) < (m + n) * (3 + PASSES):
                await RisingEdge(dut.clk)
            split = [[codes(form, seen[3 * k + form], rows) for form in range(3)] for k in range(m + n)]
            orders = np.reshape(seen[3 * (m + n) :], (m + n, PASSES)).tolist()
            wholes = []
            for order in orders:
                low, high, *again = (codes(number % 2, payload, rows) for number, payload in enumerate(order))
                assert again == [low, high]
                wholes.append([whole(*halves) for halves in zip(low, high, strict=True)])
            for i in range(m):
                for j in range(n):
                    x, y = split[i], split[m + j]
                    passes = [
                        chain(counted(*pair, number) for pair in zip(x[number // 2], y[number % 2], strict=True))
                        for number in range(PASSES)
                    ]
                    total = passes[0]
                    for each in passes[1:]:
                        total = chain([(each, ONE)], total)
                    answers = {
                        "split12": total,
                        "tf32": chain(zip(x[TF32], y[TF32], strict=True)),
                        "fused": chain(zip(wholes[i], wholes[m + j], strict=True)),
                    }
                    for name, code in answers.items():
                        board.expect(int(files[f"p{case}_{name}"][i, j]), f"case {case}, {name}, {i}, {j}")
                        board.got(code)
                    for number, code in enumerate(passes):
                        board.expect(
                            int(files[f"p{case}_passes"][number, i, j]), f"case {case}, pass {number}, {i}, {j}"
                        )
                        board.got(code)
