"""How an operation of the tile addresses memory: a pointer register and a modifier, which is a register or an immediate."""

from collections.abc import Sequence
from dataclasses import dataclass

from bitpath.golden.aie_ml_v2.declarations.tile import LINE_BYTES, AguForm
from bitpath.golden.aie_ml_v2.tile.addresses import Dimensions, agu_step
from bitpath.golden.arrays.arguments import check_instance, checked, integer

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
