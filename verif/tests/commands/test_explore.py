"""Explorer: Pareto fronts, errors of known numerics, and a resumed sweep."""

import pytest

from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.options import MACHINES
from bitpath.sim.study import explore
from bitpath.sim.study.explore import draw, error_of, pareto, sweep

SHAPE = "4x128x4"


@pytest.mark.parametrize(
    ("costs", "on"),
    [
        ([], []),
        ([(1, 1)], [True]),
        ([(1, 2), (2, 1), (2, 2)], [True, True, False]),
        ([(1, 1), (1, 1)], [True, True]),
        ([(1, 2), (1, 1)], [False, True]),
        ([(2, 1), (1, 1)], [False, True]),
        ([(3, 1), (2, 2), (1, 3), (2.5, 2)], [True, True, True, False]),
    ],
)
def test_the_front_has_only_undominated_points(costs, on):
    assert pareto(costs) == on


@pytest.mark.parametrize("machine", MACHINES)
def test_a_sweep_has_the_machines_own_points_and_no_point_twice(machine):
    points = sweep(machine)
    assert len({point.digest for point in points}) == len(points)
    assert any(point.own for point in points)
    assert not all(point.own for point in points)
    assert all(point.machine == machine == point.design.machine for point in points)


def test_fewer_bits_are_a_larger_error():
    points = {point.label: point for point in sweep("trainium3")}
    labels = ("exact", "24 bits RTZ", "16 bits RTZ", "8 bits RTZ")
    errors = [error_of(points[label], "layer", SHAPE) for label in labels]
    assert errors[0] < 1e-6
    assert errors == sorted(errors)
    assert errors[3] > 1e-3


def test_a_sweep_that_stopped_goes_on_where_it_was(in_process, tmp_path, monkeypatch, elsewhere):
    points = sweep("trainium3")[:2]
    # Log to a file: Dask copies functions and their closures.
    log = tmp_path / "asked"

    def failing(point, data, shape):
        with log.open("a") as file:
            file.write(f"{point.label}\n")
        if len(log.read_text().splitlines()) == 2:
            raise RuntimeError("stopped")
        return error_of(point, data, shape)

    def asked():
        return log.read_text().splitlines()

    monkeypatch.setattr(explore, "error_of", failing)
    with pytest.raises(
        SimulationError, match=r"1 of 2 results could not be worked out:\nexact, TF32 accumulator, layer: stopped"
    ):
        explore.explore(points, ["layer"], shape=SHAPE)
    assert len(explore.results_file().read_text().splitlines()) == 1
    # A partial line, as left by a sweep killed while writing.
    with explore.results_file().open("a") as file:
        file.write('{"key": "half')
    seen = []
    records = explore.explore(points, ["layer"], shape=SHAPE, progress=lambda *each: seen.append(each))
    assert seen[0] == (1, 2)
    assert seen[-1] == (2, 2)
    assert len(asked()) == 3
    assert [record["digest"] for record in records] == [point.digest for point in points]
    assert list(records[0]) == ["machine", "config", "digest", "area_ge", "error", "error_metric", "data", "pareto"]
    assert records[0]["error"] == error_of(points[0], "layer", SHAPE)
    # The third run has nothing to do, although the partial line is still there.
    assert explore.explore(points, ["layer"], shape=SHAPE) == records
    assert len(asked()) == 3


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")
def test_the_page_needs_nothing_from_outside(tmp_path):
    points = sweep("trainium3")[:3]
    records = [
        {
            "machine": "trainium3",
            "config": point.config,
            "digest": point.digest,
            "area_ge": 100.0 - index,
            "error": 10.0 ** (index - 5),
            "error_metric": "metric",
            "data": "layer",
            "pareto": True,
        }
        for index, point in enumerate(points)
    ]
    draw(points, records, "a flow", tmp_path / "x.png", tmp_path / "x.html")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "x.html").read_text()
    assert not [each for each in ("<script", "src=", "<link") if each in page]
    assert page.count("<title>exact: 100.0 GE, error 1e-05</title>") == 1
