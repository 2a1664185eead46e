"""Known answers of AIE-ML v2 through the RTL. Results are compared with the archives, flags and accumulators with golden."""

from collections.abc import Iterable, Iterator

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import (
    BFP16EBS8,
    MX_BIAS,
    MX_BLOCK,
    MX_FORMATS,
    MX_NAN_EXPONENT,
    SPARSE_GROUP,
    RoundingCode,
    Saturation,
)
from bitpath.golden.aie_ml_v2.declarations.modes import COMPLEX_LANES, COMPLEX_MODES, INT16_64
from bitpath.golden.aie_ml_v2.declarations.mover import ScalarFunction
from bitpath.golden.aie_ml_v2.exact import (
    Block,
    convolution_pairs,
    elementwise_pairs,
    integer_lane,
    matrix_pairs,
)
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.rtl.aie_ml_v2.convert.layouts import Blocks
from bitpath.rtl.aie_ml_v2.mac.config import MacMode
from bitpath.rtl.aie_ml_v2.mac.wide_lanes import LaneWidth
from bitpath.rtl.aie_ml_v2.tile.agu import AguMode, agu_request, agu_result
from bitpath.rtl.aie_ml_v2.vector.native_mac import routed_layout, sparse_layout
from bitpath.verif.aie_ml_v2.convert.mx_convert import Conversion, Converted, conversions, results_of
from bitpath.verif.aie_ml_v2.floats.tb_fix_float import FixFloatAsk
from bitpath.verif.aie_ml_v2.floats.tb_float_fix import FloatFixAsk
from bitpath.verif.aie_ml_v2.floats.tb_float_floor import FloorAsk
from bitpath.verif.aie_ml_v2.floats.tb_float_narrow import NarrowAsk
from bitpath.verif.aie_ml_v2.golden.operands import SETS, block, chunks, operands
from bitpath.verif.aie_ml_v2.lanes.tb_mx_widen import requests_of as widened
from bitpath.verif.aie_ml_v2.lanes.tb_pack_unpack import Ask, register_bytes, request_of, words
from bitpath.verif.aie_ml_v2.mac import mac_lane_player
from bitpath.verif.aie_ml_v2.mac.mac import LaneCase, stream_bits
from bitpath.verif.aie_ml_v2.mac.wide_lanes import MASK, WIDTHS, WideCase
from bitpath.verif.aie_ml_v2.mover.tb_shuffle import PARTS, parts_of, random_registers, shuffle_requests
from bitpath.verif.aie_ml_v2.scalar.tb_scalar_functions import cases as function_requests
from bitpath.verif.aie_ml_v2.tile.data_memory import Access
from bitpath.verif.aie_ml_v2.vector.operand_shapes import NATIVES, network_request
from bitpath.verif.aie_ml_v2.vector.sparse_route import byte_mask
from bitpath.verif.kit.known_answers import played, swept
from bitpath.verif.kit.unit_bench import Pipeline, Request, covers, pack, pauses, resolved, unpack

# Conversions.


def converted(words: np.ndarray, blocks: aie.MxBlocks) -> Iterator[Request]:
    """Yield conversions of FP32 codes [n, 16] to these blocks [n, 1]."""
    given = conversions(words, blocks.fmt, RoundingCode.CONV_EVEN)
    for each, result in zip(given, results_of(blocks), strict=True):
        yield Request(each.payload, result.bits, each.shown)


