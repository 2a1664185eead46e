"""Bench of a core: programs on its engines, from HBM back to HBM, against golden's instructions on plain memories.

``BITPATH_CASES`` sets the instructions of a test.
"""

import os
from dataclasses import replace

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.core import Core
from bitpath.rtl.trainium3.core.instruction import Engine
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.lanes.engine_lane import Operator
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.core.core_host import Host
from bitpath.verif.trainium3.core.programs.instructions import Copy, Descriptor, Instruction, Operand, Pattern, Side
from bitpath.verif.trainium3.core.programs.lanes import Operate
from bitpath.verif.trainium3.core.programs.maker import kinds, program
from bitpath.verif.trainium3.core.programs.refused import Refused, refused

CONFIG = config_from_environment(CoreConfig)
SIGNATURE = Core(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "20"))
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}
PATIENCE = max(6000, 8 * CONFIG.hbm_bytes)
"""Cycles: the host writes HBM without a stream, and a class of DMA may move a byte in four cycles."""
KINDS = list(kinds(CONFIG))
TENSOR_KINDS = [each.name.lower() for each in Mode if each is not Mode.PASS and each.name.lower() in KINDS]
PACES = {"full_speed": 0.0, "gaps": 0.9}
"""Shares of cycles without an instruction."""


@covers("core.instructions", "A kind's own test names the engine that is wrong")
@cocotb.test(**LIMIT)
@cocotb.parametrize(kind=KINDS)
async def instructions(dut, kind):
    """Instructions of each kind one after the other, with random patterns, dtypes, quarters, sizes and limits of DMA,
    and any bits in fields that they do not use: every matmul mode, sparse ones with legal tags and others,
    tensor_scalar of one step or two and tensor_tensor on either engine, Activation2 with its register and its root,
    reciprocal, exponential with its sum, rand2 and its states, copies by the DGE, descriptors with casts and
    additions, and in a core of 32 partitions MX and QuantizeMX; all bytes of HBM, SBUF and PSUM are compared."""
    rng = pauses.rng("program")
    async with bench(dut, SIGNATURE, patience=PATIENCE) as frame:
        host = Host(frame, CONFIG)
        host.set_limits(rng)
        await host.load(rng)
        await host.run(program(CONFIG, rng, [kind] * CASES))
        await host.compare(kind)


