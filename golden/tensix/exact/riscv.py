"""A store of a RISC-V core to Dst on one datum.

Ref: tt-isa-documentation 3930471, Blackhole's Dst, RISCV access to Dst.
"""

from bitpath.golden.scalar.checked import checked

BITS = {0: 32, 1: 32, 2: 16, 3: 16, 4: 16, 5: 8}
"""Bits of a datum by the configuration's fmt."""


@checked
def riscv_stored(value: int, fmt: int, *, no_swizzle: bool = False, unsigned_int: bool = False) -> int:
    """Return the logical Dst word of a value stored with fmt 0 to 5; 16-bit integers are in the register's order."""
    top = 1 << BITS[fmt] - 1
    negative = value >= top and not no_swizzle and not (unsigned_int and fmt in (4, 5))
    if fmt == 5:
        if not negative:
            return 16 << 10 | value if value else 0
        return 1 << 15 | 16 << 10 | (0x180 - value - (value == 0x80)) % 256
    if fmt in (1, 4) and negative:
        return top | min(2 * top - value, top - 1)
    if not no_swizzle or fmt == 4:
        return value
    low_bits = BITS[fmt] - 16
    high, low, exponent_bits = value >> low_bits, value % (1 << low_bits), 5 if fmt == 2 else 8
    sign, fraction, exponent = high >> 15, high % (1 << 15) >> exponent_bits, high % (1 << exponent_bits)
    return (sign << 15 | exponent << 15 - exponent_bits | fraction) << low_bits | low
