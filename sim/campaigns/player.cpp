// Plays vectors from a file on a Verilated model and writes its answers to another: no line of Python for a vector.
// ports.inc, written for each design, says what its ports are. Batches come one after another, in words of 32 bits:
//
//   count, beats, latency, lead, number of parts; then each part: rows, words, first, indexed, its table [rows, words] and,
//   if it is indexed, the row that each vector takes [count]; otherwise vector k takes row k.
//
// A vector is the parts' rows, each from its word `first` on, put together by OR. Its words are those of the ports in turn,
// for a lane those of its beats one after another and then the accumulators'.

#include <vector>

#include "model.h"

enum Kind { COMBINATIONAL, STREAM, LANE };

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

static inline void compose(const std::vector<Part>& parts, uint64_t number, uint32_t* words, uint32_t size) {
    std::memset(words, 0, size * 4);
    for (const Part& part : parts) {
        const uint32_t* const row = part.table + (part.index ? part.index[number] : number) * part.words;
        for (uint32_t k = 0; k < part.words; ++k) words[part.first + k] |= row[k];
    }
}

template <std::size_t N>
static inline void drive(const Port (&ports)[N], const uint32_t* words) {
    for (const Port& port : ports) {
        port.set(words);
        words += port.words;
    }
}

static inline void answer(uint32_t* to) {
    std::memcpy(to, ANSWER_AT, ANSWER_BYTES);
}

int main(int argc, char** argv) {
    if (argc != 3) return USAGE;
    Words vectors(argv[1]);
    std::FILE* const out = std::fopen(argv[2], "wb");
    if (!out) return USAGE;
    if (KIND != COMBINATIONAL) {
        RST = 1;
        for (int k = 0; k < 8; ++k) half_cycle(*top, CLK, k % 2);
        RST = 0;
    }
    std::vector<uint32_t> answers;
    while (vectors.left()) {
        const uint64_t count = vectors.next();
        const uint32_t beats = vectors.next(), latency = vectors.next(), lead = vectors.next();
        std::vector<Part> parts(vectors.next());
        uint32_t size = 0;
        for (Part& part : parts) {
            const uint64_t rows = vectors.next();
            part.words = vectors.next();
            part.first = vectors.next();
            const bool indexed = vectors.next();
            part.table = vectors.take(rows * part.words);
            part.index = indexed ? vectors.take(count) : nullptr;
            if (!indexed && rows != count) return MALFORMED;
            for (uint64_t k = 0; indexed && k < count; ++k)
                if (part.index[k] >= rows) return MALFORMED;
            if (part.first + part.words > size) size = part.first + part.words;
        }
        if (size != beats * BEAT_WORDS + LATE_WORDS) return MALFORMED;
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
                half_cycle(*top, CLK, 0);
                if (OUT_VALID) {
                    if (got >= sent + shown) return STRAY;
                    answer(&answers[got++ * ANSWER_WORDS]);
                    silent = 0;
                }
                if (shown && IN_READY) {
                    shown = false;
                    ++sent;
                }
                half_cycle(*top, CLK, 1);
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
                half_cycle(*top, CLK, 0);
                if (now >= latency && (now - latency) % beats == 0) answer(&answers[got++ * ANSWER_WORDS]);
                half_cycle(*top, CLK, 1);
            }
        }
        if (std::fwrite(answers.data(), 4, got * ANSWER_WORDS, out) != got * ANSWER_WORDS) return UNWRITTEN;
        if (got != count) return SILENT;
    }
    for (uint32_t k = 0; KIND == STREAM && k < QUIET; ++k) {
        IN_VALID = 0;
        half_cycle(*top, CLK, 0);
        if (OUT_VALID) return STRAY;
        half_cycle(*top, CLK, 1);
    }
    return std::fclose(out) ? UNWRITTEN : 0;
}
