// Pooling: the largest elements and the means of windows.
#include <algorithm>
#include <limits>

#include "kernels/loops.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

// Elements of an output row, or channels, that are worked on together.
constexpr int64_t TOGETHER = 128;

// The window's elements along one dimension that lie in the input: [begin, end) of the window.
struct Inside {
    int64_t begin, end;
};

inline Inside inside(int64_t start, int64_t size, int64_t kernel, int64_t dilation) {
    const int64_t begin = start < 0 ? (-start + dilation - 1) / dilation : 0;
    const int64_t end = start >= size ? 0 : std::min(kernel, (size - start + dilation - 1) / dilation);
    return {begin, std::max(begin, end)};
}

inline int64_t start_of(const Windows& w, int d, int64_t at) { return at * w.stride[d] - w.padding[d]; }

inline Inside inside(const Windows& w, int d, int64_t at) {
    return inside(start_of(w, d, at), w.input[d], w.kernel[d], w.dilation[d]);
}

// Outputs [first, last) of [begin, end) whose element at `offset` of the innermost dimension lies in the input.
inline Inside reaching(const Windows& w, int64_t offset, int64_t begin, int64_t end) {
    const int64_t step = w.stride[2], behind = w.input[2] - 1 - offset;
    const int64_t first = offset >= 0 ? 0 : (-offset + step - 1) / step;
    const int64_t last = behind < 0 ? 0 : behind / step + 1;
    const int64_t from = std::max(first, begin);
    return {from, std::max(from, std::min(last, end))};
}

// How many elements a window's mean is over, along one dimension.
inline int64_t counted(const Windows& w, int d, int64_t at, bool with_padding) {
    const int64_t start = start_of(w, d, at), end = std::min(start + w.kernel[d], w.input[d] + w.padding[d]);
    return with_padding ? end - start : std::min(end, w.input[d]) - std::max<int64_t>(start, 0);
}

// A NaN takes the place of all, and keeps it against all but another NaN.
template <int STEP, bool PLACES>
MT_FLAT void take_larger(const float* from, int64_t stride, int32_t place, float* best, int32_t* places, int64_t begin,
                         int64_t end) {
    const int64_t step = STEP ? STEP : stride;
    MT_VECTORIZE
    for (int64_t o = begin; o < end; ++o) {
        const float v = from[o * step];
        const bool taken = v > best[o] || v != v;
        best[o] = taken ? v : best[o];
        if (PLACES) places[o] = taken ? place + static_cast<int32_t>(o * step) : places[o];
    }
}

template <bool PLACES>
inline void take_larger_by_step(const float* from, int64_t stride, int32_t place, float* best, int32_t* places,
                                int64_t begin, int64_t end) {
    if (stride == 1) return take_larger<1, PLACES>(from, stride, place, best, places, begin, end);
    if (stride == 2) return take_larger<2, PLACES>(from, stride, place, best, places, begin, end);
    take_larger<0, PLACES>(from, stride, place, best, places, begin, end);
}

// Where a window's first element that lies in the input does, along one dimension.
inline int64_t first_inside(const Windows& w, int d, int64_t at) {
    return start_of(w, d, at) + inside(w, d, at).begin * w.dilation[d];
}

template <bool PLACES>
void max_planes_as(const float* x, float* result, int64_t* places, const Windows& w, int64_t planes) {
    const int64_t plane = w.input[0] * w.input[1] * w.input[2];
    float best[TOGETHER];
    int32_t found[TOGETHER];
    for (int64_t p = 0; p < planes; ++p, x += plane)
        for (int64_t i = 0; i < w.output[0]; ++i)
            for (int64_t j = 0; j < w.output[1]; ++j) {
                const Inside depth = inside(w, 0, i), height = inside(w, 1, j);
                const int64_t corner = (first_inside(w, 0, i) * w.input[1] + first_inside(w, 1, j)) * w.input[2];
                for (int64_t begin = 0; begin < w.output[2]; begin += TOGETHER) {
                    const int64_t end = std::min(begin + TOGETHER, w.output[2]);
                    for (int64_t o = 0; o < end - begin; ++o) {
                        best[o] = -std::numeric_limits<float>::infinity();
                        if (PLACES) found[o] = static_cast<int32_t>(corner + first_inside(w, 2, begin + o));
                    }
                    for (int64_t a = depth.begin; a < depth.end; ++a)
                        for (int64_t b = height.begin; b < height.end; ++b) {
                            const int64_t row = ((start_of(w, 0, i) + a * w.dilation[0]) * w.input[1] +
                                                 start_of(w, 1, j) + b * w.dilation[1]) * w.input[2];
                            for (int64_t c = 0; c < w.kernel[2]; ++c) {
                                const int64_t offset = c * w.dilation[2] - w.padding[2];
                                const Inside outputs = reaching(w, offset, begin, end);
                                const int64_t at = row + offset + begin * w.stride[2];
                                take_larger_by_step<PLACES>(x + at, w.stride[2], static_cast<int32_t>(at), best, found,
                                                            outputs.begin - begin, outputs.end - begin);
                            }
                        }
                    for (int64_t o = 0; o < end - begin; ++o) result[o] = best[o];
                    result += end - begin;
                    if (!PLACES) continue;
                    for (int64_t o = 0; o < end - begin; ++o) places[o] = found[o];
                    places += end - begin;
                }
            }
}

