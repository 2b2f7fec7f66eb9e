// Sums, means and extremes along dimensions that lie side by side.
#include "kernels/loops.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

float sum_all(const float* x, int64_t n) {
    return sum_arrays(n, [](auto v) { return v; }, x);
}

void sum_rows(const float* x, float* result, int64_t rows, int64_t length, float divisor) {
    for (int64_t r = 0; r < rows; ++r) result[r] = sum_all(x + r * length, length) / divisor;
}

// In double precision, for the terms of a column are added one after another; several rows for each time that the sums are
// read and written.
void add_rows(const float* x, int64_t rows, int64_t step, int64_t n, double* sums) {
    constexpr int64_t TOGETHER = 8;
    for (; rows >= TOGETHER; rows -= TOGETHER, x += TOGETHER * step) {
        MT_VECTORIZE
        for (int64_t k = 0; k < n; ++k) {
            double sum = sums[k];
#pragma GCC unroll 8
            for (int64_t r = 0; r < TOGETHER; ++r) sum += static_cast<double>(x[r * step + k]);
            sums[k] = sum;
        }
    }
    for (; rows > 0; --rows, x += step) {
        MT_VECTORIZE
        for (int64_t k = 0; k < n; ++k) sums[k] += static_cast<double>(x[k]);
    }
}

// NaN is the result where either is.
struct Larger {
    template <class T>
    MT_INLINE T operator()(T a, T b) const {
        return (a >= b) | (a != a) ? a : b;
    }
};

struct Smaller {
    template <class T>
    MT_INLINE T operator()(T a, T b) const {
        return (a <= b) | (a != a) ? a : b;
    }
};

// Of several vectors' largest or smallest numbers, which are NaN where one is not a number: the instruction for the larger of
// two gives the second where either is NaN, so that these are looked for beside it.
template <bool Greatest, class T>
MT_INLINE T further(T a, T b) {
    return Greatest ? (a > b ? a : b) : (a < b ? a : b);
}

template <bool Greatest>
MT_FLAT float extreme_of_row(const float* x, int64_t n) {
    constexpr int64_t STEP = HELD * WIDTH;
    if (n >= STEP) {
        Vector held[HELD];
        auto odd = load(x) != load(x);
#pragma GCC unroll 4
        for (int v = 0; v < HELD; ++v) held[v] = load(x + v * WIDTH);
        const auto add = [&](const float* from) {
#pragma GCC unroll 4
            for (int v = 0; v < HELD; ++v) {
                const Vector next = load(from + v * WIDTH);
                odd |= next != next;
                held[v] = further<Greatest>(held[v], next);
            }
        };
        int64_t i = 0;
        for (; i + STEP <= n; i += STEP) add(x + i);
        if (i < n) add(x + n - STEP);  // some of them twice
        bool any = false;
        for (int j = 0; j < WIDTH; ++j) any = any | (odd[j] != 0);
        if (!any) {
            float found = held[0][0];
            for (int v = 0; v < HELD; ++v)
                for (int j = 0; j < WIDTH; ++j) found = further<Greatest>(found, held[v][j]);
            return found;
        }
    }
    if (Greatest) return reduce_arrays(n, x[0], [](auto v) { return v; }, Larger{}, x);
    return reduce_arrays(n, x[0], [](auto v) { return v; }, Smaller{}, x);
}

template <bool Greatest, class Join>
MT_FLAT void extreme(const float* x, float* result, int64_t outer, int64_t length, int64_t inner, int64_t n, Join join) {
    if (inner == 1) {
        for (int64_t o = 0; o < outer; ++o, x += length) result[o] = extreme_of_row<Greatest>(x, length);
        return;
    }
    for (int64_t o = 0; o < outer; ++o, x += length * inner, result += inner) {
        std::memcpy(result, x, sizeof(float) * static_cast<size_t>(n));
        for (int64_t i = 1; i < length; ++i) {
            const float* from = x + i * inner;
            MT_VECTORIZE
            for (int64_t k = 0; k < n; ++k) result[k] = join(result[k], from[k]);
        }
    }
}

void amax(const float* x, float* result, int64_t outer, int64_t length, int64_t inner, int64_t n) {
    extreme<true>(x, result, outer, length, inner, n, Larger{});
}

void amin(const float* x, float* result, int64_t outer, int64_t length, int64_t inner, int64_t n) {
    extreme<false>(x, result, outer, length, inner, n, Smaller{});
}

}  // namespace

extern const ReductionTable reduction;
const ReductionTable reduction = {sum_rows, add_rows, amax, amin, sum_all};

}  // namespace
