"""Address generation: a pointer and a modifier of one, two or three dimensions; all values are 20 bits.

Ref: UG1583, pseudo-code of 2D and 3D addressing; the headers of AIE-ML v2 for the registers of a nest of loops.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, LINE_BYTES, AguForm
from bitpath.golden.arrays.arguments import check_broadcast, check_instance, checked, integer

Codes = np.ndarray | int
"""Codes of 20 bits: an integer, or an array of integers, from -2**19 to 2**20 - 1, taken modulo 2**20."""
_SPACE = 1 << ADDRESS_BITS


@dataclass(frozen=True, eq=False)
class Dimensions:
    """A modifier: register d_n, and for three dimensions also d_{n+4}, whose m has no part.

    Attributes
    ----------
    m : modifier of the pointer where no counter goes on; uint32, as all fields, which broadcast.
    dn, dj, dc : size, step and counter of the inner dimension.
    dn2, dj2, dc2 : those of the outer one.

    Raises
    ------
    TypeError, ValueError : no integers, or none of 20 bits.
    """

    m: Codes
    dn: Codes = 0
    dj: Codes = 0
    dc: Codes = 0
    dn2: Codes = 0
    dj2: Codes = 0
    dc2: Codes = 0

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, _codes(each.name, getattr(self, each.name)))
        check_broadcast(**{each.name: getattr(self, each.name).shape for each in fields(self)})


@checked
def dimensions_from_steps(sizes: Sequence[int], steps: Sequence[int]) -> Dimensions:
    """Return the modifier of a nest of loops: n sizes, the innermost first, and the n + 1 byte steps of the loops.

    ``dn = n1 - 1, dj = s1; dn2 = n2 - 1, dj2 = s2 - (n1 - 1) s1; m = s_last - sum((n_i - 1) s_i)``

    Raises
    ------
    TypeError, ValueError : not one or two sizes of 1 to 2**20; another number of steps, or steps beyond 20 bits.
    """
    if len(sizes) not in (1, 2):
        raise ValueError(f"sizes must have 1 or 2 elements, not {len(sizes)}")
    if len(steps) != len(sizes) + 1:
        raise ValueError(f"steps must have {len(sizes) + 1} elements for {len(sizes)} sizes, not {len(steps)}")
    numbers = [integer(f"sizes[{i}]", each, range(1, _SPACE + 1)) for i, each in enumerate(sizes)]
    advances = [integer(f"steps[{i}]", each, range(-_SPACE // 2, _SPACE)) for i, each in enumerate(steps)]
    back = [0, *np.cumsum([(n - 1) * s for n, s in zip(numbers, advances, strict=False)]).tolist()]
    jumps = [(step - passed) % _SPACE for step, passed in zip(advances, back, strict=True)]
    fields_of = [each for n, jump in zip(numbers, jumps, strict=False) for each in (n - 1, jump, 0)]
    return Dimensions(jumps[-1], *fields_of)


@checked
def agu_step(p: Codes, dims: Dimensions, *, form: AguForm | str) -> tuple[np.ndarray, np.ndarray, Dimensions]:
    """Return the address that an access uses, and pointer and modifier after it: uint32 [...].

    With an immediate, it stands for m (post-modify) or dj (indexed); so does that of accesses beside the stack pointer.

    Parameters
    ----------
    p : pointer, as a field of `Dimensions`.
    form : "post_modify", "2d", "3d" or "indexed".

    Raises
    ------
    TypeError, ValueError : another form; no integers, or none of 20 bits.
    """
    pointer = _codes("p", p)
    check_broadcast(p=pointer.shape, dims=_shape(dims))
    pointer = np.broadcast_to(pointer, np.broadcast_shapes(pointer.shape, _shape(dims)))
    if form is AguForm.INDEXED:
        return _wrap(pointer + dims.dj), pointer.copy(), dims
    inner = (form is not AguForm.POST_MODIFY) & (dims.dc < dims.dn)
    outer = (form is AguForm.THREE_D) & ~inner & (dims.dc2 < dims.dn2)
    step = np.where(inner, dims.dj, np.where(outer, dims.dj2, dims.m))
    after = dims
    if form is not AguForm.POST_MODIFY:
        after = replace(after, dc=np.where(inner, dims.dc + 1, 0))
    if form is AguForm.THREE_D:
        after = replace(after, dc2=np.where(inner, dims.dc2, np.where(outer, dims.dc2 + 1, 0)))
    return pointer.copy(), _wrap(pointer + step), after


@checked
def agu_stream(p: Codes, dims: Dimensions, count: int, *, form: AguForm | str) -> np.ndarray:
    """Return the addresses of `count` accesses, one after the other: uint32 [..., count].

    Raises
    ------
    TypeError, ValueError : as `agu_step`; a count below 0.
    """
    count = integer("count", count, range(_SPACE + 1))
    addresses = []
    for _ in range(count):
        address, p, dims = agu_step(p, dims, form=form)
        addresses.append(address)
    shape = np.broadcast_shapes(_codes("p", p).shape, _shape(dims))
    return np.stack(addresses, axis=-1) if addresses else np.zeros((*shape, 0), np.uint32)


def _codes(name: str, value: Codes) -> np.ndarray:
    if not isinstance(value, np.ndarray):
        return np.array(integer(name, value, range(-_SPACE // 2, _SPACE)) % _SPACE, np.uint32)
    if not np.issubdtype(value.dtype, np.integer):
        raise TypeError(f"{name} must be an array of integers, not of {value.dtype}")
    if value.size and (int(value.min()) < -_SPACE // 2 or int(value.max()) >= _SPACE):
        raise ValueError(f"{name} must hold numbers of {ADDRESS_BITS} bits, not {value.min()} to {value.max()}")
    return _wrap(value)


def _wrap(numbers: np.ndarray) -> np.ndarray:
    return np.asarray(numbers & _SPACE - 1, np.uint32)


def _shape(dims: Dimensions) -> tuple[int, ...]:
    return np.broadcast_shapes(*(getattr(dims, each.name).shape for each in fields(dims)))


# How an operation of the tile addresses memory: a pointer register and a modifier, which is a register or an immediate.


IMMEDIATE_STEPS = range(-8, 8)
"""A signed number of 4 bits, in steps of the access's width. Ref: LLVM's operand classes."""
_COUNTED = (AguForm.TWO_D, AguForm.THREE_D)


@checked
@dataclass(frozen=True, kw_only=True)
class Address:
    """A pointer with its modifier.

    Attributes
    ----------
    pointer : n of p_n.
    form : post_modify (m_n or the immediate), indexed (dj_n or the immediate), 2d (d_n) or 3d (d_n with d_{n+4}).
    register : n of the modifier, or None for the immediate.
    immediate : bytes, a multiple of the access's width.

    Raises
    ------
    TypeError, ValueError : another form; no such register; an immediate beside a register, or without 4 bits in steps of 32.
    """

    pointer: int
    form: AguForm = AguForm.POST_MODIFY
    register: int | None = None
    immediate: int = 0

    def __post_init__(self) -> None:
        check_instance("form", self.form, AguForm)
        integer("pointer", self.pointer, range(8))
        if self.register is not None:
            integer("register", self.register, range(4 if self.form is AguForm.THREE_D else 8))
            if self.immediate:
                raise ValueError(f"immediate must be 0 beside a register, not {self.immediate}")
        elif self.form in _COUNTED:
            raise ValueError(f"register must name a modifier in form {self.form.value}, not be None")

    @property
    def names(self) -> tuple[str, ...]:
        """The registers that it reads: the pointer, then those of the modifier."""
        n = self.register
        modifier: dict[AguForm, tuple[str, ...]] = {
            AguForm.POST_MODIFY: (f"m{n}",),
            AguForm.INDEXED: (f"dj{n}",),
            AguForm.TWO_D: (f"m{n}", f"dn{n}", f"dj{n}", f"dc{n}"),
        }
        if n is None:
            return (f"p{self.pointer}",)
        if self.form is AguForm.THREE_D:
            outer = tuple(f"{name}{n + 4}" for name in ("dn", "dj", "dc"))
            return (f"p{self.pointer}", *modifier[AguForm.TWO_D], *outer)
        return (f"p{self.pointer}", *modifier[self.form])

    @property
    def written(self) -> tuple[str, ...]:
        """The registers that it writes: the pointer and the counters."""
        if self.form is AguForm.INDEXED:
            return ()
        counters = [name for name in self.names if name.startswith("dc")]
        return (f"p{self.pointer}", *counters)

    @checked
    def check_immediate(self, width: int) -> None:
        """Raise ValueError unless the immediate has 4 signed bits in steps of `width` bytes."""
        if self.immediate % width or self.immediate // width not in IMMEDIATE_STEPS:
            lowest, highest = IMMEDIATE_STEPS[0] * width, IMMEDIATE_STEPS[-1] * width
            raise ValueError(
                f"immediate must be a multiple of {width} from {lowest} to {highest}, not {self.immediate}"
            )

    @checked
    def step(self, values: Sequence[int], pointer: int | None = None) -> tuple[int, dict[str, int]]:
        """Return the address, and the values of `written`.

        Parameters
        ----------
        values : of the registers `names`.
        pointer : where the step starts, if not at the pointer.
        """
        start, modifiers = values[0] if pointer is None else pointer, list(values[1:])
        if self.register is None:
            modifiers = [self.immediate]
        dims = Dimensions(0, dj=modifiers[0]) if self.form is AguForm.INDEXED else Dimensions(*modifiers)
        address, after, dims = agu_step(start, dims, form=self.form)
        numbers = [int(after), int(dims.dc), int(dims.dc2)]
        return int(address), dict(zip(self.written, numbers, strict=False))


def line_of(address: int) -> int:
    """Return the first byte of an address's line."""
    return address - address % LINE_BYTES
