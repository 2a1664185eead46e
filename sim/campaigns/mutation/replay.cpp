// Plays the recorded traffic of a bench on mutant after mutant of a Verilated netlist, each from power-on, and prints where
// the outputs of each first differ from those recorded. ports.inc, written for each design, has the tables INPUTS and OUTPUTS,
// what each output is, and how the clock is set.
//
// An output that differs where a scoreboard compared it, after the same handshakes, is one that the bench finds wrong: "compared".
// Where nobody looked at an output the bench goes on as it did, and so it does, but for a monitor's complaint, where it looked
// at a payload before its transfer. Any other difference is the bench's to judge: "other", for from there on it might have sent
// something else.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

struct Port {
    void* at;
    std::size_t bytes;  // of the model's variable
    std::size_t words;  // of 32 bits in a recorded value
};

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
    std::vector<uint32_t> looks;            // of the bench at outputs: cycle, port, READ or COMPARED
    std::vector<uint32_t> inputs, outputs;  // changes: cycle, port, words
};

struct Verdict {
    const char* what = "same";
    std::size_t test = 0;
    uint32_t cycle = 0;
    std::size_t output = 0;
};

// Dies of a file that is not what the recording wrote: no mutant would differ from nothing.
static std::vector<Test> read_tests(const char* path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::vector<uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), words.size() * 4);
    std::vector<Test> tests;
    auto at = words.begin();
    const auto take = [&](std::size_t count) {
        if (static_cast<std::size_t>(words.end() - at) < count) {
            std::fprintf(stderr, "%s ends in the middle of a test\n", path);
            std::exit(3);
        }
        at += count;
        return std::vector<uint32_t>(at - count, at);
    };
    while (at != words.end()) {
        const std::vector<uint32_t> head = take(4);
        tests.push_back({head[0], take(head[1]), take(head[2]), take(head[3])});
    }
    if (tests.empty()) {
        std::fprintf(stderr, "%s has no test\n", path);
        std::exit(3);
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
    const auto same_size = [](const Port& port) { return port.bytes < port.words * 4 ? port.bytes : port.words * 4; };
    top->mutsel = mutant;

    Verdict verdict;
    for (std::size_t number = 0; number < tests.size(); ++number) {
        const Test& test = tests[number];
        std::size_t next_input = 0, next_output = 0, next_look = 0;
        for (uint32_t cycle = 0; cycle < test.cycles; ++cycle) {
            while (next_input < test.inputs.size() && test.inputs[next_input] == cycle) {
                const Port& port = INPUTS[test.inputs[next_input + 1]];
                std::memcpy(port.at, &test.inputs[next_input + 2], same_size(port));
                next_input += 2 + port.words;
            }
            while (next_output < test.outputs.size() && test.outputs[next_output] == cycle) {
                const std::size_t output = test.outputs[next_output + 1], words = OUTPUTS[output].words;
                std::memcpy(expected[output].data(), &test.outputs[next_output + 2], words * 4);
                next_output += 2 + words;
            }
            uint32_t looks[COUNT] = {};
            for (; next_look < test.looks.size() && test.looks[next_look] == cycle; next_look += 3) {
                looks[test.looks[next_look + 1]] = test.looks[next_look + 2];
            }
            CLOCK(0);
            top->eval();
            std::size_t compared = COUNT, other = COUNT, early = COUNT, unseen = COUNT;
            for (std::size_t i = 0; i < COUNT; ++i) {
                if (!std::memcmp(OUTPUTS[i].at, expected[i].data(), same_size(OUTPUTS[i]))) continue;
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
            CLOCK(1);
            top->eval();
        }
    }
    return verdict;
}

int main(int argc, char** argv) {
    if (argc < 3) return 2;
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
