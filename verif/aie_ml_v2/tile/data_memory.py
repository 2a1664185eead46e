"""Data memory as bytes whose banks serve one request a cycle: accesses, requests from outside, and what each cycle does."""

from dataclasses import dataclass, field
from random import Random

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, BANK_BYTES, BANK_WORDS, MODULE_PAIRS
from bitpath.rtl.aie_ml_v2.tile.data_memory import DataMemoryConfig, access_layout, outside_layout, store_layout
from bitpath.verif.kit.packing import pack

PORTS = ("load A", "load B", "store")
STORE = 2


@dataclass(frozen=True)
class Access:
    """An access of the core: the logarithm of its bytes, and of a store its bytes and their mask."""

    address: int
    size: int
    data: int = 0
    mask: int = 0

    def start(self, config: DataMemoryConfig) -> int:
        """Return the aligned address in the memory."""
        return (self.address & ~((1 << self.size) - 1)) % config_bytes(config)

    def unaligned(self) -> bool:
        return bool(self.address & (1 << self.size) - 1)

    def bytes(self, config: DataMemoryConfig) -> range:
        start = self.start(config)
        return range(start, start + (1 << self.size))

    def payload(self, config: DataMemoryConfig, store: bool) -> int:
        access = {"address": self.address, "size": self.size}
        if not store:
            return pack(access_layout(config), access)
        return pack(store_layout(config), {"access": access, "data": self.data, "mask": self.mask})

    def on_machine(self, config: DataMemoryConfig) -> tuple[int, int]:
        """Return address and width of the access that needs the same banks of the machine's memory."""
        scale = BANK_BYTES // config.bank_bytes
        rest, byte = divmod(self.start(config), config.line_bytes)
        pair, word = divmod(rest, config.words)
        module, pair = divmod(pair, config.pairs)
        line = ((module * MODULE_PAIRS + pair) * BANK_WORDS + word) * 2 * BANK_BYTES
        return line + byte * scale, scale << self.size


@dataclass(frozen=True)
class Outside:
    """A request for a word of a bank, of one module."""

    bank: int
    word: int
    writes: bool = False
    data: int = 0
    mask: int = 0

    def payload(self, config: DataMemoryConfig) -> int:
        fields = {name: getattr(self, name) for name in ("word", "data", "mask")}
        place = {"odd": self.bank % 2, "pair": self.bank // 2, "writes": int(self.writes)}
        return pack(outside_layout(config), fields | place)


@dataclass
class Bundle:
    """The accesses of one memory cycle by their ports, and their state so far."""

    accesses: dict[int, Access]
    loaded: dict[int, dict[int, int]] = field(default_factory=lambda: {0: {}, 1: {}})
    done: dict[int, set[int]] = field(default_factory=lambda: {port: set() for port in range(3)})
    cycles: int = 0


class Shadow:
    """Every byte, and the rule of the banks."""

    def __init__(self, config: DataMemoryConfig):
        self.config = config
        self.bytes = np.zeros(config_bytes(config), np.uint8)
        self.owed = [False] * config.modules

    def bank(self, byte: int) -> int:
        pair = byte // self.config.line_bytes // self.config.words
        return 2 * pair + byte // self.config.bank_bytes % 2

    def cycle(self, bundle: Bundle, outside: dict[int, Outside]) -> tuple[bool, dict[int, int | None]]:
        """Serve each bank's first request; return whether the core waits on, and words of the outside requests served."""
        config, served = self.config, {}
        needs = {
            port: {self.bank(byte) for byte in access.bytes(config)} - bundle.done[port]
            for port, access in bundle.accesses.items()
        }
        asked = set().union(*needs.values())
        for module, request in outside.items():
            bank = 2 * config.pairs * module + request.bank
            if bank not in asked or self.owed[module]:
                served[module] = self._serve_outside(bank, request)
                for banks in needs.values():
                    banks.discard(bank)
        left = {port: set(banks) for port, banks in needs.items()}
        for bank in set().union(*needs.values()):
            port = min(port for port, banks in needs.items() if bank in banks)
            self._serve(bundle, port, bank)
            left[port].discard(bank)
        if config.round_robin:
            self.owed = [module in outside and module not in served for module in range(config.modules)]
        waits = any(
            {self.bank(byte) for byte in access.bytes(config)} - bundle.done[port]
            for port, access in bundle.accesses.items()
        )
        bundle.cycles += 1
        return waits, served

    def _serve(self, bundle: Bundle, port: int, bank: int) -> None:
        access = bundle.accesses[port]
        bundle.done[port].add(bank)
        for place, byte in enumerate(access.bytes(self.config)):
            if self.bank(byte) != bank:
                continue
            if port != STORE:
                bundle.loaded[port][place] = int(self.bytes[byte])
            elif access.mask >> place & 1:
                self.bytes[byte] = access.data >> 8 * place & 0xFF

    def _serve_outside(self, bank: int, request: Outside) -> int | None:
        config = self.config
        pair, odd = divmod(bank, 2)
        start = (pair * config.words + request.word) * config.line_bytes + odd * config.bank_bytes
        if not request.writes:
            return int.from_bytes(self.bytes[start : start + config.bank_bytes].tobytes(), "little")
        for place in range(config.bank_bytes):
            if request.mask >> place & 1:
                self.bytes[start + place] = request.data >> 8 * place & 0xFF
        return None


def config_bytes(config: DataMemoryConfig) -> int:
    return 1 << config.used_bits


def random_access(config: DataMemoryConfig, rng: Random, near: int | None = None) -> Access:
    """Return an access, mostly aligned and in the memory; with ``near`` often in the same pair of banks."""
    size = rng.randrange(config.byte_bits + 2)
    address = rng.randrange(config_bytes(config))
    if near is not None and rng.random() < 0.6:
        span = config.line_bytes * rng.choice((1, config.words))
        address = near // span * span + address % span
    address &= ~((1 << size) - 1)
    if rng.random() < 0.1:
        address |= rng.choice((rng.getrandbits(ADDRESS_BITS), 1 << rng.randrange(ADDRESS_BITS)))
    full = (1 << config.line_bytes) - 1
    mask = rng.choice((full, rng.getrandbits(config.line_bytes)))
    return Access(address, size, rng.getrandbits(8 * config.line_bytes), mask)


def random_bundle(config: DataMemoryConfig, rng: Random) -> Bundle:
    first = random_access(config, rng)
    accesses = {port: random_access(config, rng, first.address) for port in range(3) if rng.random() < 0.7}
    return Bundle(accesses)


def random_outside(config: DataMemoryConfig, rng: Random) -> Outside:
    mask = rng.choice(((1 << config.bank_bytes) - 1, rng.getrandbits(config.bank_bytes)))
    data = rng.getrandbits(8 * config.bank_bytes)
    return Outside(rng.randrange(2 * config.pairs), rng.randrange(config.words), rng.random() < 0.5, data, mask)
