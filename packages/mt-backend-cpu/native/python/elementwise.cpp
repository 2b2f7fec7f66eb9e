// Arithmetic.
#include "python/bindings.hpp"

namespace mt {
namespace {

using E = ElementwiseTable;
constexpr auto TABLE = &Tables::elementwise;

// f(a, b, *, out=None), where b may be a Python number.
template <auto Member, auto OfNumber>
PyObject* arithmetic(PyObject* module, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (count == 2 && (PyFloat_Check(arguments[1]) || PyLong_Check(arguments[1])))
        return many<TABLE, OfNumber, 1, 1>(module, arguments, count, names);
    return binary<TABLE, Member>(module, arguments, count, names);
}

}  // namespace

PyMethodDef elementwise_methods[] = {
    method("add", arithmetic<&E::add, &E::add_number>, "add(a, b, *, out=None)"),
    method("sub", arithmetic<&E::sub, &E::sub_number>, "sub(a, b, *, out=None)"),
    method("mul", arithmetic<&E::mul, &E::mul_number>, "mul(a, b, *, out=None)"),
    method("div", arithmetic<&E::div, &E::div_number>, "div(a, b, *, out=None)"),
    method("add_scaled", many<TABLE, &E::add_scaled, 2, 1>, "add_scaled(a, b, alpha, *, out=None)"),
    method("addcmul", many<TABLE, &E::addcmul, 3, 1>, "addcmul(x, a, b, value, *, out=None)"),
    method("addcdiv", many<TABLE, &E::addcdiv, 3, 1>, "addcdiv(x, a, b, value, *, out=None)"),
    method("lerp", many<TABLE, &E::lerp, 2, 1>, "lerp(x, end, weight, *, out=None)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