void max_planes(const float* x, float* result, int64_t* places, const Windows& w, int64_t planes) {
    if (places == nullptr) max_planes_as<false>(x, result, places, w, planes);
    else max_planes_as<true>(x, result, places, w, planes);
}

// Calls `each(position in the plane)` for the elements of a window that lie in the input.
template <class Each>
MT_FLAT void visit(const Windows& w, int64_t i, int64_t j, int64_t k, Each each) {
    const Inside depth = inside(w, 0, i), height = inside(w, 1, j), width = inside(w, 2, k);
    for (int64_t a = depth.begin; a < depth.end; ++a)
        for (int64_t b = height.begin; b < height.end; ++b)
            for (int64_t c = width.begin; c < width.end; ++c)
                each(((start_of(w, 0, i) + a * w.dilation[0]) * w.input[1] + start_of(w, 1, j) + b * w.dilation[1]) *
                         w.input[2] + start_of(w, 2, k) + c * w.dilation[2]);
}

template <bool PLACES>
void max_rows_as(const float* x, float* result, int64_t* places, const Windows& w, int64_t channels, int64_t begin,
                 int64_t end) {
    const int64_t plane = w.input[0] * w.input[1] * w.input[2];
    float best[TOGETHER];
    int32_t found[TOGETHER];
    for (int64_t line = begin; line < end; ++line) {
        const int64_t j = line % w.output[1], i = line / w.output[1] % w.output[0];
        const float* from = x + line / w.output[1] / w.output[0] * plane * channels;
        for (int64_t k = 0; k < w.output[2]; ++k) {
            const int64_t at = (line * w.output[2] + k) * channels;
            // Where nothing is larger than -infinity, PyTorch names this place, whatever the depth.
            const int32_t first = static_cast<int32_t>(first_inside(w, 1, j) * w.input[2] + first_inside(w, 2, k));
            for (int64_t start = 0; start < channels; start += TOGETHER) {
                const int64_t n = std::min(TOGETHER, channels - start);
                for (int64_t c = 0; c < n; ++c) {
                    best[c] = -std::numeric_limits<float>::infinity();
                    if (PLACES) found[c] = first;
                }
                visit(w, i, j, k, [&](int64_t position) {
                    const float* given = from + position * channels + start;
                    MT_VECTORIZE
                    for (int64_t c = 0; c < n; ++c) {
                        const float v = given[c];
                        const bool taken = v > best[c] || v != v;
                        best[c] = taken ? v : best[c];
                        if (PLACES) found[c] = taken ? static_cast<int32_t>(position) : found[c];
                    }
                });
                for (int64_t c = 0; c < n; ++c) result[at + start + c] = best[c];
                if (!PLACES) continue;
                for (int64_t c = 0; c < n; ++c) places[at + start + c] = found[c];
            }
        }
    }
}

void max_rows(const float* x, float* result, int64_t* places, const Windows& w, int64_t channels, int64_t begin,
              int64_t end) {
    if (places == nullptr) max_rows_as<false>(x, result, places, w, channels, begin, end);
    else max_rows_as<true>(x, result, places, w, channels, begin, end);
}

