"""Tasks of the volume comparison."""

from bitpath.verif.aie_ml_v2.convert import sweeps as aie_ml_v2_convert
from bitpath.verif.aie_ml_v2.mac import volume as mac
from bitpath.verif.common.fp32 import functions as fp32
from bitpath.verif.kit.volume import VolumeTask
from bitpath.verif.tensix.dot import volume as tensix_dot
from bitpath.verif.tensix.pack import pack
from bitpath.verif.tensix.unpack import unpack
from bitpath.verif.trainium3.dot import volume as trainium3_dot
from bitpath.verif.trainium3.golden.e2m1_dots import E2m1Dots

AnyTask = VolumeTask | E2m1Dots
VOLUMES = (*trainium3_dot.VOLUMES, *tensix_dot.VOLUMES, *mac.VOLUMES)
SWEEP_MODULES = (trainium3_dot, fp32, tensix_dot, unpack, pack, aie_ml_v2_convert)
SWEEPS = (*(sweep for module in SWEEP_MODULES for sweep in module.SWEEPS), E2m1Dots())
TASKS: dict[str, AnyTask] = {task.name: task for task in (*VOLUMES, *SWEEPS)}
"""Tasks by name, in the order in which they run."""


def chosen(names: tuple[str, ...]) -> list[AnyTask]:
    """Return the tasks of these names, or with these prefixes if no name matches exactly; all without names.

    Raises ValueError if a name matches no task.
    """
    for name in names:
        if not any(each.startswith(name) for each in TASKS):
            raise ValueError(f"unknown task {name!r}, known are {', '.join(TASKS)}")
    beginnings = tuple(name for name in names if name not in TASKS)
    return [task for each, task in TASKS.items() if not names or each in names or each.startswith(beginnings)]
