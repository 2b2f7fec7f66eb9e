// The closure that records an operator: what `mt_autograd.recorders` writes out for a pattern, read from the pattern.
#include "python/tensors.hpp"

#include <structmember.h>

#include <cstddef>
#include <vector>

namespace mt {
namespace {

constexpr size_t MOST_ARGUMENTS = 16;

enum class Kind : char { Plain, Tensor, Optional, List };

struct Saved {
    bool is_result;
    int position;
    long wanted_by;
};

struct Layout {
    int position;
    PyObject* kind;  // as `keep_spec` names it
    bool is_strides, is_spec;
};

struct Recorder {
    Executor head;
    PyTypeObject* cls;
    PyObject* below;
    // Of mt_autograd: what it records, and what it does with what is rare.
    PyObject *recorded, *differentiable, *saved_output, *leaf, *next_sequence_nr, *edge_of, *keep_spec, *ended;
    PyObject* state;     // as tensors begin with it
    PyObject* autograd;  // the key
    PyObject *keys, *recorded_keys;  // of the last result, without and with the key
    uint64_t autograd_bit, strided_bit;
    size_t count;
    Kind kinds[MOST_ARGUMENTS];
    std::vector<int>*inputs, *values;
    std::vector<char>* others;  // positions of tensors that have no derivative
    std::vector<Saved>* saved;
    std::vector<Layout>* layouts;
    std::vector<char>* outputs;  // which results are differentiable
    std::vector<Py_ssize_t>* state_slots;
    bool single, is_view, sole, has_lists;
    Py_ssize_t edges_at, sequence_at, hooks_at, shape_at, dtype_at, keys_at, more_at;
    Py_ssize_t wanted_at, saved_at, values_at, specs_at, sizes_at;
    Py_ssize_t grad_fn_at, output_nr_at, attr_version_at;
    Py_ssize_t output_array_at, output_cell_at, output_dtype_at, output_keys_at, output_output_nr_at;
};

uint64_t keys_in(PyObject* tensor) { return PyLong_AsUnsignedLongLongMask(slot(tensor, core.keys)); }

bool requires_grad(const Recorder* self, PyObject* value) {
    return is_tensor(value) && (keys_in(value) & self->autograd_bit);
}

PyObject* version_in(PyObject* cell) {
    // Cells that count as one with others have their version elsewhere.
    if (Py_IS_TYPE(cell, core.cell_type)) return Py_NewRef(slot(cell, core.version));
    return PyObject_GetAttrString(cell, "version");
}

PyObject* shape_in(PyObject* tensor) {
    PyObject* array = slot(tensor, core.array);
    if (!PyArray_CheckExact(array)) return PyObject_GetAttrString(array, "shape");
    PyArrayObject* of = reinterpret_cast<PyArrayObject*>(array);
    return PyArray_IntTupleFromIntp(PyArray_NDIM(of), PyArray_DIMS(of));
}

PyObject* strides_in(const Recorder* self, PyObject* tensor) {
    if (!(keys_in(tensor) & self->strided_bit)) return Py_NewRef(Py_None);
    return PyObject_GetAttrString(slot(tensor, core.array), "strides");
}

// (shape, dtype, keys[, strides]) of a tensor.
PyObject* spec_in(const Recorder* self, PyObject* tensor, bool strides) {
    Reference spec(PyTuple_New(strides ? 4 : 3));
    if (!spec) return nullptr;
    PyObject* shape = shape_in(tensor);
    if (shape == nullptr) return nullptr;
    PyTuple_SET_ITEM(spec.get(), 0, shape);
    PyTuple_SET_ITEM(spec.get(), 1, Py_NewRef(dtype_in(tensor)));
    PyTuple_SET_ITEM(spec.get(), 2, Py_NewRef(slot(tensor, core.keys)));
    if (strides) {
        PyObject* steps = strides_in(self, tensor);
        if (steps == nullptr) return nullptr;
        PyTuple_SET_ITEM(spec.get(), 3, steps);
    }
    return spec.release();
}

// References that are dropped at the end, unless a tuple takes them.
class Items {
public:
    ~Items() {
        for (PyObject* item : items_) Py_DECREF(item);
    }
    // Takes over a reference; false where it is null.
    bool add(PyObject* item) {
        if (item == nullptr) return false;
        items_.push_back(item);
        return true;
    }
    void lend(PyObject* item) { items_.push_back(Py_NewRef(item)); }
    PyObject* tuple() {
        PyObject* made = PyTuple_New(static_cast<Py_ssize_t>(items_.size()));
        if (made == nullptr) return nullptr;
        for (size_t i = 0; i < items_.size(); ++i) PyTuple_SET_ITEM(made, static_cast<Py_ssize_t>(i), items_[i]);
        items_.clear();
        return made;
    }
    Items() { items_.reserve(8); }

private:
    std::vector<PyObject*> items_;
};

// Adds the edge of a tensor that requires grad; whether it leads anywhere comes back in `leads`.
bool add_edge(const Recorder* self, PyObject* tensor, Items& edges, bool* leads) {
    PyObject* state = slot(tensor, core.autograd);
    if (slot(tensor, core.base) == Py_None && Py_IS_TYPE(state, Py_TYPE(self->state))) {
        *leads = true;
        PyObject* node = slot(state, self->grad_fn_at);
        if (node == Py_None) {
            edges.lend(tensor);
            edges.lend(self->leaf);
        } else {
            edges.lend(node);
            edges.lend(slot(state, self->output_nr_at));
        }
        return true;
    }
    Reference edge(PyObject_CallOneArg(self->edge_of, tensor));
    if (!edge) return false;
    if (!PyTuple_Check(edge.get()) || PyTuple_GET_SIZE(edge.get()) != 2) {
        PyErr_SetString(PyExc_TypeError, "an edge is a pair");
        return false;
    }
    *leads = PyTuple_GET_ITEM(edge.get(), 0) != Py_None;
    edges.lend(PyTuple_GET_ITEM(edge.get(), 0));
    edges.lend(PyTuple_GET_ITEM(edge.get(), 1));
    return true;
}

void add_no_edge(Items& edges) {
    static PyObject* zero = PyLong_FromLong(0);
    edges.lend(Py_None);
    edges.lend(zero);
}

// Makes a tensor the output of a node, with its number.
bool make_output(Recorder* self, PyObject* tensor, PyObject* node, long number) {
    Reference state(bare(Py_TYPE(self->state)));
    if (!state) return false;
    for (const Py_ssize_t offset : *self->state_slots)
        slot(state.get(), offset) = Py_XNewRef(slot(self->state, offset));
    Py_XSETREF(slot(state.get(), self->grad_fn_at), Py_NewRef(node));
    if (number) {
        PyObject* boxed = PyLong_FromLong(number);
        if (boxed == nullptr) return false;
        Py_XSETREF(slot(state.get(), self->output_nr_at), boxed);
    }
    if (self->is_view) {
        PyObject* version = version_in(slot(tensor, core.cell));
        if (version == nullptr) return false;
        Py_XSETREF(slot(state.get(), self->attr_version_at), version);
    }
    PyObject* keys = slot(tensor, core.keys);
    if (keys != self->keys) {
        PyObject* recorded = PyNumber_Or(keys, self->autograd);
        if (recorded == nullptr) return false;
        Py_XSETREF(self->keys, Py_NewRef(keys));
        Py_XSETREF(self->recorded_keys, recorded);
    }
    Py_SETREF(slot(tensor, core.keys), Py_NewRef(self->recorded_keys));
    Py_XSETREF(slot(tensor, core.autograd), state.release());
    return true;
}

// What a node keeps of its own output.
PyObject* save_output(Recorder* self, PyObject* tensor, int position, PyObject** version) {
    PyObject* cell = cell_of(tensor);
    if (cell == nullptr || (*version = version_in(cell)) == nullptr) return nullptr;
    Reference held_version(*version);
    Reference kept(bare(reinterpret_cast<PyTypeObject*>(self->saved_output)));
    if (!kept) return nullptr;
    PyObject* number = PyLong_FromLong(position);
    if (number == nullptr) return nullptr;
    slot(kept.get(), self->output_output_nr_at) = number;
    slot(kept.get(), self->output_array_at) = Py_NewRef(slot(tensor, core.array));
    slot(kept.get(), self->output_cell_at) = Py_NewRef(cell);
    slot(kept.get(), self->output_dtype_at) = Py_NewRef(dtype_in(tensor));
    slot(kept.get(), self->output_keys_at) = Py_NewRef(slot(tensor, core.keys));
    held_version.release();
    return kept.release();
}

PyObject* saved_of(Recorder* self, PyObject* const* arguments, PyObject* result, long wanted) {
    Items items;
    for (const Saved& want : *self->saved) {
        const bool kept = self->sole || (wanted & want.wanted_by);
        PyObject* item = nullptr;
        PyObject* version = nullptr;
        if (want.is_result) {
            PyObject* output = self->single ? result : PyTuple_GET_ITEM(result, want.position);
            if (kept && output != Py_None && (item = save_output(self, output, want.position, &version)) == nullptr)
                return nullptr;
        } else if (kept) {
            item = Py_NewRef(arguments[want.position]);
            if (is_tensor(item)) {
                PyObject* cell = slot(item, core.cell);
                if (cell != nullptr && cell != Py_None && (version = version_in(cell)) == nullptr) {
                    Py_DECREF(item);
                    return nullptr;
                }
            }
        }
        items.add(item == nullptr ? Py_NewRef(Py_None) : item);
        if (!items.add(version == nullptr ? PyLong_FromLong(0) : version)) return nullptr;
    }
    return items.tuple();
}

PyObject* layouts_of(Recorder* self, PyObject* const* arguments) {
    Items items;
    for (const Layout& layout : *self->layouts) {
        PyObject* value = arguments[layout.position];
        PyObject* kept;
        if (is_tensor(value) && layout.is_strides)
            kept = strides_in(self, value);
        else if (is_tensor(value) && layout.is_spec)
            kept = spec_in(self, value, true);
        else
            kept = PyObject_CallFunctionObjArgs(self->keep_spec, value, layout.kind, nullptr);
        if (!items.add(kept)) return nullptr;
    }
    return items.tuple();
}

bool is_tensor_or_none(PyObject* value) {
    return value == Py_None || (is_tensor(value) && slot(value, core.keys) != nullptr &&
                                slot(value, core.autograd) != nullptr && slot(value, core.base) != nullptr &&
                                slot(value, core.array) != nullptr && slot(value, core.cell) != nullptr);
}

// Whether the arguments are of the kinds that are read here, and none requires grad that has no derivative.
bool readable(const Recorder* self, PyObject* const* arguments) {
    for (size_t i = 0; i < self->count; ++i) {
        PyObject* value = arguments[i];
        switch (self->kinds[i]) {
            case Kind::Plain: break;
            case Kind::Tensor:
                if (value == Py_None || !is_tensor_or_none(value)) return false;
                break;
            case Kind::Optional:
                // A number may stand in a tensor's place.
                if (is_tensor(value) ? !is_tensor_or_none(value)
                                     : value != Py_None && !PyFloat_CheckExact(value) && !PyLong_CheckExact(value))
                    return false;
                break;
            case Kind::List:
                if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value)) return false;
                for (Py_ssize_t k = 0; k < Py_SIZE(value); ++k)
                    if (!is_tensor_or_none(PySequence_Fast_ITEMS(value)[k])) return false;
                break;
        }
        if ((*self->others)[i] && requires_grad(self, value)) return false;
    }
    return true;
}

