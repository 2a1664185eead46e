"""Known answers of Trainium3 through the RTL. Results are compared with the archives, not with golden."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from itertools import product
from typing import Any

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, CATALOGUE, E4M3FN, E5M2, FP16, FP32, TF32, Rounding
from bitpath.golden.scalar.fp32 import convert
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.quad_mx import X4, ScaleRule
from bitpath.golden.trainium3.declarations.tensor import LOW_BITS
from bitpath.golden.trainium3.exact import multiply_add
from bitpath.rtl.trainium3.array.systolic_array import Tiling
from bitpath.rtl.trainium3.lanes.activation2_lane import Function, ReduceCommand, Reduction
from bitpath.rtl.trainium3.lanes.copy_lanes import Engine
from bitpath.rtl.trainium3.lanes.engine_lane import Operator
from bitpath.rtl.trainium3.memory.access_walker import walk_address
from bitpath.rtl.trainium3.memory.dge import dge_descriptor
from bitpath.rtl.trainium3.memory.indirect_offsets import TENSOR_ROWS, indirect_command, indirect_offset
from bitpath.rtl.trainium3.tensor.background_transpose import column_layout, row_layout
from bitpath.rtl.trainium3.tensor.config import NARROW
from bitpath.rtl.trainium3.tensor.fp32_passes import PASSES, PassMode, pass_layout, request_layout
from bitpath.rtl.trainium3.tensor.sparse_select import SLOTS, select_layout, selected_layout
from bitpath.rtl.trainium3.vector.xorwow import load_layout
from bitpath.verif.kit.bench import PERIOD_NS
from bitpath.verif.kit.known_answers import played, swept
from bitpath.verif.kit.unit_bench import Request, covers, pack, pauses, resolved, unpack
from bitpath.verif.kit.values import Word
from bitpath.verif.trainium3.array import core_products as make
from bitpath.verif.trainium3.array.core_products import Schedule
from bitpath.verif.trainium3.dma import dma_cast
from bitpath.verif.trainium3.lanes import activation2_lane, copy_lanes, engine_lane, rand2_lane
from bitpath.verif.trainium3.memory.access_walker import Walk
from bitpath.verif.trainium3.memory.dge import Copy, Side
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_rows import Options, Rows, beats, lower
from bitpath.verif.trainium3.tensor.core_pe import element
from bitpath.verif.trainium3.vector import quantize_mx
from bitpath.verif.trainium3.vector.quantize_mx import Mode, tile_blocks
from bitpath.verif.trainium3.vector.xorwow import bits_of

FORMATS = {"bf16": BF16, "fp16": FP16, "fp32": FP32, "e4m3fn": E4M3FN, "e5m2": E5M2}

# Casts and lanes.


@covers("dma_cast.known_answers", "Another author derived them independently")
@swept("dma_cast", "trn_core_rmw")
def cast_pairs(config, archive):
    """30 codes in each of the 169 pairs."""
    for pair in dma_cast.PAIRS:
        codes, expected = archive[f"cast_{pair[0]}"], archive["cast_{}_{}".format(*pair)]
        yield from dma_cast.requests(codes, pair, config.beat_bytes, expected)


@covers("copy_lanes.known_answers", "Another author derived them independently")
@played("copy_lanes", "trn_core_rmw")
async def copied_pairs(frame, config, archive):
    """30 codes in each of the 169 pairs, on both engines."""
    lanes = copy_lanes.Lanes(frame)
    for pair, engine in product(dma_cast.PAIRS, Engine):
        codes, expected = archive[f"cast_{pair[0]}"], archive["cast_{}_{}".format(*pair)]
        lanes.send(copy_lanes.Row(codes, pair, engine, expected=expected))
    await lanes.all_taken()


@covers("activation2_lane.known_answers", "Another program computed them with fractions")
@swept("activation2_lane", "trn_core_act")
def activation2_rows(config, archive):
    """30 instructions on rows of nine values: every value and every reduction."""
    operations = {pair: operations for operations, pair in activation2_lane.PAIRS.items()}
    for number, (name, op0, op1, function, reduction, *reverse, parameter) in enumerate(archive["meta"].tolist()):
        for data, immediates, out, reduced in archive.part(f"a{number}_").lists("data", "imm", "out", "reduce"):
            first = activation2_lane.Value(
                0, operations[op0, op1], Function[function.upper()], Reduction[reduction.upper()],
                ReduceCommand.RESET_REDUCE, "1" in reverse, *immediates, int(parameter),
            )  # fmt: skip
            values = activation2_lane.row([convert(code, FORMATS[name], FP32) for code in data], first)
            # The registers within a row are the exact tier's; the archive has the last.
            registers = [register for _, register in activation2_lane.results(values)]
            assert registers[-1] == reduced[0]
            yield from activation2_lane.requests(values, list(zip(out, registers, strict=True)))


def engine_row(width, xs, ys, own, expected, scalar=0):
    """Return requests of whole beats; the exact tier computes the elements that fill the last one."""
    values = engine_lane.beats_of(xs.tolist(), ys, own, width, scalar)
    spare = len(values) * width - len(xs)
    codes = [*expected.tolist(), *(values[-1].results[width - spare :] if spare else ())]
    return engine_lane.requests(values, [codes[at : at + width] for at in range(0, len(codes), width)])


@covers("engine_lane.known_answers", "Another program computed them with fractions")
@swept("engine_lane", "trn_core_rmw")
def engine_sums(config, archive):
    """1500 sums of two sources of six dtypes; the operations of activate2's six instructions under copy."""
    for name in ("bf16", "fp32"):
        a, b, total = (archive[f"raw_{name}_{key}"] for key in ("a", "b", "sum"))
        own = engine_lane.Instruction(Operator.ADD, name, name, name)
        yield from engine_row(config.width, b, a.tolist(), own, total)
    for _, case in archive.parts(r"cmp\d+"):
        if len(case["formats"]) == 3:
            own = engine_lane.Instruction(Operator.ADD, *case["formats"].tolist())
            yield from engine_row(config.width, case["src0"], case["src1"].tolist(), own, case["dst"])


