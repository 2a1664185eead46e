"""Bins of a schedule's operations: slots, and how they address memory."""

from collections.abc import Iterator, Sequence

from bitpath.golden.aie_ml_v2.declarations.tile import AguForm
from bitpath.golden.aie_ml_v2.tile.tile import Bundle
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig

COUNTED = (AguForm.TWO_D, AguForm.THREE_D)
"""Forms without an immediate."""


def tile_events(config: AieTileConfig) -> list[str]:
    """Return the bins of a random schedule."""
    pushes = ("Push", "Flush") if config.multiply.mx9 else ()
    slots = [f"{slot} {kind}" for slot in ("lda", "ldb") for kind in ("Load", "Fill", "Pop", "PointerAdd")]
    slots += [f"st {kind}" for kind in ("StoreSrs", "PointerAdd", *pushes)]
    slots += ["vec Mac", *(["mv Shuffle"] if config.multiply.mx9 else [])]
    forms = [
        f"{place} {form.value}{end}"
        for place in ("lda", "ldb", "st", "jump")
        for form in AguForm
        for end in ("", " immediate")
        # A jump moves its pointer.
        if not (place == "jump" and form is AguForm.INDEXED) and not (end and form in COUNTED)
    ]
    return slots + forms


def events_of(bundles: Sequence[Bundle]) -> Iterator[str]:
    """Yield the bins of a schedule's operations."""
    for slot, operation in ((slot, each) for bundle in bundles for slot, each in bundle.operations.items()):
        kind = type(operation).__name__
        yield f"{slot} {kind}"
        address = getattr(operation, "jump" if kind == "Pop" else "address", None)
        if address is not None:
            place = "jump" if kind == "Pop" else slot
            yield f"{place} {address.form.value}" + (" immediate" if address.register is None else "")
