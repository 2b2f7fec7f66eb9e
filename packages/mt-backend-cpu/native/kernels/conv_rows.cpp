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

}  // namespace

extern const ConvRowsTable conv_rows;
const ConvRowsTable conv_rows = {correlate_rows};

}  // namespace
