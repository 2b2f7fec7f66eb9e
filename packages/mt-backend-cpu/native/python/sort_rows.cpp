// Stable order of rows.
#include <algorithm>
#include <vector>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

// order(x, descending) -> (values, places) along the last dimension, stable; x of float32 or int32, row-major.
PyObject* order(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "order")) return refused(names, "order");
    PyArrayObject* x = array_of(arguments[0], "order", 1);
    if (x == nullptr) return nullptr;
    const int ndim = PyArray_NDIM(x), number = PyArray_TYPE(x);
    const bool integers = number == NPY_INT32 || (number == NPY_LONG && sizeof(long) == 4);
    if (ndim == 0 || (number != NPY_FLOAT && !integers) || !PyArray_ISCARRAY_RO(x) || !PyArray_ISNOTSWAPPED(x) ||
        PyArray_DIM(x, ndim - 1) > INT32_MAX) {
        PyErr_SetString(PyExc_TypeError, "order takes rows of float32 or int32, row-major, of fewer than 2^31 elements");
        return nullptr;
    }
    const int descending = PyObject_IsTrue(arguments[1]);
    if (descending < 0) return nullptr;
    Reference values(new_like(x)), places(new_array(ndim, PyArray_DIMS(x), NPY_INT64));
    if (!values || !places) return nullptr;
    const int64_t width = PyArray_DIM(x, ndim - 1), rows = width == 0 ? 0 : PyArray_SIZE(x) / width;
    const char* from = PyArray_BYTES(x);
    char* to = PyArray_BYTES(values.array());
    int64_t* at = static_cast<int64_t*>(PyArray_DATA(places.array()));
    const auto f = integers ? kernels().order->integers : kernels().order->floats;
    if (rows > 0) {
        Released released(rows * width > GRAIN / 8);
        parallel(rows, width >= GRAIN / 8 ? 1 : GRAIN / 8 / width + 1, [&](int64_t begin, int64_t end) {
            std::vector<Keyed> space(static_cast<size_t>(2 * width));
            for (int64_t r = begin; r < end; ++r)
                f(from + r * width * 4, width, descending != 0, to + r * width * 4, at + r * width, space.data());
        });
    }
    return PyTuple_Pack(2, values.get(), places.get());
}

}  // namespace

PyMethodDef order_methods[] = {
    method("order", order, "order(x, descending) -> (values, places) along the last dimension"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
