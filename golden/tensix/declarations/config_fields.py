"""Fields of Tensix's configuration registers that the core reads, one table for Wormhole and Blackhole.

Ref: tt-isa-documentation 3930471, BackendConfiguration; ttsim v1.10.0, whose tables give positions of both chips.
"""

from dataclasses import dataclass

from bitpath.golden.tensix.declarations.chips import Chip

REGISTERS = {Chip.WORMHOLE: 188, Chip.BLACKHOLE: 224}
"""Registers of 32 bits in one bank, which WRCFG and RMWCIB write."""
SHARED_FROM = {Chip.WORMHOLE: 152, Chip.BLACKHOLE: 180}
"""Registers from this one on exist once and not in two banks."""
THREAD_REGISTERS = {Chip.WORMHOLE: 57, Chip.BLACKHOLE: 68}
"""Registers of 16 bits of one thread, which SETC16 writes."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Bits `low` to `low + width - 1` of a register."""

    register: int
    low: int
    width: int

    @property
    def mask(self) -> int:
        """The field's bits in the register."""
        return (1 << self.width) - 1 << self.low


# Name and places, each register.low:width. Where there are several units (unpackers 0 and 1, packers 0 to 3), each has a
# place, in this order. Where the chips differ, Wormhole's places stand before the bar and Blackhole's behind it.
_FIELDS = (
    ("src_a_unsigned", "1.15:1"),
    ("src_b_unsigned", "1.16:1"),
    ("src_a_format", "1.17:4"),
    ("src_b_format", "1.21:4"),
    ("dst_format", "1.25:4"),
    ("fp32_enabled", "1.29:1"),
    ("int8_math", "1.31:1"),
    ("zero_flag_disabled_src", "2.0:1"),
    ("relu_mode", "2.2:4"),
    ("relu_threshold", "2.6:16"),
    ("packer_x_stride", "8.0:12|12.0:16"),
    ("packer_y_stride", "8.12:12|12.16:16"),
    ("packer_z_stride", "9.0:12|13.0:16"),
    ("packer_w_stride", "9.12:16|13.16:16"),
    ("read_32b", "14.0:1|18.0:1"),
    ("read_unsigned", "14.1:1|18.1:1"),
    ("read_raw", "14.2:1|18.2:1"),
    ("round_10b", "14.3:1|18.3:1"),
    ("edge_mask", "20.0:16|24.0:16"),
    ("reads_per_plane", "24.8:8 25.8:8 26.8:8 27.8:8|28.8:8"),
    ("forced_exponent", "41.0:8 49.0:8|50.0:8 62.0:8"),
    ("add_dst_address", "41.8:1|50.8:1"),
    ("unpack_y_stride", "44.12:12 46.12:12|56.16:16 58.16:16"),
    ("unpack_z_stride", "45.0:12 47.0:12|57.0:16 59.0:16"),
    ("unpack_w_stride", "45.12:16 47.12:16|57.16:16 59.16:16"),
    ("l1_format", "52.0:4 92.0:4|64.0:4 112.0:4"),
    ("descriptor_uncompressed", "52.4:1 92.4:1|64.4:1 112.4:1"),
    ("x_dim", "52.16:16 92.16:16|64.16:16 112.16:16"),
    ("y_dim", "53.0:16 93.0:16|65.0:16 113.0:16"),
    ("z_dim", "53.16:16 93.16:16|65.16:16 113.16:16"),
    ("exponent_section", "56.16:16 84.16:16 96.16:16 124.16:16|68.16:16"),
    ("pack_address", "57.0:32 85.0:32 97.0:32 125.0:32|69.0:32"),
    ("pack_uncompressed", "58.0:1 86.0:1 98.0:1 126.0:1|70.0:1"),
    ("pack_out_format", "58.4:4 86.4:4 98.4:4 126.4:4|70.4:4"),
    ("pack_in_format", "58.8:4 86.8:4 98.8:4 126.8:4|70.8:4"),
    ("l1_accumulate", "59.21:1 87.21:1 99.21:1 127.21:1|71.19:1"),
    ("unpack_e4m3", "-|71.22:1 119.22:1"),
    ("pack_e4m3", "-|71.23:1"),
    ("unpack_out_format", "60.0:4 100.0:4|72.0:4 120.0:4"),
    ("throttle", "60.4:2 100.4:2|72.4:2 120.4:2"),
    ("transpose", "60.8:1 100.8:1|72.8:1 120.8:1"),
    ("tilise", "60.9:1 100.9:1|72.9:1 120.9:1"),
    ("descriptor_to_dst", "60.11:1|72.11:1"),
    ("shift_amounts", "60.16:12|72.16:12"),
    ("uncompressed", "61.0:1 101.0:1|73.0:1 121.0:1"),
    ("unpack_to_dst", "61.4:1|73.4:1"),
    ("force_exponent", "61.8:1 101.8:1|73.8:1 121.8:1"),
    ("base_address", "64.0:32 104.0:32|76.0:32 124.0:32"),
    ("dst_address", "72.0:16|84.0:16"),
    ("context_x_dim", "74.0:16|86.0:16"),
    ("packer_dst_offset", "152.0:12 153.0:12 154.0:12 155.0:12|180.0:12"),
    ("prng_seed", "164.0:32|186.0:32"),
    ("swizzle_32b", "-|220.0:1"),
    ("remap_addrs", "-|220.1:1"),
    ("zeroacc_absolute_tile_mode", "-|220.3:1"),
)
_MODIFIERS = range(8)
_PACK_MODIFIERS = range(4)


