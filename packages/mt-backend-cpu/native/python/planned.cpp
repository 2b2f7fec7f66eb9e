// The executor of operators whose calls are planned once per description (`mt_core.dispatch.call_plans`).
//
// A description is written as words: sizes, dtypes, strides, numbers by their bits. It tells apart whatever the core's
// descriptions do. What cannot be written so (a list that holds other things than integers, a symbol) is the core's.
#include "python/tensors.hpp"

#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <vector>

namespace mt {
namespace {

constexpr size_t MOST_ARGUMENTS = 16, MOST_WORDS = 120, BUCKETS = 16, MOST_PLANS = 512;

enum class Kind : char { Tensor, Optional, NumberOrTensor, Tensors, OptionalTensors, Number, Plain };

struct Description {
    uint64_t words[MOST_WORDS];
    size_t count = 0;
    // Objects that are told apart by their address, which a plan therefore keeps.
    PyObject* held[MOST_ARGUMENTS];
    size_t held_count = 0;

    bool put(uint64_t word) {
        if (count == MOST_WORDS) return false;
        words[count++] = word;
        return true;
    }
    uint64_t hash() const {
        uint64_t h = 1469598103934665603ull;
        for (size_t i = 0; i < count; ++i) h = (h ^ words[i]) * 1099511628211ull;
        return h ^ (h >> 29);
    }
};

enum Tag : uint64_t { NONE = 1, TRUE_, FALSE_, INT, FLOAT, INTS, OBJECT, ARRAY, LIST };

bool describe_int(PyObject* value, Description& d) {
    int overflow;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow && d.put(static_cast<uint64_t>(number));
}

// A number, None, a list or tuple of integers, or one of the objects that are compared by identity.
bool describe_plain(PyObject* value, Description& d) {
    if (value == Py_None) return d.put(NONE);
    if (value == Py_True) return d.put(TRUE_);
    if (value == Py_False) return d.put(FALSE_);
    if (PyLong_CheckExact(value)) return d.put(INT) && describe_int(value, d);
    if (PyFloat_CheckExact(value)) {
        const double number = PyFloat_AS_DOUBLE(value);
        uint64_t bits;
        std::memcpy(&bits, &number, sizeof bits);
        return d.put(FLOAT) && d.put(bits);
    }
    if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) {
        const Py_ssize_t size = Py_SIZE(value);
        if (!d.put(INTS) || !d.put(static_cast<uint64_t>(size))) return false;
        PyObject** items = PySequence_Fast_ITEMS(value);
        for (Py_ssize_t i = 0; i < size; ++i)
            if (!PyLong_CheckExact(items[i]) || !describe_int(items[i], d)) return false;
        return true;
    }
    if (!PyUnicode_CheckExact(value) && reinterpret_cast<PyObject*>(Py_TYPE(value)) != core.dtype_type) return false;
    if (d.held_count == MOST_ARGUMENTS) return false;
    d.held[d.held_count++] = value;
    return d.put(OBJECT) && d.put(reinterpret_cast<uintptr_t>(value));
}

bool describe_tensor(PyObject* tensor, bool strided, Description& d) {
    PyArrayObject* array = array_in(tensor);
    PyObject* dtype = array == nullptr ? nullptr : dtype_in(tensor);
    // dtypes are never given back, so that their addresses tell them apart.
    if (dtype == nullptr || reinterpret_cast<PyObject*>(Py_TYPE(dtype)) != core.dtype_type) return false;
    const int ndim = PyArray_NDIM(array);
    const size_t words = 3 + static_cast<size_t>(ndim) * (strided ? 2 : 1);
    if (d.count + words > MOST_WORDS) return false;
    uint64_t* to = d.words + d.count;
    *to++ = ARRAY;
    *to++ = static_cast<uint64_t>(ndim);
    *to++ = reinterpret_cast<uintptr_t>(dtype);
    for (int i = 0; i < ndim; ++i) *to++ = static_cast<uint64_t>(PyArray_DIM(array, i));
    if (strided)
        for (int i = 0; i < ndim; ++i) *to++ = static_cast<uint64_t>(PyArray_STRIDE(array, i));
    d.count += words;
    return true;
}

bool describe(PyObject* value, Kind kind, bool strided, Description& d) {
    switch (kind) {
        case Kind::Tensor: return describe_tensor(value, strided, d);
        case Kind::Optional: return value == Py_None ? d.put(NONE) : describe_tensor(value, strided, d);
        case Kind::NumberOrTensor:
            return is_tensor(value) ? describe_tensor(value, strided, d)
                                    : !PyTuple_Check(value) && !PyList_Check(value) && describe_plain(value, d);
        case Kind::OptionalTensors:
        case Kind::Tensors: {
            if (value == Py_None && kind == Kind::OptionalTensors) return d.put(NONE);
            if (!PyTuple_CheckExact(value) && !PyList_CheckExact(value)) return false;
            const Py_ssize_t size = Py_SIZE(value);
            if (!d.put(LIST) || !d.put(static_cast<uint64_t>(size))) return false;
            PyObject** items = PySequence_Fast_ITEMS(value);
            for (Py_ssize_t i = 0; i < size; ++i) {
                if (items[i] == Py_None && kind == Kind::OptionalTensors) {
                    if (!d.put(NONE)) return false;
                } else if (!describe_tensor(items[i], strided, d)) {
                    return false;
                }
            }
            return true;
        }
        case Kind::Number:
        case Kind::Plain: return describe_plain(value, d);
    }
    return false;
}

// `mt_core.dispatch.call_plans.Call`, its attributes read once.
struct Plan {
    std::vector<uint64_t> words;
    uint64_t hash = 0;
    int uses = 1;  // by the table, and by calls under way
    PyObject* held = nullptr;  // tuple
    PyObject* function = nullptr;
    PyObject* between = nullptr;  // tuple
    PyObject* rest = nullptr;     // tuple
    PyObject* finish = nullptr;
    PyObject* stored = nullptr;     // null where results are finished
    PyObject* dtype = nullptr;
    PyObject* several = nullptr;      // tuple of pairs (stored, dtype) and None, null for a single result
    PyObject* handed_over = nullptr;  // list of tensors -> what the operator returns
    PyObject* otherwise = nullptr;    // null where there is a kernel
    bool runs_here = false;         // whether the thread's own context is what the kernel runs in

