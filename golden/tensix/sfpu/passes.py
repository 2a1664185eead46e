"""From a kernel's steps to words: products and sums fused, copies removed, registers given, gaps filled.

Ref: tt-isa-documentation 3930471, SFPMAD, SFPSWAP and LReg, of Blackhole 585749d, for latencies and hazards.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.isa.words import word_of

REGISTERS = range(8)
"""Registers of values."""
FIRST_VALUE = 16
"""Number of the first value; below it are the registers themselves."""
MINUS_ONE = 11
"""Register of -1."""
IMMEDIATE = {"SFPMUL": "SFPMULI", "SFPADD": "SFPADDI"}
"""Forms of a product and a sum with a BF16 immediate in place of an operand."""
TWO_CYCLES = ("SFPMAD", *IMMEDIATE, *IMMEDIATE.values(), "SFPMUL24", "SFPLUT", "SFPLUTFP32", "SFPSWAP")
"""Instructions whose result the next instruction may not touch on Wormhole."""
UNSTALLED = ("SFPIADD", "SFPSHFT", "SFPAND", "SFPOR", "SFPSWAP", "SFPSHFT2")
"""Instructions that Blackhole does not hold back in every case."""
FLAGS = ("SFPSETCC", "SFPPUSHC", "SFPPOPC", "SFPCOMPC", "SFPENCC")
NEGATE_VA, NEGATE_VC = 1, 2
"""Modifiers of Blackhole's SFPMAD."""


@dataclass(frozen=True)
class Step:
    """An instruction. The fields that `reads` and `writes` name hold numbers of values, the other fields their own codes."""

    name: str
    fields: dict[str, int]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    def values_read(self) -> list[int]:
        return [self.fields[each] for each in self.reads]

    def values_written(self) -> list[int]:
        return [self.fields[each] for each in self.writes]


def words_of(steps: Sequence[Step], pinned: Mapping[int, int], reserved: Sequence[int], chip: Chip) -> list[int]:
    """Return the words of a kernel.

    Parameters
    ----------
    pinned : required registers of values, by the value's number.
    reserved : registers for pinned values alone.

    Raises
    ------
    ValueError : more values at once than registers.
    """
    merged, pinned = _merged(_with_immediates(_fused(steps, chip)), pinned)
    registers = _allocated(merged, pinned, [each for each in REGISTERS if each not in reserved])
    words: list[int] = []
    before: Step | None = None
    for each in merged:
        named = {name: registers.get(each.fields[name], each.fields[name]) for name in {*each.reads, *each.writes}}
        step = Step(each.name, {**each.fields, **named}, each.reads, each.writes)
        if before is not None and _needs_gap(before, step, chip):
            words.append(word_of("SFPNOP", {}, chip))
        words.append(word_of(step.name, step.fields, chip))
        before = step
    return words


def _needs_gap(before: Step, step: Step, chip: Chip) -> bool:
    """Return True if an instruction needs a gap after one of two cycles, whose result it touches."""
    if before.name not in TWO_CYCLES:
        return False
    if before.name == "SFPSWAP":
        return True
    touches = not _values(step).isdisjoint(before.values_written())
    return touches and (chip is Chip.WORMHOLE or step.name in UNSTALLED)


def _uses(steps: Sequence[Step], values: Callable[[Step], list[int]]) -> dict[int, list[int]]:
    """Return the positions of the steps that read, or write, each value."""
    places: dict[int, list[int]] = {}
    for position, step in enumerate(steps):
        for value in values(step):
            places.setdefault(value, []).append(position)
    return places


def _fused(steps: Sequence[Step], chip: Chip) -> list[Step]:
    """Fuse a product into the only sum that uses it, as SFPMAD; on Blackhole, which negates, into a difference too."""
    steps = list(steps)
    reads, writes = _uses(steps, Step.values_read), _uses(steps, Step.values_written)

    def product(value: int, at: int) -> Step | None:
        """Remove and return the product that computes a value, if the sum at a position can be fused with it."""
        if value < FIRST_VALUE or len(writes[value]) != 1 or reads[value] != [at]:
            return None
        place = writes[value][0]
        found = steps[place]
        if found.name != "SFPMUL" or any(
            place < each < at for one in found.values_read() for each in writes.get(one, ())
        ):
            return None
        steps[place] = Step("", {})
        return found

    for at, step in enumerate(steps):
        if step.name == "SFPADD":
            operands = [("vb", "vc", 0), ("vc", "vb", 0)]
        elif step.name == "SFPMAD" and step.fields.get("vb") == MINUS_ONE and chip is Chip.BLACKHOLE:
            operands = [("vc", "va", NEGATE_VC), ("va", "vc", NEGATE_VA)]
        else:
            continue
        for own, addend, mod in operands:
            if found := product(step.fields[own], at):
                fields = {"va": found.fields["va"], "vb": found.fields["vb"], "vc": step.fields[addend], "mod": mod}
                steps[at] = Step("SFPMAD", fields | {"vd": step.fields["vd"]}, ("va", "vb", "vc"), ("vd",))
                break
    return [each for each in steps if each.name]