PyObject* recorder_call(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* names) {
    Recorder* self = reinterpret_cast<Recorder*>(object);
    if (names != nullptr || static_cast<size_t>(PyVectorcall_NARGS(flags)) != self->count ||
        !readable(self, arguments))
        return handed_over(&self->head, arguments, flags, names);
    Items edges, sizes;
    long wanted = 0;
    bool any = false;
    for (size_t ordinal = 0; ordinal < self->inputs->size(); ++ordinal) {
        const int position = (*self->inputs)[ordinal];
        PyObject* value = arguments[position];
        bool leads = false;
        if (self->kinds[position] == Kind::List) {
            const Py_ssize_t size = Py_SIZE(value);
            for (Py_ssize_t k = 0; k < size; ++k) {
                PyObject* item = PySequence_Fast_ITEMS(value)[k];
                bool item_leads = false;
                if (!requires_grad(self, item)) {
                    add_no_edge(edges);
                    continue;
                }
                any = true;
                if (!add_edge(self, item, edges, &item_leads)) return nullptr;
                leads = leads || item_leads;
            }
            if (!sizes.add(PyLong_FromSsize_t(size))) return nullptr;
        } else {
            if (self->has_lists && !sizes.add(PyLong_FromLong(1))) return nullptr;
            if (self->sole || requires_grad(self, value)) {
                any = true;
                if (!add_edge(self, value, edges, &leads)) return nullptr;
            } else {
                add_no_edge(edges);
            }
        }
        if (leads) wanted |= 1L << ordinal;
    }
    if (!any) return handed_over(&self->head, arguments, flags, names);
    Reference result(PyObject_Vectorcall(self->below, arguments, self->count, nullptr));
    if (!result) return nullptr;
    if (self->single) {
        if (!is_tensor(result.get())) {
            PyErr_SetString(PyExc_TypeError, "an operator with one result returned no tensor");
            return nullptr;
        }
        const int differentiable = PySet_Contains(self->recorded, dtype_in(result.get()));
        if (differentiable < 0) return nullptr;
        if (!differentiable) {
            Reference given(PyTuple_New(static_cast<Py_ssize_t>(self->count)));
            if (!given) return nullptr;
            for (size_t i = 0; i < self->count; ++i)
                PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i), Py_NewRef(arguments[i]));
            return PyObject_CallFunctionObjArgs(self->ended, self->cls, result.get(), given.get(), nullptr);
        }
    } else if (!PyTuple_Check(result.get()) ||
               static_cast<size_t>(PyTuple_GET_SIZE(result.get())) != self->outputs->size()) {
        PyErr_SetString(PyExc_TypeError, "an operator returned another number of results than its schema says");
        return nullptr;
    }
    Reference node(bare(self->cls));
    if (!node) return nullptr;
    const auto set = [&](Py_ssize_t at, PyObject* value) {
        if (value == nullptr) return false;
        Py_XSETREF(slot(node.get(), at), value);
        return true;
    };
    if (!set(self->edges_at, edges.tuple()) ||
        !set(self->sequence_at, PyObject_CallNoArgs(self->next_sequence_nr)) ||
        !set(self->hooks_at, Py_NewRef(Py_None)))
        return nullptr;
    if (self->inputs->size() > 1 && !set(self->wanted_at, PyLong_FromLong(wanted))) return nullptr;
    if (!self->values->empty()) {
        Items values;
        for (const int position : *self->values) values.lend(arguments[position]);
        if (!set(self->values_at, values.tuple())) return nullptr;
    }
    if (!self->layouts->empty() && !set(self->specs_at, layouts_of(self, arguments))) return nullptr;
    if (self->has_lists && !set(self->sizes_at, sizes.tuple())) return nullptr;
    if (!self->saved->empty() && !set(self->saved_at, saved_of(self, arguments, result.get(), wanted))) return nullptr;
    PyObject* first = self->single ? result.get() : PyTuple_GET_ITEM(result.get(), 0);
    if (first == Py_None) {
        static PyObject* empty = PyTuple_New(0);
        if (!set(self->shape_at, Py_XNewRef(empty)) || !set(self->dtype_at, Py_NewRef(Py_None)) ||
            !set(self->keys_at, PyLong_FromLong(0)))
            return nullptr;
    } else if (!set(self->shape_at, shape_in(first)) || !set(self->dtype_at, Py_NewRef(dtype_in(first))) ||
               !set(self->keys_at, Py_NewRef(slot(first, core.keys)))) {
        return nullptr;
    }
    Items more;
    for (size_t i = 1; !self->single && i < self->outputs->size(); ++i) {
        PyObject* output = PyTuple_GET_ITEM(result.get(), static_cast<Py_ssize_t>(i));
        if (!more.add(output == Py_None ? Py_BuildValue("(()Oi)", Py_None, 0) : spec_in(self, output, false)))
            return nullptr;
    }
    if (!set(self->more_at, more.tuple())) return nullptr;
    if (self->single) {
        if (!make_output(self, result.get(), node.get(), 0)) return nullptr;
        return result.release();
    }
    for (size_t i = 0; i < self->outputs->size(); ++i) {
        PyObject* output = PyTuple_GET_ITEM(result.get(), static_cast<Py_ssize_t>(i));
        if (!(*self->outputs)[i] || output == Py_None) continue;
        const int differentiable = PySet_Contains(self->differentiable, dtype_in(output));
        if (differentiable < 0) return nullptr;
        if (differentiable && !make_output(self, output, node.get(), static_cast<long>(i))) return nullptr;
    }
    return result.release();
}