    void drop() {
        if (--uses) return;
        for (PyObject* object :
             {held, function, between, rest, finish, stored, dtype, several, handed_over, otherwise})
            Py_XDECREF(object);
        delete this;
    }
    int visit(visitproc visit, void* arg) const {
        for (PyObject* object : {held, function, between, rest, finish, handed_over, otherwise}) Py_VISIT(object);
        return 0;
    }
};

class InUse {
public:
    explicit InUse(Plan* plan) : plan_(plan) { ++plan->uses; }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;
    ~InUse() { plan_->drop(); }

private:
    Plan* plan_;
};

struct Planned {
    Executor head;
    PyObject* plan;  // arguments -> Call
    PyObject* keys;
    PyObject* as_array;
    size_t count;
    size_t lead;  // arguments up to the last that changes from call to call
    bool strided;
    bool writes;  // into the first argument, which is returned
    Kind kinds[MOST_ARGUMENTS];
    std::vector<Plan*>* buckets;
    size_t plans;
};

void forget(Planned* self) {
    if (self->buckets == nullptr) return;
    std::vector<Plan*> dropped;
    for (size_t i = 0; i < BUCKETS; ++i) {
        dropped.insert(dropped.end(), self->buckets[i].begin(), self->buckets[i].end());
        self->buckets[i].clear();
    }
    self->plans = 0;
    for (Plan* plan : dropped) plan->drop();
}

bool read(PyObject* call, const char* name, PyObject** to) {
    PyObject* value = PyObject_GetAttrString(call, name);
    if (value == Py_None) {
        Py_DECREF(value);
        value = nullptr;
        *to = nullptr;
        return true;
    }
    *to = value;
    return value != nullptr;
}

bool is_tuple(PyObject* value) { return value != nullptr && PyTuple_CheckExact(value); }

// Asks the core how such calls are carried out, and keeps it; null with an error. Counts as in use by the caller.
Plan* make_plan(Planned* self, PyObject* const* arguments, const Description& d, uint64_t hash) {
    Reference given(PyTuple_New(static_cast<Py_ssize_t>(self->count)));
    if (!given) return nullptr;
    for (size_t i = 0; i < self->count; ++i)
        PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i), Py_NewRef(arguments[i]));
    Reference call(PyObject_CallOneArg(self->plan, given.get()));
    if (!call) return nullptr;
    Plan* plan = new Plan;
    PyObject* runner = nullptr;
    bool read_all = read(call.get(), "otherwise", &plan->otherwise);
    if (read_all && plan->otherwise == nullptr) {
        read_all = read(call.get(), "function", &plan->function) && read(call.get(), "between", &plan->between) &&
                   read(call.get(), "rest", &plan->rest) && read(call.get(), "finish", &plan->finish) &&
                   read(call.get(), "stored", &plan->stored) && read(call.get(), "dtype", &plan->dtype) &&
                   read(call.get(), "several", &plan->several) && read(call.get(), "handed_over", &plan->handed_over) &&
                   read(call.get(), "runner", &runner);
        plan->runs_here = runner == core.thread_state;
        Py_XDECREF(runner);
        if (read_all && (plan->function == nullptr || !is_tuple(plan->between) || !is_tuple(plan->rest) ||
                         (plan->stored != nullptr && plan->dtype == nullptr) ||
                         (plan->several != nullptr && (!is_tuple(plan->several) || plan->handed_over == nullptr)) ||
                         (plan->stored == nullptr && plan->finish == nullptr && !self->writes))) {
            PyErr_SetString(PyExc_TypeError, "a plan that is not what the core makes");
            read_all = false;
        }
    }
    if (read_all) {
        plan->held = PyTuple_New(static_cast<Py_ssize_t>(d.held_count));
        read_all = plan->held != nullptr;
    }
    if (!read_all) {
        plan->drop();
        return nullptr;
    }
    for (size_t i = 0; i < d.held_count; ++i)
        PyTuple_SET_ITEM(plan->held, static_cast<Py_ssize_t>(i), Py_NewRef(d.held[i]));
    plan->words.assign(d.words, d.words + d.count);
    plan->hash = hash;
    if (self->plans >= MOST_PLANS) forget(self);
    self->buckets[hash % BUCKETS].push_back(plan);
    ++self->plans;
    return plan;
}