@covers("engine_lane.known_answers")
@swept("engine_lane", "trn_core_act")
def engine_operators(config, archive):
    for number, (name, op0, op1, function, _, *reverse, _) in enumerate(archive["meta"].tolist()):
        if function != "copy":
            continue
        steps = [Operator[op.upper()] for op in (op0, op1)]
        sides = [flag == "1" for flag in reverse]
        for result, key in (("fp32", "out"), ("bf16", "out_bf16")):
            own = engine_lane.Instruction(steps[0], name, "fp32", result, True, sides[0], steps[1], "fp32", sides[1])
            for data, (first, second), out in archive.part(f"a{number}_").rows("data", "imm", key):
                yield from engine_row(config.width, data, [int(first)] * len(data), own, out, int(second))


@covers("rand2_lane.known_answers", "Another program computed them with fractions")
@swept("rand2_lane", "trn_core_act")
def rand2_words(config, archive):
    """48 words to FP32, BF16 and INT8."""
    for dtype, limits in (("fp32", "min_max"), ("bf16", "min_max"), ("int8", "int8_min_max")):
        values = rand2_lane.beats_of(archive["rand2_words"], *archive[f"rand2_{limits}"].tolist(), dtype)
        yield from rand2_lane.requests(values, config.width, archive[f"rand2_{dtype}"].reshape(-1, 4))


@covers(
    "quantize_mx.known_answers",
    "Another author derived them independently; in range they equal the vendor's goldens",
)
@swept("quantize_mx", "trn_quantize_mx", answers=["own_floor", "own_x2"])
def quantized_tiles(config, archive, answers):
    """49 tiles of BF16 and FP16 under both rules, 11,264 blocks."""
    rule = {"own_floor": ScaleRule.OCP, "own_x2": ScaleRule.NKI05}[answers]
    for tile in archive["meta"]:
        case = archive.part(f"c{tile['id']:03d}_")
        if f"{answers}_code" in case:
            tiles = (each.reshape(len(each), -1, X4) for each in (case["src_bits"], case[f"{answers}_data"]))
            mode = Mode(FORMATS[tile["src"]], FORMATS[tile["dst"]], rule)
            yield from quantize_mx.requests(*map(tile_blocks, tiles), case[f"{answers}_code"].ravel(), mode)


