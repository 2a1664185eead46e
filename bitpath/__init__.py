"""Bit-exact models of AI matrix engines: ``bitpath.golden`` in numpy, ``bitpath.rtl`` in Amaranth.

``import bitpath`` loads no other package; each name of this module is loaded at its first use.
"""


def __getattr__(name: str) -> str:
    """Return ``__version__``, the version of the installed distribution."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version("bitpath")
