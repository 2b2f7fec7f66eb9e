// Views of other shapes, of row-major arrays. What returns None here is the core's to decide.
#include "python/bindings.hpp"

namespace mt {
namespace {

PyObject* reshaped(PyArrayObject* x, npy_intp* sizes, int ndim) {
    PyArray_Dims shape = {sizes, ndim};
    return PyArray_Newshape(x, &shape, NPY_CORDER);
}

// view(x, sizes): as many elements; one size may be -1, for what is left.
PyObject* view(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "view")) return refused(names, "view");
    // Others than arrays may stand for them.
    if (!PyArray_Check(arguments[0])) Py_RETURN_NONE;
    PyArrayObject* x = reinterpret_cast<PyArrayObject*>(arguments[0]);
    PyObject* sizes = arguments[1];
    if ((!PyTuple_Check(sizes) && !PyList_Check(sizes)) || Py_SIZE(sizes) > NPY_MAXDIMS || !PyArray_IS_C_CONTIGUOUS(x))
        Py_RETURN_NONE;
    const npy_intp elements = PyArray_SIZE(x);
    const int ndim = static_cast<int>(Py_SIZE(sizes));
    if (elements == 0) Py_RETURN_NONE;  // NumPy invents strides
    npy_intp shape[NPY_MAXDIMS], known = 1;
    int open = -1;
    for (int d = 0; d < ndim; ++d) {
        int overflow;
        PyObject* item = PySequence_Fast_ITEMS(sizes)[d];
        if (!PyLong_CheckExact(item)) Py_RETURN_NONE;
        const long long size = PyLong_AsLongLongAndOverflow(item, &overflow);
        if (overflow || size == 0 || size < -1 || (size == -1 && open >= 0)) Py_RETURN_NONE;
        if (size == -1) {
            open = d;
            continue;
        }
        if (size > elements / known) Py_RETURN_NONE;
        shape[d] = static_cast<npy_intp>(size);
        known *= shape[d];
    }
    if (open >= 0 ? elements % known != 0 : known != elements) Py_RETURN_NONE;
    if (open >= 0) shape[open] = elements / known;
    return reshaped(x, shape, ndim);
}

// unsqueeze(x, dim)
PyObject* unsqueeze(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "unsqueeze")) return refused(names, "unsqueeze");
    // Others than arrays may stand for them.
    if (!PyArray_Check(arguments[0])) Py_RETURN_NONE;
    PyArrayObject* x = reinterpret_cast<PyArrayObject*>(arguments[0]);
    if (!PyLong_CheckExact(arguments[1])) Py_RETURN_NONE;
    int overflow;
    long long dim = PyLong_AsLongLongAndOverflow(arguments[1], &overflow);
    const int ndim = PyArray_NDIM(x);
    if (overflow || dim < -ndim - 1 || dim > ndim || ndim >= NPY_MAXDIMS || PyArray_SIZE(x) == 0 ||
        !PyArray_IS_C_CONTIGUOUS(x))
        Py_RETURN_NONE;
    if (dim < 0) dim += ndim + 1;
    npy_intp shape[NPY_MAXDIMS];
    for (int d = 0; d < ndim; ++d) {
        if (PyArray_DIM(x, d) == 1) Py_RETURN_NONE;  // NumPy makes strides along dimensions of size 1 anew
        shape[d < dim ? d : d + 1] = PyArray_DIM(x, d);
    }
    shape[dim] = 1;
    return reshaped(x, shape, ndim + 1);
}

}  // namespace

PyMethodDef shape_methods[] = {
    method("view", view, "view(x, sizes), or None"),
    method("unsqueeze", unsqueeze, "unsqueeze(x, dim), or None"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
