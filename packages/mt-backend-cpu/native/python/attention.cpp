// Attention over stacks of matrices whose rows are contiguous.
#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

// A stack of matrices: where each begins, and how far apart its rows lie, in elements.
struct Stack {
    Reference held{nullptr};
    const float* data = nullptr;
    int64_t step = 0;

    bool read(PyObject* object, int position) {
        PyArrayObject* x = array_of(object, "attention", position);
        if (x == nullptr) return false;
        const int ndim = PyArray_NDIM(x);
        if (element_of(x) != Element::Float32 || ndim < 2 || PyArray_SIZE(x) == 0) {
            PyErr_SetString(PyExc_TypeError, "attention takes arrays (*, rows, width) of float32 with elements");
            return false;
        }
        bool straight = PyArray_ISALIGNED(x) && PyArray_STRIDE(x, ndim - 1) == sizeof(float);
        for (int d = 0; d < ndim - 1; ++d) straight = straight && PyArray_STRIDE(x, d) % static_cast<npy_intp>(sizeof(float)) == 0;
        held.reset(straight ? Py_NewRef(object) : PyArray_FROM_OF(object, NPY_ARRAY_CARRAY_RO));
        if (!held) return false;
        data = static_cast<const float*>(PyArray_DATA(held.array()));
        step = PyArray_STRIDE(held.array(), ndim - 2) / static_cast<npy_intp>(sizeof(float));
        return true;
    }

    const float* matrix(int64_t number) const {
        PyArrayObject* x = held.array();
        const char* at = reinterpret_cast<const char*>(data);
        for (int d = PyArray_NDIM(x) - 3; d >= 0; --d) {
            at += number % PyArray_DIM(x, d) * PyArray_STRIDE(x, d);
            number /= PyArray_DIM(x, d);
        }
        return reinterpret_cast<const float*>(at);
    }
};

// Stacks of fewer matrices are divided into so many pieces.
constexpr int64_t PIECES = 16;

// attention(query, key, value, causal, query_factor, key_factor) -> (*, queries, values)
PyObject* attention(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 6, "attention")) return refused(names, "attention");
    Stack query, key, value;
    if (!query.read(arguments[0], 1) || !key.read(arguments[1], 2) || !value.read(arguments[2], 3)) return nullptr;
    PyArrayObject *q = query.held.array(), *k = key.held.array(), *v = value.held.array();
    const int ndim = PyArray_NDIM(q), rows = ndim - 2, last = ndim - 1;
    bool fits = PyArray_NDIM(k) == ndim && PyArray_NDIM(v) == ndim;
    for (int d = 0; d < rows && fits; ++d)
        fits = PyArray_DIM(k, d) == PyArray_DIM(q, d) && PyArray_DIM(v, d) == PyArray_DIM(q, d);
    if (!fits || PyArray_DIM(q, last) != PyArray_DIM(k, last) || PyArray_DIM(k, rows) != PyArray_DIM(v, rows)) {
        PyErr_SetString(PyExc_ValueError, "attention: the shapes of query, key and value do not fit");
        return nullptr;
    }
    Attention s;
    s.queries = PyArray_DIM(q, rows);
    s.keys = PyArray_DIM(k, rows);
    s.width = PyArray_DIM(q, last);
    s.values = PyArray_DIM(v, last);
    s.query_step = query.step;
    s.key_step = key.step;
    s.value_step = value.step;
    s.causal = PyObject_IsTrue(arguments[3]) != 0;
    s.query_factor = static_cast<float>(PyFloat_AsDouble(arguments[4]));
    s.key_factor = static_cast<float>(PyFloat_AsDouble(arguments[5]));
    if (PyErr_Occurred()) return nullptr;
    npy_intp shape[NPY_MAXDIMS];
    int64_t matrices = 1;
    for (int d = 0; d < ndim; ++d) shape[d] = PyArray_DIM(q, d);
    for (int d = 0; d < rows; ++d) matrices *= shape[d];
    shape[last] = s.values;
    // Heads and rows as the query has them: what is transposed back are rows again.
    const bool rows_first = ndim == 4 && s.values == s.width && query.step > PyArray_STRIDE(q, 1) / static_cast<npy_intp>(sizeof(float));
    if (rows_first) std::swap(shape[1], shape[2]);
    Reference made(new_array(ndim, shape, NPY_FLOAT));
    if (!made) return nullptr;
    Reference result(rows_first ? PyArray_SwapAxes(made.array(), 1, 2) : Py_NewRef(made.get()));
    if (!result) return nullptr;
    float* to = static_cast<float*>(PyArray_DATA(result.array()));
    s.result_step = rows_first ? PyArray_DIM(q, 1) * s.values : s.values;
    const int64_t heads = ndim > 2 ? PyArray_DIM(q, rows - 1) : 1, of_batch = heads * s.queries * s.values;
    const int64_t of_head = rows_first ? s.values : s.queries * s.values;
    const AttentionTable* table = kernels().attention;
    const int64_t blocks = (s.queries + table->across - 1) / table->across;
    const int64_t pieces = matrices >= PIECES ? 1 : std::min(blocks, PIECES / matrices);
    const int64_t of_piece = (blocks + pieces - 1) / pieces * table->across, cost = s.queries * s.keys * s.width / pieces;
    std::atomic<bool> failed{false};
    {
        Released released(cost > GRAIN || matrices > GRAIN);
        parallel(matrices * pieces, cost >= GRAIN ? 1 : GRAIN / std::max<int64_t>(cost, 1) + 1, [&](int64_t begin, int64_t end) {
            const std::unique_ptr<float[]> space(new (std::nothrow) float[static_cast<size_t>(table->room(s))]);
            if (!space) {
                failed = true;
                return;
            }
            for (int64_t i = begin; i < end; ++i) {
                const int64_t at = i / pieces, first = i % pieces * of_piece;
                if (first < s.queries)
                    table->attend(query.matrix(at), key.matrix(at), value.matrix(at), to + at / heads * of_batch + at % heads * of_head, s,
                                  first, std::min(s.queries, first + of_piece), space.get());
            }
        });
    }
    return failed ? PyErr_NoMemory() : result.release();
}

}  // namespace

PyMethodDef attention_methods[] = {
    method("attention", attention,
           "attention(query, key, value, causal, query_factor, key_factor) -> (*, queries, values)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
