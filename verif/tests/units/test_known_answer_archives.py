"""Known-answer tests take any archive of the layout: fewer rows, more rows, rows in another order, arrays that are absent."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from bitpath.verif.kit.known_answers import Archive, skip_absent

# Copies of a folder of known answers with other rows: fewer, twice as many, in reverse order.
#
# A test that takes its counts from the archive passes on each of them, or skips where a row that it needs is absent.


ROWS = {
    "aie_mx_blocks": (r"()",),
    "aie_silicon": (r"(?:f32|bf16)()", r"mac()"),
    "aie_tile_agu": (r"(agu|bank)",),
    "aie_tile_convert": (r"(mx\d|fix|float)_",),
    "aie_tile_int4": (r"(int.*)_(?:a_bytes|b_bytes|signed|acc|out)",),
    "aie_tile_mac_shapes": (r"(.*)_(?:a|b|acc|out|signed|mask)$",),
    "aie_tile_scalar": (r"()(?!op_names|nlf|div)", r"(divs|divide|nlf)"),
    "aie_tile_shuffle": (r"()",),
    "silicon_xdna2_convert": (r"()",),
    "tensix_bh_control": (r"(wh_r|wh_a|bh_r|bh_a|z|m|i|s|f|st_wh|st_bh)_",),
    "tensix_bh_elw": (r"()(?!.*_names)",),
    "tensix_bh_mvmul": (r"()(?!.*_names)",),
    "tensix_bh_pack_unpack": (r"(p|u|d|t)_",),
    "tensix_bh_program": (r"(meta)",),
    "tensix_elw": (r"()(?!.*_names)",),
    "tensix_mvmul": (r"()(?!.*_names)",),
    "tensix_pack_unpack": (r"(p|u)_",),
    "trn_core_act": (r"(meta)",),
    "trn_core_dma": (r"(duration)",),
    "trn_core_fp32": (r"(meta)",),
    "trn_core_gather": (r"(meta)",),
    "trn_core_rmw": (r"(raw_bf16|raw_fp32)",),
    "trn_core_sparse": (r"(meta)",),
    "trn_core_transpose": (r"(te_meta)",),
    "trn_matmul_mx": (r"(meta)",),
    "trn_quantize_mx": (r"(meta)",),
    "trn_rmsnorm_quant": (r"(meta)",),
    "trn_xorwow": (r"()",),
}
"""Patterns of the names of an archive's arrays whose first axes are rows; those of one group have the same rows."""
TILES = {"mac_a": 32, "mac_b": 32, "mac_out": 16}
"""Elements of a row in arrays that hold rows one after the other."""
NUMBERED = {"trn_core_act": "a"}
"""Prefixes of arrays that belong to the rows by their number: ``a0_`` to row 0."""
FEW = 3
CHANGES: dict[str, Callable[[list], list]] = {
    "few": lambda rows: rows[:FEW],
    "reversed": lambda rows: rows[::-1],
    "twice": lambda rows: rows + rows,
}
"""Other rows of an archive, from the list of its row numbers."""


def groups(archive: str, names: list[str]) -> Iterator[list[str]]:
    """Yield the names of arrays that have the same rows."""
    for pattern in ROWS.get(archive, ()):
        found = sorted((match[1], name) for name in names if (match := re.match(pattern, name)))
        for _, each in groupby(found, key=lambda pair: pair[0]):
            yield [name for _, name in each]


def copy_with(change: str, source: Path, target: Path) -> None:
    """Write a copy of all archives and JSON files of a folder, with other rows."""
    take = CHANGES[change]
    for file in sorted(source.glob("*.npz")):
        with np.load(file) as archive:
            arrays = dict(archive)
        for names in groups(file.stem, list(arrays)):
            tiles = {name: TILES.get(name, 1) for name in names}
            count = {len(arrays[name]) // size for name, size in tiles.items()}
            if len(count) != 1:
                raise ValueError(f"{file.name}: the arrays {', '.join(names)} must have the same number of rows")
            rows = np.array(take(list(range(count.pop()))), int)
            for name, size in tiles.items():
                array = arrays[name]
                arrays[name] = array.reshape(-1, size, *array.shape[1:])[rows].reshape(-1, *array.shape[1:])
            if file.stem in NUMBERED:
                arrays = _renumbered(arrays, NUMBERED[file.stem], rows.tolist())
        np.savez(target / file.name, **arrays)
    for file in sorted(source.glob("*.json")):
        content = json.loads(file.read_text())
        for name in ("rows", "probes"):
            if name in content:
                content[name] = take(content[name]) if change != "twice" else content[name]
        (target / file.name).write_text(json.dumps(content))


def _renumbered(arrays: dict[str, np.ndarray], prefix: str, rows: list[int]) -> dict[str, np.ndarray]:
    """Return the arrays with those of the chosen rows under the numbers of their new places."""
    own = {name: match for name in arrays if (match := re.fullmatch(rf"{prefix}(\d+)_(.*)", name))}
    moved = {
        f"{prefix}{place}_{match[2]}": arrays[name]
        for name, match in own.items()
        for place, row in enumerate(rows)
        if row == int(match[1])
    }
    return {name: array for name, array in arrays.items() if name not in own} | moved


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
