// The functions of the module, family by family, and how they are made from tables.
#pragma once

#include "core/levels.hpp"
#include "python/array.hpp"

namespace mt {

extern PyMethodDef activation_methods[];
extern PyMethodDef softmax_methods[];
extern PyMethodDef norm_methods[];
extern PyMethodDef elementwise_methods[];
extern PyMethodDef half_methods[];
extern PyMethodDef random_methods[];
extern PyMethodDef activation_backward_methods[];
extern PyMethodDef comparison_methods[];
extern PyMethodDef reduction_scan_methods[];
extern PyMethodDef reduction_methods[];
extern PyMethodDef join_methods[];
extern PyMethodDef shape_methods[];
extern PyMethodDef geometry_methods[];
extern PyMethodDef pick_methods[];
extern PyMethodDef cast_methods[];
extern PyMethodDef linalg_methods[];
extern PyMethodDef view_methods[];
extern PyMethodDef indexing_methods[];
extern PyMethodDef sort_methods[];
extern PyMethodDef order_methods[];
extern PyMethodDef matmul_methods[];
extern PyMethodDef batch_methods[];
extern PyMethodDef channel_methods[];
extern PyMethodDef pool_methods[];
extern PyMethodDef upsample_methods[];
extern PyMethodDef loss_methods[];
extern PyMethodDef conv_methods[];
extern PyMethodDef executor_methods[];
extern PyMethodDef attention_methods[];
extern PyMethodDef recurrent_methods[];
extern PyMethodDef fft_methods[];
extern PyMethodDef writing_methods[];
extern PyMethodDef matrix_methods[];
extern PyMethodDef memory_methods[];
extern PyMethodDef selection_methods[];

// Sets up the memory of arrays, once; false with an error.
bool add_memory();

using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

inline PyMethodDef method(const char* name, Fast function, const char* doc) {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL | METH_KEYWORDS,
            doc};
}

// False with a TypeError where a function of `wanted` arguments got another number of them.
inline bool counted(Py_ssize_t count, Py_ssize_t wanted, const char* function) {
    if (count == wanted) return true;
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, not %zd", function, wanted, count);
    return false;
}

// Null with an error, for functions without keywords.
inline PyObject* refused(PyObject* names, const char* function) {
    if (names != nullptr && !PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%s takes no keywords", function);
    return nullptr;
}

// f(x, *, out=None): one element of a table, elementwise.
template <auto Table, auto Member>
PyObject* unary(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    PyObject* out;
    if (!counted(count, 1, "this kernel") || !only_out(arguments, count, names, "this kernel", &out)) return nullptr;
    return map_arrays((kernels().*Table)->*Member, arguments[0], out, "this kernel");
}

// f(a, b, *, out=None).
template <auto Table, auto Member>
PyObject* binary(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    PyObject* out;
    if (!counted(count, 2, "this kernel") || !only_out(arguments, count, names, "this kernel", &out)) return nullptr;
    return map2_arrays((kernels().*Table)->*Member, arguments[0], arguments[1], out, "this kernel");
}

// f(arrays..., numbers..., *, out=None).
template <auto Table, auto Member, int Arrays, int Numbers>
PyObject* many(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    PyObject* out;
    if (!counted(count, Arrays + Numbers, "this kernel") || !only_out(arguments, count, names, "this kernel", &out))
        return nullptr;
    float numbers[Numbers];
    for (int i = 0; i < Numbers; ++i) {
        const double number = PyFloat_AsDouble(arguments[Arrays + i]);
        if (number == -1. && PyErr_Occurred()) return nullptr;
        numbers[i] = static_cast<float>(number);
    }
    return map_many_arrays((kernels().*Table)->*Member, arguments, Arrays, numbers, out, "this kernel");
}

}  // namespace mt