// A list of the arrays of tensors; null without an error where one has none any more.
PyObject* arrays_of(PyObject* tensors) {
    const Py_ssize_t size = Py_SIZE(tensors);
    PyObject* list = PyList_New(size);
    if (list == nullptr) return nullptr;
    for (Py_ssize_t i = 0; i < size; ++i) {
        PyObject* item = PySequence_Fast_ITEMS(tensors)[i];
        PyArrayObject* array = array_in(item);
        PyList_SET_ITEM(list, i, Py_NewRef(array == nullptr ? item : reinterpret_cast<PyObject*>(array)));
    }
    return list;
}

PyObject* tell_no_memory(PyObject* function) {
    if (PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyErr_NormalizeException(&type, &value, &traceback);
        if (traceback != nullptr) PyException_SetTraceback(value, traceback);
        PyObject* told = PyObject_CallFunctionObjArgs(core.nested, value, function, nullptr);
        Py_XDECREF(told);
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    }
    return nullptr;
}

// Whether strides are those of rows, also along dimensions of one element, of which NumPy's flag says nothing.
bool has_strides_of_rows(PyArrayObject* array) {
    npy_intp expected = PyArray_ITEMSIZE(array);
    for (int d = PyArray_NDIM(array) - 1; d >= 0; --d) {
        if (PyArray_STRIDE(array, d) != expected) return false;
        expected *= PyArray_DIM(array, d);
    }
    return true;
}

