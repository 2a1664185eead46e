"""RWCs: a thread's counters of rows and of the fidelity phase, for the Matrix unit and the Vector unit.

An instruction uses the counters before it; then the modifier that it names applies. Three words make a modifier::

                15       14     13 12      11     10    9..8   7       6     5..0
    AB        clear B  Cr B    [    B increment    ]           clear A Cr A  [A increment]     (B increment: bits 13:8)
    DST       clear    [fidelity]  C to Cr clear  Cr    [         Dst increment          ]
                phase   14:13
    BIAS                                                               clear: bit 4    increment: bits 3:0

    clear:    value = Cr = 0
    C to Cr:  value += increment, Cr = value           (Dst only)
    Cr:       Cr += increment, value = Cr
    else:     value += increment

All counters wrap. Clear goes before C to Cr, which goes before Cr.

Ref: tt-isa-documentation 3930471, RWCs, SETRWC, INCRWC; the bits of the words from ttsim v1.10.0, BIAS's clear bit is chosen.
"""

from dataclasses import dataclass, fields, replace

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.tensix.declarations.encodings import (
    DST_BITS,
    INDEX_BITS,
    MODIFIER_BITS,
    MODIFIERS,
    PHASE_BITS,
    SRC_BITS,
)
from bitpath.golden.tensix.declarations.formats import Chip

COUNTERS = ("src_a", "src_b", "dst")
"""Counters with a Cr, in the order of the bits of SETRWC's and INCRWC's `cr` and of SETRWC's `which`."""
WIDTHS = {"src_a": SRC_BITS, "src_b": SRC_BITS, "dst": DST_BITS, "fidelity_phase": PHASE_BITS, "extra_bit": 1}


@checked
@dataclass(frozen=True, kw_only=True)
class Rwc:
    """The RWC counters of a thread.

    Attributes
    ----------
    src_a, src_a_cr, src_b, src_b_cr : rows, 6 bits.
    dst, dst_cr : rows, 10 bits.
    fidelity_phase : 2 bits.
    extra_bit : ExtraAddrModBit, which makes Wormhole's modifier index i + 4.

    Raises
    ------
    TypeError, ValueError : no integer, or too large for its counter.
    """

    src_a: int = 0
    src_a_cr: int = 0
    src_b: int = 0
    src_b_cr: int = 0
    dst: int = 0
    dst_cr: int = 0
    fidelity_phase: int = 0
    extra_bit: int = 0

    def __post_init__(self) -> None:
        for each in fields(self):
            width = WIDTHS[each.name.removesuffix("_cr")]
            integer(each.name, getattr(self, each.name), range(1 << width))


@checked
@dataclass(frozen=True, kw_only=True)
class Modifier:
    """An address modifier: its three configuration words, 16 bits each.

    Raises
    ------
    TypeError, ValueError : no integer of 16 bits.
    """

    ab: int = 0
    dst: int = 0
    bias: int = 0

    def __post_init__(self) -> None:
        for each in fields(self):
            integer(each.name, getattr(self, each.name), range(1 << MODIFIER_BITS))


