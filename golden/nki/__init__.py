"""NKI kernels on golden: the vendor's names, each instruction computed bit for bit, with errors, cycles and standing.

::

    with nki.installed():
        import my_kernels
    run = nki.run(my_kernels.kernel, x, w)
"""

from bitpath.golden.nki.declarations.errors import NkiValidationError, NkiWarning
from bitpath.golden.nki.declarations.releases import NEWEST, RELEASES, Release
from bitpath.golden.nki.launch.kernel import HostTensor, Kernel, PerRank, Run, host_tensor, jit, release, run, simulate
from bitpath.golden.nki.launch.modules import install, installed
from bitpath.golden.nki.machine.core import Options

__all__ = [
    "NEWEST",
    "RELEASES",
    "HostTensor",
    "Kernel",
    "NkiValidationError",
    "NkiWarning",
    "Options",
    "PerRank",
    "Release",
    "Run",
    "host_tensor",
    "install",
    "installed",
    "jit",
    "release",
    "run",
    "simulate",
]
