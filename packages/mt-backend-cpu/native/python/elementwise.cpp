// Arithmetic.
#include "core/parallel.hpp"
#include "python/bindings.hpp"

namespace mt {
namespace {

using E = ElementwiseTable;
constexpr auto TABLE = &Tables::elementwise;

// f(a, b, *, out=None), where b may be a Python number.
template <auto Member, auto OfBrain, auto OfNumber>
PyObject* arithmetic(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (count == 2 && (PyFloat_Check(arguments[1]) || PyLong_Check(arguments[1])))
        return many<TABLE, OfNumber, 1, 1>(module, arguments, count, names);
    PyObject* out;
    if (!counted(count, 2, "this kernel") || !only_out(arguments, count, names, "this kernel", &out)) return nullptr;
    const E* table = kernels().*TABLE;
    return map2_arrays(table->*Member, arguments[0], arguments[1], out, "this kernel", table->*OfBrain);
}

template <class T>
void remainders(void (*f)(const T*, int64_t, T*, int64_t), PyArrayObject* x, int64_t number, PyArrayObject* result) {
    const T* from = static_cast<const T*>(PyArray_DATA(x));
    T* to = static_cast<T*>(PyArray_DATA(result));
    const int64_t n = PyArray_SIZE(x);
    Released released(n > GRAIN);
    parallel(n, GRAIN, [=](int64_t begin, int64_t end) { f(from + begin, number, to + begin, end - begin); });
}

// remainder(x, number): x of int32 or int64, row-major; the number is of that type and not 0.
PyObject* remainder(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "remainder")) return refused(names, "remainder");
    PyArrayObject* x = array_of(arguments[0], "remainder", 1);
    if (x == nullptr) return nullptr;
    const long long number = PyLong_AsLongLong(arguments[1]);
    if (number == -1 && PyErr_Occurred()) return nullptr;
    const bool whole = PyTypeNum_ISSIGNED(PyArray_TYPE(x)) && PyTypeNum_ISINTEGER(PyArray_TYPE(x));
    const npy_intp size = PyArray_ITEMSIZE(x);
    if (!whole || (size != 4 && size != 8) || !PyArray_ISCARRAY_RO(x) || !PyArray_ISNOTSWAPPED(x) || number == 0 ||
        (size == 4 && number != static_cast<int32_t>(number))) {
        PyErr_SetString(PyExc_TypeError, "remainder takes int32 or int64, row-major, and a number of that type but 0");
        return nullptr;
    }
    Reference result(new_like(x));
    if (!result) return nullptr;
    if (size == 4)
        remainders(kernels().elementwise->remainder32, x, number, result.array());
    else
        remainders(kernels().elementwise->remainder64, x, number, result.array());
    return result.release();
}

}  // namespace

PyMethodDef elementwise_methods[] = {
    method("add", arithmetic<&E::add, &E::add_brain, &E::add_number>, "add(a, b, *, out=None)"),
    method("sub", arithmetic<&E::sub, &E::sub_brain, &E::sub_number>, "sub(a, b, *, out=None)"),
    method("mul", arithmetic<&E::mul, &E::mul_brain, &E::mul_number>, "mul(a, b, *, out=None)"),
    method("div", arithmetic<&E::div, &E::div_brain, &E::div_number>, "div(a, b, *, out=None)"),
    method("add_scaled", many<TABLE, &E::add_scaled, 2, 1>, "add_scaled(a, b, alpha, *, out=None)"),
    method("addcmul", many<TABLE, &E::addcmul, 3, 1>, "addcmul(x, a, b, value, *, out=None)"),
    method("addcdiv", many<TABLE, &E::addcdiv, 3, 1>, "addcdiv(x, a, b, value, *, out=None)"),
    method("lerp", many<TABLE, &E::lerp, 2, 1>, "lerp(x, end, weight, *, out=None)"),
    method("remainder", remainder, "remainder(x, number) of integers"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
