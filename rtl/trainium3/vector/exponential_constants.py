"""Constants of VectorE's exponential, computed in integers at elaboration."""

from math import isqrt

from bitpath.golden.trainium3.declarations.vector import ExponentialNumerics

GUARD_BITS = 128
"""Guard bits of the computation; no constant is within them of half a unit in the last place."""
LN2_TERMS = ((18, 26), (-2, 4801), (8, 8749))
"""ln 2 is the sum of ``a * artanh(1 / b)`` over these pairs (a, b)."""


def _rounded(value: int) -> int:
    """Round to nearest and remove the guard bits."""
    return (value + (1 << GUARD_BITS - 1)) >> GUARD_BITS


def _ln2(bits: int) -> int:
    """ln 2 in units of ``2**-bits``, a few units too small."""
    total = 0
    for factor, inverse in LN2_TERMS:
        power, odd = (1 << bits) // inverse, 1
        while power:
            total += factor * (power // odd)
            power, odd = power // inverse**2, odd + 2
    return total


def ln2(numerics: ExponentialNumerics) -> int:
    """ln 2 to nearest, in units of ``2**-fraction_bits``."""
    return _rounded(_ln2(numerics.fraction_bits + GUARD_BITS))


def log2e(numerics: ExponentialNumerics) -> int:
    """1 / ln 2 to nearest, in units of ``2**-log2e_bits``."""
    bits = numerics.log2e_bits + GUARD_BITS
    return _rounded((1 << 2 * bits) // _ln2(bits))


def power_table(numerics: ExponentialNumerics) -> tuple[int, ...]:
    """``2**(i * 2**-table_bits)`` to nearest for every i, in units of ``2**-fraction_bits``.

    The product of repeated square roots of 2, one for each bit set in i.
    """
    bits = numerics.fraction_bits + GUARD_BITS
    root, roots = 2 << bits, []
    for _ in range(numerics.table_bits):
        root = isqrt(root << bits)
        roots.insert(0, root)
    table = []
    for index in range(1 << numerics.table_bits):
        power = 1 << bits
        for bit, factor in enumerate(roots):
            if index >> bit & 1:
                power = power * factor >> bits
        table.append(_rounded(power))
    return tuple(table)
