// The executor of factories: small row-major tensors, empty or of one number.
//
// It stands before what the core makes tensors by (`mt_core.contract_kernels.creation`), which takes every other call.
#include <cstddef>
#include <cstring>

#include "python/tensors.hpp"

#include <structmember.h>

namespace mt {
namespace {

constexpr Py_ssize_t MOST_ARGUMENTS = 12;
// Larger ones cost more than a call, and may not fit the memory.
constexpr npy_intp MOST_BYTES = 1 << 16;

// What stands at each place of the schema, one letter each: s the size, t a tensor whose size it is, n a tensor that
// gives no more than dtype and device, v the number, d the dtype, o an option that must be None (or False).
struct Factory {
    Executor head;
    PyObject* keys;
    PyObject* stored;         // dict, dtype -> NumPy's
    PyObject* default_dtype;  // callable
    PyObject* determinism;    // its `enabled` is asked where elements mean nothing; null otherwise
    PyObject* number;         // that all elements are; null where it is an argument, or where they mean nothing
    PyObject* int64;          // dtype
    Py_ssize_t count;
    char places[MOST_ARGUMENTS + 1];
};

// Whether strides are those of rows, also along dimensions of one element.
bool is_row_major(PyArrayObject* array) {
    npy_intp expected = PyArray_ITEMSIZE(array);
    for (int d = PyArray_NDIM(array) - 1; d >= 0; --d) {
        if (PyArray_STRIDE(array, d) != expected) return false;
        expected *= PyArray_DIM(array, d);
    }
    return PyArray_SIZE(array) > 0;
}

bool read_size(PyObject* size, npy_intp* shape, int* ndim, npy_intp* elements) {
    if (!PyTuple_CheckExact(size) || PyTuple_GET_SIZE(size) > 16) return false;
    *ndim = static_cast<int>(PyTuple_GET_SIZE(size));
    *elements = 1;
    for (int d = 0; d < *ndim; ++d) {
        PyObject* n = PyTuple_GET_ITEM(size, d);
        if (!PyLong_CheckExact(n)) return false;
        int overflow;
        const long number = PyLong_AsLongAndOverflow(n, &overflow);
        if (overflow || number < 0 || number > MOST_BYTES) return false;
        shape[d] = number;
        *elements *= number;
        if (*elements > MOST_BYTES) return false;
    }
    return true;
}

PyObject* factory_call(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* names) {
    Factory* self = reinterpret_cast<Factory*>(object);
    const auto otherwise = [&] { return handed_over(&self->head, arguments, flags, names); };
    if (names != nullptr || PyVectorcall_NARGS(flags) != self->count) return otherwise();
    npy_intp shape[NPY_MAXDIMS], elements = 1;
    int ndim = 0;
    PyObject *number = self->number, *dtype = nullptr;
    for (Py_ssize_t i = 0; i < self->count; ++i) {
        PyObject* value = arguments[i];
        switch (self->places[i]) {
            case 's':
                if (!read_size(value, shape, &ndim, &elements)) return otherwise();
                break;
            case 't':
            case 'n': {
                PyArrayObject* like = array_in(value);
                if (like == nullptr) return otherwise();
                dtype = dtype_in(value);
                if (self->places[i] == 'n') break;
                if (!is_row_major(like)) return otherwise();
                ndim = PyArray_NDIM(like);
                elements = PyArray_SIZE(like);
                std::memcpy(shape, PyArray_DIMS(like), static_cast<size_t>(ndim) * sizeof(npy_intp));
                break;
            }
            case 'v': number = value; break;
            case 'd':
                if (value != Py_None) dtype = value;
                break;
            default:
                if (value != Py_None && value != Py_False) return otherwise();
        }
    }
    Reference found(nullptr);
    if (dtype == nullptr) {
        if (number == nullptr || number == self->number || PyFloat_CheckExact(number))
            dtype = found.keep(PyObject_CallNoArgs(self->default_dtype));
        else if (PyLong_CheckExact(number))
            dtype = self->int64;
        else
            return otherwise();
        if (dtype == nullptr) return nullptr;
    }
    if (reinterpret_cast<PyObject*>(Py_TYPE(dtype)) != core.dtype_type) return otherwise();
    PyObject* descr = PyDict_GetItemWithError(self->stored, dtype);
    if (descr == nullptr) return PyErr_Occurred() ? nullptr : otherwise();
    PyArray_Descr* element = reinterpret_cast<PyArray_Descr*>(descr);
    if (elements * PyDataType_ELSIZE(element) > MOST_BYTES) return otherwise();
    if (self->determinism != nullptr) {
        Reference enabled(PyObject_GetAttrString(self->determinism, "enabled"));
        if (!enabled) return nullptr;
        if (enabled.get() != Py_False) return otherwise();
    }
    const bool zero = number != nullptr && PyLong_CheckExact(number) && number == self->number &&
                      PyLong_AsLong(number) == 0;
    Py_INCREF(element);
    Reference made(zero ? PyArray_Zeros(ndim, shape, element, 0) : PyArray_Empty(ndim, shape, element, 0));
    if (!made) return nullptr;
    if (number != nullptr && !zero) {
        Reference filled(fill_with(made.array(), number));
        if (!filled) return nullptr;
        if (filled.get() == Py_NotImplemented) return otherwise();
    }
    return new_tensor(made.release(), dtype, self->keys);
}

// Factory(otherwise, keys, places, number, stored, default_dtype, determinism, int64)
PyObject* factory_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *otherwise, *keys, *number, *stored, *default_dtype, *determinism, *int64;
    const char* places;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "OOs#OO!OOO", &otherwise, &keys, &places, &count, &number, &PyDict_Type, &stored,
                          &default_dtype, &determinism, &int64))
        return nullptr;
    if (count > MOST_ARGUMENTS || std::strspn(places, "stnvdo") != static_cast<size_t>(count)) {
        PyErr_SetString(PyExc_ValueError, "factories know no such places");
        return nullptr;
    }
    PyObject* key;
    PyObject* descr;
    Py_ssize_t position = 0;
    while (PyDict_Next(stored, &position, &key, &descr))
        if (!PyArray_DescrCheck(descr) || PyDataType_REFCHK(reinterpret_cast<PyArray_Descr*>(descr))) {
            PyErr_SetString(PyExc_TypeError, "factories make arrays of plain elements");
            return nullptr;
        }
    Factory* made = reinterpret_cast<Factory*>(type->tp_alloc(type, 0));
    if (made == nullptr) return nullptr;
    made->head.call = factory_call;
    made->head.otherwise = Py_NewRef(otherwise);
    made->keys = Py_NewRef(keys);
    made->stored = Py_NewRef(stored);
    made->default_dtype = Py_NewRef(default_dtype);
    made->determinism = determinism == Py_None ? nullptr : Py_NewRef(determinism);
    made->number = number == Py_None ? nullptr : Py_NewRef(number);
    made->int64 = Py_NewRef(int64);
    made->count = count;
    std::memcpy(made->places, places, static_cast<size_t>(count) + 1);
    return reinterpret_cast<PyObject*>(made);
}

