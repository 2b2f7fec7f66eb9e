#include "python/array.hpp"

#include <algorithm>
#include <cstring>

#include "core/levels.hpp"
#include "core/parallel.hpp"

namespace mt {

int bfloat16_number = -1;

PyArrayObject* array_of(PyObject* object, const char* function, int position) {
    if (PyArray_Check(object)) return reinterpret_cast<PyArrayObject*>(object);
    PyErr_Format(PyExc_TypeError, "%s: argument %d must be an array, not %s", function, position,
                 Py_TYPE(object)->tp_name);
    return nullptr;
}

PyArrayObject* float_rows(PyObject* object, const char* function, int position) {
    PyArrayObject* array = array_of(object, function, position);
    if (array == nullptr) return nullptr;
    if (element_of(array) == Element::Float32 && PyArray_ISCARRAY_RO(array)) return array;
    PyErr_Format(PyExc_TypeError, "%s: argument %d must be a row-major array of float32", function, position);
    return nullptr;
}

PyObject* new_like(PyArrayObject* array) {
    PyArray_Descr* descr = PyArray_DESCR(array);
    Py_INCREF(descr);
    return new_of(descr, PyArray_NDIM(array), PyArray_DIMS(array));
}

bool channels_innermost(PyArrayObject* x) {
    const int ndim = PyArray_NDIM(x);
    npy_intp step = PyArray_ITEMSIZE(x);
    if (ndim < 3 || PyArray_STRIDE(x, 1) != step) return false;
    step *= PyArray_DIM(x, 1);
    for (int d = ndim - 1; d >= 2; --d) {
        if (PyArray_DIM(x, d) != 1 && PyArray_STRIDE(x, d) != step) return false;
        step *= PyArray_DIM(x, d);
    }
    return PyArray_DIM(x, 0) == 1 || PyArray_STRIDE(x, 0) == step;
}

bool only_out(PyObject* const* arguments, Py_ssize_t count, PyObject* names, const char* function, PyObject** out) {
    *out = nullptr;
    const Py_ssize_t given = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < given; ++i) {
        PyObject* name = PyTuple_GET_ITEM(names, i);
        if (PyUnicode_CompareWithASCIIString(name, "out") != 0) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", function, name);
            return false;
        }
        if (arguments[count + i] != Py_None) *out = arguments[count + i];
    }
    return true;
}

namespace {

constexpr int MOST_OPERANDS = 4;
// Elements that pass through buffers at a time.
constexpr int64_t CHUNK = 1024;

// A loop over one shape and, for every operand, where its elements lie. The last operand is the one that is written.
struct Loop {
    int operands = 0;
    int ndim = 0;
    int64_t size = 1;
    int64_t shape[NPY_MAXDIMS];
    int64_t strides[MOST_OPERANDS][NPY_MAXDIMS];
    char* data[MOST_OPERANDS];
    int64_t itemsize = 0;

    bool contiguous() const {
        for (int k = 0; k < operands; ++k)
            if (!straight(k)) return false;
        return true;
    }