@covers("xorwow.known_answers", "Another author wrote the implementation independently")
@played("xorwow", "trn_xorwow")
async def xorwow_lanes(frame, config, archive):
    """16 lanes of 4 states, 64 steps, and the states after them; the unit takes its own number of lanes at a time."""
    first, numbers, last = (archive[name] for name in ("state", "out", "final"))
    taken = [frame.scoreboard(f"lane {lane}", 128, {"": Word(32)}) for lane in range(min(len(first), config.lanes))]
    stored, dut = frame.scoreboard("states", 768, {"": Word(32)}), frame.dut
    for own in (slice(start, start + config.lanes) for start in range(0, len(first), config.lanes)):
        lanes = range(len(first[own]))
        dut.load__valid.value = 1
        for lane in lanes:
            states = {"lane": lane, "states": bits_of(first[own][lane])}
            dut.load__payload.value = pack(load_layout(config), states)
            await RisingEdge(dut.clk)
        dut.load__valid.value, dut.random__ready.value = 0, 1
        for step in range(numbers.shape[2]):
            await FallingEdge(dut.clk)
            offered = resolved(dut.random__payload)
            for lane in lanes:
                taken[lane].expect(bits_of(numbers[own][lane, :, step]))
                taken[lane].got(offered >> 128 * lane & (1 << 128) - 1)
            await RisingEdge(dut.clk)
        dut.random__ready.value = 0
        for lane in lanes:
            dut.lane.value = lane
            await FallingEdge(dut.clk)
            stored.expect(bits_of(last[own][lane]))
            stored.got(resolved(dut.states))
            await RisingEdge(dut.clk)


@covers("rmsnorm_quant.lengths")
@covers("rmsnorm_quant.known_answers", "They come from neither golden nor RTL")
@played("rmsnorm_quant", "trn_rmsnorm_quant")
async def kernel_bytes(frame, config, archive):
    """Nine BF16 cases and one of FP16 from the vendor kernel's instruction sequence: 440,344 bytes."""
    streams = {name: frame.driver(name) for name in ("command", "hidden", "gamma")}
    board = frame.scoreboard("o", frame.payload_shape("o"))
    masks: list[int] = []
    taken = iter(masks)
    frame.monitor("o", lambda payload: board.got(payload & next(taken)))
    for rows, expected in kernel_rows(config, archive):
        for batch in lower(config, rows):
            streams["command"].send_bits(batch.command)
            for name in ("hidden", "gamma"):
                for bits in getattr(batch, name):
                    streams[name].send_bits(bits)
            own = np.zeros((config.lanes, rows.row_bytes), np.uint8)
            own[: batch.count] = expected[batch.first : batch.first + batch.count]
            # The last flag stands above all lanes.
            masks += [(1 << 8 * batch.count) - 1 | 1 << 8 * config.lanes] * rows.row_bytes
            for index, payload in enumerate(beats(config, own)):
                board.expect(payload, partial(rows.shown, index, first=batch.first))
    # A row's passes take longer than a bench waits for a result by itself.
    while board.pending:
        await Timer(256 * PERIOD_NS, unit="ns")
    # A surplus byte fails in the scoreboard.
    await Timer(256 * PERIOD_NS, unit="ns")