// A tensor on an array that is row-major and of the dtype that is expected; null without an error for others. A single
// result keeps what strides it has along dimensions of one element, as in the core.
PyObject* finished(PyObject* value, PyObject* stored, PyObject* dtype, PyObject* keys, bool is_one_of_several = false) {
    if (!PyArray_CheckExact(value)) return nullptr;
    PyArrayObject* array = reinterpret_cast<PyArrayObject*>(value);
    if (reinterpret_cast<PyObject*>(PyArray_DESCR(array)) != stored || !PyArray_IS_C_CONTIGUOUS(array)) return nullptr;
    if (is_one_of_several && !has_strides_of_rows(array)) return nullptr;
    return new_tensor(Py_NewRef(value), dtype, keys);
}

// Several results; null without an error where one of them is to be finished by the core.
PyObject* several_finished(const Plan* plan, PyObject* values, PyObject* keys) {
    if (!PyTuple_CheckExact(values) && !PyList_CheckExact(values)) return nullptr;
    const Py_ssize_t count = PyTuple_GET_SIZE(plan->several);
    if (Py_SIZE(values) != count) return nullptr;
    Reference made(PyList_New(count));
    if (!made) return nullptr;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* expected = PyTuple_GET_ITEM(plan->several, i);
        PyObject* tensor = Py_None;
        if (expected == Py_None)
            Py_INCREF(tensor);
        else
            tensor = finished(PySequence_Fast_ITEMS(values)[i], PyTuple_GET_ITEM(expected, 0),
                              PyTuple_GET_ITEM(expected, 1), keys, true);
        if (tensor == nullptr) return nullptr;
        PyList_SET_ITEM(made.get(), i, tensor);
    }
    if (plan->handed_over == reinterpret_cast<PyObject*>(&PyTuple_Type)) return PyList_AsTuple(made.get());
    return PyObject_CallOneArg(plan->handed_over, made.get());
}

// Whether the first argument, which is written, lies on other memory than the tensors that are read.
bool is_apart(const Planned* self, PyObject* const* arguments) {
    const auto shares = [&](PyObject* tensor) {
        return is_tensor(tensor) && (tensor == arguments[0] || share_memory(arguments[0], tensor));
    };
    if (!is_tensor(arguments[0])) return false;
    for (size_t i = 1; i < self->count; ++i) {
        if (shares(arguments[i])) return false;
        if (PyTuple_CheckExact(arguments[i]) || PyList_CheckExact(arguments[i]))
            for (Py_ssize_t k = 0; k < Py_SIZE(arguments[i]); ++k)
                if (shares(PySequence_Fast_ITEMS(arguments[i])[k])) return false;
    }
    return true;
}

