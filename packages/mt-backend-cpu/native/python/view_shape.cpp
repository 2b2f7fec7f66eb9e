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

}  // namespace

PyMethodDef shape_methods[] = {
    method("view", view, "view(x, sizes), or None"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
