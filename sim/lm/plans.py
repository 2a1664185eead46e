"""Plans: the format of each matmul of a language model, as text and as a file.

A plan is a list of entries, ``PLACE=FORMAT``. The entry closest to a matmul holds::

    mxfp4                                every matmul: *=mxfp4
    mx6,down=mx9,attention=bf16          a kind of matmul, or a group of kinds
    mx6,3=mx9,down.0=float32             a block by its number, a kind in one block

Groups are `GROUPS`. A format is one of `bitpath.matmul`, with MACHINE: before it where another machine has it too; "float32";
"w8a8"; or LEFT@RIGHT, the formats of Trainium3's operands, each by itself.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bitpath.golden.arrays.arguments import check_choice
from bitpath.golden.arrays.files import FileError, read_json
from bitpath.golden.comparison import FORMATS as COMPARED
from bitpath.golden.formats.catalogue import MX_FORMATS
from bitpath.golden.formats.sources import Preset
from bitpath.golden.machines import MACHINES, TENSOR_MODES, TRAINIUM3, Machine, find_machine
from bitpath.golden.scalar.checked import one_of
from bitpath.golden.trainium3.declarations.tensor import TRAINIUM3_DOUBLE_ROW
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL, TRAINIUM3_RMSNORM_QUANT
from bitpath.golden.trainium3.tensor.modes import DOUBLE_ROW, SPARSE
from bitpath.sim.lm.model import KINDS, LINEAR, Model

FLOAT32, W8A8 = "float32", "w8a8"
"""Names that `bitpath.matmul` lacks: numpy's, and Trainium3's linear layer of FP8 with a scale for each row and output channel."""
FORMATS = {
    machine: tuple(name for name in COMPARED if find_machine(None, name).name == machine) for machine in MACHINES
}
"""Formats of each machine that are measured by default, those of `bitpath.compare`."""
GROUPS = {"linear": LINEAR, "attention": tuple(kind for kind in KINDS if kind not in LINEAR)}
BF16 = "trainium3:bf16"
ATTENTION = {
    # QuantizeMX makes FP8 alone, and keys and values are made on the machine.
    "mxfp4": "mxfp8_e4m3",
    # A scale for each output channel, and a pruning, need weights that are known before.
    W8A8: BF16,
    **dict.fromkeys(SPARSE, BF16),
}
"""Formats of attention's products where a format is one of weights."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Formats by place, and the part of the model in which they hold.

    Attributes
    ----------
    formats : for "*", groups, kinds, numbers of blocks, and KIND.BLOCK.
    kinds, block : kinds of matmul and the number of the block that have these formats; all others are float32. None is every block.
    vector : those of `OPERATIONS` that Tensix computes; all others are float32.
    """

    formats: Mapping[str, str]
    kinds: tuple[str, ...] = KINDS
    block: int | None = None
    vector: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = ",".join(name if place == "*" else f"{place}={name}" for place, name in self.formats.items())
        only = [*(() if self.kinds == KINDS else self.kinds), *(() if self.block is None else (f"block {self.block}",))]
        text = f"{text} in {' '.join(only)} alone" if only else text
        return f"{text} with {' '.join(self.vector)} on tensix" if self.vector else text

    def format_of(self, kind: str, block: int) -> str:
        """Return the format of a matmul."""
        if kind not in self.kinds or self.block not in (None, block):
            return FLOAT32
        group = next(name for name, kinds in GROUPS.items() if kind in kinds)
        places = (f"{kind}.{block}", kind, group, str(block), "*")
        found = next((place for place in places if place in self.formats), None)
        if found is None:
            return FLOAT32
        name = self.formats[found]
        return ATTENTION.get(name, name) if found in (str(block), "*") and group == "attention" else name

    def only(self, *, kinds: tuple[str, ...] = KINDS, block: int | None = None) -> "Plan":
        """Return the plan with its formats in a part of the model alone, and all else in float32."""
        return replace(self, kinds=kinds, block=block, vector=())


def parse(text: str, option: str = "--format") -> Plan:
    """Return the plan of a text.

    Raises
    ------
    ValueError : a place given twice; a place or a format that does not exist.
    """
    formats: dict[str, str] = {}
    for entry in text.split(","):
        first, equal, second = entry.strip().partition("=")
        place, name = (first, second) if equal else ("*", first)
        if place in formats:
            raise ValueError(f"{option}: a place must have one format, and {place} has {formats[place]} and {name}")
        formats[place] = name
    return checked(formats, option)


def read(path: Path, option: str = "--plan") -> Plan:
    """Return the plan of a JSON file: an object of formats by place.

    Raises
    ------
    FileError : as `read_json`; ValueError as `parse`.
    """
    formats = read_json(path, option)
    if not isinstance(formats, dict) or not all(isinstance(name, str) for name in formats.values()):
        raise FileError(f'{option}: {path} must hold an object of formats by place, such as {{"*": "mx9"}}')
    return checked(formats, f"{option}: {path}")


def dump(plan: Plan) -> str:
    """Return the text of a plan's file, which `read` takes."""
    return json.dumps(dict(plan.formats), indent=2) + "\n"


