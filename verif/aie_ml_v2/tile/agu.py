"""Requests for address generation with golden's results."""

from random import Random

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.rtl.aie_ml_v2.tile.agu import AguMode, agu_request, agu_result
from bitpath.rtl.aie_ml_v2.tile.config import AguConfig
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import Request

FIELDS = ("m", "dn", "dj", "dc", "dn2", "dj2", "dc2")
FORMS = {AguMode.POST_MODIFY: "post_modify", AguMode.TWO_D: "2d", AguMode.THREE_D: "3d", AguMode.INDEXED: "indexed"}


def requests(config: AguConfig, mode: AguMode, pointers: np.ndarray, fields: np.ndarray) -> list[Request]:
    """Return requests of pointers [n] and modifiers [7, n], and what golden makes of them."""
    address, p, dims = aie.agu_step(pointers, aie.Dimensions(*fields), form=FORMS[mode])
    dc, dc2 = (np.broadcast_to(each, p.shape) for each in (dims.dc, dims.dc2))
    rows = zip(pointers.tolist(), fields.T.tolist(), strict=True)
    results = zip(address.tolist(), p.tolist(), dc.tolist(), dc2.tolist(), strict=True)
    return [
        Request(
            pack(agu_request(config), {"mode": mode.value, "p": pointer} | dict(zip(FIELDS, row, strict=True))),
            pack(agu_result(config), dict(zip(("address", "p", "dc", "dc2"), result, strict=True))),
            f"{FORMS[mode]}, p {pointer:#x}, "
            + ", ".join(f"{name} {each:#x}" for name, each in zip(FIELDS, row, strict=True)),
        )
        for (pointer, row), result in zip(rows, results, strict=True)
    ]


def random_codes(config: AguConfig, rng: Random, count: int) -> np.ndarray:
    """Return codes of all sizes, the smallest and the largest often."""
    top = (1 << config.address_bits) - 1
    draws = (
        lambda: rng.randint(0, top),
        lambda: rng.randint(0, 3),
        lambda: top - rng.randint(0, 3),
        lambda: rng.getrandbits(rng.randint(1, config.address_bits)),
    )
    return np.array([rng.choice(draws)() for _ in range(count)])


def branch(mode: AguMode, fields: np.ndarray) -> str:
    """Return which step a modifier [7] takes."""
    _, dn, _, dc, dn2, _, dc2 = fields.tolist()
    if mode in (AguMode.POST_MODIFY, AguMode.INDEXED):
        return "plain"
    if dc < dn:
        return "inner"
    preset = "preset " if dc > dn else ""
    return preset + ("outer" if mode is AguMode.THREE_D and dc2 < dn2 else "wrap")
