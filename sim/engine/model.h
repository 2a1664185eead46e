// Common part of the C++ programs around a Verilated model: words of a file, ports of the model, half a clock cycle.

#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "Vtop.h"
#include "verilated.h"

enum Status { USAGE = 2, SILENT = 3, MALFORMED = 4, STRAY = 5, UNWRITTEN = 6 };  // exit statuses

struct Port {
    void* at;           // variable of the model
    std::size_t bytes;  // of the variable
    std::size_t words;  // 32-bit words of a value

    void set(const uint32_t* value) const { std::memcpy(at, value, size()); }
    std::size_t size() const { return bytes < words * 4 ? bytes : words * 4; }
};

// Reads the 32-bit words of a file in order. The program exits if the file cannot be read or ends too early.
class Words {
  public:
    explicit Words(const char* path) : path(path) {
        const int file = open(path, O_RDONLY);
        struct stat about;
        if (file < 0 || fstat(file, &about)) _exit(USAGE);
        if (about.st_size < 4) return;
        void* const mapped = mmap(nullptr, about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (mapped == MAP_FAILED) _exit(USAGE);
        at = static_cast<const uint32_t*>(mapped);
        end = at + about.st_size / 4;
    }

    // The next words of another range.
    Words(Words& from, uint64_t words) : path(from.path), at(from.take(words)), end(at + words) {}

    std::size_t left() const { return end - at; }
    uint32_t peek() const { return *at; }
    uint32_t next() { return *take(1); }

    const uint32_t* take(uint64_t words) {
        if (words > left()) {
            std::fprintf(stderr, "%s ends in the middle of a record\n", path);
            _exit(MALFORMED);
        }
        const uint32_t* const here = at;
        at += words;
        return here;
    }

  private:
    const char* path;
    const uint32_t *at = nullptr, *end = nullptr;
};

// Recorded changes of ports in the order of their cycles: cycle, port, words of the value.
class Changes {
  public:
    explicit Changes(Words words) : words(words) {}

    // Calls `change(port, value)` for each change of the cycle.
    template <class Table, class Change>
    void play(uint32_t cycle, const Table& ports, Change change) {
        while (words.left() && words.peek() == cycle) {
            const uint32_t port = words.take(2)[1];
            change(port, words.take(ports[port].words));
        }
    }

  private:
    Words words;
};

static inline void half_cycle(Vtop& top, uint8_t& clock, uint8_t level) {
    clock = level;
    top.eval();
}
