// Products of packed matrices, tile by tile.
#pragma once

#include <algorithm>

#include "kernels/loops.hpp"

MT_NAMESPACE {

#if defined(__AVX512F__)
constexpr int HEIGHT = 12;
#elif defined(__AVX2__)
constexpr int HEIGHT = 6;
#else
constexpr int HEIGHT = 4;
#endif

// A tile of the product: HEIGHT rows of ACROSS columns.
constexpr int ACROSS = 2 * WIDTH;
// At most so many terms are added up before the next begin.
constexpr int64_t DEPTH = 192;

// a (depth, HEIGHT), b (depth, ACROSS) -> the first HIGH rows of the product (HEIGHT, ACROSS).
template <int HIGH>
MT_FLAT void multiply_rows(const float* a, const float* b, int64_t depth, float* product) {
    Vector sums[HIGH][2];
#pragma GCC unroll 16
    for (int i = 0; i < HIGH; ++i) sums[i][0] = sums[i][1] = Vector{};
    for (int64_t k = 0; k < depth; ++k, a += HEIGHT, b += ACROSS) {
        const Vector left = load(b), right = load(b + WIDTH);
#pragma GCC unroll 16
        for (int i = 0; i < HIGH; ++i) {
            const Vector factor = a[i] - Vector{};
            sums[i][0] += factor * left;
            sums[i][1] += factor * right;
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < HIGH; ++i) {
        *reinterpret_cast<Vector*>(product + i * ACROSS) = sums[i][0];
        *reinterpret_cast<Vector*>(product + i * ACROSS + WIDTH) = sums[i][1];
    }
}

inline void multiply(const float* a, const float* b, int64_t depth, float* product) {
    multiply_rows<HEIGHT>(a, b, depth, product);
}

// The same where `high` rows are wanted: fewer are computed where that many do.
inline void multiply_some(const float* a, const float* b, int64_t depth, float* product, int64_t high) {
    if (3 * high <= HEIGHT)
        multiply_rows<(HEIGHT + 2) / 3>(a, b, depth, product);
    else if (3 * high <= 2 * HEIGHT)
        multiply_rows<(2 * HEIGHT + 2) / 3>(a, b, depth, product);
    else
        multiply_rows<HEIGHT>(a, b, depth, product);
}

// The same of any depth.
MT_FLAT void multiply_deep(const float* a, const float* b, int64_t depth, float* product) {
    multiply(a, b, std::min(depth, DEPTH), product);
    for (int64_t start = DEPTH; start < depth; start += DEPTH) {
        alignas(64) float tile[HEIGHT * ACROSS];
        multiply(a + start * HEIGHT, b + start * ACROSS, std::min(DEPTH, depth - start), tile);
        MT_VECTORIZE
        for (int i = 0; i < HEIGHT * ACROSS; ++i) product[i] += tile[i];
    }
}

inline int64_t whole_tiles(int64_t n) { return (n + HEIGHT - 1) / HEIGHT * HEIGHT; }

}  // namespace