template <int STEP>
MT_FLAT void add_row(const float* from, int64_t stride, float* total, int64_t begin, int64_t end) {
    const int64_t step = STEP ? STEP : stride;
    MT_VECTORIZE
    for (int64_t o = begin; o < end; ++o) total[o] += from[o * step];
}

void mean_planes(const float* x, float* result, const Windows& w, const Divisor& divisor, int64_t planes) {
    const int64_t plane = w.input[0] * w.input[1] * w.input[2];
    float total[TOGETHER];
    for (int64_t p = 0; p < planes; ++p, x += plane)
        for (int64_t i = 0; i < w.output[0]; ++i)
            for (int64_t j = 0; j < w.output[1]; ++j) {
                const Inside depth = inside(w, 0, i), height = inside(w, 1, j);
                const int64_t count = counted(w, 0, i, divisor.with_padding) * counted(w, 1, j, divisor.with_padding);
                for (int64_t begin = 0; begin < w.output[2]; begin += TOGETHER) {
                    const int64_t end = std::min(begin + TOGETHER, w.output[2]);
                    std::fill(total, total + (end - begin), 0.f);
                    for (int64_t a = depth.begin; a < depth.end; ++a)
                        for (int64_t b = height.begin; b < height.end; ++b) {
                            const int64_t row = ((start_of(w, 0, i) + a) * w.input[1] + start_of(w, 1, j) + b) *
                                                w.input[2];
                            for (int64_t c = 0; c < w.kernel[2]; ++c) {
                                const int64_t offset = c - w.padding[2], step = w.stride[2];
                                const Inside outputs = reaching(w, offset, begin, end);
                                const float* from = x + row + offset + begin * step;
                                const int64_t first = outputs.begin - begin, last = outputs.end - begin;
                                if (step == 1) add_row<1>(from, step, total, first, last);
                                else if (step == 2) add_row<2>(from, step, total, first, last);
                                else add_row<0>(from, step, total, first, last);
                            }
                        }
                    for (int64_t o = 0; o < end - begin; ++o)
                        result[o] = total[o] / static_cast<float>(
                            divisor.fixed ? divisor.number : count * counted(w, 2, begin + o, divisor.with_padding));
                    result += end - begin;
                }
            }
}

void mean_rows(const float* x, float* result, const Windows& w, const Divisor& divisor, int64_t channels, int64_t begin,
               int64_t end) {
    const int64_t plane = w.input[0] * w.input[1] * w.input[2];
    for (int64_t line = begin; line < end; ++line) {
        const int64_t j = line % w.output[1], i = line / w.output[1] % w.output[0];
        const float* from = x + line / w.output[1] / w.output[0] * plane * channels;
        const int64_t count = counted(w, 0, i, divisor.with_padding) * counted(w, 1, j, divisor.with_padding);
        for (int64_t k = 0; k < w.output[2]; ++k) {
            float* to = result + (line * w.output[2] + k) * channels;
            std::fill(to, to + channels, 0.f);
            visit(w, i, j, k, [&](int64_t position) {
                const float* given = from + position * channels;
                MT_VECTORIZE
                for (int64_t c = 0; c < channels; ++c) to[c] += given[c];
            });
            const float n = static_cast<float>(divisor.fixed ? divisor.number
                                                             : count * counted(w, 2, k, divisor.with_padding));
            MT_VECTORIZE
            for (int64_t c = 0; c < channels; ++c) to[c] /= n;
        }
    }
}

void mean_planes_backward(const float* grad, float* result, const Windows& w, const Divisor& divisor, int64_t planes) {
    const int64_t plane = w.input[0] * w.input[1] * w.input[2];
    std::fill(result, result + planes * plane, 0.f);
    float share[TOGETHER];
    for (int64_t p = 0; p < planes; ++p, result += plane)
        for (int64_t i = 0; i < w.output[0]; ++i)
            for (int64_t j = 0; j < w.output[1]; ++j) {
                const Inside depth = inside(w, 0, i), height = inside(w, 1, j);
                const int64_t count = counted(w, 0, i, divisor.with_padding) * counted(w, 1, j, divisor.with_padding);
                for (int64_t begin = 0; begin < w.output[2]; begin += TOGETHER) {
                    const int64_t end = std::min(begin + TOGETHER, w.output[2]);
                    for (int64_t o = 0; o < end - begin; ++o)
                        share[o] = grad[o] / static_cast<float>(
                            divisor.fixed ? divisor.number : count * counted(w, 2, begin + o, divisor.with_padding));
                    grad += end - begin;
                    for (int64_t a = depth.begin; a < depth.end; ++a)
                        for (int64_t b = height.begin; b < height.end; ++b) {
                            const int64_t row = ((start_of(w, 0, i) + a) * w.input[1] + start_of(w, 1, j) + b) *
                                                w.input[2];
                            for (int64_t c = 0; c < w.kernel[2]; ++c) {
                                const int64_t offset = c - w.padding[2], step = w.stride[2];
                                const Inside outputs = reaching(w, offset, begin, end);
                                float* to = result + row + offset + begin * step;
                                MT_VECTORIZE
                                for (int64_t o = outputs.begin - begin; o < outputs.end - begin; ++o)
                                    to[o * step] += share[o];
                            }
                        }
                }
            }
}

