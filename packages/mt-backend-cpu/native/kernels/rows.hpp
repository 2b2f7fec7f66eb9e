// What kernels over rows have in common.
#pragma once

#include <limits>

#include "kernels/loops.hpp"

MT_NAMESPACE {

// NaN, if there is one: a maximum that forgot it would make a row of numbers of it.
inline float greatest(const float* x, int64_t n) {
    return reduce_arrays(
        n, -std::numeric_limits<float>::infinity(), [](auto v) { return v; }, [](auto a, auto b) { return (a > b) | (a != a) ? a : b; }, x);
}

}  // namespace
