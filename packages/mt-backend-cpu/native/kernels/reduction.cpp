// Sums, means and extremes along dimensions that lie side by side.
#include "kernels/loops.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

// Columns whose results stand side by side.
constexpr int64_t COLUMNS = 256;

float sum_all(const float* x, int64_t n) {
    return sum_arrays(n, [](auto v) { return v; }, x);
}

void sum_along(const float* x, float* result, int64_t outer, int64_t length, int64_t inner, float divisor) {
    if (inner == 1) {
        for (int64_t o = 0; o < outer; ++o) result[o] = sum_all(x + o * length, length) / divisor;
        return;
    }
    // In double precision, for the terms of a column are added one after another.
    for (int64_t o = 0; o < outer; ++o, x += length * inner, result += inner)
        for (int64_t start = 0; start < inner; start += COLUMNS) {
            const int64_t count = inner - start < COLUMNS ? inner - start : COLUMNS;
            double sums[COLUMNS] = {};
            for (int64_t i = 0; i < length; ++i) {
                const float* from = x + i * inner + start;
                MT_VECTORIZE
                for (int64_t k = 0; k < count; ++k) sums[k] += static_cast<double>(from[k]);
            }
            MT_VECTORIZE
            for (int64_t k = 0; k < count; ++k) result[start + k] = static_cast<float>(sums[k]) / divisor;
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

template <class Join>
MT_FLAT void extreme(const float* x, float* result, int64_t outer, int64_t length, int64_t inner, Join join) {
    if (inner == 1) {
        for (int64_t o = 0; o < outer; ++o, x += length)
            result[o] = reduce_arrays(length, x[0], [](auto v) { return v; }, join, x);
        return;
    }
    for (int64_t o = 0; o < outer; ++o, x += length * inner, result += inner) {
        std::memcpy(result, x, sizeof(float) * static_cast<size_t>(inner));
        for (int64_t i = 1; i < length; ++i) {
            const float* from = x + i * inner;
            MT_VECTORIZE
            for (int64_t k = 0; k < inner; ++k) result[k] = join(result[k], from[k]);
        }
    }
}

void amax(const float* x, float* result, int64_t outer, int64_t length, int64_t inner) {
    extreme(x, result, outer, length, inner, Larger{});
}

void amin(const float* x, float* result, int64_t outer, int64_t length, int64_t inner) {
    extreme(x, result, outer, length, inner, Smaller{});
}

}  // namespace

extern const ReductionTable reduction;
const ReductionTable reduction = {sum_along, amax, amin, sum_all};

}  // namespace
