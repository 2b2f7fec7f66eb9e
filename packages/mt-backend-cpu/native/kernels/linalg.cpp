// Norms.
#include "kernels/loops.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

float sum_of_squares(const float* x, int64_t n) {
    return sum<float>(n, [x](int64_t i) { return x[i] * x[i]; });
}

}  // namespace

extern const LinalgTable linalg;
const LinalgTable linalg = {sum_of_squares};

}  // namespace