def _words(first: int, step: int, width: int, numbers: range) -> str:
    return " ".join(f"{first + step * number}.0:{width}" for number in numbers)


_THREAD_FIELDS = (
    ("state_id", "0.0:1"),
    ("math_offset", "1.0:12"),
    ("modifier_base", "2.0:1|-"),
    ("implied_src_a_disabled", "-|2.0:1"),
    ("implied_src_b_disabled", "-|3.0:1"),
    ("override_with_address", "3.2:1|5.2:1"),
    ("clear_dvalid_disable", "5.0:2|7.0:2"),
    ("fidelity_base", "6.0:2|11.0:2"),
    ("ab_modifier", f"{_words(7, 2, 16, _MODIFIERS)}|{_words(12, 1, 16, _MODIFIERS)}"),
    ("dst_modifier", f"{_words(23, 1, 16, _MODIFIERS)}|{_words(28, 1, 16, _MODIFIERS)}"),
    ("bias_modifier", f"{_words(48, 1, 5, _MODIFIERS)}|{_words(47, 1, 5, _MODIFIERS)}"),
    ("pack_modifier", f"{_words(31, 1, 16, _PACK_MODIFIERS)}|{_words(37, 1, 16, _PACK_MODIFIERS)}"),
)

Fields = dict[str, tuple[Place, ...]]
"""Places of each field by name: one, or one for each unit or address modifier."""


def _places(text: str, number: int) -> tuple[Place, ...]:
    """Return the places that chip `number` has of a list in the form of the tables."""
    of_chips = text.split("|")
    places = []
    for each in of_chips[number % len(of_chips)].split(" "):
        if each != "-":
            register, _, bits = each.partition(".")
            low, _, width = bits.partition(":")
            places.append(Place(register=int(register), low=int(low), width=int(width)))
    return tuple(places)


def _of_chips(table: tuple[tuple[str, str], ...]) -> dict[Chip, Fields]:
    return {chip: {name: _places(text, number) for name, text in table} for number, chip in enumerate(Chip)}


FIELDS = _of_chips(_FIELDS)
"""Fields of the registers that all threads share."""
THREAD_FIELDS = _of_chips(_THREAD_FIELDS)
"""Fields of a thread's own registers; modifiers are whole words, of which Rwc and Adc know the fields."""
