// Executors of the plainest calls: elementwise operators of tensors of one dtype and shape, and views.
//
// Each stands before an executor of `mt_core.dispatch`, which takes whatever is not recognized here.
#include <cstddef>
#include <cstring>
#include <vector>

#include "python/tensors.hpp"

#include <structmember.h>

namespace mt {
namespace {

constexpr size_t MOST_ARGUMENTS = 16;

// Whether an argument is the value that was given before, of its class.
bool is_value(PyObject* value, PyObject* wanted) {
    if (value == wanted) return true;
    if (Py_TYPE(value) != Py_TYPE(wanted)) return false;
    if (PyFloat_CheckExact(value)) {
        const double a = PyFloat_AS_DOUBLE(value), b = PyFloat_AS_DOUBLE(wanted);
        return std::memcmp(&a, &b, sizeof a) == 0;
    }
    if (PyUnicode_CheckExact(value)) return PyUnicode_Compare(value, wanted) == 0;
    return false;
}

// How tensors of one dtype are computed.
struct Entry {
    PyObject* dtype;       // of the operands
    PyObject* function;    // of the operands, and of `parameters` where they are at their defaults
    PyObject* parameters;  // tuple
    PyObject* result;      // dtype
    PyObject* stored;      // NumPy's dtype of the result
    bool any_parameters;   // whether others than the defaults go to the function as they are
    bool takes_int, takes_float;
};

struct Elementwise {
    Executor head;
    PyObject* finish;    // (value, dtype) -> tensor
    PyObject* keys;      // of results
    PyObject* defaults;  // of the parameters after the operands, a tuple
    PyObject* first;     // the dtype of the first operand where it is none of those that are computed with, or null
    int operands;
    bool numbers;  // whether the last operand may be one
    std::vector<Entry>* entries;
};

PyObject* elementwise_call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* names) {
    Elementwise* operation = reinterpret_cast<Elementwise*>(self);
    const size_t count = static_cast<size_t>(PyVectorcall_NARGS(flags));
    const size_t operands = static_cast<size_t>(operation->operands);
    const size_t parameters = static_cast<size_t>(PyTuple_GET_SIZE(operation->defaults));
    if (names != nullptr || count != operands + parameters)
        return handed_over(&operation->head, arguments, flags, names);
    // A condition comes first; the operand after it tells what is computed in.
    const size_t leader = operation->first == nullptr ? 0 : 1;
    PyArrayObject* leading = array_in(arguments[leader]);
    if (leading == nullptr) return handed_over(&operation->head, arguments, flags, names);
    PyObject* dtype = dtype_in(arguments[leader]);
    const Entry* entry = nullptr;
    for (const Entry& candidate : *operation->entries)
        if (candidate.dtype == dtype) {
            entry = &candidate;
            break;
        }
    if (entry == nullptr) return handed_over(&operation->head, arguments, flags, names);
    PyObject* given[1 + MOST_ARGUMENTS];
    PyObject** kernel_arguments = given + 1;
    for (size_t i = 0; i < operands; ++i) {
        PyArrayObject* array = array_in(arguments[i]);
        if (array == nullptr) {
            const bool last = i + 1 == operands && operation->numbers;
            bool taken = last && entry->takes_float && PyFloat_CheckExact(arguments[i]);
            if (last && !taken && entry->takes_int && PyLong_CheckExact(arguments[i])) {
                int overflow;
                const long number = PyLong_AsLongAndOverflow(arguments[i], &overflow);
                taken = !overflow && number >= 0 && number <= 127;
            }
            if (!taken) return handed_over(&operation->head, arguments, flags, names);
            kernel_arguments[i] = arguments[i];
            continue;
        }
        if (dtype_in(arguments[i]) != (i < leader ? operation->first : dtype) || !same_shape(array, leading))
            return handed_over(&operation->head, arguments, flags, names);
        kernel_arguments[i] = reinterpret_cast<PyObject*>(array);
    }
    bool at_defaults = true;
    for (size_t i = 0; i < parameters && at_defaults; ++i)
        at_defaults =
            is_value(arguments[operands + i], PyTuple_GET_ITEM(operation->defaults, static_cast<Py_ssize_t>(i)));
    size_t handed = operands;
    if (at_defaults) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(entry->parameters); ++i)
            kernel_arguments[handed++] = PyTuple_GET_ITEM(entry->parameters, i);
    } else {
        if (!entry->any_parameters) return handed_over(&operation->head, arguments, flags, names);
        for (size_t i = 0; i < parameters; ++i) kernel_arguments[handed++] = arguments[operands + i];
    }
    // A kernel may call operators, which may give a tensor another array.
    Reference alive[3] = {Reference(nullptr), Reference(nullptr), Reference(nullptr)};
    for (size_t i = 0; i < operands; ++i) alive[i].keep(Py_NewRef(kernel_arguments[i]));
    PyObject* value = run_kernel(entry->function, kernel_arguments, handed | PY_VECTORCALL_ARGUMENTS_OFFSET);
    if (value == nullptr) return nullptr;
    if (PyArray_CheckExact(value) &&
        reinterpret_cast<PyObject*>(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(value))) == entry->stored)
        return new_tensor(value, entry->result, operation->keys);
    Reference unfinished(value);
    PyObject* rest[3] = {nullptr, value, entry->result};
    return PyObject_Vectorcall(operation->finish, rest + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
}

