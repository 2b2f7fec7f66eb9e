// Cross-correlation of single channels: sums of scaled rows.
#include <algorithm>
#include <cstring>

#include "kernels/loops.hpp"
#include "kernels/tables.hpp"
#include "kernels/windows.hpp"

MT_NAMESPACE {
namespace {

// Places of a row that are summed together; strides and reaches of kernels up to which rows are laid out for it.
constexpr int64_t TOGETHER = 128, STRIDES = 4, REACH = 64;
constexpr int64_t LAID_OUT = TOGETHER + REACH + 4 * WIDTH;

// Elements begin, begin + step, ... of a row of n, and zeros where there are none.
inline void lay_out(const float* row, int64_t n, int64_t begin, int64_t step, int64_t count, float* line) {
    // Most rows need no division.
    const int64_t lowest = begin >= 0 ? 0 : std::min(count, step == 1 ? -begin : (-begin + step - 1) / step), room = n - 1 - begin;
    const int64_t end = room < 0 ? 0 : room >= (count - 1) * step ? count : step == 1 ? room + 1 : room / step + 1;
    const int64_t highest = std::max(lowest, std::min(count, end));
    clear(line, lowest);
    copy_strided(row + begin + lowest * step, step, highest - lowest, line + lowest);
    clear(line + highest, count - highest);
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

// Rows of the plane of one channel, with their padding, laid out so that the taps of neighbouring places lie side by side, those of
// the next row of places behind them: how many numbers are laid out at most.
constexpr int64_t PLANE = 16384;

struct Plane {
    // Remainders by the strides; elements of a row of one remainder; rows of places that are laid out together.
    int64_t below, beside, pitch, together;

    explicit Plane(const Windows& w)
        : below(w.stride[1]),
          beside(w.stride[2]),
          pitch(w.output[2] + (w.kernel[2] - 1) * w.dilation[2] / w.stride[2]),
          together(PLANE / (below * beside * pitch) - (w.kernel[1] - 1) * w.dilation[1] / w.stride[1]) {}

    bool fits(const Windows& w) const {
        return w.output[0] == 1 && w.kernel[0] == 1 && w.input[0] == 1 && w.padding[0] == 0 && below <= STRIDES &&
               beside <= STRIDES && w.kernel[1] * w.kernel[2] <= REACH && together > 0;
    }
};

// One output plane of one channel: rows are laid out once, and each sum is made in registers.
void correlate_plane(const float* x, const float* weights, float bias, float* result, const Windows& w,
                     const Plane& plane) {
    alignas(64) thread_local static float room[PLANE + 4 * WIDTH], made[PLANE + 4 * WIDTH];
    const float* taps[REACH];
    for (int64_t first = 0; first < w.output[1]; first += plane.together) {
        const int64_t places = std::min(plane.together, w.output[1] - first);
        const int64_t rows = places + (w.kernel[1] - 1) * w.dilation[1] / plane.below, size = rows * plane.pitch;
        for (int64_t h = 0; h < rows * plane.below; ++h)
            for (int64_t r = 0; r < plane.beside; ++r) {
                float* line = room + (h % plane.below * plane.beside + r) * size + h / plane.below * plane.pitch;
                const int64_t row = first * plane.below + h - w.padding[1];
                if (row < 0 || row >= w.input[1]) clear(line, plane.pitch);
                else lay_out(x + row * w.input[2], w.input[2], r - w.padding[2], w.stride[2], plane.pitch, line);
            }
        int64_t count = 0;
        for (int64_t b = 0; b < w.kernel[1]; ++b)
            for (int64_t c = 0; c < w.kernel[2]; ++c) {
                const int64_t down = b * w.dilation[1], across = c * w.dilation[2];
                taps[count++] = room + (down % plane.below * plane.beside + across % plane.beside) * size +
                                down / plane.below * plane.pitch + across / plane.beside;
            }
        const bool direct = plane.pitch == w.output[2];
        const int64_t total = (places - 1) * plane.pitch + w.output[2];
        for (int64_t o = 0; o < total; o += 4 * WIDTH) {
            Vector held[4];
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) held[i] = bias - Vector{};
            for (int64_t t = 0; t < count; ++t) {
                const Vector factor = weights[t] - Vector{};
                const float* tap = taps[t] + o;
#pragma GCC unroll 4
                for (int i = 0; i < 4; ++i) held[i] += factor * load(tap + i * WIDTH);
            }
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) *reinterpret_cast<Vector*>(made + o + i * WIDTH) = held[i];
        }
        if (direct) std::memcpy(result, made, sizeof(float) * static_cast<size_t>(total));
        else
            for (int64_t j = 0; j < places; ++j)
                copy_strided(made + j * plane.pitch, 1, w.output[2], result + j * w.output[2]);
        result += places * w.output[2];
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

// Channels [begin, end) of `count` neighbouring places of a row, whose windows lie inside along the row: `of_place` apart in the input.
template <int PLACES>
MT_FLAT void add_channels(const float* const* taps, const int64_t* which, int64_t count, const float* weights, int64_t channels,
                          const float* bias, int64_t of_place, float* result) {
    for (int64_t c = 0; c < channels; c += WIDTH) {
        const Lanes lanes(0, std::min<int64_t>(WIDTH, channels - c));
        Vector held[PLACES];
        const Vector more = bias == nullptr ? Vector{} : merged(Vector{}, bias + c, lanes);
#pragma GCC unroll 8
        for (int i = 0; i < PLACES; ++i) held[i] = more;
        for (int64_t t = 0; t < count; ++t) {
            const Vector factor = merged(Vector{}, weights + which[t] * channels + c, lanes);
#pragma GCC unroll 8
            for (int i = 0; i < PLACES; ++i) held[i] += factor * merged(Vector{}, taps[t] + i * of_place + c, lanes);
        }
#pragma GCC unroll 8
        for (int i = 0; i < PLACES; ++i) store_some(held[i], result + i * channels + c, lanes.end);
    }
}

void correlate_channels(const float* x, const float* weights, const float* bias, float* result, const Correlation& s,
                        int64_t begin, int64_t end) {
    constexpr int PLACES = 4;
    const Windows& w = s.windows;
    const int64_t channels = s.outputs, step = w.stride[2] * s.strides[3];
    const float* taps[REACH];
    int64_t which[REACH];
    for (int64_t at = begin; at < end; ++at) {
        const int64_t j = at % w.output[1], i = at / w.output[1] % w.output[0], sample = at / w.output[1] / w.output[0];
        float* to = result + at * w.output[2] * channels;
        for (int64_t k = 0; k < w.output[2];) {
            const int64_t first = k * w.stride[2] - w.padding[2], reach = (w.kernel[2] - 1) * w.dilation[2];
            const int64_t last = (k + PLACES - 1) * w.stride[2] - w.padding[2];
            const bool several = k + PLACES <= w.output[2] && first >= 0 && last + reach < w.input[2];
            int64_t count = 0, number = 0;
            for (int64_t a = 0; a < w.kernel[0]; ++a)
                for (int64_t b = 0; b < w.kernel[1]; ++b)
                    for (int64_t c = 0; c < w.kernel[2]; ++c, ++number) {
                        const int64_t depth = i * w.stride[0] + a * w.dilation[0] - w.padding[0];
                        const int64_t height = j * w.stride[1] + b * w.dilation[1] - w.padding[1];
                        const int64_t along = first + c * w.dilation[2];
                        if (depth < 0 || depth >= w.input[0] || height < 0 || height >= w.input[1] || along < 0 ||
                            along >= w.input[2])
                            continue;
                        which[count] = number;
                        taps[count++] = x + sample * s.of_sample + depth * s.strides[1] + height * s.strides[2] + along * s.strides[3];
                    }
            if (several) add_channels<PLACES>(taps, which, count, weights, channels, bias, step, to);
            else add_channels<1>(taps, which, count, weights, channels, bias, step, to);
            k += several ? PLACES : 1;
            to += (several ? PLACES : 1) * channels;
        }
    }
}

// Sums over a plane of products with COUNT windows that are neighbours in a row.
template <int COUNT>
MT_FLAT void dot_planes(const float* x, const float* weights, const Correlation& s, int64_t row, int64_t first, float* result) {
    const Windows& w = s.windows;
    const int64_t jump = w.dilation[2] * s.strides[3];
    Vector sums[COUNT];
#pragma GCC unroll 8
    for (int q = 0; q < COUNT; ++q) sums[q] = Vector{};
    for (int64_t t = 0; t < w.kernel[2]; t += WIDTH) {
        const Lanes lanes(0, std::min<int64_t>(WIDTH, w.kernel[2] - t));
        Lanes reached[COUNT];
        const float* from[COUNT];
        for (int q = 0; q < COUNT; ++q) {
            const int64_t at = (first + q) * w.stride[2] - w.padding[2] + t * w.dilation[2], spread = w.dilation[2];
            const int64_t begin = std::min<int64_t>(lanes.end, at >= 0 ? 0 : (-at + spread - 1) / spread);
            const int64_t end = std::min<int64_t>(lanes.end, w.input[2] - 1 - at < 0 ? 0 : (w.input[2] - 1 - at) / spread + 1);
            reached[q] = Lanes(begin, std::max(begin, end));
            from[q] = x + at * s.strides[3];
        }
        for (int64_t r = 0; r < w.kernel[1]; ++r) {
            const int64_t height = row * w.stride[1] - w.padding[1] + r * w.dilation[1];
            if (height < 0 || height >= w.input[1]) continue;
            const Vector factor = merged(Vector{}, weights + r * s.weight_strides[3] + t, lanes);
#pragma GCC unroll 8
            for (int q = 0; q < COUNT; ++q)
                sums[q] += factor * merged_apart(from[q] + height * s.strides[2], jump, reached[q]);
        }
    }
    for (int q = 0; q < COUNT; ++q) {
        float lanes[WIDTH];
        std::memcpy(lanes, &sums[q], sizeof(lanes));
        for (int half = WIDTH / 2; half > 0; half /= 2)
            for (int j = 0; j < half; ++j) lanes[j] += lanes[j + half];
        result[q] = lanes[0];
    }
}

void correlate_windows(const float* x, const float* weights, float bias, float* result, const Correlation& s) {
    const Windows& w = s.windows;
    for (int64_t j = 0; j < w.output[1]; ++j, result += w.output[2]) {
        int64_t k = 0;
        for (; k + 5 <= w.output[2]; k += 5) dot_planes<5>(x, weights, s, j, k, result + k);
        for (; k + 3 <= w.output[2]; k += 3) dot_planes<3>(x, weights, s, j, k, result + k);
        for (; k < w.output[2]; ++k) dot_planes<1>(x, weights, s, j, k, result + k);
        for (int64_t i = 0; i < w.output[2]; ++i) result[i] += bias;
    }
}

}  // namespace

extern const ConvRowsTable conv_rows;
const ConvRowsTable conv_rows = {REACH, correlate_rows, correlate_channels, correlate_windows};

}  // namespace
