"""PSUM answers each read of the host in the next cycle."""

from functools import partial

from bitpath.rtl.trainium3.array.config import PsumConfig
from bitpath.rtl.trainium3.array.psum import Psum
from bitpath.rtl.trainium3.array.stochastic_psum import StochasticPsum
from bitpath.verif.formal.contracts import answer_property
from bitpath.verif.formal.property import Sabotage

_PSUM = PsumConfig(cols=1, lanes=2, banks=2, bank_depth=2)
_WAITS = Sabotage("trainium3/array/psum.py", "& ~chosen.valid & answer_free)", "& ~chosen.valid)")

PROPERTIES = (
    answer_property("trainium3.psum", partial(Psum, _PSUM), "host", "data", _WAITS),
    answer_property("trainium3.stochastic_psum", partial(StochasticPsum, _PSUM), "host", "data", _WAITS),
)
