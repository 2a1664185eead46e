"""Repeated components in nested groups: their results, and the number of modules in the Verilog."""

import gc
import re

import pytest
from amaranth import Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.pipeline.repeat import FAN_OUT, repeat
from bitpath.rtl.common.pipeline.shared_instances import instantiate_on
from bitpath.rtl.emit import verilog_text
from bitpath.verif.kit.testplan import covers

WIDTH = 8
FIRST = 5
"""Input of the first link."""


class Link(wiring.Component):
    """``sum_out`` and ``seen`` are ``3 * sum_in + word + step``, so that no two links may change places."""

    clocked = False

    def __init__(self, width):
        super().__init__(self.ports(width))

    @staticmethod
    def ports(width):
        inputs, outputs = ("step", "word", "sum_in"), ("sum_out", "seen")
        return {name: In(width) for name in inputs} | {name: Out(width) for name in outputs}

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [self.sum_out.eq(3 * self.sum_in + self.word + self.step), self.seen.eq(self.sum_out)]
        return m


class Chain(wiring.Component):
    """Some links, the first behind a constant."""

    clocked = False

    def __init__(self, count):
        self.count = count
        words = WIDTH * count
        super().__init__({"step": In(WIDTH), "words": In(words), "o": Out(WIDTH), "seen": Out(words)})

    def elaborate(self, platform):
        m = Module()
        values = {
            "step": self.step,
            "word": self.words,
            "sum_in": Const(FIRST, WIDTH),
            "sum_out": self.o,
            "seen": self.seen,
        }
        chained = (("sum_in", "sum_out"),)
        repeat(m, platform, "links", values, Link, (WIDTH,), self.count, spread=("word", "seen"), chained=chained)
        return m


@covers("systolic_array.size")
@pytest.mark.parametrize("count", [1, 3, 4, 8, 16])
def test_every_link_has_its_words_and_the_sum_before_it(evaluate, count):
    cases = [(step, [(37 * k + 11 * step) % 256 for k in range(count)]) for step in range(4)]
    vectors = [{"step": step, "words": int.from_bytes(words, "little")} for step, words in cases]
    for (step, words), (last, seen) in zip(cases, evaluate(Chain(count), vectors, "o", "seen"), strict=True):
        total, sums = FIRST, []
        for word in words:
            total = (3 * total + word + step) % 256
            sums.append(total)
        assert (last, seen) == (total, int.from_bytes(sums, "little"))


@covers("systolic_array.size")
def test_a_group_is_one_module_and_a_constant_enters_it():
    text, apart = verilog_text(Chain(FAN_OUT**2), "chain")
    names = re.findall(r"^module (\w+?)(?:_[0-9a-f]{8})?\(", text, re.MULTILINE)
    assert sorted(names) == ["chain", "link", "repeat", "repeat"]
    assert len(re.findall(r"^  link_\w+ ", text, re.MULTILINE)) == FAN_OUT
    assert re.findall(r"\.sum_in\((\d+'h\w+)\)", text) == [f"{WIDTH}'h{FIRST:02x}"]
    assert apart == ()


class OutputOnConstant(wiring.Component):
    """A link whose sum has nowhere to go."""

    o: Out(WIDTH)

    def elaborate(self, platform):
        m = Module()
        values = dict.fromkeys(("step", "word", "sum_in"), Signal(WIDTH)) | {"sum_out": Const(0, WIDTH), "seen": self.o}
        instantiate_on(m, platform, "link", values, Link, WIDTH)
        return m


# Amaranth warns of a refused component, because it is never elaborated.
@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
def test_an_output_on_a_constant_is_refused():
    with pytest.raises(ValueError, match="link: output sum_out must drive a signal, not a constant"):
        verilog_text(OutputOnConstant(), "top")
    gc.collect()