def kernel_rows(config, archive) -> Iterator[tuple[Rows, np.ndarray]]:
    """Yield the cases whose rows fit the row memory, with the bytes of the serial row sum."""
    for meta in archive["meta"]:
        if meta["H"] > config.max_row_length:
            continue
        case = archive.part(f"r{meta['id']:03}_")
        dtype = DTYPES[{"bfloat16": BF16, "float16": FP16}[str(meta["dtype"])]]
        options = Options(
            quant_type=str(meta["qtype"]).lower(),
            quant_only=bool(meta["quant_only"]),
            lower_bound=float(meta["lower_bound"]),
        )
        rows = Rows(
            hidden=case["hidden_bits"].view(dtype).reshape(-1, meta["H"]),
            gamma=None if options.quant_only else case["gamma_bits"].view(dtype),
            in_scale=case["in_scale"] if options.quant_type == "static" else None,
            options=options,
        )
        yield rows, case["kernel_bytes"].reshape(len(rows.hidden), -1)


# Addresses.


@covers("access_walker.known_answers", "Another program computed them")
@played("access_walker", "trn_core_gather")
async def walked_patterns(frame, config, archive):
    """5 access patterns over a memory of 4096 words: the elements at the walker's addresses."""
    memory = archive["ap_memory"]
    size = memory.itemsize.bit_length() - 1
    driver, board = frame.driver("i"), frame.scoreboard("elements", 8 * memory.itemsize, output="o")
    frame.monitor("o", lambda bits: board.got(int(memory[unpack(walk_address(config), bits).byte >> size])))
    for _, case in archive.parts(r"ap\d+"):
        pattern, offset = case["pattern"].tolist(), int(case["offset"])
        pairs = [*((0, 1) for _ in range(4 - len(pattern))), *map(tuple, pattern)]
        driver.send_bits(Walk(pairs, offset, size, memory.nbytes).command(config))
        for each in case["elements"].tolist():
            board.expect(each, f"{pairs} from {offset}")