    // Whether an operand's elements lie one behind the other in the order of the loop.
    bool straight(int k) const {
        int64_t step = itemsize;
        for (int d = ndim - 1; d >= 0; --d) {
            if (strides[k][d] != step) return false;
            step *= shape[d];
        }
        return true;
    }
};

// Drops dimensions of size 1 and joins those that every operand goes through at one step.
void coalesce(Loop& loop) {
    int kept = 0;
    for (int d = 0; d < loop.ndim; ++d) {
        if (loop.shape[d] == 1) continue;
        bool joined = kept > 0;
        for (int k = 0; k < loop.operands && joined; ++k)
            joined = loop.strides[k][kept - 1] == loop.strides[k][d] * loop.shape[d];
        if (joined) {
            loop.shape[kept - 1] *= loop.shape[d];
            for (int k = 0; k < loop.operands; ++k) loop.strides[k][kept - 1] = loop.strides[k][d];
            continue;
        }
        loop.shape[kept] = loop.shape[d];
        for (int k = 0; k < loop.operands; ++k) loop.strides[k][kept] = loop.strides[k][d];
        ++kept;
    }
    loop.ndim = kept;
}

// Dimensions in the order in which the written operand lies in memory.
void reorder(Loop& loop) {
    const int64_t* written = loop.strides[loop.operands - 1];
    int order[NPY_MAXDIMS];
    for (int d = 0; d < loop.ndim; ++d) order[d] = d;
    std::stable_sort(order, order + loop.ndim, [&](int a, int b) { return std::abs(written[a]) > std::abs(written[b]); });
    Loop found = loop;
    for (int d = 0; d < loop.ndim; ++d) {
        found.shape[d] = loop.shape[order[d]];
        for (int k = 0; k < loop.operands; ++k) found.strides[k][d] = loop.strides[k][order[d]];
    }
    loop = found;
}

// Adds an operand that is broadcast to the loop's shape; false with an error where it cannot be.
bool add_operand(Loop& loop, PyArrayObject* array, const char* function) {
    const int more = loop.ndim - PyArray_NDIM(array), k = loop.operands++;
    bool fits = more >= 0;
    for (int d = 0; d < loop.ndim && fits; ++d) {
        const int own = d - more;
        const bool repeated = own < 0 || (PyArray_DIM(array, own) == 1 && loop.shape[d] != 1);
        loop.strides[k][d] = repeated ? 0 : PyArray_STRIDE(array, own);
        fits = repeated || PyArray_DIM(array, own) == loop.shape[d];
    }
    loop.data[k] = PyArray_BYTES(array);
    if (!fits) PyErr_Format(PyExc_ValueError, "%s: the arguments cannot be broadcast together", function);
    return fits;
}

// Calls `visit(address, stride, run, done)` for runs of elements along the innermost dimension, which hold the
// elements [begin, begin + count) of an operand.
template <class Visit>
void walk(const Loop& loop, int k, int64_t begin, int64_t count, Visit visit) {
    int64_t at[NPY_MAXDIMS];
    const int last = loop.ndim - 1;
    char* address = loop.data[k];
    int64_t rest = begin;
    for (int d = last; d >= 0; --d) {
        at[d] = rest % loop.shape[d];
        rest /= loop.shape[d];
        address += at[d] * loop.strides[k][d];
    }
    for (int64_t done = 0; done < count;) {
        const int64_t run = std::min(count - done, loop.shape[last] - at[last]);
        visit(address, loop.strides[k][last], run, done);
        done += run;
        address += run * loop.strides[k][last];
        at[last] += run;
        for (int d = last; d > 0 && at[d] == loop.shape[d]; --d) {
            address += loop.strides[k][d - 1] - loop.shape[d] * loop.strides[k][d];
            at[d] = 0;
            ++at[d - 1];
        }
    }
}

// n elements that lie `stride` bytes apart, one behind the other.
template <class T>
void collect(const char* from, int64_t stride, int64_t n, T* buffer) {
    if (stride == sizeof(T)) {
        std::memcpy(buffer, from, sizeof(T) * static_cast<size_t>(n));
    } else if (stride == 0) {
        T element;
        std::memcpy(&element, from, sizeof(T));
        std::fill(buffer, buffer + n, element);
    } else {
        for (int64_t i = 0; i < n; ++i) std::memcpy(buffer + i, from + i * stride, sizeof(T));
    }
}

template <class T>
void gather(const Loop& loop, int k, int64_t begin, int64_t count, T* buffer) {
    walk(loop, k, begin, count, [buffer](const char* from, int64_t stride, int64_t run, int64_t done) {
        collect(from, stride, run, buffer + done);
    });
}

template <class T>
void scatter(const Loop& loop, int k, int64_t begin, int64_t count, const T* buffer) {
    walk(loop, k, begin, count, [buffer](char* to, int64_t stride, int64_t run, int64_t done) {
        for (int64_t i = 0; i < run; ++i) std::memcpy(to + i * stride, buffer + done + i, sizeof(T));
    });
}

struct Floats {
    using Stored = float;
    static const float* read(const float* stored, float*, int64_t) { return stored; }
    static float* target(float* stored, float*) { return stored; }
    static void write(const float*, float*, int64_t) {}
};

template <bool Brain>
struct Halves {
    using Stored = uint16_t;
    static const float* read(const uint16_t* stored, float* widened, int64_t n) {
        const HalfTable* half = kernels().half;
        (Brain ? half->from_bfloat16 : half->from_float16)(stored, widened, n);
        return widened;
    }
    static float* target(uint16_t*, float* widened) { return widened; }
    static void write(const float* widened, uint16_t* stored, int64_t n) {
        const HalfTable* half = kernels().half;
        (Brain ? half->to_bfloat16 : half->to_float16)(widened, stored, n);
    }
};

// Rows of so many elements are taken one by one, as they lie.
constexpr int64_t LONG = 64;

// Runs `f(inputs, result, n)` over elements [begin, end), row by row: what lies side by side is read and written where
// it is, and what is repeated along the row is repeated once for all rows that have the same.
template <class Type, class F>
void run_rows(const Loop& loop, int64_t begin, int64_t end, F f) {
    using Stored = typename Type::Stored;
    const int inputs = loop.operands - 1, last = loop.ndim - 1;
    Stored stored[MOST_OPERANDS][CHUNK];
    float widened[MOST_OPERANDS][CHUNK];
    const char* repeated[MOST_OPERANDS] = {};
    char* address[MOST_OPERANDS];
    int64_t at[NPY_MAXDIMS], longest = sizeof(Stored) == sizeof(float) ? loop.shape[last] : CHUNK, rest = begin;
    for (int k = 0; k <= inputs; ++k) {
        address[k] = loop.data[k];
        if (loop.strides[k][last] != static_cast<int64_t>(sizeof(Stored))) longest = std::min(longest, CHUNK);
    }
    for (int d = last; d >= 0; --d) {
        at[d] = rest % loop.shape[d];
        rest /= loop.shape[d];
        for (int k = 0; k <= inputs; ++k) address[k] += at[d] * loop.strides[k][d];
    }
    for (int64_t done = begin; done < end;) {
        const int64_t run = std::min({end - done, loop.shape[last] - at[last], longest});
        const float* given[MOST_OPERANDS];
        for (int k = 0; k < inputs; ++k) {
            const int64_t stride = loop.strides[k][last];
            if (stride == 0 && repeated[k] != address[k]) {
                collect(address[k], 0, std::min(longest, loop.shape[last]), stored[k]);
                repeated[k] = address[k];
            } else if (stride != 0 && stride != static_cast<int64_t>(sizeof(Stored))) {
                collect(address[k], stride, run, stored[k]);
            }
            const bool direct = stride == static_cast<int64_t>(sizeof(Stored));
            given[k] = Type::read(direct ? reinterpret_cast<Stored*>(address[k]) : stored[k], widened[k], run);
        }
        const int64_t stride = loop.strides[inputs][last];
        const bool direct = stride == static_cast<int64_t>(sizeof(Stored));
        Stored* to = direct ? reinterpret_cast<Stored*>(address[inputs]) : stored[inputs];
        float* target = Type::target(to, widened[inputs]);
        f(given, target, run);
        Type::write(target, to, run);
        if (!direct)
            for (int64_t i = 0; i < run; ++i) std::memcpy(address[inputs] + i * stride, to + i, sizeof(Stored));
        done += run;
        at[last] += run;
        for (int k = 0; k <= inputs; ++k) address[k] += run * loop.strides[k][last];
        for (int d = last; d > 0 && at[d] == loop.shape[d]; --d) {
            for (int k = 0; k <= inputs; ++k) address[k] += loop.strides[k][d - 1] - loop.shape[d] * loop.strides[k][d];
            at[d] = 0;
            ++at[d - 1];
        }
    }
}

// The same of rows of any length, by way of buffers.
template <class Type, class F>
void run_buffered(const Loop& loop, int64_t begin, int64_t end, F f) {
    using Stored = typename Type::Stored;
    const int inputs = loop.operands - 1;
    bool straight[MOST_OPERANDS];
    for (int k = 0; k <= inputs; ++k) straight[k] = loop.size == 1 || loop.straight(k);
    Stored stored[MOST_OPERANDS][CHUNK];
    float widened[MOST_OPERANDS][CHUNK];
    for (int64_t start = begin; start < end; start += CHUNK) {
        const int64_t n = std::min(CHUNK, end - start);
        const float* given[MOST_OPERANDS];
        for (int k = 0; k < inputs; ++k) {
            const Stored* from = reinterpret_cast<const Stored*>(loop.data[k]) + start;
            if (!straight[k]) {
                gather(loop, k, start, n, stored[k]);
                from = stored[k];
            }
            given[k] = Type::read(from, widened[k], n);
        }
        const bool direct = straight[inputs];
        Stored* to = direct ? reinterpret_cast<Stored*>(loop.data[inputs]) + start : stored[inputs];
        float* target = Type::target(to, widened[inputs]);
        f(given, target, n);
        Type::write(target, to, n);
        if (!direct) scatter(loop, inputs, start, n, stored[inputs]);
    }
}

// Runs `f(inputs, result, n)` over elements [begin, end), which every operand holds in this order.
template <class Type, class F>
void run_range(const Loop& loop, int64_t begin, int64_t end, F f) {
    const int inputs = loop.operands - 1;
    if (sizeof(typename Type::Stored) == sizeof(float) && (loop.size == 1 || loop.contiguous())) {
        const float* given[MOST_OPERANDS];
        for (int k = 0; k < inputs; ++k) given[k] = reinterpret_cast<const float*>(loop.data[k]) + begin;
        f(given, reinterpret_cast<float*>(loop.data[inputs]) + begin, end - begin);
    } else if (loop.size > 1 && loop.shape[loop.ndim - 1] >= LONG) {
        run_rows<Type>(loop, begin, end, f);
    } else {
        run_buffered<Type>(loop, begin, end, f);
    }
}

// Elements of a few instructions each, which are worth dividing later than GRAIN of those that are dear.
constexpr int64_t CHEAP = 4 * GRAIN;

template <class F>
PyObject* elementwise(PyArrayObject* const* inputs, int count, PyObject* out, const char* function, int64_t grain,
                      F f, Map2Brain brain = nullptr) {
    const Element element = element_of(inputs[0]);
    bool supported = element != Element::Other;
    for (int k = 1; k < count; ++k) supported = supported && element_of(inputs[k]) == element;
    if (out != nullptr) {
        supported = supported && PyArray_Check(out) && element_of(reinterpret_cast<PyArrayObject*>(out)) == element &&
                    PyArray_ISWRITEABLE(reinterpret_cast<PyArrayObject*>(out));
    }
    if (!supported) {
        PyErr_Format(PyExc_TypeError, "%s takes arrays of one dtype: float32, bfloat16 or float16", function);
        return nullptr;
    }
    Loop loop;
    if (out != nullptr) {
        PyArrayObject* written = reinterpret_cast<PyArrayObject*>(out);
        loop.ndim = PyArray_NDIM(written);
        for (int d = 0; d < loop.ndim; ++d) loop.shape[d] = PyArray_DIM(written, d);
        Py_INCREF(out);
    } else {
        for (int k = 0; k < count; ++k) loop.ndim = std::max(loop.ndim, PyArray_NDIM(inputs[k]));
        for (int d = 0; d < loop.ndim; ++d) {
            loop.shape[d] = 1;
            for (int k = 0; k < count; ++k) {
                const int own = d - loop.ndim + PyArray_NDIM(inputs[k]);
                if (own >= 0 && PyArray_DIM(inputs[k], own) != 1) loop.shape[d] = PyArray_DIM(inputs[k], own);
            }
        }
        PyArray_Descr* descr = PyArray_DESCR(inputs[0]);
        Py_INCREF(descr);
        npy_intp shape[NPY_MAXDIMS];
        for (int d = 0; d < loop.ndim; ++d) shape[d] = static_cast<npy_intp>(loop.shape[d]);
        out = new_of(descr, loop.ndim, shape);
        if (out == nullptr) return nullptr;
    }
    Reference result(out);
    for (int d = 0; d < loop.ndim; ++d) loop.size *= loop.shape[d];
    loop.itemsize = PyArray_ITEMSIZE(inputs[0]);
    for (int k = 0; k < count; ++k)
        if (!add_operand(loop, inputs[k], function)) return nullptr;
    if (!add_operand(loop, result.array(), function)) return nullptr;
    if (loop.size == 0) return result.release();
    coalesce(loop);
    if (!loop.contiguous()) {
        reorder(loop);
        coalesce(loop);
    }
    Released released(loop.size > grain);
    if (brain != nullptr && element == Element::BFloat16 && loop.contiguous()) {
        parallel(loop.size, grain, [&](int64_t begin, int64_t end) {
            const auto at = [&](int k) { return reinterpret_cast<uint16_t*>(loop.data[k]) + begin; };
            brain(at(0), at(1), at(2), end - begin);
        });
        return result.release();
    }
    parallel(loop.size, grain, [&](int64_t begin, int64_t end) {
        switch (element) {
            case Element::Float32: run_range<Floats>(loop, begin, end, f); break;
            case Element::BFloat16: run_range<Halves<true>>(loop, begin, end, f); break;
            case Element::Float16: run_range<Halves<false>>(loop, begin, end, f); break;
            case Element::Other: break;
        }
    });
    return result.release();
}

}  // namespace

