"""Known-answer tests take any archive of the layout: fewer rows, more rows, rows in another order, arrays that are absent."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bitpath.verif.common.known_answers import Archive, skip_absent
from bitpath.verif.tests.units.other_archives import CHANGES, ROWS, copy_with, groups

VERIF = Path(__file__).parents[2]


def test_an_absent_array_skips_and_an_empty_archive_is_refused():
    archive = Archive("x.npz", {"out": np.arange(3)})
    assert archive["out"].tolist() == [0, 1, 2]
    with pytest.raises(
        pytest.skip.Exception, match=r"x\.npz has no array style, whose known answers this test compares"
    ):
        assert archive["style"]
    with pytest.raises(pytest.skip.Exception, match=r"x\.npz has no known answers of GAPOOL, GMPOOL"):
        skip_absent("x.npz", {"ELWADD": 3, "GAPOOL": 0, "GMPOOL": 0})
    skip_absent("x.npz", {"ELWADD": 3})
    for arrays, sentence in (({}, "not nothing without"), ({"out": np.zeros((0, 4))}, "not out without elements")):
        with pytest.raises(ValueError, match=rf"x\.npz must hold known answers, {sentence}"):
            Archive("x.npz", arrays)


@pytest.mark.parametrize("change", CHANGES)
def test_copies_have_other_rows(change, tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    np.savez(source / "trn_core_act.npz", meta=np.arange(5), **{f"a{row}_out": [row] for row in range(5)})
    np.savez(source / "aie_silicon.npz", f32_bits=np.arange(6), mac_a=np.arange(64), mac_out=np.arange(32))
    (source / "chain.json").write_text('{"probes": [1, 2, 3, 4]}')
    copy_with(change, source, target)
    rows = {"few": [0, 1, 2], "reversed": [4, 3, 2, 1, 0], "twice": [0, 1, 2, 3, 4] * 2}[change]
    with np.load(target / "trn_core_act.npz") as copy:
        assert copy["meta"].tolist() == rows
        assert [copy[f"a{place}_out"].item() for place in range(len(rows))] == rows
        assert len(copy.files) == len(rows) + 1
    with np.load(target / "aie_silicon.npz") as copy:
        tiles = {"few": [0, 1], "reversed": [1, 0], "twice": [0, 1, 0, 1]}[change]
        assert copy["mac_out"].reshape(-1, 16)[:, 0].tolist() == [16 * tile for tile in tiles]
        assert copy["mac_a"].reshape(-1, 32)[:, 0].tolist() == [32 * tile for tile in tiles]


def test_every_archive_with_rows_is_changed(kat):
    """Each pattern finds arrays, and each group has the same rows."""
    for name in ROWS:
        arrays = kat(f"{name}.npz")
        assert [each for each in groups(name, list(arrays)) if each], name


@pytest.mark.deep
@pytest.mark.parametrize("change", CHANGES)
def test_golden_against_other_archives(kat_folder, change, tmp_path):
    """Every known-answer test of golden and of the ledger passes, or skips with a sentence, on each copy."""
    copy_with(change, kat_folder, tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "known_answers and not deep and not simulator", str(VERIF)]
    variables = os.environ | {"BITPATH_KAT_DIR": str(tmp_path)}
    ran = subprocess.run(command, check=False, cwd=VERIF.parent, env=variables, capture_output=True, text=True)
    print(ran.stdout.splitlines()[-1])
    assert ran.returncode == 0, ran.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", ran.stdout)[1]) > 0
