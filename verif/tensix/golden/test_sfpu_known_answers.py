"""Known answers of ttsim v1.10.0 for the Vector unit: the exact tier must equal every one, bit for bit.

A test takes every n-th case; the deep ones take all.
"""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest

from bitpath.golden.tensix.declarations.formats import Chip, Format
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS, WORMHOLE_DOCUMENTED
from bitpath.golden.tensix.declarations.sfpu import CONSTANTS, LANES
from bitpath.golden.tensix.exact.sfpu_unit import Access, Lane, Unit, default_mode, execute
from bitpath.golden.tensix.isa import decode
from bitpath.verif.kit.known_answers import Archive, answers, skip_absent
from bitpath.verif.tensix.golden.sfpu_answers import CHIPS, NO_L0, OF_CHIP, LoadStore

RANDOM, TEMPLATES, SEQUENCES, MISC, CONFIG = 32, 40, 44, 48, 49
"""Numbers of what a case changes, beyond those of the registers."""


def every(stride):
    """Return a parameter of the tests: each case of so many, or all of them."""
    all_cases = pytest.param(1, marks=pytest.mark.deep, id="all")
    return pytest.mark.parametrize("stride", [pytest.param(stride, id="sample"), all_cases])


def bits(word):
    return [bool(word >> lane & 1) for lane in range(LANES)]


def unit_of(registers, programmed, flags, conditional, stack=(), *, random=(0,) * LANES, **config):
    """Return a unit; `registers` are LReg 0 to 7, `programmed` 11 to 14, flags words, the stack pairs of word and flag."""
    lanes, flags, stack = [], bits(flags), [(bits(word), bool(use)) for word, use in stack]
    for lane in range(LANES):
        values = [*(register[lane] for register in registers), *CONSTANTS.values(), *programmed, 2 * lane, 0]
        lanes.append(
            Lane(
                registers=values,
                flag=flags[lane],
                conditional=bool(conditional),
                stack=[(own[lane], use) for own, use in stack],
                random=random[lane],
                **{name: list(value) if isinstance(value, list) else value for name, value in config.items()},
            )
        )
    return Unit(lanes=lanes)


def state_of(unit):
    """Return the state as a list of integers."""
    state = []
    for lane in unit.lanes:
        state += [*lane.registers, lane.flag, lane.conditional, len(lane.stack), lane.random]
        state += [each for entry in lane.stack for each in entry]
        state += [*lane.templates, *lane.sequences, lane.misc, lane.config]
    return state


# Single instructions.


def singles(archive: Archive, stride: int, label: str = "") -> Iterator[tuple[int, Unit, Unit]]:
    """Yield cases: the word, the unit before it and after it."""
    changes, chosen = defaultdict(list), archive["d_case"] % stride == 0
    for case, *changed in zip(
        *(archive[f"d_{name}"][chosen].tolist() for name in ("case", "reg", "lanes", "val")), strict=True
    ):
        changes[case].append(changed)
    names = ("l", "lprog", "cc", "cc_en", "sp", "st_cc", "st_en", "prng", "templ", "seq", "misc")
    given = ("word", "state", "lane_config", "l0", "label", "cc_out", "cc_en_out", "sp_out", "top_cc_out", "top_en_out")
    for case, (word, state, config, l0, own, flags, use, depth, top, top_use) in enumerate(archive.lists(*given)):
        if case % stride or not str(archive["labels"][own]).startswith(label):
            continue
        drawn = (archive[f"pool_{name}"][state].tolist() for name in names)
        registers, programmed, cc, cc_en, sp, st_cc, st_en, random, templates, sequences, misc = drawn
        if l0 != NO_L0:
            registers = [[l0] * LANES, *registers[1:]]
        stack = list(zip(st_cc, st_en, strict=True))[:sp]
        own_config = {"templates": templates, "sequences": sequences, "misc": misc, "config": config}
        before = unit_of(registers, programmed, cc, cc_en, stack, random=random, **own_config)
        stack = [*stack[: depth - 1], (top, top_use)] if depth else []
        after = unit_of(registers, programmed, flags, use, stack, random=random, **own_config)
        for number, lanes, values in changes[case]:
            for lane, value, changed in zip(after.lanes, values, bits(lanes), strict=True):
                if changed:
                    change(lane, number, value)
        yield word, before, after


