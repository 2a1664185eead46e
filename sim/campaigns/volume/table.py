"""All that is compared in volume."""

from bitpath.sim.campaigns.volume import aie_sweeps, tensix_sweeps, trainium3_sweeps
from bitpath.sim.campaigns.volume.e2m1_dots import E2m1Dots
from bitpath.sim.campaigns.volume.task import Task
from bitpath.sim.campaigns.volume.volume import VOLUMES

AnyTask = Task | E2m1Dots
SWEEPS = (*trainium3_sweeps.SWEEPS, *tensix_sweeps.SWEEPS, *aie_sweeps.SWEEPS, E2m1Dots())
TASKS: dict[str, AnyTask] = {task.name: task for task in (*VOLUMES, *SWEEPS)}
"""By name, in the order in which they run."""


def chosen(names: tuple[str, ...]) -> list[AnyTask]:
    """Tasks of these names, or whose names begin so where none has just that; all when none is named.

    Raises
    ------
    ValueError : a name that none has.
    """
    for name in names:
        if not any(each.startswith(name) for each in TASKS):
            raise ValueError(f"unknown task {name!r}, known are {', '.join(TASKS)}")
    beginnings = tuple(name for name in names if name not in TASKS)
    return [task for each, task in TASKS.items() if not names or each in names or each.startswith(beginnings)]
