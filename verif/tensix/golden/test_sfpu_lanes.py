"""The Vector unit's vectorised model equals the exact one: every instruction, modifier and lane rule of both chips."""

from dataclasses import replace

import numpy as np
import pytest

from bitpath.golden.tensix.declarations.encodings import BY_NAME, UndefinedBehavior
from bitpath.golden.tensix.declarations.formats import Chip, Format
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS, WORMHOLE, WORMHOLE_DOCUMENTED, StochasticCompare
from bitpath.golden.tensix.declarations.sfpu import LANES
from bitpath.golden.tensix.exact import sfpu_unit
from bitpath.golden.tensix.isa import Instruction, decode
from bitpath.golden.tensix.isa.words import word_of
from bitpath.golden.tensix.sfpu import Lanes
from bitpath.golden.tensix.sfpu.execute import execute
from bitpath.golden.tensix.sfpu.macro import LoadMacroConfig, schedule
from bitpath.golden.tensix.sfpu.run import Batch
from bitpath.verif.tensix.golden.vector import instructions, random_lanes, random_macro

OF_CHIP = pytest.mark.parametrize("chip", Chip, ids=lambda each: each.value)
OTHERS = {
    "sfpabs_clears_infinity": False,
    "sfpstore_flush": False,
    "stochastic_compare": StochasticCompare.ALL_BITS,
}
"""Numerics that the presets of the chips do not have."""
LOADS_AND_STORES = ("SFPLOAD", "SFPSTORE", "SFPLOADMACRO")


def exact_units(lanes):
    """Return the exact model's units of a batch's states."""
    flags, use_flags = (each.tolist() for each in lanes.stack)
    units = []
    for unit in range(lanes.batch[0]):
        own = [
            sfpu_unit.Lane(
                registers=lanes.lreg[:, unit, lane].tolist(),
                flag=bool(lanes.flags[unit, lane]),
                conditional=bool(lanes.use_flags[unit, lane]),
                stack=[(flags[k][unit][lane], use_flags[k][unit][lane]) for k in range(int(lanes.depth[unit, lane]))],
                random=int(lanes.prng[unit, lane]),
                config=int(lanes.lane_config[unit, lane]),
                templates=lanes.templates[:, unit, lane].tolist(),
                sequences=lanes.sequences[:, unit, lane].tolist(),
                misc=int(lanes.misc[unit, lane]),
            )
            for lane in range(LANES)
        ]
        units.append(sfpu_unit.Unit(lanes=own, rotated=lanes.rotated[unit].tolist()))
    return units


def assert_equal(lanes, units, what):
    """Compare a batch with the exact model's units; entries above the stack's top are no state."""
    expected = exact_units(lanes)
    for got, right in zip(expected, units, strict=True):
        for number, (lane, exact) in enumerate(zip(got.lanes, right.lanes, strict=True)):
            assert lane == exact, (what, number)
        assert got.rotated == right.rotated, what


def test_sfpu_reset_is_the_exact_one():
    for preset in (WORMHOLE, WORMHOLE_DOCUMENTED):
        lanes = Lanes((1,), preset.numerics)
        assert exact_units(lanes)[0].lanes == sfpu_unit.reset(preset.numerics).lanes
        assert lanes.lreg[11:15, 0, 0].tolist() == [0xBF800000, 0x3B000000, 0xBF2CC4C7, 0xBEB08FF9]


@OF_CHIP
def test_sfpu_instructions_are_the_exact_ones(chip):
    rng = np.random.default_rng(66)
    names = [name for name in BY_NAME[chip] if name.startswith("SFP") and name not in LOADS_AND_STORES]
    executed = set()
    for name in names:
        for number, instruction in enumerate(instructions(rng, chip, name)):
            numerics = CHIP_PRESETS[chip].numerics if number % 2 else replace(CHIP_PRESETS[chip].numerics, **OTHERS)
            lanes = random_lanes(rng, 1, None if number % 4 else np.zeros(8, np.uint32))
            units, refused = exact_units(lanes), []
            for unit in units:
                try:
                    sfpu_unit.execute(unit, instruction, chip=chip, numerics=numerics)
                except UndefinedBehavior as error:
                    refused.append(str(error))
            if refused:
                with pytest.raises(UndefinedBehavior):
                    execute(lanes, instruction, chip, numerics)
                continue
            execute(lanes, instruction, chip, numerics)
            assert_equal(lanes, units, instruction)
            executed.add((name, instruction.fields.get("mod")))
    assert {name for name, _ in executed} == set(names)
    assert len(executed) > 400