@checked
def modifier_number(rwc: Rwc, index: int, *, chip: Chip | str, set_base: bool = False) -> int:
    """Return which of eight modifiers an instruction's index names.

    Wormhole has 2 bits of index, and adds 4 if the extra bit or ADDR_MOD_SET_Base is set. Blackhole has 3 bits and neither.

    Raises
    ------
    TypeError, ValueError : another chip; an index that its instructions cannot hold; `set_base` on Blackhole.
    """
    of_chip = Chip(chip)
    index = integer("index", index, range(1 << INDEX_BITS[of_chip]))
    if of_chip is Chip.WORMHOLE:
        return index + (MODIFIERS // 2 if rwc.extra_bit or set_base else 0)
    if set_base:
        raise ValueError("set_base must be False for blackhole, which has no ADDR_MOD_SET_Base")
    return index


@checked
def apply_modifier(rwc: Rwc, modifier: Modifier, *, chip: Chip | str, fidelity: bool = True) -> Rwc:
    """Return the counters after an instruction with a modifier. Blackhole has no extra bit, and BIAS counts for nothing there.

    Parameters
    ----------
    fidelity : False for SFPLOAD, SFPSTORE and SFPLOADMACRO, which leave the phase as it is.

    Raises
    ------
    TypeError, ValueError : another chip.
    """
    ab, dst, bias = modifier.ab, modifier.dst, modifier.bias
    after = _modified(rwc, "src_a", increment=ab & 63, cr=ab >> 6 & 1, clear=ab >> 7 & 1)
    after = _modified(after, "src_b", increment=ab >> 8 & 63, cr=ab >> 14 & 1, clear=ab >> 15 & 1)
    after = _modified(after, "dst", increment=dst & 1023, cr=dst >> 10 & 1, clear=dst >> 11 & 1, c_to_cr=dst >> 12 & 1)
    if fidelity:
        phase = 0 if dst >> 15 & 1 else (rwc.fidelity_phase + (dst >> 13 & 3)) % (1 << PHASE_BITS)
        after = replace(after, fidelity_phase=phase)
    if Chip(chip) is Chip.BLACKHOLE:
        return after
    if bias >> 4 & 1:
        return replace(after, extra_bit=0)
    return replace(after, extra_bit=rwc.extra_bit ^ bool(bias & 3))


@checked
def setrwc(rwc: Rwc, *, which: int, cr: int = 0, src_a: int = 0, src_b: int = 0, dst: int = 0) -> Rwc:
    """Return the counters after SETRWC, whose flips of banks are not theirs.

    ``value = Cr = (Cr if its bit of cr is set else 0) + field``; for Dst with bit 3 of `cr`, C to Cr, ``value + field``,
    whether `which` names Dst or not.

    Parameters
    ----------
    which : bits for src_a, src_b, dst and the phase, which becomes 0.
    cr : bits for src_a, src_b, dst, and C to Cr.
    src_a, src_b, dst : 4 bits.

    Raises
    ------
    TypeError, ValueError : no integer, or too large for its field.
    """
    values = _fields(src_a=src_a, src_b=src_b, dst=dst)
    which, cr = integer("which", which, range(16)), integer("cr", cr, range(16))
    c_to_cr = cr >> 3 & 1
    after = rwc
    for place, (name, value) in enumerate(values.items()):
        from_value = name == "dst" and c_to_cr
        if which >> place & 1 or from_value:
            base = getattr(rwc, name) if from_value else getattr(rwc, f"{name}_cr") if cr >> place & 1 else 0
            number = (base + value) % (1 << WIDTHS[name])
            after = replace(after, **{name: number, f"{name}_cr": number})
    return replace(after, fidelity_phase=0) if which >> 3 & 1 else after


@checked
def incrwc(rwc: Rwc, *, cr: int = 0, src_a: int = 0, src_b: int = 0, dst: int = 0) -> Rwc:
    """Return the counters after INCRWC: ``value += field``, or ``Cr += field, value = Cr`` where its bit of `cr` is set.

    Parameters
    ----------
    cr : bits for src_a, src_b and dst.
    src_a, src_b, dst : 4 bits.

    Raises
    ------
    TypeError, ValueError : no integer, or too large for its field.
    """
    cr = integer("cr", cr, range(8))
    after = rwc
    for place, (name, value) in enumerate(_fields(src_a=src_a, src_b=src_b, dst=dst).items()):
        after = _modified(after, name, increment=value, cr=cr >> place & 1)
    return after


def _fields(**values: int) -> dict[str, int]:
    return {name: integer(name, value, range(16)) for name, value in values.items()}


def _modified(rwc: Rwc, name: str, *, increment: int, cr: int = 0, clear: int = 0, c_to_cr: int = 0) -> Rwc:
    """Return the counters with one of them cleared or incremented."""
    carry = f"{name}_cr"
    if clear:
        return replace(rwc, **{name: 0, carry: 0})
    number = ((getattr(rwc, carry) if cr and not c_to_cr else getattr(rwc, name)) + increment) % (1 << WIDTHS[name])
    return replace(rwc, **({name: number, carry: number} if cr or c_to_cr else {name: number}))
