"""Bit-exact models of AI matrix engines: ``bitpath.golden`` in numpy, ``bitpath.rtl`` in Amaranth.

`matmul`, `prepare`, `quantize`, `explain` and `compare` take each machine and format by name. ``import bitpath`` loads no other package; each name of
this module is loaded at its first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bitpath.golden.comparison import compare
    from bitpath.golden.explain_output import explain
    from bitpath.golden.matmul import linear_w8a8, matmul, prepare
    from bitpath.golden.quantize import MxTensor, dequantize, quantize

__all__ = [
    "MxTensor",
    "__version__",
    "compare",
    "dequantize",
    "explain",
    "linear_w8a8",
    "matmul",
    "prepare",
    "quantize",
]
_MODULES = {
    "MxTensor": "bitpath.golden.quantize",
    "compare": "bitpath.golden.comparison",
    "dequantize": "bitpath.golden.quantize",
    "explain": "bitpath.golden.explain_output",
    "linear_w8a8": "bitpath.golden.matmul",
    "matmul": "bitpath.golden.matmul",
    "prepare": "bitpath.golden.matmul",
    "quantize": "bitpath.golden.quantize",
}


def __getattr__(name: str) -> Any:
    """Return a function of this module, or ``__version__``, the version of the installed distribution."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version("bitpath")


def __dir__() -> list[str]:
    """Return the names of this module, loaded or not."""
    return sorted({*globals(), *__all__})