def change(lane, number, value):
    if number < RANDOM:
        lane.registers[number] = value
    elif number == RANDOM:
        lane.random = value
    elif number == MISC:
        lane.misc = value
    elif number == CONFIG:
        lane.config = value
    elif number < SEQUENCES:
        lane.templates[number - TEMPLATES] = value
    else:
        lane.sequences[number - SEQUENCES] = value


@OF_CHIP
@every(24)
@answers("sfpu_{chip}_single")
def test_single_instructions(archive, chip, stride):
    of_chip = CHIPS[chip]
    for word, unit, after in singles(archive, stride):
        execute(unit, decode(word, chip=of_chip), chip=of_chip, numerics=CHIP_PRESETS[of_chip].numerics)
        yield state_of(after), state_of(unit)


def test_absolute_value_of_minus_infinity_as_documented(kat):
    """The functional model of the page leaves it; some answers tell."""
    archive, different = kat("sfpu_wh_single"), 0
    for word, unit, after in singles(archive, 1, "SFPABS/1"):
        execute(unit, decode(word), chip=Chip.WORMHOLE, numerics=WORMHOLE_DOCUMENTED.numerics)
        different += state_of(after) != state_of(unit)
    skip_absent(archive.name, {"SFPABS of -infinity": different})


# Loads, stores and programs.


class Run:
    """A unit with Dst and what addresses depend on."""

    def __init__(
        self, unit: Unit, chip: Chip, dst: list[list[int]], *, fp32: int, src_b: int, steps: list[int], rwc: int
    ):
        self.unit, self.chip, self.dst, self.rwc, self.steps = unit, chip, dst, rwc, steps
        self.default_mode = default_mode(fp32_enabled=bool(fp32), src_b_format=Format(src_b))

    def step(self, word: int, math_offset: int = 0) -> None:
        """Execute a word of the Vector unit, or INCRWC."""
        instruction = decode(word, chip=self.chip)
        if instruction.name == "INCRWC":
            self.rwc = (self.rwc + instruction["dst"]) % 1024
            return
        address = (instruction.fields.get("address", 0) + math_offset + self.rwc) % 1024
        access = Access(dst=self.dst, address=address, default_mode=self.default_mode)
        execute(self.unit, instruction, chip=self.chip, numerics=CHIP_PRESETS[self.chip].numerics, access=access)
        if "modifier" in instruction.fields:
            self.rwc = (self.rwc + self.steps[instruction["modifier"]]) % 1024


