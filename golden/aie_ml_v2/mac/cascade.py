"""The cascade stream between two neighbours: a FIFO on either side of the link.

Ref: AM027, Register Move Functionality: 512 bits wide, two deep on both sides, so that four values are in flight.
"""

from collections import deque

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import CASCADE_BITS, CASCADE_DEPTH
from bitpath.golden.arrays.arguments import check_array, checked

CASCADE_WORDS = CASCADE_BITS // 32


class Cascade:
    """One link, cycle by cycle.

    The contents of the FIFOs at the start of a cycle decide all its transfers: a write needs a free place in the sender's
    FIFO, a move over the link needs a free place in the receiver's FIFO, and a read needs a value there.
    """

    def __init__(self) -> None:
        self._sender: deque[np.ndarray] = deque()
        self._receiver: deque[np.ndarray] = deque()

    @property
    def can_write(self) -> bool:
        """True if a write in this cycle is accepted."""
        return len(self._sender) < CASCADE_DEPTH

    @property
    def can_read(self) -> bool:
        """True if a read in this cycle returns a value."""
        return bool(self._receiver)

    @property
    def in_flight(self) -> int:
        """Number of values that both FIFOs hold."""
        return len(self._sender) + len(self._receiver)

    @checked
    def cycle(self, write: np.ndarray | None = None, *, read: bool = False) -> tuple[bool, np.ndarray | None]:
        """Advance by one clock cycle.

        Parameters
        ----------
        write : uint32 [16], an accumulator register to send; None sends nothing.
        read : True if the receiver takes a value.

        Returns
        -------
        True if `write` was taken (else the sender stalls), and the value read or None.

        Raises
        ------
        TypeError, ValueError : another dtype or shape.
        """
        if write is not None:
            check_array("write", write, np.uint32)
            if write.shape != (CASCADE_WORDS,):
                raise ValueError(f"write must have shape ({CASCADE_WORDS},), not {write.shape}")
        taken = write is not None and self.can_write
        moves = bool(self._sender) and len(self._receiver) < CASCADE_DEPTH
        value = self._receiver.popleft() if read and self.can_read else None
        if moves:
            self._receiver.append(self._sender.popleft())
        if taken:
            self._sender.append(write.copy())
        return taken, value
