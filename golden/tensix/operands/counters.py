"""A thread's counters: ADCs address the datums of unpackers and packers, RWCs the rows of the Matrix unit and the Vector unit.

A counter has a value and, but for the phase, a Cr; all wrap::

    set, clear:  value = Cr = n or 0
    add:         value += n
    add Cr:      Cr += n, value = Cr
    C to Cr:     value += n, Cr = value                (Dst of RWCs only)

ADCs of unpacker 0, unpacker 1 and the packers have two channels of X (18 bits), Y (13), Z (8) and W (8). A PACR's modifier is one
word of 16 bits::

    15        14       13        12       11     10   9..6     5      4    3..0
    clear Z1  Z1 inc   clear Z0  Z0 inc   clear  Cr   Y1 inc   clear  Cr   Y0 inc      channel 0 is the source, 1 the
                                          Y1     Y1            Y0     Y0               destination

RWCs: an instruction uses the counters before it; then the modifier that it names applies. Clear goes before C to Cr, which goes
before Cr. Three words make a modifier::

                15       14     13 12      11     10    9..8   7       6     5..0
    AB        clear B  Cr B    [    B increment    ]           clear A Cr A  [A increment]     (B increment: bits 13:8)
    DST       clear    [fidelity]  C to Cr clear  Cr    [         Dst increment          ]
                phase   14:13
    BIAS                                                               clear: bit 4    increment: bits 3:0

Ref: tt-isa-documentation 3930471, ADCs, SETADC to ADDRCRZW, UNPACR_Regular, Packers/InputAddressGenerator, OutputAddressGenerator,
RWCs, SETRWC, INCRWC; the bits of the words from ttsim v1.10.0, BIAS's clear bit is chosen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.tensix.declarations.encodings import (
    CHANNELS,
    DIMENSIONS,
    DST_BITS,
    INDEX_BITS,
    MODIFIER_BITS,
    MODIFIERS,
    PACK_WORD_BITS,
    PHASE_BITS,
    SRC_BITS,
    UNITS,
    WIDTHS,
)
from bitpath.golden.tensix.declarations.formats import Chip

Record = TypeVar("Record")


def changed(record: Record, **values: Any) -> Record:
    """Return a frozen record with other values of fields, which are not checked: counters have wrapped."""
    new = object.__new__(type(record))
    new.__dict__.update(record.__dict__, **values)
    return new


# Steps of one counter, in place in the values of a record by name.


Values = dict[str, int]
"""Values of a record's counters."""


def put(values: Values, name: str, number: int) -> None:
    """Set value and Cr of a counter."""
    values[name] = values[f"{name}_cr"] = number & MASKS[name]


def add(values: Values, name: str, number: int) -> None:
    """Add a number to a value."""
    values[name] = values[name] + number & MASKS[name]


def add_cr(values: Values, name: str, number: int) -> None:
    """Add a number to a Cr, which becomes the value."""
    put(values, name, values[f"{name}_cr"] + number)


@dataclass(frozen=True)
class Counters:
    """Counters that wrap, each a value ``name`` and its Cr ``name_cr``, where it has one."""

    WIDTHS: ClassVar[Mapping[str, int]]
    """Bits of each counter."""

    def __post_init__(self) -> None:
        for each in fields(self):
            integer(each.name, getattr(self, each.name), range(1 << self.WIDTHS[each.name.removesuffix("_cr")]))


# A thread's ADCs, which address the datums of unpackers and packers.


@checked
@dataclass(frozen=True, kw_only=True)
class Channel(Counters):
    """Address counters of a channel of an unpacker or packer.

    Raises
    ------
    TypeError, ValueError : no integer, or too large for its counter.
    """

    x: int = 0
    y: int = 0
    z: int = 0
    w: int = 0
    x_cr: int = 0
    y_cr: int = 0
    z_cr: int = 0
    w_cr: int = 0

    WIDTHS = WIDTHS


