// Steps a group of equal modules at each rising clock edge, in place of the group's own Verilog.
//
// Each element is a Verilated model. Its outputs depend on registers only, so an element's inputs at an edge are what its
// predecessor showed before the edge: elements are stepped from the last to the first, and none sees a new output.
//
// element.inc, written for each module, has the class Element, the functions inputs() and outputs() with an element's ports,
// and the macro FUNCTION, which names the functions of the wrapper.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "svdpi.h"
#include "verilated.h"

namespace {

enum Place { SHARED, SPREAD, CHAINED };

struct Port {
    void* at;           // variable of the model
    std::size_t bytes;  // of the variable
    std::size_t bits;   // of the port
    Place place;        // in the group's ports
    std::size_t from;   // the output of the predecessor that a chained input takes

    std::size_t words() const { return (bits + 31) / 32; }
    std::size_t bytes_of(std::size_t word) const { return std::min<std::size_t>(4, bytes - 4 * word); }
    uint32_t word(std::size_t index) const {
        uint32_t value = 0;
        std::memcpy(&value, static_cast<const char*>(at) + 4 * index, bytes_of(index));
        return value;
    }

    // Takes its value from bit `lsb` on of `source`.
    void take(const uint32_t* source, std::size_t lsb) const {
        const std::size_t first = lsb / 32, shift = lsb % 32, last = (lsb + bits - 1) / 32;
        for (std::size_t i = 0; i < words(); ++i) {
            uint32_t value = source[first + i] >> shift;
            if (shift && first + i < last) value |= source[first + i + 1] << (32 - shift);
            if (i == bits / 32) value &= (1u << bits % 32) - 1;
            std::memcpy(static_cast<char*>(at) + 4 * i, &value, bytes_of(i));
        }
    }

    // Gives its value to the bits of `target` from `lsb` on, which are zero.
    void give(uint32_t* target, std::size_t lsb) const {
        const std::size_t first = lsb / 32, shift = lsb % 32, last = (lsb + bits - 1) / 32;
        for (std::size_t i = 0; i < words(); ++i) {
            target[first + i] |= word(i) << shift;
            if (shift && first + i < last) target[first + i + 1] |= word(i) >> (32 - shift);
        }
    }
};

#include "element.inc"

// Runs work in equal shares on this thread and on helpers, which sleep in between.
class Team {
  public:
    explicit Team(unsigned size) {
        for (unsigned helper = 1; helper < size; ++helper) {
            std::thread([this, helper] {
                for (unsigned seen = 0;; ++seen) {
                    round.wait(seen);
                    work(helper);
                    if (--left == 0) left.notify_one();
                }
            }).detach();
        }
        helpers = size - 1;
    }

    void run(const std::function<void(unsigned)>& share) {
        work = share;
        left = helpers;
        ++round;
        round.notify_all();
        work(0);
        for (unsigned now; (now = left);) left.wait(now);
    }

    unsigned size() const { return helpers + 1; }

  private:
    unsigned helpers;
    std::atomic<unsigned> round{0}, left{0};
    std::function<void(unsigned)> work;
};

Team& team() {
    // Never destroyed, since its helpers never end.
    static Team& all = *[] {
        const char* const asked = std::getenv("BITPATH_THREADS");
        return new Team(std::max(1u, asked ? std::atoi(asked) : std::thread::hardware_concurrency()));
    }();
    return all;
}

// Helpers take tens of microseconds to wake: a group whose step alone takes fewer than these works alone.
#ifndef WORTH_SHARING
#define WORTH_SHARING 200
#endif

// Keeps the context of the model around the group, since each element sets its own when it is evaluated.
struct Outside {
    VerilatedContext* const context = Verilated::threadContextp();
    ~Outside() { Verilated::threadContextp(context); }
};

class Group {
  public:
    explicit Group(int count) {
        for (int i = 0; i < count; ++i) {
            contexts.push_back(std::make_unique<VerilatedContext>());
            elements.push_back(std::make_unique<Element>(contexts.back().get(), ""));
            into.push_back(inputs(*elements.back()));
            out.push_back(outputs(*elements.back()));
            elements.back()->clk = 0;
            elements.back()->eval();
        }
        for (const Port& port : out[0]) result_bits += port.bits * (port.place == SPREAD ? count : 1);
    }

    void step(const uint32_t* values) {
        const auto start = std::chrono::steady_clock::now();
        const bool alone = trials || fastest < std::chrono::microseconds(WORTH_SHARING);
        step_shares(values, alone ? 1 : std::min<std::size_t>(team().size(), elements.size()));
        if (trials) {
            --trials;
            fastest = std::min(fastest, std::chrono::steady_clock::now() - start);
        }
    }

    void read(uint32_t* values) const {
        std::fill_n(values, (result_bits + 31) / 32, 0);
        std::size_t lsb = 0;
        for (std::size_t port = 0; port < out[0].size(); ++port) {
            const bool spread = out[0][port].place == SPREAD;
            for (std::size_t i = spread ? 0 : elements.size() - 1; i < elements.size(); ++i) {
                out[i][port].give(values, lsb);
                lsb += out[i][port].bits;
            }
        }
    }

  private:
    std::size_t bound(std::size_t share, std::size_t shares) const { return share * elements.size() / shares; }

    void step_shares(const uint32_t* values, std::size_t shares) {
        // The first element of a share depends on an element of another share.
        for (std::size_t share = 0; share < shares; ++share) take(values, bound(share, shares));
        if (shares == 1) return step_share(values, 0, 1);
        team().run([&](unsigned share) {
            if (share < shares) step_share(values, share, shares);
        });
    }

    void step_share(const uint32_t* values, std::size_t share, std::size_t shares) {
        const std::size_t begin = bound(share, shares);
        for (std::size_t i = bound(share + 1, shares); i-- > begin;) {
            if (i > begin) take(values, i);
            elements[i]->clk = 1;
            elements[i]->eval();
            elements[i]->clk = 0;
            elements[i]->eval();
        }
    }

    void take(const uint32_t* values, std::size_t i) {
        std::size_t lsb = 0;
        for (const Port& port : into[i]) {
            if (port.place == CHAINED && i) {
                std::memcpy(port.at, out[i - 1][port.from].at, port.bytes);
            } else {
                port.take(values, lsb + (port.place == SPREAD ? i * port.bits : 0));
            }
            lsb += port.bits * (port.place == SPREAD ? elements.size() : 1);
        }
    }

    std::vector<std::unique_ptr<VerilatedContext>> contexts;
    std::vector<std::unique_ptr<Element>> elements;
    std::vector<std::vector<Port>> into, out;
    std::size_t result_bits = 0;
    unsigned trials = 16;
    std::chrono::steady_clock::duration fastest = std::chrono::steady_clock::duration::max();
};

}  // namespace

extern "C" {
void* FUNCTION(create)(int count) {
    const Outside outside;
    return new Group(count);
}
void FUNCTION(destroy)(void* group) {
    const Outside outside;
    delete static_cast<Group*>(group);
}
void FUNCTION(read)(void* group, svBitVecVal* outputs) { static_cast<Group*>(group)->read(outputs); }
void FUNCTION(step)(void* group, const svBitVecVal* inputs, svBitVecVal* outputs) {
    const Outside outside;
    static_cast<Group*>(group)->step(inputs);
    static_cast<Group*>(group)->read(outputs);
}
}
