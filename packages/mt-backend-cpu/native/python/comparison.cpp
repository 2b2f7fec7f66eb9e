// Limits.
#include "python/bindings.hpp"

namespace mt {
namespace {

using C = ComparisonTable;
constexpr auto TABLE = &Tables::comparison;

}  // namespace

PyMethodDef comparison_methods[] = {
    method("clamp_min", many<TABLE, &C::clamp_min, 1, 1>, "clamp_min(x, low, *, out=None)"),
    method("clamp_max", many<TABLE, &C::clamp_max, 1, 1>, "clamp_max(x, high, *, out=None)"),
    method("clamp", many<TABLE, &C::clamp, 1, 2>, "clamp(x, low, high, *, out=None)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