@covers("core.programs", "An engine must leave nothing behind for the next instruction, of its own kind or another")
@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_programs(dut, pace):
    """Programs of all kinds with refused instructions between them, offered without gaps and with many."""
    rng = pauses.rng("program")
    bad = [each for _, each in refused(CONFIG)]
    async with bench(dut, SIGNATURE, patience=PATIENCE) as frame:
        host = Host(frame, CONFIG, PACES[pace])
        host.set_limits(rng)
        await host.load(rng)
        await host.clear()
        made = program(CONFIG, rng, [rng.choice(KINDS) for _ in range(CASES)])
        for place in sorted(rng.sample(range(CASES), max(1, CASES // 5)), reverse=True):
            made.insert(place, replace(rng.choice(bad), after=tuple(Engine)))
        await host.run(made)
        _, number = host.fault()
        assert number == next(k for k, each in enumerate(made) if isinstance(each, Refused))
        await host.compare("program")


@covers("core.beside", "Engines share the ports of SBUF and PSUM; DMA gives way")
@cocotb.test(**LIMIT)
async def engines_beside_each_other(dut):
    """Instructions in the shares of their engines, which rarely wait for each other: all memories are as in order, and
    the engines are busy for more cycles than have passed."""
    rng = pauses.rng("program")
    async with bench(dut, SIGNATURE, patience=PATIENCE) as frame:
        host = Host(frame, CONFIG)
        await host.load(rng)
        await host.clear()
        names = 3 * KINDS + CASES // 2 * ["copy", "descriptor", "vector", "scalar"]
        rng.shuffle(names)
        cycles = await host.run(program(CONFIG, rng, names, beside=True))
        busy = host.busy()
        assert all(busy), f"engines are busy {busy}"
        assert sum(busy) > cycles, f"engines are busy {busy} of {cycles} cycles"
        await host.compare("program")


@covers(
    "core.slots",
    "A transpose runs in the background slot while the array multiplies, but not in a bank to which the other "
    "slot writes",
    "Instructions of TensorE alone, which do not wait for each other: memories are as in order, and the program "
    "takes less time than one after the other",
)
@cocotb.test(**LIMIT)
async def transposes_beside_matmuls(dut):
    """Products and twice as many transposes: a transpose takes the background slot, and the next instruction a bank that the
    other slot has left. The program takes less time than one after the other."""
    rng = pauses.rng("program")
    async with bench(dut, SIGNATURE, patience=PATIENCE) as frame:
        host = Host(frame, CONFIG)
        await host.load(rng)
        names = [name for _ in range(CASES) for name in (rng.choice(TENSOR_KINDS), "pass", "pass")]
        made = [replace(each, after=()) for each in program(CONFIG, rng, ["fused", "pass", *names])]
        cycles = await host.run(made)
        await host.compare("beside")
        alone = await host.run([replace(each, after=(Engine.TENSOR,)) for each in made])
        await host.compare("alone")
        assert cycles < alone, f"{cycles} cycles, {alone} one after the other"


@covers(
    "core.sums",
    "DMA waits for them, and a sum must see the one before it, in memory or on its way",
    "Additions onto few words of SBUF while VectorE and ScalarE read and write for many cycles",
)
@cocotb.test(**LIMIT)
async def sums_wait_for_lanes(dut):
    """Additions onto few words of SBUF, while VectorE and ScalarE use its partitions in every second cycle, or each other's
    gaps: a sum waits, and the next one finds it on its way."""
    rng = pauses.rng("program")
    async with bench(dut, SIGNATURE, patience=PATIENCE) as frame:
        host = Host(frame, CONFIG)
        await host.load(rng)
        made: list[Instruction] = []
        for _ in range(CASES):
            for bank, engine in enumerate((Engine.VECTOR, Engine.SCALAR)):
                half = CONFIG.bank_bytes // 2
                row, at = Pattern(((1, half),)), bank * CONFIG.bank_bytes
                y, result = (Operand(replace(row, offset=at + part), "uint8", True) for part in (0, half))
                own = {"x": Operand(row, "uint8"), "y": y, "result": result, "op": Operator.BITWISE_XOR}
                made.append(Operate(engine=engine, partitions=rng.choice((1, CONFIG.size)), **own))
            for _ in range(6):
                mode, name = rng.choice(((WriteMode.ADD_BF16, "bf16"), (WriteMode.ADD_FP32, "fp32")))
                word = CONFIG.partition_bytes // 2 + 4 * rng.randrange(4)
                destination = rng.randrange(2), word
                source = None, 4 * rng.randrange(CONFIG.hbm_bytes // 4 - 8)
                made.append(
                    Descriptor(
                        source=source, destination=destination, count=rng.randint(1, 8), pair=(name, name), mode=mode,
                        config=CONFIG,
                    )
                )  # fmt: skip
        await host.run(made)
        await host.compare("sums")


@covers("core.refused", "A refused instruction must leave no trace")
@cocotb.test(**LIMIT)
async def refused_instructions(dut):
    """Instructions with one thing wrong, of every engine, every code that a field does not know, and patterns far
    beyond every memory, between others: code and number of the first, and no byte changed."""
    rng = pauses.rng("memories")
    async with bench(dut, SIGNATURE, patience=PATIENCE) as frame:
        coverage = frame.coverage([each.name for each in Fault if each is not Fault.NONE])
        host = Host(frame, CONFIG)
        await host.load(rng)
        for fault, each in refused(CONFIG):
            await host.clear()
            good = rng.randrange(3)
            await host.run(
                [*program(CONFIG, rng, ["vector"] * good), each, each, *program(CONFIG, rng, [rng.choice(KINDS)])]
            )
            assert host.fault() == (fault, good), f"{each.body()}"
            coverage.hit(fault.name)
        await host.clear()
        assert host.fault()[0] is Fault.NONE
        await host.compare("refused")


@covers("core.queues", "Descriptors of several instructions wait together")
@cocotb.test(**LIMIT)
async def queues(dut):
    """Copies in all queues at once, with priorities and a class of a low rate."""
    rng = pauses.rng("program")
    async with bench(dut, SIGNATURE, patience=PATIENCE) as frame:
        host = Host(frame, CONFIG)
        await host.load(rng)
        settings = [{"priority": k, "traffic_class": k} for k in range(CONFIG.queues)]
        dut.queues.value = pack(SIGNATURE.members["queues"].shape, settings)
        dut.classes.value = pack(
            SIGNATURE.members["classes"].shape, [{}, {"limited": 1, "rate": 200, "burst": 8}, {}, {}]
        )
        await host.clear()
        part = CONFIG.hbm_bytes // 2 // CONFIG.queues
        copies = []
        for queue in range(CONFIG.queues):
            row = Pattern(((2, part // 16), (1, 1)))
            source, destination = (Side(replace(row, offset=part * (queue + side) // 4)) for side in (0, CONFIG.queues))
            copies.append(Copy(source=source, destination=destination, partitions=1, size=2, queue=queue))
        await host.run(copies)
        assert resolved(dut.grants) == CONFIG.queues * (part // 16)
        await host.compare_hbm("queues")


@covers("core.reset", "Sequencers, queues and walkers hold a program's state")
@cocotb.test(**LIMIT)
async def resets(dut):
    """Resets amid programs: idle at once, counters and fault cleared, later programs are right."""
    rng = pauses.rng("program")
    async with bench(dut, SIGNATURE, patience=PATIENCE) as frame:
        host = Host(frame, CONFIG)
        for cycles in (3, 40):
            for each in program(CONFIG, rng, rng.choices(KINDS, k=CASES), beside=True):
                host.send(each)
            for _ in range(cycles):
                await RisingEdge(dut.clk)
            host.driver.drop()
            await frame.reset()
            host.start()
            await FallingEdge(dut.clk)
            assert resolved(dut.idle)
            assert host.fault() == (Fault.NONE, 0)
            assert not any(host.busy())
            await host.load(rng)
            await host.run(program(CONFIG, rng, rng.choices(KINDS, k=4)))
            await host.compare_hbm("after a reset")
