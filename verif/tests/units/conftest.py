"""Emission of designs that are not the project's units."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from bitpath.rtl.common.config import digest
from bitpath.rtl.emit import verilog_text
from bitpath.sim.engine.build import Emitter, rtl_emitter


@pytest.fixture
def emitter_of(request):
    """Return a function that makes an emitter of the components that ``build(unit, config)`` returns."""

    def of(build):
        def emit(unit, config, out):
            top = f"{unit}_{digest(unit, config)}"
            text, no_inline = verilog_text(build(unit, config), top)
            file = out / f"{top}.v"
            file.write_text(text)
            return SimpleNamespace(top=top, files=(file,), no_inline=no_inline)

        return Emitter(emit, (request.path, Path(__file__), *rtl_emitter().sources))

    return of
