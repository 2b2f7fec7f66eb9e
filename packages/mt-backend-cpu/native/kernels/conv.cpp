// Cross-correlation: products of packed weights and of windows that are packed on the way; where a group has few outputs,
// sums of scaled rows; where windows have more elements than places, as in gradients of weights, products along them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/loops.hpp"
#include "kernels/tables.hpp"
#include "kernels/tiles.hpp"

MT_NAMESPACE {
namespace {

// So many places are packed together.
constexpr int64_t STRIP = 128;

int64_t packed_size(int64_t outputs, int64_t depth) { return whole_tiles(outputs) * depth; }

void pack_weights(const float* w, int64_t outputs, int64_t depth, float* packed) {
    for (int64_t first = 0; first < outputs; first += HEIGHT)
        for (int64_t k = 0; k < depth; ++k)
            for (int64_t i = 0; i < HEIGHT; ++i)
                *packed++ = first + i < outputs ? w[(first + i) * depth + k] : 0.f;
}

#ifdef MT_SHUFFLES
// Every other element of two vectors.
template <size_t... I>
MT_INLINE Vector every_other(Vector a, Vector b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, (2 * I)...);
}
#endif

MT_INLINE void copy_strided(const float* from, int64_t jump, int64_t n, float* to) {
    if (n <= 0) return;
    if (jump == 1) {
        // Rows are short: a call of memcpy for each would cost more than the copy.
        int64_t o = 0;
        for (; o + WIDTH <= n; o += WIDTH) *reinterpret_cast<Vector*>(to + o) = load(from + o);
        if (o == n) return;
        if (n >= WIDTH) {
            *reinterpret_cast<Vector*>(to + n - WIDTH) = load(from + n - WIDTH);
            return;
        }
        for (; o < n; ++o) to[o] = from[o];
    } else if (jump == 2) {
        int64_t o = 0;
#ifdef MT_SHUFFLES
        // What is read ends before the last element that is wanted.
        for (; o + WIDTH < n; o += WIDTH)
            *reinterpret_cast<Vector*>(to + o) = every_other(load(from + 2 * o), load(from + 2 * o + WIDTH),
                                                             std::make_index_sequence<static_cast<size_t>(WIDTH)>());
#endif
        for (; o < n; ++o) to[o] = from[o * 2];
    } else {
        for (int64_t o = 0; o < n; ++o) to[o] = from[o * jump];
    }
}

// Places [first, first + n) of the output, of one element of the window: what lies there, or 0 in the padding.
inline void line_of(const float* x, const Correlation& s, int64_t term, int64_t first, int64_t n, float* line) {
    const Windows& w = s.windows;
    int64_t rest = term;
    const int64_t c = rest % w.kernel[2], b = rest / w.kernel[2] % w.kernel[1];
    rest /= w.kernel[2] * w.kernel[1];
    const float* channel = x + rest / w.kernel[0] * s.strides[0];
    const int64_t a = rest % w.kernel[0];
    const int64_t step = w.stride[2], offset = c * w.dilation[2] - w.padding[2];
    const int64_t inner = s.strides[3], jump = step * inner;
    int64_t k = first % w.output[2], j = first / w.output[2] % w.output[1], i = first / w.output[2] / w.output[1];
    // Outputs of a row whose element lies in the input.
    const int64_t lowest = offset >= 0 ? 0 : (-offset + step - 1) / step;
    const int64_t highest = w.input[2] - 1 - offset < 0 ? 0 : (w.input[2] - 1 - offset) / step + 1;
    for (int64_t done = 0; done < n;) {
        const int64_t run = std::min(n - done, w.output[2] - k);
        const int64_t depth = i * w.stride[0] + a * w.dilation[0] - w.padding[0];
        const int64_t height = j * w.stride[1] + b * w.dilation[1] - w.padding[1];
        float* to = line + done;
        if (depth < 0 || depth >= w.input[0] || height < 0 || height >= w.input[1]) {
            std::fill(to, to + run, 0.f);
        } else {
            const int64_t begin = std::min(std::max(lowest - k, int64_t{0}), run);
            const int64_t end = std::max(begin, std::min(highest - k, run));
            const float* row = channel + depth * s.strides[1] + height * s.strides[2];
            copy_strided(row + ((k + begin) * step + offset) * inner, jump, end - begin, to + begin);
            std::fill(to, to + begin, 0.f);
            std::fill(to + end, to + run, 0.f);
        }
        done += run;
        k = 0;
        if (++j == w.output[1]) {
            j = 0;
            ++i;
        }
    }
}

// The places [first, first + n), n <= STRIP, of one sample's outputs in one group.
void correlate(const float* x, const float* packed, const float* bias, float* result, const Correlation& s,
               int64_t first, int64_t n) {
    alignas(64) thread_local static float strip[DEPTH * STRIP];
    alignas(64) float tile[HEIGHT * ACROSS], line[STRIP];
    const int64_t panels = (n + ACROSS - 1) / ACROSS;
    for (int64_t start = 0; start < s.depth; start += DEPTH) {
        const int64_t depth = std::min(DEPTH, s.depth - start);
        for (int64_t k = 0; k < depth; ++k) {
            line_of(x, s, start + k, first, n, line);
            std::fill(line + n, line + panels * ACROSS, 0.f);
            for (int64_t p = 0; p < panels; ++p) {
                float* to = strip + (p * depth + k) * ACROSS;
                const Vector left = load(line + p * ACROSS), right = load(line + p * ACROSS + WIDTH);
                *reinterpret_cast<Vector*>(to) = left;
                *reinterpret_cast<Vector*>(to + WIDTH) = right;
            }
        }
        for (int64_t o = 0; o < s.outputs; o += HEIGHT) {
            const int64_t high = std::min<int64_t>(HEIGHT, s.outputs - o);
            for (int64_t p = 0; p < panels; ++p) {
                multiply_some(packed + o * s.depth + start * HEIGHT, strip + p * depth * ACROSS, depth, tile, high);
                const int64_t across = std::min<int64_t>(ACROSS, n - p * ACROSS);
                for (int64_t i = 0; i < high; ++i) {
                    float* to = result + (o + i) * s.output_strides[0] + (first + p * ACROSS) * s.output_strides[1];
                    const float* from = tile + i * ACROSS;
                    const float more = bias == nullptr ? 0.f : bias[o + i];
                    if (s.output_strides[1] == 1) {
                        if (start == 0) {
                            MT_VECTORIZE
                            for (int64_t j = 0; j < across; ++j) to[j] = from[j] + more;
                        } else {
                            MT_VECTORIZE
                            for (int64_t j = 0; j < across; ++j) to[j] += from[j];
                        }
                    } else if (start == 0) {
                        for (int64_t j = 0; j < across; ++j) to[j * s.output_strides[1]] = from[j] + more;
                    } else {
                        for (int64_t j = 0; j < across; ++j) to[j * s.output_strides[1]] += from[j];
                    }
                }
            }
        }
    }
}

// Places of a row that are summed together; strides and reaches of kernels up to which rows are laid out for it.
constexpr int64_t TOGETHER = 128, STRIDES = 4, REACH = 64;
constexpr int64_t LAID_OUT = TOGETHER + REACH + 4 * WIDTH;

// Elements begin, begin + step, ... of a row of n, and zeros where there are none.
inline void lay_out(const float* row, int64_t n, int64_t begin, int64_t step, int64_t count, float* line) {
    const int64_t lowest = begin >= 0 ? 0 : std::min(count, (-begin + step - 1) / step);
    const int64_t highest = std::max(lowest, std::min(count, n - 1 - begin < 0 ? 0 : (n - 1 - begin) / step + 1));
    std::fill(line, line + lowest, 0.f);
    copy_strided(row + begin + lowest * step, step, highest - lowest, line + lowest);
    std::fill(line + highest, line + count, 0.f);
}

// sums[o] += factors[d] * taps[d][o], for o < n rounded up to four vectors.
MT_FLAT void add_taps(const float* const* taps, const float* factors, int64_t count, float* sums, int64_t n) {
    for (int64_t o = 0; o < n; o += 4 * WIDTH) {
        Vector held[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) held[i] = load(sums + o + i * WIDTH);
        for (int64_t d = 0; d < count; ++d) {
            const Vector factor = factors[d] - Vector{};
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) held[i] += factor * load(taps[d] + o + i * WIDTH);
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) *reinterpret_cast<Vector*>(sums + o + i * WIDTH) = held[i];
    }
}

