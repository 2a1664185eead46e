"""How a lane of the Vector unit executes a program: registers and flags that each instruction changes."""

from collections.abc import Sequence
from dataclasses import dataclass

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.explain.explanation import Explanation, result_text
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.tensix.declarations.formats import Chip, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.exact.sfpu_unit import Access, default_mode, execute, reset
from bitpath.golden.tensix.isa.words import Instruction, decode, encode
from bitpath.golden.tensix.operands.arguments import numerics_or_default

DST_ROWS, DST_COLUMNS, TILE_ROWS = 1024, 16, 64
LANE = 0
"""The lane that is shown; all lanes have the same operands."""


@dataclass(frozen=True, kw_only=True)
class LaneStep:
    """An instruction and the state of the lane after it.

    Attributes
    ----------
    word, instruction : the word and its text.
    enabled : True if the lane was enabled.
    changes : number, old and new bits of each register that changed; 100 stands for the datum of Dst.
    flag : the lane's flag.
    depth : entries of the flag stack.
    result : the datum of Dst at the first operand's place, as the unit reads it in the mode of the configuration.
    """

    word: int
    instruction: str
    enabled: bool
    changes: tuple[tuple[int, int, int], ...]
    flag: bool
    depth: int
    result: int


DATUM = 100
"""Number of the datum of Dst among registers."""


@checked
def explain_lane(
    words: Sequence[int],
    operands: Sequence[int],
    *,
    dst32: bool = True,
    numerics: TensixNumerics | None = None,
    chip: Chip | str = Chip.WORMHOLE,
) -> Explanation:
    """Explain a program of Vector unit instructions on one lane.

    Parameters
    ----------
    words : instructions of the Vector unit, INCRWC and NOP.
    operands : FP32 codes, or integers, that tiles 0, 1 and 2 of Dst hold everywhere; a 16-bit Dst holds them as BF16.
    dst32 : True if Dst has 32 bits.
    numerics : None is the chip's.

    Raises
    ------
    TypeError, ValueError : no instruction or another one, no operand or more than three, no codes of 32 bits.
    UndefinedBehavior : the instruction's page calls it undefined.
    """
    chip = Chip(chip)
    numerics = numerics_or_default(numerics, None if numerics else chip)
    integer("the number of operands", len(operands), range(1, 4))
    if not words:
        raise ValueError("words must hold at least one instruction")
    mode = default_mode(fp32_enabled=dst32, src_b_format=Format.BF16)
    raw = 4 if dst32 else mode
    unit, rwc = reset(numerics), 0
    dst = [[0] * DST_COLUMNS for _ in range(DST_ROWS)]

    def run(instruction: Instruction) -> None:
        address = (instruction.fields.get("address", 0) + rwc) % DST_ROWS
        access = Access(dst=dst, address=address, default_mode=mode)
        execute(unit, instruction, chip=chip, numerics=numerics, access=access)

    probe = reset(numerics)
    for lane in probe.lanes:
        lane.conditional = False
    load = decode(encode("SFPLOAD", mod=raw, chip=chip), chip=chip)

    def datum() -> int:
        access = Access(dst=dst, address=0, default_mode=mode)
        execute(probe, load, chip=chip, numerics=numerics, access=access)
        return probe.lanes[LANE].registers[0]

    for tile, code in enumerate(operands):
        for lane in unit.lanes:
            lane.registers[0] = integer(f"operands[{tile}]", code, range(1 << 32))
            lane.conditional = False
        for row in range(0, TILE_ROWS, 2):
            run(decode(encode("SFPSTORE", mod=raw, address=tile * TILE_ROWS + row, chip=chip), chip=chip))
    unit, held = reset(numerics), datum()
    steps: list[tuple[str, LaneStep]] = []
    for number, word in enumerate(words):
        instruction = decode(word, chip=chip)
        before = list(unit.lanes[LANE].registers)
        enabled = unit.enabled(LANE)
        if instruction.name == "INCRWC":
            rwc += instruction["dst"]
        elif instruction.name.startswith("SFP"):
            run(instruction)
        elif instruction.name != "NOP":
            raise ValueError(
                f"words[{number}] must be an instruction of the Vector unit, INCRWC or NOP, not {instruction}"
            )
        lane, after = unit.lanes[LANE], datum()
        changes = [(i, old, new) for i, (old, new) in enumerate(zip(before, lane.registers, strict=True)) if old != new]
        changes += [(DATUM, held, after)] if held != after else []
        step = LaneStep(
            word=word,
            instruction=str(instruction),
            enabled=enabled,
            changes=tuple(changes),
            flag=lane.flag,
            depth=len(lane.stack),
            result=after,
        )
        steps.append((f"{number}", step))
        held = after
    return Explanation(_text(steps, operands, dst32), tuple(steps), held)


def _text(steps: Sequence[tuple[str, LaneStep]], operands: Sequence[int], dst32: bool) -> str:
    lines = [f"Dst          {'FP32' if dst32 else 'BF16'}: {', '.join(result_text(FP32, each) for each in operands)}"]
    width = max(len(step.instruction) for _, step in steps) + 2
    flag, depth = True, 0
    for name, step in steps:
        notes = [f"{_register(i)} {_number(new)}" for i, _, new in step.changes]
        notes += [f"flag {int(step.flag)}"] if step.flag != flag else []
        notes += [f"stack {step.depth}"] if step.depth != depth else []
        flag, depth = step.flag, step.depth
        shown = "; ".join(notes) if notes else "" if step.enabled else "disabled"
        lines.append(f"{name:>4}  {step.word:08x}  {step.instruction:<{width}}{shown}".rstrip())
    return "\n".join([*lines, f"result       {result_text(FP32, steps[-1][1].result)}"])


def _number(bits: int) -> str:
    """Write bits as FP32, and those of a denormal or a negative NaN as an integer."""
    if 0 < bits < 1 << 23 or bits >= 0xFF800001:
        return f"{bits:#010x} = {bits - (bits >> 31 << 32)}"
    return result_text(FP32, bits)


def _register(number: int) -> str:
    return "Dst" if number == DATUM else f"LReg {number}"
