// The executor of operators whose functions look at everything themselves: what they return is the whole of the answer.
//
// It stands before an executor of `mt_core.dispatch`, which takes every call for which the function returns None.
#include <cstddef>

#include "python/tensors.hpp"

#include <structmember.h>

namespace mt {
namespace {

constexpr size_t MOST_ARGUMENTS = 16;

struct Direct {
    Executor head;
    PyObject* function;
    PyObject* keys;     // of row-major results
    PyObject* strided;  // of others
    PyObject* dtype;    // of results; null where an argument tells it
    size_t of;          // the argument, a tensor or a dtype, that tells it
};

// What the function gets for an argument: arrays for tensors, in lists too; null with or without an error.
PyObject* handed(PyObject* value) {
    if (is_tensor(value)) {
        PyArrayObject* array = array_in(value);
        return array == nullptr ? nullptr : Py_NewRef(reinterpret_cast<PyObject*>(array));
    }
    if (!PyList_CheckExact(value)) return Py_NewRef(value);
    const Py_ssize_t count = PyList_GET_SIZE(value);
    Reference list(PyList_New(count));
    for (Py_ssize_t i = 0; list && i < count; ++i) {
        PyObject* item = handed(PyList_GET_ITEM(value, i));
        if (item == nullptr) return nullptr;
        PyList_SET_ITEM(list.get(), i, item);
    }
    return list.release();
}

PyObject* direct_call(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* names) {
    Direct* self = reinterpret_cast<Direct*>(object);
    const size_t count = static_cast<size_t>(PyVectorcall_NARGS(flags));
    const auto otherwise = [&] { return handed_over(&self->head, arguments, flags, names); };
    if (names != nullptr || count > MOST_ARGUMENTS || (self->dtype == nullptr && self->of >= count)) return otherwise();
    PyObject* dtype = self->dtype;
    if (dtype == nullptr) {
        PyObject* teller = arguments[self->of];
        dtype = is_tensor(teller) ? dtype_in(teller) : teller;
        if (dtype == nullptr || reinterpret_cast<PyObject*>(Py_TYPE(dtype)) != core.dtype_type) return otherwise();
    }
    struct Given {
        PyObject* items[1 + MOST_ARGUMENTS] = {};
        size_t count = 0;
        ~Given() {
            while (count) Py_DECREF(items[count--]);
        }
    } given;
    for (size_t i = 0; i < count; ++i) {
        PyObject* value = handed(arguments[i]);
        if (value == nullptr) return PyErr_Occurred() ? nullptr : otherwise();
        given.items[++given.count] = value;
    }
    Reference found(
        PyObject_Vectorcall(self->function, given.items + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
    if (!found) return nullptr;
    if (!PyArray_CheckExact(found.get())) return otherwise();
    const bool rows = PyArray_IS_C_CONTIGUOUS(found.array());
    return new_tensor(found.release(), dtype, rows ? self->keys : self->strided);
}

int direct_traverse(PyObject* object, visitproc visit, void* arg) {
    Direct* self = reinterpret_cast<Direct*>(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->head.otherwise);
    Py_VISIT(self->function);
    return 0;
}

int direct_clear(PyObject* object) {
    Direct* self = reinterpret_cast<Direct*>(object);
    Py_CLEAR(self->head.otherwise);
    Py_CLEAR(self->function);
    Py_CLEAR(self->keys);
    Py_CLEAR(self->strided);
    Py_CLEAR(self->dtype);
    return 0;
}

void direct_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    direct_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

// Direct(otherwise, function, keys, strided, dtype or the place of the argument that tells it)
PyObject* direct_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *otherwise, *function, *keys, *strided, *dtype;
    if (!PyArg_ParseTuple(args, "OOOOO", &otherwise, &function, &keys, &strided, &dtype)) return nullptr;
    Py_ssize_t of = 0;
    const bool is_place = PyLong_CheckExact(dtype);
    if (is_place && ((of = PyLong_AsSsize_t(dtype)) < 0 || of >= static_cast<Py_ssize_t>(MOST_ARGUMENTS))) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "direct executors take up to 16 arguments");
        return nullptr;
    }
    if (!is_place && reinterpret_cast<PyObject*>(Py_TYPE(dtype)) != core.dtype_type) {
        PyErr_SetString(PyExc_TypeError, "a dtype, or the place of the argument that tells it");
        return nullptr;
    }
    Direct* made = reinterpret_cast<Direct*>(type->tp_alloc(type, 0));
    if (made == nullptr) return nullptr;
    made->head.call = direct_call;
    made->head.otherwise = Py_NewRef(otherwise);
    made->function = Py_NewRef(function);
    made->keys = Py_NewRef(keys);
    made->strided = Py_NewRef(strided);
    made->dtype = is_place ? nullptr : Py_NewRef(dtype);
    made->of = static_cast<size_t>(of);
    return reinterpret_cast<PyObject*>(made);
}

PyMemberDef direct_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Executor, call), READONLY, nullptr},
    {"otherwise", T_OBJECT, offsetof(Executor, otherwise), READONLY, "The executor that takes every other call."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot direct_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(direct_new)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(direct_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(direct_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(direct_dealloc)},
    {Py_tp_members, direct_members},
    {0, nullptr},
};

PyType_Spec direct_spec = {"mt_backend_cpu._native.Direct", sizeof(Direct), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, direct_slots};

}  // namespace

bool add_direct(PyObject* module) {
    Reference type(PyType_FromSpec(&direct_spec));
    return type && PyModule_AddObjectRef(module, "Direct", type.get()) == 0;
}

}  // namespace mt