@checked
@dataclass(frozen=True, kw_only=True)
class Adc:
    """Address counters of an unpacker or of the packers: two channels."""

    channel_0: Channel = Channel()
    channel_1: Channel = Channel()

    def channel(self, number: int) -> Channel:
        """Return the counters of a channel.

        Raises
        ------
        TypeError, ValueError : neither 0 nor 1.
        """
        return self.channel_1 if integer("channel", number, range(CHANNELS)) else self.channel_0

    def replaced(self, number: int, channel: Channel) -> "Adc":
        """Return the counters with another channel."""
        return changed(self, **{f"channel_{number}": channel})


UNIT_NAMES = ("unpacker_0", "unpacker_1", "packers")


@checked
@dataclass(frozen=True, kw_only=True)
class Adcs:
    """Address counters of a thread."""

    unpacker_0: Adc = Adc()
    unpacker_1: Adc = Adc()
    packers: Adc = Adc()

    def unit(self, number: int) -> Adc:
        """Return the counters of unpacker 0, unpacker 1 or the packers, by number.

        Raises
        ------
        TypeError, ValueError : not 0 to 2.
        """
        return getattr(self, UNIT_NAMES[integer("unit", number, range(UNITS))])

    def updated(self, units: int, step: Callable[[Adc], Adc]) -> "Adcs":
        """Return the counters after a step of some units: bits of `units` for unpacker 0, unpacker 1 and the packers.

        Raises
        ------
        TypeError, ValueError : `units` is no integer of 3 bits.
        """
        units = integer("units", units, range(1 << UNITS))
        stepped = {name: step(getattr(self, name)) for place, name in enumerate(UNIT_NAMES) if units >> place & 1}
        return changed(self, **stepped)


Step = tuple[int, Callable[[Values, str, int], None], str, int]
"""Channel, kind of step, counter and number."""


def stepped_adc(adc: Adc, steps: Sequence[Step]) -> Adc:
    """Return the counters after steps, which are not checked."""
    channels = changed(adc.channel_0), changed(adc.channel_1)
    for channel, step, name, number in steps:
        step(channels[channel].__dict__, name, number)
    return changed(adc, channel_0=channels[0], channel_1=channels[1])


@checked
def setadc(adc: Adc, *, channel: int, dimension: int, value: int) -> Adc:
    """Return the counters after SETADC: one counter's value and Cr.

    Parameters
    ----------
    channel : 0 or 1.
    dimension : 0 to 3 for X, Y, Z and W.
    value : 18 bits; a counter takes the low bits of its width.

    Raises
    ------
    TypeError, ValueError : no integer, or too large for its field.
    """
    name = DIMENSIONS[integer("dimension", dimension, range(4))]
    value = integer("value", value, range(1 << WIDTHS["x"]))
    return stepped_adc(adc, [(integer("channel", channel, range(CHANNELS)), put, name, value)])


@checked
def setadcxx(adc: Adc, *, start: int, end: int) -> Adc:
    """Return the counters after SETADCXX: X of channel 0 is `start`, X of channel 1 is `end`, 10 bits each.

    Raises
    ------
    TypeError, ValueError : no integer of 10 bits.
    """
    start, end = integer("start", start, range(1 << 10)), integer("end", end, range(1 << 10))
    return stepped_adc(adc, [(0, put, "x", start), (1, put, "x", end)])


@checked
def set_four(adc: Adc, *, which: int, **values: int) -> Adc:
    """Return the counters after SETADCXY or SETADCZW: the counters of `which` take the values.

    Parameters
    ----------
    which : bits for the four counters of `values` in the order ch0_x, ch0_y, ch1_x, ch1_y, or the same of z and w.
    values : the instruction's fields ch0_x, ch0_y, ch1_x and ch1_y, or ch0_z, ch0_w, ch1_z and ch1_w, 3 bits each.

    Raises
    ------
    TypeError, ValueError : other names; no integer, or too large for its field.
    """
    return stepped_adc(adc, four_steps(put, *_checked_four(which, values)))


@checked
def add_four(adc: Adc, **values: int) -> Adc:
    """Return the counters after INCADCXY or INCADCZW: all four values grow; fields as of `set_four`."""
    return stepped_adc(adc, four_steps(add, *_checked_four(0b1111, values)))