// Adds what one row of the input gives to n places of the output from `first`.
void add_row(const float* row, const float* factors, const Windows& w, int64_t first, int64_t n, float* sums) {
    const int64_t step = w.stride[2], spread = w.dilation[2], begin = first * step - w.padding[2];
    float lines[STRIDES][LAID_OUT];
    if (step <= STRIDES && (w.kernel[2] - 1) * spread / step < REACH) {
        const int64_t reach = (w.kernel[2] - 1) * spread / step;
        for (int64_t r = 0; r < step; ++r) {
            lay_out(row, w.input[2], begin + r, step, n + reach, lines[r]);
            std::fill(lines[r] + n + reach, lines[r] + n + reach + 4 * WIDTH, 0.f);
        }
        for (int64_t d = 0; d < w.kernel[2]; d += REACH) {
            const int64_t count = std::min(REACH, w.kernel[2] - d);
            const float* taps[REACH];
            for (int64_t t = 0; t < count; ++t)
                taps[t] = lines[(d + t) * spread % step] + (d + t) * spread / step;
            add_taps(taps, factors + d, count, sums, n);
        }
        return;
    }
    for (int64_t d = 0; d < w.kernel[2]; ++d) {
        lay_out(row, w.input[2], begin + d * spread, step, n, lines[0]);
        std::fill(lines[0] + n, lines[0] + n + 4 * WIDTH, 0.f);
        const float* tap = lines[0];
        add_taps(&tap, factors + d, 1, sums, n);
    }
}

