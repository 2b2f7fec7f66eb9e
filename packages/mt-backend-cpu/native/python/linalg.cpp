// Norms of contiguous memory.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

// Elements that one thread adds up by itself; sums are joined in this order, whatever the number of threads.
constexpr int64_t PIECE = 1 << 16;

double total(float (*f)(const float*, int64_t), const float* x, int64_t n) {
    if (n <= PIECE) return static_cast<double>(f(x, n));
    const int64_t pieces = (n + PIECE - 1) / PIECE;
    std::vector<float> parts(static_cast<size_t>(pieces));
    {
        Released released(true);
        float* made = parts.data();
        parallel(pieces, 1, [=](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) made[i] = f(x + i * PIECE, std::min(PIECE, n - i * PIECE));
        });
    }
    double sum = 0;
    for (float part : parts) sum += static_cast<double>(part);
    return sum;
}

PyObject* single(double value) {
    Reference result(new_array(0, nullptr, NPY_FLOAT));
    if (!result) return nullptr;
    *static_cast<float*>(PyArray_DATA(result.array())) = static_cast<float>(value);
    return result.release();
}

PyObject* norm(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 1, "norm")) return refused(names, "norm");
    PyArrayObject* x = float_rows(arguments[0], "norm", 1);
    if (x == nullptr) return nullptr;
    const auto f = kernels().linalg->sum_of_squares;
    return single(std::sqrt(total(f, static_cast<const float*>(PyArray_DATA(x)), PyArray_SIZE(x))));
}

}  // namespace

PyMethodDef linalg_methods[] = {
    method("norm", norm, "norm(x): Euclidean, of all elements"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
