"""Runs of Trainium3's units in the flows; the flows compare the results."""

import numpy as np
from cocotb.simtime import get_sim_time
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, Timer

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3 import MatmulInstruction
from bitpath.golden.trainium3.declarations.quad_mx import AccumulateFlag
from bitpath.golden.trainium3.declarations.vector import XORWOW_STATES
from bitpath.rtl.trainium3.array.psum import host_layout, write_layout
from bitpath.rtl.trainium3.dma.dma_transpose import transposed_layout
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.vector.quantize_mx import BLOCK
from bitpath.rtl.trainium3.vector.xorwow import load_layout
from bitpath.verif.kit import pauses
from bitpath.verif.kit.batches import places
from bitpath.verif.kit.bench import ENGINE_PATIENCE_CYCLES, PERIOD_NS
from bitpath.verif.kit.exchange import show_share
from bitpath.verif.kit.flow_run import run_of
from bitpath.verif.kit.packing import pack, width
from bitpath.verif.kit.streams import resolved
from bitpath.verif.trainium3.core.core_host import Host as CoreHost
from bitpath.verif.trainium3.core.dma_engine import Host as DmaHost
from bitpath.verif.trainium3.dma.dma_transpose import beat
from bitpath.verif.trainium3.engine.lowering import PlacedMatmul, destination, lower, psum_places
from bitpath.verif.trainium3.engine.session import TensorEnginePlayer, exact_map
from bitpath.verif.trainium3.refusals import no_fault
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_rows import lower as lower_rows
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_rows import output_rows
from bitpath.verif.trainium3.vector.quantize_mx import MODES, unpacked
from bitpath.verif.trainium3.vector.xorwow import bits_of

LOOK_CYCLES = 256
"""Between two looks at how much is done."""


def table(payloads: list[int], size: int) -> np.ndarray:
    """Return payloads as rows of bytes, the lowest first."""
    return np.frombuffer(b"".join(payload.to_bytes(size, "little") for payload in payloads), np.uint8).reshape(-1, size)


@run_of("quantize_mx")
async def quantize_blocks(frame, config, content):
    """Run one block a cycle; ``cycles`` are those until the last result."""
    blocks, mode = content
    control, element = MODES[mode].control, MODES[mode].element
    results: list[int] = []
    driver = frame.driver("i")
    frame.monitor("o", results.append)
    for block in blocks:
        driver.send_bits(int.from_bytes(block.astype("<u2").tobytes(), "little") | control)
    cycles = 0
    while len(results) < len(blocks):
        await RisingEdge(frame.dut.clk)
        cycles += 1
        if cycles % LOOK_CYCLES == 0:
            show_share(len(results) / len(blocks))
    rows = table(results, BLOCK + 1)
    return {"codes": unpacked(rows[:, :BLOCK], element), "scales": rows[:, BLOCK], "cycles": cycles}


@run_of("rmsnorm_quant")
async def quantize_rows(frame, config, rows):
    """Run the commands in order; ``times`` are the simulated times in ps of the output's bytes."""
    dut, batches = frame.dut, lower_rows(config, rows)
    payloads: list[int] = []
    moments: list[int] = []

    def got(payload: int) -> None:
        payloads.append(payload)
        moments.append(int(get_sim_time("ps")))

    streams = {name: frame.driver(name) for name in ("command", "hidden", "gamma")}
    frame.monitor("o", got)
    frame.start("faults", no_fault(dut, "rmsnorm_quant"))
    for batch in batches:
        streams["command"].send_bits(batch.command)
        for name in ("hidden", "gamma"):
            for bits in getattr(batch, name):
                streams[name].send_bits(bits)
    expected = len(batches) * rows.row_bytes
    while len(payloads) < expected:
        await Timer(LOOK_CYCLES * PERIOD_NS, unit="ns")
        show_share(len(payloads) / expected)
    await FallingEdge(dut.clk)
    assert not resolved(dut.busy)
    assert resolved(dut.retired) == len(batches)
    cycles = resolved(dut.busy_cycles)
    await RisingEdge(dut.clk)
    parts = [payloads[start : start + rows.row_bytes] for start in range(0, expected, rows.row_bytes)]
    output = np.concatenate([output_rows(config, *each) for each in zip(batches, parts, strict=True)])
    # The rows of a batch are in the lanes of its payloads.
    counts = [batch.count for batch in batches]
    times = np.repeat(np.array(moments, np.uint64).reshape(len(batches), -1), counts, axis=0)
    return {"output": output, "times": times, "cycles": cycles}