PyObject* planned_call(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* names) {
    Planned* self = reinterpret_cast<Planned*>(object);
    if (names != nullptr || static_cast<size_t>(PyVectorcall_NARGS(flags)) != self->count)
        return handed_over(&self->head, arguments, flags, names);
    if (self->writes && !is_apart(self, arguments)) return handed_over(&self->head, arguments, flags, names);
    Description d;
    for (size_t i = 0; i < self->count; ++i)
        if (!describe(arguments[i], self->kinds[i], self->strided, d))
            return handed_over(&self->head, arguments, flags, names);
    const uint64_t hash = d.hash();
    Plan* plan = nullptr;
    for (Plan* candidate : self->buckets[hash % BUCKETS])
        if (candidate->hash == hash && candidate->words.size() == d.count &&
            std::memcmp(candidate->words.data(), d.words, d.count * sizeof(uint64_t)) == 0) {
            plan = candidate;
            break;
        }
    if (plan == nullptr && (plan = make_plan(self, arguments, d, hash)) == nullptr) return nullptr;
    InUse in_use(plan);
    if (plan->otherwise != nullptr) return PyObject_Vectorcall(plan->otherwise, arguments, flags, nullptr);
    if (!plan->runs_here) return handed_over(&self->head, arguments, flags, names);
    const size_t rest = static_cast<size_t>(PyTuple_GET_SIZE(plan->rest));
    if (rest > MOST_ARGUMENTS) return handed_over(&self->head, arguments, flags, names);
    PyObject* given[1 + 2 * MOST_ARGUMENTS];
    PyObject** to = given + 1;
    // Every argument is held: a kernel may call operators, which may give a tensor another array.
    struct Held {
        PyObject* items[MOST_ARGUMENTS];
        size_t count = 0;
        ~Held() {
            while (count) Py_DECREF(items[--count]);
        }
        PyObject* add(PyObject* item) { return items[count++] = item; }
    } held;
    Py_ssize_t kept = 0;
    for (size_t i = 0; i < self->lead; ++i) {
        PyObject* value = arguments[i];
        switch (self->kinds[i]) {
            case Kind::Plain: value = PyTuple_GET_ITEM(plan->between, kept++); break;
            case Kind::Number: break;
            case Kind::Tensor:
            case Kind::Optional:
            case Kind::NumberOrTensor: {
                PyArrayObject* array = array_in(value);
                value = held.add(Py_NewRef(array == nullptr ? value : reinterpret_cast<PyObject*>(array)));
                break;
            }
            case Kind::Tensors:
            case Kind::OptionalTensors:
                if (value == Py_None) break;
                value = arrays_of(value);
                if (value == nullptr) return nullptr;
                held.add(value);
                break;
        }
        *to++ = value;
    }
    for (size_t i = 0; i < rest; ++i) *to++ = PyTuple_GET_ITEM(plan->rest, static_cast<Py_ssize_t>(i));
    const size_t handed = static_cast<size_t>(to - given - 1);
    PyObject* value = run_kernel(plan->function, given + 1, handed | PY_VECTORCALL_ARGUMENTS_OFFSET);
    if (value == nullptr) return tell_no_memory(plan->function);
    if (self->writes) {
        Py_DECREF(value);
        return count_write(arguments[0]) ? Py_NewRef(arguments[0]) : nullptr;
    }
    if (plan->stored == nullptr) {
        Reference unfinished(value);
        if (plan->several != nullptr) {
            PyObject* made = several_finished(plan, value, self->keys);
            if (made != nullptr || PyErr_Occurred()) return made;
        }
        return PyObject_CallOneArg(plan->finish, value);
    }
    if (!PyArray_CheckExact(value)) {
        Reference raw(value);
        if ((value = PyObject_CallOneArg(self->as_array, raw.get())) == nullptr) return nullptr;
    }
    Reference unfinished(value);
    PyObject* made = finished(value, plan->stored, plan->dtype, self->keys);
    return made != nullptr || PyErr_Occurred() ? made : PyObject_CallOneArg(plan->finish, value);
}

int planned_traverse(PyObject* object, visitproc visit, void* arg) {
    Planned* self = reinterpret_cast<Planned*>(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->head.otherwise);
    Py_VISIT(self->plan);
    Py_VISIT(self->as_array);
    if (self->buckets != nullptr)
        for (size_t i = 0; i < BUCKETS; ++i)
            for (const Plan* plan : self->buckets[i])
                // Of a plan that a call uses, the references are the call's as well: nothing here makes it garbage.
                if (plan->uses == 1)
                    if (const int stopped = plan->visit(visit, arg)) return stopped;
    return 0;
}

int planned_clear(PyObject* object) {
    Planned* self = reinterpret_cast<Planned*>(object);
    forget(self);
    Py_CLEAR(self->head.otherwise);
    Py_CLEAR(self->plan);
    Py_CLEAR(self->keys);
    Py_CLEAR(self->as_array);
    return 0;
}

void planned_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    planned_clear(object);
    delete[] reinterpret_cast<Planned*>(object)->buckets;
    type->tp_free(object);
    Py_DECREF(type);
}