// What array libraries make of arrays without dimensions, NumPy's float32, as an array that `made` keeps.
PyObject* with_dimensions(PyObject* operand, Reference& made) {
    return PyArray_IsScalar(operand, Float) ? made.keep(PyArray_FromScalar(operand, nullptr)) : operand;
}

PyObject* map_arrays(Map f, PyObject* x, PyObject* out, const char* function) {
    PyArrayObject* input = array_of(x, function, 1);
    if (input == nullptr) return nullptr;
    if (out == nullptr && PyArray_TYPE(input) == NPY_FLOAT && PyArray_ISCARRAY_RO(input)) {
        // The plainest call, without a loop to set up.
        Reference result(new_like(input));
        if (!result) return nullptr;
        const int64_t n = PyArray_SIZE(input);
        const float* from = static_cast<const float*>(PyArray_DATA(input));
        float* to = static_cast<float*>(PyArray_DATA(result.array()));
        if (n <= GRAIN) {
            f(from, to, n);
        } else {
            Released released(true);
            parallel(n, GRAIN, [=](int64_t begin, int64_t end) { f(from + begin, to + begin, end - begin); });
        }
        return result.release();
    }
    return elementwise(&input, 1, out, function, GRAIN,
                       [f](const float* const* given, float* result, int64_t n) { f(given[0], result, n); });
}

