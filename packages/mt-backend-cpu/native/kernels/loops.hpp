// Loops over contiguous memory that compilers turn into vector instructions.
//
// Elements are taken in blocks of a fixed number, the last one filled up, so that every element goes through the same
// instructions wherever it stands: results depend neither on alignment nor on the place in a row.
#pragma once

#include <cstdint>
#include <cstring>

#define MT_NAME2(LEVEL) LEVEL
#define MT_NAMESPACE namespace mt::MT_NAME2(MT_LEVEL)

// Compilers of before 2022 have no shuffles of vectors that both GCC and Clang know.
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define MT_SHUFFLES
#endif
#endif

// A call within a loop is what keeps it from becoming vector instructions.
#define MT_INLINE inline __attribute__((always_inline))
#define MT_FLAT __attribute__((flatten)) inline

#if defined(__clang__)
#define MT_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define MT_VECTORIZE _Pragma("GCC ivdep")
#endif

MT_NAMESPACE {

// Elements in a block.
constexpr int BLOCK = 64;

template <class F, class From, class To>
MT_FLAT void map(const From* x, To* result, int64_t n, F f) {
    int64_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        const From* from = x + i;
        To* to = result + i;
        MT_VECTORIZE
        for (int j = 0; j < BLOCK; ++j) to[j] = f(from[j]);
    }
    if (i == n) return;
    From rest[BLOCK] = {};
    To made[BLOCK];
    std::memcpy(rest, x + i, sizeof(From) * static_cast<size_t>(n - i));
    MT_VECTORIZE
    for (int j = 0; j < BLOCK; ++j) made[j] = f(rest[j]);
    std::memcpy(result + i, made, sizeof(To) * static_cast<size_t>(n - i));
}

template <class F, class T>
MT_FLAT void map2(const T* a, const T* b, T* result, int64_t n, F f) {
    int64_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        const T *one = a + i, *other = b + i;
        T* to = result + i;
        MT_VECTORIZE
        for (int j = 0; j < BLOCK; ++j) to[j] = f(one[j], other[j]);
    }
    if (i == n) return;
    T rest_a[BLOCK] = {}, rest_b[BLOCK] = {}, made[BLOCK];
    std::memcpy(rest_a, a + i, sizeof(T) * static_cast<size_t>(n - i));
    std::memcpy(rest_b, b + i, sizeof(T) * static_cast<size_t>(n - i));
    MT_VECTORIZE
    for (int j = 0; j < BLOCK; ++j) made[j] = f(rest_a[j], rest_b[j]);
    std::memcpy(result + i, made, sizeof(T) * static_cast<size_t>(n - i));
}

template <class F, class T>
MT_FLAT void map3(const T* a, const T* b, const T* c, T* result, int64_t n, F f) {
    int64_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK) {
        const T *one = a + i, *other = b + i, *third = c + i;
        T* to = result + i;
        MT_VECTORIZE
        for (int j = 0; j < BLOCK; ++j) to[j] = f(one[j], other[j], third[j]);
    }
    if (i == n) return;
    T rest_a[BLOCK] = {}, rest_b[BLOCK] = {}, rest_c[BLOCK] = {}, made[BLOCK];
    std::memcpy(rest_a, a + i, sizeof(T) * static_cast<size_t>(n - i));
    std::memcpy(rest_b, b + i, sizeof(T) * static_cast<size_t>(n - i));
    std::memcpy(rest_c, c + i, sizeof(T) * static_cast<size_t>(n - i));
    MT_VECTORIZE
    for (int j = 0; j < BLOCK; ++j) made[j] = f(rest_a[j], rest_b[j], rest_c[j]);
    std::memcpy(result + i, made, sizeof(T) * static_cast<size_t>(n - i));
}

// Partial results of a reduction, one for each lane.
constexpr int LANES = 32;

// `join(accumulated, each(i))` over [0, n), lane by lane and then pairwise over the lanes.
template <class T, class Each, class Join>
MT_FLAT T reduce(int64_t n, T initial, Each each, Join join) {
    T lanes[LANES];
    for (int j = 0; j < LANES; ++j) lanes[j] = initial;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        MT_VECTORIZE
        for (int j = 0; j < LANES; ++j) lanes[j] = join(lanes[j], each(i + j));
    }
    for (int j = 0; i + j < n; ++j) lanes[j] = join(lanes[j], each(i + j));
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half; ++j) lanes[j] = join(lanes[j], lanes[j + half]);
    return lanes[0];
}

// Sums of at most so many terms per lane are added up before the next begin: errors grow with it and not with n.
constexpr int64_t RUN = 128 * LANES;

template <class T, class Each>
T sum_between(int64_t begin, int64_t end, const Each& each) {
    const int64_t n = end - begin;
    if (n <= RUN)
        return reduce<T>(n, T(0), [&](int64_t i) { return each(begin + i); }, [](T a, T b) { return a + b; });
    const int64_t middle = begin + (n / 2 + RUN - 1) / RUN * RUN;
    return sum_between<T>(begin, middle, each) + sum_between<T>(middle, end, each);
}

template <class T, class Each>
inline T sum(int64_t n, const Each& each) { return sum_between<T>(0, n, each); }

// The widest vectors of this level.
#if defined(__AVX512F__)
constexpr int WIDTH = 16;
#elif defined(__AVX2__)
constexpr int WIDTH = 8;
#else
constexpr int WIDTH = 4;
#endif

using Vector = float __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));

MT_INLINE Vector load(const float* from) { return *reinterpret_cast<const Vector*>(from); }

// Vectors that are reduced side by side, so that none waits for the one before.
constexpr int HELD = 4;

// `join(accumulated, f(elements of the arrays...))`, lane by lane and then pairwise over the lanes. Both take numbers, and
// vectors of them.
template <class F, class Join, class... Arrays>
MT_FLAT float reduce_arrays(int64_t n, float initial, F f, Join join, Arrays... arrays) {
    float lanes[HELD * WIDTH];
    int64_t i = 0;
    Vector held[HELD];
#pragma GCC unroll 4
    for (int v = 0; v < HELD; ++v) held[v] = initial - Vector{};
    for (; i + HELD * WIDTH <= n; i += HELD * WIDTH) {
#pragma GCC unroll 4
        for (int v = 0; v < HELD; ++v) held[v] = join(held[v], f(load(arrays + i + v * WIDTH)...));
    }
#pragma GCC unroll 4
    for (int v = 0; v < HELD; ++v) *reinterpret_cast<Vector*>(lanes + v * WIDTH) = held[v];
    for (int j = 0; i + j < n; ++j) lanes[j] = join(lanes[j], f(arrays[i + j]...));
    for (int half = HELD * WIDTH / 2; half > 0; half /= 2)
        for (int j = 0; j < half; ++j) lanes[j] = join(lanes[j], lanes[j + half]);
    return lanes[0];
}

struct Added {
    template <class T>
    MT_INLINE T operator()(T a, T b) const {
        return a + b;
    }
};

template <class F, class... Arrays>
float sum_arrays(int64_t n, const F& f, Arrays... arrays) {
    constexpr int64_t MOST = 128 * HELD * WIDTH;
    if (n <= MOST) return reduce_arrays(n, 0.f, f, Added{}, arrays...);
    const int64_t middle = (n / 2 + MOST - 1) / MOST * MOST;
    return sum_arrays(middle, f, arrays...) + sum_arrays(n - middle, f, (arrays + middle)...);
}

}  // namespace
