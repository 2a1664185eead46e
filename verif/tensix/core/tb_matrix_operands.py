"""Bench of the Matrix unit's operands: every instruction in random states, against golden's operands and golden's ZEROACC."""

from random import Random

import numpy as np
from cocotb.triggers import Timer

from bitpath.golden.tensix.core.math import ELEMENTWISE, POOLS, execute_product, operands_of, zeroacc
from bitpath.golden.tensix.core.state import State
from bitpath.golden.tensix.declarations.formats import (
    DST16_ROWS,
    DST32,
    FACE,
    STYLE_FORMATS,
    Chip,
    Format,
    Style,
)
from bitpath.golden.tensix.isa import Instruction
from bitpath.golden.tensix.operands.registers import permuted_row
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.decode import MATRIX, PRODUCTS
from bitpath.rtl.tensix.core.matrix_operands import MatrixOperands
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.matrix.instruction import Instruction as Record
from bitpath.rtl.tensix.matrix.instruction import Opcode, Zeroed
from bitpath.verif.kit.unit_bench import UnitBench, cases, cross, pack, pauses, resolved, unpack
from bitpath.verif.tensix.program.golden_core import MATH
from bitpath.verif.tensix.program.views import (
    implied_formats,
    other_fields,
    random_instruction,
    random_state,
    seldom,
    set_own,
    set_shared,
    view_of,
)

BENCH = UnitBench(MatrixOperands, ChipConfig)
CONFIG = BENCH.config
CHIP = CONFIG.chip
CASES = cases(40)
L1_BYTES = 64
FATES = ("executed", "refused")


def any_state(rng: Random) -> State:
    """Return a state whose formats mostly go together; half of the states have no other reason for a refusal."""
    state = random_state(CHIP, rng, L1_BYTES)
    style = rng.choice([*Style])
    formats = [*STYLE_FORMATS[style]]
    # SrcA's format decides between BF16 and TF32.
    of_a = [fmt for fmt in formats if (fmt is Format.TF32) == (style is Style.TF32)]
    codes = [rng.choice(of_a), rng.choice(formats)]
    if seldom(rng, 0.25):
        codes[rng.getrandbits(1)] = rng.getrandbits(4)
    set_shared(state, "int8_math", int(style is Style.INT8))
    for name, code, bank in zip("ab", codes, (state.src_a, state.src_b), strict=True):
        implied = CHIP is Chip.BLACKHOLE and rng.getrandbits(1)
        other = rng.getrandbits(4)
        set_shared(state, f"src_{name}_format", other if implied else code)
        if CHIP is Chip.BLACKHOLE:
            set_own(state, f"implied_src_{name}_disabled", 0 if implied else 1)
        bank.formats[:] = [None if seldom(rng, 0.1) else code if implied else other] * 2
        bank.owned[:] = [True, True]
    if rng.getrandbits(1):
        counters = state.rwc[MATH]
        state.rwc[MATH] = type(counters)(**{**vars(counters), "src_a": counters.src_a & 0x30, "fidelity_phase": 0})
        set_own(state, "fidelity_base", 0)
        set_shared(state, "zero_flag_disabled_src", 0)
    return state


async def applied(dut, rng: Random, state: State, instruction: Instruction) -> tuple[int, int]:
    """Return whether an instruction is refused, and the bits of its record."""
    dut.view.value = view_of(state, MATH, instruction, other_fields(CHIP, rng, MATRIX))
    dut.implied.value = implied_formats(state)
    await Timer(1, unit="ns")
    return resolved(dut.refused), resolved(dut.o)


def expected_record(state: State, instruction: Instruction) -> tuple[bool, dict]:
    """Return whether a core refuses a product, and its record, after golden has executed it."""
    name = instruction.name
    try:
        operands = operands_of(state, MATH, instruction)
    except ValueError:
        return True, {}
    broadcasts = instruction.fields.get("broadcast_row", 0)
    wide = operands.layout is DST32
    swizzles = wide and state.dst.swizzled
    refused = (name == "GMPOOL" and bool(operands.src_a_row % FACE)) or (swizzles and name not in POOLS)
    try:
        execute_product(state, MATH, instruction)
    except ValueError:
        refused = True
    banks = {"a": state.src_a, "b": state.src_b}
    record = {
        "opcode": Opcode["MVMUL" if name == "DOTPV" and broadcasts else name],
        "style": StyleCode[operands.style.name],
        "dst32": wide,
        "phase": operands.phase,
        "src_a_format": operands.formats[0],
        "src_b_format": operands.formats[1],
        "src_a_row": operands.src_a_row,
        "src_b_row": operands.src_b_row,
        "dst_row": permuted_row(operands.dst_row, remap=state.dst.remapped, swizzle=swizzles),
        "broadcast_row": broadcasts,
        "broadcast_column": instruction.fields.get("broadcast_column", 0),
        "keep_src_b_denormals": name in ELEMENTWISE and operands.keeps_denormals,
        "accumulate": instruction.fields.get("add_dst", 0),
        "argmax": instruction.fields.get("argmax", 0),
        **{f"flip_{side}": each.matrix_bank for side, each in banks.items()},
        **{f"release_{side}": not each.owned[0] for side, each in banks.items()},
    }
    return refused, record


