// Plays recorded inputs on a Verilated model and compares what comes out: the model's speed with nothing around it.
// ports.inc, written for each design, has the table PORTS of its inputs and the widths of its answers.

#include <cstdlib>
#include <ctime>

#include "model.h"

int main(int argc, char** argv) {
    if (argc != 4) return USAGE;
    Changes changes{Words(argv[1])};
    Words answers(argv[2]);
    const uint64_t cycles = std::strtoull(argv[3], nullptr, 10);
    Vtop* const top = new Vtop("");
#include "ports.inc"

    uint64_t compared = 0, wrong = 0;
    const std::clock_t start = std::clock();  // processor time, as on the other side
    for (uint64_t cycle = 0; cycle < cycles; ++cycle) {
        changes.play(cycle, PORTS, [&](uint32_t port, const uint32_t* value) { PORTS[port].set(value); });
        half_cycle(*top, top->clk, 0);
        if (ANSWER_VALID && ANSWER_READY) {
            uint32_t answer[ANSWER_WORDS] = {};
            std::memcpy(answer, ANSWER_AT, ANSWER_BYTES < sizeof answer ? ANSWER_BYTES : sizeof answer);
            wrong += answers.left() < ANSWER_WORDS || std::memcmp(answer, answers.take(ANSWER_WORDS), sizeof answer);
            ++compared;
        }
        half_cycle(*top, top->clk, 1);
    }
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    wrong += answers.left() != 0;
    std::printf("{\"seconds\": %.6f, \"compared\": %llu, \"wrong\": %llu}\n", seconds,
                static_cast<unsigned long long>(compared), static_cast<unsigned long long>(wrong));
    return wrong != 0;
}
