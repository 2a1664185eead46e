"""Programs of a RISC-V core: bytes at addresses and an entry, as an ELF file has them."""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.arrays.files import DAMAGED, PROGRAM_BYTES, FileError, read_bytes

INIT, DATA = ".loader_init", ".ldm_data"
"""Sections of LLK's linker scripts: the startup code copies from L1, where the loader puts the data, to local memory."""

KIND = ("EM_RISCV", "ET_EXEC", "32 bits", "little-endian")
"""Machine, type, class and byte order of an ELF file that runs."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program of a hart.

    Attributes
    ----------
    entry : address of the first instruction.
    segments : addresses, and bytes that are written there.
    """

    entry: int
    segments: tuple[tuple[int, bytes], ...]


@checked
def read_elf(file: Path | str) -> Program:
    """Return the program of an ELF file: RV32, little-endian, linked.

    Loadable segments go to their physical addresses, filled with zeros to their size in memory. If the file has a section
    ``.loader_init``, the bytes of ``.ldm_data`` go there too.

    Raises
    ------
    FileError : no such file, or no linked ELF of RISC-V with 32 bits.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    content = BytesIO(read_bytes(Path(file)))
    try:
        elf = ELFFile(content)
        order = "little-endian" if elf.little_endian else "big-endian"
        kind = elf["e_machine"], elf["e_type"], f"{elf.elfclass} bits", order
        loaded = [each for each in elf.iter_segments("PT_LOAD") if each["p_memsz"]]
        most = max((each["p_memsz"] for each in loaded), default=0)
        sections = [elf.get_section_by_name(name) for name in (INIT, DATA)]
        parts = [(each["p_paddr"], each["p_memsz"], each.data()) for each in loaded]
        if all(sections):
            parts.append((sections[0]["sh_addr"], 0, sections[1].data()))
    except (ELFError, AssertionError, *DAMAGED) as error:
        raise FileError(f"{file} must be an ELF file: {error or 'it is damaged'}") from None
    if kind != KIND:
        raise FileError(f"{file} must be a linked ELF of RISC-V, {', '.join(KIND)}, not {', '.join(map(str, kind))}")
    if not parts or most > PROGRAM_BYTES:
        raise FileError(f"{file} must have segments of 1 to {PROGRAM_BYTES} bytes, not {most}")
    return Program(
        entry=elf["e_entry"], segments=tuple((address, data.ljust(size, b"\0")) for address, size, data in parts)
    )
