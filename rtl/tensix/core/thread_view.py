"""State that an instruction sees: its fields, its thread's configuration, and its thread's counters."""

from amaranth.lib import data

from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.rtl.tensix.core.config_file import config_layout, thread_config_layout
from bitpath.rtl.tensix.core.decode import instruction_layout
from bitpath.rtl.tensix.stream.counters import ADC_STATE, RWC_STATE


def view_layout(chip: Chip) -> data.StructLayout:
    """Return the layout of an instruction with the state of its thread; ``shared`` is the bank that the thread uses."""
    return data.StructLayout(
        {
            "instruction": instruction_layout(chip),
            "thread": 2,
            "shared": config_layout(chip),
            "own": thread_config_layout(chip),
            "rwc": RWC_STATE,
            "adc": ADC_STATE,
        }
    )
