"""Units that are no plain pipelines keep the contract of streams: what answers requests, what steps through commands, and
RMSNorm-Quant's last pass."""

from collections.abc import Callable
from functools import partial

from amaranth import Cat, Mux, Signal, Value
from amaranth.lib import data, wiring

from bitpath.golden.trainium3.declarations.vector import SCALE_BYTES
from bitpath.rtl.aie_ml_v2.engine.config import AieEngineConfig
from bitpath.rtl.aie_ml_v2.engine.row_sequencer import RowSequencer
from bitpath.rtl.aie_ml_v2.engine.row_storer import RowStorer
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.aie_ml_v2.vector.vector_mac import VectorMac
from bitpath.rtl.common.fp32.digit_recurrence import DigitRecurrence
from bitpath.rtl.common.fp32.reciprocal import Reciprocal
from bitpath.rtl.common.fp32.reciprocal_square_root import ReciprocalSquareRoot
from bitpath.rtl.common.fp32.square_root import SquareRoot
from bitpath.rtl.tensix.engine.config import TensixEngineConfig
from bitpath.rtl.tensix.engine.tile_sequencer import TileSequencer
from bitpath.rtl.tensix.matrix.config import MatrixUnitConfig
from bitpath.rtl.tensix.matrix.matrix_unit import MatrixUnit
from bitpath.rtl.trainium3.array.config import PsumConfig
from bitpath.rtl.trainium3.array.psum import Psum
from bitpath.rtl.trainium3.array.stochastic_psum import StochasticPsum
from bitpath.rtl.trainium3.rmsnorm_quant.config import RmsNormQuantConfig
from bitpath.rtl.trainium3.rmsnorm_quant.lane import RmsNormQuantLane
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import Phase, command_layout
from bitpath.rtl.trainium3.rmsnorm_quant.rmsnorm_quant import RmsNormQuant
from bitpath.rtl.trainium3.rmsnorm_quant.row_sequencer import RmsNormQuantSequencer
from bitpath.rtl.trainium3.vector.config import XorwowConfig
from bitpath.rtl.trainium3.vector.xorwow import Xorwow
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Engine, Property, Sabotage
from bitpath.verif.formal.specification import kept, stays


def answers(claim: Claim, make: Callable[[], wiring.Component], asks: str, gives: str) -> None:
    """From any state: an answer is there the cycle after its request and only then, and waits until it is taken; no
    request is taken while one waits."""
    dut = claim.place("dut", make())
    request, answer = getattr(dut, asks), getattr(dut, gives)
    arrives, waits = request.valid & request.ready, answer.valid & ~answer.ready
    if hasattr(request.p, "write"):  # of PSUM, which stores too
        arrives &= ~request.p.write
    stays(claim, answer)
    claim.ensure(answer.valid == claim.register(arrives | waits, "expected"), ~waits | ~arrives)


def numbers_stay(claim: Claim) -> None:
    """From any state: a lane's numbers are offered until they are taken, or the lane loaded."""
    dut = claim.place("dut", Xorwow(XorwowConfig(lanes=2)))
    for lane in range(dut.config.lanes):
        changes = dut.random.ready | (dut.load.valid & (dut.load.p.lane == lane))
        numbers = Value.cast(dut.random.p[lane])
        before = claim.register(numbers, f"before_{lane}")
        claim.ensure(claim.register(changes, f"changes_{lane}") | (numbers == before))


def steps_stay(claim: Claim, make: Callable[[], wiring.Component], takes: str, gives: str) -> None:
    """From any state, where the command that is offered stays as well."""
    dut = claim.place("dut", make())
    claim.assume(kept(claim, getattr(dut, takes), "command_"))
    stays(claim, getattr(dut, gives))


def instructions_stay(claim: Claim) -> None:
    """As :func:`steps_stay`; a store that could be taken still can, and nothing begins to be packed before it is."""
    dut = claim.place("dut", TileSequencer(TensixEngineConfig()))
    could = claim.register(dut.store.ready & ~dut.store.valid, "could")
    claim.assume(kept(claim, dut.product, "product_"), ~could | dut.store.ready)
    claim.assume(
        claim.register(dut.store.valid, "stored") | ((dut.packing & ~claim.register(dut.packing, "packing")) == 0)
    )
    stays(claim, dut.instruction)


def recurrence(claim: Claim, make: Callable[[], wiring.Component]) -> None:
    """One request at a time, whose result is there LATENCY cycles after it, and not before."""
    dut = claim.place("dut", make())
    latency = DigitRecurrence.LATENCY
    arrives, leaves = dut.i.valid & dut.i.ready, dut.o.valid & dut.o.ready
    under_way, since = Signal(2, name="under_way"), Signal(range(latency + 1), name="since")
    claim.m.d.sync += [
        under_way.eq(under_way + arrives - leaves),
        since.eq(Mux(arrives, 1, since + (since != latency))),
    ]
    claim.ensure(under_way == claim.inside("dut", "busy"))
    claim.ensure((under_way == 0) | ((since != 0) & (claim.inside("dut", "left") == latency - since)))
    claim.ensure(dut.o.valid == ((under_way != 0) & (since == latency)))


