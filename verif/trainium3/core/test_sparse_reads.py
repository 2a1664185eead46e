"""A sparse product's moving words from SBUF to operand memory: all slots of a row in a cycle."""

from random import Random

import numpy as np
import pytest
from amaranth import Value
from amaranth.sim import Simulator

from bitpath.golden.trainium3.declarations.rates import CORE_RATES
from bitpath.golden.trainium3.declarations.tensor import PATTERNS
from bitpath.rtl.trainium3.array.core_edge import core_word
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import tensor_layout
from bitpath.rtl.trainium3.core.tensor_slots import MainSlots
from bitpath.rtl.trainium3.memory.sbuf import SBUF_WORD_BYTES
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import OperandFormat
from bitpath.rtl.trainium3.tensor.sparse_select import SLOTS
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.core.programs.instructions import FORMATS, Matmul, Memories, Pattern, load

CONFIG = CoreConfig()
WORDS = 12
MOVING = CORE_RATES.numerics.sparse_inputs[0]
"""Moving elements that a row takes in a cycle."""


def play(memories: Memories, of: Matmul) -> tuple[list[int], list[list[int]]]:
    """Run an instruction; return the cycles of its moving words' reads, and the words that operand memory gets, each row's."""
    dut, layout, rng = MainSlots(CONFIG), tensor_layout(CONFIG), Random(1)
    body = dict(of.body())
    body |= {name: rng.getrandbits(field.width) for name, field in layout if name not in body}
    words = memories.sbuf.view(f"<u{SBUF_WORD_BYTES}")
    size = core_word(CONFIG.dot).size
    asked, written = [], []

    async def bench(ctx):
        ctx.set(dut.i[0].p.as_value(), pack(layout, body))
        ctx.set(dut.i[0].valid, 1)
        await ctx.tick()
        ctx.set(dut.i[0].valid, 0)
        ctx.set(dut.command[0].ready, 1)
        cycle = taken = 0
        found = []
        while not ctx.get(dut.i[0].ready):
            ctx.set(dut.taken[0], taken)
            for data, word in found:
                ctx.set(data, int.from_bytes(words[:, word].tobytes(), "little"))
            taken = ctx.get(dut.control[0].valid)
            ports = zip(dut.read, dut.data, strict=True)
            found = [(data, ctx.get(read.p.words[0])) for read, data in ports if ctx.get(read.valid)]
            asked.extend([cycle] if found else [])
            if ctx.get(dut.write.groups):
                raw = ctx.get(Value.cast(dut.write.words))
                written.append([raw >> p * size & (1 << size) - 1 for p in range(CONFIG.size)])
            await ctx.tick()
            cycle += 1

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return asked[-WORDS:], written[-WORDS:]


@pytest.mark.parametrize(
    ("fmt", "name"),
    [
        (OperandFormat.BF16, "4:16"),
        (OperandFormat.TF32, "4:12"),
        (OperandFormat.FP16, "2:8"),
        (OperandFormat.BF16, "1:2"),
    ],
    ids=lambda each: getattr(each, "name", each),
)
@covers("core.sparse_rate", "A slot a cycle would halve or quarter the rate of a sparse product")
def test_sparse_words_follow_each_other(fmt, name):
    """A moving word in each cycle, with two to four slots of a row and those of its group; slots lie beside each other, or a row of
    words apart."""
    pattern, width = PATTERNS[name], FORMATS[fmt].width
    slots, memories = pattern.ratio, Memories(CONFIG)
    memories.sbuf[:] = np.random.default_rng(67).integers(0, 256, memories.sbuf.shape)
    for pairs in (((1, WORDS), (WORDS, slots)), ((-slots, WORDS), (1, slots))):
        moving = Pattern(pairs, 3 if pairs[0][0] > 0 else slots * WORDS)
        of = Matmul(
            mode=Mode.SPARSE, formats=(fmt, fmt), rows=4, columns=4, pattern=name, moving=moving,
            result=Pattern(((1, WORDS),)), tags=8,
        )  # fmt: skip
        cycles, words = play(memories, of)
        assert cycles == list(range(cycles[0], cycles[0] + WORDS))
        assert 2 <= slots <= MOVING
        elements = load(memories.sbuf, moving.elements, width // 8).reshape(4, WORDS, slots)
        for row in range(4):
            first = row // pattern.kept * pattern.kept
            for q in range(pattern.kept):
                found = [
                    [word[row] >> 32 * (SLOTS * q + slot) & (1 << width) - 1 for slot in range(slots)] for word in words
                ]
                assert found == elements[first + q].tolist()
