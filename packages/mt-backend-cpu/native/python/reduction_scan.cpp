// Cumulative sums of contiguous memory.
#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

// cumsum(x, dim) of a row-major array.
PyObject* cumsum(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "cumsum")) return refused(names, "cumsum");
    PyArrayObject* x = float_rows(arguments[0], "cumsum", 1);
    const int64_t dim = PyLong_AsLongLong(arguments[1]);
    if (x == nullptr || PyErr_Occurred()) return nullptr;
    if (dim < 0 || dim >= PyArray_NDIM(x)) {
        PyErr_Format(PyExc_ValueError, "cumsum: there is no dimension %lld", static_cast<long long>(dim));
        return nullptr;
    }
    Reference result(new_like(x));
    if (!result || PyArray_SIZE(x) == 0) return result.release();
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < PyArray_NDIM(x); ++d) {
        if (d < dim) outer *= PyArray_DIM(x, d);
        if (d > dim) inner *= PyArray_DIM(x, d);
    }
    const int64_t length = PyArray_DIM(x, static_cast<int>(dim)), step = length * inner;
    const float* from = static_cast<const float*>(PyArray_DATA(x));
    float* to = static_cast<float*>(PyArray_DATA(result.array()));
    const auto f = kernels().scan->cumsum;
    Released released(outer * step > GRAIN);
    parallel(outer, step >= GRAIN ? 1 : GRAIN / step + 1, [=](int64_t begin, int64_t end) {
        f(from + begin * step, to + begin * step, end - begin, length, inner);
    });
    return result.release();
}

}  // namespace

PyMethodDef reduction_scan_methods[] = {
    method("cumsum", cumsum, "cumsum(x, dim)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