def _with_immediates(steps: Sequence[Step]) -> list[Step]:
    """Turn a product or a sum whose BF16 literal has no other use into a copy and SFPMULI or SFPADDI."""
    reads, writes = _uses(steps, Step.values_read), _uses(steps, Step.values_written)
    dropped, made = set(), {}
    for at, step in enumerate(steps):
        own = [each for each in step.reads if step.name in IMMEDIATE]
        for name in own:
            literal = step.fields[name]
            if reads[literal] != [at] or len(writes.get(literal, ())) != 1:
                continue
            load = steps[writes[literal][0]]
            if load.name == "SFPLOADI" and load.fields["mod"] == 0:
                (other,) = (step.fields[each] for each in own if each != name)
                new, imm = step.fields["vd"], load.fields["imm"]
                copy = Step("SFPMOV", {"vc": other, "vd": new}, ("vc",), ("vd",))
                made[at] = [copy, Step(IMMEDIATE[step.name], {"imm": imm, "vd": new}, ("vd",), ("vd",))]
                dropped.add(writes[literal][0])
                break
    return [each for at, step in enumerate(steps) if at not in dropped for each in made.get(at, [step])]


def _merged(steps: Sequence[Step], pinned: Mapping[int, int]) -> tuple[list[Step], dict[int, int]]:
    """Remove copies whose source and destination can share a register; return the steps and the pinned values."""
    steps, pinned = list(steps), dict(pinned)
    at = len(steps) - 1
    while at >= 0:
        step = steps[at]
        if step.name == "SFPMOV" and "mod" not in step.fields and _may_merge(steps, at, pinned):
            old, new = step.fields["vc"], step.fields["vd"]
            if old in pinned:
                pinned[new] = pinned.pop(old)
            steps = [_renamed(each, old, new) for place, each in enumerate(steps) if place != at]
        at -= 1
    return steps, pinned


def _may_merge(steps: list[Step], at: int, pinned: dict[int, int]) -> bool:
    old, new = steps[at].fields["vc"], steps[at].fields["vd"]
    if old < FIRST_VALUE or new < FIRST_VALUE or {old, new} <= {*pinned}:
        return False
    places = {each: [i for i, step in enumerate(steps) if each in _values(step)] for each in (old, new)}
    if places[old][-1] != at:
        return False
    if places[new][0] == at:
        return not ({old, new} & {*pinned}) or old not in pinned
    # The destination already has lanes: the source must be computed from them here, under the same flags.
    first = places[old][0]
    if old in pinned or any(first < each < at for each in places[new]) or new in steps[first].values_written():
        return False
    return not any(step.name in FLAGS for step in steps[first:at])


def _values(step: Step) -> set[int]:
    return {*step.values_read(), *step.values_written()}


def _renamed(step: Step, old: int, new: int) -> Step:
    named = {*step.reads, *step.writes}
    fields = {name: new if name in named and value == old else value for name, value in step.fields.items()}
    return Step(step.name, fields, step.reads, step.writes)


def _allocated(steps: Sequence[Step], pinned: Mapping[int, int], free: Sequence[int]) -> dict[int, int]:
    """Return the register of each value: the first one that is free while the value lives."""
    spans: dict[int, tuple[int, int]] = {}
    for position, step in enumerate(steps):
        for value in _values(step):
            if value >= FIRST_VALUE:
                spans[value] = spans.get(value, (position, position))[0], position
    taken: dict[int, list[tuple[int, int]]] = {each: [] for each in REGISTERS}
    registers: dict[int, int] = {}
    for value, register in pinned.items():
        start, end = spans[value]
        if any(first < end and start < last for first, last in taken[register]):
            raise ValueError(f"values at once in register {register} must be 1, not 2")
        registers[value] = register
        taken[register].append((start, end))
    for value in sorted(spans, key=lambda each: spans[each][0]):
        if value in registers:
            continue
        start, end = spans[value]
        fitting = [
            each for each in free if all(max(end, start + 1) <= first or last <= start for first, last in taken[each])
        ]
        if not fitting:
            live = sum(first <= start < last for first, last in spans.values())
            raise ValueError(f"values at once must be at most {len(free)}, not {live}, at {steps[start].name}")
        registers[value] = fitting[0]
        taken[fitting[0]].append((start, max(end, start + 1)))
    return registers
