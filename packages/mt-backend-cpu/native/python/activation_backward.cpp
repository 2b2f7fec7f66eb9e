// Derivatives of activation functions that are linear in pieces.
#include "python/bindings.hpp"

namespace mt {
namespace {

using B = ActivationBackwardTable;
constexpr auto TABLE = &Tables::activation_backward;

}  // namespace

PyMethodDef activation_backward_methods[] = {
    method("threshold_backward", many<TABLE, &B::threshold_backward, 2, 1>,
           "threshold_backward(grad, x, threshold, *, out=None)"),
    method("hardtanh_backward", many<TABLE, &B::hardtanh_backward, 2, 2>,
           "hardtanh_backward(grad, x, low, high, *, out=None)"),
    method("leaky_relu_backward", many<TABLE, &B::leaky_relu_backward, 2, 1>,
           "leaky_relu_backward(grad, x, slope, *, out=None)"),
    method("hardsigmoid_backward", binary<TABLE, &B::hardsigmoid_backward>, "hardsigmoid_backward(grad, x, *, out=None)"),
    method("hardswish_backward", binary<TABLE, &B::hardswish_backward>, "hardswish_backward(grad, x, *, out=None)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