// The plane of one channel, with its padding, laid out so that the taps of neighbouring places lie side by side: numbers
// that it takes, and up to how many it is laid out.
constexpr int64_t PLANE = 16384;

struct Plane {
    int64_t height, phases, pitch;  // rows, remainders by the stride, elements of a row of one remainder

    explicit Plane(const Windows& w)
        : height((w.output[1] - 1) * w.stride[1] + (w.kernel[1] - 1) * w.dilation[1] + 1),
          phases(w.stride[2]),
          pitch((w.output[2] + 4 * WIDTH - 1) / (4 * WIDTH) * (4 * WIDTH) +
                (w.kernel[2] - 1) * w.dilation[2] / w.stride[2]) {}

    bool fits(const Windows& w) const {
        return w.output[0] == 1 && w.kernel[0] == 1 && w.input[0] == 1 && w.padding[0] == 0 && phases <= STRIDES &&
               w.kernel[1] * w.kernel[2] <= REACH && height <= PLANE && height * phases * pitch <= PLANE;
    }
};

// One output plane of one channel: all rows are laid out once, and each sum is made in registers.
void correlate_plane(const float* x, const float* weights, float bias, float* result, const Windows& w,
                     const Plane& plane) {
    float room[PLANE];
    const float* taps[REACH];
    for (int64_t h = 0; h < plane.height; ++h)
        for (int64_t r = 0; r < plane.phases; ++r) {
            float* line = room + (h * plane.phases + r) * plane.pitch;
            const int64_t row = h - w.padding[1];
            if (row < 0 || row >= w.input[1]) std::fill(line, line + plane.pitch, 0.f);
            else lay_out(x + row * w.input[2], w.input[2], r - w.padding[2], w.stride[2], plane.pitch, line);
        }
    int64_t count = 0;
    for (int64_t b = 0; b < w.kernel[1]; ++b)
        for (int64_t c = 0; c < w.kernel[2]; ++c) {
            const int64_t at = c * w.dilation[2];
            taps[count++] = room + (b * w.dilation[1] * plane.phases + at % plane.phases) * plane.pitch + at / plane.phases;
        }
    const int64_t step = w.stride[1] * plane.phases * plane.pitch;
    for (int64_t j = 0; j < w.output[1]; ++j, result += w.output[2])
        for (int64_t o = 0; o < w.output[2]; o += 4 * WIDTH) {
            Vector held[4];
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) held[i] = bias - Vector{};
            for (int64_t t = 0; t < count; ++t) {
                const Vector factor = weights[t] - Vector{};
                const float* tap = taps[t] + j * step + o;
#pragma GCC unroll 4
                for (int i = 0; i < 4; ++i) held[i] += factor * load(tap + i * WIDTH);
            }
            const int64_t n = std::min<int64_t>(4 * WIDTH, w.output[2] - o);
            std::memcpy(result + o, held, sizeof(float) * static_cast<size_t>(n));
        }
}

