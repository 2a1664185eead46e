"""The tile: kernels of three cores against the same words pushed, each device, waits, and accesses that are refused."""

import re

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix import DeadlockError, UndefinedBehavior, isa
from bitpath.golden.tensix.declarations.encodings import FIELDS, REGISTERS, THREAD_FIELDS, THREAD_REGISTERS
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.riscv import Program, Tile
from bitpath.golden.tensix.riscv.tile import L1_BYTES, LOCAL_BASE, LOCAL_BYTES
from bitpath.verif.kit.known_answers import answers, skip_absent
from bitpath.verif.kit.riscv import (
    BASE,
    EBREAK,
    RET,
    branch,
    compiled,
    immediate,
    load_immediate,
    packed,
    store,
    ttinsn,
)
from bitpath.verif.tensix.program.programs import archived

CHIPS = {"wh": "wormhole", "bh": "blackhole"}
MOP, GPRS, PUSH, PC_BUFFER = 0xFFB80000, 0xFFE00000, 0xFFE40000, 0xFFE80000
DONE, MOP_DONE, SEMAPHORES, MAILBOXES, CONFIG = 0xFFE80004, 0xFFE80008, 0xFFE80020, 0xFFEC0000, 0xFFEF0000
PLACES = [BASE + 0x3000 * thread for thread in range(3)]
"""Addresses of the three kernels."""


def tile_with(chip, codes):
    """Return a tile with code for each thread."""
    tile = Tile(chip)
    for thread, code in enumerate(codes):
        tile.load(thread, Program(entry=PLACES[thread], segments=((PLACES[thread], code),)))
    return tile


def put(core, memory):
    """Write bytes to L1 at each address."""
    for address, data in memory:
        core.l1[address : address + data.size] = data


def ir(*lines):
    """Return the code of a kernel of LLVM IR."""
    code, offsets = compiled("\n".join(("define void @kernel() {", *lines, "ret void", "}")))
    assert offsets == {"kernel": 0}
    return code


def stored(address, *values):
    """Return IR that stores words from an address on; a FIFO takes them all at the same address."""
    step = 0 if address == PUSH else 4
    return [
        f"store volatile i32 {value}, ptr inttoptr (i32 {address + step * place} to ptr)"
        for place, value in enumerate(values)
    ]


def polled(name, address, value):
    """Return IR that loads a word until it has a value."""
    return [
        f"br label %{name}",
        f"{name}:",
        f"%{name}_v = load volatile i32, ptr inttoptr (i32 {address} to ptr)",
        f"%{name}_c = icmp eq i32 %{name}_v, {value}",
        f"br i1 %{name}_c, label %{name}_end, label %{name}",
        f"{name}_end:",
    ]


# A whole kernel: T0 unpacks a tile of SrcA and one of SrcB, T1 adds them and doubles the sum on the Vector unit, T2 packs.


