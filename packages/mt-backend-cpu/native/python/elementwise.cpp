// Arithmetic.
#include "python/bindings.hpp"

namespace mt {
namespace {

using E = ElementwiseTable;
constexpr auto TABLE = &Tables::elementwise;

}  // namespace

PyMethodDef elementwise_methods[] = {
    method("add", binary<TABLE, &E::add>, "add(a, b, *, out=None)"),
    method("sub", binary<TABLE, &E::sub>, "sub(a, b, *, out=None)"),
    method("mul", binary<TABLE, &E::mul>, "mul(a, b, *, out=None)"),
    method("div", binary<TABLE, &E::div>, "div(a, b, *, out=None)"),
    method("add_scaled", many<TABLE, &E::add_scaled, 2, 1>, "add_scaled(a, b, alpha, *, out=None)"),
    method("addcmul", many<TABLE, &E::addcmul, 3, 1>, "addcmul(x, a, b, value, *, out=None)"),
    method("addcdiv", many<TABLE, &E::addcdiv, 3, 1>, "addcdiv(x, a, b, value, *, out=None)"),
    method("lerp", many<TABLE, &E::lerp, 2, 1>, "lerp(x, end, weight, *, out=None)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