// One output plane as sums of scaled rows of the input; x and the result row-major.
void correlate_rows(const float* x, const float* weights, float bias, float* result, const Correlation& s) {
    const Windows& w = s.windows;
    const int64_t channels = s.depth / (w.kernel[0] * w.kernel[1] * w.kernel[2]);
    const Plane plane(w);
    if (channels == 1 && plane.fits(w)) {
        correlate_plane(x, weights, bias, result, w, plane);
        return;
    }
    float sums[TOGETHER + 4 * WIDTH];
    for (int64_t i = 0; i < w.output[0]; ++i)
        for (int64_t j = 0; j < w.output[1]; ++j)
            for (int64_t first = 0; first < w.output[2]; first += TOGETHER) {
                const int64_t n = std::min(TOGETHER, w.output[2] - first);
                std::fill(sums, sums + n + 4 * WIDTH, bias);
                const float* factors = weights;
                for (int64_t c = 0; c < channels; ++c)
                    for (int64_t a = 0; a < w.kernel[0]; ++a)
                        for (int64_t b = 0; b < w.kernel[1]; ++b, factors += w.kernel[2]) {
                            const int64_t depth = i * w.stride[0] + a * w.dilation[0] - w.padding[0];
                            const int64_t height = j * w.stride[1] + b * w.dilation[1] - w.padding[1];
                            if (depth < 0 || depth >= w.input[0] || height < 0 || height >= w.input[1]) continue;
                            const float* row = x + ((c * w.input[0] + depth) * w.input[1] + height) * w.input[2];
                            add_row(row, factors, w, first, n, sums);
                        }
                std::copy(sums, sums + n, result);
                result += n;
            }
}

// A tile of sums: ROWS outputs of LINES windows, which are multiplied STRETCH terms at a time. As many outputs as `ROWS_AT_ONCE`
// share the windows once these are laid out.
#if defined(__AVX512F__)
constexpr int ROWS = 4, LINES = 6;
#elif defined(__AVX2__)
constexpr int ROWS = 2, LINES = 4;
#else
constexpr int ROWS = 2, LINES = 3;
#endif
constexpr int64_t STRETCH = 512, ROWS_AT_ONCE = 64;

// Elements [first, first + n) of the window at a place, over all channels.
inline void window_of(const float* x, const Correlation& s, int64_t place, int64_t first, int64_t n, float* line) {
    const Windows& w = s.windows;
    const int64_t k = place % w.output[2], j = place / w.output[2] % w.output[1], i = place / w.output[2] / w.output[1];
    const int64_t spread = w.dilation[2], start = k * w.stride[2] - w.padding[2], jump = spread * s.strides[3];
    const int64_t lowest = start >= 0 ? 0 : (-start + spread - 1) / spread;
    const int64_t highest = w.input[2] - 1 - start < 0 ? 0 : (w.input[2] - 1 - start) / spread + 1;
    int64_t d = first % w.kernel[2], b = first / w.kernel[2] % w.kernel[1];
    int64_t a = first / w.kernel[2] / w.kernel[1] % w.kernel[0], c = first / w.kernel[2] / w.kernel[1] / w.kernel[0];
    for (int64_t done = 0; done < n;) {
        const int64_t run = std::min(n - done, w.kernel[2] - d);
        const int64_t depth = i * w.stride[0] + a * w.dilation[0] - w.padding[0];
        const int64_t height = j * w.stride[1] + b * w.dilation[1] - w.padding[1];
        float* to = line + done;
        if (depth < 0 || depth >= w.input[0] || height < 0 || height >= w.input[1]) {
            std::fill(to, to + run, 0.f);
        } else {
            const int64_t begin = std::min(std::max(lowest - d, int64_t{0}), run);
            const int64_t end = std::max(begin, std::min(highest - d, run));
            const float* row = x + c * s.strides[0] + depth * s.strides[1] + height * s.strides[2];
            copy_strided(row + (start + (d + begin) * spread) * s.strides[3], jump, end - begin, to + begin);
            std::fill(to, to + begin, 0.f);
            std::fill(to + end, to + run, 0.f);
        }
        done += run;
        d = 0;
        if (++b == w.kernel[1]) {
            b = 0;
            if (++a == w.kernel[0]) {
                a = 0;
                ++c;
            }
        }
    }
}

