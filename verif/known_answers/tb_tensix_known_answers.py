"""Known answers of Tensix through the RTL: ttsim v1.10.0. Results are compared with the archives, not with golden."""

import os
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix import unpack as unpacked_by_golden
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.core.programs import RESULT, CoreProgram
from bitpath.golden.tensix.core.state import THREADS
from bitpath.golden.tensix.declarations.encodings import BY_NAME, CHANNELS, DIMENSIONS, UNITS
from bitpath.golden.tensix.declarations.formats import (
    BLOCK,
    BLOCK_FLOATS,
    BLOCK_ROWS,
    COLUMNS,
    DST16_BF16,
    DST16_FP16,
    DST16_ROWS,
    DST32,
    EXPONENT8_FORMATS,
    FACE,
    SRC_ROWS,
    STYLE_OWN_FORMAT,
    Chip,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE
from bitpath.golden.tensix.declarations.sfpu import LANES
from bitpath.golden.tensix.isa import Instruction, decode, encode
from bitpath.golden.tensix.isa.expanders import MopExpander, ReplayExpander
from bitpath.golden.tensix.operands.counters import COUNTERS
from bitpath.golden.tensix.sfpu import Lanes
from bitpath.rtl.tensix.dot.layouts import DstRow, StyleCode
from bitpath.rtl.tensix.matrix.instruction import Opcode, Zeroed
from bitpath.rtl.tensix.matrix.mover import MoveKind
from bitpath.rtl.tensix.pool.layouts import POOL_ROWS, PoolWords, pool_request
from bitpath.rtl.tensix.sfpu.layouts import SfpuState
from bitpath.rtl.tensix.sfpu.sfp_stochastic_round import STEPS
from bitpath.rtl.tensix.sfpu.stochastic_round import LaneWords, RandomBits, RoundMode, RoundRequest
from bitpath.rtl.tensix.stream.counters import AB, BIAS, DST
from bitpath.rtl.tensix.unpack.layouts import unpacked_layout
from bitpath.rtl.tensix.unpack.tilise_address import TILISE_REQUEST, TILISE_ROW, WORD_BYTES
from bitpath.verif.kit.known_answers import Archive, compare, played, read, swept
from bitpath.verif.kit.packing import array_bits
from bitpath.verif.kit.unit_bench import ENGINE_PATIENCE_CYCLES, Request, cases, covers, pack, pauses, resolved, unpack
from bitpath.verif.tensix.dot.dot import DotCase, Mode, block_payloads, lone
from bitpath.verif.tensix.dot.dot import Operation as DotOperation
from bitpath.verif.tensix.dot.numbers import FRACTION_BITS
from bitpath.verif.tensix.matrix.model import PAIRS, Operation
from bitpath.verif.tensix.matrix.moving import FROM_DST, TO_DST, WIDTHS, MoverTable, Registers, random_move
from bitpath.verif.tensix.pack.pack import Packed, Packing, PackRow
from bitpath.verif.tensix.pool.gmpool import UNDEFINED
from bitpath.verif.tensix.program.host import CoreHost
from bitpath.verif.tensix.program.instruction_programs import implied_program, zeroing_program
from bitpath.verif.tensix.program.programs import CHIPS, archived
from bitpath.verif.tensix.sfpu.driving import Dst, SfpuDriver, defined, dst_mode, state_bits
from bitpath.verif.tensix.stream.counters import AddressCounters, CounterTable, Rwcs
from bitpath.verif.tensix.stream.table import Table
from bitpath.verif.tensix.unpack.turn import requests as turns
from bitpath.verif.tensix.unpack.unpack import Conversion, UnpackRow, UnpackWord

# Products.


def on_blackhole(config) -> bool:
    return config.numerics == BLACKHOLE.numerics


def of_chip(config, name: str) -> Archive:
    """Return the archive of the chip with a configuration's numerics."""
    return read(f"tensix_{'bh_' * on_blackhole(config)}{name}")


def style_of(archive: Archive, case: int) -> Style:
    return Style(str(archive["style_names"][archive["style"][case]]))


SAMPLE = cases(8)
"""Outputs of an instruction that are compared."""


def sampled(case: int) -> list[int]:
    """Return the outputs of an instruction to compare, row by row."""
    outputs = BLOCK_ROWS * COLUMNS
    return sorted(pauses.rng(f"sample of {case}").sample(range(outputs), min(SAMPLE, outputs)))


@covers("dot16.known_answers", "Golden and RTL may share a misreading; the answers come from neither")
@swept("dot16", "tensix_mvmul")
def dot_products(config, archive):
    """A sample of the simulator's known answers for MVMUL, ELWMUL, ELWADD and ELWSUB."""
    rows = archive.rows("use32", "phase", "dst_in", "srcB", "srcA", "fmtA", "fmtB", "dst_out", "kind")
    for case, (use32, phase, dst, b, a, fmt_a, fmt_b, out, kind) in enumerate(rows):
        payloads = block_payloads(
            config.numerics,
            Mode(style_of(archive, case), bool(use32)),
            int(phase),
            dst.tolist(),
            b.tolist(),
            a.T.tolist(),
            (Format(fmt_a), Format(fmt_b)),
        )
        answers, shown = out.ravel().tolist(), archive["kind_names"][kind]
        for k in sampled(case):
            yield Request(payloads[k], answers[k], f"case {case}, output {k}: {shown}")


@covers("dot16.known_answers")
@swept("dot16", "tensix_elw")
def dot_elements(config, archive):
    operations = {"ELWMUL": DotOperation.MULTIPLY, "ELWADD": DotOperation.ADD, "ELWSUB": DotOperation.SUBTRACT}
    for case, (use32, phase, accumulates) in enumerate(archive.lists("use32", "phase", "accum")):
        name = str(archive["op_names"][archive["op"][case]])
        for k in sampled(case) if name in operations else ():
            where = (case, *divmod(k, COLUMNS))
            dst, b, a, out = (int(archive[each][where]) for each in ("dst_in", "srcB", "srcA", "dst_out"))
            # Without accumulation, which ELWMUL always has, Dst counts as 0.
            dst = dst if name == "ELWMUL" or accumulates else 0
            mode = Mode(style_of(archive, case), bool(use32))
            request = DotCase(mode, phase, lone(a), lone(b), dst, operations[name])
            yield Request(request.payload(config.numerics), out, f"{name}, case {case}, output {k}")


@covers("gmpool_column.known_answers", "They come from an implementation that this project did not write")
@swept("gmpool_column", name=["tensix_elw", "tensix_bh_elw"])
def pooled(config, name):
    """Every column of every known answer of GMPOOL, on Wormhole and on Blackhole, undefined Dst rows among them."""
    archive = read(name)
    for case in np.flatnonzero(archive["op_names"][archive["op"]] == "GMPOOL"):
        dst32 = bool(archive["use32"][case])
        dst = archive["dst_in"][case][:POOL_ROWS]
        if "dst_defined" in archive:
            # A row that is undefined reads as all ones.
            undefined = np.uint32(UNDEFINED if dst32 else UNDEFINED >> 16)
            dst = np.where(archive["dst_defined"][case][:POOL_ROWS, np.newaxis], dst, undefined)
        control = {"style": StyleCode.of(style_of(archive, case)), "dst32": dst32}
        scales = (archive["srcB"][case][0] >> FRACTION_BITS & 0xFF).tolist()
        columns = zip(archive["srcA"][case].T, dst.T, archive["dst_out"][case][:POOL_ROWS].T, strict=True)
        for column, (rows, words, answers) in enumerate(columns):
            fields = {"rows": rows.tolist(), "scales": scales, "dst": words.tolist(), "control": control}
            payload, expected = pack(pool_request(), fields), pack(PoolWords, answers.tolist())
            yield Request(payload, expected, f"case {case}, column {column}")


PER_BANK = SRC_ROWS // COLUMNS
"""Cases per SrcA bank, 16 rows each."""


def batches(every: list, size: int) -> list[list]:
    """Return the cases in order, in batches."""
    return [every[first : first + size] for first in range(0, len(every), size)]


def matrix_cases(archive: Archive) -> Iterator[tuple[Operation, dict[str, np.ndarray], np.ndarray]]:
    """Yield each instruction without its rows, its operands and Dst before and afterwards, and the defined rows of Dst."""
    for case in range(len(archive["style"])):
        given = {name: array[case] for name, array in archive.items() if not name.endswith("_names")}
        style, broadcast = style_of(archive, case), int(given.get("broadcast", 0))
        operation = Operation(
            opcode=Opcode[str(archive["op_names"][given["op"]])] if "op" in given else Opcode.MVMUL,
            style=style,
            dst32=bool(given["use32"]),
            phase=int(given["phase"]),
            formats=tuple(Format(given.get(name, STYLE_OWN_FORMAT[style])) for name in ("fmtA", "fmtB")),
            accumulate=bool(given.get("accum", 0)),
            broadcast_row=bool(broadcast & 2),
            broadcast_column=bool(broadcast & 1),
            keep_src_b_denormals=bool(given.get("keep_denormals", 0)),
        )
        yield operation, given, given.get("dst_defined", np.ones(BLOCK_ROWS)).astype(bool)


@covers("matrix_unit.known_answers", "They come from an implementation that this project did not write")
@played("matrix_unit", kind=["mvmul", "elw"])
async def matrix_instructions(frame, config, kind):
    """Every known answer of MVMUL, ELWMUL, ELWADD, ELWSUB, GAPOOL and GMPOOL, of Wormhole and of Blackhole with its
    preset, from 2x4 dot products and from the machine's 8x16."""
    archive, junk, board = of_chip(config, kind), pauses.rng("unread fields"), frame.check_stream("dst")
    names = ("instruction", "write_a", "write_b", "write_dst", "read_dst")
    drivers = {name: frame.driver(name) for name in names}

    async def taken(*waited: str) -> None:
        while any(drivers[name].pending for name in waited):
            await RisingEdge(frame.dut.clk)

    # As many cases as Dst has pairs of blocks, then the next batch.
    for batch in batches(list(matrix_cases(archive)), PAIRS):
        operations = []
        for place, (operation, given, _) in enumerate(batch):
            slot, last = place % PER_BANK, place % PER_BANK == PER_BANK - 1 or place == len(batch) - 1
            dst_row = place * BLOCK_ROWS * (1 if operation.dst32 else 2)
            rows = {"src_a_row": slot * COLUMNS, "src_b_row": slot * BLOCK_ROWS, "dst_row": dst_row}
            operations.append(replace(operation, **rows, release_a=last, release_b=last))
            for side in "ab":
                words = given[f"src{side.upper()}"].tolist()
                for k, row in enumerate(words):
                    fields = {"row": slot * len(words) + k, "last": last and k == len(words) - 1}
                    drivers[f"write_{side}"].send({"values": [row], **fields})
        drivers["instruction"].send(Operation(opcode=Opcode.ZEROACC, zeroed=Zeroed.ALL).fields(junk))
        await taken("instruction")
        for (_, given, present), operation in zip(batch, operations, strict=True):
            # Rows that are undefined are not written.
            for place, row, real in zip(operation.place.block, given["dst_in"], present, strict=True):
                if real:
                    drivers["write_dst"].send({"values": row.tolist(), "address": place.fields()})
        await taken("write_dst")
        for operation in operations:
            drivers["instruction"].send(operation.fields(junk))
        await taken("instruction")
        for number, ((_, given, _), operation) in enumerate(zip(batch, operations, strict=True)):
            for place, row in zip(operation.place.block, given["dst_out"], strict=True):
                board.expect(pack(DstRow, row.tolist()), f"case {number}, {operation}, {place}")
                drivers["read_dst"].send(place.fields())
        await taken("read_dst")


# Moves.

LAYOUTS = (DST16_BF16, DST16_FP16, DST32)


def move_of(instruction: Instruction, fmt: Format, *, keeps: int, dst32: bool, rng: Random) -> dict:
    """Return a move of an instruction, by the archive's description of its fields."""
    kind, fields = MoveKind[instruction.name], instruction.fields
    mode, low_half = fields.get("mode", 0), fields.get("low_half", 0)
    move = random_move(rng, kind, fmt, WIDTHS[0])
    if kind is MoveKind.MOVB2D:
        log2 = 3 if mode & 2 else 2 if mode & 4 else 0
    else:
        log2 = 0 if not mode else 3 if kind is MoveKind.MOVA2D else 2
    move["control"] |= {
        "own_format": fmt,
        "keeps": keeps,
        "wide": int(kind in TO_DST and fmt is Format.TF32),
        "low_half": low_half,
    }
    return move | {
        "rows_log2": log2,
        "spread": int(kind is MoveKind.MOVB2D and log2 == 3),
        "column_0": mode & 1 if kind is MoveKind.MOVB2D else 0,
        "dst32": int(dst32 and kind in FROM_DST),
        "src_row": fields.get("src_row", fields.get("src_b_row", 0)),
        "src_a_row": fields.get("src_a_row", 0),
        "dst_row": fields.get("dst", 0),
    }


@covers("mover.known_answers", "They come from an implementation that this project did not write")
@played("mover", "tensix_bh_control")
async def moves(frame, config, archive):
    """Every known answer of a move of Blackhole's."""
    rng = pauses.rng("moves")
    table = MoverTable(frame, Registers.random(rng), config.numerics)
    for case, ((fmt, _, keeps, width), word) in enumerate(archive.lists("m_cfg", "m_in")):
        before = Registers.random(rng)
        before.pointers = [(1, 0), (1, 0)]
        after = deepcopy(before)
        for registers, suffix in ((before, ""), (after, "_out")):
            for side, name in enumerate(("m_srcA", "m_srcB")):
                rows = archive[f"{name}{suffix}"][case]
                registers.sources[side][0, : len(rows)] = rows
            registers.dst.write(0, archive[f"m_dst{suffix}"][case], LAYOUTS[width])
        instruction = decode(word, chip=Chip.BLACKHOLE)
        move = move_of(instruction, Format(fmt), keeps=keeps, dst32=width == 2, rng=rng)
        table.renew(before)
        await table.play(move, rng, expected=after)


# Packer and unpacker. A case has 256 datums: 16 rows, whose exponents fill one 16-byte stream.

ROWS = 16


def split(fmt: Format, datum_bits: int, l1: np.ndarray, *, forced: int | None = None) -> tuple[list[int], np.ndarray]:
    """Return exponents and datums [16, 16] of the L1 bytes of a case, without an exponent section if one is forced."""
    exponents = [forced or 0] * ROWS
    if fmt in BLOCK_FLOATS and forced is None:
        exponents, l1 = l1[:ROWS].tolist(), l1[ROWS:]
    bits = np.unpackbits(l1[: ROWS * BLOCK * datum_bits // 8], bitorder="little").reshape(ROWS, BLOCK, datum_bits)
    return exponents, bits.astype(np.int64) @ (1 << np.arange(datum_bits))


def little_endian(words: np.ndarray) -> np.ndarray:
    return words.astype("<u4").view(np.uint8)


def unpackings(
    config, conversion: Conversion, l1: np.ndarray, words: np.ndarray, junk: Random, forced: int | None = None
) -> Iterator[Request]:
    """Yield the rows of a case with their words."""
    exponents, datums = split(conversion.l1_format, conversion.datum_bits, little_endian(l1), forced=forced)
    for exponent, row, found in zip(exponents, datums.tolist(), words.tolist(), strict=True):
        request = UnpackWord((UnpackRow(conversion, tuple(row), exponent),), config.rows)
        yield Request(request.payload(junk), pack(DstRow, found), request.shown)


@covers(
    "unpacker.known_answers",
    "An implementation that shares no author with golden and RTL",
    "Every datum that ttsim unpacked, to Src on both chips and to Dst on Blackhole",
)
@covers(
    "unpacker.blackhole",
    "FP8 has other rules on Blackhole; Dst holds 16-bit formats without the fraction bits that Src has",
    "E4M3, and E5M2 codes of all ones, with Blackhole's numerics; all conversions to Dst on both chips",
)
@swept("unpacker", pace="both")
def unpacked(config):
    """Every face to Src; those of Blackhole's archive that are transposed are turned back."""
    junk = pauses.rng("junk")
    for options, l1, src in of_chip(config, "pack_unpack").rows("u_cfg", "u_l1", "u_src"):
        l1_format, register_format, unsigned, *further = options.tolist()
        e4m3, unpacker, transposed, is_forced, exponent = further or (0, 0, 0, 0, 0)
        conversion = Conversion(Format(l1_format), Format(register_format), bool(unsigned), bool(e4m3))
        words = src.reshape(ROWS, BLOCK)
        # Unpacker 1 has no transposition.
        words = words.T if transposed and unpacker == 0 else words
        yield from unpackings(config, conversion, l1, words, junk, exponent if is_forced else None)


@covers("unpacker.known_answers")
@swept("unpacker", when=on_blackhole, pace="both")
def unpacked_to_dst(config):
    junk = pauses.rng("junk")
    for options, l1, dst in of_chip(config, "pack_unpack").rows("d_cfg", "d_l1", "d_dst"):
        conversion = Conversion(*map(Format, options.tolist()), to_dst=True)
        yield from unpackings(config, conversion, l1, dst.reshape(ROWS, BLOCK), junk)


@covers("packer.known_answers", "An implementation that shares no author with golden and RTL")
@swept("packer", pace="both")
def packed(config):
    """Every byte that ttsim packed, on Wormhole and on Blackhole."""
    junk = pauses.rng("junk")
    for options, dst, before, after in of_chip(config, "pack_unpack").rows(
        "p_cfg", "p_dst", "p_l1_before", "p_l1_after"
    ):
        dst32, mid, out, relu, threshold, accumulate, unsigned, *further = options.tolist()
        round_10b, e4m3 = further or (0, 0)
        packing = Packing(
            Format(mid),
            Format(out),
            bool(dst32),
            unsigned=bool(unsigned),
            relu=relu,
            relu_threshold=threshold,
            accumulate=bool(accumulate),
            round_10b=bool(round_10b),
            e4m3=bool(e4m3),
        )
        fmt, bits = packing.out_format, packing.datum_bits
        # Blackhole's archive has an exponent section of other 8-bit formats too, which nothing writes.
        start = ROWS if further and fmt in (Format.FP8, Format.INT8) else 0
        _, old = split(fmt, bits, little_endian(before)[start:])
        exponents, datums = split(fmt, bits, little_endian(after)[start:])
        for k, words in enumerate(dst.reshape(ROWS, BLOCK).tolist()):
            request = PackRow(packing, tuple(words), tuple(old[k].tolist()))
            result = Packed(tuple(datums[k].tolist()), exponents[k], bits)
            yield Request(request.payload(junk), result.bits, request.shown)


@covers("turn_buffer.known_answers", "They come from an implementation that this project did not write")
@played("turn_buffer", "tensix_bh_pack_unpack")
async def turned_faces(frame, config, archive):
    """Every known answer of a face to SrcA, transposed and not."""
    rng, driver, board = pauses.rng("turn"), frame.driver("i"), frame.check_stream("o")
    for options, l1, src in archive.rows("u_cfg", "u_l1", "u_src"):
        source, target, unsigned, e4m3, unpacker, transposed, forced, exponent = options.tolist()
        if unpacker:
            continue
        given = {"unsigned": bool(unsigned), "e4m3": bool(e4m3), "forced_exponent": exponent if forced else None}
        before = unpacked_by_golden(l1, source, target, count=FACE * COLUMNS, chip="blackhole", **given)
        rows = before.reshape(FACE, COLUMNS), src.reshape(FACE, COLUMNS), bool(transposed)
        for each in turns(config.rows, *rows, rng, str(options.tolist())):
            board.expect(each.expected, each.shown)
            driver.send_bits(each.payload)


@covers("tilise_address.known_answers", "They come from an implementation that this project did not write")
@played("tilise_address", "tensix_bh_pack_unpack")
async def tilised_rows(frame, config, archive):
    """Every known answer of tilise mode: what L1 has at the unit's addresses, converted, is SrcA."""
    driver, board = frame.driver("i"), frame.scoreboard("rows", unpacked_layout(1), output="o")
    waiting = []

    def sink(bits: int) -> None:
        source, target, e4m3, l1 = waiting.pop(0)
        start = unpack(TILISE_ROW, bits)["address"] * WORD_BYTES
        row = l1[start : start + COLUMNS * L1_BYTES[source]]
        words = unpacked_by_golden(row, source, target, e4m3=e4m3, count=COLUMNS, numerics=config.numerics)
        board.got(pack(unpacked_layout(1), [words.tolist()]))

    frame.monitor("o", sink)
    for options, l1, src in archive.rows("t_cfg", "t_l1", "t_src"):
        source, target, e4m3, stride, datums = options.tolist()
        case = Format(source), Format(target), bool(e4m3), little_endian(l1)
        for place, words in enumerate(src[:datums].reshape(-1, COLUMNS).tolist()):
            board.expect(pack(unpacked_layout(1), [words]), f"{options}, row {place}")
            waiting.append(case)
        fields = {"address": 0, "stride": stride // WORD_BYTES, "last": datums // COLUMNS - 1, "l1_format": source}
        driver.send_bits(pack(TILISE_REQUEST, fields))


# Rounding with random bits.


@covers("sfp_stochastic_round.known_answers", "They come from an implementation that this project did not write")
@played("sfp_stochastic_round", "tensix_bh_control")
async def seeded_states(frame, config, archive):
    """Every known answer of PRNG_SEED and SFP_STOCH_RND, with the numerics of both chips: the states of all lanes behind
    each seed and after each further step, and every vector rounded to the nearest."""
    board, dut = frame.scoreboard("states", LaneWords), frame.dut
    dut.o__ready.value = 1
    for seed, first, following in archive.lists("s_seed", "s_state", "s_next"):
        await RisingEdge(dut.clk)
        dut.seed__valid.value, dut.seed__payload.value = 1, seed
        await RisingEdge(dut.clk)
        dut.seed__valid.value = 0
        for _ in range(STEPS):
            await RisingEdge(dut.clk)
        dut.i__valid.value = 1
        for step, lanes in enumerate([first, *zip(*following, strict=True)]):
            await FallingEdge(dut.clk)
            board.expect(pack(LaneWords, list(lanes)), f"seed {seed:#010x}, step {step}")
            board.got(resolved(dut.states))
            await RisingEdge(dut.clk)
        dut.i__valid.value = 0


@covers("sfp_stochastic_round.known_answers")
@swept("sfp_stochastic_round", "tensix_bh_control")
def rounded_vectors(config, archive):
    for mode, words, results in archive.lists("f_mod", "f_in", "f_out"):
        fields = {"lanes": words, "mode": RoundMode(mode), "rounding": RandomBits.NEAREST}
        yield Request(pack(RoundRequest, fields), pack(LaneWords, results), RoundMode(mode).name)


# The Vector unit.


NO_REGISTER = 0xFFFFFFFF
"""LReg 0 of cases that take it from the pool of states."""
RANDOM_AT, TEMPLATES_AT, SEQUENCES_AT, MISC_AT, CONFIG_AT = 32, 40, 44, 48, 49
"""Numbers that the archives give to the registers behind the LRegs."""


def register_of(lanes: Lanes, number: int) -> np.ndarray:
    """Return golden's words of a register by the archives' number, uint32 [32]."""
    if number < RANDOM_AT:
        return lanes.lreg[number]
    if number < SEQUENCES_AT:
        return lanes.prng if number == RANDOM_AT else lanes.templates[number - TEMPLATES_AT]
    others = {MISC_AT: lanes.misc, CONFIG_AT: lanes.lane_config}
    return others[number] if number in others else lanes.sequences[number - SEQUENCES_AT]


POOL = ("l", "lprog", "cc", "cc_en", "sp", "st_cc", "st_en", "prng")
"""Arrays of a state."""
ROTATED_AT = SfpuState.as_shape()["rotated"].offset
"""The archives do not have the registers from here on."""
SHARE = int(os.environ.get("BITPATH_SHARE", "1"))
"""Of so many cases of each test, one is played."""


def shared(size: int) -> range:
    """Return the cases that are played."""
    return range(0, size, SHARE)


def flags_of(words) -> np.ndarray:
    """Return the bits of words, one for each lane, bool [..., 32]."""
    return (np.asarray(words, np.uint32)[..., np.newaxis] >> np.arange(LANES, dtype=np.uint32) & 1).astype(bool)


def vector_lanes(lreg, programmed, cc, cc_en, sp=0, st_cc=(), st_en=(), random=0) -> Lanes:
    """Return golden's lanes in the state of an archive."""
    lanes = Lanes()
    lanes.lreg[:8], lanes.lreg[11:15] = lreg, programmed[:, np.newaxis]
    lanes.flags[:], lanes.use_flags[:], lanes.depth[:], lanes.prng[:] = flags_of(cc), cc_en, sp, random
    flags, uses = lanes.stack
    for entry in range(len(st_cc)):
        flags[entry], uses[entry] = flags_of(st_cc[entry]), st_en[entry]
    return lanes


def settle_conditions(lanes: Lanes, cc, cc_en, sp) -> None:
    lanes.flags[:], lanes.use_flags[:], lanes.depth[:] = flags_of(cc), cc_en, sp


class VectorBoard:
    """The unit's state against golden's registers in the state of an archive."""

    def __init__(self, frame):
        self._board = frame.scoreboard("state", SfpuState)

    def compare(self, got: int, lanes: Lanes, shown: str) -> None:
        mask = (1 << ROTATED_AT) - 1
        self._board.compare(defined(got) & mask, state_bits(lanes) & mask, shown)


@covers("sfpu.known_answers", "They come from an implementation that this project did not write")
@played("sfpu")
async def vector_instructions(frame, config):
    """Single instructions of every label: the whole state behind each of them."""
    archive, board, driver = (
        read(f"sfpu_{PREFIXES[config.chip]}_single"),
        VectorBoard(frame),
        SfpuDriver(frame, config.chip),
    )
    changes: dict[int, list] = {}
    for case, register, lanes, values in archive.rows("d_case", "d_reg", "d_lanes", "d_val"):
        changes.setdefault(int(case), []).append((int(register), flags_of(lanes), values))
    columns = ("word", "state", "lane_config", "l0", "cc_out", "cc_en_out", "sp_out", "top_cc_out", "top_en_out")
    cases = list(archive.lists(*columns))
    for case in shared(len(cases)):
        word, state, lane_config, l0, cc, cc_en, sp, top_cc, top_en = cases[case]
        lanes = vector_lanes(*(archive[f"pool_{name}"][state] for name in POOL))
        lanes.templates[:] = archive["pool_templ"][state][:, np.newaxis]
        lanes.sequences[:] = archive["pool_seq"][state][:, np.newaxis]
        lanes.misc[:], lanes.lane_config[:] = archive["pool_misc"][state], lane_config
        if l0 != NO_REGISTER:
            lanes.lreg[0] = l0
        await driver.preset(state_bits(lanes))
        for number, own, values in changes.get(case, ()):
            np.copyto(register_of(lanes, number), values, where=own)
        settle_conditions(lanes, cc, cc_en, sp)
        if sp:
            flags, uses = lanes.stack
            flags[sp - 1], uses[sp - 1] = flags_of(top_cc), top_en
        await driver.execute(word)
        board.compare(await driver.settle(), lanes, f"case {case}, {decode(word, chip=config.chip)}")


@covers("sfpu.known_answers")
@played("sfpu")
async def vector_loads_and_stores(frame, config):
    """Every mode of SFPLOAD and SFPSTORE: the register behind a load, the words of Dst behind a store."""
    archive, driver = read("sfpu_loadstore").part(f"{PREFIXES[config.chip]}_"), SfpuDriver(frame, config.chip)
    board, stores = VectorBoard(frame), frame.scoreboard("words", LANES * 32, output="store")
    columns = ("word", "is_store", "resolved", "addr", "rows", "dst_idx", "lreg_idx", "cc", "cc_en")
    cases = list(archive.lists(*columns))
    for case in shared(len(cases)):
        word, is_store, resolved_mode, address, rows, dst_index, lreg_index, cc, cc_en = cases[case]
        dst, vd, shown = Dst(), word >> 20 & 15, f"case {case}, {decode(word, chip=config.chip)}"
        for row, words in zip(rows, archive["dst_pool"][dst_index], strict=True):
            if row >= 0:
                dst.rows[row] = words
        lanes = vector_lanes(np.zeros((8, LANES), np.uint32), np.zeros(4, np.uint32), cc, cc_en)
        mode, register = dst_mode(word, resolved_mode), archive["lreg_pool"][lreg_index]
        if vd < 8 or 11 <= vd < 15:
            lanes.lreg[vd] = register
        await driver.preset(state_bits(lanes))
        port = dst.read(address, mode)
        store = await driver.execute(word, address=address, implied=min(resolved_mode, 3), dst=port)
        if is_store:
            dst.write(address, mode, store)
            got = dst.lane_words(address, mode)
            stores.compare(array_bits(got), array_bits(archive["out"][case]), shown)
        elif vd < 8:
            lanes.lreg[vd] = archive["out"][case]
        board.compare(await driver.settle(), lanes, shown)


@covers("sfpu.known_answers")
@played("sfpu")
async def vector_programs(frame, config):
    """Random programs: conditions behind every word, the state and Dst behind the last one. Where software has to, it leaves a
    cycle free."""
    archive, driver = read("sfpu_seq").part(f"{PREFIXES[config.chip]}_"), SfpuDriver(frame, config.chip)
    board, rows = VectorBoard(frame), frame.scoreboard("Dst", 32 * 256, output="store")
    conditions = frame.scoreboard("conditions", 64, output="state")
    ends = archive["offset"].tolist()
    words = list(archive.lists("word", "trace_cc", "trace_cc_en", "trace_sp"))
    for program in shared(len(ends) - 1):
        before, after = (
            {name: archive[f"{when}_{name}"][program] for name in (*POOL, "rwc", "dst")} for when in ("before", "after")
        )
        dst, rwc = Dst(), int(before["rwc"])
        dst.rows[:32] = before["dst"]
        increments = archive["dst_incr"][program].tolist()
        implied = 3 if archive["fp32"][program] else 2 if archive["srcb"][program] in EXPONENT8_FORMATS else 1
        await driver.preset(state_bits(vector_lanes(*(before[name] for name in POOL))))
        expected, shown = None, ""

        def check(expected=None, shown="") -> None:
            if expected is not None:
                conditions.compare(driver.conditions(), expected, shown)

        for word, cc, cc_en, sp in words[ends[program] : ends[program + 1]]:
            instruction = decode(word, chip=config.chip)
            if instruction.name in ("SFPLOAD", "SFPSTORE"):
                address, mode = (instruction["address"] + rwc) % DST16_ROWS, dst_mode(word, implied)
                fields = {"address": address, "implied": implied, "dst": dst.read(address, mode)}
                store = await driver.execute(word, **fields, looks=True)
                if instruction.name == "SFPSTORE":
                    dst.write(address, mode, store)
                rwc = (rwc + increments[instruction["modifier"]]) % DST16_ROWS
            else:
                await driver.execute(word, looks=True)
            check(expected, shown)
            expected, shown = cc | cc_en << 32 | sp << 33, f"program {program}, {instruction}"
        lanes = vector_lanes(*(after[name] for name in POOL))
        board.compare(await driver.settle(), lanes, f"program {program}")
        check(expected, shown)
        rows.compare(array_bits(dst.rows[:32]), array_bits(after["dst"]), f"program {program}")


# The instruction stream.

NOP = encode("NOP")
PREFIXES = {chip: prefix for prefix, chip in CHIPS.items()}


async def expanded(frame, archive: Archive, *kinds: type) -> None:
    """Play every program from a reset; expanders that the unit lacks are golden's."""
    table, answers = Table(frame, *kinds), frame.scoreboard("known answers", 32, output="o")
    for case, (config, words, expected) in enumerate(expander_programs(archive)):
        await frame.reset()
        table.restart()
        if MopExpander in kinds:
            table.writes.extend(enumerate(config))
            while table.writes:
                await table.cycle()
            table.words.extend(words)
        else:
            mop = MopExpander(config)
            table.words.extend(each for word in words for each in mop.feed(word))
        await table.finish()
        given = table.given
        if ReplayExpander not in kinds:
            replay = ReplayExpander()
            given = [each for word in given for each in replay.feed(word)]
        compare(answers, expected, [word for word in given if word != NOP], f"program {case}")


def expander_programs(archive: Archive) -> Iterator[tuple[list[int], list[int], list[int]]]:
    """Yield nine words of configuration, the words of a program, and those that leave both expanders, NOPs left out."""
    for own in (archive.part(f"{chip}_x_") for chip in CHIPS):
        words, out, starts, ends = (own[name].tolist() for name in ("in", "out", "in_offset", "out_offset"))
        for case, config in enumerate(own["mop_cfg"].tolist()):
            yield config, words[starts[case] : starts[case + 1]], out[ends[case] : ends[case + 1]]


@covers("mop_expander.known_answers", "Another program expanded them")
@played("mop_expander", "tensix_bh_control")
async def mop_programs(frame, config, archive):
    """60 programs a chip behind golden's replay expander."""
    await expanded(frame, archive, MopExpander)


@covers("replay_expander.known_answers", "Another program expanded them")
@played("replay_expander", "tensix_bh_control")
async def replay_programs(frame, config, archive):
    """60 programs a chip behind golden's MOP expander."""
    await expanded(frame, archive, ReplayExpander)


@covers("instruction_expander.known_answers", "Another program expanded them")
@played("instruction_expander", "tensix_bh_control")
async def instruction_programs(frame, config, archive):
    """The archive has 60 programs for each chip."""
    await expanded(frame, archive, MopExpander, ReplayExpander)


async def counted(frame, model, archive: Archive, writes: list[list], flat: Callable[[Any], list[int]]) -> None:
    """Play every program from a reset behind its writes; compare each number of the unit's state after each instruction."""
    table = CounterTable(frame, model, pauses.rng("junk"))
    answers = frame.scoreboard("known answers", 32, output="state")
    for case, (words, states) in enumerate(archive.lists("in", "state")):
        await frame.reset()
        model.restart()
        for write in writes[case]:
            await table.cycle(write=write)
        # The state is seen a cycle after the word.
        for place, word in enumerate([*words, None]):
            await table.cycle(None if word is None else model.fields_of(word))
            if place:
                found = flat(unpack(model.state_layout, table.seen))
                compare(answers, np.ravel(states[place - 1]).tolist(), found, f"program {case}, word {place - 1}")


@covers("rwc.known_answers", "Another program counted")
@played("rwc", "tensix_bh_control")
async def rwc_programs(frame, config, archive):
    """40 programs a chip, the state after each instruction."""
    own, chip = archive.part(f"{PREFIXES[config.chip]}_r_"), config.chip

    def flat(state) -> list[int]:
        counters = [state[name][part] for name in COUNTERS for part in ("value", "carry")]
        return [*counters, state.fidelity_phase, state.extra_bit]

    writes = [
        [
            (place, value)
            for places, values in zip((AB, DST, BIAS), mods, strict=True)
            for place, value in zip(places[chip], values, strict=True)
        ]
        for mods in own["addr_mods"].tolist()
    ]
    await counted(frame, Rwcs(config), own, writes, flat)


@covers("adc.known_answers", "Another program counted; the archive has neither UNPACR nor PACR")
@played("adc", "tensix_bh_control")
async def adc_programs(frame, config, archive):
    """20 programs a chip, the state after each instruction."""
    own = archive.part(f"{PREFIXES[config.chip]}_a_")

    def flat(state) -> list[int]:
        return [
            state[unit][channel][name][part]
            for unit in range(UNITS)
            for part in ("value", "carry")
            for channel in range(CHANNELS)
            for name in DIMENSIONS
        ]

    await counted(frame, AddressCounters(config), own, [[]] * len(own["in"]), flat)


# The core.


@covers("tensix_core.known_answers", "Another program executed them")
@played("tensix_core", "tensix_bh_program", patience=ENGINE_PATIENCE_CYCLES)
async def core_programs(frame, config, archive):
    """Whole programs of both chips: L1 afterwards, the words of each thread in order, the number of MVMULs and the
    cycles between them."""
    memory, words = frame.scoreboard("L1", 8, output="data"), frame.scoreboard("words", 32, output="executed_0")
    nop, mvmul = (BY_NAME[config.chip][name].opcode for name in ("NOP", "MVMUL"))
    host, chip = CoreHost(frame, config), PREFIXES[config.chip]
    for meta in (each for each in archive["meta"] if each["chip"] == chip):
        number = int(meta["id"])
        case, own = f"program {number}", archive.part(f"{chip}{number:02}_")
        await frame.reset()
        run = await host.play(archived(archive, chip, number))
        for thread in range(THREADS):
            expected = [word for of, word in own["trace"].tolist() if of == thread]
            compare(words, expected, [word for word in run.words[thread] if word != nop << 24], f"{case}, {thread}")
        after = own["after"].tolist()
        compare(memory, after, (await host.read(RESULT, len(after))).tolist(), case)
        host.check_accepted(case)
        times = run.of_opcode(1, mvmul)
        frame.dut._log.info("%s: %d cycles, %d MVMULs in %d", case, run.length, len(times), times[-1] - times[0])
        assert len(times) == meta["mvmuls"], case
        if meta["k_tiles"] == 1:
            # An MVMUL in as many cycles as the Matrix unit takes, from the first to the last.
            assert times[-1] - times[0] == (len(times) - 1) * config.unit.passes, case


def core_of_blackhole(config) -> bool:
    return config.chip is Chip.BLACKHOLE


async def after_program(frame, host: CoreHost, program: CoreProgram) -> np.ndarray:
    """Play a program from a reset; return the bytes of its result."""
    await frame.reset()
    await host.play(program)
    return await host.read(*program.result)


@covers(
    "tensix_core.known_instructions",
    "Another program executed them; a 32-bit row's lower half stays, and a bank's format need not be the "
    "configuration's",
)
@played("tensix_core", "tensix_bh_control", when=core_of_blackhole, patience=ENGINE_PATIENCE_CYCLES)
async def zeroaccs(frame, config, archive):
    """Rows of Dst that each of Blackhole's known ZEROACCs leaves defined, in every mode; MVMULs whose formats the
    banks imply."""
    rows, host = frame.scoreboard("rows", 1, output="data"), CoreHost(frame, config)
    for options, word, flags in archive.rows("z_cfg", "z_in", "z_defined"):
        program = zeroing_program(*options.tolist(), int(word))
        found = (await after_program(frame, host, program)).reshape(DST16_ROWS, -1).any(axis=1)
        expected = np.unpackbits(flags, bitorder="little").tolist()
        compare(rows, expected, found.astype(int).tolist(), f"ZEROACC {int(word):#010x}, {options.tolist()}")


@covers("tensix_core.known_instructions")
@played("tensix_core", "tensix_bh_control", when=core_of_blackhole, patience=ENGINE_PATIENCE_CYCLES)
async def implied_formats(frame, config, archive):
    words, host = frame.scoreboard("words", 32, output="data"), CoreHost(frame, config)
    for options, src_a, src_b, dst, after in archive.rows("i_cfg", "i_srcA", "i_srcB", "i_dst", "i_out"):
        formats = options.tolist()
        found = await after_program(frame, host, implied_program(formats, src_a, src_b, dst))
        host.check_accepted(str(formats))
        compare(words, after.ravel().tolist(), found.view("<u4").tolist(), f"formats {formats}")
