// Norms.
#include "kernels/loops.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

float sum_of_squares(const float* x, int64_t n) {
    return sum_arrays(n, [](auto v) { return v * v; }, x);
}

}  // namespace

extern const LinalgTable linalg;
const LinalgTable linalg = {sum_of_squares};

}  // namespace