@covers("indirect_offsets.known_answers", "Another program computed them")
@played("indirect_offsets", "trn_core_gather")
async def gathers(frame, config, archive):
    """5 gathers of 1 to 4 columns, lists of 16 and of 32 rows: the column of the data at each offset."""
    cases = [(group, count, archive.part(f"g{i}_")) for i, _, _, group, _, count, _ in archive["meta"].tolist()]
    widest = max(8 * case["data"][:, 0].nbytes for *_, case in cases)
    commands, index = frame.driver("i"), frame.driver("index")
    board = frame.scoreboard("columns", widest, output="o")
    expected = [(case["data"], column) for *_, case in cases for column in case["gathered"].T]
    sources = iter([data for data, _ in expected])

    def word(column):
        return int.from_bytes(np.ascontiguousarray(column).tobytes(), "little")

    def gather(bits):
        board.got(word(next(sources)[:, unpack(indirect_offset(config), bits).offset]))

    frame.monitor("o", gather)
    for _, column in expected:
        board.expect(word(column))
    for group, count, case in cases:
        fields = {"tensor": group == TENSOR_ROWS, "count": count, "elements": case["data"].shape[1]}
        commands.send_bits(pack(indirect_command(config), fields))
        for column in case["index"][:TENSOR_ROWS, : -(-count // group)].T.tolist():
            index.send_bits(sum(row << config.offset_bits * i for i, row in enumerate(column)))


@covers("dge.cut")
@covers("dge.known_answers", "Another program computed them")
@played("dge", "trn_core_dma")
async def transfers(frame, config, archive):
    """7 transfers from HBM to SBUF, 1,871 descriptors."""
    driver, board = frame.driver("i"), frame.check_stream("o")
    for _, case in archive.parts(r"e\d+"):
        size, offset, start, sbuf_offset = case["command"].tolist()
        (step, partitions), *hbm = case["hbm_pattern"].tolist()
        source = Side(hbm, offset, partition_step=step)
        destination = Side(case["sbuf_pattern"].tolist(), sbuf_offset, start)
        driver.send_bits(Copy(source, destination, partitions, size.bit_length() - 1).command(config))
        rows = case["descriptors"].tolist()
        for i, (engine, byte, partition, place, length) in enumerate(rows):
            fields = {
                "engine": engine,
                "source": {"sbuf": 0, "byte": byte},
                "destination": {"sbuf": 1, "byte": partition << config.partition_bits | place},
                "length": length,
                "first": i == 0,
                "last": i == len(rows) - 1,
            }
            board.expect(pack(dge_descriptor(config), fields))


# Modes of TensorE.


@covers("background_transpose.known_answers", "Another program computed them with fractions")
@played("background_transpose", "trn_core_transpose")
async def transposed_tiles(frame, config, archive):
    """Five transposes of 8, 16 and 32 bits in tiles, 32-bit data as low and as high halves."""
    driver, board, size = frame.driver("i"), frame.check_stream("o"), config.size
    for case, bits, rows, columns in archive["te_meta"].tolist():
        data, psum = (archive[f"te{case}_{side}"].astype("u4") for side in ("data", "psum"))
        for low, p, f in product(range(0, max(bits, 16), 16), range(0, rows, size), range(0, columns, size)):
            tile = (data[p : p + size, f : f + size] >> low & 0xFFFF).tolist()
            turned = (psum[f : f + size, p : p + size] >> low & 0xFFFF).tolist()
            for number, row in enumerate(tile):
                control = {"last_column": len(turned) - 1, "last": number == len(tile) - 1}
                driver.send_bits(pack(row_layout(config), {"elements": row, **control}))
            for number, column in enumerate(turned):
                expected = {"elements": column, "last": number == len(turned) - 1}
                shown = f"case {case}, bits from {low}, rows from {p}, column {f + number}"
                board.expect(pack(column_layout(config), expected), shown)


@covers("sparse_select.known_answers", "Another program computed them with fractions")
@swept("sparse_select", "trn_core_sparse")
def selected_columns(config, archive):
    """Seven patterns: each column's elements by the tag words are those at the tags' positions."""
    for case, kept, group, rows, cols, columns, index in archive["meta"].tolist():
        assert (cols, rows % SLOTS) == (config.cols, 0)
        ratio, fmt = group // kept, (BF16, FP16, TF32)[index]
        pattern = {"last_partition": kept - 1, "last_slot": ratio - 1}
        tags, words, moving = (archive[f"s{case}_{key}"] for key in ("tags", "tag_words", "moving"))
        # TF32 lies in an FP32 word.
        codes = (moving >> (FP32.width - TF32.width if fmt is TF32 else 0)).tolist()
        for n, first in product(range(columns), range(0, rows, SLOTS)):
            operands = [[element(fmt, slot[n], NARROW) for slot in partition] for partition in codes]
            four = range(first, first + SLOTS)
            slots = [word for p in four for word in (*operands[p], *[0] * (SLOTS - ratio))]
            physical = [int(words[p, m // 4]) >> m % 4 * 4 & 15 for p in four for m in range(cols)]
            selected = [
                operands[p // kept * kept + int(tag) // ratio][int(tag) % ratio] for p in four for tag in tags[p]
            ]
            yield Request(
                pack(select_layout(config), {"slots": slots, "pattern": pattern, "tags": physical}),
                pack(selected_layout(config), {"elements": selected, "illegal": 0}),
                f"case {case}, column {n}, rows from {first}",
            )


def known(product: make.Product, answers: np.ndarray) -> make.Product:
    """Return the product with the archive's results [results of a word, M, N] below its last row; those of passes before it,
    which the array takes in, are golden's."""
    rows = len(product.stationary)
    return replace(product, prefix=lambda given: answers if given == rows else product.prefix(given))


def fp32_products(config, fp32, sparse, moved) -> Iterator[make.Product]:
    """Columns that the archive lacks repeat its first one."""
    for number, *_ in fp32["meta"].tolist():
        case = fp32.part(f"p{number}_")
        columns = np.arange(config.cols) % case["st"].shape[1]
        x, y = (case[side].view(np.float32) for side in ("st", "mv"))
        x = np.ascontiguousarray(x[:, columns])
        yield known(make.fused(x, y), case["fused"][np.newaxis, columns])
        yield known(make.tf32(x, y), case["tf32"][np.newaxis, columns])
        yield known(make.split12(x, y), case["passes"][:, columns])


def narrow_products(config, fp32, sparse, moved) -> Iterator[make.Product]:
    for name, case in fp32.parts(r"[nd]\d+"):
        x, y = (
            case[side].view(DTYPES[CATALOGUE[str(fmt).upper()]])
            for side, fmt in zip(("st", "mv"), case["formats"], strict=True)
        )
        build = make.double_row if name.startswith("d") else make.matmul
        yield known(build(x, y), case["out"][np.newaxis])


def sparse_products(config, fp32, sparse, moved) -> Iterator[make.Product]:
    for number, kept, group, _, columns, _, fmt in sparse["meta"].tolist():
        case, dtype = sparse.part(f"s{number}_"), DTYPES[(BF16, FP16, FP32)[fmt]]
        values, moving = (case[key].view(dtype) for key in ("values", "moving"))
        for first in range(0, columns, config.cols):
            own = slice(first, first + config.cols)
            words = np.ascontiguousarray(case["tag_words"][:, first // 4 : (first + config.cols) // 4])
            product = make.sparse(np.ascontiguousarray(values[:, own]), moving, words, f"{kept}:{group}")
            yield known(product, case["out"][np.newaxis, own])


def transposes(config, fp32, sparse, moved) -> Iterator[make.Product]:
    """Tiles of as many rows and columns as the array has, with zeros beyond the data; and a selection of rows."""
    height, width = config.rows, config.cols
    for case, bits, rows, columns in moved["te_meta"].tolist():
        data = np.pad(moved[f"te{case}_data"], [(0, -rows % height), (0, -columns % width)])
        psum = np.pad(moved[f"te{case}_psum"], [(0, -columns % width), (0, -rows % height)]).astype(np.uint32)
        for p, f in product(range(0, rows, height), range(0, columns, width)):
            image = psum[f : f + width, p : p + height]
            turned = make.transpose(np.ascontiguousarray(data[p : p + height, f : f + width]))
            yield known(turned, np.stack([image >> low & 0xFFFF for low in range(0, max(bits, 16), 16)]))
    ones = moved["perm_moving_bf16"].view(DTYPES[BF16])
    for own in np.split(np.arange(2 * width) % moved["perm_data"].shape[1], 2):
        turned = make.transpose(np.ascontiguousarray(moved["perm_data"][:, own]), ones)
        yield known(turned, moved["perm_psum"][np.newaxis, own].astype(np.uint32))


PRODUCTS: dict[str, Callable[..., Iterator[make.Product]]] = {
    "fp32": fp32_products,
    "narrow": narrow_products,
    "sparse": sparse_products,
    "transposes": transposes,
}


@covers("core_array.known_answers", "Another program computed them with fractions")
@played("core_array", "trn_core_fp32", "trn_core_sparse", "trn_core_transpose", kind=list(PRODUCTS))
async def core_array_products(frame, config, *archives, kind):
    """Matmuls of FP32, TF32, mixed formats, double row and seven sparse patterns, and transposes, as whole products."""
    # The player reads its configuration when it is imported.
    from bitpath.verif.trainium3.array.core_player import Player

    instructions = [[product] for product in PRODUCTS[kind](config, *archives)]
    schedule = Schedule(config, instructions, pauses.rng("schedule"), 0.0)
    await Player(frame, 0.0).play(Tiling.FULL, schedule.steps)


# FP32 in four passes. The exact tier multiplies the halves and roundings that the RTL gives.

ONE = FP32.bias << FP32.fraction_bits
LOW, HIGH, ROUNDED = range(3)
"""Forms of a column: the low halves, the high halves, TF32."""


def fp32_code(element: Any, bits: int) -> int:
    """Return the FP32 code of an operand with a significand of ``bits`` bits whose highest one is that of FP32's."""
    if element.nan:
        return FP32.nan_code
    sign = element.sign * FP32.sign_mask
    if element.inf:
        return FP32.infinity_code | sign
    value = Fraction(element.significand) * Fraction(2) ** (element.exponent - FP32.bias - bits + 1)
    code = round_to_format(value, FP32, Rounding.RTZ)
    assert round_to_format(value, FP32, Rounding.RNA) == code, f"{element} is no FP32 number"
    return code | sign


def pass_requests(config, column: np.ndarray, *, fused: bool) -> list[int]:
    """Return requests whose columns are the low halves, the high halves, and TF32; FUSED gives both halves twice."""
    codes = [*column.tolist(), *[0] * (config.rows - len(column))]
    modes = [(PassMode.FUSED, 0)] if fused else [(PassMode.SPLIT, LOW), (PassMode.SPLIT, HIGH), (PassMode.TF32, 0)]
    fields = {"codes": codes, "moving_onezero": 0, "stationary_onezero": 0}
    return [pack(request_layout(config), fields | {"mode": mode, "number": number}) for mode, number in modes]


def special(code: int) -> bool:
    return code & ~FP32.sign_mask >= FP32.infinity_code


def counted(x: int, y: int, number: int) -> tuple[int, int]:
    """Return the operands of a pass: infinity and NaN count in the last one, as +0 in the others."""
    return (0, 0) if number < PASSES - 1 and (special(x) or special(y)) else (x, y)


@covers("fp32_passes.known_answers", "Another program computed them with fractions")
@played("fp32_passes", "trn_core_fp32")
async def fp32_passes_products(frame, config, archive):
    """Five matmuls of FP32: each of their passes, their sums, fused and as TF32."""
    driver, board = frame.driver("i"), frame.scoreboard("products", FP32.width, output="o")
    seen: list[int] = []
    frame.monitor("o", seen.append)

    def chain(pairs: Iterable[tuple[int, int]], start: int = 0) -> int:
        """Multiply-adds of pairs of FP32 codes from a partial sum on, each with its rounding."""
        return reduce(
            lambda total, pair: multiply_add(config.numerics, pair[0], FP32, pair[1], FP32, total), pairs, start
        )

    def whole(low: int, high: int) -> int:
        """Return the number of both halves."""
        return high if special(high) or not low else chain([(low, ONE)], high)

    def codes(form: int, payload: int, rows: int) -> list[int]:
        elements = unpack(pass_layout(config), payload).elements
        # A low half's highest bit has the weight of the significand's twelfth.
        return [fp32_code(elements[row], FP32.precision + LOW_BITS * (form == LOW)) for row in range(rows)]

    for number, rows, m, n in archive["meta"].tolist():
        case = archive.part(f"p{number}_")
        columns = [column for side in ("st", "mv") for column in case[side].T]
        for fused in (False, True):
            for payload in (each for column in columns for each in pass_requests(config, column, fused=fused)):
                driver.send_bits(payload)
        seen.clear()
        while len(seen) < (m + n) * (3 + PASSES):
            await RisingEdge(frame.dut.clk)
        split = [[codes(form, seen[3 * k + form], rows) for form in range(3)] for k in range(m + n)]
        wholes = []
        for order in np.reshape(seen[3 * (m + n) :], (m + n, PASSES)).tolist():
            low, high, *again = (codes(half % 2, payload, rows) for half, payload in enumerate(order))
            assert again == [low, high]
            wholes.append([whole(*halves) for halves in zip(low, high, strict=True)])
        for i, j in np.ndindex(m, n):
            x, y = split[i], split[m + j]
            passes = [
                chain(counted(*pair, each) for pair in zip(x[each // 2], y[each % 2], strict=True))
                for each in range(PASSES)
            ]
            found = {
                "split12": reduce(lambda total, each: chain([(each, ONE)], total), passes),
                "tf32": chain(zip(x[ROUNDED], y[ROUNDED], strict=True)),
                "fused": chain(zip(wholes[i], wholes[m + j], strict=True)),
            }
            results = [(case[name][i, j], code, name) for name, code in found.items()]
            results += [(case["passes"][each, i, j], passes[each], f"pass {each}") for each in range(PASSES)]
            for expected, code, name in results:
                board.expect(int(expected), f"case {number}, {name}, {i}, {j}")
                board.got(code)
