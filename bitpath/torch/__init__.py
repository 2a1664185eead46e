"""Models of torch with the bits of a machine: their layers, attention and products, and what each format loses.

The modules of this package are the only ones that import torch, which bitpath's extra "torch" installs.
"""

try:
    import torch as _torch  # noqa: F401 (the modules below need it)
except ModuleNotFoundError:
    raise ModuleNotFoundError("bitpath.torch needs torch; run: pip install 'bitpath[torch]'") from None

from bitpath.golden.losses import kl_divergence, relative_rms
from bitpath.torch.convert import MachineLinear, convert
from bitpath.torch.coverage import Coverage, Product, coverage
from bitpath.torch.functions import linear, machine
from bitpath.torch.sensitivity import Sensitivity, sensitivity

__all__ = [
    "Coverage",
    "MachineLinear",
    "Product",
    "Sensitivity",
    "convert",
    "coverage",
    "kl_divergence",
    "linear",
    "machine",
    "relative_rms",
    "sensitivity",
]
