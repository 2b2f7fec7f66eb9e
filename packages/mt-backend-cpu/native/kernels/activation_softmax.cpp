// Softmax and its logarithm along rows.
#include <cmath>

#include "kernels/math.hpp"
#include "kernels/rows.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

void softmax(const float* x, float* result, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r, x += width, result += width) {
        const float most = greatest(x, width);
        map(x, result, width, [most](float v) { return exp(v - most); });
        const float* made = result;
        const float scale = 1.f / sum_arrays(width, [](auto v) { return v; }, made);
        map(made, result, width, [scale](float v) { return v * scale; });
    }
}

void log_softmax(const float* x, float* result, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r, x += width, result += width) {
        const float most = greatest(x, width);
        const float total = sum<float>(width, [x, most](int64_t i) { return exp(x[i] - most); });
        const float shift = std::log(total);
        map(x, result, width, [most, shift](float v) { return v - most - shift; });
    }
}

void softmax_backward(const float* grad, const float* y, float* result, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r, grad += width, y += width, result += width) {
        const float total = sum_arrays(width, [](auto g, auto v) { return g * v; }, grad, y);
        map2(grad, y, result, width, [total](float g, float v) { return (g - total) * v; });
    }
}

void log_softmax_backward(const float* grad, const float* y, float* result, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; ++r, grad += width, y += width, result += width) {
        const float total = sum_arrays(width, [](auto g) { return g; }, grad);
        map2(grad, y, result, width, [total](float g, float v) { return g - exp(v) * total; });
    }
}

// Columns that are gone through together.
constexpr int64_t ALONGSIDE = 64;

// The greatest of each column of (width, n), `step` apart; NaN as in `greatest`.
inline void greatest_of_columns(const float* x, float* most, int64_t width, int64_t step, int64_t n) {
    for (int64_t j = 0; j < n; ++j) most[j] = x[j];
    for (int64_t i = 1; i < width; ++i) {
        const float* row = x + i * step;
        MT_VECTORIZE
        for (int64_t j = 0; j < n; ++j) most[j] = most[j] > row[j] || most[j] != most[j] ? most[j] : row[j];
    }
}

// Rows whose sums are added up before the next begin: errors grow with it and with the number of such runs.
constexpr int64_t RUN_OF_ROWS = 128;

template <class Each>
MT_FLAT void sum_columns(float* total, int64_t width, int64_t n, Each each) {
    double whole[ALONGSIDE] = {};
    for (int64_t start = 0; start < width; start += RUN_OF_ROWS) {
        float part[ALONGSIDE] = {};
        const int64_t end = start + RUN_OF_ROWS < width ? start + RUN_OF_ROWS : width;
        for (int64_t i = start; i < end; ++i) {
            MT_VECTORIZE
            for (int64_t j = 0; j < n; ++j) part[j] += each(i, j);
        }
        for (int64_t j = 0; j < n; ++j) whole[j] += part[j];
    }
    for (int64_t j = 0; j < n; ++j) total[j] = static_cast<float>(whole[j]);
}

template <bool LOG>
void columns(const float* x, float* result, int64_t width, int64_t inner, int64_t begin, int64_t end) {
    float most[ALONGSIDE], total[ALONGSIDE];
    for (int64_t start = begin; start < end; start += ALONGSIDE) {
        const int64_t n = start + ALONGSIDE < end ? ALONGSIDE : end - start;
        const float* from = x + start;
        float* to = result + start;
        greatest_of_columns(from, most, width, inner, n);
        if (LOG) {
            sum_columns(total, width, n, [&](int64_t i, int64_t j) { return exp(from[i * inner + j] - most[j]); });
            for (int64_t j = 0; j < n; ++j) total[j] = std::log(total[j]);
            for (int64_t i = 0; i < width; ++i) {
                MT_VECTORIZE
                for (int64_t j = 0; j < n; ++j) to[i * inner + j] = from[i * inner + j] - most[j] - total[j];
            }
        } else {
            for (int64_t i = 0; i < width; ++i) {
                MT_VECTORIZE
                for (int64_t j = 0; j < n; ++j) to[i * inner + j] = exp(from[i * inner + j] - most[j]);
            }
            sum_columns(total, width, n, [&](int64_t i, int64_t j) { return to[i * inner + j]; });
            for (int64_t j = 0; j < n; ++j) total[j] = 1.f / total[j];
            for (int64_t i = 0; i < width; ++i) {
                MT_VECTORIZE
                for (int64_t j = 0; j < n; ++j) to[i * inner + j] *= total[j];
            }
        }
    }
}

template <bool LOG>
void columns_backward(const float* grad, const float* y, float* result, int64_t width, int64_t inner, int64_t begin,
                      int64_t end) {
    float total[ALONGSIDE];
    for (int64_t start = begin; start < end; start += ALONGSIDE) {
        const int64_t n = start + ALONGSIDE < end ? ALONGSIDE : end - start;
        const float *g = grad + start, *from = y + start;
        float* to = result + start;
        sum_columns(total, width, n, [&](int64_t i, int64_t j) {
            return LOG ? g[i * inner + j] : g[i * inner + j] * from[i * inner + j];
        });
        for (int64_t i = 0; i < width; ++i) {
            MT_VECTORIZE
            for (int64_t j = 0; j < n; ++j) {
                const int64_t at = i * inner + j;
                to[at] = LOG ? g[at] - exp(from[at]) * total[j] : (g[at] - total[j]) * from[at];
            }
        }
    }
}

}  // namespace

extern const SoftmaxTable activation_softmax;
const SoftmaxTable activation_softmax = {softmax, log_softmax, softmax_backward, log_softmax_backward,
                                         columns<false>, columns<true>, columns_backward<false>, columns_backward<true>};

}  // namespace
