// LZ4 for Verilator's FST writer: a greedy search for earlier occurrences of the next four bytes.
//
// A block is a series of sequences:
//
//     token | more of the literals' count | literals | offset, 16 bits | more of the match's length
//
// The token holds the number of literals in its upper four bits and the length of the match, less 4, in its lower four. 15
// means that bytes follow which are added, up to the first that is not 255. The last sequence ends after its literals. A match
// must begin at least 12 bytes and end at least 5 bytes before the end of the data. Reference: "LZ4 Block Format Description".
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace bitpath {

constexpr int HASH_BITS = 12, MIN_MATCH = 4, MAX_OFFSET = 65535, LAST_START = 12, LAST_LITERALS = 5, NIBBLE = 15;

inline uint32_t lz4_word(const char *at) {
    uint32_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

// Write the bytes that follow a count of 15 or more.
inline char *lz4_more(char *to, int count) {
    if (count < NIBBLE) return to;
    for (count -= NIBBLE; count >= 255; count -= 255) *to++ = static_cast<char>(255);
    *to++ = static_cast<char>(count);
    return to;
}

// Write token and literals; `extra` is the length of the match less 4.
inline char *lz4_literals(char *to, const char *from, int count, int extra) {
    const auto nibble = [](int value) { return value < NIBBLE ? value : NIBBLE; };
    *to++ = static_cast<char>(nibble(count) << 4 | nibble(extra));
    to = lz4_more(to, count);
    if (count) std::memcpy(to, from, count);
    return to + count;
}

}  // namespace bitpath

inline int LZ4_compressBound(int size) { return size + size / 255 + 16; }

inline int LZ4_compress_default(const char *from, char *to, int size, int /*capacity*/) {
    using namespace bitpath;
    char *const begin = to;
    std::vector<int> latest(1 << HASH_BITS, -1 - MAX_OFFSET);
    int literals = 0;
    for (int at = 0; at < size - LAST_START;) {
        const uint32_t word = lz4_word(from + at);
        int &slot = latest[word * 2654435761u >> (32 - HASH_BITS)];
        const int offset = at - slot;
        slot = at;
        if (offset > MAX_OFFSET || lz4_word(from + at - offset) != word) {
            ++at;
            continue;
        }
        int length = MIN_MATCH;
        while (at + length < size - LAST_LITERALS && from[at + length - offset] == from[at + length]) ++length;
        to = lz4_literals(to, from + literals, at - literals, length - MIN_MATCH);
        *to++ = static_cast<char>(offset);
        *to++ = static_cast<char>(offset >> 8);
        to = lz4_more(to, length - MIN_MATCH);
        literals = at += length;
    }
    to = lz4_literals(to, from + literals, size - literals, 0);
    return static_cast<int>(to - begin);
}
