// Stable order of rows, digit by digit.
#include <algorithm>
#include <cstdint>

#include "kernels/math.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

constexpr int BITS = 8, DIGITS = 32 / BITS, NUMBERS = 1 << BITS;

// Unsigned numbers in the order of the elements: all NaNs are equal and greater than every number, both zeros are equal.
MT_INLINE uint32_t key_of(float x) {
    const int32_t bits = bits_of(x == 0.f ? 0.f : x);
    const uint32_t turned = static_cast<uint32_t>(bits) ^ (static_cast<uint32_t>(bits >> 31) | 0x80000000u);
    return x != x ? 0xffffffffu : turned;
}

MT_INLINE uint32_t key_of(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000u; }

// Orders n pairs by digits in `pairs`, by way of `spare`, and returns which of the two holds them at the end.
Keyed* by_digits(Keyed* pairs, Keyed* spare, int64_t n) {
    uint32_t counts[DIGITS][NUMBERS] = {};
    for (int64_t i = 0; i < n; ++i)
        for (int d = 0; d < DIGITS; ++d) ++counts[d][pairs[i].key >> (d * BITS) & (NUMBERS - 1)];
    for (int d = 0; d < DIGITS; ++d) {
        const int shift = d * BITS;
        if (counts[d][pairs[0].key >> shift & (NUMBERS - 1)] == n) continue;  // all have the same digit
        uint32_t begin = 0;
        for (uint32_t& count : counts[d]) {
            const uint32_t held = count;
            count = begin;
            begin += held;
        }
        for (int64_t i = 0; i < n; ++i) spare[counts[d][pairs[i].key >> shift & (NUMBERS - 1)]++] = pairs[i];
        std::swap(pairs, spare);
    }
    return pairs;
}

template <class T>
void order(const T* x, int64_t n, bool descending, T* values, int64_t* places, Keyed* space) {
    const uint32_t turned = descending ? 0xffffffffu : 0u;
    for (int64_t i = 0; i < n; ++i) space[i] = {key_of(x[i]) ^ turned, static_cast<uint32_t>(i)};
    const Keyed* found = by_digits(space, space + n, n);
    for (int64_t i = 0; i < n; ++i) {
        places[i] = found[i].place;
        values[i] = x[found[i].place];
    }
}

void order_floats(const void* x, int64_t n, bool descending, void* values, int64_t* places, Keyed* space) {
    order(static_cast<const float*>(x), n, descending, static_cast<float*>(values), places, space);
}

void order_integers(const void* x, int64_t n, bool descending, void* values, int64_t* places, Keyed* space) {
    order(static_cast<const int32_t*>(x), n, descending, static_cast<int32_t*>(values), places, space);
}

}  // namespace

extern const OrderTable sort_rows;
const OrderTable sort_rows = {order_floats, order_integers};

}  // namespace
