// Products of bfloat16.
#include <algorithm>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

// A matrix of bfloat16 whose elements lie whole elements apart; null with an error.
PyArrayObject* matrix_of(PyObject* object, int position) {
    PyArrayObject* array = array_of(object, "multiply_bfloat16", position);
    if (array == nullptr) return nullptr;
    if (element_of(array) == Element::BFloat16 && PyArray_NDIM(array) == 2 && PyArray_ISALIGNED(array)) return array;
    PyErr_Format(PyExc_TypeError, "multiply_bfloat16: argument %d must be a matrix of bfloat16", position);
    return nullptr;
}

// has_bfloat16_products() -> whether this processor, at this level, multiplies them
PyObject* has_products(PyObject*, PyObject*) { return PyBool_FromLong(kernels().paired->available()); }

// multiply_bfloat16(a, b, bias) -> (M, N) of a (M, K), b (K, N), bias (N) or None
PyObject* multiply(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 3, "multiply_bfloat16")) return refused(names, "multiply_bfloat16");
    PyArrayObject* a = matrix_of(arguments[0], 1);
    PyArrayObject* b = a == nullptr ? nullptr : matrix_of(arguments[1], 2);
    if (b == nullptr) return nullptr;
    const PairedTable* table = kernels().paired;
    if (!table->available()) {
        PyErr_SetString(PyExc_RuntimeError, "multiply_bfloat16: this processor has no instructions for it");
        return nullptr;
    }
    PairedProduct p{};
    p.rows = PyArray_DIM(a, 0);
    p.depth = PyArray_DIM(a, 1);
    p.columns = PyArray_DIM(b, 1);
    if (PyArray_DIM(b, 0) != p.depth || p.rows == 0 || p.columns == 0 || p.depth == 0) {
        PyErr_SetString(PyExc_ValueError, "multiply_bfloat16: the matrices do not go together, or are empty");
        return nullptr;
    }
    if (arguments[2] != Py_None) {
        PyArrayObject* bias = array_of(arguments[2], "multiply_bfloat16", 3);
        if (bias == nullptr) return nullptr;
        if (element_of(bias) != Element::BFloat16 || PyArray_SIZE(bias) != p.columns || !PyArray_ISCARRAY_RO(bias)) {
            PyErr_SetString(PyExc_TypeError, "multiply_bfloat16: there must be a bias of bfloat16 for each column");
            return nullptr;
        }
        p.bias = static_cast<const uint16_t*>(PyArray_DATA(bias));
    }
    p.a = static_cast<const uint16_t*>(PyArray_DATA(a));
    p.b = static_cast<const uint16_t*>(PyArray_DATA(b));
    p.a_row = PyArray_STRIDE(a, 0) / 2;
    p.a_column = PyArray_STRIDE(a, 1) / 2;
    p.b_row = PyArray_STRIDE(b, 0) / 2;
    p.b_column = PyArray_STRIDE(b, 1) / 2;
    const int64_t panels = (p.columns + table->across - 1) / table->across, pairs = (p.depth + 1) / 2;
    npy_intp shape[2] = {p.rows, p.columns}, size = panels * pairs * table->across;
    PyArray_Descr* descr = PyArray_DESCR(a);
    Py_INCREF(descr);
    Reference result(new_of(descr, 2, shape));
    Reference packed(new_array(1, &size, NPY_UINT32));
    if (!result || !packed) return nullptr;
    uint16_t* to = static_cast<uint16_t*>(PyArray_DATA(result.array()));
    uint32_t* ready = static_cast<uint32_t*>(PyArray_DATA(packed.array()));
    const int64_t down = (p.rows + table->rows - 1) / table->rows, along = (p.columns + table->columns - 1) / table->columns;
    Released released(true);
    parallel(panels, std::max<int64_t>(1, GRAIN / (pairs * table->across)), [&](int64_t begin, int64_t end) {
        table->pack(p, ready, begin, end);
    });
    parallel(down * along, 1, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at)
            table->multiply(p, ready, at / along * table->rows, at % along * table->columns, to);
    });
    return result.release();
}

}  // namespace

PyMethodDef matmul_methods[] = {
    {"has_bfloat16_products", has_products, METH_NOARGS, "Whether this processor multiplies pairs of bfloat16."},
    method("multiply_bfloat16", multiply, "multiply_bfloat16(a, b, bias) -> (M, N)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
