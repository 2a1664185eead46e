"""GMPOOL: order of its data, scales, the bits of Dst that survive, the maximum and its index by a loop; pipeline and stream."""

from amaranth import Cat, Const, Mux, Value, signed

from bitpath.golden.formats.catalogue import FP16, FP32
from bitpath.golden.tensix.declarations.formats import Style
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.pool.gmpool_column import (
    INTEGER_BITS,
    DstDatum,
    GmpoolColumn,
    LaterMaximum,
    Order,
    PoolWord,
    ScaledDatum,
)
from bitpath.rtl.tensix.pool.layouts import FRACTION_BITS, MAGNITUDE_BITS, GmpoolColumnConfig
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import stage_properties, staged_stream_properties
from bitpath.verif.formal.property import Properties

PROPERTIES = Properties(
    "tensix/pool",
    *stage_properties("tensix.gmpool_column", GmpoolColumn, GmpoolColumnConfig),
    *staged_stream_properties("tensix.gmpool_column", GmpoolColumn, GmpoolColumnConfig),
)


def number(claim: Claim, sign: Value, magnitude: Value, name: str) -> Value:
    """Return the number of sign and magnitude."""
    return claim.value(Mux(sign, -magnitude, magnitude), name, signed(MAGNITUDE_BITS + 1))


@PROPERTIES.of(
    "later_maximum",
    "later_maximum",
    "the larger of any two numbers of sign and magnitude, the later if they are equal, +0 and -0 too",
    ("later.order >= self.earlier.order", "later.order > self.earlier.order"),
)
def larger(claim: Claim) -> None:
    earlier, later = (claim.instantiate(name, Order()) for name in ("earlier", "later"))
    dut = claim.instantiate("dut", LaterMaximum(), earlier=earlier.o, later=later.o)
    numbers = [number(claim, each.sign, each.magnitude, f"number_{k}") for k, each in enumerate((earlier, later))]
    wins = claim.value(numbers[1] >= numbers[0], "wins")
    claim.ensure(dut.wins == wins, Value.cast(dut.o) == Mux(wins, later.o.as_value(), earlier.o.as_value()))


@PROPERTIES.of(
    "scaled_datum",
    "scaled_datum_{style.value}",
    "{style.value}: exponents added; a zero exponent of SrcA is +0, of SrcB below everything",
    ("with m.Elif(exponent.any()):", "with m.Elif(exponent[1:].any()):"),
    "style",
    Style,
)
def scaled(claim: Claim, style: Style) -> None:
    dut = claim.instantiate("dut", ScaledDatum(rebias=True))
    claim.assume(dut.control.style == StyleCode.of(style))
    fraction, exponent, sign = dut.word[:FRACTION_BITS], dut.word[FRACTION_BITS:-1], dut.word[-1]
    if style is Style.FP16:
        claim.assume(exponent <= FP16.exponent_mask, dut.scale <= FP16.exponent_mask)
        rebias = claim.value(Mux(dut.control.dst32 & ~dut.control.argmax, 97 + FP32.bias, 0), "rebias")
        exponent_sum = exponent + dut.scale + rebias
    else:
        exponent_sum = exponent + dut.scale
    if style is Style.BF16:
        fraction = Cat(Const(0, 3), fraction[3:])
    magnitude = Value.cast(fraction) + (0 if style is Style.INT8 else exponent_sum << FRACTION_BITS)
    lowest = (1 << MAGNITUDE_BITS) - 1
    chosen = claim.value(Mux(dut.scale == 0, lowest, Mux(exponent == 0, 0, magnitude)), "chosen", MAGNITUDE_BITS)
    negative = claim.value(Mux(dut.scale == 0, 1, sign & (exponent != 0)), "negative")
    spec = claim.instantiate("spec", Order(), sign=negative, magnitude=chosen)
    claim.ensure(Value.cast(dut.o) == Value.cast(spec.o))