@covers("mx_convert.known_answers", "Independent implementations by other authors")
@swept("mx_convert", "aie_mx_blocks", when=lambda config: config.blocks is Blocks.MX, name=list(MX_FORMATS))
def finite_blocks(config, archive, name):
    """600 finite blocks in three formats and one non-finite block from amd-quark; ten rounding codes measured on
    silicon for FP32 to BF16."""
    finite = archive["finite_block"]
    exponent, shift, codes = (archive[f"{name}_{part}"][finite] for part in ("block_exp", "shift_bits", "codes"))
    exponent = (exponent + MX_BIAS).astype(np.uint8)
    blocks = aie.MxBlocks(name, *(each[:, np.newaxis] for each in (exponent, shift, codes)))
    values = aie.from_mx(blocks).view(np.uint32)
    for kind in ("deq_bits", "cpp_even_deq_bits"):
        expected = archive[f"{name}_{kind}"][finite]
        zero = expected & ~np.uint32(FP32.sign_mask) == 0
        assert np.array_equal(np.where(zero, 0, expected), np.where(values == FP32.sign_mask, 0, values))
    return converted(archive["x_bits"][finite], blocks)


@covers("mx_convert.known_answers")
@swept("mx_convert", "aie_mx_blocks", when=lambda config: config.blocks is Blocks.MX, name=list(MX_FORMATS))
def other_blocks(config, archive, name):
    """Non-finite blocks, whose elements are all NaN in the kernel."""
    special = ~archive["finite_block"]
    assert np.all(archive[f"{name}_cpp_even_deq_bits"][special] & ~np.uint32(FP32.sign_mask) > FP32.infinity_code)
    nan = np.full((np.count_nonzero(special), 1), MX_NAN_EXPONENT, np.uint8)
    elements = np.zeros((*nan.shape, MX_BLOCK), np.int8)
    return converted(archive["x_bits"][special], aie.MxBlocks(name, nan, np.zeros_like(nan), elements))


@covers("mx_convert.silicon", "Silicon of the machine that the preset models")
@swept("mx_convert", "silicon_xdna2_convert", when=lambda config: config.blocks is Blocks.BFP16EBS8)
def xdna2_blocks(config, archive):
    """Every conversion to bfp16ebs8 that was measured on XDNA2, in ten modes."""
    for numbers, mode, exponent, codes in archive.lists("x_bits", "mode", "exponent", "codes"):
        given = Conversion(tuple(numbers), BFP16EBS8, RoundingCode(mode))
        yield Request(given.payload, Converted(BFP16EBS8, exponent, 0, tuple(codes), b"").bits, given.shown)


@covers("fix_float.known_answers", "Another program computed them with fractions")
@swept("fix_float", "aie_tile_convert")
def fixed_to_floats(config, archive):
    """Every number of the archive, at its shift."""
    return shifted(FixFloatAsk, config.lanes, *(archive[f"fix_{part}"] for part in ("n", "shift", "f32")))


@covers("float_fix.known_answers", "Another program computed them with fractions")
@swept("float_fix", "aie_tile_convert")
def floats_to_fixed(config, archive):
    """Every number of the archive, at its shift."""
    return shifted(FloatFixAsk, config.lanes, *(archive[f"float_{part}"] for part in ("bits", "shift", "int32")))


def shifted(ask_of, lanes: int, given: np.ndarray, shifts: np.ndarray, results: np.ndarray) -> Iterator[Request]:
    for shift in np.unique(shifts).tolist():
        here, ask = shifts == shift, ask_of(shift)
        codes = given[here].view(np.uint32)
        yield from ask.expecting(codes, results[here], ask.golden(codes)[1], lanes)


@covers("float_floor.known_answers", "Another program computed them with fractions")
@swept("float_floor", "aie_tile_convert")
def floors(config, archive):
    """Every code of the archive with eight shifts."""
    codes = archive["bf16_bits"]
    for shift, results in archive.rows("bf16_shift", "bf16_int32"):
        ask = FloorAsk(int(shift))
        yield from ask.expecting(codes, results, ask.golden(codes)[1], config.lanes)


@covers("float_narrow.silicon", "Silicon decides the rounding codes")
@swept("float_narrow", "aie_silicon")
def narrowed(config, archive):
    """96 conversions to BF16 that were measured on first-generation silicon, in ten rounding codes."""
    codes = archive["f32_bits"]
    for rounding in RoundingCode:
        ask, results = NarrowAsk(BF16, rounding), archive[f"bf16_bits_rnd{rounding.value}"]
        yield from ask.expecting(codes, results, ask.golden(codes)[1], config.lanes)