class Progress:
    """The share of a matmul's program that is done."""

    def __init__(self, instructions: int):
        self.instructions = instructions
        self.begun = -1

    def begin(self, segments, retired: int) -> None:
        self.begun += 1
        self.base = retired
        # About half of the engine's instructions are loads; the share need not be exact.
        self.expected = max(1, sum(len(segment.commands) for segment in segments) // 2)

    def show(self, retired: int) -> None:
        part = min(1.0, (retired - self.base) / self.expected)
        show_share((self.begun + part) / self.instructions)


def at_the_bottom(instruction: MatmulInstruction) -> PlacedMatmul:
    """Return the instruction with its destination at the bottom of PSUM."""
    return PlacedMatmul(
        stationary=instruction.stationary,
        moving=instruction.moving,
        stationary_scale=instruction.stationary_scale,
        moving_scale=instruction.moving_scale,
        psum_accumulate_flag=int(instruction.psum_accumulate_flag),
        tile_row=instruction.tile_row,
        tile_rows=instruction.tile_rows,
    )


@run_of("tensor_engine", patience=None)
async def multiply(frame, config, program):
    """Run the instructions in order, and read PSUM when an accumulation group ends."""
    progress = Progress(len(program))
    output = np.zeros([side.stop for side in program[-1].output], np.uint32)
    times = np.zeros(output.shape, np.uint64)
    player = TensorEnginePlayer(frame, config)
    frame.start("faults", no_fault(frame.dut, "tensor_engine"))
    await player.set_map(exact_map())
    for instruction in program:
        matmul = at_the_bottom(instruction)
        segments = lower(config, [matmul])
        progress.begin(segments, resolved(frame.dut.retired))
        await player.play(segments, progress.show)
        if instruction.psum_accumulate_flag & AccumulateFlag.LAST:
            words = await player.read(range(psum_places(config, matmul.shape)))
            output[instruction.output] = destination(config, matmul.shape, words)
            times[instruction.output] = destination(config, matmul.shape, player.answer_times(config.array.cols))
    return {"output": output, "times": times, "cycles": resolved(frame.dut.busy_cycles)}


PSUM_SETTLE_CYCLES = 4
"""Cycles until a write is in place."""


@run_of("psum", patience=None)
async def write_psum(frame, config, groups):
    """Write each group's results, uint32 [places, columns] with a flag, a place a cycle; read the places of the group."""
    dut, left, cycles = frame.dut, [], 0

    def address(place: int) -> dict[str, int]:
        return {"index": place % config.bank_depth, "bank": place // config.bank_depth}

    host = frame.driver("host")
    frame.start("faults", no_fault(dut, "psum"))
    frame.start("watch", frame.watch(2 * config.banks * config.bank_depth * max(map(len, groups))))
    answers: list[int] = []
    frame.monitor("data", answers.append)
    for number, group in enumerate(groups):
        for flag, results in group:
            for place, values in enumerate(results):
                fields = {"address": address(place), "mode": {"flag": flag}, "valid": 1}
                vector = int.from_bytes(values.astype("<u4").tobytes(), "little")
                dut.write.value = pack(write_layout(config), fields | {"values": vector})
                await RisingEdge(dut.clk)
            cycles += len(results)
        dut.write.value = 0
        await ClockCycles(dut.clk, PSUM_SETTLE_CYCLES)
        count = len(group[0][1])
        for place in range(count):
            host.send_bits(pack(host_layout(config), {"address": address(place)}))
        while len(answers) < count:
            await RisingEdge(dut.clk)
        left.append(table(answers, config.cols * FP32.width // 8).view("<u4"))
        answers.clear()
        show_share((number + 1) / len(groups))
    return {f"group_{number}": words for number, words in enumerate(left)} | {"cycles": cycles}


@run_of("xorwow")
async def step_generators(frame, config, content):
    """Load each of the states into a lane and let it step; ``numbers`` are [states, steps, 4], ``cycles`` loads and steps."""
    states, steps = content
    dut, taken = frame.dut, []
    frame.onlook("random")
    for number, own in enumerate(states):
        dut.load__payload.value = pack(load_layout(config), {"lane": 0, "states": bits_of(own)})
        dut.load__valid.value, dut.random__ready.value = 1, 0
        await RisingEdge(dut.clk)
        dut.load__valid.value, dut.random__ready.value = 0, 1
        for _ in range(steps):
            await FallingEdge(dut.clk)
            taken.append(resolved(dut.random__payload))
            await RisingEdge(dut.clk)
        show_share((number + 1) / len(states))
    numbers = table(taken, 4 * XORWOW_STATES * config.lanes).view("<u4").reshape(len(states), steps, -1)
    return {"numbers": numbers[..., :XORWOW_STATES], "cycles": len(states) * (steps + 1)}


DMA_PATIENCE_CYCLES = 200_000
"""Cycles without a grant: a class with a low rate waits long."""
DMA_BEHIND = 40
"""Cycles behind the last grant's time, in which its last writes follow."""


@run_of("dma_engine", patience=DMA_PATIENCE_CYCLES)
async def move(frame, config, loads):
    """Run each load's moves from a reset on; ``images`` are the targets behind them, ``cycles`` those until the last descriptor
    has ended."""
    images, cycles = [], 0
    host = DmaHost(frame, config, pauses.rng("memory"), compares=False)
    frame.start("faults", no_fault(frame.dut, "dma_engine"))
    for number, load in enumerate(loads):
        await host.reset()
        host.memories.source = load.source
        host.memories.target.words = list(load.target)
        host.start(load.schedule, load.moves)
        while len(host.granted) < len(load.moves):
            await RisingEdge(frame.dut.clk)
        for _ in range(max(each.move.cycles(config.mover) for each in load.moves) + DMA_BEHIND):
            await RisingEdge(frame.dut.clk)
        assert len(host.granted) == len(load.moves), "a grant that no descriptor asked for"
        images.append(b"".join(host.memories.target.words))
        cycles = max(cycles, load.end(host.granted, config))
        show_share((number + 1) / len(loads))
    return {
        "images": np.frombuffer(b"".join(images), np.uint8).reshape(len(loads), -1),
        "cycles": cycles,
    }


@run_of("dma_transpose")
async def transpose(frame, config, jobs):
    """Run each job on the bytes of its own memory; ``counts`` are its results, ``cycles`` those until the last one."""
    layout = transposed_layout(config)
    results: list[int] = []
    counts, cycles = [], 0
    (last, _) = places(layout)["last"]
    memory = b""
    data, commands = frame.driver("data"), frame.driver("i")
    frame.monitor("fetch", lambda request: data.send_bits(beat(config, memory, request)))
    frame.monitor("o", results.append)
    frame.start("faults", no_fault(frame.dut, "dma_transpose"))
    for number, (job, source) in enumerate(jobs):
        before, memory = len(results), source.ljust(1 << config.address_bits, b"\0")
        commands.send_bits(job.command(config))
        while len(results) == before or not results[-1] >> last & 1:
            await RisingEdge(frame.dut.clk)
            cycles += 1
        counts.append(len(results) - before)
        show_share((number + 1) / len(jobs))
    return {"words": table(results, -(-width(layout) // 8)), "counts": np.array(counts), "cycles": cycles}


@run_of("core", drain=True, patience=ENGINE_PATIENCE_CYCLES)
async def run_programs(frame, config, programs):
    """``images`` are the bytes of HBM that the longest program uses, behind each; ``cycles`` those of the instructions,
    ``times`` rows of a program's own cycles and those in which each engine was busy since the first program."""
    used = max(each.hbm_used for each in programs)
    images, times = [], []
    host = CoreHost(frame, config, compares=False)
    await host.clear()
    for number, program in enumerate(programs):
        host.memories.hbm[:] = program.hbm
        await host.write_hbm(program.hbm_loaded)
        if program.schedule:
            host.set_schedule(program.schedule)
        for each in program.instructions:
            host.send(each)
        times.append((await host.finish(), *host.busy()))
        fault, place = host.fault()
        assert fault is Fault.NONE, f"program {number}: instruction {place} is refused, {fault.name}"
        words = await host.read_hbm(used // host.word)
        images.append(b"".join(word.to_bytes(host.word, "little") for word in words))
        show_share((number + 1) / len(programs))
    rows = np.frombuffer(b"".join(images), np.uint8).reshape(len(programs), -1)
    return {"images": rows, "times": np.array(times), "cycles": sum(own for own, *_ in times)}
