// Casts between single precision and the half types.
#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

// Whether the elements of two arrays of one shape lie in the same places, counted in elements, without gaps.
bool same_order(PyArrayObject* x, PyArrayObject* made) {
    const int64_t one = PyArray_ITEMSIZE(x), other = PyArray_ITEMSIZE(made);
    for (int d = 0; d < PyArray_NDIM(x); ++d)
        if (PyArray_DIM(x, d) != 1 && PyArray_STRIDE(x, d) * other != PyArray_STRIDE(made, d) * one) return false;
    return true;
}

template <class From, class To>
void run(void (*f)(const From*, To*, int64_t), PyArrayObject* x, PyArrayObject* made) {
    const From* from = static_cast<const From*>(PyArray_DATA(x));
    To* to = static_cast<To*>(PyArray_DATA(made));
    const int64_t n = PyArray_SIZE(x);
    Released released(n > GRAIN);
    parallel(n, GRAIN, [=](int64_t begin, int64_t end) { f(from + begin, to + begin, end - begin); });
}

// Which of the element types of `CastTable`; -1 for others.
int kind_of(int type) {
    switch (type) {
        case NPY_BOOL: return 0;
        case NPY_UBYTE: return 1;
        case NPY_BYTE: return 2;
        case NPY_SHORT: return 3;
        case NPY_INT: return 4;
        case NPY_LONG: return sizeof(npy_long) == 8 ? 5 : 4;
        case NPY_FLOAT: return 6;
        case NPY_DOUBLE: return 7;
        default: return -1;
    }
}

// cast_rows(x, dtype) -> an array that is laid out like x; None where x is not dense, or for types that have no kernel.
PyObject* cast_rows(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "cast_rows")) return refused(names, "cast_rows");
    PyArrayObject* x = array_of(arguments[0], "cast_rows", 1);
    if (x == nullptr) return nullptr;
    if (!PyArray_DescrCheck(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "cast_rows: argument 2 must be a dtype");
        return nullptr;
    }
    PyArray_Descr* descr = reinterpret_cast<PyArray_Descr*>(arguments[1]);
    const int from = kind_of(PyArray_TYPE(x)), to = kind_of(descr->type_num);
    const auto f = from < 0 || to < 0 ? nullptr : kernels().casts->cast[from][to];
    if (f == nullptr || !PyArray_ISBEHAVED_RO(x) || !PyArray_ISNBO(descr->byteorder)) Py_RETURN_NONE;
    Py_INCREF(descr);
    Reference result(new_laid_out_as(x, descr));
    if (!result) return nullptr;
    if (!same_order(x, result.array())) Py_RETURN_NONE;
    const char* source = PyArray_BYTES(x);
    char* target = PyArray_BYTES(result.array());
    const int64_t n = PyArray_SIZE(x), size = PyArray_ITEMSIZE(x), other = PyArray_ITEMSIZE(result.array());
    Released released(n > GRAIN);
    parallel(n, GRAIN, [=](int64_t begin, int64_t end) { f(source + begin * size, target + begin * other, end - begin); });
    return result.release();
}

// cast(x, dtype) -> an array that is laid out like x; None where x has gaps, repeats elements or runs backwards.
PyObject* cast(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "cast")) return refused(names, "cast");
    PyArrayObject* x = array_of(arguments[0], "cast", 1);
    if (x == nullptr) return nullptr;
    if (!PyArray_DescrCheck(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "cast: argument 2 must be a dtype");
        return nullptr;
    }
    PyArray_Descr* descr = reinterpret_cast<PyArray_Descr*>(arguments[1]);
    Py_INCREF(descr);
    Reference result(new_laid_out_as(x, descr));
    if (!result) return nullptr;
    const Element from = element_of(x), to = element_of(result.array());
    const bool widening = to == Element::Float32 && (from == Element::BFloat16 || from == Element::Float16);
    const bool narrowing = from == Element::Float32 && (to == Element::BFloat16 || to == Element::Float16);
    if (!widening && !narrowing) {
        PyErr_SetString(PyExc_TypeError, "cast goes from float32 to bfloat16 or float16, or back");
        return nullptr;
    }
    if (!PyArray_ISALIGNED(x) || !same_order(x, result.array())) Py_RETURN_NONE;
    const HalfTable* half = kernels().half;
    if (widening)
        run(from == Element::BFloat16 ? half->from_bfloat16 : half->from_float16, x, result.array());
    else
        run(to == Element::BFloat16 ? half->to_bfloat16 : half->to_float16, x, result.array());
    return result.release();
}

}  // namespace

PyMethodDef half_methods[] = {
    method("cast", cast, "cast(x, dtype): between float32 and the half types; None where x is not dense"),
    method("cast_rows", cast_rows, "cast_rows(x, dtype): among bool, integers and floating point; None for others"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
