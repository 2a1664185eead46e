"""Functions of a C header: their array forms, and their imports in SystemVerilog.

A parameter is a number, an array of a declared size, or a pointer to an array of any size. Functions without pointers get
an array form ``NAME_n``, which computes ``count`` results, and a DPI import, for DPI passes arrays of any size only with a
header of the simulator's.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

DPI_TYPES = {
    "void": "void",
    "int": "int",
    "int8_t": "byte",
    "uint8_t": "byte unsigned",
    "uint16_t": "shortint unsigned",
    "int32_t": "int",
    "uint32_t": "int unsigned",
    "int64_t": "longint",
}
"""SystemVerilog types of the C types. Ref: IEEE 1800-2017, table H.1."""
_FUNCTION = re.compile(r"^(\w+) (bitpath_\w+)\((.*?)\);", re.MULTILINE | re.DOTALL)
_PARAMETER = re.compile(r"(const )?(\w+) (\*?)(\w+)(?:\[(\d+)\])?")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter of a C function.

    Attributes
    ----------
    name, ctype : its name and the type of its numbers.
    constant : True if the function does not write to it.
    pointer : True for an array of any size.
    size : numbers of an array of a declared size, else 0.
    """

    name: str
    ctype: str
    constant: bool
    pointer: bool
    size: int


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function of a C header."""

    name: str
    result: str
    parameters: tuple[Parameter, ...]

    @property
    def has_pointers(self) -> bool:
        return any(each.pointer for each in self.parameters)


def functions(header: str) -> list[Function]:
    """Return the functions that a header declares, in order."""
    return [
        Function(name=name, result=result, parameters=tuple(_parameter(each) for each in parameters.split(",")))
        for result, name, parameters in _FUNCTION.findall(header)
    ]


def _parameter(text: str) -> Parameter:
    constant, ctype, pointer, name, size = _PARAMETER.fullmatch(" ".join(text.split())).groups()
    # A number is passed by value.
    constant = bool(constant) or not (pointer or size)
    return Parameter(name=name, ctype=ctype, constant=constant, pointer=bool(pointer), size=int(size or 0))


def array_form(function: Function) -> tuple[str, str]:
    """Return the declaration of a function's array form, and its definition."""
    arguments = [f"{'const ' * each.constant}{each.ctype} *{each.name}" for each in function.parameters]
    places = [f"{each.name} + {each.size} * i" if each.size else f"{each.name}[i]" for each in function.parameters]
    call = f"{function.name}({', '.join(places)});"
    if function.result != "void":
        arguments.append(f"{function.result} *result")
        call = f"result[i] = {call}"
    head = f"void {function.name}_n(size_t count, {', '.join(arguments)})"
    return f"{head};", f"{head}\n{{\n    size_t i;\n    for (i = 0; i < count; ++i)\n        {call}\n}}"


def dpi_package(name: str, header: Sequence[Function], constants: dict[str, int]) -> str:
    """Return a SystemVerilog package with a header's names and the imports of its functions."""
    lines = [f"package {name};"]
    lines += [f"  localparam int {constant} = {value};" for constant, value in constants.items()]
    for function in header:
        if function.has_pointers:
            continue
        arguments = ",\n    ".join(
            f"{'input' if each.constant else 'inout'} {DPI_TYPES[each.ctype]} {each.name}"
            + (f"[{each.size}]" if each.size else "")
            for each in function.parameters
        )
        lines.append(f'  import "DPI-C" function {DPI_TYPES[function.result]} {function.name}(\n    {arguments});')
    return "\n".join([*lines, "endpackage", ""])
