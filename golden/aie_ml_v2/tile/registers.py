"""The registers by their names, which share bits as :mod:`bitpath.golden.aie_ml_v2.declarations.registers` declares them."""

from typing import cast

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.registers import REGISTERS, STORAGE_BITS, Names
from bitpath.golden.arrays.arguments import check_array, check_choice, check_shape, checked, integer


class Registers:
    """Values of all registers, 0 at first. A write to a part of a register changes exactly that part of every name."""

    def __init__(self) -> None:
        self._bits = {storage: np.zeros(bits, np.uint8) for storage, bits in STORAGE_BITS.items()}

    @checked
    def read(self, name: str) -> np.ndarray | int:
        """Return an integer for a scalar register, else uint8 [width / 8], the lowest byte first.

        Raises
        ------
        TypeError, ValueError : no register's name, for example "bmhl3".
        """
        kind, parts = self._parts(name)
        packed = np.packbits(np.concatenate(parts), bitorder="little")
        return int.from_bytes(packed.tobytes(), "little") if kind.scalar else packed

    @checked
    def write(self, name: str, value: np.ndarray | int) -> None:
        """Write an integer of the register's bits, or uint8 [width / 8].

        Raises
        ------
        TypeError, ValueError : no register's name; another dtype or shape, or an integer that does not fit.
        """
        kind, parts = self._parts(name)
        width = sum(map(len, parts))
        if kind.scalar:
            number = integer("value", cast(int, value), range(1 << width), why=f" in {name}")
            data = np.frombuffer(number.to_bytes(-(-width // 8), "little"), np.uint8)
        else:
            data = cast(np.ndarray, value)
            check_array("value", data, np.uint8)
            check_shape("value", data, width // 8, why=f" for {name}")
        bits = np.unpackbits(data, bitorder="little")
        for part in parts:
            part[:], bits = bits[: len(part)], bits[len(part) :]

    @checked
    def move(self, to: str, source: str) -> None:
        """Copy a scalar register: zeros above the source's bits, and only the low bits of a wider one.

        Raises
        ------
        TypeError, ValueError : no name of a scalar register.
        """
        for argument, name in (("to", to), ("source", source)):
            if not self._parts(name)[0].scalar:
                raise ValueError(f"{argument} must name a scalar register, not {name}")
        width = sum(map(len, self._parts(to)[1]))
        self.write(to, cast(int, self.read(source)) & (1 << width) - 1)

    def _parts(self, name: str) -> tuple[Names, list[np.ndarray]]:
        """Return a register's kind and views of its bits, the lowest part first."""
        check_choice("name", name, REGISTERS)
        kind, number = REGISTERS[name]
        starts = [span.first + number * span.step for span in kind.spans]
        views = [
            self._bits[span.storage][start : start + span.width] for span, start in zip(kind.spans, starts, strict=True)
        ]
        return kind, views
