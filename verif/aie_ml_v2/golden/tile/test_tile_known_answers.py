"""Known answers of the tile's addresses and banks, in both tiers."""

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.verif.kit.known_answers import skip_absent

AGU = "aie_tile_agu.npz"
FORMS = ("post_modify", "2d", "3d")


def test_address_streams(kat):
    archive = kat(AGU)
    kind, count = archive["agu_kind"], archive["agu_addr"].shape[1]
    for number, form in enumerate(FORMS):
        own = kind == number
        p = archive["agu_p0"][own]
        dims = aie.Dimensions(*(archive[f"agu_{name}"][own] for name in ("m", "dn", "dj", "dc", "dn2", "dj2", "dc2")))
        assert np.array_equal(aie.agu_stream(p, dims, count, form=form), archive["agu_addr"][own])
        for _ in range(count):
            _, p, dims = aie.agu_step(p, dims, form=form)
        for name, value in (("p", p), ("dc", dims.dc), ("dc2", dims.dc2)):
            assert np.array_equal(value, archive[f"agu_{name}_end"][own]), (form, name)
    skip_absent(AGU, {form: number in kind for number, form in enumerate(FORMS)})


def test_address_streams_on_integers(kat):
    archive = {name: values.tolist() for name, values in kat(AGU).items() if name.startswith("agu")}
    for case, kind in enumerate(archive["agu_kind"]):
        fields = {name.removeprefix("agu_"): values[case] for name, values in archive.items()}
        levels = [exact.Level(*(fields[f"d{part}{level}"] for part in "njc")) for level in ("", "2")]
        p, counted, others = fields["p0"], tuple(levels[:kind]), levels[kind:]
        addresses = []
        for _ in fields["addr"]:
            addresses.append(p)
            p, counted = exact.agu_step(p, fields["m"], counted)
        counters = [level.counter for level in (*counted, *others)]
        assert addresses == fields["addr"], case
        assert [p, *counters] == [fields["p_end"], fields["dc_end"], fields["dc2_end"]], case


def test_banks_and_conflicts(kat):
    archive = kat(AGU)
    cases = zip(*(archive[f"bank_{name}"].tolist() for name in ("addr", "width", "mask", "stall")), strict=True)
    seen = set()
    for addresses, widths, masks, stall in cases:
        requests = [request for request in zip(addresses, widths, strict=True) if request[1]]
        for request, mask in zip(requests, [mask for mask in masks if mask], strict=True):
            assert sum(1 << bank for bank in aie.banks(*request)) == mask
            assert sum(1 << bank for bank in exact.banks(*request)) == mask
        assert aie.conflict_cycles(requests) == exact.conflict_cycles(requests) == stall
        seen.add(stall)
    skip_absent(AGU, {f"{stalls} stall cycles": stalls in seen for stalls in range(3)})