int elementwise_traverse(PyObject* self, visitproc visit, void* arg) {
    Elementwise* operation = reinterpret_cast<Elementwise*>(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(operation->head.otherwise);
    Py_VISIT(operation->finish);
    Py_VISIT(operation->defaults);
    if (operation->entries != nullptr)
        for (const Entry& entry : *operation->entries) {
            Py_VISIT(entry.function);
            Py_VISIT(entry.parameters);
        }
    return 0;
}

int elementwise_clear(PyObject* self) {
    Elementwise* operation = reinterpret_cast<Elementwise*>(self);
    Py_CLEAR(operation->head.otherwise);
    Py_CLEAR(operation->finish);
    Py_CLEAR(operation->keys);
    Py_CLEAR(operation->defaults);
    Py_CLEAR(operation->first);
    std::vector<Entry>* entries = operation->entries;
    operation->entries = nullptr;
    if (entries != nullptr) {
        for (const Entry& entry : *entries)
            for (PyObject* held : {entry.dtype, entry.function, entry.parameters, entry.result, entry.stored})
                Py_DECREF(held);
        delete entries;
    }
    return 0;
}

template <int (*Clear)(PyObject*)>
void dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

// elementwise(otherwise, finish, keys, operands, defaults, first, numbers, entries); an entry is
// (dtype, function, parameters, result, stored, any_parameters, takes_int, takes_float).
PyObject* elementwise_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
    PyObject *otherwise, *finish, *keys, *defaults, *first, *entries;
    int operands, numbers;
    if (keywords != nullptr && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "executors take no keywords");
        return nullptr;
    }
    if (!PyArg_ParseTuple(args, "OOOiO!OpO!", &otherwise, &finish, &keys, &operands, &PyTuple_Type, &defaults, &first,
                          &numbers, &PyList_Type, &entries))
        return nullptr;
    if (operands < 1 || operands > 3 || static_cast<size_t>(PyTuple_GET_SIZE(defaults)) > MOST_ARGUMENTS - 3 ||
        (first != Py_None && operands < 2)) {
        PyErr_SetString(PyExc_ValueError, "elementwise executors take one to three operands and up to 13 parameters");
        return nullptr;
    }
    Elementwise* made = reinterpret_cast<Elementwise*>(type->tp_alloc(type, 0));
    if (made == nullptr) return nullptr;
    Reference owner(reinterpret_cast<PyObject*>(made));
    made->head.call = elementwise_call;
    made->head.otherwise = Py_NewRef(otherwise);
    made->finish = Py_NewRef(finish);
    made->keys = Py_NewRef(keys);
    made->defaults = Py_NewRef(defaults);
    made->first = first == Py_None ? nullptr : Py_NewRef(first);
    made->operands = operands;
    made->numbers = numbers != 0;
    made->entries = new std::vector<Entry>;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(entries); ++i) {
        Entry entry;
        int any, takes_int, takes_float;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(entries, i), "OOO!OOppp", &entry.dtype, &entry.function, &PyTuple_Type,
                              &entry.parameters, &entry.result, &entry.stored, &any, &takes_int, &takes_float))
            return nullptr;
        if (static_cast<size_t>(PyTuple_GET_SIZE(entry.parameters)) > MOST_ARGUMENTS - 3) {
            PyErr_SetString(PyExc_ValueError, "elementwise executors take up to 13 parameters");
            return nullptr;
        }
        entry.any_parameters = any != 0;
        entry.takes_int = takes_int != 0;
        entry.takes_float = takes_float != 0;
        for (PyObject* held : {entry.dtype, entry.function, entry.parameters, entry.result, entry.stored})
            Py_INCREF(held);
        made->entries->push_back(entry);
    }
    return owner.release();
}

