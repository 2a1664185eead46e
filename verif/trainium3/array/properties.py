"""PSUM answers each read of the host in the next cycle."""

from functools import partial

from bitpath.rtl.trainium3.array.psum import Psum, PsumConfig, StochasticPsum
from bitpath.rtl.trainium3.array.psum_memory import PsumMemory, PsumMemoryConfig
from bitpath.verif.formal.contracts import answer_property
from bitpath.verif.formal.property import Sabotage

_PSUM = PsumConfig(cols=1, lanes=2, banks=2, bank_depth=2)
_MEMORY = PsumMemoryConfig(cols=1, bank_bytes=8, step_bits=2, num_bits=2, wait_bits=2)
_WAITS = Sabotage("trainium3/array/psum.py", "& ~chosen.valid & answer_free)", "& ~chosen.valid)")

PROPERTIES = (
    answer_property("trainium3.psum", partial(Psum, _PSUM), "host", "data", _WAITS),
    answer_property("trainium3.stochastic_psum", partial(StochasticPsum, _PSUM), "host", "data", _WAITS),
    *(
        answer_property(
            "trainium3.psum_memory",
            partial(PsumMemory, _MEMORY),
            f"access__{engine}",
            f"data__{engine}",
            Sabotage("trainium3/memory/sbuf.py", "self.free.eq(~self.o.valid | self.o.ready)", "self.free.eq(1)"),
            name=f"psum_memory_{engine}",
        )
        for engine in range(_MEMORY.engines)
    ),
)
