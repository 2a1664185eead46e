"""Address generation: a pointer and a modifier of one, two or three dimensions; all values are 20 bits.

Ref: UG1583, pseudo-code of 2D and 3D addressing; the headers of AIE-ML v2 for the registers of a nest of loops.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, AguForm
from bitpath.golden.arrays.arguments import check_broadcast, checked, integer

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
