// Activation functions.
#include "python/bindings.hpp"

namespace mt {
namespace {

// Whether `approximate` is "tanh"; -1 with an error where it is neither that nor "none".
int by_tanh(PyObject* approximate) {
    if (PyUnicode_Check(approximate)) {
        if (PyUnicode_CompareWithASCIIString(approximate, "none") == 0) return 0;
        if (PyUnicode_CompareWithASCIIString(approximate, "tanh") == 0) return 1;
    }
    PyErr_Format(PyExc_ValueError, "gelu: approximate must be 'none' or 'tanh', not %R", approximate);
    return -1;
}

PyObject* gelu(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    PyObject* out;
    if (!counted(count, 2, "gelu") || !only_out(arguments, count, names, "gelu", &out)) return nullptr;
    const int approximate = by_tanh(arguments[1]);
    if (approximate < 0) return nullptr;
    const ActivationTable* table = kernels().activation;
    return map_arrays(approximate ? table->gelu_tanh : table->gelu_erf, arguments[0], out, "gelu");
}

PyObject* gelu_backward(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    PyObject* out;
    if (!counted(count, 3, "gelu_backward") || !only_out(arguments, count, names, "gelu_backward", &out)) return nullptr;
    const int approximate = by_tanh(arguments[2]);
    if (approximate < 0) return nullptr;
    const ActivationTable* table = kernels().activation;
    return map2_arrays(approximate ? table->gelu_tanh_backward : table->gelu_erf_backward, arguments[0], arguments[1],
                       out, "gelu_backward");
}

using A = ActivationTable;
constexpr auto TABLE = &Tables::activation;

}  // namespace

PyMethodDef activation_methods[] = {
    method("gelu", gelu, "gelu(x, approximate, *, out=None)"),
    method("gelu_backward", gelu_backward, "gelu_backward(grad, x, approximate, *, out=None)"),
    method("silu", unary<TABLE, &A::silu>, "silu(x, *, out=None)"),
    method("sigmoid", unary<TABLE, &A::sigmoid>, "sigmoid(x, *, out=None)"),
    method("tanh", unary<TABLE, &A::tanh>, "tanh(x, *, out=None)"),
    method("erf", unary<TABLE, &A::erf>, "erf(x, *, out=None)"),
    method("hardswish", unary<TABLE, &A::hardswish>, "hardswish(x, *, out=None)"),
    method("sign", unary<TABLE, &A::sign>, "sign(x, *, out=None)"),
    method("leaky_relu", many<TABLE, &A::leaky_relu, 1, 1>, "leaky_relu(x, slope, *, out=None)"),
    method("relu", unary<TABLE, &A::relu>, "relu(x, *, out=None)"),
    method("exp", unary<TABLE, &A::exp>, "exp(x, *, out=None)"),
    method("silu_backward", binary<TABLE, &A::silu_backward>, "silu_backward(grad, x, *, out=None)"),
    method("sigmoid_backward", binary<TABLE, &A::sigmoid_backward>, "sigmoid_backward(grad, result, *, out=None)"),
    method("tanh_backward", binary<TABLE, &A::tanh_backward>, "tanh_backward(grad, result, *, out=None)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
