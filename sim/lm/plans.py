"""Which matmul of a language model runs in which format, as text and as a file.

A plan is a list of entries, ``PLACE=FORMAT``, of which the closest to a matmul holds::

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

from bitpath.golden.arrays.files import FileError, read_json
from bitpath.golden.machines import MACHINES, TENSOR_MODES, TRAINIUM3, Machine, find_machine
from bitpath.golden.scalar.checked import one_of
from bitpath.sim.lm.model import KINDS, LINEAR, Model

FLOAT32, W8A8 = "float32", "w8a8"
"""Formats of no matmul: numpy's, and Trainium3's linear layer of FP8 with a scale for each row and each output channel."""
FORMATS = {
    "trainium3": ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"),
    "tensix": ("bf16_hifi4", "bf16_lofi", "bfp8_hifi2"),
    "aie_ml_v2": ("mx9", "mx6", "mx4", "bf16"),
}
"""Formats of each machine that are measured by default, those of `bitpath run` and Trainium3's W8A8."""
GROUPS = {"linear": LINEAR, "attention": tuple(kind for kind in KINDS if kind not in LINEAR)}
ATTENTION = {
    # QuantizeMX makes FP8 alone, and keys and values are made on the machine.
    "mxfp4": "mxfp8_e4m3",
    # A scale for each output channel needs weights that are known before.
    W8A8: "trainium3:bf16",
}
"""Formats of attention's products where a format is one of weights."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Formats by place, and the part of the model in which they hold.

    Attributes
    ----------
    formats : for "*", groups, kinds, numbers of blocks, and KIND.BLOCK.
    kinds, block : the kinds of matmul, and the number of the only block, outside of which all matmuls are float32; None is every block.
    """

    formats: Mapping[str, str]
    kinds: tuple[str, ...] = KINDS
    block: int | None = None

    def __str__(self) -> str:
        text = ",".join(name if place == "*" else f"{place}={name}" for place, name in self.formats.items())
        only = [*(() if self.kinds == KINDS else self.kinds), *(() if self.block is None else (f"block {self.block}",))]
        return f"{text} in {' '.join(only)} alone" if only else text

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
        """Return the plan with its formats in a part of the model alone."""
        return replace(self, kinds=kinds, block=block)


def parse(text: str, option: str = "--format") -> Plan:
    """Return the plan of a text.

    Raises
    ------
    ValueError : an entry without a format, a place or a format that does not exist.
    """
    entries = [entry.strip().partition("=") for entry in text.split(",")]
    return checked({place if equal else "*": name if equal else place for place, equal, name in entries}, option)


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
    for place, name in formats.items():
        kind, _, block = place.partition(".")
        named = place == "*" or place in (*GROUPS, *KINDS) or place.isdecimal()
        if not named and not (kind in KINDS and block.isdecimal()):
            places = one_of((*GROUPS, *KINDS))
            raise ValueError(f"{option}: a place must be *, {places}, a block or KIND.BLOCK, not {place!r}")
        try:
            machine_of(name)
        except ValueError as error:
            raise ValueError(f"{option}: {error}") from None
    return Plan(formats=dict(formats))


def machine_of(name: str) -> tuple[Machine | None, dict[str, str]]:
    """Return the machine of a format and the name of the format there, or formats of both operands; None of float32.

    Raises
    ------
    ValueError : a format that does not exist, or of integers.
    """
    if name == FLOAT32:
        return None, {}
    machine, colon, own = name.rpartition(":")
    left, pair, right = own.partition("@")
    if pair:
        for each in (left, right):
            find_machine(TRAINIUM3.name, each)
        return TRAINIUM3, {
            "a_format": TRAINIUM3.formats[left]["a_format"],
            "b_format": TRAINIUM3.formats[right]["b_format"],
        }
    if own == W8A8:
        return TRAINIUM3, {"format": W8A8}
    record = find_machine(machine if colon else None, own)
    if own in record.integers:
        raise ValueError(f"format must be one of floats for a model, not {own!r}")
    return record, {"format": own}


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
