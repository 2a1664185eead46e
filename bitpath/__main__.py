"""Entry point of the ``bitpath`` command."""

from bitpath.sim.__main__ import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
