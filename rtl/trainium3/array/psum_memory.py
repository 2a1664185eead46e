"""PSUM at byte addresses: TensorE's slots write through access patterns, engines read and write beside them.

    lane: command -> access walker -> address --+-> bank: read, add, round, write
          column of results --------------------+

Ref: "Trainium/Inferentia2 Architecture Guide for NKI", "Trainium2 Architecture Guide for NKI" and "Trainium3 Architecture
Guide for NKI", AWS Neuron documentation. Who waits in a bank is chosen: TensorE's main slots are first, then its background
slot, then the engines by number.
"""

from dataclasses import dataclass

from amaranth import Array, Cat, Module, Mux, Shape, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.memory import MAX_PAIRS, PSUM_BANK_BYTES
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.rtl.common.config import UnitConfig, in_range, power_of_two
from bitpath.rtl.common.fp32.fp32_arithmetic import DROPPED_BITS
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.repeat import repeat
from bitpath.rtl.common.pipeline.word_memory import wide_array
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.array.config import MAX_LANES
from bitpath.rtl.trainium3.array.psum import PsumConfig, psum_address
from bitpath.rtl.trainium3.array.psum_column import WORD_BYTES, PsumColumn, PsumMode, mode_fault
from bitpath.rtl.trainium3.faults import Fault, keep_first
from bitpath.rtl.trainium3.memory.access_walker import AccessWalker, WalkConfig
from bitpath.rtl.trainium3.memory.sbuf import HeldAnswer


