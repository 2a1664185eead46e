// Plays the recorded traffic of a bench on mutant after mutant of a Verilated netlist, each from power-on, and prints where
// the outputs of each first differ from those recorded. ports.inc, written for each design, has the tables INPUTS and OUTPUTS,
// what each output is, and how the clock is set.
//
// An output that differs where a scoreboard compared it, after the same handshakes, is one that the bench finds wrong: "compared".
// Where nobody looked at an output the bench goes on as it did, and so it does, but for a monitor's complaint, where it looked
// at a payload before its transfer. Any other difference is the bench's to judge: "other", for from there on it might have sent
// something else.

#include <cstdlib>
#include <memory>
#include <vector>

#include "model.h"

// What a port says: HANDSHAKE what the other side waits for, VALUE anything else.
enum Kind { HANDSHAKE, VALUE };

// What the bench made of an output in a cycle, as the recorder numbers it.
enum Look { NOTHING, READ, COMPARED };

struct Output {
    Kind kind;
    const uint8_t* valid;  // of a payload, the signals of its transfer; one that is none is always 1
    const uint8_t* ready;
};

struct Test {
    uint32_t cycles;
    Words looks;            // of the bench at outputs: cycle, port, READ or COMPARED
    Words inputs, outputs;  // changes
};

struct Verdict {
    const char* what = "same";
    std::size_t test = 0;
    uint32_t cycle = 0;
    std::size_t output = 0;
};

// Dies of a file that is not what the recording wrote: no mutant would differ from nothing.
static std::vector<Test> read_tests(const char* path) {
    Words words(path);
    std::vector<Test> tests;
    while (words.left()) {
        const uint32_t* const head = words.take(4);
        const Words looks(words, head[1]), inputs(words, head[2]), outputs(words, head[3]);
        tests.push_back({head[0], looks, inputs, outputs});
    }
    if (tests.empty()) {
        std::fprintf(stderr, "%s has no test\n", path);
        std::exit(MALFORMED);
    }
    return tests;
}

// Whether a payload is transferred; what is no payload always is.
static bool handed_over(const Output& output) {
    return (!output.valid || *output.valid) && (!output.ready || *output.ready);
}

static Verdict play(const std::vector<Test>& tests, uint32_t mutant) {
    VerilatedContext context;
    const std::unique_ptr<Vtop> top(new Vtop(&context, ""));
#include "ports.inc"
    constexpr std::size_t COUNT = sizeof OUTPUTS / sizeof *OUTPUTS;
    std::vector<std::vector<uint32_t>> expected;
    for (const Port& port : OUTPUTS) expected.emplace_back(port.words, 0);
    top->mutsel = mutant;

    Verdict verdict;
    for (std::size_t number = 0; number < tests.size(); ++number) {
        const Test& test = tests[number];
        Changes inputs(test.inputs), outputs(test.outputs);
        Words recorded_looks = test.looks;
        for (uint32_t cycle = 0; cycle < test.cycles; ++cycle) {
            inputs.play(cycle, INPUTS, [&](uint32_t port, const uint32_t* value) { INPUTS[port].set(value); });
            outputs.play(cycle, OUTPUTS, [&](uint32_t port, const uint32_t* value) {
                std::memcpy(expected[port].data(), value, OUTPUTS[port].words * 4);
            });
            uint32_t looks[COUNT] = {};
            while (recorded_looks.left() && recorded_looks.peek() == cycle) {
                const uint32_t* const look = recorded_looks.take(3);
                looks[look[1]] = look[2];
            }
            half_cycle(*top, CLK, 0);
            std::size_t compared = COUNT, other = COUNT, early = COUNT, unseen = COUNT;
            for (std::size_t i = 0; i < COUNT; ++i) {
                if (!std::memcmp(OUTPUTS[i].at, expected[i].data(), OUTPUTS[i].size())) continue;
                const Output& output = KINDS[i];
                std::size_t& first = output.kind == HANDSHAKE   ? other
                                     : looks[i] == COMPARED     ? compared
                                     : looks[i] == NOTHING      ? unseen
                                     : handed_over(output)      ? other
                                                                : early;
                if (first == COUNT) first = i;
            }
            if (other != COUNT) return {"other", number, cycle, other};
            if (compared != COUNT) return {"compared", number, cycle, compared};
            if (early != COUNT && verdict.what[0] == 's') verdict = {"other", number, cycle, early};
            half_cycle(*top, CLK, 1);
        }
    }
    return verdict;
}

int main(int argc, char** argv) {
    if (argc < 3) return USAGE;
    const std::vector<Test> tests = read_tests(argv[1]);
    for (int i = 2; i < argc; ++i) {
        const uint32_t mutant = std::strtoul(argv[i], nullptr, 10);
        const Verdict found = play(tests, mutant);
        std::printf("{\"mutant\": %u, \"difference\": \"%s\", \"test\": %zu, \"cycle\": %u, \"output\": %zu}\n", mutant,
                    found.what, found.test, found.cycle, found.output);
        std::fflush(stdout);
    }
    return 0;
}