# Loads, stores and scheduled instructions. The exact model has Dst as lists of rows.


def random_dst(rng, units=1):
    return rng.integers(0, 1 << 16, (units, 1024, 16), np.uint16)


@OF_CHIP
def test_sfpu_loads_and_stores_are_the_exact_ones(chip):
    """Every mode and register, odd and even columns, lanes that are blocked, indices; addresses that wrap."""
    rng, modes = np.random.default_rng(67), set()
    encodings = BY_NAME[chip]
    for number, name in enumerate(["SFPLOAD", "SFPSTORE"] * 64):
        mode = number // 2 % 16
        known = {each.name: 1 << each.width for each in encodings[name].fields}
        fields = {each: int(rng.integers(size)) for each, size in known.items()} | {"mod": mode}
        instruction = Instruction(name=name, fields=fields)
        lanes = random_lanes(rng, 1, None if number % 4 else np.zeros(8, np.uint32))
        fp32, fmt = bool(rng.integers(2)), (Format.FP32, Format.FP16, Format.BF16, Format.INT8)[number % 4]
        numerics = CHIP_PRESETS[chip].numerics
        bits = random_dst(rng)
        (unit,), dst = exact_units(lanes), bits[0].tolist()
        default = sfpu_unit.default_mode(fp32_enabled=fp32, src_b_format=fmt)
        access = sfpu_unit.Access(dst=dst, address=fields["address"], default_mode=default)
        sfpu_unit.execute(unit, instruction, chip=chip, numerics=numerics, access=access)
        batch = Batch(chip=chip, numerics=numerics, lanes=lanes, bits=bits, fp32=fp32, src_b_format=fmt)
        batch.execute(word_of(name, fields, chip))
        assert_equal(lanes, [unit], instruction)
        assert bits[0].tolist() == dst, instruction
        modes.add((name, mode))
    assert len(modes) == 32


def exact_macro(unit, dst, words, lanes, chip, numerics):
    """Execute a thread's words in the exact model by the cycles of `schedule`."""
    templates, sequences = (tuple(each[:, 0, 0].tolist()) for each in (lanes.templates, lanes.sequences))
    config = LoadMacroConfig(templates=templates, sequences=sequences, misc=int(lanes.misc[0, 0]))
    addresses, issued = {}, iter(words)
    for cycle in schedule(words, config, chip=chip):
        if cycle.accepted:
            fields = decode(next(word for word in issued if word >> 24 != 0x38), chip=chip).fields
            addresses[cycle.number] = fields.get("address", 0) << 1 | fields.get("vd_high", 0)
        together = [
            (
                each.instruction,
                each.origin is not None,
                sfpu_unit.Access(
                    dst=dst,
                    address=addresses.get(cycle.number if each.origin is None else each.origin, 0),
                    default_mode=3,
                ),
            )
            for each in cycle.executed
        ]
        sfpu_unit.execute_together(unit, together, chip=chip, numerics=numerics)


def run_all(batch, words):
    for word in words:
        batch.execute(word)
    batch.finish()


@OF_CHIP
def test_sfpu_scheduled_instructions_are_the_exact_ones(chip):
    rng, numerics = np.random.default_rng(68), CHIP_PRESETS[chip].numerics
    ran = refused = 0
    for _ in range(30):
        words, lanes = random_macro(rng, chip)
        bits = random_dst(rng)
        (unit,), dst = exact_units(lanes), bits[0].tolist()
        batch = Batch(chip=chip, numerics=numerics, lanes=lanes, bits=bits, fp32=True)
        try:
            exact_macro(unit, dst, words, lanes, chip, numerics)
        except UndefinedBehavior:
            with pytest.raises(UndefinedBehavior):
                run_all(batch, words)
            refused += 1
            continue
        run_all(batch, words)
        assert_equal(lanes, [unit], words)
        assert bits[0].tolist() == dst
        ran += 1
    assert ran > 8
    assert refused > 2
