// Sequences and triangles of matrices.
#include <algorithm>
#include <cstring>

#include "python/bindings.hpp"

namespace mt {
namespace {

// triangle(x, diagonal, lower): the elements on a diagonal of the last two dimensions and below it, or above; else 0.
PyObject* triangle(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    const char* name = "triangle";
    if (names != nullptr || !counted(count, 3, name)) return refused(names, name);
    PyArrayObject* x = array_of(arguments[0], name, 1);
    if (x == nullptr) return nullptr;
    int overflow;
    const long long given = PyLong_AsLongLongAndOverflow(arguments[1], &overflow);
    const int lower = PyObject_IsTrue(arguments[2]);
    if (PyErr_Occurred()) return nullptr;
    const int ndim = PyArray_NDIM(x);
    if (ndim < 2 || !PyArray_IS_C_CONTIGUOUS(x) || PyDataType_REFCHK(PyArray_DESCR(x))) {
        PyErr_Format(PyExc_TypeError, "%s takes row-major matrices", name);
        return nullptr;
    }
    Reference made(new_like(x));
    if (!made || PyArray_SIZE(x) == 0) return made.release();
    const int64_t rows = PyArray_DIM(x, ndim - 2), columns = PyArray_DIM(x, ndim - 1), size = PyArray_ITEMSIZE(x);
    const int64_t matrices = PyArray_SIZE(x) / (rows * columns);
    // Farther away all diagonals do the same.
    const int64_t far = rows + columns + 1;
    const int64_t diagonal = overflow ? overflow * far : std::clamp<int64_t>(given, -far, far);
    const char* from = PyArray_BYTES(x);
    char* to = PyArray_BYTES(made.array());
    Released released(PyArray_SIZE(x) > GRAIN);
    for (int64_t i = 0; i < matrices; ++i)
        for (int64_t row = 0; row < rows; ++row, from += columns * size, to += columns * size) {
            // The first column that is not on the lower side.
            const int64_t cut = std::clamp<int64_t>(row + diagonal + (lower ? 1 : 0), 0, columns);
            const size_t before = static_cast<size_t>(cut * size), after = static_cast<size_t>((columns - cut) * size);
            if (lower) {
                std::memcpy(to, from, before);
                std::memset(to + before, 0, after);
            } else {
                std::memset(to, 0, before);
                std::memcpy(to + before, from + before, after);
            }
        }
    return made.release();
}

// linspace(start, end, steps) of float32, counted from the nearer end, so that both are exact.
PyObject* linspace(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 3, "linspace")) return refused(names, "linspace");
    const float start = static_cast<float>(PyFloat_AsDouble(arguments[0]));
    const float end = static_cast<float>(PyFloat_AsDouble(arguments[1]));
    npy_intp steps = PyLong_AsSsize_t(arguments[2]);
    if (PyErr_Occurred()) return nullptr;
    if (steps < 0) {
        PyErr_SetString(PyExc_ValueError, "linspace: a negative number of steps");
        return nullptr;
    }
    Reference made(new_array(1, &steps, NPY_FLOAT));
    if (!made) return nullptr;
    float* to = static_cast<float*>(PyArray_DATA(made.array()));
    if (steps == 1) {
        to[0] = start;
        return made.release();
    }
    const float step = (end - start) / static_cast<float>(std::max<npy_intp>(steps - 1, 1));
    const npy_intp half = steps / 2;
    Released released(steps > GRAIN);
    for (npy_intp i = 0; i < half; ++i) to[i] = start + static_cast<float>(i) * step;
    for (npy_intp i = half; i < steps; ++i) to[i] = end - static_cast<float>(steps - 1 - i) * step;
    return made.release();
}

}  // namespace

PyMethodDef matrix_methods[] = {
    method("triangle", triangle, "triangle(x, diagonal, lower)"),
    method("linspace", linspace, "linspace(start, end, steps), of float32"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
