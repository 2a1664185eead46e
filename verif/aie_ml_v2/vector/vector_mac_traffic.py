"""Host accesses during a program of the vector unit, checked against a model that follows the handshakes."""

from collections import deque
from random import Random

from cocotb.triggers import FallingEdge, Timer

from bitpath.rtl.aie_ml_v2.vector.vector_mac import word_bits, write_layout
from bitpath.verif.aie_ml_v2.vector.tiles import Instruction
from bitpath.verif.aie_ml_v2.vector.vector_mac_player import Place, VectorPlayer, marked
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.streams import resolved

REGISTERS = 4
"""Registers of the traffic; the program uses the first three."""
TAIL = 20
"""Cycles after the last beat in which all accesses complete."""


async def play_traffic(player: VectorPlayer, program: list[Instruction], rng: Random, coverage: Coverage) -> None:
    """Play a program with host writes between; ``player.registers`` then holds golden's accumulators.

    An instruction whose last beat is taken in the cycle of a host write reads the new word; a host read in that cycle
    returns the old one.
    """
    dut, registers = player.dut, player.registers
    beats = deque(
        (each, bits, last) for each in program for bits, last in marked(list(each.beats(player.config, player.junk)))
    )
    write: tuple[Place, int] | None = None
    read: Place | None = None
    answers: deque[int] = deque()
    due: deque[int] = deque()
    tail = TAIL
    while tail:
        tail -= not beats
        offered = bool(beats) and rng.random() < 0.9
        write = write or ((_place(rng), rng.getrandbits(word_bits(player.config))) if rng.random() < 0.3 else None)
        read = read or (_place(rng) if rng.random() < 0.5 and tail == TAIL else None)
        ready = rng.random() < 0.7 or tail < TAIL
        _drive(player, beats[0][1] if offered else None, write, read, ready)
        await Timer(1, unit="ns")
        written = player.written()
        if written.valid:
            player.places.expect(due.popleft())
            player.places.got(written.place.as_bits())
        if resolved(dut.o__valid):
            if not ready:
                coverage.hit("answer waits")
            else:
                player.values.expect(answers.popleft(), "an answer")
                player.values.got(resolved(dut.o__payload))
        if write is not None:
            passes = resolved(dut.write__ready)
            coverage.hit("write passes" if passes else "write waits")
            if passes:
                registers[write[0]] = write[1]
                write = None
        if read is not None:
            passes = resolved(dut.read__ready)
            if ready or not resolved(dut.o__valid):
                coverage.hit("read passes" if passes else "read waits")
            if passes:
                answers.append(registers[read])
                read = None
        if offered and resolved(dut.i__ready):
            each, _, last = beats.popleft()
            if last:
                due.append(player.place_bits((each.dst, each.part)))
                registers[each.dst, each.part] = each.result(player.config, registers)
        await FallingEdge(dut.clk)
    _drive(player, None, None, None, True)
    assert not answers
    assert not due


def _place(rng: Random) -> Place:
    """A word of the traffic's registers."""
    return rng.randrange(REGISTERS), 0


def _drive(
    player: VectorPlayer, beat: int | None, write: tuple[Place, int] | None, read: Place | None, ready: bool
) -> None:
    dut = player.dut
    dut.i__valid.value, dut.i__payload.value = int(beat is not None), beat or 0
    dut.write__valid.value, dut.read__valid.value, dut.o__ready.value = (
        int(write is not None),
        int(read is not None),
        int(ready),
    )
    if write is not None:
        place, word = write
        dut.write__payload.value = pack(write_layout(player.config), {"place": player.place_bits(place), "word": word})
    if read is not None:
        dut.read__payload.value = player.place_bits(read)