@checked
def add_cr_four(adc: Adc, *, which: int, **values: int) -> Adc:
    """Return the counters after ADDRCRXY or ADDRCRZW: the Crs of `which` grow and become the values; fields as of `set_four`."""
    return stepped_adc(adc, four_steps(add_cr, *_checked_four(which, values)))


@checked
def unpacr_increments(adc: Adc, *, ch0_y: int, ch0_z: int, ch1_y: int, ch1_z: int) -> Adc:
    """Return an unpacker's counters after UNPACR, whose four fields of 2 bits each are added.

    Raises
    ------
    TypeError, ValueError : no integer of 2 bits.
    """
    given = {"ch0_y": ch0_y, "ch0_z": ch0_z, "ch1_y": ch1_y, "ch1_z": ch1_z}
    return add_values(adc, **{name: integer(name, value, range(4)) for name, value in given.items()})


def add_values(adc: Adc, **values: int) -> Adc:
    """Return the counters with numbers added to values, named as UNPACR's fields are; they are not checked."""
    return stepped_adc(adc, [(int(name[2]), add, name[4], number) for name, number in values.items()])


@checked
def pacr_modifier(adc: Adc, word: int) -> Adc:
    """Return the packers' counters after a PACR with a PACK word: each Y and Z is cleared, or grows, Y perhaps by its Cr.

    Raises
    ------
    TypeError, ValueError : no integer of 16 bits.
    """
    word = integer("word", word, range(1 << PACK_WORD_BITS))
    return stepped_adc(adc, modifier_steps(word))


def modifier_steps(word: int) -> list[Step]:
    """Return the steps of a PACK word, which is not checked."""
    steps: list[Step] = []
    for channel in range(CHANNELS):
        y, z = word >> 6 * channel, word >> 12 + 2 * channel
        if y >> 5 & 1:
            steps.append((channel, put, "y", 0))
        else:
            steps.append((channel, add_cr if y >> 4 & 1 else add, "y", y & 15))
        steps.append((channel, put, "z", 0) if z >> 1 & 1 else (channel, add, "z", z & 1))
    return steps


FOUR = {
    pair: tuple((f"ch{channel}_{dimension}", channel, dimension) for channel in range(CHANNELS) for dimension in pair)
    for pair in ("xy", "zw")
}
"""Fields of `set_four` in the order of `which`, with channel and counter."""


def _four_of(values: Mapping[str, int]) -> tuple[tuple[str, int, str], ...]:
    return FOUR["xy" if "ch0_x" in values else "zw"]


def four_steps(step: Callable[[Values, str, int], None], which: int, values: Mapping[str, int]) -> list[Step]:
    """Return a step for each of the four counters that `which` names; `values` has the fields of `set_four`, not checked."""
    return [
        (channel, step, dimension, values[name])
        for place, (name, channel, dimension) in enumerate(_four_of(values))
        if which >> place & 1
    ]


def _checked_four(which: int, values: Mapping[str, int]) -> tuple[int, Mapping[str, int]]:
    """Return the arguments of `set_four`; raise unless they are in range."""
    which = integer("which", which, range(16))
    names = [name for name, _, _ in _four_of(values)]
    if sorted(values) != sorted(names):
        raise ValueError(f"fields must be {', '.join(names)}, not {', '.join(values) or 'none'}")
    return which, {name: integer(name, values[name], range(8)) for name in names}


COUNTERS = ("src_a", "src_b", "dst")
"""Counters with a Cr, in the order of the bits of SETRWC's and INCRWC's `cr` and of SETRWC's `which`."""
RWC_WIDTHS = {
    "src_a": SRC_BITS,
    "src_b": SRC_BITS,
    "dst": DST_BITS,
    "fidelity_phase": PHASE_BITS,
    "extra_bit": 1,
    "stack": DST_BITS,
}
MASKS = {name: (1 << width) - 1 for name, width in (WIDTHS | RWC_WIDTHS).items()}
"""Masks of all counters' values."""


