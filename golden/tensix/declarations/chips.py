"""Chips whose Tensix is modelled; `chip` arguments take a member or its value."""

from enum import Enum


class Chip(Enum):
    """Tenstorrent's chips by generation."""

    WORMHOLE = "wormhole"
    BLACKHOLE = "blackhole"
