// The extension module `mt_backend_cpu._native`.
#define MT_IMPORTS_NUMPY
#include "core/parallel.hpp"
#include "python/tensors.hpp"

namespace mt {
namespace {

PyObject* levels_(PyObject*, PyObject*) {
    const std::vector<std::string> names = levels();
    Reference result(PyTuple_New(static_cast<Py_ssize_t>(names.size())));
    if (!result) return nullptr;
    for (size_t i = 0; i < names.size(); ++i) {
        PyObject* name = PyUnicode_FromString(names[i].c_str());
        if (name == nullptr) return nullptr;
        PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), name);
    }
    return result.release();
}

PyObject* level_(PyObject*, PyObject*) { return PyUnicode_FromString(level_name()); }

PyObject* use_level_(PyObject*, PyObject* name) {
    const char* wanted = PyUnicode_AsUTF8(name);
    if (wanted == nullptr) return nullptr;
    if (!use_level(wanted)) {
        PyErr_Format(PyExc_ValueError, "level '%s' was not built or is not of this processor", wanted);
        return nullptr;
    }
    Py_RETURN_NONE;
}

PyObject* num_threads_(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }

PyObject* set_num_threads_(PyObject*, PyObject* count) {
    const long wanted = PyLong_AsLong(count);
    if (PyErr_Occurred()) return nullptr;
    if (wanted < 1 || wanted > 4096) {
        PyErr_Format(PyExc_ValueError, "between 1 and 4096 threads, not %ld", wanted);
        return nullptr;
    }
    set_num_threads(static_cast<int>(wanted));
    Py_RETURN_NONE;
}

PyObject* use_bfloat16(PyObject*, PyObject* dtype) {
    if (!PyArray_DescrCheck(dtype)) {
        PyErr_SetString(PyExc_TypeError, "use_bfloat16 takes NumPy's dtype of bfloat16");
        return nullptr;
    }
    bfloat16_number = reinterpret_cast<PyArray_Descr*>(dtype)->type_num;
    Py_RETURN_NONE;
}

PyMethodDef own_methods[] = {
    {"levels", levels_, METH_NOARGS, "Levels of instructions that were built and that this processor has."},
    {"level", level_, METH_NOARGS, "The level in use."},
    {"use_level", use_level_, METH_O, "use_level(name)"},
    {"num_threads", num_threads_, METH_NOARGS, "How many threads a kernel may use."},
    {"set_num_threads", set_num_threads_, METH_O, "set_num_threads(count)"},
    {"use_bfloat16", use_bfloat16, METH_O, "use_bfloat16(dtype): what NumPy calls it here"},
    {nullptr, nullptr, 0, nullptr},
};

// Two families must not give a function the same name: the later would take the other's place.
bool add_functions(PyObject* module, PyMethodDef* methods) {
    for (const PyMethodDef* function = methods; function->ml_name != nullptr; ++function)
        if (PyObject_HasAttrString(module, function->ml_name)) {
            PyErr_Format(PyExc_ImportError, "the native library has two functions %s", function->ml_name);
            return false;
        }
    return PyModule_AddFunctions(module, methods) == 0;
}

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "Native kernels of mt_backend_cpu.", -1, own_methods,
                          nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace mt

PyMODINIT_FUNC PyInit__native() {
    import_array();
    if (!mt::use_level("")) {
        PyErr_SetString(PyExc_ImportError, "the native library has no kernels for this processor");
        return nullptr;
    }
    if (!mt::add_memory()) return nullptr;
    mt::Reference module(PyModule_Create(&mt::definition));
    if (!module) return nullptr;
    for (PyMethodDef* methods :
         {mt::activation_methods, mt::softmax_methods, mt::norm_methods, mt::elementwise_methods, mt::half_methods,
          mt::random_methods, mt::activation_backward_methods, mt::reduction_scan_methods, mt::linalg_methods,
          mt::view_methods, mt::indexing_methods, mt::sort_methods, mt::order_methods, mt::matmul_methods,
          mt::channel_methods, mt::pool_methods, mt::upsample_methods, mt::loss_methods, mt::conv_methods,
          mt::comparison_methods, mt::executor_methods, mt::reduction_methods, mt::join_methods, mt::shape_methods,
          mt::attention_methods, mt::recurrent_methods, mt::fft_methods, mt::writing_methods, mt::matrix_methods,
          mt::geometry_methods, mt::pick_methods, mt::cast_methods, mt::memory_methods, mt::selection_methods,
           mt::batch_methods})
        if (!mt::add_functions(module.get(), methods)) return nullptr;
    if (!mt::add_executors(module.get())) return nullptr;
    if (PyModule_AddStringConstant(module.get(), "source_hash", MT_SOURCE_HASH) < 0) return nullptr;
    return module.release();
}