int recorder_traverse(PyObject* object, visitproc visit, void* arg) {
    Recorder* self = reinterpret_cast<Recorder*>(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->head.otherwise);
    Py_VISIT(self->cls);
    Py_VISIT(self->below);
    return 0;
}

int recorder_clear(PyObject* object) {
    Recorder* self = reinterpret_cast<Recorder*>(object);
    Py_CLEAR(self->head.otherwise);
    Py_CLEAR(self->cls);
    Py_CLEAR(self->below);
    for (PyObject** held :
         {&self->recorded, &self->differentiable, &self->saved_output, &self->leaf, &self->next_sequence_nr,
          &self->edge_of, &self->keep_spec, &self->ended, &self->state, &self->autograd, &self->keys,
          &self->recorded_keys})
        Py_CLEAR(*held);
    return 0;
}

void recorder_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    Recorder* self = reinterpret_cast<Recorder*>(object);
    PyObject_GC_UnTrack(object);
    recorder_clear(object);
    if (self->layouts != nullptr)
        for (const Layout& layout : *self->layouts) Py_DECREF(layout.kind);
    delete self->inputs;
    delete self->values;
    delete self->others;
    delete self->saved;
    delete self->layouts;
    delete self->outputs;
    delete self->state_slots;
    type->tp_free(object);
    Py_DECREF(type);
}