// Views

struct ViewOf {
    Executor head;
    PyObject* function;  // array, arguments -> array on its memory, or several, or None
    PyObject* keys;      // of row-major views
    PyObject* strided;   // of others
};

// What `link_view` of the core does for a tensor that is no inference tensor.
bool link(PyObject* made, PyObject* base) {
    PyObject* cell = cell_of(base);
    if (cell == nullptr) return false;
    Py_SETREF(slot(made, core.cell), Py_NewRef(cell));
    PyObject* of = slot(base, core.base);
    Py_SETREF(slot(made, core.base), Py_NewRef(of == Py_None ? base : of));
    PyObject* members = slot(cell, core.members);
    PyObject* limit = slot(cell, core.sweep_at);
    if (members == nullptr || limit == nullptr || !PyList_CheckExact(members)) {
        PyErr_SetString(PyExc_RuntimeError, "a cell that was not made as cells are");
        return false;
    }
    Reference reference(PyWeakref_NewRef(made, nullptr));
    if (!reference || PyList_Append(members, reference.get()) < 0) return false;
    const long most = PyLong_AsLong(limit);
    if (most == -1 && PyErr_Occurred()) return false;
    if (PyList_GET_SIZE(members) > most) {
        Reference swept(PyObject_CallMethod(cell, "sweep", nullptr));
        if (!swept) return false;
    }
    return true;
}

// A view on an array, whose reference it takes over; null with an error.
PyObject* viewed(const ViewOf* view, PyObject* found, PyObject* base) {
    const bool rows = PyArray_IS_C_CONTIGUOUS(reinterpret_cast<PyArrayObject*>(found));
    Reference made(new_tensor(found, dtype_in(base), rows ? view->keys : view->strided));
    if (!made || !link(made.get(), base)) return nullptr;
    return made.release();
}

// A tuple of views.
PyObject* several_viewed(const ViewOf* view, PyObject* found, PyObject* base) {
    const Py_ssize_t count = Py_SIZE(found);
    Reference made(PyTuple_New(count));
    for (Py_ssize_t i = 0; made && i < count; ++i) {
        PyObject* one = viewed(view, Py_NewRef(PySequence_Fast_ITEMS(found)[i]), base);
        if (one == nullptr) return nullptr;
        PyTuple_SET_ITEM(made.get(), i, one);
    }
    return made.release();
}

bool are_arrays(PyObject* found) {
    if (!PyList_CheckExact(found) && !PyTuple_CheckExact(found)) return false;
    for (Py_ssize_t i = 0; i < Py_SIZE(found); ++i)
        if (!PyArray_CheckExact(PySequence_Fast_ITEMS(found)[i])) return false;
    return true;
}