@OF_CHIP
@every(19)
@answers("sfpu_loadstore")
def test_loads_and_stores(archive, chip, stride):
    own = archive.part(f"{chip}_")
    pools = own["dst_pool"].tolist(), own["lreg_pool"].tolist()
    for case in list(map(LoadStore._make, own.lists(*LoadStore._fields)))[::stride]:
        contents = [[0] * 16 for _ in range(1024)]
        for row, words in zip(case.rows, pools[0][case.dst_idx], strict=True):
            if row >= 0:
                contents[row] = list(words)
        instruction = decode(case.word, chip=CHIPS[chip])
        unit = unit_of([[0] * LANES] * 8, [0] * 4, case.cc, case.cc_en)
        for lane, value in zip(unit.lanes, pools[1][case.lreg_idx], strict=True):
            lane.registers[instruction["vd"]] = value
        run = Run(unit, CHIPS[chip], contents, fp32=case.fp32, src_b=case.srcb, steps=case.dst_incr, rwc=case.rwc)
        run.step(case.word, case.math_offset)
        got = unit.register(instruction["vd"])
        if case.is_store:
            places = [(lane // 8, 2 * (lane % 8) + (case.addr >> 1 & 1)) for lane in range(LANES)]
            got = [contents[case.rows[row]][column] for row, column in places]
            if case.rows[4] >= 0:
                halves = [contents[case.rows[4 + row]][column] for row, column in places]
                got = [upper << 16 | lower for upper, lower in zip(got, halves, strict=True)]
        yield [*case.out, case.rwc_after], [*got, run.rwc]


def sequence_state(unit, rwc, dst):
    lanes = [[*lane.registers[:16], lane.random, *np.ravel(lane.stack).tolist()] for lane in unit.lanes]
    return [each for part in (*lanes, *dst[:32], [rwc]) for each in part]


@OF_CHIP
@every(9)
@answers("sfpu_seq")
def test_programs(archive, chip, stride):
    """Conditions and the RWC after every word, and the whole state at the end."""
    own = archive.part(f"{chip}_")
    trace = list(own.lists("word", "trace_cc", "trace_cc_en", "trace_sp", "trace_rwc"))
    ends = own["offset"].tolist()
    names = ("l", "lprog", "cc", "cc_en", "sp", "st_cc", "st_en", "prng", "rwc", "dst")
    states = [own.lists(*(f"{when}_{name}" for name in names)) for when in ("before", "after")]
    settings = own.lists("fp32", "srcb", "dst_incr")
    for program, (before, after, (fp32, src_b, steps)) in enumerate(zip(*states, settings, strict=True)):
        if program % stride:
            continue
        units = []
        for registers, programmed, cc, cc_en, sp, st_cc, st_en, random, _, _ in (before, after):
            stack = list(zip(st_cc, st_en, strict=True))[:sp]
            units.append(unit_of(registers, programmed, cc, cc_en, stack, random=random))
        dst = [list(row) for row in before[-1]] + [[0] * 16 for _ in range(32, 1024)]
        run = Run(units[0], CHIPS[chip], dst, fp32=fp32, src_b=src_b, steps=steps, rwc=before[-2])
        for word, cc, cc_en, sp, rwc in trace[ends[program] : ends[program + 1]]:
            run.step(word)
            lanes = run.unit.lanes
            flags = sum(lane.flag << i for i, lane in enumerate(lanes))
            conditional, depth = {lane.conditional for lane in lanes}, {len(lane.stack) for lane in lanes}
            yield [cc, cc_en, sp, rwc], [flags, *map(int, conditional), *depth, run.rwc]
        yield sequence_state(units[1], after[-2], after[-1]), sequence_state(run.unit, run.rwc, dst)


@OF_CHIP
@every(27)
@answers("sfpu_compiled")
def test_compiled_functions(archive, chip, stride):
    """Streams of a published compiler; with FP32 off, the upper 16 bits of Dst's words are BF16."""
    own = archive.part(f"{chip}_")
    words, ends = own["word"].tolist(), own["offset"].tolist()
    runs = list(own.lists("program", "fp32", "lreg", "lprog", "din", "dout", "after_l", "after_rwc"))
    for program, fp32, registers, programmed, before, after, after_registers, after_rwc in runs[::stride]:
        dst = [[0] * 16 for _ in range(1024)]
        for row, logical in enumerate(before):
            upper = (row & 0x1F8) << 1 | row & 0x207 if fp32 else row
            dst[upper] = [in_order(word >> 16) for word in logical]
            if fp32:
                dst[upper + 8] = [word & 0xFFFF for word in logical]
        unit = unit_of(registers, programmed, 0xFFFFFFFF, 1)
        run = Run(unit, CHIPS[chip], dst, fp32=fp32, src_b=Format.BF16, steps=[0] * 8, rwc=0)
        for word in words[ends[program] : ends[program + 1]]:
            run.step(word)
        got = []
        for row in range(len(after)):
            upper = (row & 0x1F8) << 1 | row & 0x207 if fp32 else row
            lower = dst[upper + 8] if fp32 else [0] * 16
            got += [in_order(word, back=True) << 16 | low for word, low in zip(dst[upper], lower, strict=True)]
        expected = [word for row in (*after, *after_registers) for word in row]
        got += [each for number in range(8) for each in unit.register(number)]
        yield [*expected, after_rwc], [*got, run.rwc]


def in_order(word, *, back=False):
    """Return sign, exponent and fraction of BF16 as Dst has them, sign, fraction, exponent; or back."""
    sign, first, second = (
        (word >> 15, word >> 8 & 0x7F, word & 0xFF) if back else (word >> 15, word >> 7 & 0xFF, word & 0x7F)
    )
    return sign << 15 | (second << 7 | first if back else second << 8 | first)