@PROPERTIES.of(
    "pool_word",
    "pool_word_{name}",
    "{name}: a Dst word read and written keeps its upper bits and loses those that no comparison sees",
    None,
    "name, style, dst32, sabotage",
    (
        ("FP32", StyleCode.TF32, True, ("FP16.bias, FP32.bias)", "FP16.bias, FP16.bias)")),
        ("BF16", StyleCode.BF16, False, ("FP16.bias, FP32.bias)", "FP16.bias, FP16.bias)")),
        ("FP16", StyleCode.FP16, False, ("FP16.bias, FP32.bias)", "FP32.bias, FP32.bias)")),
        ("INT32", StyleCode.INT8, True, ("self.o[-1].eq(self.i.sign)", "self.o[-1].eq(~self.i.order[-1])")),
    ),
)
def kept(claim: Claim, style: StyleCode, dst32: bool) -> None:
    read = claim.instantiate("read", DstDatum())
    dut = claim.instantiate("dut", PoolWord(), i=read.o, control=read.control)
    claim.assume(read.control.style == style, read.control.dst32 == int(dst32), ~read.control.argmax)
    if style is StyleCode.INT8:
        wanted = Cat(read.word[:INTEGER_BITS], Const(0, 31 - INTEGER_BITS), read.word[-1])
    elif dst32:
        dropped = FP32.fraction_bits - FRACTION_BITS
        wanted = Cat(Const(0, dropped), read.word[dropped:])
    else:
        wanted = read.word[:16]
    claim.ensure(dut.o == wanted)


def integers(claim: Claim, argmax: int) -> tuple[GmpoolColumn, Value, list[Value]]:
    """Instantiate a combinational column of integers, none scaled by zero; return it, Dst's number and those of the rows."""
    dut = claim.instantiate("dut", GmpoolColumn(GmpoolColumnConfig()), i__valid=1, o__ready=1)
    request = dut.i.p
    claim.assume(request.control.style == StyleCode.INT8, request.control.dst32, request.control.argmax == argmax)
    claim.assume(*(scale != 0 for scale in request.scales))
    rows = []
    for k, word in enumerate(request.rows):
        present = word[FRACTION_BITS:-1] != 0
        rows.append(number(claim, word[-1], Mux(present, word[:FRACTION_BITS], 0), f"row_{k}"))
    dst = request.dst[0]
    return dut, number(claim, dst[-1], dst[:MAGNITUDE_BITS], "dst"), rows


@PROPERTIES.of(
    "gmpool_column",
    "gmpool_column_maximum",
    "integers: the result is one of 16 rows and Dst, and none of them is larger; three Dst words are zero",
    ('self._larger(m, platform, "all", largest, second)', 'self._larger(m, platform, "all", largest, largest)'),
)
def maximum(claim: Claim) -> None:
    dut, dst, rows = integers(claim, argmax=0)
    claim.assume(dut.i.p.dst[0][INTEGER_BITS:MAGNITUDE_BITS] == 0)
    words = dut.o.p
    result = number(claim, words[0][-1], words[0][:INTEGER_BITS], "result")
    claim.ensure(*(result >= each for each in (dst, *rows)), Cat(result == each for each in (dst, *rows)).any())
    claim.ensure(words[0][INTEGER_BITS:-1] == 0, *(words[k] == 0 for k in (1, 2, 3)))


@PROPERTIES.of(
    "gmpool_column",
    "gmpool_column_index",
    "integers: the index of the last maximum of Dst and rows 4 to 7, 0 to 3 by a loop; the counts of four words",
    ("row.eq(places[0] ^ FIRST_ROW)", "row.eq(places[0])"),
)
def index(claim: Claim) -> None:
    """The page's loop, and its table of row codes."""
    dut, best, rows = integers(claim, argmax=1)
    words, answers = dut.i.p.dst, dut.o.p
    counts = [claim.value(words[k][8:12] + 1, f"count_{k}", 4) for k in range(len(answers))]
    found = words[0][:8]
    codes = (0, 3, 6, 1, 4, 7, 2, 5)
    for row in (4, 5, 6, 7, 0, 1, 2, 3):
        wins = claim.value(rows[row] >= best, f"wins_{row}")
        best = claim.value(Mux(wins, rows[row], best), f"best_{row}", signed(MAGNITUDE_BITS + 1))
        found = claim.value(Mux(wins, Cat(Const(codes[row], 4), counts[0]), found), f"found_{row}", 8)
    claim.ensure(answers[0] == Cat(found, counts[0], Const(0, 20)))
    claim.ensure(*(answers[k] == Cat(Const(0, 8), counts[k], Const(0, 20)) for k in (1, 2, 3)))
