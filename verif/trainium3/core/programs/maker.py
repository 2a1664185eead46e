"""Random instructions of a core within a region of its memories, and programs of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from random import Random

from bitpath.golden.formats.catalogue import E2M1, E4M3FN, E5M2
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, ScaleRule
from bitpath.golden.trainium3.declarations.tensor import PATTERNS
from bitpath.golden.trainium3.declarations.vector import XORWOW_STATES, XORWOW_WORDS
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import Engine, Second
from bitpath.rtl.trainium3.core.tensor_slots import DOUBLE_ROW_FORMATS, MX_FORMATS, NARROW_FORMATS
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode
from bitpath.rtl.trainium3.lanes.activation2_lane import Function, Operations, Reduction
from bitpath.rtl.trainium3.lanes.engine_lane import Operator
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import OperandFormat
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.trainium3.core.programs.instructions import (
    MAX_PAIRS,
    Activate,
    Copy,
    Descriptor,
    ExchangeStates,
    Exponential,
    Instruction,
    Lanes,
    Matmul,
    Operand,
    Operate,
    Pairs,
    Pattern,
    Quantize,
    Rand2,
    Reciprocal,
    Side,
    row_at,
)
from bitpath.verif.trainium3.lanes.engine_lane import INTEGERS, ON_BITS, ON_NUMBERS

# Regions of a core's memories, and random patterns within them.


MOST_STEP = 127
"""The largest step of a core with the fewest bits for it."""
TRIES = 8
"""Patterns that are tried before the plain one, which fits wherever any does."""


@dataclass(frozen=True)
class Region:
    """Bytes of SBUF's partitions, of PSUM's, and of HBM that instructions may use; PSUM's banks from the first of them on."""

    sbuf: range
    psum: range
    hbm: range


def whole(config: CoreConfig) -> Region:
    return Region(range(config.partition_bytes), range(config.banks * config.bank_bytes), range(config.hbm_bytes))


