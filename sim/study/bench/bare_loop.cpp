// Plays recorded inputs on a Verilated model and compares what comes out: the model's speed with nothing around it.
// ports.inc, written for each design, has the table PORTS of its inputs and the widths of its answers.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

struct Port {
    void* at;
    std::size_t bytes;  // of the model's variable
    std::size_t words;  // of 32 bits in a recorded value
};

static std::vector<uint32_t> read_words(const char* path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::vector<uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), words.size() * 4);
    return words;
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const std::vector<uint32_t> changes = read_words(argv[1]);
    const std::vector<uint32_t> answers = read_words(argv[2]);
    const uint64_t cycles = std::strtoull(argv[3], nullptr, 10);
    Vtop* const top = new Vtop("");
#include "ports.inc"

    uint64_t compared = 0, wrong = 0;
    std::size_t next = 0;
    const std::clock_t start = std::clock();  // processor time, as on the other side
    for (uint64_t cycle = 0; cycle < cycles; ++cycle) {
        while (next < changes.size() && changes[next] == cycle) {
            const Port& port = PORTS[changes[next + 1]];
            std::memcpy(port.at, &changes[next + 2], port.bytes < port.words * 4 ? port.bytes : port.words * 4);
            next += 2 + port.words;
        }
        top->clk = 0;
        top->eval();
        if (ANSWER_VALID && ANSWER_READY) {
            const std::size_t at = compared * ANSWER_WORDS;
            uint32_t answer[ANSWER_WORDS] = {};
            std::memcpy(answer, ANSWER_AT, ANSWER_BYTES < sizeof answer ? ANSWER_BYTES : sizeof answer);
            wrong += at + ANSWER_WORDS > answers.size() || std::memcmp(answer, &answers[at], sizeof answer);
            ++compared;
        }
        top->clk = 1;
        top->eval();
    }
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    wrong += compared * ANSWER_WORDS != answers.size();
    std::printf("{\"seconds\": %.6f, \"compared\": %llu, \"wrong\": %llu}\n", seconds,
                static_cast<unsigned long long>(compared), static_cast<unsigned long long>(wrong));
    return wrong != 0;
}
