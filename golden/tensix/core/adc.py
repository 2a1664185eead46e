"""ADCs: a thread's address counters of unpacker 0, unpacker 1 and the packers.

Each has two channels of four counters, and each counter a Cr beside its value::

    X 18 bits, Y 13, Z 8, W 8      set:      value = Cr = n
                                   add:      value += n
                                   add Cr:   Cr += n, value = Cr

All wrap. A PACR's modifier is one word of 16 bits::

    15        14       13        12       11     10   9..6     5      4    3..0
    clear Z1  Z1 inc   clear Z0  Z0 inc   clear  Cr   Y1 inc   clear  Cr   Y0 inc      channel 0 is the source, 1 the
                                          Y1     Y1            Y0     Y0               destination

Ref: tt-isa-documentation 3930471, ADCs, SETADC to ADDRCRZW, UNPACR_Regular, Packers/InputAddressGenerator and
OutputAddressGenerator; the bits of the PACK word from ttsim v1.10.0.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.tensix.declarations.encodings import CHANNELS, DIMENSIONS, PACK_WORD_BITS, UNITS, WIDTHS


@checked
@dataclass(frozen=True, kw_only=True)
class Channel:
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

    def __post_init__(self) -> None:
        for each in fields(self):
            integer(each.name, getattr(self, each.name), range(1 << WIDTHS[each.name[0]]))

    def put(self, dimension: str, number: int) -> "Channel":
        """Return the channel with value and Cr of a counter set, modulo its width."""
        number %= 1 << WIDTHS[dimension]
        return replace(self, **{dimension: number, f"{dimension}_cr": number})

    def add(self, dimension: str, number: int) -> "Channel":
        """Return the channel with a number added to a counter's value."""
        return replace(self, **{dimension: (getattr(self, dimension) + number) % (1 << WIDTHS[dimension])})

    def add_cr(self, dimension: str, number: int) -> "Channel":
        """Return the channel with a number added to a counter's Cr, which becomes its value."""
        return self.put(dimension, getattr(self, f"{dimension}_cr") + number)


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
        return replace(self, **{f"channel_{number}": channel})


@checked
@dataclass(frozen=True, kw_only=True)
class Adcs:
    """Address counters of a thread."""

    unpacker_0: Adc = Adc()
    unpacker_1: Adc = Adc()
    packers: Adc = Adc()

    @checked
    def unit(self, number: int) -> Adc:
        """Return the counters of unpacker 0, unpacker 1 or the packers, by number.

        Raises
        ------
        TypeError, ValueError : not 0 to 2.
        """
        return (self.unpacker_0, self.unpacker_1, self.packers)[integer("unit", number, range(UNITS))]

    @checked
    def updated(self, units: int, step: Callable[[Adc], Adc]) -> "Adcs":
        """Return the counters after a step of some units: bits of `units` for unpacker 0, unpacker 1 and the packers.

        Raises
        ------
        TypeError, ValueError : `units` is no integer of 3 bits.
        """
        units = integer("units", units, range(1 << UNITS))
        names = [each.name for each in fields(self)]
        changed = {name: step(getattr(self, name)) for place, name in enumerate(names) if units >> place & 1}
        return replace(self, **changed)


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
    return adc.replaced(channel, adc.channel(channel).put(name, value))


@checked
def setadcxx(adc: Adc, *, start: int, end: int) -> Adc:
    """Return the counters after SETADCXX: X of channel 0 is `start`, X of channel 1 is `end`, 10 bits each.

    Raises
    ------
    TypeError, ValueError : no integer of 10 bits.
    """
    start, end = integer("start", start, range(1 << 10)), integer("end", end, range(1 << 10))
    return Adc(channel_0=adc.channel_0.put("x", start), channel_1=adc.channel_1.put("x", end))


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
    return _four(adc, Channel.put, which, values)


@checked
def add_four(adc: Adc, **values: int) -> Adc:
    """Return the counters after INCADCXY or INCADCZW: all four values grow; fields as of `set_four`."""
    return _four(adc, Channel.add, 0b1111, values)


@checked
def add_cr_four(adc: Adc, *, which: int, **values: int) -> Adc:
    """Return the counters after ADDRCRXY or ADDRCRZW: the Crs of `which` grow and become the values; fields as of `set_four`."""
    return _four(adc, Channel.add_cr, which, values)


@checked
def unpacr_increments(adc: Adc, *, ch0_y: int, ch0_z: int, ch1_y: int, ch1_z: int) -> Adc:
    """Return an unpacker's counters after UNPACR, whose four fields of 2 bits each are added.

    Raises
    ------
    TypeError, ValueError : no integer of 2 bits.
    """
    given = {"ch0_y": ch0_y, "ch0_z": ch0_z, "ch1_y": ch1_y, "ch1_z": ch1_z}
    for name, value in given.items():
        number = integer(name, value, range(4))
        adc = adc.replaced(int(name[2]), adc.channel(int(name[2])).add(name[4], number))
    return adc


@checked
def pacr_modifier(adc: Adc, word: int) -> Adc:
    """Return the packers' counters after a PACR with a PACK word: each Y and Z is cleared, or grows, Y perhaps by its Cr.

    Raises
    ------
    TypeError, ValueError : no integer of 16 bits.
    """
    word = integer("word", word, range(1 << PACK_WORD_BITS))
    for channel in range(CHANNELS):
        y, z = word >> 6 * channel, word >> 12 + 2 * channel
        counters = adc.channel(channel)
        if y >> 5 & 1:
            counters = counters.put("y", 0)
        else:
            counters = (counters.add_cr if y >> 4 & 1 else counters.add)("y", y & 15)
        counters = counters.put("z", 0) if z >> 1 & 1 else counters.add("z", z & 1)
        adc = adc.replaced(channel, counters)
    return adc


def _four(adc: Adc, step: Callable[[Channel, str, int], Channel], which: int, values: dict[str, int]) -> Adc:
    which = integer("which", which, range(16))
    pair = "xy" if "ch0_x" in values else "zw"
    names = [f"ch{channel}_{dimension}" for channel in range(CHANNELS) for dimension in pair]
    if sorted(values) != sorted(names):
        raise ValueError(f"fields must be {', '.join(names)}, not {', '.join(values) or 'none'}")
    for place, name in enumerate(names):
        number, channel = integer(name, values[name], range(8)), int(name[2])
        if which >> place & 1:
            adc = adc.replaced(channel, step(adc.channel(channel), name[4], number))
    return adc