def last_pass(claim: Claim) -> None:
    """RMSNorm-Quant has bytes under way in its last pass only, and none behind a row's last one."""
    config = RmsNormQuantConfig(lanes=1)
    dut = claim.place("dut", RmsNormQuantSequencer(config))
    phase, index = claim.inside("dut", "phase"), claim.inside("dut", "index")
    command = data.View(command_layout(config), claim.inside("dut", "command"))
    longest = config.max_row_length
    claim.assume(dut.command.p.row_length <= longest)
    claim.ensure((phase == Phase.IDLE) | (command.row_length <= longest))
    count = Mux(command.options.static, 0, SCALE_BYTES) + command.row_length
    history = claim.inside("dut.output", "history")
    cycles = RmsNormQuantLane.OUTPUT_LATENCY
    # The last to enter first: a byte's validity, and whether it is the last.
    tags = [history.word_select(cycle, len(history) // cycles)[:2] for cycle in range(cycles)]
    for cycle, (valid, last) in enumerate(tags):
        behind = Cat(tag[0] for tag in tags[:cycle]).any()
        claim.ensure(~valid | (phase == Phase.QUANTIZE), ~(valid & last) | ((index == count) & ~behind))


def last_pass_stays(claim: Claim) -> None:
    """From any state in which bytes are offered in the last pass only."""
    dut = claim.place("dut", RmsNormQuant(RmsNormQuantConfig(lanes=1, max_row_length=4)))
    claim.assume(~dut.o.valid | (claim.inside("dut.sequencer", "phase") == Phase.QUANTIZE))
    stays(claim, dut.o)


_PSUM = PsumConfig(cols=1, lanes=2, banks=2, bank_depth=2)
_PSUM_WAITS = Sabotage("trainium3/array/psum.py", "& ~chosen.valid & answer_free)", "& ~chosen.valid)")
ANSWERING = (
    ("trainium3.psum", "psum", partial(Psum, _PSUM), "host", "data", _PSUM_WAITS),
    ("trainium3.stochastic_psum", "stochastic_psum", partial(StochasticPsum, _PSUM), "host", "data", _PSUM_WAITS),
    (
        "aie_ml_v2.vector_mac",
        "vector_mac",
        partial(VectorMac, VectorMacConfig(lanes=1, accumulators=2)),
        "read",
        "o",
        Sabotage("aie_ml_v2/vector/vector_mac.py", "self.read.ready.eq(free & clear)", "self.read.ready.eq(clear)"),
    ),
    (
        "tensix.matrix_unit",
        "matrix_unit",
        partial(MatrixUnit, MatrixUnitConfig(rows=1, cols=1)),
        "read_dst",
        "dst",
        Sabotage(
            "tensix/matrix/matrix_unit.py", "self.read_dst.ready.eq(free & clear)", "self.read_dst.ready.eq(clear)"
        ),
    ),
)
STEPPING = (
    (
        "row_sequencer",
        partial(RowSequencer, AieEngineConfig()),
        ("command", "o"),
        Sabotage(
            "aie_ml_v2/engine/row_sequencer.py", "advance.eq(self.o.valid & self.o.ready)", "advance.eq(self.o.valid)"
        ),
    ),
    (
        "row_storer",
        partial(RowStorer, AieEngineConfig()),
        ("store", "read"),
        Sabotage(
            "aie_ml_v2/engine/row_storer.py", "asked = self.read.valid & self.read.ready", "asked = self.read.valid"
        ),
    ),
)
_STEPS = "a step is offered unchanged until it is taken, while its command is offered"

PROPERTIES = (
    *(
        Property(
            f"{name}_latency",
            f"common.{name}",
            f"one request at a time, its result {DigitRecurrence.LATENCY} cycles behind it, until it is taken",
            partial(recurrence, make=function),
            Sabotage(
                "common/fp32/digit_recurrence.py",
                "self.i.ready.eq(~busy | (self.o.valid & self.o.ready))",
                "self.i.ready.eq(1)",
            ),
            Engine.INDUCTION,
            3,
        )
        for name, function in (
            ("reciprocal", Reciprocal),
            ("square_root", SquareRoot),
            ("reciprocal_square_root", ReciprocalSquareRoot),
        )
    ),
    *(
        Property(
            f"{name}_answers",
            unit,
            "an answer is there the cycle after its request, and stays until taken; no request is taken while one waits",
            partial(answers, make=make, asks=asks, gives=gives),
            sabotage,
            depth=1,
        )
        for unit, name, make, asks, gives, sabotage in ANSWERING
    ),
    Property(
        "xorwow_numbers_stay",
        "trainium3.xorwow",
        "a lane's numbers stay until they are taken, or its states loaded",
        numbers_stay,
        Sabotage("trainium3/vector/xorwow.py", "(self.load.p.lane == index)", "1"),
        depth=1,
    ),
    *(
        Property(
            f"{name}_offer_stays",
            f"aie_ml_v2.{name}",
            _STEPS,
            partial(steps_stay, make=make, takes=takes, gives=gives),
            sabotage,
            depth=1,
        )
        for name, make, (takes, gives), sabotage in STEPPING
    ),
    Property(
        "tile_sequencer_offer_stays",
        "tensix.tile_sequencer",
        f"{_STEPS}, a store that can be taken still can, and nothing else begins to be packed",
        instructions_stay,
        Sabotage(
            "tensix/engine/tile_sequencer.py",
            "with m.If(instruction.valid & instruction.ready):",
            "with m.If(instruction.valid):",
        ),
        depth=1,
    ),
    Property(
        "rmsnorm_quant_last_pass",
        "trainium3.row_sequencer",
        "bytes are under way in the last pass only, and none behind a row's last one",
        last_pass,
        Sabotage(
            "trainium3/rmsnorm_quant/row_sequencer.py",
            "(phase == Phase.QUANTIZE) & (index != count)",
            "index != count",
        ),
        Engine.INDUCTION,
        2,
    ),
    Property(
        "rmsnorm_quant_offer_stays",
        "trainium3.rmsnorm_quant",
        "in the last pass, bytes are offered unchanged until they are taken",
        last_pass_stays,
        Sabotage("trainium3/rmsnorm_quant/row_sequencer.py", "self.o_ready | ~self.o_valid", "1"),
        depth=1,
    ),
)
