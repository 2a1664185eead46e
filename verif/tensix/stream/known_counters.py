"""Programs for the counters in the archive of known answers, and units that play them."""

import os
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import numpy as np

from bitpath.golden.tensix.core.rwc import COUNTERS
from bitpath.golden.tensix.declarations.encodings import CHANNELS, DIMENSIONS, UNITS
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.rtl.tensix.stream.counters import AB, BIAS, DST
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.packing import unpack
from bitpath.verif.tensix.stream.counters import AddressCounters, CounterTable, Rwcs
from bitpath.verif.tensix.stream.known_programs import ARCHIVE

PREFIXES = {Chip.WORMHOLE: "wh", Chip.BLACKHOLE: "bh"}


def _archived(chip: Chip, kind: str) -> dict[str, list]:
    """Return the chip's arrays of a kind, "r" or "a", by their names."""
    prefix = f"{PREFIXES[chip]}_{kind}_"
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / ARCHIVE) as archive:
        return {name.removeprefix(prefix): archive[name].tolist() for name in archive if name.startswith(prefix)}


async def play_rwc_programs(dut, signature, model: Rwcs) -> None:
    """Play every program of the chip from a reset."""
    archive, chip = _archived(model.chip, "r"), model.chip

    def flat(state) -> list[int]:
        counters = [state[name][part] for name in COUNTERS for part in ("value", "carry")]
        return [*counters, state.fidelity_phase, state.extra_bit]

    writes = [
        [
            (place, value)
            for places, values in zip((AB, DST, BIAS), mods, strict=True)
            for place, value in zip(places[chip], values, strict=True)
        ]
        for mods in archive["addr_mods"]
    ]
    await _play(dut, signature, model, writes, archive, flat)


async def play_adc_programs(dut, signature, model: AddressCounters) -> None:
    """Play every program of the chip from a reset."""
    archive = _archived(model.chip, "a")

    def flat(state) -> list[int]:
        return [
            state[unit][channel][name][part]
            for unit in range(UNITS)
            for part in ("value", "carry")
            for channel in range(CHANNELS)
            for name in DIMENSIONS
        ]

    archive["state"] = [[[*chain.from_iterable(units)] for units in program] for program in archive["state"]]
    await _play(dut, signature, model, [[]] * len(archive["in"]), archive, flat)


async def _play(dut, signature, model, writes, archive, flat: Callable) -> None:
    """Compare each number of the unit's state with the archive's."""
    async with bench(dut, signature, drain=False) as frame:
        table = CounterTable(frame, model, pauses.rng("junk"))
        answers = frame.scoreboard("known answers", 32, output="state")
        for case, (words, states) in enumerate(zip(archive["in"], archive["state"], strict=True)):
            await frame.reset()
            model.restart()
            for write in writes[case]:
                await table.cycle(write=write)
            expected = None
            for word, after in zip([*words, None], [*states, None], strict=True):
                await table.cycle(None if word is None else model.fields_of(word))
                if expected is not None:
                    found = flat(unpack(model.state_layout, table.seen))
                    for number, answer in zip(found, expected, strict=True):
                        answers.expect(answer, f"program {case}, before {word}")
                        answers.got(number)
                expected = after
