"""A named function of the kernel library's Vector unit: its modes, and its words for one tile of Dst.

A tile is four faces of 16 x 16; an iteration works on 32 datums, every second column of four rows::

    setup   conditional execution on, constants and tables in LRegs
    face    8 times: the body, INCRWC by 2 rows; then SETRWC to the next face
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from struct import pack, unpack
from typing import Any

from bitpath.golden.arrays.arguments import check_choice, checked, shown
from bitpath.golden.tensix.declarations.formats import Chip, Format
from bitpath.golden.tensix.isa.words import word_of
from bitpath.golden.tensix.sfpu.kernel import PROGRAMMABLE, Float, Kernel, fp32_code

FACES, ITERATIONS = 4, 8
"""Faces of a tile, and iterations of a face."""
TILE_ROWS = 64
"""Dst rows of a tile, by which the operands of a binary function lie apart."""
P0, P1, P2 = 12, 13, 14
"""Registers of the programmable constants."""


@checked
@dataclass(frozen=True, kw_only=True)
class Mode:
    """How a kernel is compiled.

    Attributes
    ----------
    chip : "wormhole" or "blackhole".
    approximate : True for the approximate form, of functions that have one.
    fast : True for the fast form of the approximate one, of functions that have one.
    dst32 : True if Dst has 32 bits; results are not rounded to BF16 then.
    """

    chip: Chip | str = Chip.WORMHOLE
    approximate: bool = False
    fast: bool = False
    dst32: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "chip", Chip(self.chip))

    @property
    def blackhole(self) -> bool:
        return self.chip is Chip.BLACKHOLE


def numbers_by_name(parameters: Any) -> dict[str, float]:
    """Return a mapping, or pairs, as a dictionary.

    Raises
    ------
    TypeError : neither, or values that are no numbers.
    """
    if isinstance(parameters, tuple | list) and all(
        isinstance(each, tuple | list) and len(each) == 2 for each in parameters
    ):
        parameters = dict(parameters)
    if not isinstance(parameters, Mapping) or not all(isinstance(each, int | float) for each in parameters.values()):
        raise TypeError(f"parameters must be numbers by name, not {shown(parameters)}")
    return dict(parameters)


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function as published kernels compute it.

    Attributes
    ----------
    body : adds one iteration to a kernel; parameters by keyword.
    setup : codes of registers by number, LReg 0 to 7 for tables and 11 to 14 for constants.
    operands : tiles that it reads, each 64 rows of Dst after the one before.
    parameters : defaults by name.
    forms : the names among "approximate", "fast" that change it.
    dst32 : True or False if its loads and stores need a Dst of 32 or of 16 bits, None if they take both.
    result : format of Dst's words afterwards, None if it does not change.
    reads_uint16, writes_uint16 : True if the operands, or the result, are 16-bit integers in the register's order.
    writes_fp16 : True if the result is FP16.
    results : numbers of the tiles that hold results; they may lie behind the operands'.
    indices : numbers of the operands that are integers: of 32 bits in a 32-bit Dst, else of 16 bits in the register's order.
    once : True if the body is not an iteration but works on the whole tile.
    draws : True if it draws random numbers.
    carries : True if registers carry to the next tile; the parameter `first` is 0 for all tiles but the first.
    source : where it is published.
    """

    name: str
    body: Callable[..., None]
    setup: Callable[..., Mapping[int, int]] = lambda mode, **parameters: {}
    operands: int = 1
    parameters: Mapping[str, Any] = field(default_factory=dict)
    forms: tuple[str, ...] = ()
    dst32: bool | None = None
    result: Format | None = None
    reads_uint16: bool = False
    writes_uint16: bool = False
    writes_fp16: bool = False
    results: tuple[int, ...] = (0,)
    indices: tuple[int, ...] = ()
    once: bool = False
    draws: bool = False
    carries: bool = False
    source: str = "tt-llk 36b092e"

    @property
    def tiles(self) -> int:
        """Tiles of Dst that it reads or writes."""
        return max(self.operands, max(self.results) + 1)

    def checked_parameters(self, mode: Mode, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters with their defaults.

        Raises
        ------
        ValueError : a form that the function has not, an unknown parameter.
        """
        for name in ("approximate", "fast"):
            if getattr(mode, name) and name not in self.forms:
                raise ValueError(f"{name} must be False with {self.name}, not True")
        if mode.fast and not mode.approximate:
            raise ValueError(f"fast must be False without approximate, not True with {self.name}")
        if self.dst32 not in (None, mode.dst32):
            raise ValueError(f"dst32 must be {self.dst32} with {self.name}, not {mode.dst32}")
        for name in parameters:
            if not self.parameters:
                raise ValueError(f"parameters must be left out with {self.name}, not {name}")
            check_choice(f"a parameter of {self.name}", name, self.parameters)
        return {**self.parameters, **parameters}

    def body_words(self, mode: Mode, **parameters: Any) -> list[int]:
        """Return the words of one iteration."""
        given = self.checked_parameters(mode, parameters)
        tables = [each for each in self.setup(mode, **given) if each not in PROGRAMMABLE]
        kernel = Kernel(mode.chip, reserved=tables)
        self.body(kernel, mode, **given)
        return kernel.words()

    def setup_words(self, mode: Mode, **parameters: Any) -> list[int]:
        """Return the words before the first iteration."""
        given = self.checked_parameters(mode, parameters)
        chip = Chip(mode.chip)
        words = [
            word_of("SFPENCC", {"imm": 3, "mod": 10}, chip),
            word_of("SFPCONFIG", {"vd": 15, "mod": 1}, chip),
            word_of("SFPCONFIG", {"vd": 11, "mod": 1}, chip),
        ]
        for register, code in sorted(self.setup(mode, **given).items(), reverse=True):
            loaded = 0 if register in PROGRAMMABLE else register
            for mod, half in ((10, code & 0xFFFF), (8, code >> 16)):
                words.append(word_of("SFPLOADI", {"vd": loaded, "mod": mod, "imm": half}, chip))
            if register in PROGRAMMABLE:
                words.append(word_of("SFPCONFIG", {"vd": register}, chip))
        return words

    def words(self, mode: Mode, **parameters: Any) -> list[int]:
        """Return the words that apply the function to the tile at Dst's RWC, with the result in its place.

        The RWC of Dst's rows is 64 further afterwards, unless the function works on the whole tile at once.
        """
        chip = Chip(mode.chip)
        if self.once:
            return self.setup_words(mode, **parameters) + self.body_words(mode, **parameters)
        step = [*self.body_words(mode, **parameters), word_of("INCRWC", {"dst": 2}, chip)]
        next_face = [word_of("SETRWC", {"cr": 4, "dst": 8, "which": 4}, chip)] * 2
        return self.setup_words(mode, **parameters) + (step * ITERATIONS + next_face) * FACES


def unary(compute: Callable[..., Float]) -> Callable[..., None]:
    """Return the body that loads lanes, computes, and stores."""

    def body(kernel: Kernel, mode: Mode, **parameters: Any) -> None:
        kernel.store(compute(kernel, mode, kernel.load(), **parameters))

    return body


def binary(compute: Callable[..., Float]) -> Callable[..., None]:
    """Return the body that loads lanes of two tiles, computes, and stores over the first."""

    def body(kernel: Kernel, mode: Mode, **parameters: Any) -> None:
        left, right = kernel.load(), kernel.load(TILE_ROWS)
        kernel.store(compute(kernel, mode, left, right, **parameters))

    return body


def horner(x: Float, *coefficients: Float | float) -> Float:
    """Return the polynomial in `x` with these coefficients, that of the lowest power first."""
    result = coefficients[-1]
    for each in coefficients[-2::-1]:
        result = x * result + each
    assert isinstance(result, Float)
    return result


def bf16(value: float) -> float:
    """Return a number cut to BF16, as the interface's ``sFloat16b`` does."""
    return code_value(fp32_code(value) & 0xFFFF0000)


def code_value(code: int) -> float:
    """Return the number of an FP32 code."""
    return unpack("<f", pack("<I", code))[0]


def codes(**constants: float) -> dict[int, int]:
    """Return registers and codes of programmable constants p0, p1 and p2."""
    return {P0 + int(name[1]): fp32_code(value) for name, value in constants.items()}
