// Cross-correlation as products of packed weights and of windows that are packed on the way, block by block.
//
// Terms are gone through place by place of the kernel, and for each channel by channel; where windows have more elements than there
// are places, as in gradients of weights, channel by channel first. Which of the two follows from the sizes alone, so that the
// order of a sum does not depend on how arrays lie.
#include <algorithm>
#include <cstring>

#include "kernels/loops.hpp"
#include "kernels/tables.hpp"
#include "kernels/tiles.hpp"
#include "kernels/windows.hpp"

MT_NAMESPACE {
namespace {

// So many columns, places of all samples one after another, are packed together.
constexpr int64_t STRIP = 4 * ACROSS;

int64_t packed_size(int64_t outputs, int64_t depth) { return whole_tiles(outputs) * depth; }

int64_t of_kernel(const Windows& w) { return w.kernel[0] * w.kernel[1] * w.kernel[2]; }
int64_t of_output(const Windows& w) { return w.output[0] * w.output[1] * w.output[2]; }

// Where in the kernel a term lies.
struct Tap {
    int64_t a, b, c;

    Tap(const Windows& w, int64_t tap)
        : a(tap / w.kernel[2] / w.kernel[1]), b(tap / w.kernel[2] % w.kernel[1]), c(tap % w.kernel[2]) {}

    void next(const Windows& w) {
        if (++c < w.kernel[2]) return;
        c = 0;
        if (++b < w.kernel[1]) return;
        b = 0;
        ++a;
    }
};

// n terms that lie `jump` apart, of `high` outputs: term t goes to row[place(t)] of the tile.
template <class Place>
MT_INLINE void pack_terms(const float* from, int64_t of_output, int64_t jump, int64_t n, int64_t high, float* tile, Place place) {
    int64_t t = 0;
    if (jump == 1 && high == HEIGHT)
        for (; t < n; t += WIDTH) {
            const int64_t some = std::min<int64_t>(WIDTH, n - t);
            Vector rows[WIDTH] = {};
#pragma GCC unroll 16
            for (int i = 0; i < HEIGHT; ++i)
                rows[i] = some == WIDTH ? load(from + i * of_output + t) : load_some(from + i * of_output + t, some);
            transpose_square(rows);
            for (int64_t j = 0; j < some; ++j) std::memcpy(tile + place(t + j) * HEIGHT, &rows[j], sizeof(float) * HEIGHT);
        }
    for (; t < n; ++t)
        for (int64_t i = 0; i < high; ++i) tile[place(t) * HEIGHT + i] = from[i * of_output + t * jump];
}

// Tiles [begin, end) of the weights, HEIGHT outputs each: (depth, HEIGHT), zeros behind the last output.
__attribute__((noinline)) void pack_weights(const float* weights, const Correlation& s, int64_t begin, int64_t end, float* packed) {
    const Windows& w = s.windows;
    const int64_t taps = of_kernel(w), channels = s.depth / taps, *steps = s.weight_strides;
    const int64_t of_tap = s.lengthy ? 1 : channels, of_channel = s.lengthy ? taps : 1;
    // Whether elements of a kernel follow each other, all channels' kernels do, or channels of an element.
    const bool rows = w.kernel[1] == 1 || steps[3] == steps[4] * w.kernel[2];
    const bool kernels = rows && (w.kernel[0] == 1 || steps[2] == (w.kernel[1] == 1 ? steps[4] * w.kernel[2] : steps[3] * w.kernel[1]));
    const bool whole = kernels && steps[1] == taps && (taps == 1 || steps[4] == 1), backwards = kernels && steps[4] == -1;
    for (int64_t at = begin; at < end; ++at) {
        const int64_t high = std::min<int64_t>(HEIGHT, s.outputs - at * HEIGHT);
        const float* from = weights + at * HEIGHT * steps[0];
        float* tile = packed + at * s.depth * HEIGHT;
        if (high < HEIGHT) std::fill(tile, tile + s.depth * HEIGHT, 0.f);
        if (whole && s.lengthy) {
            pack_terms(from, steps[0], 1, s.depth, high, tile, [](int64_t t) { return t; });
        } else if (whole) {
            pack_terms(from, steps[0], 1, s.depth, high, tile, [=](int64_t t) { return t % taps * channels + t / taps; });
        } else if (kernels && taps > 1 && steps[1] != 1) {
            for (int64_t c = 0; c < channels; ++c) {
                float* first = tile + c * of_channel * HEIGHT;
                const float* row = from + c * steps[1];
                if (backwards)
                    pack_terms(row - (taps - 1), steps[0], 1, taps, high, first, [=](int64_t t) { return (taps - 1 - t) * of_tap; });
                else pack_terms(row, steps[0], steps[4], taps, high, first, [=](int64_t t) { return t * of_tap; });
            }
        } else {
            Tap tap(w, 0);
            for (int64_t t = 0; t < taps; ++t, tap.next(w))
                pack_terms(from + tap.a * steps[2] + tap.b * steps[3] + tap.c * steps[4], steps[0], steps[1], channels, high,
                           tile + t * of_tap * HEIGHT, [=](int64_t c) { return c * of_channel; });
        }
    }
}

// Where the window of a column begins, and its result.
struct Column {
    const float* sample;
    int64_t start[3];
};

// Columns of a strip that follow each other in the input: places of a row, or samples.
struct Run {
    const float* from;
    int64_t at, n, begin, end;
};

MT_INLINE bool inside(int64_t at, int64_t size) { return at >= 0 && at < size; }

struct Strip {
    const Correlation& s;
    const Windows& w;
    int64_t first, n;
    Column columns[STRIP];
    int64_t where[STRIP];

    Strip(const float* x, const Correlation& given, int64_t begin, int64_t count)
        : s(given), w(given.windows), first(begin), n(count) {
        const int64_t places = of_output(w);
        int64_t sample = s.samples_first ? begin % s.samples : begin / places;
        int64_t place = s.samples_first ? begin / s.samples : begin % places;
        int64_t k = place % w.output[2], j = place / w.output[2] % w.output[1], i = place / w.output[2] / w.output[1];
        for (int64_t c = 0; c < n; ++c) {
            columns[c] = {x + sample * s.of_sample,
                          {i * w.stride[0] - w.padding[0], j * w.stride[1] - w.padding[1], k * w.stride[2] - w.padding[2]}};
            where[c] = sample * s.of_result + place * s.output_strides[1];
            if (s.samples_first && ++sample < s.samples) continue;
            if (s.samples_first) sample = 0;
            ++place;
            if (++k < w.output[2]) continue;
            k = 0;
            if (++j < w.output[1]) continue;
            j = 0;
            if (++i < w.output[0]) continue;
            i = place = 0;
            ++sample;
        }
    }

    // Where an element of the window lies, or null in the padding.
    MT_INLINE const float* element(const Column& column, const Tap& tap) const {
        const int64_t a = column.start[0] + tap.a * w.dilation[0], b = column.start[1] + tap.b * w.dilation[1];
        const int64_t c = column.start[2] + tap.c * w.dilation[2];
        if (!inside(a, w.input[0]) || !inside(b, w.input[1]) || !inside(c, w.input[2])) return nullptr;
        return column.sample + a * s.strides[1] + b * s.strides[2] + c * s.strides[3];
    }
};

// Columns [at, at + n) of a strip of which one element lies in the padding, or in a row of the input.
void find_runs(const Strip& strip, Run* runs, int64_t count, const Tap& tap, int64_t step, int64_t jump) {
    const Correlation& s = strip.s;
    const Windows& w = s.windows;
    for (int64_t r = 0; r < count; ++r) {
        Run& run = runs[r];
        const Column& column = strip.columns[run.at];
        const int64_t a = column.start[0] + tap.a * w.dilation[0], b = column.start[1] + tap.b * w.dilation[1];
        const int64_t c = column.start[2] + tap.c * w.dilation[2];
        run.begin = run.end = 0;
        if (!inside(a, w.input[0]) || !inside(b, w.input[1])) continue;
        if (s.samples_first) {
            run.end = inside(c, w.input[2]) ? run.n : 0;
        } else {
            // Most rows reach neither end: nothing is divided for them.
            const int64_t lowest = c >= 0 ? 0 : (-c + step - 1) / step, room = w.input[2] - 1 - c;
            const int64_t highest = room < 0 ? 0 : room >= (run.n - 1) * step ? run.n : room / step + 1;
            run.begin = std::min(lowest, run.n);
            run.end = std::max(run.begin, std::min(highest, run.n));
        }
        run.from = column.sample + a * s.strides[1] + b * s.strides[2] + c * s.strides[3] + run.begin * jump;
    }
}

// What WIDTH neighbouring columns hold of a row.
struct Piece {
    const float* from;
    Lanes lanes;
};

// The vector with what lies JUMP apart in each of the piece's lanes, which hold zeros.
template <int JUMP>
MT_INLINE Vector joined(Vector v, const Piece& piece, int64_t along) {
    if constexpr (JUMP == 1) return merged(v, piece.from + along, piece.lanes);
    using Bits = int32_t __attribute__((vector_size(WIDTH * 4)));
    return (Vector)((Bits)v | (Bits)merged_apart(piece.from + along, JUMP, piece.lanes));
}

// Rows (terms, ACROSS) of panels `pitch` apart, of columns whose elements lie JUMP apart in memory.
template <int JUMP>
void pack_pieces(const Strip& strip, const Run* runs, int64_t count, int64_t channel, int64_t terms, float* packed, int64_t pitch) {
    const int64_t along = strip.s.strides[0];
    Piece pieces[WIDTH];
    int64_t r = 0;
    for (int64_t first = 0; first < strip.n; first += WIDTH) {
        int64_t found = 0;
        while (r > 0 && runs[r - 1].at + runs[r - 1].n > first) --r;
        for (; r < count && runs[r].at < first + WIDTH; ++r) {
            const Run& run = runs[r];
            const int64_t begin = std::max(run.at + run.begin, first), end = std::min(run.at + run.end, first + WIDTH);
            if (begin < end)
                pieces[found++] = {run.from + channel * along - (run.at + run.begin - first) * JUMP, Lanes(begin - first, end - first)};
        }
        float* to = packed + first / ACROSS * pitch + first % ACROSS;
        if (found == 1) {
            const Piece piece = pieces[0];
            for (int64_t c = 0; c < terms; ++c)
                *reinterpret_cast<Vector*>(to + c * ACROSS) = joined<JUMP>(Vector{}, piece, c * along);
        } else if (found == 2) {
            const Piece piece = pieces[0], other = pieces[1];
            for (int64_t c = 0; c < terms; ++c)
                *reinterpret_cast<Vector*>(to + c * ACROSS) =
                    joined<JUMP>(joined<JUMP>(Vector{}, piece, c * along), other, c * along);
        } else {
            for (int64_t c = 0; c < terms; ++c) {
                Vector made{};
                for (int64_t i = 0; i < found; ++i) made = joined<JUMP>(made, pieces[i], c * along);
                *reinterpret_cast<Vector*>(to + c * ACROSS) = made;
            }
        }
    }
}

// The same of columns that lie some way apart: line by line, several before the first is read again; what lies in the padding
// is the same for all.
void pack_lines(const Strip& strip, const Run* runs, int64_t count, int64_t channel, int64_t terms, int64_t jump, float* packed,
                int64_t pitch) {
    constexpr int64_t LINES = 16;
    alignas(64) float lines[LINES * STRIP];
    std::fill(lines, lines + std::min(LINES, terms) * STRIP, 0.f);
    const int64_t panels = (strip.n + ACROSS - 1) / ACROSS, along = strip.s.strides[0];
    for (int64_t c = 0; c < terms; c += LINES) {
        const int64_t some = std::min(LINES, terms - c);
        for (int64_t i = 0; i < some; ++i)
            for (int64_t r = 0; r < count; ++r)
                copy_strided(runs[r].from + (channel + c + i) * along, jump, runs[r].end - runs[r].begin,
                             lines + i * STRIP + runs[r].at + runs[r].begin);
        for (int64_t i = 0; i < some; ++i)
            for (int64_t p = 0; p < panels; ++p) {
                float* to = packed + (c + i) * ACROSS + p * pitch;
                const Vector left = load(lines + i * STRIP + p * ACROSS), right = load(lines + i * STRIP + p * ACROSS + WIDTH);
                *reinterpret_cast<Vector*>(to) = left;
                *reinterpret_cast<Vector*>(to + WIDTH) = right;
            }
    }
}

// Terms [start, start + depth) of a strip, one after another, each of them along the columns: (panels, depth, ACROSS).
__attribute__((noinline)) void pack_along_columns(const Strip& strip, int64_t start, int64_t depth, float* packed) {
    const Correlation& s = strip.s;
    const Windows& w = s.windows;
    const int64_t taps = of_kernel(w), channels = s.depth / taps;
    const int64_t step = s.samples_first ? 1 : w.stride[2], jump = s.samples_first ? s.of_sample : step * s.strides[3];
    Run runs[STRIP];
    int64_t count = 0;
    for (int64_t c = 0; c < strip.n;) {
        int64_t run = s.samples_first ? s.samples - (strip.first + c) % s.samples : w.output[2] - (strip.first + c) % w.output[2];
        run = std::min(run, strip.n - c);
        runs[count++] = {nullptr, c, run, 0, 0};
        c += run;
    }
    for (int64_t k = start; k < start + depth;) {
        const int64_t channel = s.lengthy ? k / taps : k % channels;
        const int64_t terms = s.lengthy ? 1 : std::min(channels - channel, start + depth - k);
        find_runs(strip, runs, count, Tap(w, s.lengthy ? k % taps : k / channels), step, jump);
        float* to = packed + (k - start) * ACROSS;
        if (jump == 1) pack_pieces<1>(strip, runs, count, channel, terms, to, depth * ACROSS);
        else if (jump == 2) pack_pieces<2>(strip, runs, count, channel, terms, to, depth * ACROSS);
        else pack_lines(strip, runs, count, channel, terms, jump, to, depth * ACROSS);
        k += terms;
    }
}

// Squares of WIDTH columns and terms that lie along the columns' lines, transposed: rows from `to`, ACROSS apart.
template <class Line>
MT_INLINE void transpose_lines(int64_t n, int64_t columns, float* to, Line line) {
    for (int64_t t = 0; t < n; t += WIDTH) {
        const int64_t some = std::min<int64_t>(WIDTH, n - t);
        Vector rows[WIDTH];
        for (int64_t i = 0; i < WIDTH; ++i) {
            const float* from = i < columns ? line(i) : nullptr;
            rows[i] = from == nullptr ? Vector{} : some == WIDTH ? load(from + t) : load_some(from + t, some);
        }
        transpose_square(rows);
        for (int64_t j = 0; j < some; ++j) *reinterpret_cast<Vector*>(to + (t + j) * ACROSS) = rows[j];
    }
}

// The same where channels lie side by side.
__attribute__((noinline)) void pack_along_channels(const Strip& strip, int64_t start, int64_t depth, float* packed) {
    const Correlation& s = strip.s;
    const int64_t channels = s.depth / of_kernel(s.windows);
    const float* lines[WIDTH];
    for (int64_t first = 0; first < strip.n; first += WIDTH) {
        const int64_t columns = std::min<int64_t>(WIDTH, strip.n - first);
        float* panel = packed + first / ACROSS * depth * ACROSS + first % ACROSS;
        for (int64_t k = start; k < start + depth;) {
            const Tap tap(s.windows, k / channels);
            const int64_t channel = k % channels, together = std::min(channels - channel, start + depth - k);
            for (int64_t i = 0; i < columns; ++i) {
                lines[i] = strip.element(strip.columns[first + i], tap);
                if (lines[i] != nullptr) lines[i] += channel;
            }
            transpose_lines(together, columns, panel + (k - start) * ACROSS, [&](int64_t i) { return lines[i]; });
            k += together;
        }
    }
}

// The same where windows are longer than rows of places: squares of columns and of terms of one row of the kernel.
__attribute__((noinline)) void pack_along_windows(const Strip& strip, int64_t start, int64_t depth, float* packed) {
    const Correlation& s = strip.s;
    const Windows& w = s.windows;
    const int64_t taps = of_kernel(w), spread = w.dilation[2], jump = spread * s.strides[3];
    int64_t lowest[WIDTH], highest[WIDTH];
    for (int64_t first = 0; first < strip.n; first += WIDTH) {
        const int64_t columns = std::min<int64_t>(WIDTH, strip.n - first);
        const Column* column = strip.columns + first;
        for (int64_t i = 0; i < columns; ++i) {
            const int64_t begin = column[i].start[2];
            lowest[i] = begin >= 0 ? 0 : (-begin + spread - 1) / spread;
            highest[i] = w.input[2] - 1 - begin < 0 ? 0 : (w.input[2] - 1 - begin) / spread + 1;
        }
        float* to = packed + first / ACROSS * depth * ACROSS + first % ACROSS;
        int64_t channel = start / taps;
        Tap tap(w, start % taps);
        for (int64_t done = 0; done < depth;) {
            const int64_t n = std::min(std::min<int64_t>(WIDTH, depth - done), w.kernel[2] - tap.c);
            Vector rows[WIDTH];
            for (int64_t i = 0; i < WIDTH; ++i) rows[i] = Vector{};
            for (int64_t i = 0; i < columns; ++i) {
                const int64_t a = column[i].start[0] + tap.a * w.dilation[0], b = column[i].start[1] + tap.b * w.dilation[1];
                if (!inside(a, w.input[0]) || !inside(b, w.input[1])) continue;
                const float* from = column[i].sample + channel * s.strides[0] + a * s.strides[1] + b * s.strides[2] +
                                    column[i].start[2] * s.strides[3] + tap.c * jump;
                const int64_t begin = std::min(std::max(lowest[i] - tap.c, int64_t{0}), n);
                rows[i] = merged_apart(from, jump, Lanes(begin, std::max(begin, std::min(highest[i] - tap.c, n))));
            }
            transpose_square(rows);
            for (int64_t j = 0; j < n; ++j) *reinterpret_cast<Vector*>(to + (done + j) * ACROSS) = rows[j];
            done += n;
            tap.c += n - 1;
            tap.next(w);
            if (tap.a == w.kernel[0]) {
                tap.a = 0;
                ++channel;
            }
        }
    }
}

// A tile of the product into outputs from `to`, where[j] is the place of column j.
__attribute__((noinline)) void put_tile(const float* tile, const float* bias, int64_t high, int64_t across, float* to, int64_t of_output,
              const int64_t* where, bool add, bool ordered) {
    if (ordered && across == ACROSS && where[across - 1] - where[0] == across - 1 && of_output != 1) {
        for (int64_t i = 0; i < high; ++i) {
            float* row = to + i * of_output + where[0];
            const float more = bias == nullptr ? 0.f : bias[i];
            const Vector left = load(tile + i * ACROSS) + (add ? load(row) : more - Vector{});
            const Vector right = load(tile + i * ACROSS + WIDTH) + (add ? load(row + WIDTH) : more - Vector{});
            *reinterpret_cast<Vector*>(row) = left;
            *reinterpret_cast<Vector*>(row + WIDTH) = right;
        }
        return;
    }
    if (of_output != 1) {
        for (int64_t j = 0, n = 1; j < across; j += n, n = 1) {
            while (n < WIDTH && j + n < across && where[j + n] == where[j] + n) ++n;
            for (int64_t i = 0; i < high; ++i) {
                float* row = to + i * of_output + where[j];
                const Vector old = add ? load_some(row, n) : (bias == nullptr ? 0.f : bias[i]) - Vector{};
                store_some(old + load(tile + i * ACROSS + j), row, n);
            }
        }
        return;
    }
    // Outputs lie side by side.
    const Vector more = bias == nullptr ? Vector{} : load_some(bias, high);
    for (int64_t first = 0; first < across; first += WIDTH) {
        Vector rows[WIDTH] = {};
#pragma GCC unroll 16
        for (int i = 0; i < HEIGHT; ++i) rows[i] = load(tile + i * ACROSS + first);
        transpose_square(rows);
        for (int64_t j = first; j < std::min<int64_t>(across, first + WIDTH); ++j) {
            const Vector made = rows[j - first] + (add ? load_some(to + where[j], high) : more);
            store_some(made, to + where[j], high);
        }
    }
}

void correlate(const float* x, const float* packed, const float* bias, float* result, const Correlation& s,
               const CorrelationPart& part) {
    alignas(64) thread_local static float windows[DEPTH * STRIP];
    // What is read at once may end behind it.
    alignas(64) float tile[HEIGHT * ACROSS + WIDTH] = {};
    const Strip strip(x, s, part.first, part.n);
    const int64_t panels = (part.n + ACROSS - 1) / ACROSS;
    const bool channels = !s.lengthy && s.strides[0] == 1 && s.depth / of_kernel(s.windows) >= WIDTH / 2;
    for (int64_t start = part.from_term; start < part.to_term; start += DEPTH) {
        const int64_t depth = std::min(DEPTH, part.to_term - start);
        if (s.lengthy && !s.samples_first) pack_along_windows(strip, start, depth, windows);
        else if (channels) pack_along_channels(strip, start, depth, windows);
        else pack_along_columns(strip, start, depth, windows);
        const bool add = start != part.from_term;
        for (int64_t p = 0; p < panels; ++p) {
            const int64_t across = std::min<int64_t>(ACROSS, part.n - p * ACROSS);
            for (int64_t o = part.from_output; o < part.to_output; o += HEIGHT) {
                const int64_t high = std::min<int64_t>(HEIGHT, part.to_output - o);
                multiply_some(packed + o * s.depth + start * HEIGHT, windows + p * depth * ACROSS, depth, tile, high);
                put_tile(tile, bias == nullptr || start != 0 ? nullptr : bias + o, high, across,
                         result + o * s.output_strides[0], s.output_strides[0], strip.where + p * ACROSS, add, !s.samples_first);
            }
        }
    }
}

}  // namespace

extern const ConvTable conv;
const ConvTable conv = {STRIP, HEIGHT, DEPTH, packed_size, pack_weights, correlate};

}  // namespace