bool positions(PyObject* tuple, size_t count, std::vector<int>* to) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
        const long position = PyLong_AsLong(PyTuple_GET_ITEM(tuple, i));
        if (position == -1 && PyErr_Occurred()) return false;
        if (position < 0 || static_cast<size_t>(position) >= count) {
            PyErr_SetString(PyExc_ValueError, "a position that is no argument's");
            return false;
        }
        to->push_back(static_cast<int>(position));
    }
    return true;
}

// The slots that a node class has but for what it does not keep.
bool find_node_slots(Recorder* self) {
    PyObject* cls = reinterpret_cast<PyObject*>(self->cls);
    return find_slot(cls, "_edges", &self->edges_at) && find_slot(cls, "_sequence", &self->sequence_at) &&
           find_slot(cls, "_hooks", &self->hooks_at) && find_slot(cls, "_shape", &self->shape_at) &&
           find_slot(cls, "_dtype", &self->dtype_at) && find_slot(cls, "_keys", &self->keys_at) &&
           find_slot(cls, "_more_outputs", &self->more_at) &&
           (self->inputs->size() < 2 || find_slot(cls, "wanted", &self->wanted_at)) &&
           (self->saved->empty() || find_slot(cls, "saved", &self->saved_at)) &&
           (self->values->empty() || find_slot(cls, "values", &self->values_at)) &&
           (self->layouts->empty() || find_slot(cls, "specs", &self->specs_at)) &&
           (!self->has_lists || find_slot(cls, "list_sizes", &self->sizes_at));
}