@swept("pack_unpack", "aie_tile_int4")
def packed(config, archive):
    """Elements in every saturation, and every byte unpacked."""
    size = register_bytes()
    for bits in (4, 8):
        given = words(archive[f"pack{2 * bits}_x"].astype(f"<i{2 * bits // 8}"))
        for saturation, both in zip(Saturation, archive[f"pack{2 * bits}_out"], strict=True):
            for signed, expected in enumerate(both):
                ask = Ask(False, bits, bool(signed), saturation)
                for pair in zip(given, _halves(expected, bits, size), strict=True):
                    yield request_of(ask, *pair)
    for signed, name in enumerate(("unsigned", "signed")):
        every = np.arange(256, dtype=np.uint8)
        results = words(archive[f"unpack4_{name}"].astype(np.uint8).ravel())
        given = [every[k * size // 2 :][: size // 2].tobytes() for k in range(len(results))]
        for half, result in zip(given, results, strict=True):
            yield request_of(Ask(True, 4, bool(signed), Saturation.NONE), half * 2, result)


def _halves(expected: np.ndarray, bits: int, size: int) -> list[bytes]:
    """Return results in the lower halves of registers, the last one filled up as `words` does."""
    count = size * 4 // bits
    some = np.concatenate([expected, expected])[: -(-len(expected) // count) * count] & (1 << bits) - 1
    rows = some[0::2] | some[1::2] << 4 if bits == 4 else some
    return [each.tobytes().ljust(size, b"\0") for each in rows.astype(np.uint8).reshape(-1, size // 2)]


@swept("mx_widen", "aie_tile_convert")
def widened_blocks(config, archive):
    """Every block of the three formats."""
    for name, fmt in MX_FORMATS.items():
        given = (archive[f"{name}_{part}"][:, np.newaxis] for part in ("exponent", "shift", "codes"))
        yield from widened(fmt, *given, archive[f"{name}_f32"])


@swept("scalar_functions", "aie_tile_scalar")
def scalar_functions(config, archive):
    """Every number of the archive by each function."""
    for function in ScalarFunction:
        results = archive[f"nlf_{function.value}"]
        yield from function_requests(function, archive["nlf_x"].tolist(), answers=results)


@covers("shuffle.known_answers", "They do not come from golden")
@swept("shuffle", "aie_tile_shuffle")
def shuffled(config, archive):
    """Routes of data, E, G and F that another author derived, most of them measured on AIE2."""
    rng, routes = pauses.rng("registers"), {"x": "route", "e": "eg_route", "g": "eg_route", "f": "f_route"}
    for place, code in enumerate(archive["code"].tolist()):
        low, high = random_registers(rng, 8)
        sides, moved = [parts_of(side) for side in (low, high)], []
        for name in PARTS:
            sources = np.concatenate([side[name] for side in sides], axis=1)
            route = archive[routes[name]][place]
            # A part without a route is 0 in the result.
            moved.append(np.zeros_like(sides[0][name]) if route[0] == NARROW else sources[:, route])
        yield from shuffle_requests(code, low, high, np.concatenate(moved, axis=1))


NARROW = 255
"""Stands for no route."""

# Products.


async def lanes_played(frame, config, sent: list[tuple[LaneCase, int]]) -> None:
    await mac_lane_player.play(frame, config.numerics, sent, pauses.never(), pauses.rng("junk"))


@covers("mac_lane.known_answers", "Golden and RTL may share a misreading; silicon is independent of both")
@played("mac_lane", "aie_silicon", when=lambda config: not config.bfp16ebs8)
async def silicon_lanes(frame, config, archive):
    """All 288 BF16 lanes measured on first-generation silicon."""
    a, b, out = (archive[f"mac_{name}"].astype(int) for name in ("a", "b", "out"))
    tiles = a.reshape(-1, 4, 8), b.reshape(-1, 8, 4).swapaxes(1, 2), out.reshape(-1, 4, 4)
    # NaN results are canonical here; on silicon their payload depends on the datapath.
    await lanes_played(
        frame,
        config,
        [
            (
                LaneCase(mode=MacMode.FLOAT16, x=tuple(x), y=tuple(y), formats=(BF16, BF16)),
                FP32.nan_code if code & FP32.sign_mask - 1 > FP32.infinity_code else code,
            )
            for rows, columns, results in zip(*(each.tolist() for each in tiles), strict=True)
            for x, codes in zip(rows, results, strict=True)
            for y, code in zip(columns, codes, strict=True)
        ],
    )


def chain(config, a: Iterable[Block], b: Iterable[Block], silicon: int) -> list[tuple[LaneCase, int]]:
    """Return the steps of a lane from an empty accumulator, the last with silicon's result."""
    sent, acc = [], None
    for x, y in zip(a, b, strict=True):
        case = LaneCase(mode=MacMode.MX9, x=x, y=y, acc1=acc)
        acc = case.result(config.numerics)
        sent.append((case, acc))
    return [*sent[:-1], (sent[-1][0], silicon)]


@covers("mac_lane.silicon_of_xdna2", "Silicon of the machine that the preset models")
@played("mac_lane", "silicon_xdna2_mmul", when=lambda config: config.bfp16ebs8, name=list(SETS))
async def xdna2_products(frame, config, archive, name):
    """Every chain of products of bfp16ebs8 that was measured on XDNA2."""
    a, b, out = operands(archive, name)
    sent = []
    for m, n in np.ndindex(out.shape):
        sides = (
            [block(*each) for each in zip(x.codes[:, i, j, 0], x.exponent[:, i, j, 0], strict=True)]
            for x, i, j in ((a, m, 0), (b, 0, n))
        )
        sent += chain(config, *sides, int(out[m, n]))
    await lanes_played(frame, config, sent)


@covers("mac_lane.silicon_of_xdna2")
@played("mac_lane", "silicon_xdna2_chain.json", when=lambda config: config.bfp16ebs8)
async def xdna2_chains(frame, config, file):
    """The chains that probe the accumulator."""
    sent = []
    for each in file["probes"]:
        sent += chain(config, *chunks(each), int(np.float32(each["silicon"]).view(np.uint32)))
    await lanes_played(frame, config, sent)


def wide_shapes() -> Iterator[tuple[str, LaneWidth, object]]:
    """Yield a mode's name in the archive, its width, and a function from operands and lane to pairs."""
    for width, mode in WIDTHS.items():
        tile = mode.shapes[0]
        yield f"{mode.name}_{tile.name}", width, lambda a, b, lane, tile=tile: matrix_pairs(tile, a, b, lane)
    yield "int16_64_elem_32_2", LaneWidth.INT16_64, lambda a, b, lane: elementwise_pairs(32, a, b, lane)
    for each in INT16_64.convolutions:
        name = f"int16_64_conv_{each.name}"
        yield name, LaneWidth.INT16_64, lambda a, b, lane, each=each: convolution_pairs(each, a, b, lane)


def wide_cases(archive) -> Iterator[tuple[WideCase, int]]:
    """Yield every lane of every case with the archive's result."""
    for name, width, pairs in wide_shapes():
        for a, b, acc, out, signed in archive.part(f"{name}_").lists("a", "b", "acc", "out", "signed"):
            for lane in range(len(out)):
                own = pairs(a, b, lane)
                # Products that a shape does not have are those of zeros.
                own += [(0, 0)] * (WIDTHS[width].depth - len(own))
                x, y = zip(*own, strict=True)
                case = WideCase(lane_width=width, x=x, y=y, signed=tuple(signed), acc1=acc[lane] & MASK)
                yield case, out[lane] & MASK


def complex_cases(archive) -> Iterator[tuple[WideCase, int]]:
    """Yield real and imaginary lanes: all products of a part, in the order of its negation bits."""
    widths = {mode: width for width, mode in WIDTHS.items()}
    for name, key in (("cint16", "cint16_elem_16_2"), ("cint32x16", "cint32x16_elem_16")):
        mode = COMPLEX_MODES[name]
        for a, b, acc, out, mask in archive.part(f"{key}_").lists("a", "b", "acc", "out", "mask"):
            for lane, part in np.ndindex(COMPLEX_LANES, 2):
                numbers = [COMPLEX_LANES * k + lane for k in range(mode.complex_depth)]
                x = tuple(each for i in numbers for each in a[i])
                # The imaginary part multiplies crosswise.
                y = tuple(each for i in numbers for each in (b[i][::-1] if part else b[i]))
                negated = mask >> 4 * part & (1 << len(x)) - 1
                case = WideCase(lane_width=widths[mode], x=x, y=y, acc1=acc[lane][part] & MASK, negated=negated)
                yield case, out[lane][part] & MASK


@covers("wide_lanes.known_answers", "Another program computed them with Python's integers")
@played("wide_lanes", "aie_tile_mac_shapes")
async def wide_lanes(frame, config, archive):
    """Every lane of 4x4x8 with 64 bits, of 4x2x8 of 32 by 16 bits, of element-wise products, convolutions and complex
    products."""
    # The bench reads its configuration when it is imported.
    from bitpath.verif.aie_ml_v2.mac.tb_wide_lanes import play

    answered = [*wide_cases(archive), *complex_cases(archive)]
    for case, expected in answered:
        assert case.result(config.numerics) == expected
    await play(frame, [case for case, _ in answered], pauses.never(), pauses.rng("junk"))


SHAPES = {
    "INT8_ELEM_64_2": "int8_elem_64_2",
    "INT16_ELEM_64_1": "int16_elem_64",
    "INT16_64_ELEM_32_2": "int16_64_elem_32_2",
}
"""Archive's names of the shapes that it calls otherwise."""


@covers("operand_shapes.known_answers", "Another program computed them with Python's integers")
@swept("operand_shapes", "aie_tile_mac_shapes")
def shaped_operands(config, archive):
    """Every lane of ten shapes: the operands at its places, whose products and the accumulator make the stated result."""
    known = {name.removesuffix("_out").upper(): name.removesuffix("_out") for name in archive if name.endswith("_out")}
    for shape in config.shapes:
        native, junk = NATIVES[shape.name], pauses.rng("unused")
        case = archive.part(f"{SHAPES.get(shape.name) or known[shape.name]}_")
        for a, b, acc, out in case.lists("a", "b", "acc", "out"):
            for lane in range(native.lanes):
                x, y, _ = native.lane(a, b, 0, lane)
                assert integer_lane(native.mode, x, y, acc[lane]) == out[lane]
            x, y = (stream_bits(side, bits) for side, bits in zip((a, b), native.bits, strict=True))
            for part in range(config.parts):
                yield network_request(config, shape, part, x, y, junk.getrandbits(256), junk.getrandbits(32))


@covers("sparse_route.known_answers", "Another program computed them with Python's integers")
@swept("sparse_route", "aie_tile_sparse")
def sparse_factors(config, archive):
    """Every lane of three shapes, forty products each: factors at the stated positions, whose sum is the stated result."""
    positions = archive["mask_positions"].tolist()
    for name in ("int8_8x16x8T", "int8_4x16x16T", "int16_64_4x8x8T"):
        wide = name.startswith("int16")
        bits = 16 if wide else 8
        case = archive.part(f"{name}_")
        for a, b, slots, mask, acc, out, signed in case.rows("a", "b", "slots", "mask", "acc", "out", "signed"):
            rows, columns = acc.shape
            codes = slots.view(f"<u{bits // 8}").reshape(columns, -1).tolist()
            masks, stored = mask.reshape(columns, -1).tolist(), b.astype(f"<u{bits // 8}")
            for i, j in np.ndindex(rows, columns):
                places = [(SPARSE_GROUP * g, each) for g, each in enumerate(masks[j])]
                places = [first + at if at >= 0 else None for first, each in places for at in positions[each]]
                x = [0 if at is None else int(a[i, at]) for at in places]
                y = [0 if at is None else int(b[j, at]) for at in places]
                assert [each & (1 << bits) - 1 for each in y] == codes[j]
                total = sum(p * q for p, q in zip(x, y, strict=True)) + int(acc[i, j])
                assert (total - int(out[i, j])) % (1 << 32) == 0
                sent = {"wide": int(wide), "a": stream_bits(a[i].tolist(), bits), "slots": stream_bits(codes[j], bits)}
                expected = {"x": stream_bits(x, bits), "y": stream_bits(y, bits), "overfull": 0}
                yield Request(
                    pack(sparse_layout(config), sent | {"mask": byte_mask(stored[j])}),
                    pack(routed_layout(config), expected),
                    f"{name}, lane {i}, {j}, signed {signed.tolist()}",
                )


# The tile.


@covers("agu.known_answers", "Another program computed them")
@played("agu", "aie_tile_agu")
async def address_streams(frame, config, archive):
    """120 streams of 64 addresses, and the registers behind them; the unit's own registers go round."""
    case, dut = archive.part("agu_"), frame.dut
    names = [name for name, _ in agu_request(config) if name not in ("mode", "p")]
    pipeline, board = Pipeline(frame, 0), frame.scoreboard("addresses", config.address_bits, output="o")
    ends = frame.scoreboard("registers", config.address_bits, output="o")
    dut.i__valid.value, dut.o__ready.value = 1, 1
    rows = case.lists("kind", "addr", "p0", "p_end", "dc_end", "dc2_end", *names)
    for number, (kind, addresses, p, *last) in enumerate(rows):
        registers = dict(zip(("p", *names), (p, *last[3:]), strict=True))
        mode = (AguMode.POST_MODIFY, AguMode.TWO_D, AguMode.THREE_D)[kind].value
        for address in addresses:
            dut.i__payload.value = pack(agu_request(config), {"mode": mode} | registers)
            await pipeline.step()
            found = unpack(agu_result(config), resolved(dut.o__payload))
            board.expect(address, f"case {number}")
            board.got(found.address)
            registers |= {name: found[name] for name in ("p", "dc", "dc2")}
        for name, expected in zip(("p", "dc", "dc2"), last[:3], strict=True):
            ends.expect(expected, f"{name} of case {number}")
            ends.got(registers[name])


@covers("data_memory.known_answers", "Another program computed them")
@played("data_memory", "aie_tile_agu")
async def bank_conflicts(frame, config, archive):
    """Stalls of 400 memory cycles at the machine's size."""
    board, dut = frame.scoreboard("stalls", 8, output="stall"), frame.dut
    dut.advance.value = 1
    for number, (addresses, widths, stalls) in enumerate(archive.lists("bank_addr", "bank_width", "bank_stall")):
        ports = zip(("load__0", "load__1", "store"), addresses, widths, strict=True)
        for port, (name, address, width) in enumerate(ports):
            access = Access(address, max(width, 1).bit_length() - 1)
            getattr(dut, f"{name}__payload").value = access.payload(config, port == 2)
            getattr(dut, f"{name}__valid").value = width != 0
        waited = 0
        await FallingEdge(dut.clk)
        while resolved(dut.stall):
            waited += 1
            await FallingEdge(dut.clk)
        assert not resolved(dut.error)
        board.expect(stalls, f"case {number}")
        board.got(waited)
        await RisingEdge(dut.clk)