def checked(formats: Mapping[str, str], option: str) -> Plan:
    """Return a plan; raise ValueError for a place or a format that does not exist."""
    found = {}
    for place, name in formats.items():
        kind, _, block = place.partition(".")
        named = place == "*" or place in (*GROUPS, *KINDS) or _is_number(place)
        if not named and not (kind in KINDS and _is_number(block)):
            places = one_of((*GROUPS, *KINDS))
            raise ValueError(f"{option}: a place must be *, {places}, a block or KIND.BLOCK, not {place!r}")
        try:
            machine, own = machine_of(name)
        except ValueError as error:
            raise ValueError(f"{option}: {error}") from None
        if own.get("format") == W8A8 and kind in ("attention", *GROUPS["attention"]):
            raise ValueError(f"{option}: w8a8 must be a format of linear layers, not of {place}")
        # A format has one name: that of its machine goes before it only where another machine has it too.
        short = name.rpartition(":")[2]
        alone = machine is not None and (
            "@" in short or short == W8A8 or find_machine(None, short).name == machine.name
        )
        found[place] = short if alone else name
    return Plan(formats=found)


def _is_number(text: str) -> bool:
    return text.isdecimal() and str(int(text)) == text


def check_blocks(plan: Plan, model: Model, option: str) -> None:
    """Raise ValueError if a plan names a block that a model lacks."""
    for place in plan.formats:
        block = place.rpartition(".")[2]
        if block.isdecimal() and int(block) >= len(model.blocks):
            raise ValueError(f"{option}: a block must be 0 to {len(model.blocks) - 1}, not {block}")


def machine_of(name: str) -> tuple[Machine | None, dict[str, str]]:
    """Return the machine of a format and the name of the format there, or formats of both operands; float32 has no machine.

    Raises
    ------
    ValueError : a format that does not exist, or of integers.
    """
    if name == FLOAT32:
        return None, {}
    machine, colon, own = name.rpartition(":")
    left, pair, right = own.partition("@")
    if own == W8A8 or pair:
        if machine not in ("", TRAINIUM3.name):
            raise ValueError(f"format must be of {TRAINIUM3.name}, not of {machine!r}: {own}")
        for each in (left, right) if pair else ():
            check_choice("format of an operand", each, MX_FORMATS)
        return TRAINIUM3, {"a_format": left, "b_format": right} if pair else {"format": W8A8}
    record = find_machine(machine if colon else None, own)
    if own in record.integers:
        raise ValueError(f"format must be one of floats for a model, not {own!r}")
    return record, {"format": own}


def presets(plan: Plan) -> list[Preset]:
    """Return the numerics that a plan's formats have by default, each once."""
    found: list[Preset] = []
    for kind in KINDS:
        for name in {plan.format_of(kind, block) for block in range(_blocks_named(plan) + 2)}:
            record, own = machine_of(name)
            if own.get("format") == W8A8:
                found += [TRAINIUM3_RMSNORM_QUANT, TRAINIUM3_MATMUL]
            elif own.get("format") == DOUBLE_ROW:
                found.append(TRAINIUM3_DOUBLE_ROW)
            elif record is not None:
                found.append(next(iter(record.presets.values())))
    return list({each.name: each for each in found}.values())


def _blocks_named(plan: Plan) -> int:
    """Return the largest number of a block that a plan names."""
    return max(
        (int(each) for each in (place.rpartition(".")[2] for place in plan.formats) if each.isdecimal()), default=0
    )


def machines(plans: Iterable[Plan]) -> list[Machine]:
    """Return the machines that plans name, in the order of `MACHINES`."""
    found = {
        machine.name
        for plan in plans
        for name in plan.formats.values()
        for machine in (machine_of(name)[0], machine_of(ATTENTION.get(name, name))[0])
        if machine is not None
    }
    return [machine for name, machine in MACHINES.items() if name in found]


def macs(model: Model, tokens: int) -> dict[str, int]:
    """Return the multiply-accumulates of each kind in one block, of `tokens` tokens at once; attention's are of all pairs."""
    block = model.blocks[0]
    pairs = model.heads * tokens * tokens * model.head_dim
    return {kind: tokens * getattr(block, kind).size if kind in LINEAR else pairs for kind in KINDS}


def cycles(plan: Plan, model: Model, tokens: int) -> float:
    """Return the cycles of a plan's matmuls at the full rates of their machines; float32 counts as none."""
    total = 0.0
    for kind, count in macs(model, tokens).items():
        for block in range(len(model.blocks)):
            total += count / rate(plan.format_of(kind, block))
    return total


def rate(name: str) -> float:
    """Return the multiply-accumulates a cycle of a format; infinity of float32."""
    machine, arguments = machine_of(name)
    if machine is None:
        return float("inf")
    if name == W8A8:
        # nc_matmul takes FP8 at the rate of BF16.
        return TENSOR_MODES.macs_per_cycle("bf16")
    return machine.macs_per_cycle(arguments.get("format", "mxfp8_e4m3"))
