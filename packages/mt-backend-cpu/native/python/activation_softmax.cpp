// Softmax and its logarithm along the last dimension.
#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

// Rows for which dividing the work pays.
int64_t grain_of(int64_t width) { return width >= GRAIN ? 1 : (GRAIN + width - 1) / width; }

int64_t width_of(PyArrayObject* array) {
    return PyArray_NDIM(array) == 0 ? 1 : PyArray_DIM(array, PyArray_NDIM(array) - 1);
}

template <Rows SoftmaxTable::*Member>
PyObject* along_rows(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 1, "softmax")) return refused(names, "softmax");
    PyArrayObject* x = float_rows(arguments[0], "softmax", 1);
    if (x == nullptr) return nullptr;
    Reference result(new_like(x));
    if (!result || PyArray_SIZE(x) == 0) return result.release();
    const int64_t width = width_of(x), rows = PyArray_SIZE(x) / width;
    const float* from = static_cast<const float*>(PyArray_DATA(x));
    float* to = static_cast<float*>(PyArray_DATA(result.array()));
    const Rows f = kernels().softmax->*Member;
    Released released(rows * width > GRAIN);
    parallel(rows, grain_of(width), [=](int64_t begin, int64_t end) {
        f(from + begin * width, to + begin * width, end - begin, width);
    });
    return result.release();
}

template <Rows2 SoftmaxTable::*Member>
PyObject* along_rows_backward(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "softmax_backward")) return refused(names, "softmax_backward");
    PyArrayObject* grad = float_rows(arguments[0], "softmax_backward", 1);
    PyArrayObject* y = grad == nullptr ? nullptr : float_rows(arguments[1], "softmax_backward", 2);
    if (y == nullptr) return nullptr;
    if (!PyArray_SAMESHAPE(grad, y)) {
        PyErr_SetString(PyExc_ValueError, "softmax_backward: the arguments must have one shape");
        return nullptr;
    }
    Reference result(new_like(y));
    if (!result || PyArray_SIZE(y) == 0) return result.release();
    const int64_t width = width_of(y), rows = PyArray_SIZE(y) / width;
    const float* g = static_cast<const float*>(PyArray_DATA(grad));
    const float* from = static_cast<const float*>(PyArray_DATA(y));
    float* to = static_cast<float*>(PyArray_DATA(result.array()));
    const Rows2 f = kernels().softmax->*Member;
    Released released(rows * width > GRAIN);
    parallel(rows, grain_of(width), [=](int64_t begin, int64_t end) {
        f(g + begin * width, from + begin * width, to + begin * width, end - begin, width);
    });
    return result.release();
}

}  // namespace

PyMethodDef softmax_methods[] = {
    method("softmax", along_rows<&SoftmaxTable::softmax>, "softmax(x): along the last dimension"),
    method("log_softmax", along_rows<&SoftmaxTable::log_softmax>, "log_softmax(x): along the last dimension"),
    method("softmax_backward", along_rows_backward<&SoftmaxTable::softmax_backward>, "softmax_backward(grad, result)"),
    method("log_softmax_backward", along_rows_backward<&SoftmaxTable::log_softmax_backward>,
           "log_softmax_backward(grad, result)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
