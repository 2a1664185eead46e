"""NKI kernels on golden: the vendor's names, each instruction computed bit for bit, with errors, cycles and standing.

::

    with nki.installed():
        import my_kernels
    run = nki.run(my_kernels.kernel, x, w)
"""

from bitpath.golden.nki.declarations.errors import NkiValidationError, NkiWarning
from bitpath.golden.nki.launch.kernel import HostTensor, Kernel, PerRank, Run, host_tensor, jit, run, simulate
from bitpath.golden.nki.launch.modules import install, installed
from bitpath.golden.nki.machine.core import Options

__all__ = [
    "HostTensor",
    "Kernel",
    "NkiValidationError",
    "NkiWarning",
    "Options",
    "PerRank",
    "Run",
    "host_tensor",
    "install",
    "installed",
    "jit",
    "run",
    "simulate",
]