@checked
@dataclass(frozen=True, kw_only=True)
class Rwc(Counters):
    """The RWC counters of a thread.

    Attributes
    ----------
    src_a, src_a_cr, src_b, src_b_cr : rows, 6 bits.
    dst, dst_cr : rows, 10 bits.
    fidelity_phase : 2 bits.
    extra_bit : ExtraAddrModBit, which makes Wormhole's modifier index i + 4.
    stack : Sp, a row of Blackhole's, which SFPLOAD and SFPSTORE of INT32_ALL step.

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
    stack: int = 0

    WIDTHS = RWC_WIDTHS


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
    if set_base and of_chip is Chip.BLACKHOLE:
        raise ValueError("set_base must be False for blackhole, which has no ADDR_MOD_SET_Base")
    return settled_number(rwc, index, chip=of_chip, set_base=set_base)


def settled_number(rwc: Rwc, index: int, *, chip: Chip, set_base: bool) -> int:
    """Return the number of `modifier_number`, whose arguments are not checked."""
    return index + MODIFIERS // 2 if chip is Chip.WORMHOLE and (rwc.extra_bit or set_base) else index


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
    return after_modifier(rwc, modifier.ab, modifier.dst, modifier.bias, chip=Chip(chip), fidelity=fidelity)


def after_modifier(rwc: Rwc, ab: int, dst: int, bias: int, *, chip: Chip, fidelity: bool = True) -> Rwc:
    """Return the counters after a modifier's words, which are not checked; `apply_modifier` says more."""
    new = changed(rwc)
    after = new.__dict__
    if ab & 0xFF:
        _step(after, "src_a", ab & 63, cr=ab >> 6 & 1, clear=ab >> 7 & 1)
    if ab >> 8:
        _step(after, "src_b", ab >> 8 & 63, cr=ab >> 14 & 1, clear=ab >> 15 & 1)
    if dst & 0x1FFF:
        _step(after, "dst", dst & 1023, cr=dst >> 10 & 1, clear=dst >> 11 & 1, c_to_cr=dst >> 12 & 1)
    if fidelity and dst >> 13:
        after["fidelity_phase"] = 0 if dst >> 15 & 1 else rwc.fidelity_phase + (dst >> 13 & 3) & MASKS["fidelity_phase"]
    if bias and chip is Chip.WORMHOLE:
        after["extra_bit"] = 0 if bias >> 4 & 1 else rwc.extra_bit ^ bool(bias & 3)
    return new


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
    which, cr = integer("which", which, range(16)), integer("cr", cr, range(16))
    return after_setrwc(rwc, which=which, cr=cr, **_fields(src_a=src_a, src_b=src_b, dst=dst))


def after_setrwc(rwc: Rwc, *, which: int, cr: int, **numbers: int) -> Rwc:
    """Return the counters of `setrwc`, whose arguments are not checked."""
    new, c_to_cr = changed(rwc), cr >> 3 & 1
    after = new.__dict__
    for place, name in enumerate(COUNTERS):
        if name == "dst" and c_to_cr:
            put(after, name, after[name] + numbers[name])
        elif which >> place & 1:
            put(after, name, (after[f"{name}_cr"] if cr >> place & 1 else 0) + numbers[name])
    if which >> 3 & 1:
        after["fidelity_phase"] = 0
    return new


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
    return after_incrwc(rwc, cr=cr, **_fields(src_a=src_a, src_b=src_b, dst=dst))


def after_incrwc(rwc: Rwc, *, cr: int, **numbers: int) -> Rwc:
    """Return the counters of `incrwc`, whose arguments are not checked."""
    new = changed(rwc)
    for place, name in enumerate(COUNTERS):
        _step(new.__dict__, name, numbers[name], cr=cr >> place & 1)
    return new


def _fields(**values: int) -> dict[str, int]:
    return {name: integer(name, value, range(16)) for name, value in values.items()}


def _step(values: Values, name: str, increment: int, *, cr: int = 0, clear: int = 0, c_to_cr: int = 0) -> None:
    """Clear or increment a counter; Cr changes too where it takes part."""
    if clear:
        put(values, name, 0)
    elif c_to_cr:
        put(values, name, values[name] + increment)
    elif cr:
        add_cr(values, name, increment)
    else:
        add(values, name, increment)
