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
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