// The slots of an object of a class with slots alone, references to others aside.
bool find_state_slots(Recorder* self, PyObject* names) {
    PyObject* cls = reinterpret_cast<PyObject*>(Py_TYPE(self->state));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
        const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
        if (name == nullptr) return false;
        Py_ssize_t offset;
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "__weakref__") == 0) continue;
        if (!find_slot(cls, name, &offset)) return false;
        self->state_slots->push_back(offset);
    }
    return find_slot(cls, "grad_fn", &self->grad_fn_at) && find_slot(cls, "output_nr", &self->output_nr_at) &&
           find_slot(cls, "attr_version", &self->attr_version_at);
}

bool find_output_slots(Recorder* self) {
    PyObject* cls = self->saved_output;
    return find_slot(cls, "array", &self->output_array_at) && find_slot(cls, "cell", &self->output_cell_at) &&
           find_slot(cls, "dtype", &self->output_dtype_at) && find_slot(cls, "keys", &self->output_keys_at) &&
           find_slot(cls, "output_nr", &self->output_output_nr_at);
}

// Recorder(otherwise, cls, below, tools, kinds, inputs, saved, values, specs, outputs, single, is_view); `tools` is
// (recorded, differentiable, SavedOutput, LEAF, next_sequence_nr, edge_of, keep_spec, ended, state, names of its slots,
// AUTOGRAD, STRIDED).
PyObject* recorder_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *otherwise, *cls, *below, *tools, *kinds, *inputs, *saved, *values, *specs, *outputs, *names, *strided;
    PyObject *recorded, *differentiable, *saved_output, *leaf, *next_sequence_nr, *edge_of, *keep_spec, *ended, *state,
        *autograd;
    int single, is_view;
    if (!PyArg_ParseTuple(args, "OO!OO!O!O!O!O!O!O!pp", &otherwise, &PyType_Type, &cls, &below, &PyTuple_Type, &tools,
                          &PyTuple_Type, &kinds, &PyTuple_Type, &inputs, &PyTuple_Type, &saved, &PyTuple_Type, &values,
                          &PyTuple_Type, &specs, &PyTuple_Type, &outputs, &single, &is_view) ||
        !PyArg_ParseTuple(tools, "O!O!O!OOOOOOO!O!O!", &PyFrozenSet_Type, &recorded, &PyFrozenSet_Type,
                          &differentiable, &PyType_Type, &saved_output, &leaf, &next_sequence_nr, &edge_of, &keep_spec,
                          &ended, &state, &PyTuple_Type, &names, &PyLong_Type, &autograd, &PyLong_Type, &strided))
        return nullptr;
    const size_t count = static_cast<size_t>(PyTuple_GET_SIZE(kinds));
    if (core.tensor == nullptr || count > MOST_ARGUMENTS || PyTuple_GET_SIZE(inputs) > 30) {
        PyErr_SetString(PyExc_ValueError, "recorders take up to 16 arguments, once `use_core` was called");
        return nullptr;
    }
    Recorder* made = reinterpret_cast<Recorder*>(type->tp_alloc(type, 0));
    if (made == nullptr) return nullptr;
    Reference owner(reinterpret_cast<PyObject*>(made));
    made->head.call = recorder_call;
    made->head.otherwise = Py_NewRef(otherwise);
    made->cls = reinterpret_cast<PyTypeObject*>(Py_NewRef(cls));
    made->below = Py_NewRef(below);
    made->recorded = Py_NewRef(recorded);
    made->differentiable = Py_NewRef(differentiable);
    made->saved_output = Py_NewRef(saved_output);
    made->leaf = Py_NewRef(leaf);
    made->next_sequence_nr = Py_NewRef(next_sequence_nr);
    made->edge_of = Py_NewRef(edge_of);
    made->keep_spec = Py_NewRef(keep_spec);
    made->ended = Py_NewRef(ended);
    made->state = Py_NewRef(state);
    made->autograd = Py_NewRef(autograd);
    made->autograd_bit = PyLong_AsUnsignedLongLongMask(autograd);
    made->strided_bit = PyLong_AsUnsignedLongLongMask(strided);
    made->count = count;
    made->inputs = new std::vector<int>;
    made->values = new std::vector<int>;
    made->others = new std::vector<char>(count, 0);
    made->saved = new std::vector<Saved>;
    made->layouts = new std::vector<Layout>;
    made->outputs = new std::vector<char>;
    made->state_slots = new std::vector<Py_ssize_t>;
    made->single = single != 0;
    made->is_view = is_view != 0;
    size_t tensors = 0;
    for (size_t i = 0; i < count; ++i) {
        PyObject* kind = PyTuple_GET_ITEM(kinds, static_cast<Py_ssize_t>(i));
        const auto is = [kind](const char* name) { return PyUnicode_CompareWithASCIIString(kind, name) == 0; };
        made->kinds[i] = is("tensor") ? Kind::Tensor : is("optional") ? Kind::Optional : is("list") ? Kind::List
                                                                                                     : Kind::Plain;
        tensors += made->kinds[i] != Kind::Plain;
    }
    if (!positions(inputs, count, made->inputs) || !positions(values, count, made->values)) return nullptr;
    for (size_t i = 0; i < count; ++i) (*made->others)[i] = made->kinds[i] != Kind::Plain;
    for (const int position : *made->inputs) {
        (*made->others)[static_cast<size_t>(position)] = 0;
        made->has_lists = made->has_lists || made->kinds[position] == Kind::List;
    }
    made->sole = tensors == 1 && made->inputs->size() == 1 && made->kinds[made->inputs->front()] == Kind::Tensor;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(saved); ++i) {
        int is_result, position;
        long wanted_by;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(saved, i), "pil", &is_result, &position, &wanted_by)) return nullptr;
        const Py_ssize_t most = is_result ? (single ? 1 : PyTuple_GET_SIZE(outputs)) : static_cast<Py_ssize_t>(count);
        if (position < 0 || position >= most || (!is_result && made->kinds[position] == Kind::List)) {
            PyErr_SetString(PyExc_ValueError, "recorders save single tensors of the operator");
            return nullptr;
        }
        made->saved->push_back({is_result != 0, position, wanted_by});
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(specs); ++i) {
        Layout layout;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(specs, i), "iU", &layout.position, &layout.kind)) return nullptr;
        if (layout.position < 0 || static_cast<size_t>(layout.position) >= count) {
            PyErr_SetString(PyExc_ValueError, "a position that is no argument's");
            return nullptr;
        }
        layout.is_strides = PyUnicode_CompareWithASCIIString(layout.kind, "strides") == 0;
        layout.is_spec = PyUnicode_CompareWithASCIIString(layout.kind, "spec") == 0;
        Py_INCREF(layout.kind);
        made->layouts->push_back(layout);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i)
        made->outputs->push_back(PyObject_IsTrue(PyTuple_GET_ITEM(outputs, i)) == 1);
    if (made->outputs->empty()) {
        PyErr_SetString(PyExc_ValueError, "recorders are for operators with results");
        return nullptr;
    }
    if (!find_node_slots(made) || !find_state_slots(made, names) || !find_output_slots(made)) return nullptr;
    return owner.release();
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Executor, call), READONLY, nullptr},
    {"otherwise", T_OBJECT, offsetof(Executor, otherwise), READONLY, "The closure that takes every other call."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(recorder_new)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_traverse, reinterpret_cast<void*>(recorder_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(recorder_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(recorder_dealloc)},
    {Py_tp_members, members},
    {0, nullptr},
};

PyType_Spec spec = {"mt_backend_cpu._native.Recorder", sizeof(Recorder), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

bool add_recorder(PyObject* module) {
    Reference type(PyType_FromSpec(&spec));
    return type && PyModule_AddObjectRef(module, "Recorder", type.get()) == 0;
}

}  // namespace mt