// Adds products of `rows` of weights, `pitch` apart, and lines, STRETCH apart, lane by lane.
template <int HIGH>
MT_FLAT void add_products(const float* weights, int64_t pitch, const float* lines, int64_t n, Vector* sums) {
    Vector held[HIGH][LINES];
#pragma GCC unroll 8
    for (int r = 0; r < HIGH; ++r)
#pragma GCC unroll 8
        for (int l = 0; l < LINES; ++l) held[r][l] = sums[r * LINES + l];
    int64_t t = 0;
    for (; t + WIDTH <= n; t += WIDTH) {
        Vector line[LINES];
#pragma GCC unroll 8
        for (int l = 0; l < LINES; ++l) line[l] = load(lines + l * STRETCH + t);
#pragma GCC unroll 8
        for (int r = 0; r < HIGH; ++r) {
            const Vector factor = load(weights + r * pitch + t);
#pragma GCC unroll 8
            for (int l = 0; l < LINES; ++l) held[r][l] += factor * line[l];
        }
    }
    if (t < n) {
        const size_t bytes = sizeof(float) * static_cast<size_t>(n - t);
        for (int r = 0; r < HIGH; ++r)
            for (int l = 0; l < LINES; ++l) {
                Vector factor{}, line{};
                std::memcpy(&factor, weights + r * pitch + t, bytes);
                std::memcpy(&line, lines + l * STRETCH + t, bytes);
                held[r][l] += factor * line;
            }
    }
#pragma GCC unroll 8
    for (int r = 0; r < HIGH; ++r)
#pragma GCC unroll 8
        for (int l = 0; l < LINES; ++l) sums[r * LINES + l] = held[r][l];
}

// All outputs of a group at places [first, first + n), n <= LINES, of all samples' places one after another; samples
// begin `of_sample` apart, and their results `of_result`.
void correlate_long(const float* x, const float* weights, const float* bias, float* result, const Correlation& s,
                    int64_t of_sample, int64_t of_result, int64_t first, int64_t n) {
    const Windows& w = s.windows;
    const int64_t places = w.output[0] * w.output[1] * w.output[2];
    alignas(64) float lines[LINES * STRETCH];
    alignas(64) Vector sums[ROWS_AT_ONCE * LINES];
    for (int64_t o = 0; o < s.outputs; o += ROWS_AT_ONCE) {
        const int64_t high = std::min(ROWS_AT_ONCE, s.outputs - o);
        std::fill(sums, sums + high * LINES, Vector{});
        for (int64_t start = 0; start < s.depth; start += STRETCH) {
            const int64_t terms = std::min(STRETCH, s.depth - start);
            for (int64_t l = 0; l < LINES; ++l) {
                float* line = lines + l * STRETCH;
                if (l < n) window_of(x + (first + l) / places * of_sample, s, (first + l) % places, start, terms, line);
                else std::fill(line, line + terms, 0.f);
            }
            const float* from = weights + o * s.depth + start;
            int64_t r = 0;
            for (; r + ROWS <= high; r += ROWS)
                add_products<ROWS>(from + r * s.depth, s.depth, lines, terms, sums + r * LINES);
            for (; r < high; ++r) add_products<1>(from + r * s.depth, s.depth, lines, terms, sums + r * LINES);
        }
        for (int64_t r = 0; r < high; ++r)
            for (int64_t l = 0; l < n; ++l) {
                float lanes[WIDTH];
                std::memcpy(lanes, &sums[r * LINES + l], sizeof(lanes));
                for (int half = WIDTH / 2; half > 0; half /= 2)
                    for (int j = 0; j < half; ++j) lanes[j] += lanes[j + half];
                const int64_t place = (first + l) % places;
                result[(first + l) / places * of_result + (o + r) * s.output_strides[0] + place * s.output_strides[1]] =
                    bias == nullptr ? lanes[0] : lanes[0] + bias[o + r];
            }
    }
}

}  // namespace

extern const ConvTable conv;
const ConvTable conv = {STRIP, LINES, packed_size, pack_weights, correlate, correlate_rows, correlate_long};

}  // namespace