LEFT, RIGHT, RESULT, TILE_BYTES = 0x10000, 0x20000, 0x30000, 2048
SHARED = {
    "src_a_format": [5],
    "src_b_format": [5],
    "dst_format": [5],
    "fp32_enabled": [1],
    "read_32b": [1],
    "edge_mask": [0xFFFF],
    "packer_y_stride": [32],
    "l1_format": [5, 5],
    "descriptor_uncompressed": [1, 1],
    "x_dim": [1024, 1024],
    "y_dim": [1, 1],
    "z_dim": [1, 1],
    "unpack_out_format": [5, 5],
    "throttle": [2, 2],
    "uncompressed": [1, 1],
    "base_address": [LEFT // 16 - 1, RIGHT // 16 - 1],
    "dst_address": [64],
    "context_x_dim": [1024],
    "pack_address": [RESULT // 16 - 1 + 32 * packer for packer in range(4)],
    "pack_uncompressed": [1] * 4,
    "pack_out_format": [5] * 4,
    "pack_in_format": [5] * 4,
    "packer_dst_offset": [16 * packer for packer in range(4)],
}
"""Configuration of BF16 in L1 and Src, FP32 in Dst: the value of each unit, of packers as many as the chip has."""
UNPACK = "SETADCXX units=3, end=1023\nSETADCXY units=3, which=10\nSETADCZW units=3, which=15\nMOP"
UNPACR = "UNPACR ch0_z=1, multi_context=1, flip=1, last=1"
ADD = "ELWADD\nINCRWC dst=8, src_b=8, src_a=8\n"
TWICE = "\n".join(
    f"SFPLOAD L0, {row}, 3, 0\nSFPADD L0, L10, L0, L0, 0\nSFPNOP\nSFPSTORE {row}, L0, 3, 0" for row in range(0, 64, 2)
)
MATH = (
    f"ZEROACC mode=3\nSETRWC which=15\n{ADD * 7}ELWADD flip=3\nSETRWC which=15\nSFPENCC 3, 10\n{TWICE}\n"
    "STALLWAIT block=66, conditions={}\nSEMPOST semaphores=2"
)
PACK = {
    "wormhole": "SETC16 register=32, value=32\nSETADCXX units=4, end=255\nSETADCXY units=4, which=10\n"
    "SETADCZW units=4, which=15\nSEMWAIT block=1, semaphores=2, while_zero=1\nPACR modifier=1, packers=15, last=1",
    "blackhole": "SETC16 register=37, value=4\nSETC16 register=38, value=32\nSETADCXX units=4, end=15\n"
    "SETADCXY units=4, which=10\nSETADCZW units=4, which=15\nSEMWAIT block=1, semaphores=2, while_zero=1\nMOP template=1",
}


def kernel(chip):
    """Return the configuration by register, the words and the MOP words of each thread, and operands and result in L1."""
    registers = {}
    for name, values in SHARED.items():
        for place, value in zip(FIELDS[Chip(chip)][name], values, strict=False):
            registers[place.register] = registers.get(place.register, 0) | value << place.low
    override = THREAD_FIELDS[Chip(chip)]["override_with_address"][0]
    nop, first, second, pack, last = isa.assemble(
        f"NOP\n{UNPACR}\n{UNPACR}, unpacker=1\nPACR\nPACR modifier=1, last=1", chip=chip
    )
    texts = (
        f"SETC16 register={override.register}, value={override.mask}\nSEMINIT maximum=1, semaphores=2\n{UNPACK}",
        MATH.format(128 if chip == "wormhole" else 16),
        PACK[chip],
    )
    words = [isa.assemble(text, chip=chip) for text in texts]
    mops = [[0, 1, second, first, *[nop] * 5], [nop] * 9, [1, 16, nop, nop, nop, pack, nop, last, nop]]
    values = np.random.default_rng(3).integers(-64, 65, (3, 1024)).astype(np.float32)
    values[2] = 2 * (values[0] + values[1])
    memory = [(values[each].view(np.uint32) >> 16).astype(np.uint16).view(np.uint8) for each in range(3)]
    return registers, words, mops, memory


@pytest.mark.parametrize("chip", CHIPS.values())
@pytest.mark.parametrize("order", ["round_robin", "thread_first", "last_thread_first"])
def test_compiled_kernels_and_the_same_words_pushed(chip, order):
    """T0 configures by stores and lets T1 begin by a mailbox, T2 by a semaphore; T2 waits for its thread and sets a flag."""
    registers, words, mops, (left, right, result) = kernel(chip)
    core = tensix.Core(chip)
    for register, value in registers.items():
        core.config.write(0, register, value)
    for thread in range(3):
        core.mop_config(thread, mops[thread])
        core.push(thread, words[thread])
    put(core, ((LEFT, left), (RIGHT, right)))
    expected = core.run()
    assert np.array_equal(core.l1[RESULT : RESULT + TILE_BYTES], result)

    begin = f"%go = load volatile i32, ptr inttoptr (i32 {MAILBOXES + 0x1000} to ptr)"
    done = f"%c = load volatile i32, ptr inttoptr (i32 {DONE} to ptr)"
    tile = tile_with(
        chip,
        [
            ir(
                *(each for register, value in registers.items() for each in stored(CONFIG + 4 * register, value)),
                *stored(MOP, *mops[0]),
                *stored(PUSH, *words[0]),
                *stored(MAILBOXES + 0x2000, 1),
                *stored(SEMAPHORES + 4 * 5, 0),
            ),
            ir(*stored(MOP, *mops[1]), begin, *stored(PUSH, *words[1])),
            ir(
                *polled("ready", SEMAPHORES + 4 * 5, 1),
                *stored(MOP, *mops[2]),
                *stored(PUSH, *words[2]),
                *stored(DONE, 0),
                done,
                *stored(0x8000, 255),
            ),
        ],
    )
    put(tile.core, ((LEFT, left), (RIGHT, right)))
    trace = tile.run(order)
    assert np.array_equal(tile.core.l1[RESULT : RESULT + TILE_BYTES], result)
    assert [trace.tensix.words(each) for each in range(3)] == [expected.words(each) for each in range(3)]
    assert tile.core.l1[0x8000:0x8004].tolist() == [255, 0, 0, 0]
    assert not any(tile.mailboxes.values())
    assert min(trace.harts) > 30


@pytest.mark.parametrize("chip", CHIPS)
@answers("tensix_bh_program")
def test_programs_as_code(archive, chip):
    """Every program as .ttinsn words; its MOP configuration is stored."""
    skip_absent(archive.name, {chip: chip in archive["meta"]["chip"]})
    for meta in archive["meta"]:
        if meta["chip"] != chip:
            continue
        number = int(meta["id"])
        program, own = archived(archive, chip, number), archive.part(f"{chip}{number:02}_")
        codes = [
            ir(*stored(MOP, *mop))[:-4] + packed([*map(ttinsn, words), RET])
            for mop, words in zip(program.mops, program.words, strict=True)
        ]
        tile = tile_with(CHIPS[chip], codes)
        put(tile.core, program.memory)
        trace = tile.run()
        for thread in range(3):
            yield own["trace"][own["trace"][:, 0] == thread, 1], trace.tensix.words(thread)
        address, size = program.result
        yield own["after"], tile.core.l1[address : address + size]


# Devices, each by a few words of code.


def stores(*pairs):
    """Return words that store values at addresses."""
    return [
        word
        for address, value in pairs
        for word in (*load_immediate(5, address), *load_immediate(6, value), store(2, 5, 6, 0))
    ]


def loads(*pairs):
    """Return words that load registers from addresses."""
    return [word for rd, address in pairs for word in (*load_immediate(5, address), immediate(0x03, 2, rd, 5, 0))]


def ran(chip, *codes):
    """Run words of each thread until all end."""
    tile = tile_with(chip, [packed([*words, RET]) for words in codes])
    tile.run()
    return tile


def test_local_memory_and_the_stack():
    for chip in Chip:
        top = LOCAL_BASE + LOCAL_BYTES[chip]
        tile = ran(chip, [*stores((top - 4, 0x1234)), *loads((10, top - 4), (11, LOCAL_BASE))], [*loads((10, top - 4))])
        assert tile.harts[0].x[2] == top
        assert tile.harts[0].x[10:12] == [0x1234, 0]
        assert tile.harts[1].x[10] == 0


def test_general_purpose_registers():
    words = [ttinsn(isa.encode("SETDMAREG", value_low=0x1234, half_register=14))]
    tile = ran(
        "wormhole", [*words, *loads((10, GPRS + 28)), *stores((GPRS + 4 * 63, 0xABCD0123))], [*loads((10, GPRS + 28))]
    )
    assert tile.harts[0].x[10] == 0x1234
    assert tile.harts[1].x[10] == 0
    assert tile.core.state.gprs[0][63] == 0xABCD0123


@pytest.mark.parametrize("chip", Chip)
def test_configuration(chip):
    """Registers of both banks, those that exist once, and the thread's own."""
    banked, single = FIELDS[chip]["x_dim"][0].register, FIELDS[chip]["packer_dst_offset"][0].register
    count, own = REGISTERS[chip], THREAD_FIELDS[chip]["math_offset"][0].register
    other = CONFIG + 4 * count
    code = stores((CONFIG + 4 * banked, 0x70000), (other + 4 * banked, 0x90000), (other + 4 * single, 5))
    math_offset = isa.encode("SETC16", chip=chip, register=own, value=0x123)
    base = CONFIG + 8 * count
    places = (10, CONFIG + 4 * banked), (11, other + 4 * banked), (12, CONFIG + 4 * single)
    read = loads(
        *places, (13, base + 16 * own), (14, base + 16 * own + 4), (15, base + 16 * (THREAD_REGISTERS[chip] + own))
    )
    tile = ran(chip, [*code, *read], [ttinsn(math_offset), *loads((10, base + 16 * (THREAD_REGISTERS[chip] + own)))])
    assert tile.harts[0].x[10:15] == [0x70000, 0x90000, 5, 0, 0]
    assert tile.harts[1].x[10] == 0x123
    assert tile.core.config.registers[0][single] == tile.core.config.registers[1][single] == 5


def test_a_store_to_the_configuration_permutes_dst():
    place = FIELDS[Chip.BLACKHOLE]["remap_addrs"][0]
    tile = ran("blackhole", stores((CONFIG + 4 * place.register, place.mask)))
    assert tile.core.state.dst.remapped


def test_a_store_of_the_seed_starts_the_random_numbers():
    register = FIELDS[Chip.WORMHOLE]["prng_seed"][0].register
    by_store, by_words = ran("wormhole", stores((CONFIG + 4 * register, 0x1234))), tensix.Core()
    by_words.push(0, isa.assemble(f"SETDMAREG value_low=0x1234, half_register=0\nWRCFG register={register}"))
    by_words.run()
    assert by_store.core.state.sfpu.prng.tolist() == by_words.state.sfpu.prng.tolist()
    assert by_store.core.state.sfpu.prng.tolist() != tensix.Core().state.sfpu.prng.tolist()


def test_semaphores_count_from_0_to_15():
    up = [*stores(*((SEMAPHORES + 4 * 3, 0),) * 17)]
    tile = ran("wormhole", [*up, *loads((10, SEMAPHORES + 12)), *stores(*((SEMAPHORES + 12, 1),) * 16)])
    assert tile.harts[0].x[10] == 15
    assert [each.value for each in tile.core.state.semaphores] == [0] * 8


def test_a_posted_semaphore_lets_a_thread_go_on():
    words = isa.assemble("SEMWAIT block=2, semaphores=4, while_zero=1\nSEMPOST semaphores=8")
    poll = [*loads((10, SEMAPHORES + 12)), branch(0, 10, 0, -12)]
    tile = ran("wormhole", [*map(ttinsn, words), *loads((11, DONE))], [*stores((SEMAPHORES + 8, 0)), *poll])
    assert tile.core.state.semaphores[3].value == 1
    assert tile.harts[1].x[10] == 1


def test_mailboxes_hold_four_values_and_wait():
    values = [7, 8, 9, 10, 11]
    send = stores(*((MAILBOXES + 0x2000, each) for each in values))
    take = [*loads((10, MAILBOXES + 0x1004)), *loads(*((11 + place, MAILBOXES + 0x1000) for place in range(5)))]
    tile = ran("wormhole", send, take)
    assert tile.harts[1].x[10:16] == [1, *values]
    tile = ran("wormhole", [*loads((10, MAILBOXES + 0x2004)), *stores((MAILBOXES, 3))])
    assert tile.harts[0].x[10] == 0
    assert list(tile.mailboxes[1, 0]) == [3]


def test_the_host_stands_for_core_b():
    tile = tile_with("wormhole", [packed([*loads((10, PC_BUFFER), (11, MAILBOXES)), RET])])
    tile.pc_buffers[0].append(0x55)
    tile.mailboxes[0, 1].append(0x66)
    tile.run()
    assert tile.harts[0].x[10:12] == [0x55, 0x66]


def test_stores_that_are_discarded():
    tile = ran("wormhole", [*stores((PC_BUFFER, 1), (DONE, 1), (MOP_DONE, 1)), *loads((10, MOP_DONE), (11, DONE))])
    assert tile.harts[0].x[10:12] == [0, 0]


def test_a_program_may_be_loaded_again_and_run():
    tile = tile_with("wormhole", [packed([ttinsn(isa.encode("SETRWC", which=15)), RET])])
    assert tile.run().tensix.count("SETRWC") == 1
    tile.load(0, Program(entry=0x4000, segments=((0x4000, packed([ttinsn(isa.encode("NOP")), EBREAK])),)))
    assert tile.run().harts == (1, 0, 0)
    assert repr(tile) == "Tile(chip='wormhole')"


# What is refused, and waits without an end.


SYNC = [ttinsn(isa.encode("SEMWAIT", block=2, semaphores=4, while_zero=1)), ttinsn(isa.encode("SEMPOST", semaphores=8))]
DEADLOCKS = [
    ([*loads((10, MAILBOXES))], "no hart and no thread can go on: T0 waits for a value in the mailbox from B"),
    (
        [*loads((10, MAILBOXES + 0x3000))],
        "no hart and no thread can go on: T0 waits for a value in the mailbox from T2",
    ),
    ([*loads((10, PC_BUFFER))], "no hart and no thread can go on: T0 waits for a value from core B in its PCBuf"),
    (stores(*((MAILBOXES, 0),) * 5), "no hart and no thread can go on: T0 waits for room in its mailboxes"),
    (
        [*SYNC, *loads((10, DONE))],
        "no hart and no thread can go on: T0 waits for the end of Tensix thread 0's instructions; thread 0 waits for semaphore 2 above 0",
    ),
    (SYNC, "no hart and no thread can go on: thread 0 waits for semaphore 2 above 0"),
]


@pytest.mark.parametrize(("words", "says"), DEADLOCKS)
def test_deadlocks(words, says):
    with pytest.raises(DeadlockError, match=f"^{re.escape(says)}$"):
        ran("wormhole", words)


def test_a_loop_ends_at_the_limit():
    tile = tile_with("wormhole", [packed([immediate(0x13, 0, 5, 5, 1), branch(0, 0, 0, -4)])])
    with pytest.raises(DeadlockError, match="must end after at most 5001 instructions; T0 is at 0x00001004"):
        tile.run(limit=5001)
    assert tile.harts[0].executed == 5001


REFUSED = [
    (loads((10, 0xFFB121F0)), "not 0xffb121f0 (tile control, debug and status)"),
    (loads((10, 0xFFBD8000)), "not 0xffbd8000 (Dst)"),
    (
        stores((0xFFB11000, 0)),
        "the address must be in L1, local memory or a modelled device, not 0xffb11000 (TDMA-RISC)",
    ),
    (loads((10, 0x40000000)), "a modelled device, not 0x40000000"),
    (stores((0xFFE50000, 0)), "a modelled device, not 0xffe50000"),
    (loads((10, 0xFFE8000C)), "a modelled device, not 0xffe8000c"),
    (loads((10, MOP)), "the MOP configuration at 0xffb80000 must not be loaded from"),
    (loads((10, PUSH)), "the instruction buffer at 0xffe40000 must not be loaded from"),
    ([*load_immediate(5, GPRS), immediate(0x03, 1, 6, 5, 4)], "at 0xffe00004 must not be loaded from except by words"),
    ([*load_immediate(5, GPRS), store(0, 5, 6, 4)], "at 0xffe00004 must not be stored to except by words of 4 bytes"),
    ([immediate(0x03, 2, 6, 0, 2)], "the address of 4 bytes must be a multiple of 4, not 0x00000002"),
    ([store(1, 0, 6, 3)], "the address of 2 bytes must be a multiple of 2, not 0x00000003"),
    (stores((BASE, 0)), "a store must not change an instruction that has run, at 0x00001000"),
    (stores((CONFIG + 8 * 188, 0)), "a thread's own configuration must be written by SETC16, not by a store"),
    (stores((CONFIG + 4, 1)), "configuration register 1 must be 0 in the bits that golden does not model"),
    ([immediate(0x67, 0, 0, 0, 0x400)], "T0, instruction at 0x00000400: word must have the opcode of an instruction"),
    (stores((PUSH, 0)), "word must have the opcode of an instruction in bits 31:24, not 0x00"),
]


@pytest.mark.parametrize(("words", "says"), REFUSED)
def test_accesses_that_are_refused(words, says):
    with pytest.raises(ValueError, match=re.escape(says)) as raised:
        ran("wormhole", words)
    assert str(raised.value).startswith("T0, instruction at 0x0000")


def test_errors_of_the_core_keep_their_kind():
    wait = ttinsn(isa.encode("SEMWAIT", block=2, semaphores=4))
    with pytest.raises(UndefinedBehavior, match=r"^T0, instruction at 0x0000100c: thread 0, SEMWAIT .* not both 0"):
        ran("wormhole", [wait, *loads((10, DONE))])
    with pytest.raises(UndefinedBehavior, match=r"^thread 0, SEMWAIT"):
        ran("wormhole", [wait])


@pytest.mark.parametrize("chip", Chip)
def test_programs_must_fit(chip):
    tile, size = Tile(chip), L1_BYTES[chip]
    assert tile.core.l1.size == size
    for address in (size - 2, 0x40000000, LOCAL_BASE - 4, LOCAL_BASE + LOCAL_BYTES[chip] - 3):
        with pytest.raises(
            ValueError, match=f"a program's bytes must be in L1 or local memory, not 4 of them at {address:#010x}"
        ):
            tile.load(0, Program(entry=0, segments=((address, bytes(4)),)))
    with pytest.raises(ValueError, match="thread must be 0 to 2, not 3"):
        tile.load(3, Program(entry=0, segments=()))
    tile.load(0, Program(entry=0, segments=((LOCAL_BASE, b"abcd"), (size - 4, b"efgh"))))
    assert tile.core.l1[-4:].tobytes() == b"efgh"
    tile.load(1, Program(entry=0, segments=((LOCAL_BASE, b"ijkl"), (size - 2, b"gh"))))
    with pytest.raises(ValueError, match=f"overlap in L1, not that of T2 and that of T0 at {size - 3:#010x}"):
        tile.load(2, Program(entry=0, segments=((size - 3, b"fx"), (0, b"a"))))
    assert tile.core.l1[0] == 0
    assert tile.harts[2] is None


def test_wrong_arguments():
    with pytest.raises(ValueError, match="chip must be 'wormhole' or 'blackhole', not 'quasar'"):
        Tile("quasar")
    with pytest.raises(TypeError, match="program must be a Program"):
        Tile().load(0, b"")
    with pytest.raises(ValueError, match="order must be"):
        Tile().run("any")
    assert tensix.Core().l1.size == L1_BYTES[Chip.WORMHOLE]
