"""A release by its name, and the arguments of a call as its parameters."""

from collections.abc import Mapping, Sequence
from typing import Any

from bitpath.golden.nki.declarations.errors import invalid
from bitpath.golden.nki.declarations.releases import RELEASES, Release


def named_release(release: str | Release) -> Release:
    """Return the record of a release, or a record as it is.

    Raises ValueError for another name.
    """
    if isinstance(release, Release):
        return release
    if release not in RELEASES:
        raise ValueError(f"release must be {', '.join(RELEASES)}, not {release!r}")
    return RELEASES[release].numerics


def check_instruction(release: Release, opcode: str) -> None:
    """Raise NkiValidationError for an instruction that a release lacks."""
    if opcode in release.parameters and release.parameters[opcode] is None:
        first = next(name for name, each in RELEASES.items() if each.numerics.parameters.get(opcode, "") is not None)
        raise invalid(f"{opcode} needs release {first} or a newer one, not {release.sdk}")


def as_parameters(
    release: Release,
    opcode: str,
    newest: Sequence[str],
    more: Sequence[str],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a call's arguments by the parameters of the newest release: ``newest``, and ``more`` by keyword alone.

    Raises NkiValidationError for an instruction, a parameter or a value that the release lacks.
    """
    check_instruction(release, opcode)
    changed = release.parameters.get(opcode)
    names, keywords = (newest, more) if changed is None else (changed.split(), ())
    if len(args) > len(names):
        raise invalid(f"{opcode} takes {len(names)} arguments in release {release.sdk}, not {len(args)}")
    made: dict[str, Any] = {}
    seen: set[str] = set()
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        key = f"{opcode}.{name}"
        if name not in (*names, *keywords) and key not in release.spellings:
            raise invalid(f"{opcode} has no parameter {name} in release {release.sdk}{_owner(opcode, name)}")
        own = release.spellings.get(key, name)
        if own in seen:
            raise invalid(f"{opcode} {name}: must be given once")
        seen.add(own)
        if key in release.fixed:
            if value != release.fixed[key]:
                raise invalid(f"{opcode} {name}: must be {release.fixed[key]}, not {value!r}; use dma_compute")
        else:
            made[own] = value
    return made


def _owner(opcode: str, name: str) -> str:
    """Return the first release that has a parameter, as the end of a sentence."""
    for each in (own.numerics for own in RELEASES.values()):
        if name in (each.parameters.get(opcode) or "").split() or f"{opcode}.{name}" in each.spellings:
            return f"; {each.sdk} has it"
    return ""