PyObject* map2_arrays(Map2 f, PyObject* a, PyObject* b, PyObject* out, const char* function, Map2Brain brain) {
    Reference made[2] = {Reference(nullptr), Reference(nullptr)};
    if ((a = with_dimensions(a, made[0])) == nullptr || (b = with_dimensions(b, made[1])) == nullptr) return nullptr;
    PyArrayObject* inputs[2] = {array_of(a, function, 1), nullptr};
    if (inputs[0] == nullptr || (inputs[1] = array_of(b, function, 2)) == nullptr) return nullptr;
    return elementwise(inputs, 2, out, function, GRAIN,
                       [f](const float* const* given, float* result, int64_t n) { f(given[0], given[1], result, n); }, brain);
}

PyObject* map_many_arrays(MapMany f, PyObject* const* given, int count, const float* numbers, PyObject* out,
                          const char* function) {
    PyArrayObject* inputs[MOST_OPERANDS - 1];
    Reference made[MOST_OPERANDS - 1] = {Reference(nullptr), Reference(nullptr), Reference(nullptr)};
    for (int k = 0; k < count; ++k) {
        PyObject* input = with_dimensions(given[k], made[k]);
        if (input == nullptr || (inputs[k] = array_of(input, function, k + 1)) == nullptr) return nullptr;
    }
    return elementwise(inputs, count, out, function, CHEAP,
                       [f, numbers](const float* const* x, float* result, int64_t n) { f(x, numbers, result, n); });
}

}  // namespace mt