PyObject* view_call(PyObject* self, PyObject* const* arguments, size_t flags, PyObject* names) {
    ViewOf* view = reinterpret_cast<ViewOf*>(self);
    const size_t count = static_cast<size_t>(PyVectorcall_NARGS(flags));
    PyArrayObject* array = count == 0 || names != nullptr || count > MOST_ARGUMENTS ? nullptr : array_in(arguments[0]);
    if (array == nullptr || slot(arguments[0], core.cell) == nullptr || slot(arguments[0], core.base) == nullptr)
        return handed_over(&view->head, arguments, flags, names);
    PyObject* given[1 + MOST_ARGUMENTS];
    Reference alive(Py_NewRef(reinterpret_cast<PyObject*>(array)));
    given[1] = alive.get();
    for (size_t i = 1; i < count; ++i) given[1 + i] = arguments[i];
    PyObject* found = PyObject_Vectorcall(view->function, given + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    if (found == nullptr) return nullptr;
    if (PyArray_CheckExact(found)) return viewed(view, found, arguments[0]);
    Reference several(found);
    if (are_arrays(found)) return several_viewed(view, found, arguments[0]);
    return handed_over(&view->head, arguments, flags, names);
}

int view_traverse(PyObject* self, visitproc visit, void* arg) {
    ViewOf* view = reinterpret_cast<ViewOf*>(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(view->head.otherwise);
    Py_VISIT(view->function);
    return 0;
}

int view_clear(PyObject* self) {
    ViewOf* view = reinterpret_cast<ViewOf*>(self);
    Py_CLEAR(view->head.otherwise);
    Py_CLEAR(view->function);
    Py_CLEAR(view->keys);
    Py_CLEAR(view->strided);
    return 0;
}

// view(otherwise, function, keys, strided)
PyObject* view_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *otherwise, *function, *keys, *strided;
    if (!PyArg_ParseTuple(args, "OOOO", &otherwise, &function, &keys, &strided)) return nullptr;
    ViewOf* made = reinterpret_cast<ViewOf*>(type->tp_alloc(type, 0));
    if (made == nullptr) return nullptr;
    made->head.call = view_call;
    made->head.otherwise = Py_NewRef(otherwise);
    made->function = Py_NewRef(function);
    made->keys = Py_NewRef(keys);
    made->strided = Py_NewRef(strided);
    return reinterpret_cast<PyObject*>(made);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Executor, call), READONLY, nullptr},
    {"otherwise", T_OBJECT, offsetof(Executor, otherwise), READONLY, "The executor that takes every other call."},
    {nullptr, 0, 0, 0, nullptr},
};

template <class Struct, newfunc New, traverseproc Traverse, inquiry Clear>
bool add(PyObject* module, const char* full_name, const char* name) {
    static PyType_Slot slots[] = {
        {Py_tp_new, reinterpret_cast<void*>(New)},
        {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
        {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
        {Py_tp_clear, reinterpret_cast<void*>(Clear)},
        {Py_tp_dealloc, reinterpret_cast<void*>(dealloc<Clear>)},
        {Py_tp_members, members},
        {0, nullptr},
    };
    PyType_Spec spec = {full_name, sizeof(Struct), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};
    Reference type(PyType_FromSpec(&spec));
    return type && PyModule_AddObjectRef(module, name, type.get()) == 0;
}

}  // namespace

bool add_executors(PyObject* module) {
    return add<Elementwise, elementwise_new, elementwise_traverse, elementwise_clear>(
               module, "mt_backend_cpu._native.Elementwise", "Elementwise") &&
           add<ViewOf, view_new, view_traverse, view_clear>(module, "mt_backend_cpu._native.View", "View") &&
           add_planned(module) && add_recorder(module) && add_writer(module) &&
           add_factory(module) && add_direct(module) && add_loops(module);
}

}  // namespace mt