@BENCH.test(
    "matrix_operands.products", "Each kind aligns its rows in its own way, and Blackhole reads formats from the banks"
)
async def products(frame):
    """Every product in random states, with formats of every style, configured or implied: the whole record, or a
    refusal where golden refuses."""
    rng = pauses.rng("states")
    records, flags = frame.scoreboard("o", Record), frame.scoreboard("refused", 1)
    coverage = frame.coverage(cross(PRODUCTS, FATES))
    for name in PRODUCTS:
        for case in range(CASES):
            state, instruction = any_state(rng), random_instruction(CHIP, rng, name)
            refused, bits = await applied(frame.dut, rng, state, instruction)
            shown = f"case {case}, {instruction}"
            expected, record = expected_record(state, instruction)
            flags.compare(refused, int(expected), shown)
            coverage.hit(f"{name}/{FATES[expected]}")
            if not expected:
                records.compare(bits, pack(Record, record), shown)


def zeroed_rows(state: State, record: dict) -> np.ndarray:
    """Return which 16-bit rows of Dst a ZEROACC's record makes undefined."""
    row, rows = record["dst_row"], np.zeros(DST16_ROWS, bool)
    match Zeroed(record["zeroed"]):
        case Zeroed.ROW:
            rows[row] = True
        case Zeroed.SIXTEEN:
            rows[state.dst.rows(row & ~(FACE - 1), FACE, dst32=bool(record["dst32"]))] = True
        case Zeroed.HALF:
            half = DST16_ROWS // 2
            rows[row // half * half :][:half] = True
        case Zeroed.ALL:
            rows[:] = True
    return rows


@BENCH.test(
    "matrix_operands.zeroed",
    "A 32-bit row has its flag at another place, and Blackhole goes on in the other half",
    "ZEROACCs of every mode, with any counter and offset: the rows of the record are those that golden makes "
    "undefined; 16 rows that there are not are refused",
)
async def zeroed(frame):
    """ZEROACCs in every mode: the rows of the record are those that golden makes undefined; for 16 rows that there are not the unit
    idles."""
    rng = pauses.rng("states")
    rows, flags = frame.scoreboard("rows", DST16_ROWS, output="o"), frame.scoreboard("flags", 2, output="idles")
    coverage = frame.coverage([mode.name for mode in Zeroed])
    for mode in Zeroed:
        coverage.hit(mode.name)
        for case in range(2 * CASES):
            state = any_state(rng)
            operand = case % 64 if mode is Zeroed.SIXTEEN and case % 3 else rng.getrandbits(8)
            instruction = random_instruction(CHIP, rng, "ZEROACC", mode=mode.value, revert=0, operand=operand)
            refused, bits = await applied(frame.dut, rng, state, instruction)
            record = unpack(Record, bits)
            state.dst.defined[:] = True
            zeroacc(state, MATH, instruction)
            undefined = ~state.dst.defined
            shown = f"case {case}, {instruction}"
            # Golden does nothing to 16 rows that do not exist; remapped ones do not stay together.
            refuses = mode is Zeroed.SIXTEEN and state.dst.remapped and undefined.any()
            flags.compare(resolved(frame.dut.idles) | refused << 1, int(not undefined.any()) | refuses << 1, shown)
            if undefined.any() and not refuses:
                assert Opcode(record["opcode"]) is Opcode.ZEROACC
                assert mode is Zeroed.SIXTEEN or not record["dst32"]
                assert not any(record[f"{what}_{side}"] for what in ("flip", "release") for side in "ab")
                rows.compare(
                    int.from_bytes(np.packbits(zeroed_rows(state, record)).tobytes()),
                    int.from_bytes(np.packbits(undefined).tobytes()),
                    shown,
                )
