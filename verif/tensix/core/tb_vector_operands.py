"""Bench of the Vector unit's operands: every instruction in random states, against golden's modes and addresses."""

from random import Random

from cocotb.triggers import Timer

from bitpath.golden.tensix.core.state import State
from bitpath.golden.tensix.declarations.encodings import BY_NAME
from bitpath.golden.tensix.declarations.formats import Chip, Format
from bitpath.golden.tensix.declarations.sfpu import StoreMode
from bitpath.golden.tensix.isa import Instruction, decode, encode
from bitpath.golden.tensix.operands.registers import permuted_row
from bitpath.golden.tensix.sfpu.access import WIDE, address_of, immediate_of, mode_of
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.decode import VECTOR
from bitpath.rtl.tensix.core.vector_access import VectorOperands
from bitpath.rtl.tensix.matrix.matrix_unit import DstAccess
from bitpath.rtl.tensix.sfpu.layouts import SfpuRequest
from bitpath.verif.kit.unit_bench import UnitBench, cases, cross, pack, pauses, resolved
from bitpath.verif.tensix.program.golden_core import MATH
from bitpath.verif.tensix.program.views import other_fields, random_state, set_own, set_shared, view_of

BENCH = UnitBench(VectorOperands, ChipConfig)
CONFIG = BENCH.config
CHIP = CONFIG.chip
CASES = cases(200)
ACCESSES = tuple(WIDE)
OTHERS = tuple(name for name in VECTOR if name in BY_NAME[CHIP] and name not in ACCESSES)


def any_state(rng: Random) -> State:
    """Return a random state; most have a known format for mode 0."""
    state = random_state(CHIP, rng, 64)
    if rng.random() < 0.8:
        set_shared(state, "src_b_format", rng.choice([*Format]))
        if CHIP is Chip.BLACKHOLE:
            set_own(state, "sfpu_dst_format", rng.choice([*Format]))
    return state


def mode_in(state: State, instruction: Instruction) -> StoreMode | None:
    """Return the mode of an access, or None if an unknown format decides it."""
    config, code = state.config, state.config.read("src_b_format", MATH)
    if CHIP is Chip.BLACKHOLE and config.of_thread("sfpu_dst_format_enable", MATH):
        code = config.of_thread("sfpu_dst_format", MATH)
    if instruction["mod"] == 0 and code not in [*Format]:
        return None
    fmt = Format(code) if instruction["mod"] == 0 else Format.BF16
    return StoreMode(mode_of(instruction["mod"], fp32=bool(config.read("sfpu_fp32", MATH)), src_b_format=fmt))


@BENCH.test("vector_operands.accesses", "A load of other rows, or in another format, is another tile's")
async def accesses(frame):
    """SFPLOAD, SFPLOADMACRO and SFPSTORE in every mode: address, format of mode 0 and rows; what a core refuses."""
    rng, dut = pauses.rng("accesses"), frame.dut
    records, rows = frame.scoreboard("o", SfpuRequest), frame.scoreboard("access", DstAccess)
    refusals = frame.scoreboard("refused", 1)
    coverage = frame.coverage(cross(ACCESSES, range(16)))
    every = [(name, mode) for name in ACCESSES for mode in range(16)]
    for name, number in [*every, *rng.choices(every, k=CASES)]:
        state = any_state(rng)
        fields = {each.name: rng.getrandbits(each.width) for each in BY_NAME[CHIP][name].fields} | {"mod": number}
        word = encode(name, chip=CHIP, **fields)
        instruction, mode = decode(word, chip=CHIP), None
        dut.view.value = view_of(state, MATH, instruction, other_fields(CHIP, rng, ACCESSES))
        dut.word.value = word
        await Timer(1, unit="ns")
        mode = mode_in(state, instruction)
        refused = mode is None or (CHIP is Chip.BLACKHOLE and mode is StoreMode.INT32_ALL)
        refusals.compare(resolved(dut.refused), int(refused), str(instruction))
        coverage.hit(name, number)
        assert resolved(dut.accesses)
        if refused:
            continue
        config, rwc = state.config, state.rwc[MATH]
        stack = config.read("dst_stack_base", MATH) if CHIP is Chip.BLACKHOLE else 0
        address = address_of(
            immediate_of(instruction) + config.of_thread("math_offset", MATH),
            mode,
            dst=rwc.dst + config.read("dst_base", MATH),
            stack=stack,
        )
        wide = mode in WIDE[name]
        row = permuted_row(address & ~3, remap=state.dst.remapped, swizzle=wide and state.dst.swizzled)
        implied = mode.value if number == 0 else resolved(dut.o) >> SfpuRequest.as_shape()["implied"].offset & 3
        expected = {"word": word, "address": address, "implied": implied}
        records.compare(resolved(dut.o), pack(SfpuRequest, expected), str(instruction))
        rows.compare(resolved(dut.access), pack(DstAccess, {"row": row, "dst32": wide}), str(instruction))


@BENCH.test("vector_operands.others", "An instruction of lanes alone must not wait for Dst")
async def other_instructions(frame):
    """Every other instruction: its word, no access, and no refusal."""
    rng, dut = pauses.rng("others"), frame.dut
    words, flags = frame.scoreboard("word", 32, output="o"), frame.scoreboard("accesses", 2)
    coverage = frame.coverage(OTHERS)
    for name in OTHERS:
        fields = {each.name: rng.getrandbits(each.width) for each in BY_NAME[CHIP][name].fields}
        word = encode(name, chip=CHIP, **fields)
        dut.view.value = view_of(any_state(rng), MATH, decode(word, chip=CHIP), other_fields(CHIP, rng, ACCESSES))
        dut.word.value = word
        await Timer(1, unit="ns")
        coverage.hit(name)
        words.compare(resolved(dut.o) & 0xFFFFFFFF, word, name)
        flags.compare(resolved(dut.accesses) | resolved(dut.refused) << 1, 0, name)