int factory_traverse(PyObject* object, visitproc visit, void* arg) {
    Factory* self = reinterpret_cast<Factory*>(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->head.otherwise);
    Py_VISIT(self->stored);
    Py_VISIT(self->default_dtype);
    Py_VISIT(self->determinism);
    return 0;
}

int factory_clear(PyObject* object) {
    Factory* self = reinterpret_cast<Factory*>(object);
    Py_CLEAR(self->head.otherwise);
    Py_CLEAR(self->keys);
    Py_CLEAR(self->stored);
    Py_CLEAR(self->default_dtype);
    Py_CLEAR(self->determinism);
    Py_CLEAR(self->number);
    Py_CLEAR(self->int64);
    return 0;
}

void factory_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    factory_clear(object);
    type->tp_free(object);
    Py_DECREF(type);
}

PyMemberDef factory_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Executor, call), READONLY, nullptr},
    {"otherwise", T_OBJECT, offsetof(Executor, otherwise), READONLY, "The executor that takes every other call."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot factory_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(factory_new)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(factory_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(factory_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(factory_dealloc)},
    {Py_tp_members, factory_members},
    {0, nullptr},
};

PyType_Spec factory_spec = {"mt_backend_cpu._native.Factory", sizeof(Factory), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, factory_slots};

}  // namespace

bool add_factory(PyObject* module) {
    Reference type(PyType_FromSpec(&factory_spec));
    return type && PyModule_AddObjectRef(module, "Factory", type.get()) == 0;
}

}  // namespace mt
