// Products of batches of float32 matrices.
#include <algorithm>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

// The array, aligned, or a copy that is; null with an error where it is no batch of float32 matrices.
PyObject* batch_of(PyObject* object, int position) {
    PyArrayObject* array = array_of(object, "multiply_batches", position);
    if (array == nullptr) return nullptr;
    if (element_of(array) != Element::Float32 || PyArray_NDIM(array) != 3) {
        PyErr_Format(PyExc_TypeError, "multiply_batches: argument %d must be a batch of matrices of float32", position);
        return nullptr;
    }
    return PyArray_FROM_OF(object, NPY_ARRAY_ALIGNED);
}

// multiply_batches(a, b) -> (B, M, N) of a (B, M, K), b (B, K, N)
PyObject* multiply(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "multiply_batches")) return refused(names, "multiply_batches");
    Reference left(batch_of(arguments[0], 1));
    if (!left) return nullptr;
    Reference right(batch_of(arguments[1], 2));
    if (!right) return nullptr;
    PyArrayObject *a = left.array(), *b = right.array();
    const int64_t n = PyArray_DIM(a, 0);
    const Product p = {PyArray_DIM(a, 1), PyArray_DIM(a, 2), PyArray_DIM(b, 2), PyArray_STRIDE(a, 1) / 4,
                       PyArray_STRIDE(a, 2) / 4, PyArray_STRIDE(b, 1) / 4, PyArray_STRIDE(b, 2) / 4};
    if (PyArray_DIM(b, 0) != n || PyArray_DIM(b, 1) != p.depth || n == 0 || p.rows == 0 || p.columns == 0 || p.depth == 0) {
        PyErr_SetString(PyExc_ValueError, "multiply_batches: the matrices do not go together, or are empty");
        return nullptr;
    }
    npy_intp shape[3] = {n, p.rows, p.columns};
    Reference result(new_array(3, shape, NPY_FLOAT));
    if (!result) return nullptr;
    const float *x = static_cast<const float*>(PyArray_DATA(a)), *y = static_cast<const float*>(PyArray_DATA(b));
    float* to = static_cast<float*>(PyArray_DATA(result.array()));
    const int64_t of_a = PyArray_STRIDE(a, 0) / 4, of_b = PyArray_STRIDE(b, 0) / 4;
    const ProductTable* table = kernels().product;
    const int64_t down = (p.rows + table->rows - 1) / table->rows, along = (p.columns + table->columns - 1) / table->columns;
    const int64_t cost = std::max<int64_t>(1, std::min(p.rows, table->rows) * std::min(p.columns, table->columns) / 16 * p.depth);
    Released released(n * down * along * cost > GRAIN);
    parallel(n * down * along, cost >= GRAIN ? 1 : GRAIN / cost + 1, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            const int64_t batch = at / along / down;
            table->multiply(p, x + batch * of_a, y + batch * of_b, to + batch * p.rows * p.columns,
                            at / along % down * table->rows, at % along * table->columns);
        }
    });
    return result.release();
}

}  // namespace

PyMethodDef batch_methods[] = {
    method("multiply_batches", multiply, "multiply_batches(a, b) -> (B, M, N)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
