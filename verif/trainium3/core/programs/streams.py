"""A program's instruction streams: dependencies as values of semaphores, and each instruction's place in its engine's stream."""

from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import Engine, semaphores
from bitpath.verif.trainium3.core.programs.instructions import Instruction


class Streams:
    """Instructions that a core got since its semaphores were 0, in the order of the program."""

    def __init__(self, config: CoreConfig):
        self.counts = [0] * semaphores(config)
        self.places: dict[Engine, list[int]] = {engine: [] for engine in Engine}
        self._program: list[Instruction] = []
        self._ends: dict[int, tuple[int, int]] = {}

    def add(self, instruction: Instruction) -> list[int]:
        """Append an instruction; return the least values of all semaphores with which it starts."""
        waits = [0] * len(self.counts)
        for each in instruction.after:
            ends = self._of_engine(each) if isinstance(each, Engine) else [self._ends[id(each)]]
            for semaphore, value in ends:
                waits[semaphore] = max(waits[semaphore], value)
        own = instruction.semaphore
        self.counts[own] += 1
        self._ends[id(instruction)] = own, self.counts[own]
        self.places[instruction.engine].append(len(self._program))
        # A program may hold equal instructions: they are told apart by their identity while they are kept.
        self._program.append(instruction)
        return waits

    def place(self, engine: Engine, number: int) -> int:
        """Return the place in the program of an engine's instruction by its number."""
        return self.places[engine][number]

    def _of_engine(self, engine: Engine) -> list[tuple[int, int]]:
        """Return the semaphores that count an engine's instructions, with their values behind those that it has."""
        numbers = range(Engine.DMA.value, len(self.counts)) if engine is Engine.DMA else [engine.value]
        return [(number, self.counts[number]) for number in numbers]