@dataclass(frozen=True, kw_only=True)
class PsumMemoryConfig(UnitConfig, unit="psum_memory"):
    """Configuration of PSUM at addresses; the machine has 128 partitions of 8 banks of 2 KiB.

    Attributes
    ----------
    cols : partitions.
    banks, bank_bytes : number of banks, and bytes of each partition in a bank; powers of two.
    step_bits, num_bits : bits of a pair's step, which is signed, and of its num.
    mains : TensorE's main slots, one for each row tile.
    engines : engines that read and write beside TensorE.
    wait_bits : bits of each counter of waits, which stops at its largest value.
    checks : whether TensorE's commands are checked; without it they must be right.
    """

    cols: int = in_range(1, PARTITIONS, 2)
    banks: int = power_of_two(2, 8, 2)
    bank_bytes: int = power_of_two(8, PSUM_BANK_BYTES, 64)
    step_bits: int = in_range(2, 16, 6)
    num_bits: int = in_range(1, 16, 4)
    mains: int = in_range(1, MAX_LANES, 1)
    engines: int = in_range(1, 2, 2)
    wait_bits: int = in_range(1, 32, 6)
    checks: bool = True

    @property
    def lanes(self) -> tuple[str, ...]:
        """TensorE's slots; the first one goes first."""
        return ("main", *(f"tile_{number}" for number in range(1, self.mains)), "background")

    @property
    def psum(self) -> PsumConfig:
        """Its banks, as words of 4 bytes."""
        return PsumConfig(cols=self.cols, lanes=2, banks=self.banks, bank_depth=self.bank_bytes // WORD_BYTES)

    @property
    def walk(self) -> WalkConfig:
        """Configuration of a lane's access walker, which walks in one bank."""
        mode_bits = Shape.cast(PsumMode).width
        return WalkConfig(
            address_bits=exact_log2(self.bank_bytes),
            step_bits=self.step_bits,
            num_bits=self.num_bits,
            tag_bits=mode_bits + 1 + exact_log2(self.banks) + self.cols,
            checks=self.checks,
        )


HALF, WORD = 1, 2
"""Sizes of a result: logarithms of 2 bytes, BF16 or a transposed element of 16 bits, and of 4 bytes."""
NO_SIZE = 3
"""A size that the access walker refuses."""


def psum_command(config: PsumMemoryConfig) -> data.StructLayout:
    """Layout of a lane's command: a pattern in one bank, and how its results are written.

    ``pairs[0]`` is innermost, offset and steps are in elements from the start of the bank. Results are FP32 with size 2, BF16
    with size 1; with ``store`` the low bytes of each value are written as they are. ``columns`` has a bit for each partition.
    """
    pair = data.StructLayout({"step": signed(config.step_bits), "num": config.num_bits})
    return data.StructLayout(
        {
            "pairs": data.ArrayLayout(pair, MAX_PAIRS),
            "offset": config.walk.address_bits,
            "size": 2,
            "bank": range(config.banks),
            "flag": 3,
            "stochastic": 1,
            "store": 1,
            "columns": config.cols,
        }
    )


def psum_access(config: PsumMemoryConfig) -> data.StructLayout:
    """Layout of an engine's access: 4 bytes of each partition, read, or written where ``mask`` and ``columns`` have ones."""
    return data.StructLayout(
        {
            "values": wide_array(FP32.width, config.cols),
            "address": psum_address(config.psum),
            "mask": WORD_BYTES,
            "columns": config.cols,
            "write": 1,
        }
    )


def _tag(config: PsumMemoryConfig) -> data.StructLayout:
    """Layout of what rides with a lane's addresses."""
    return data.StructLayout({"mode": PsumMode, "store": 1, "bank": range(config.banks), "columns": config.cols})


def _bank_access(config: PsumMemoryConfig) -> data.StructLayout:
    """Layout of a bank's access in a cycle."""
    return data.StructLayout(
        {
            "index": range(config.psum.bank_depth),
            "values": FP32.width * config.cols,
            "masks": WORD_BYTES * config.cols,
            "random": DROPPED_BITS * config.cols,
            "mode": PsumMode,
            "store": 1,
            "write": 1,
        }
    )


class PsumMemory(wiring.Component):
    """Banks of words of 4 bytes in each partition; FP32 numbers, or two of 2 bytes.

    A pattern that leaves its bank, or has a size of 1 byte, is refused, and without ``store`` flag bits 0 and 2 together or
    stochastic rounding to FP32: nothing is written, ``refused`` is 1 two cycles after the command went over, and its results must
    not be sent.

    Latency: a lane's first result can go over two cycles after its command; it is in place for a read in the next cycle, from
    which the answer comes a cycle later. Throughput: one result of every partition a cycle and lane, one access a cycle and
    engine, one of all these a cycle and bank.

    Parameters
    ----------
    config : sizes, widths and number of engines.

    Members
    -------
    command : In(stream of psum_command), of each lane
    i : In(stream of 32 bits for each partition), of each lane: its results, in the order of its patterns
    random : In(stream of 16 bits for each partition, always valid), of each lane; ready with a stochastic result
    access : In(stream of psum_access), of each engine
    data : Out(stream of 32 bits for each partition), of each engine: a beat for each of its reads
    refused : Out, a bit for each lane
    fault : Out(Fault), OPERATION, DTYPE, NUM or RANGE, of the first refused command since reset or ``clear``
    waits : Out, of each lane but the first and of each engine: cycles in which its bank served another one
    clear : In(1), clears ``fault`` and ``waits``
    """

    def __init__(self, config: PsumMemoryConfig):
        self.config = config
        columns = wide_array(FP32.width, config.cols)
        random, lanes = wide_array(DROPPED_BITS, config.cols), len(config.lanes)
        super().__init__(
            {
                "command": In(stream.Signature(psum_command(config))).array(lanes),
                "i": In(stream.Signature(columns)).array(lanes),
                "random": In(stream.Signature(random, always_valid=True)).array(lanes),
                "access": In(stream.Signature(psum_access(config))).array(config.engines),
                "data": Out(stream.Signature(columns)).array(config.engines),
                "refused": Out(lanes),
                "fault": Out(Fault),
                "waits": Out(data.ArrayLayout(config.wait_bits, lanes - 1 + config.engines)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        codes = [Signal(Fault, name=f"code_{name}") for name in config.lanes]
        lanes = [self._lane(m, number, code) for number, code in enumerate(codes)]
        keep_first(m, self.fault, first_of(*zip(self.refused, codes, strict=True)), self.clear)
        answers = []
        for number in range(config.engines):
            m.submodules[f"answer_{number}"] = answer = HeldAnswer(FP32.width * config.cols)
            m.d.comb += [
                self.data[number].valid.eq(answer.o.valid),
                self.data[number].p.eq(answer.o.p),
                answer.o.ready.eq(self.data[number].ready),
            ]
            answers.append(answer)
        engines = [self._engine(m, number, answer) for number, answer in enumerate(answers)]
        requests = [*lanes, *engines]
        presents, served = [], []
        for bank in range(config.banks):
            present, serves = self._bank(m, platform, bank, requests)
            presents.append(present)
            served.append(serves)
        for number, (valid, _, _, ready) in enumerate(requests):
            m.d.comb += ready.eq(Cat(serves[number] for serves in served).any())
            if number:
                waits = self.waits[number - 1]
                with m.If(self.clear):
                    m.d.sync += waits.eq(0)
                with m.Elif(valid & ~ready & ~waits.all()):
                    m.d.sync += waits.eq(waits + 1)
        for number, answer in enumerate(answers):
            access = self.access[number]
            shown = Signal.like(access.p.address.bank, name=f"shown_{number}", reset_less=True)
            m.d.sync += shown.eq(access.p.address.bank)
            m.d.comb += [
                answer.asked.eq(access.valid & access.ready & ~access.p.write),
                answer.word.eq(Array(presents)[shown]),
            ]
        return m

    def _lane(self, m: Module, number: int, code: Signal) -> tuple[Value, Value, data.View, Value]:
        """Walk a lane's commands, with the code of a refused one; return whether a result is there, its bank, its access, and the
        signal that takes it."""
        config, name = self.config, self.config.lanes[number]
        command, values, random = self.command[number], self.i[number], self.random[number]
        m.submodules[f"walker_{name}"] = walker = AccessWalker(config.walk)
        tag, access = Signal(_tag(config), name=f"tag_{name}"), Signal(_bank_access(config), name=f"access_{name}")
        valid, taken = Signal(name=f"valid_{name}"), Signal(name=f"taken_{name}")
        given = data.View(_tag(config), walker.i.p.tag)
        # A size of no element makes the walker refuse a mode too; it refuses in the next cycle, and shows it in the one after.
        wrong_mode = Signal(Fault, name=f"wrong_mode_{name}")
        wrong_flag, wrong_flag_shown = (Signal(name=f"{each}_{name}") for each in ("wrong_flag", "wrong_flag_shown"))
        if config.checks:
            m.d.comb += wrong_mode.eq(Mux(command.p.store, Fault.NONE, mode_fault(given.mode)))
            m.d.sync += wrong_flag.eq(command.valid & command.ready & (wrong_mode == Fault.OPERATION))
            m.d.sync += wrong_flag_shown.eq(wrong_flag)
        m.d.comb += [
            walker.i.valid.eq(command.valid),
            command.ready.eq(walker.i.ready),
            walker.i.p.pairs.eq(command.p.pairs),
            walker.i.p.offset.eq(command.p.offset),
            walker.i.p.size.eq(Mux((command.p.size == 0) | (wrong_mode != Fault.NONE), NO_SIZE, command.p.size)),
            walker.i.p.limit.eq(config.bank_bytes),
            given.mode.flag.eq(command.p.flag),
            given.mode.bf16.eq(command.p.size == HALF),
            given.mode.stochastic.eq(command.p.stochastic),
            given.store.eq(command.p.store),
            given.bank.eq(command.p.bank),
            given.columns.eq(command.p.columns),
            # The walker's fault then shows for one cycle, with each refused command.
            walker.clear.eq(1),
            self.refused[number].eq(walker.fault != Fault.NONE),
            code.eq(Mux(wrong_flag_shown, Fault.OPERATION, walker.fault)),
        ]
        mask = Signal(WORD_BYTES, name=f"mask_{name}")
        m.d.comb += [
            tag.eq(walker.o.p.tag),
            valid.eq(walker.o.valid & values.valid),
            walker.o.ready.eq(taken),
            values.ready.eq(taken),
            random.ready.eq(taken & tag.mode.bf16 & tag.mode.stochastic & ~tag.store),
            mask.eq(Mux(tag.mode.bf16, Mux(walker.o.p.byte[1], 0b1100, 0b0011), 0b1111)),
            access.index.eq(walker.o.p.byte >> WORD),
            access.values.eq(Cat(Mux(tag.store & tag.mode.bf16, value[:16].replicate(2), value) for value in values.p)),
            access.masks.eq(Cat(Mux(column, mask, 0) for column in tag.columns)),
            access.random.eq(Value.cast(random.p)),
            access.mode.eq(tag.mode),
            access.store.eq(tag.store),
            access.write.eq(1),
        ]
        return valid, tag.bank, access, taken

    def _engine(self, m: Module, number: int, answer: HeldAnswer) -> tuple[Value, Value, data.View, Value]:
        """As :meth:`_lane`, of an engine; its access is there while no answer waits."""
        port = self.access[number]
        access, valid = (
            Signal(_bank_access(self.config), name=f"access_{number}"),
            Signal(name=f"valid_{number}"),
        )
        m.d.comb += [
            valid.eq(port.valid & answer.free),
            access.index.eq(port.p.address.index),
            access.values.eq(Value.cast(port.p.values)),
            access.masks.eq(Cat(Mux(column, port.p.mask, 0) for column in port.p.columns)),
            access.store.eq(1),
            access.write.eq(port.p.write),
        ]
        return valid, port.p.address.bank, access, port.ready

    def _bank(self, m: Module, platform, bank: int, requests: list) -> tuple[Signal, Signal]:
        """Serve the first request of a bank; return its words, a cycle later, and a bit for the request served."""
        config = self.config
        chosen = Signal(_bank_access(config), name=f"chosen_{bank}")
        serves, present = (
            Signal(len(requests), name=f"serves_{bank}"),
            Signal(FP32.width * config.cols, name=f"present_{bank}"),
        )
        for number, (valid, at, access, _) in reversed([*enumerate(requests)]):
            with m.If(valid & (at == bank)):
                m.d.comb += [chosen.eq(access), serves.eq(1 << number)]
        values = {
            "index": chosen.index,
            "value": chosen.values,
            "mask": chosen.masks,
            "random": chosen.random,
            "mode": chosen.mode,
            "store": chosen.store,
            "write": chosen.write,
            "present": present,
        }
        spread = ("value", "mask", "random", "present")
        args = (config.psum.bank_depth, True)
        repeat(m, platform, f"columns_{bank}", values, PsumColumn, args, config.cols, spread=spread)
        return present, serves


RECORDS = (
    Unit(
        name="psum_memory",
        config_type=PsumMemoryConfig,
        build=PsumMemory,
        summary="Trainium3: PSUM at byte addresses, two lanes of TensorE and the engines",
        covered=Covered(PsumMemoryConfig(), 60),
        judges=(Judge(36, PsumMemoryConfig(), 40),),
        waves=(
            CLOCK,
            WaveGroup("main", r"(command__0|i__0|walker_main|.*_main)"),
            WaveGroup("background", r"(command__1|i__1|walker_background|.*_background)"),
            WaveGroup("engines", r"(access_|data__|answer_|shown_)"),
            WaveGroup("faults and waits", r"(refused|fault|clear|waits)"),
            WaveGroup("banks", r"(chosen|serves|present|columns)_"),
        ),
    ),
)
