"""The vendor's module names: ``import nki`` and its parts find this package while it is installed.

``neuronxcc.nki`` is that of :mod:`bitpath.golden.nki.launch.old_style`, NKI 0.1 on the new layer.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from bitpath.golden.nki.isa import collectives, enums
from bitpath.golden.nki.isa import instructions as isa
from bitpath.golden.nki.language import control, functions, memory
from bitpath.golden.nki.launch import old_style
from bitpath.golden.nki.launch.kernel import Kernel, host_tensor, jit, run, simulate
from bitpath.golden.nki.memory.dtypes import STORED
from bitpath.golden.nki.memory.storage import MemoryRegion
from bitpath.golden.nki.memory.tensor import NkiTensor
from bitpath.golden.nki.old.indices import GUIDE
from bitpath.golden.nki.old.instructions import OLD_ISA
from bitpath.golden.nki.old.language import OLD_LANGUAGE


class _Annotation:
    """A type that annotations may index: ``nt.tensor[...]``."""

    def __class_getitem__(cls, item: Any) -> type:
        return cls


class _Module(ModuleType):
    """A module that says which of its names is not modelled."""

    def __init__(self, name: str, contents: Mapping[str, Any], lacks: str):
        super().__init__(name, f"{name} on bitpath's golden models.")
        self.__path__: list[str] = []
        self._lacks = lacks
        vars(self).update(contents)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__} has no attribute {name}")
        raise NotImplementedError(f"{self.__name__}.{name}: {self._lacks}")


def _public(*modules: ModuleType) -> dict[str, Any]:
    """Return the names that modules' ``__all__`` lists, or that they define: none that they import for themselves."""
    return {name: value for module in modules for name, value in vars(module).items() if name in _names(module)}


def _names(module: ModuleType) -> list[str]:
    defined = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return getattr(module, "__all__", [name for name in defined if not name.startswith("_")])


def _language() -> dict[str, Any]:
    dtypes = {name: name for name in STORED} | {"bool_": "bool"}
    regions = {name: getattr(MemoryRegion, name) for name in MemoryRegion.__members__}
    own = _public(control, functions, memory)
    own["prod"] = own.pop("prod_")
    return own | dtypes | regions | {"range": range, "NkiTensor": NkiTensor, "MemoryRegion": MemoryRegion}


def modules() -> dict[str, ModuleType]:
    """Return the modules by name."""
    missing = "this name is not modelled"
    typing = {"tensor": _Annotation, "mutable_tensor": _Annotation}
    made: dict[str, ModuleType] = {
        "nki": _Module("nki", {"jit": jit, "simulate": simulate, "dtype": str, "Kernel": Kernel, "run": run,
                               "host_tensor": host_tensor}, missing),
        "nki.language": _Module("nki.language", _language(), missing),
        "nki.isa": _Module("nki.isa", {name: getattr(isa, name) for name in isa.__all__}, missing),
        "nki.isa.constants": _Module("nki.isa.constants", {name: getattr(enums, name) for name in enums.__all__}, missing),
        "nki.typing": _Module("nki.typing", typing, missing),
        "nki.collectives": _Module("nki.collectives", _public(collectives), missing),
        "nki.compiler": _Module("nki.compiler", {}, missing),
        "neuronxcc": _Module("neuronxcc", {}, GUIDE),
        "neuronxcc.nki": _Module("neuronxcc.nki", old_style.OLD_NKI, GUIDE),
        "neuronxcc.nki.language": _Module("neuronxcc.nki.language", OLD_LANGUAGE, GUIDE),
        "neuronxcc.nki.isa": _Module("neuronxcc.nki.isa", OLD_ISA, GUIDE),
        "neuronxcc.nki.isa.constants": _Module("neuronxcc.nki.isa.constants", OLD_ISA, GUIDE),
        "neuronxcc.nki.compiler": _Module("neuronxcc.nki.compiler", old_style.OLD_COMPILER, GUIDE),
        **{
            f"neuronxcc.nki.compiler.{name}": _Module(f"neuronxcc.nki.compiler.{name}", old_style.allocators(region), GUIDE)
            for name, region in (("sbuf", MemoryRegion.sbuf), ("psum", MemoryRegion.psum))
        },
        "neuronxcc.nki.typing": _Module("neuronxcc.nki.typing", typing, GUIDE),
    }  # fmt: skip
    for name, module in made.items():
        parent, _, own = name.rpartition(".")
        if parent:
            vars(made[parent])[own] = module
    return made


def install(*, replace: bool = False) -> dict[str, ModuleType | None]:
    """Put the modules where ``import nki`` finds them; return what stood there before.

    Raises ImportError if the vendor's own packages are loaded, unless ``replace`` is True.
    """
    made = modules()
    before = {name: sys.modules.get(name) for name in made}
    foreign = [name for name, each in before.items() if each is not None and not isinstance(each, _Module)]
    if foreign and not replace:
        raise ImportError(f"{foreign[0]} is loaded from elsewhere; pass replace=True to put bitpath's in its place")
    sys.modules.update(made)
    return before


@contextmanager
def installed(*, replace: bool = False) -> Iterator[ModuleType]:
    """Install the modules for a block, and yield ``nki``; kernels that are imported inside keep them."""
    before = install(replace=replace)
    try:
        yield sys.modules["nki"]
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
