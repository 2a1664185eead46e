"""Numbers of the thread's configuration registers that hold address modifiers; SETC16 writes them."""

from amaranth.lib import data

from bitpath.golden.tensix.declarations.config_fields import THREAD_FIELDS

THREAD_WRITE = data.StructLayout({"register": 8, "value": 16})
"""Layout of a write to a thread's configuration register; units leave writes to other registers than their own alone."""
_NUMBERS = {
    chip: {name: [place.register for place in places] for name, places in fields.items()}
    for chip, fields in THREAD_FIELDS.items()
}
AB, DST, BIAS, PACK = (
    {chip: numbers[f"{name}_modifier"] for chip, numbers in _NUMBERS.items()} for name in ("ab", "dst", "bias", "pack")
)
"""Registers of the modifiers, by number."""
SET_BASE = {chip: register for chip, numbers in _NUMBERS.items() for register in numbers["modifier_base"]}
"""Register whose bit 0 is ADDR_MOD_SET_Base; Blackhole has none."""
