// Softmax and its logarithm along a dimension.
#include <algorithm>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

// Rows for which dividing the work pays.
int64_t grain_of(int64_t width) { return width >= GRAIN ? 1 : (GRAIN + width - 1) / width; }

// The sizes before, along and after the dimension that argument `position` names; false with an error.
struct Along {
    int64_t outer = 1, width = 1, inner = 1;
};

bool read_along(PyArrayObject* array, PyObject* dimension, Along& found, const char* function) {
    const int ndim = PyArray_NDIM(array);
    long dim = PyLong_AsLong(dimension);
    if (dim == -1 && PyErr_Occurred()) return false;
    if (dim < 0) dim += ndim == 0 ? 1 : ndim;
    if (dim < 0 || dim >= (ndim == 0 ? 1 : ndim)) {
        PyErr_Format(PyExc_ValueError, "%s: there is no such dimension", function);
        return false;
    }
    for (int d = 0; d < ndim; ++d)
        (d < dim ? found.outer : (d == dim ? found.width : found.inner)) *= PyArray_DIM(array, d);
    return true;
}

// Calls `rows(begin, count)` where elements of a row are neighbours, else `columns(item, begin, end)`.
template <class OfRows, class OfColumns>
void divide(const Along& along, OfRows rows, OfColumns columns) {
    if (along.inner == 1) {
        parallel(along.outer, grain_of(along.width), [&](int64_t begin, int64_t end) { rows(begin, end - begin); });
        return;
    }
    // Columns are divided at multiples of a cache line of them.
    constexpr int64_t LINE = 64;
    const int64_t lines = (along.inner + LINE - 1) / LINE;
    parallel(along.outer * lines, grain_of(along.width * LINE), [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end;) {
            const int64_t item = at / lines, first = at % lines, last = std::min(lines, first + end - at);
            columns(item, first * LINE, std::min(last * LINE, along.inner));
            at += last - first;
        }
    });
}

template <Rows SoftmaxTable::*OfRows, Columns SoftmaxTable::*OfColumns>
PyObject* along_dimension(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || count < 1 || count > 2) {
        if (names == nullptr) counted(count, 2, "softmax");
        return refused(names, "softmax");
    }
    PyArrayObject* x = float_rows(arguments[0], "softmax", 1);
    Along along;
    Reference last(PyLong_FromLong(-1));
    if (x == nullptr || !last || !read_along(x, count == 2 ? arguments[1] : last.get(), along, "softmax")) return nullptr;
    Reference result(new_like(x));
    if (!result || PyArray_SIZE(x) == 0) return result.release();
    const float* from = static_cast<const float*>(PyArray_DATA(x));
    float* to = static_cast<float*>(PyArray_DATA(result.array()));
    const SoftmaxTable* table = kernels().softmax;
    const int64_t width = along.width, inner = along.inner;
    Released released(PyArray_SIZE(x) > GRAIN);
    divide(along,
           [=](int64_t begin, int64_t n) { (table->*OfRows)(from + begin * width, to + begin * width, n, width); },
           [=](int64_t item, int64_t begin, int64_t end) {
               const int64_t start = item * width * inner;
               (table->*OfColumns)(from + start, to + start, width, inner, begin, end);
           });
    return result.release();
}

template <Rows2 SoftmaxTable::*OfRows, Columns2 SoftmaxTable::*OfColumns>
PyObject* along_dimension_backward(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || count < 2 || count > 3) {
        if (names == nullptr) counted(count, 3, "softmax_backward");
        return refused(names, "softmax_backward");
    }
    PyArrayObject* grad = float_rows(arguments[0], "softmax_backward", 1);
    PyArrayObject* y = grad == nullptr ? nullptr : float_rows(arguments[1], "softmax_backward", 2);
    if (y == nullptr) return nullptr;
    if (!PyArray_SAMESHAPE(grad, y)) {
        PyErr_SetString(PyExc_ValueError, "softmax_backward: the arguments must have one shape");
        return nullptr;
    }
    Along along;
    Reference last(PyLong_FromLong(-1));
    if (!last || !read_along(y, count == 3 ? arguments[2] : last.get(), along, "softmax_backward")) return nullptr;
    Reference result(new_like(y));
    if (!result || PyArray_SIZE(y) == 0) return result.release();
    const float* g = static_cast<const float*>(PyArray_DATA(grad));
    const float* from = static_cast<const float*>(PyArray_DATA(y));
    float* to = static_cast<float*>(PyArray_DATA(result.array()));
    const SoftmaxTable* table = kernels().softmax;
    const int64_t width = along.width, inner = along.inner;
    Released released(PyArray_SIZE(y) > GRAIN);
    divide(along,
           [=](int64_t begin, int64_t n) {
               (table->*OfRows)(g + begin * width, from + begin * width, to + begin * width, n, width);
           },
           [=](int64_t item, int64_t begin, int64_t end) {
               const int64_t start = item * width * inner;
               (table->*OfColumns)(g + start, from + start, to + start, width, inner, begin, end);
           });
    return result.release();
}

}  // namespace

PyMethodDef softmax_methods[] = {
    method("softmax", along_dimension<&SoftmaxTable::softmax, &SoftmaxTable::softmax_columns>, "softmax(x, dim=-1)"),
    method("log_softmax", along_dimension<&SoftmaxTable::log_softmax, &SoftmaxTable::log_softmax_columns>,
           "log_softmax(x, dim=-1)"),
    method("softmax_backward",
           along_dimension_backward<&SoftmaxTable::softmax_backward, &SoftmaxTable::softmax_columns_backward>,
           "softmax_backward(grad, result, dim=-1)"),
    method("log_softmax_backward",
           along_dimension_backward<&SoftmaxTable::log_softmax_backward, &SoftmaxTable::log_softmax_columns_backward>,
           "log_softmax_backward(grad, result, dim=-1)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
