// Arithmetic, several steps in one pass.
#include "kernels/math.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

void add(const float* a, const float* b, float* result, int64_t n) {
    map2(a, b, result, n, [](float x, float y) { return x + y; });
}

void sub(const float* a, const float* b, float* result, int64_t n) {
    map2(a, b, result, n, [](float x, float y) { return x - y; });
}

void mul(const float* a, const float* b, float* result, int64_t n) {
    map2(a, b, result, n, [](float x, float y) { return x * y; });
}

void div_(const float* a, const float* b, float* result, int64_t n) {
    map2(a, b, result, n, [](float x, float y) { return x / y; });
}

void add_brain(const uint16_t* a, const uint16_t* b, uint16_t* result, int64_t n) {
    map2(a, b, result, n, [](uint16_t x, uint16_t y) { return to_brain(from_brain(x) + from_brain(y)); });
}

void sub_brain(const uint16_t* a, const uint16_t* b, uint16_t* result, int64_t n) {
    map2(a, b, result, n, [](uint16_t x, uint16_t y) { return to_brain(from_brain(x) - from_brain(y)); });
}

void mul_brain(const uint16_t* a, const uint16_t* b, uint16_t* result, int64_t n) {
    map2(a, b, result, n, [](uint16_t x, uint16_t y) { return to_brain(from_brain(x) * from_brain(y)); });
}

void div_brain(const uint16_t* a, const uint16_t* b, uint16_t* result, int64_t n) {
    map2(a, b, result, n, [](uint16_t x, uint16_t y) { return to_brain(from_brain(x) / from_brain(y)); });
}

void add_number(const float* const* x, const float* numbers, float* result, int64_t n) {
    const float number = numbers[0];
    map(x[0], result, n, [number](float v) { return v + number; });
}

void sub_number(const float* const* x, const float* numbers, float* result, int64_t n) {
    const float number = numbers[0];
    map(x[0], result, n, [number](float v) { return v - number; });
}

void mul_number(const float* const* x, const float* numbers, float* result, int64_t n) {
    const float number = numbers[0];
    map(x[0], result, n, [number](float v) { return v * number; });
}

void div_number(const float* const* x, const float* numbers, float* result, int64_t n) {
    const float number = numbers[0];
    map(x[0], result, n, [number](float v) { return v / number; });
}

void add_scaled(const float* const* x, const float* numbers, float* result, int64_t n) {
    const float alpha = numbers[0];
    map2(x[0], x[1], result, n, [alpha](float a, float b) { return a + alpha * b; });
}

void addcmul(const float* const* x, const float* numbers, float* result, int64_t n) {
    const float value = numbers[0];
    map3(x[0], x[1], x[2], result, n, [value](float s, float a, float b) { return s + value * a * b; });
}

void addcdiv(const float* const* x, const float* numbers, float* result, int64_t n) {
    const float value = numbers[0];
    map3(x[0], x[1], x[2], result, n, [value](float s, float a, float b) { return s + value * a / b; });
}

// From whichever end is nearer, so that weights 0 and 1 give the ends themselves.
void lerp(const float* const* x, const float* numbers, float* result, int64_t n) {
    const float weight = numbers[0];
    if (magnitude(weight) < 0.5f)
        map2(x[0], x[1], result, n, [weight](float from, float to) { return from + weight * (to - from); });
    else
        map2(x[0], x[1], result, n, [weight](float from, float to) { return to - (to - from) * (1.f - weight); });
}

// What is left of x, in double precision, where products of quotients are exact: the quotient is wrong by one at most.
MT_INLINE double remainder_of(double x, double size, double inverse, double behind) {
    double left = x - __builtin_floor(x * inverse) * size;
    left += left < 0. ? size : 0.;
    left -= left >= size ? size : 0.;
    return left - (left != 0. ? behind : 0.);
}

void remainder32(const int32_t* x, int64_t number, int32_t* result, int64_t n) {
    const double size = static_cast<double>(number < 0 ? -number : number), inverse = 1. / size;
    const double behind = number < 0 ? size : 0.;
    map(x, result, n, [=](int32_t v) {
        return static_cast<int32_t>(remainder_of(static_cast<double>(v), size, inverse, behind));
    });
}

// Below this, integers, quotients and products are exact in double precision.
constexpr int64_t EXACT = int64_t{1} << 51;

void remainder64(const int64_t* x, int64_t number, int64_t* result, int64_t n) {
    const bool small = number > -EXACT && number < EXACT;
    const double size = static_cast<double>(number < 0 ? -number : number), inverse = 1. / size;
    const double behind = number < 0 ? size : 0.;
    for (int64_t start = 0; start < n; start += BLOCK) {
        const int64_t count = n - start < BLOCK ? n - start : BLOCK;
        const int64_t* from = x + start;
        uint64_t beyond = 0;
        for (int64_t i = 0; i < count; ++i) beyond |= (static_cast<uint64_t>(from[i]) + EXACT) / (2 * EXACT);
        if (small && beyond == 0) {
            map(from, result + start, count, [=](int64_t v) {
                return static_cast<int64_t>(remainder_of(static_cast<double>(v), size, inverse, behind));
            });
            continue;
        }
        for (int64_t i = 0; i < count; ++i) {
            const int64_t left = number == -1 ? 0 : from[i] % number;  // INT64_MIN % -1 traps
            result[start + i] = left != 0 && (left < 0) != (number < 0) ? left + number : left;
        }
    }
}

}  // namespace

extern const ElementwiseTable elementwise;
const ElementwiseTable elementwise = {
    add, sub, mul, div_,
    add_brain, sub_brain, mul_brain, div_brain,
    add_number, sub_number, mul_number, div_number,
    add_scaled, addcmul, addcdiv, lerp,
    remainder32, remainder64,
};

}  // namespace
