// Plays vectors from a file on a Verilated model and writes its answers to another: no line of Python for a vector.
// ports.inc, written for each design, says what its ports are. Batches come one after another, in words of 32 bits:
//
//   count, beats, latency, lead, number of parts; then each part: rows, words, first, indexed, its table [rows, words] and,
//   if it is indexed, the row that each vector takes [count]; otherwise vector k takes row k.
//
// A vector is the parts' rows, each from its word `first` on, put together by OR. Its words are those of the ports in turn,
// for a lane those of its beats one after another and then the accumulators'.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

enum Kind { COMBINATIONAL, STREAM, LANE };

struct Port {
    void* at;
    uint32_t bytes;  // of the model's variable
    uint32_t first;  // word
};

struct Part {
    uint32_t words, first;
    const uint32_t *table, *index;
};

static const uint64_t PATIENCE = 100000;  // cycles for which a stream may be silent
static const uint32_t QUIET = 64;         // cycles behind all answers in which no more may come
static const uint32_t JUNK = 0xA5A5A5A5;  // on a lane's accumulators where none are taken
static uint8_t ABSENT = 1;                // stands for a handshake that a design does not have

static Vtop* const top = new Vtop("");
#include "ports.inc"

static const uint32_t* at;
static const uint32_t* end;

static uint32_t next() {
    if (at >= end) _exit(4);
    return *at++;
}

static const uint32_t* take(uint64_t words) {
    if (words > static_cast<uint64_t>(end - at)) _exit(4);
    const uint32_t* const here = at;
    at += words;
    return here;
}

static inline void compose(const std::vector<Part>& parts, uint64_t number, uint32_t* words, uint32_t size) {
    std::memset(words, 0, size * 4);
    for (const Part& part : parts) {
        const uint32_t* const row = part.table + (part.index ? part.index[number] : number) * part.words;
        for (uint32_t k = 0; k < part.words; ++k) words[part.first + k] |= row[k];
    }
}

template <std::size_t N>
static inline void drive(const Port (&ports)[N], const uint32_t* words) {
    for (const Port& port : ports) std::memcpy(port.at, words + port.first, port.bytes);
}

static inline void answer(uint32_t* to) {
    std::memcpy(to, ANSWER_AT, ANSWER_BYTES);
}

static void cycle() {
    CLK = 0;
    top->eval();
    CLK = 1;
    top->eval();
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const int file = open(argv[1], O_RDONLY);
    struct stat about;
    if (file < 0 || fstat(file, &about)) return 2;
    void* const mapped = mmap(nullptr, about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    std::FILE* const out = std::fopen(argv[2], "wb");
    if (mapped == MAP_FAILED || !out) return 2;
    at = static_cast<const uint32_t*>(mapped);
    end = at + about.st_size / 4;
    if (KIND != COMBINATIONAL) {
        RST = 1;
        for (int k = 0; k < 4; ++k) cycle();
        RST = 0;
    }
    std::vector<uint32_t> answers;
    while (at < end) {
        const uint64_t count = next();
        const uint32_t beats = next(), latency = next(), lead = next();
        std::vector<Part> parts(next());
        uint32_t size = 0;
        for (Part& part : parts) {
            const uint64_t rows = next();
            part.words = next();
            part.first = next();
            const bool indexed = next();
            part.table = take(rows * part.words);
            part.index = indexed ? take(count) : nullptr;
            if (!indexed && rows != count) return 4;
            for (uint64_t k = 0; indexed && k < count; ++k)
                if (part.index[k] >= rows) return 4;
            if (part.first + part.words > size) size = part.first + part.words;
        }
        if (size != beats * BEAT_WORDS + LATE_WORDS) return 4;
        answers.assign(count * ANSWER_WORDS, 0);
        uint64_t sent = 0, got = 0;
        std::vector<uint32_t> words(size + 1);
        if (KIND == COMBINATIONAL) {
            IN_VALID = OUT_READY = 1;
            for (; got < count; ++got) {
                compose(parts, got, words.data(), size);
                drive(PORTS, words.data());
                top->eval();
                if (!OUT_VALID || !IN_READY) break;
                answer(&answers[got * ANSWER_WORDS]);
            }
        } else if (KIND == STREAM) {
            OUT_READY = 1;
            bool shown = false;
            for (uint64_t silent = 0; got < count && silent < PATIENCE; ++silent) {
                if (!shown && sent < count) {
                    compose(parts, sent, words.data(), size);
                    drive(PORTS, words.data());
                    shown = true;
                }
                IN_VALID = shown;
                CLK = 0;
                top->eval();
                if (OUT_VALID) {
                    if (got >= sent + shown) return 5;
                    answer(&answers[got++ * ANSWER_WORDS]);
                    silent = 0;
                }
                if (shown && IN_READY) {
                    shown = false;
                    ++sent;
                }
                CLK = 1;
                top->eval();
            }
        } else {
            // One vector in as many cycles as it has beats; its accumulators come `lead` cycles before its answer.
            std::vector<uint32_t> waiting((latency + 1) * LATE_WORDS), junk(LATE_WORDS, JUNK);
            for (uint64_t now = 0; got < count; ++now) {
                IN_VALID = sent < count;
                if (sent < count) {
                    const uint32_t beat = now % beats;
                    if (!beat) {
                        compose(parts, sent, words.data(), size);
                        std::memcpy(&waiting[sent % (latency + 1) * LATE_WORDS], &words[beats * BEAT_WORDS], LATE_WORDS * 4);
                    }
                    drive(PORTS, &words[beat * BEAT_WORDS]);
                    sent += beat + 1 == beats;
                }
                const uint64_t begun = now + lead - latency;
                const bool taken = now + lead >= latency && begun % beats == 0 && begun / beats < count;
                drive(LATE_PORTS, taken ? &waiting[begun / beats % (latency + 1) * LATE_WORDS] : junk.data());
                CLK = 0;
                top->eval();
                if (now >= latency && (now - latency) % beats == 0) answer(&answers[got++ * ANSWER_WORDS]);
                CLK = 1;
                top->eval();
            }
        }
        if (std::fwrite(answers.data(), 4, got * ANSWER_WORDS, out) != got * ANSWER_WORDS) return 6;
        if (got != count) return 3;
    }
    for (uint32_t k = 0; KIND == STREAM && k < QUIET; ++k) {
        IN_VALID = 0;
        CLK = 0;
        top->eval();
        if (OUT_VALID) return 5;
        CLK = 1;
        top->eval();
    }
    return std::fclose(out) ? 6 : 0;
}
