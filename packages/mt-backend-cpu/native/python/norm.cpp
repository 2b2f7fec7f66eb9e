// Normalization of rows.
#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

// layer_norm(x, width, weight, bias, eps) -> (result, mean, rstd), the last two of shape (rows,).
PyObject* layer_norm(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 5, "layer_norm")) return refused(names, "layer_norm");
    PyArrayObject* x = float_rows(arguments[0], "layer_norm", 1);
    const int64_t width = PyLong_AsLongLong(arguments[1]);
    const double eps = PyFloat_AsDouble(arguments[4]);
    if (x == nullptr || PyErr_Occurred()) return nullptr;
    if (width <= 0 || PyArray_SIZE(x) % width != 0) {
        PyErr_Format(PyExc_ValueError, "layer_norm: %lld elements are no rows of %lld", (long long)PyArray_SIZE(x),
                     (long long)width);
        return nullptr;
    }
    const float* affine[2] = {nullptr, nullptr};
    for (int k = 0; k < 2; ++k) {
        if (arguments[2 + k] == Py_None) continue;
        PyArrayObject* given = float_rows(arguments[2 + k], "layer_norm", 3 + k);
        if (given == nullptr) return nullptr;
        if (PyArray_SIZE(given) != width) {
            PyErr_SetString(PyExc_ValueError, "layer_norm: weight and bias must be of one row's size");
            return nullptr;
        }
        affine[k] = static_cast<const float*>(PyArray_DATA(given));
    }
    npy_intp rows = PyArray_SIZE(x) / width;
    Reference result(new_like(x)), mean(PyArray_SimpleNew(1, &rows, NPY_FLOAT)), rstd(PyArray_SimpleNew(1, &rows, NPY_FLOAT));
    if (!result || !mean || !rstd) return nullptr;
    const float* from = static_cast<const float*>(PyArray_DATA(x));
    float* to = static_cast<float*>(PyArray_DATA(result.array()));
    float* means = static_cast<float*>(PyArray_DATA(mean.array()));
    float* rstds = static_cast<float*>(PyArray_DATA(rstd.array()));
    const auto f = kernels().norm->layer_norm;
    {
        Released released(rows * width > GRAIN);
        parallel(rows, width >= GRAIN ? 1 : (GRAIN + width - 1) / width, [=](int64_t begin, int64_t end) {
            f(from + begin * width, affine[0], affine[1], static_cast<float>(eps), to + begin * width, means + begin,
              rstds + begin, end - begin, width);
        });
    }
    return PyTuple_Pack(3, result.get(), mean.get(), rstd.get());
}

}  // namespace

PyMethodDef norm_methods[] = {
    method("layer_norm", layer_norm, "layer_norm(x, width, weight, bias, eps) -> (result, mean, rstd)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
