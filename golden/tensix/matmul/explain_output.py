"""Explanation of one output of a matmul on Tensix: the MVMULs that write its datum of Dst."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.explain.explanation import Explanation, output_explanation
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, FACE, TILE, Chip, Fidelity, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.exact import Dot16Trace, IntegerDot16Trace, trace_dot16, trace_dot16_integer
from bitpath.golden.tensix.matmul.explain import explain_chain, explain_dot16
from bitpath.golden.tensix.matmul.matmul import MvmulInstruction, Program, matmul_program

Trace = Dot16Trace | IntegerDot16Trace


@dataclass(frozen=True, kw_only=True)
class Unit:
    """Settings of the Matrix unit: numerics, style, formats of its sources, and Dst of 32 or 16 bits."""

    numerics: TensixNumerics
    style: Style
    dst32: bool
    srca_format: Format
    srcb_format: Format

    def trace(self, dst: int, b: Sequence[int], a: Sequence[int], phase: int) -> Trace:
        """Run one phase on one datum of Dst; `a` and `b` are 16 source words each."""
        if self.style is Style.INT8:
            return trace_dot16_integer(self.numerics, dst, b, a, phase)
        formats = {"srca_format": self.srca_format, "srcb_format": self.srcb_format}
        return trace_dot16(self.numerics, dst, b, a, style=self.style, dst32=self.dst32, phase=phase, **formats)


@checked
def explain_output(
    a: np.ndarray,
    b: np.ndarray,
    output: tuple[int, int],
    step: int | None = None,
    *,
    fmt: str = "bf16",
    fidelity: str | Fidelity = "HiFi4",
    dst32: bool = True,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> Explanation:
    """Explain the output [m, n] of ``a @ b``: a line for each MVMUL, or the one of index `step` in full.

    Parameters
    ----------
    a, b, fmt, fidelity, dst32, numerics, chip : as `matmul_program` takes them.
    output : row and column.

    Raises
    ------
    TypeError, ValueError : as `matmul_program`; a place outside the output; a step that does not exist.
    """
    m = integer("output[0]", output[0], range(a.shape[0]))
    n = integer("output[1]", output[1], range(b.shape[1]))
    # Tiles are converted one by one, so that the tile of the output is enough.
    left, right = a[m // TILE * TILE :][:TILE], b[:, n // TILE * TILE :][:, :TILE]
    program = matmul_program(left, right, fmt=fmt, fidelity=fidelity, dst32=dst32, numerics=numerics, chip=chip)
    steps = _steps(program, m % TILE, n % TILE)
    return output_explanation(
        steps,
        step,
        title=f"{len(steps)} MVMULs of output [{m}, {n}], {fmt} {Fidelity(fidelity).value}",
        noun="MVMUL",
        chain=explain_chain,
        one=explain_dot16,
        row=a[m],
        column=b[:, n],
    )


def _steps(program: Program, m: int, n: int) -> list[tuple[str, Trace]]:
    """Return the traces of the instructions that write datum [m, n] of a tile, each named by its range of K."""
    formats = dict.fromkeys(("srca_format", "srcb_format"), program.fmt.register)
    each = Unit(numerics=program.numerics, style=program.fmt.style, dst32=program.dst32, **formats)
    row = _register_row(m, n)
    word = 0
    steps: list[tuple[str, Trace]] = []
    src_b, src_a = program.src_b[0], program.src_a[:, 0]
    for tile in range(program.tiles[1]):
        for instruction in program.instructions:
            distance = row - instruction.dst_row
            if not 0 <= distance < BLOCK_ROWS:
                continue
            b = src_b[tile, instruction.src_b_row + distance].tolist()
            a = src_a[tile, instruction.src_a_row : instruction.src_a_row + FACE, n % FACE].tolist()
            trace = each.trace(word, b, a, instruction.phase)
            word = trace.result
            steps.append((_name(len(steps), tile, instruction), trace))
    return steps


def _register_row(m: int, n: int) -> int:
    """Return the register row of datum [m, n]; a tile's faces lie one below the other."""
    face = m // FACE * 2 + n // FACE
    return face * FACE + m % FACE


def _name(index: int, tile: int, instruction: MvmulInstruction) -> str:
    # SrcA's upper two faces hold the first half of a tile's K.
    first = tile * TILE + instruction.src_a_row // (2 * FACE) * FACE
    return f"{index:>4}  k {first:>4}-{first + FACE - 1:<4}  phase {instruction.phase}"