// Windows of as many places as are asked for: [at n / size, (at + 1) n / size), rounded down and up.
struct Span {
    int64_t begin, end;
};

inline Span span(const Windows& w, int d, int64_t at) {
    const int64_t n = w.input[d], size = w.output[d];
    return {at * n / size, ((at + 1) * n + size - 1) / size};
}

template <class Each>
MT_FLAT void each_span(const Windows& w, int64_t planes, Each each) {
    const int64_t plane = w.input[0] * w.input[1] * w.input[2];
    int64_t at = 0;
    for (int64_t p = 0; p < planes; ++p)
        for (int64_t i = 0; i < w.output[0]; ++i)
            for (int64_t j = 0; j < w.output[1]; ++j)
                for (int64_t k = 0; k < w.output[2]; ++k, ++at)
                    each(p * plane, at, span(w, 0, i), span(w, 1, j), span(w, 2, k));
}

void adaptive_max(const float* x, float* result, int64_t* places, const Windows& w, int64_t planes) {
    each_span(w, planes, [&](int64_t plane, int64_t at, Span depth, Span height, Span width) {
        float best = -std::numeric_limits<float>::infinity();
        int64_t place = (depth.begin * w.input[1] + height.begin) * w.input[2] + width.begin;
        for (int64_t a = depth.begin; a < depth.end; ++a)
            for (int64_t b = height.begin; b < height.end; ++b)
                for (int64_t c = width.begin; c < width.end; ++c) {
                    const int64_t position = (a * w.input[1] + b) * w.input[2] + c;
                    const float v = x[plane + position];
                    if (v > best || v != v) {
                        best = v;
                        place = position;
                    }
                }
        result[at] = best;
        places[at] = place;
    });
}

void adaptive_mean(const float* x, float* result, const Windows& w, int64_t planes) {
    each_span(w, planes, [&](int64_t plane, int64_t at, Span depth, Span height, Span width) {
        float total = 0.f;
        for (int64_t a = depth.begin; a < depth.end; ++a)
            for (int64_t b = height.begin; b < height.end; ++b) {
                const float* row = x + plane + (a * w.input[1] + b) * w.input[2];
                for (int64_t c = width.begin; c < width.end; ++c) total += row[c];
            }
        const int64_t count = (depth.end - depth.begin) * (height.end - height.begin) * (width.end - width.begin);
        result[at] = total / static_cast<float>(count);
    });
}

void adaptive_mean_backward(const float* grad, float* result, const Windows& w, int64_t planes) {
    std::fill(result, result + planes * w.input[0] * w.input[1] * w.input[2], 0.f);
    each_span(w, planes, [&](int64_t plane, int64_t at, Span depth, Span height, Span width) {
        const int64_t count = (depth.end - depth.begin) * (height.end - height.begin) * (width.end - width.begin);
        const float share = grad[at] / static_cast<float>(count);
        for (int64_t a = depth.begin; a < depth.end; ++a)
            for (int64_t b = height.begin; b < height.end; ++b) {
                float* row = result + plane + (a * w.input[1] + b) * w.input[2];
                for (int64_t c = width.begin; c < width.end; ++c) row[c] += share;
            }
    });
}

}  // namespace

extern const PoolTable pool;
const PoolTable pool = {
    max_planes, max_rows, mean_planes, mean_rows, mean_planes_backward, adaptive_max, adaptive_mean,
    adaptive_mean_backward,
};

}  // namespace
