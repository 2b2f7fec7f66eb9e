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

}  // namespace

extern const ElementwiseTable elementwise;
const ElementwiseTable elementwise = {
    add, sub, mul, div_,
    add_number, sub_number, mul_number, div_number,
    add_scaled, addcmul, addcdiv, lerp,
};

}  // namespace
