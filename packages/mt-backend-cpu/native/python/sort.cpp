// Selection along rows; with another C++ library than GNU's there is none (kernels/sort.cpp says why).
#include <algorithm>
#include <vector>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

#if defined(__GLIBCXX__)

// Calls `arrange(row)` on each row of x, and stores the first k of what it leaves: values and places.
template <class Arrange>
PyObject* arranged(PyArrayObject* x, int64_t k, const Arrange& arrange) {
    const int ndim = PyArray_NDIM(x);
    npy_intp shape[NPY_MAXDIMS];
    std::copy_n(PyArray_DIMS(x), ndim, shape);
    const int64_t width = shape[ndim - 1];
    shape[ndim - 1] = static_cast<npy_intp>(k);
    Reference values(new_array(ndim, shape, NPY_FLOAT)), places(new_array(ndim, shape, NPY_INT64));
    if (!values || !places) return nullptr;
    const int64_t rows = width == 0 ? 0 : PyArray_SIZE(x) / width;
    const float* from = static_cast<const float*>(PyArray_DATA(x));
    float* to = static_cast<float*>(PyArray_DATA(values.array()));
    int64_t* at = static_cast<int64_t*>(PyArray_DATA(places.array()));
    if (rows > 0 && k > 0) {
        Released released(rows * width > GRAIN / 8);
        parallel(rows, width >= GRAIN / 8 ? 1 : GRAIN / 8 / width + 1, [&](int64_t begin, int64_t end) {
            std::vector<Placed> row(static_cast<size_t>(width));
            for (int64_t r = begin; r < end; ++r) {
                for (int64_t i = 0; i < width; ++i) row[static_cast<size_t>(i)] = {from[r * width + i], i};
                arrange(row.data());
                for (int64_t i = 0; i < k; ++i) {
                    to[r * k + i] = row[static_cast<size_t>(i)].value;
                    at[r * k + i] = row[static_cast<size_t>(i)].place;
                }
            }
        });
    }
    return PyTuple_Pack(2, values.get(), places.get());
}

// Whether an object is true; -1 with an error.
int flag(PyObject* object) { return PyObject_IsTrue(object); }

PyArrayObject* rows_of(PyObject* object, const char* name) {
    PyArrayObject* x = float_rows(object, name, 1);
    if (x != nullptr && PyArray_NDIM(x) > 0) return x;
    if (x != nullptr) PyErr_Format(PyExc_ValueError, "%s takes rows", name);
    return nullptr;
}

// topk(x, k, largest, sorted) -> (values, places) along the last dimension.
PyObject* topk(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 4, "topk")) return refused(names, "topk");
    PyArrayObject* x = rows_of(arguments[0], "topk");
    if (x == nullptr) return nullptr;
    const int64_t k = PyLong_AsLongLong(arguments[1]);
    const int largest = flag(arguments[2]), sorted = flag(arguments[3]);
    if (PyErr_Occurred()) return nullptr;
    if (k < 0 || k > PyArray_DIM(x, PyArray_NDIM(x) - 1)) {
        PyErr_SetString(PyExc_ValueError, "topk: k is out of range");
        return nullptr;
    }
    const auto select = kernels().sort->select;
    const int64_t width = PyArray_DIM(x, PyArray_NDIM(x) - 1);
    return arranged(x, k, [=](Placed* row) { select(row, width, k, largest, sorted); });
}

#endif

}  // namespace

PyMethodDef sort_methods[] = {
#if defined(__GLIBCXX__)
    method("topk", topk, "topk(x, k, largest, sorted) -> (values, places) along the last dimension"),
#endif
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