def shares(config: CoreConfig) -> Mapping[Engine, Region]:
    """A region for each engine; TensorE has the first bank, ScalarE and VectorE share the others' ends, DMA has all HBM."""
    part, bank = config.partition_bytes // len(Engine), config.bank_bytes
    psums = {
        Engine.TENSOR: range(bank),
        Engine.VECTOR: range(bank, bank + bank // 2),
        Engine.SCALAR: range(bank + bank // 2, 2 * bank),
        Engine.DMA: range(0),
    }
    return {
        each: Region(range(k * part, (k + 1) * part), psums[each], range(config.hbm_bytes))
        for k, each in enumerate(Engine)
    }


def any_pattern(rng: Random, count: int, size: int, place: range, slots: int = 1) -> Pattern | None:
    """Return a pattern of ``count`` different elements of ``size`` bytes in a place, or None if it has no room.

    Of more than one slot, a divisor of ``count``, the innermost pair is theirs.
    """
    first, end = -(-place.start // size), place.stop // size
    if count > end - first:
        return None
    for _ in range(TRIES):
        pairs = any_pairs(rng, count, slots)
        reach = Pattern(pairs).elements
        low, high = min(reach), max(reach)
        if end - first > high - low and all(abs(step) <= MOST_STEP for step, _ in pairs):
            return Pattern(pairs, rng.randrange(first - low, end - high))
    plain = ((slots, count // slots), (1, slots)) if slots > 1 else ((1, count),)
    return Pattern(plain, rng.randint(first, end - count))


def any_pairs(rng: Random, count: int, slots: int = 1) -> Pairs:
    """Return pairs of ``count`` different elements: a step is at least as large as the reach of the pairs below it.

    A pair is below those outside it, but the pair of more than one slot, the innermost one, has any place among them.
    """
    nums = [1] * rng.randint(1, MAX_PAIRS - (slots > 1))
    count //= slots
    while count > 1:
        factor = next(each for each in range(2, count + 1) if count % each == 0)
        nums[rng.randrange(len(nums))] *= factor
        count //= factor
    place = rng.randrange(len(nums) + 1) if slots > 1 else 0
    if slots > 1:
        nums.insert(place, slots)
    pairs, reach = [], 1
    for num in nums:
        step = rng.choice((1, -1)) * rng.choice((reach, reach, reach + 1, 2 * reach))
        if num == 1:
            step = rng.randint(-MOST_STEP, MOST_STEP)
        pairs.append((step, num))
        reach += abs(step) * (num - 1)
    pairs.insert(0, pairs.pop(place))
    return tuple(reversed(pairs))


def halves(rng: Random, place: range) -> tuple[range, range]:
    """Cut a place in two, in any order, at a multiple of 8 bytes."""
    middle = place.start + len(place) // 2 // 8 * 8
    parts = [range(place.start, middle), range(middle, place.stop)]
    rng.shuffle(parts)
    return parts[0], parts[1]


MOST = 32
"""Elements of a partition in an instruction, where its region has room."""
MOST_DESCRIPTORS = 512
"""Elements of a long copy, which may take a descriptor each."""
EVERYTHING = tuple(Engine)
SPARSE_PAIRS = [
    *product((OperandFormat.FP16, OperandFormat.BF16), repeat=2),
    (OperandFormat.TF32, OperandFormat.TF32),
]
NARROW_PAIRS = [
    pair for pair in product(NARROW_FORMATS, NARROW_FORMATS) if set(pair) != {OperandFormat.E4M3, OperandFormat.E4M3FN}
] + 10 * [(OperandFormat.TF32, OperandFormat.TF32)]


class Maker:
    """Makes instructions within a region."""

    def __init__(self, config: CoreConfig, region: Region, rng: Random):
        self.config, self.region, self.rng = config, region, rng
        self.sources, self.targets = zip(
            *(halves(rng, each) for each in (region.sbuf, region.psum, region.hbm)), strict=True
        )
        # So many elements of four bytes have room in either half of SBUF, which is no larger than a partition's part of HBM.
        self.most = min(MOST, *(len(each) // 4 for each in (self.sources[0], self.targets[0])))

    def count(self) -> int:
        """Return a number of elements; the largest often, since it has many factors."""
        return self.rng.choice((self.rng.randint(1, self.most), self.most))

    def partitions(self) -> tuple[int, Callable[[], int]]:
        """Return a number of partitions, and a function that chooses a quarter in which they may start."""
        size = self.config.size
        most, starts = self.rng.choice(((size // 4, (0, 1, 2, 3)), (size // 2, (0, 2)), (size, (0,)), (size, (0,))))
        return self.rng.randint(max(1, most // 2), most), lambda: self.rng.choice(starts)

    def operand(self, count: int, dtype: str, places: Sequence[range], start: int) -> Operand:
        """Return an operand in SBUF or PSUM, of the first that has room."""
        size = container_bits(dtype) // 8
        if self.rng.random() < 0.3 and size * count <= len(places[0]) // 8 * 8:
            # Elements that follow each other from the start of a word on come several at a time.
            return Operand(row_at(count, places[0].start, size), dtype, start=start)
        for psum in (False, True) if self.rng.getrandbits(1) else (True, False):
            pattern = any_pattern(self.rng, count, size, places[psum])
            if pattern is not None:
                return Operand(pattern, dtype, psum, start)
        raise ValueError(f"no room for {count} elements of {dtype}")

    def lanes(self, dtypes: tuple[str, str, str], *, result: int | None = None, tensor: bool = True) -> dict:
        """Return operands of an instruction of VectorE or ScalarE; y is a tensor, a column or missing."""
        partitions, start = self.partitions()
        count = self.count()
        x = self.operand(count, dtypes[0], self.sources, start())
        second = self.rng.choice(("none", "column", "tensor") if tensor else ("none", "column"))
        y = None
        if second != "none":
            y = self.operand(1 if second == "column" else count, dtypes[1], self.sources, start())
        to = self.operand(count if result is None else result, dtypes[2], self.targets, start())
        return {"x": x, "y": y, "result": to, "partitions": partitions}

    def operate(self, engine: Engine) -> Operate:
        rng = self.rng
        if rng.random() < 0.4:
            names = [rng.choice(INTEGERS[rng.choice((8, 16, 32))])]
            names += [rng.choice(INTEGERS[container_bits(names[0])]) for _ in range(4)]
            operators = ON_BITS
        else:
            names, operators = [rng.choice(tuple(FORMATS)) for _ in range(5)], ON_NUMBERS
        one = Operate(
            engine=engine,
            op=rng.choice(operators),
            reverse=bool(rng.getrandbits(1)),
            immediate=rng.choice((fp32.mixed(rng), rng.getrandbits(32))),
            immediate_dtype=names[3],
            **self.lanes((names[0], names[1], names[2])),
        )
        if one.second() is Second.TENSOR or rng.getrandbits(1):
            return one
        return replace(
            one,
            then=rng.choice(operators),
            then_reverse=bool(rng.getrandbits(1)),
            scalar=rng.choice((fp32.mixed(rng), rng.getrandbits(32))),
            scalar_dtype=names[4],
        )

    def activate(self) -> Activate:
        rng = self.rng
        names = [rng.choice(("fp32", "bf16", "fp32", rng.choice(tuple(FORMATS)))) for _ in range(3)]
        root = rng.random() < 0.2
        register = not root and rng.random() < 0.4
        return Activate(
            root=root,
            register=register,
            operations=rng.choice(tuple(Operations)),
            function=rng.choice(tuple(Function)),
            reduction=rng.choice(tuple(Reduction)),
            reverse=bool(rng.getrandbits(1)),
            imm0=fp32.mixed(rng),
            imm1=fp32.mixed(rng),
            relu_param=fp32.mixed(rng),
            **self.lanes((names[0], names[1], names[2]), result=1 if register else None, tensor=False),
        )

    def matmul(self, mode: Mode) -> Matmul:
        rng, config = self.rng, self.config
        pairs = {
            Mode.MX: lambda: (rng.choice(MX_FORMATS), rng.choice(MX_FORMATS)),
            Mode.DOUBLE_ROW: lambda: (rng.choice(DOUBLE_ROW_FORMATS),) * 2,
            Mode.NARROW: lambda: rng.choice(NARROW_PAIRS),
            Mode.FUSED: lambda: (OperandFormat.FP32,) * 2,
            Mode.SPARSE: lambda: rng.choice(SPARSE_PAIRS),
            Mode.PASS: lambda: (rng.choice((*NARROW_FORMATS, OperandFormat.FP32)), OperandFormat.BF16),
        }
        rows, start = self.partitions()
        if mode is Mode.MX:
            rows, start = config.size, lambda: 0
        passes, sparse = mode is Mode.PASS, mode is Mode.SPARSE
        columns = {Mode.MX: 2, Mode.SPARSE: 4}.get(mode, 1)
        formats = pairs[mode]()
        each = Matmul(
            mode=mode,
            formats=formats,
            rows=rows,
            columns=columns * rng.randint(1, config.size // columns),
            pattern=rng.choice([name for name, each in PATTERNS.items() if rows % each.kept == 0]),
            start=start(),
            tiled=rows <= config.tile_rows and bool(rng.getrandbits(1)),
            flag=rng.choice((3, 1) if passes else (3, 3, 4, 0, 1)),
            bf16=formats[0] is not OperandFormat.FP32 if passes else bool(rng.getrandbits(1)),
        )
        bank = rng.randrange(self.region.psum.start // config.bank_bytes, self.region.psum.stop // config.bank_bytes)
        count = rows if passes else self.count()
        width = 2 if each.bf16 else 4
        count = min(count, config.bank_bytes // width)
        slots = each.kept_and_ratio[1] if sparse else 1
        count = max(1, count // slots)
        source, other = self.sources[0], self.targets[0]
        words = range(source.start // 8, (source.stop - each.columns * each.size(0)) // 8 + 1)
        scales = rng.randrange(other.start // 4, (other.stop - each.columns) // 4 + 1) * 4
        moving = Pattern() if passes else any_pattern(rng, slots * count, each.size(1), other, slots)
        result = any_pattern(rng, count, width, range(config.bank_bytes))
        if not words:
            return self.matmul(mode)
        return replace(
            each,
            rows=count if passes else rows,
            stationary=8 * rng.choice(words),
            moving=moving,
            scales=(scales, rng.randrange(other.start, other.stop - count + 1)) if mode is Mode.MX else (0, 0),
            scale_offset=rng.randrange(4) if mode is Mode.MX else 0,
            tags=rng.randrange(other.start // 2, (other.stop - each.columns // 2) // 2 + 1) * 2 if sparse else 0,
            result=result,
            bank=bank,
        )

    def reciprocal(self) -> Reciprocal:
        names = [self.rng.choice(("fp32", "bf16", self.rng.choice(tuple(FORMATS)))) for _ in range(3)]
        own = self.lanes((names[0], names[1], names[2]), tensor=False)
        return Reciprocal(**own | {"y": None})

    def exponential(self) -> Exponential:
        rng = self.rng
        names = [rng.choice(("fp32", "bf16", "bf16", rng.choice(tuple(FORMATS)))) for _ in range(3)]
        register = rng.random() < 0.4
        own = self.lanes((names[0], names[1], names[2]), result=1 if register else None, tensor=False)
        return Exponential(register=register, imm1=rng.choice((fp32.near_one, fp32.mixed))(rng), **own)

    def rand2(self) -> ExchangeStates | Rand2:
        """Numbers, or at times other states."""
        rng = self.rng
        words = XORWOW_STATES * XORWOW_WORDS
        if 4 * words <= min(len(self.sources[0]), len(self.targets[0])) and rng.random() < 0.3:
            partitions, start = self.partitions()
            x = Operand(any_pattern(rng, words, 4, self.sources[0]), "uint32", start=start())
            result = self.operand(words, "uint32", self.targets, start())
            return ExchangeStates(x=x, result=result, partitions=partitions)
        names = [rng.choice(("fp32", "bf16", rng.choice(tuple(FORMATS)))) for _ in range(3)]
        own = self.lanes((names[0], names[1], names[2]), tensor=False)
        return Rand2(imm1=rng.choice((fp32.near_one, fp32.mixed))(rng), **own)

    def quantize(self) -> Quantize:
        rng, count = self.rng, 4 * self.rng.randint(1, self.most // 4)
        element = rng.choice((E4M3FN, E5M2, E2M1))
        rest, scales = halves(rng, self.targets[0])
        word = "uint16" if element is E2M1 else "uint32"
        return Quantize(
            x=Operand(any_pattern(rng, count, 2, self.sources[0]), rng.choice(("bf16", "fp16"))),
            result=Operand(any_pattern(rng, count // 4, container_bits(word) // 8, rest), word),
            partitions=self.config.size // QUADRANT * QUADRANT,
            element=element,
            rule=rng.choice(tuple(ScaleRule)),
            scales=rng.randrange(scales.start, scales.stop - count // 4 + 1),
            scale_offset=rng.randrange(4),
        )

    def side(self, in_sbuf: bool, partitions: int, start: int, count: int, size: int, target: bool) -> Side:
        places = self.targets if target else self.sources
        if in_sbuf:
            return Side(any_pattern(self.rng, count, size, places[0]), start)
        place = places[2]
        row = len(place) // max(1, partitions) // size * size
        pattern = any_pattern(self.rng, count, size, range(place.start, place.start + row))
        return Side(pattern, None, row // size if partitions > 1 else 0)

    def long_copy(self) -> Copy:
        """A copy in HBM of up to all elements that have room: four pairs, a large num among them, in any order on each side."""
        rng, width = self.rng, 1 << self.config.num_bits - 1
        size = rng.randrange(3)
        places = [range(-(-each[2].start >> size), each[2].stop >> size) for each in (self.sources, self.targets)]
        room = min(MOST_DESCRIPTORS, *map(len, places))
        nums = [rng.randint(width, min(2 * width - 1, room)), *rng.choices((1, 2, 3), k=MAX_PAIRS - 1)]
        while prod(nums) > room:
            nums[nums.index(max(nums[1:]), 1)] -= 1
        rng.shuffle(nums)
        pairs = [(prod(nums[:k]), num) for k, num in enumerate(nums)]
        sides = []
        for place in places:
            order = rng.choice((pairs[::-1], rng.sample(pairs, len(pairs))))
            sides.append(Side(Pattern(tuple(order), rng.randint(place.start, place.stop - prod(nums)))))
        own = {"partitions": 1, "size": size, "queue": rng.randrange(self.config.queues), "after": (Engine.DMA,)}
        return Copy(source=sides[0], destination=sides[1], **own)

    def copy(self) -> Copy:
        rng, config = self.rng, self.config
        if rng.random() < 0.1:
            return self.long_copy()
        mode = rng.choice((WriteMode.STORE, WriteMode.STORE, WriteMode.ADD_BF16, WriteMode.ADD_FP32))
        size = {WriteMode.STORE: rng.randrange(3), WriteMode.ADD_BF16: 1, WriteMode.ADD_FP32: 2}[mode]
        in_sbuf = rng.choice(((False, False), (True, False), (False, True)))
        partitions = rng.randint(1, config.size)
        start = rng.randrange(config.size - partitions + 1)
        count = self.count()
        source, destination = (
            self.side(each, partitions, start, count, 1 << size, target) for target, each in enumerate(in_sbuf)
        )
        queue = rng.randrange(config.queues)
        return Copy(
            source=source, destination=destination, partitions=partitions, size=size, queue=queue, mode=mode,
            after=(Engine.DMA,),
        )  # fmt: skip

    def descriptor(self) -> Descriptor:
        rng, config = self.rng, self.config
        if rng.random() < 0.3:
            mode, name = rng.choice(((WriteMode.ADD_BF16, "bf16"), (WriteMode.ADD_FP32, "fp32")))
            pair = name, name
        else:
            mode, pair = WriteMode.STORE, (rng.choice(tuple(FORMATS)), rng.choice(tuple(FORMATS)))
        in_sbuf = rng.choice(((False, False), (True, False), (False, True)))
        count = self.count() if any(in_sbuf) else rng.randint(1, len(self.sources[2]) // 4)
        sides = []
        for each, places, name in zip(in_sbuf, (self.sources, self.targets), pair, strict=True):
            size = container_bits(name) // 8
            place = places[0] if each else places[2]
            last = place.stop - count * size
            byte = rng.randrange(place.start, last + 1)
            if mode is not WriteMode.STORE:
                byte -= byte % size
            sides.append((rng.randrange(config.size) if each else None, byte))
        return Descriptor(
            source=sides[0], destination=sides[1], count=count, pair=pair, mode=mode, queue=rng.randrange(config.queues),
            config=config, after=(Engine.DMA,),
        )  # fmt: skip


def kinds(config: CoreConfig) -> dict[str, Callable[[Maker], Instruction]]:
    """Return what makes an instruction of each kind that the core has."""
    lacks = {Mode.MX: not config.has_mx, Mode.SPARSE: not config.has_sparse}
    modes = [each for each in Mode if not lacks.get(each)]
    made: dict[str, Callable[[Maker], Instruction]] = {
        each.name.lower(): lambda maker, mode=each: maker.matmul(mode) for each in modes
    }
    made |= {
        "vector": lambda maker: maker.operate(Engine.VECTOR),
        "scalar": lambda maker: maker.operate(Engine.SCALAR),
        "activate": Maker.activate,
        "reciprocal": Maker.reciprocal,
        "exponential": Maker.exponential,
        "rand2": Maker.rand2,
        "copy": Maker.copy,
        "descriptor": Maker.descriptor,
    }
    return made | ({"quantize": Maker.quantize} if config.size >= QUADRANT else {})


def program(config: CoreConfig, rng: Random, names: Sequence[str], *, beside: bool = False) -> list[Instruction]:
    """Return an instruction of each kind: one after the other, or each in the share of its engine and beside the others."""
    made, own = [], kinds(config)
    for name in names:
        if beside:
            # The engine of a kind does not depend on the region.
            engine = own[name](Maker(config, whole(config), Random(0))).engine
            each = own[name](Maker(config, shares(config)[engine], rng))
            others = [engine for engine in Engine if engine not in each.after and rng.random() < 0.1]
            made.append(replace(each, after=(*each.after, *others)))
        else:
            made.append(replace(own[name](Maker(config, whole(config), rng)), after=EVERYTHING))
    return made


def written(instruction: Instruction) -> tuple[Operand, int] | None:
    """Return an instruction's result in SBUF or PSUM as bits, and its partitions, or None if it has none from a quarter on."""
    match instruction:
        case Lanes(result=result, partitions=partitions):
            return replace(result, dtype=f"uint{container_bits(result.dtype)}"), partitions
        case Matmul(columns=columns, bf16=narrow, result=pattern, bank=0):
            return Operand(pattern, "uint16" if narrow else "uint32", psum=True), columns
        case Copy(destination=Side(start=0, pattern=pattern), partitions=partitions, size=size):
            return Operand(pattern, f"uint{8 << size}"), partitions
    return None


def copy_of(
    config: CoreConfig, rng: Random, engine: Engine, x: Operand, partitions: int, writer: Instruction
) -> Operate:
    """Return an engine's copy of bits to its share, behind the instruction that writes them."""
    to = any_pattern(rng, x.pattern.count, container_bits(x.dtype) // 8, shares(config)[engine].sbuf)
    assert to, "an operand of another share has room"
    return Operate(
        engine=engine, x=x, result=Operand(to, x.dtype, start=x.start), partitions=partitions, op=Operator.BITWISE_OR,
        immediate_dtype=x.dtype, after=(writer,),
    )  # fmt: skip
