"""Casts of all pairs of dtypes against known answers, on arrays and on scalars."""

from itertools import product

import numpy as np

from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.exact import cast as exact_cast
from bitpath.verif.trainium3.dma.words import cast_words


def test_casts_are_the_known_answers(kat):
    archive = kat("trn_core_rmw.npz")
    names = archive["cast_names"].tolist()
    assert sorted(names) == sorted(FORMATS)
    compared = 0
    for source, destination in product(names, repeat=2):
        codes, expected = archive[f"cast_{source}"], archive[f"cast_{source}_{destination}"]
        assert codes.shape == expected.shape
        assert np.array_equal(cast_words(codes, source, destination), expected), (source, destination)
        assert [exact_cast(code, source, destination) for code in codes.tolist()] == expected.tolist()
        compared += expected.size
    assert compared == sum(archive[f"cast_{name}"].size for name in names) * len(names) > 0
