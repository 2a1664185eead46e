"""Directed corners of the packer: a word with its required datum, and their layout in rows."""

from collections import defaultdict
from dataclasses import dataclass

from bitpath.golden.tensix.declarations.formats import BLOCK
from bitpath.verif.tensix.pack.pack import ALL_COLUMNS, Packing, PackRow


@dataclass(frozen=True)
class Corner:
    """One word for any column of a row, or a whole row; the required datum of the word, or of column ``place``, and the exponent."""

    bin: str
    packing: Packing
    words: tuple[int, ...]
    datum: int
    exponent: int = 0
    old: int = 0
    edge_mask: int = ALL_COLUMNS
    place: int = 0


def corner(name: str, packing: Packing, word: int, datum: int, old: int = 0) -> Corner:
    return Corner(name, packing, (word,), datum, old=old)


def lay_out(table: list[Corner]) -> list[tuple[PackRow, dict[int, Corner]]]:
    """Return rows that hold all corners, single words of one kind side by side, and the columns of the corners.

    Corners of accumulation take every column in turn, because each column has its own adder.
    """
    whole, groups = defaultdict(dict), defaultdict(list)
    for each in table:
        if len(each.words) == BLOCK:
            whole[PackRow(each.packing, each.words, edge_mask=each.edge_mask)][each.place] = each
        else:
            groups[each.packing].append(each)
    rows = list(whole.items())
    for packing, group in groups.items():
        for start in range(0, len(group), BLOCK):
            part = group[start : start + BLOCK]
            rest = (0,) * (BLOCK - len(part))
            words, old = tuple(each.words[0] for each in part) + rest, tuple(each.old for each in part) + rest
            for turn in range(BLOCK if packing.accumulate else 1):
                row = PackRow(packing, words[turn:] + words[:turn], old[turn:] + old[:turn])
                rows.append((row, {(k - turn) % BLOCK: each for k, each in enumerate(part)}))
    return rows
