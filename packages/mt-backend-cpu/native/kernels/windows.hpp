// Runs of elements that lie some way apart, and squares of them that are transposed.
#pragma once

#include <cstring>
#include <utility>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "kernels/loops.hpp"

MT_NAMESPACE {

#ifdef MT_SHUFFLES
// Every other element of two vectors.
template <size_t... I>
MT_INLINE Vector every_other(Vector a, Vector b, std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, (2 * I)...);
}
#endif

// WIDTH rows of WIDTH numbers, transposed in registers: log2 WIDTH rounds, in each of which rows i and i + WIDTH / 2 are interleaved.
#ifdef MT_SHUFFLES
template <size_t... I>
MT_INLINE void interleave(Vector* rows, std::index_sequence<I...>) {
    constexpr int HALF = WIDTH / 2;
    Vector made[WIDTH];
#pragma GCC unroll 16
    for (int i = 0; i < HALF; ++i) {
        made[2 * i] = __builtin_shufflevector(rows[i], rows[i + HALF], (I % 2 * WIDTH + I / 2)...);
        made[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + HALF], (I % 2 * WIDTH + HALF + I / 2)...);
    }
#pragma GCC unroll 16
    for (int i = 0; i < WIDTH; ++i) rows[i] = made[i];
}

MT_INLINE void transpose_square(Vector* rows) {
#pragma GCC unroll 8
    for (int size = 1; size < WIDTH; size *= 2) interleave(rows, std::make_index_sequence<static_cast<size_t>(WIDTH)>());
}
#else
inline void transpose_square(Vector* rows) {
    for (int i = 0; i < WIDTH; ++i)
        for (int j = i + 1; j < WIDTH; ++j) {
            const float held = rows[i][j];
            rows[i][j] = rows[j][i];
            rows[j][i] = held;
        }
}
#endif

// Neighbouring lanes of a vector.
struct Lanes {
    int32_t begin = 0, end = 0;
#if defined(__AVX512F__)
    __mmask16 bits = 0;
#endif

    Lanes() = default;
    Lanes(int64_t from, int64_t to) : begin(static_cast<int32_t>(from)), end(static_cast<int32_t>(to < from ? from : to)) {
#if defined(__AVX512F__)
        bits = static_cast<__mmask16>((1u << end) - (1u << begin));
#endif
    }
};

// The vector with from[j] in each of the lanes j; nothing else is read.
MT_INLINE Vector merged(Vector v, const float* from, const Lanes& lanes) {
#if defined(__AVX512F__)
    return (Vector)_mm512_mask_loadu_ps((__m512)v, lanes.bits, from);
#else
    if (lanes.end - lanes.begin == WIDTH) return load(from);
    float held[WIDTH];
    std::memcpy(held, &v, sizeof(held));
    for (int32_t j = lanes.begin; j < lanes.end; ++j) held[j] = from[j];
    return load(held);
#endif
}

// from[j * jump] in each of the lanes j, zeros in the others.
MT_INLINE Vector merged_apart(const float* from, int64_t jump, const Lanes& lanes) {
    if (jump == 1) return merged(Vector{}, from, lanes);
#ifdef MT_SHUFFLES
    if (jump == 2 && lanes.begin < lanes.end) {
        // From the first element that is wanted to the last, and what lies between.
        const int64_t first = 2 * lanes.begin, last = 2 * lanes.end - 1, width = WIDTH;
        const Vector left = merged(Vector{}, from, Lanes(std::min(first, width), std::min(last, width)));
        const Vector right = merged(Vector{}, from + WIDTH, Lanes(std::max(first - width, int64_t{0}), std::max(last - width, int64_t{0})));
        return every_other(left, right, std::make_index_sequence<static_cast<size_t>(WIDTH)>());
    }
#endif
    float held[WIDTH] = {};
    for (int64_t j = lanes.begin; j < lanes.end; ++j) held[j] = from[j * jump];
    return load(held);
}

// Up to WIDTH numbers, zeros behind them.
MT_INLINE Vector load_some(const float* from, int64_t n) { return merged(Vector{}, from, Lanes(0, n)); }

MT_INLINE void store_some(Vector v, float* to, int64_t n) {
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, Lanes(0, n).bits, (__m512)v);
#else
    std::memcpy(to, &v, sizeof(float) * static_cast<size_t>(n));
#endif
}

// n elements that lie `jump` apart. Runs are short: a call of memcpy for each would cost more than the copy.
MT_INLINE void copy_strided(const float* from, int64_t jump, int64_t n, float* to) {
#if defined(__AVX512F__) && defined(MT_SHUFFLES)
    if (jump <= 2) {
        for (int64_t o = 0; o < n; o += WIDTH) {
            const int64_t some = n - o < WIDTH ? n - o : WIDTH;
            store_some(merged_apart(from + o * jump, jump, Lanes(0, some)), to + o, some);
        }
        return;
    }
#else
    if (jump == 1 && n >= WIDTH) {
        for (int64_t o = 0; o + WIDTH <= n; o += WIDTH) *reinterpret_cast<Vector*>(to + o) = load(from + o);
        *reinterpret_cast<Vector*>(to + n - WIDTH) = load(from + n - WIDTH);
        return;
    }
#endif
    for (int64_t o = 0; o < n; ++o) to[o] = from[o * jump];
}

MT_INLINE void clear(float* to, int64_t n) {
    for (int64_t o = 0; o < n; o += WIDTH) store_some(Vector{}, to + o, n - o < WIDTH ? n - o : WIDTH);
}

}  // namespace