bool kind_named(PyObject* name, Kind* kind) {
    static const struct {
        const char* name;
        Kind kind;
    } names[] = {{"tensor", Kind::Tensor},
                 {"strided", Kind::Tensor},
                 {"optional", Kind::Optional},
                 {"optional strided", Kind::Optional},
                 {"number or tensor", Kind::NumberOrTensor},
                 {"tensors", Kind::Tensors},
                 {"strided tensors", Kind::Tensors},
                 {"optional tensors", Kind::OptionalTensors},
                 {"number", Kind::Number},
                 {"float", Kind::Number},
                 {"plain", Kind::Plain}};
    for (const auto& known : names)
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, known.name) == 0) {
            *kind = known.kind;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "plans know no arguments of kind %R", name);
    return false;
}

// Planned(otherwise, plan, keys, as_array, kinds, lead, strided, writes)
PyObject* planned_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *otherwise, *plan, *keys, *as_array, *kinds;
    Py_ssize_t lead;
    int strided, writes;
    if (!PyArg_ParseTuple(args, "OOOOO!npp", &otherwise, &plan, &keys, &as_array, &PyTuple_Type, &kinds, &lead,
                          &strided, &writes))
        return nullptr;
    const Py_ssize_t count = PyTuple_GET_SIZE(kinds);
    if (count > static_cast<Py_ssize_t>(MOST_ARGUMENTS) || lead < 0 || lead > count || (writes && count == 0)) {
        PyErr_SetString(PyExc_ValueError, "planned executors take up to 16 arguments");
        return nullptr;
    }
    Planned* made = reinterpret_cast<Planned*>(type->tp_alloc(type, 0));
    if (made == nullptr) return nullptr;
    Reference owner(reinterpret_cast<PyObject*>(made));
    made->head.call = planned_call;
    made->head.otherwise = Py_NewRef(otherwise);
    made->plan = Py_NewRef(plan);
    made->keys = Py_NewRef(keys);
    made->as_array = Py_NewRef(as_array);
    made->count = static_cast<size_t>(count);
    made->lead = static_cast<size_t>(lead);
    made->strided = strided != 0;
    made->writes = writes != 0;
    made->buckets = new std::vector<Plan*>[BUCKETS];
    for (Py_ssize_t i = 0; i < count; ++i)
        if (!kind_named(PyTuple_GET_ITEM(kinds, i), &made->kinds[i])) return nullptr;
    return owner.release();
}

// before(otherwise): the same before another executor, with plans of its own.
PyObject* planned_before(PyObject* object, PyObject* otherwise) {
    Planned* self = reinterpret_cast<Planned*>(object);
    Planned* made = reinterpret_cast<Planned*>(Py_TYPE(object)->tp_alloc(Py_TYPE(object), 0));
    if (made == nullptr) return nullptr;
    made->head.call = planned_call;
    made->head.otherwise = Py_NewRef(otherwise);
    made->plan = Py_NewRef(self->plan);
    made->keys = Py_NewRef(self->keys);
    made->as_array = Py_NewRef(self->as_array);
    made->count = self->count;
    made->lead = self->lead;
    made->strided = self->strided;
    made->writes = self->writes;
    std::memcpy(made->kinds, self->kinds, sizeof made->kinds);
    made->buckets = new std::vector<Plan*>[BUCKETS];
    return reinterpret_cast<PyObject*>(made);
}

PyMethodDef planned_methods[] = {
    {"before", planned_before, METH_O, "before(otherwise): the same before another executor"},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef planned_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Executor, call), READONLY, nullptr},
    {"otherwise", T_OBJECT, offsetof(Executor, otherwise), READONLY, "The executor that takes every other call."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot planned_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(planned_new)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(planned_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(planned_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(planned_dealloc)},
    {Py_tp_members, planned_members},
    {Py_tp_methods, planned_methods},
    {0, nullptr},
};

PyType_Spec planned_spec = {"mt_backend_cpu._native.Planned", sizeof(Planned), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, planned_slots};

}  // namespace

bool add_planned(PyObject* module) {
    Reference type(PyType_FromSpec(&planned_spec));
    return type && PyModule_AddObjectRef(module, "Planned", type.get()) == 0;
}

}  // namespace mt
