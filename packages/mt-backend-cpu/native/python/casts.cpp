// Casts of small row-major arrays between the numbers that programs cast most, as PyTorch converts them.
#include <limits>
#include <type_traits>

#include "python/bindings.hpp"

namespace mt {
namespace {

// A floating-point number as a whole one: what does not fit is the least number, as the processor has it.
template <class To, class From>
To whole(From value) {
    constexpr From least = static_cast<From>(std::numeric_limits<To>::min());
    return value >= least && value < -least ? static_cast<To>(value) : std::numeric_limits<To>::min();
}

template <class To, class From>
To converted(From value) {
    if constexpr (std::is_same_v<To, bool>)
        return value != From(0);
    else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint8_t>)
        return static_cast<To>(whole<int64_t>(value));
    else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) <= 4)
        return static_cast<To>(whole<int32_t>(value));
    else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
        return whole<To>(value);
    else
        return static_cast<To>(value);
}

template <class From, class To>
void run(PyArrayObject* x, PyArrayObject* made) {
    // A truth value may be stored as any byte.
    using Stored = std::conditional_t<std::is_same_v<From, bool>, uint8_t, From>;
    const Stored* from = static_cast<const Stored*>(PyArray_DATA(x));
    To* to = static_cast<To*>(PyArray_DATA(made));
    const npy_intp n = PyArray_SIZE(x);
    for (npy_intp i = 0; i < n; ++i) to[i] = converted<To>(static_cast<From>(from[i]));
}

using Run = void (*)(PyArrayObject*, PyArrayObject*);

template <class From>
Run to_type(int type) {
    switch (type) {
        case NPY_BOOL: return run<From, bool>;
        case NPY_UBYTE: return run<From, uint8_t>;
        case NPY_SHORT: return run<From, int16_t>;
        case NPY_INT: return run<From, int32_t>;
        case NPY_INT64: return run<From, int64_t>;
        case NPY_FLOAT: return run<From, float>;
        case NPY_DOUBLE: return run<From, double>;
        default: return nullptr;
    }
}

Run between(int from, int to) {
    switch (from) {
        case NPY_BOOL: return to_type<bool>(to);
        case NPY_UBYTE: return to_type<uint8_t>(to);
        case NPY_SHORT: return to_type<int16_t>(to);
        case NPY_INT: return to_type<int32_t>(to);
        case NPY_INT64: return to_type<int64_t>(to);
        case NPY_FLOAT: return to_type<float>(to);
        case NPY_DOUBLE: return to_type<double>(to);
        default: return nullptr;
    }
}

bool halves(PyArrayObject* x, PyArrayObject* made) {
    const Element from = element_of(x), to = element_of(made);
    const HalfTable* half = kernels().half;
    const npy_intp n = PyArray_SIZE(x);
    void *source = PyArray_DATA(x), *target = PyArray_DATA(made);
    if (to == Element::Float32 && (from == Element::BFloat16 || from == Element::Float16)) {
        const auto f = from == Element::BFloat16 ? half->from_bfloat16 : half->from_float16;
        f(static_cast<const uint16_t*>(source), static_cast<float*>(target), n);
        return true;
    }
    if (from == Element::Float32 && (to == Element::BFloat16 || to == Element::Float16)) {
        const auto f = to == Element::BFloat16 ? half->to_bfloat16 : half->to_float16;
        f(static_cast<const float*>(source), static_cast<uint16_t*>(target), n);
        return true;
    }
    return false;
}

bool has_strides_of_rows(PyArrayObject* array) {
    npy_intp expected = PyArray_ITEMSIZE(array);
    for (int d = PyArray_NDIM(array) - 1; d >= 0; --d) {
        if (PyArray_STRIDE(array, d) != expected) return false;
        expected *= PyArray_DIM(array, d);
    }
    return true;
}

// to_dtype(x, dtype of the core, layout, device, pin_memory, non_blocking, memory_format) -> x in the dtype; None where
// an option says more than the dtype, the array is large or not row-major, or the cast has no kernel.
PyObject* to_dtype(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 7, "to_dtype")) return refused(names, "to_dtype");
    static PyObject* attribute = PyUnicode_InternFromString("numpy_dtype");
    if (attribute == nullptr) return nullptr;
    PyArrayObject* x = array_of(arguments[0], "to_dtype", 1);
    if (x == nullptr) return nullptr;
    const npy_intp size = PyArray_SIZE(x);
    if (arguments[1] == Py_None || arguments[2] != Py_None || arguments[3] != Py_None || arguments[6] != Py_None ||
        (arguments[4] != Py_None && arguments[4] != Py_False) || size == 0 || size > GRAIN ||
        !PyArray_ISCARRAY_RO(x) || !has_strides_of_rows(x))
        Py_RETURN_NONE;
    Reference stored(PyObject_GetAttr(arguments[1], attribute));
    if (!stored) return nullptr;
    if (!PyArray_DescrCheck(stored.get())) Py_RETURN_NONE;
    PyArray_Descr* descr = reinterpret_cast<PyArray_Descr*>(stored.get());
    if (descr->type_num == PyArray_TYPE(x)) Py_RETURN_NONE;
    const Run f = between(PyArray_TYPE(x), descr->type_num);
    const Element from = element_of(x);
    if (f == nullptr && from == Element::Other && PyArray_TYPE(x) != NPY_FLOAT) Py_RETURN_NONE;
    Py_INCREF(descr);
    Reference made(new_of(descr, PyArray_NDIM(x), PyArray_DIMS(x)));
    if (!made) return nullptr;
    if (f != nullptr)
        f(x, made.array());
    else if (!halves(x, made.array()))
        Py_RETURN_NONE;
    return made.release();
}

}  // namespace

PyMethodDef cast_methods[] = {
    method("to_dtype", to_dtype, "to_dtype(x, dtype, layout, device, pin_memory, non_blocking, memory_format), or None"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
