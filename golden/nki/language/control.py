"""The grid, loops and records of a kernel.

Ref: ``nki.language`` reference page and "NKI language guide", AWS Neuron documentation, 2026-08.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import Field, field, fields, is_dataclass
from functools import partial
from typing import Any

from bitpath.golden.nki.declarations.errors import invalid
from bitpath.golden.nki.machine.core import present_core
from bitpath.golden.nki.memory.storage import VirtualRegister


def program_ndim() -> int:
    """Return the dimensions of the launch's grid: 0 without one."""
    return int(present_core().grid)


def program_id(axis: int = 0) -> int:
    """Return the number of this core."""
    return present_core().place


def num_programs(axes: int = 0) -> int:
    """Return the number of cores."""
    return present_core().machine.size


def _range(start: Any, stop: Any = None, step: int = 1) -> range:
    """Return Python's range, of numbers or registers."""
    return range(int(start)) if stop is None else range(int(start), int(stop), int(step))


affine_range = sequential_range = static_range = _range


def dynamic_range(start: Any, stop: Any = None, step: Any = 1) -> Iterator[VirtualRegister]:
    """Yield a loop's variable, a register that nothing may write."""
    for value in _range(start, stop, step):
        yield VirtualRegister(value, frozen=True)


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[VirtualRegister], None], step: int = 1) -> None:
    """Call the body for each number from lower to upper - 1."""
    for each in dynamic_range(lower, upper, step):
        body_fun(each)


def while_loop(init: VirtualRegister, body_fun: Callable[[VirtualRegister], Any]) -> None:
    """Call the body as long as the register is not 0."""
    while init:
        body_fun(init)


@contextmanager
def no_reorder() -> Iterator[None]:
    """Let each engine run the block's instructions in their order; blocks within are part of it."""
    core = present_core()
    outer = core.ordered
    if not outer:
        core.blocks += 1
        core.ordered = core.blocks
    try:
        yield
    finally:
        core.ordered = outer


class NKIObject:
    """A record of a kernel. Fields need no annotation, and one without a default is None when it is left out.

    Works with ``@dataclass`` and without; equality is by fields.
    """

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        notes = dict(cls.__dict__.get("__annotations__", {}))
        for name, value in list(vars(cls).items()):
            if not name.startswith("_") and name not in notes and not callable(value) and not _is_descriptor(value):
                notes[name] = Any
        for name in notes:
            if name not in vars(cls):
                setattr(cls, name, None)
            elif isinstance(default := vars(cls)[name], list | dict | set):
                # A dataclass refuses defaults that can change, and takes what makes them.
                setattr(cls, name, field(default_factory=partial(copy, default)))
        cls.__annotations__ = notes

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = _field_names(type(self))
        if len(args) > len(names):
            raise invalid(f"{type(self).__name__} takes at most {len(names)} arguments, not {len(args)}")
        given = dict(zip(names, args, strict=False)) | kwargs
        for name in names:
            setattr(self, name, given.pop(name) if name in given else _default(getattr(type(self), name, None)))
        if given:
            raise invalid(f"{type(self).__name__} has no field {', '.join(given)}")
        if hasattr(self, "__post_init__"):
            self.__post_init__()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _field_names(type(self)))

    __hash__ = object.__hash__


def _default(value: Any) -> Any:
    return value.default_factory() if isinstance(value, Field) and callable(value.default_factory) else copy(value)


def _is_descriptor(value: Any) -> bool:
    return isinstance(value, property | classmethod | staticmethod | Field) or hasattr(type(value), "__get__")


def _field_names(cls: type) -> list[str]:
    if is_dataclass(cls):
        return [each.name for each in fields(cls)]
    found: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        found |= dict.fromkeys(base.__dict__.get("__annotations__", {}))
    return list(found)
