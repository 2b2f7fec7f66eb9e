// Arrays filled from a stream: the state of NumPy's Mersenne Twister, which its capsule leads to.
//
// The caller holds the lock of the stream.
#include <cmath>

#include "python/bindings.hpp"

namespace mt {
namespace {

// What a capsule of NumPy's bit generators begins with, and what it refers to for MT19937.
struct BitGenerator {
    void* state;
};

struct Twister {
    uint32_t key[624];
    int32_t used;
};

Twister* twister_of(PyObject* capsule) {
    BitGenerator* generator = static_cast<BitGenerator*>(PyCapsule_GetPointer(capsule, "BitGenerator"));
    if (generator == nullptr) return nullptr;
    Twister* twister = static_cast<Twister*>(generator->state);
    if (twister->used < 0 || twister->used > 624) {
        PyErr_SetString(PyExc_ValueError, "the state is not a Mersenne Twister's");
        return nullptr;
    }
    return twister;
}

// Words that are drawn at a time.
constexpr int64_t DRAWN = 2048;

// Calls `make(words, begin, n)` for all of `count` elements, with `each` words for each of them.
template <class Make>
void drawn(Twister* twister, int64_t count, int64_t each, Make make) {
    uint32_t words[DRAWN];
    const RandomTable* table = kernels().random;
    for (int64_t begin = 0; begin < count; begin += DRAWN / each) {
        const int64_t n = std::min(DRAWN / each, count - begin);
        table->words(twister->key, &twister->used, words, n * each);
        make(words, begin, n);
    }
}

// The row-major array that is to be filled, of one of up to three types; null with an error.
PyArrayObject* filled(PyObject* object, const char* function, int type, int other, int third) {
    PyArrayObject* array = array_of(object, function, 2);
    if (array == nullptr) return nullptr;
    const int found = PyArray_TYPE(array);
    if ((found == type || found == other || found == third) && PyArray_ISCARRAY(array)) return array;
    PyErr_Format(PyExc_TypeError, "%s: argument 2 must be a writable row-major array of another type", function);
    return nullptr;
}

bool number_of(PyObject* object, double* number) {
    *number = PyFloat_AsDouble(object);
    return *number != -1. || !PyErr_Occurred();
}

PyObject* uniform(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    double low, high;
    if (names != nullptr || !counted(count, 4, "fill_uniform")) return refused(names, "fill_uniform");
    Twister* twister = twister_of(arguments[0]);
    if (twister == nullptr || !number_of(arguments[2], &low) || !number_of(arguments[3], &high)) return nullptr;
    PyArrayObject* out = filled(arguments[1], "fill_uniform", NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE);
    if (out == nullptr) return nullptr;
    const RandomTable* table = kernels().random;
    const int64_t n = PyArray_SIZE(out);
    if (PyArray_TYPE(out) == NPY_FLOAT) {
        float* to = static_cast<float*>(PyArray_DATA(out));
        const float least = static_cast<float>(low), most = static_cast<float>(high);
        drawn(twister, n, 1, [=](const uint32_t* words, int64_t begin, int64_t some) {
            table->uniform(words, least, most, to + begin, some);
        });
    } else {
        double* to = static_cast<double*>(PyArray_DATA(out));
        drawn(twister, n, 2, [=](const uint32_t* words, int64_t begin, int64_t some) {
            table->uniform_double(words, low, high, to + begin, some);
        });
    }
    Py_RETURN_NONE;
}

// Sixteen and sixteen; a remainder is made good by drawing the last sixteen anew.
PyObject* normal(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    double mean, deviation;
    if (names != nullptr || !counted(count, 4, "fill_normal")) return refused(names, "fill_normal");
    Twister* twister = twister_of(arguments[0]);
    if (twister == nullptr || !number_of(arguments[2], &mean) || !number_of(arguments[3], &deviation)) return nullptr;
    PyArrayObject* out = filled(arguments[1], "fill_normal", NPY_FLOAT, NPY_FLOAT, NPY_FLOAT);
    if (out == nullptr) return nullptr;
    const int64_t n = PyArray_SIZE(out), whole = n - n % 16;
    if (n < 16) {
        PyErr_SetString(PyExc_ValueError, "fill_normal takes sixteen elements or more");
        return nullptr;
    }
    const RandomTable* table = kernels().random;
    float* to = static_cast<float*>(PyArray_DATA(out));
    const float center = static_cast<float>(mean), width = static_cast<float>(deviation);
    const auto transform = [=](const uint32_t* words, int64_t begin, int64_t some) {
        float numbers[DRAWN];
        table->uniform(words, 0.f, 1.f, numbers, some);
        table->normal(numbers, center, width, to + begin, some);
    };
    drawn(twister, whole, 1, transform);
    if (whole < n) {
        drawn(twister, n - whole, 1, [](const uint32_t*, int64_t, int64_t) {});
        drawn(twister, 16, 1, [=](const uint32_t* words, int64_t, int64_t some) { transform(words, n - 16, some); });
    }
    Py_RETURN_NONE;
}

// fill_pairs(stream, out, mean, deviation, kept) -> the second of a pair that is kept for the next call, or None.
PyObject* pairs(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    double mean, deviation, kept = 0;
    if (names != nullptr || !counted(count, 5, "fill_pairs")) return refused(names, "fill_pairs");
    Twister* twister = twister_of(arguments[0]);
    if (twister == nullptr || !number_of(arguments[2], &mean) || !number_of(arguments[3], &deviation)) return nullptr;
    bool has_kept = arguments[4] != Py_None;
    if (has_kept && !number_of(arguments[4], &kept)) return nullptr;
    PyArrayObject* out = filled(arguments[1], "fill_pairs", NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE);
    if (out == nullptr) return nullptr;
    const RandomTable* table = kernels().random;
    const int64_t n = PyArray_SIZE(out);
    const bool single = PyArray_TYPE(out) == NPY_FLOAT;
    for (int64_t i = 0; i < n; ++i) {
        double number = kept;
        if (has_kept) {
            has_kept = false;
        } else {
            uint32_t words[4];
            double units[2];
            table->words(twister->key, &twister->used, words, 4);
            table->uniform_double(words, 0., 1., units, 2);
            const double radius = std::sqrt(-2. * std::log1p(-units[1])), angle = 2. * 3.14159265358979323846 * units[0];
            number = radius * std::cos(angle);
            kept = radius * std::sin(angle);
            has_kept = true;
        }
        const double made = std::fma(number, deviation, mean);
        if (single)
            static_cast<float*>(PyArray_DATA(out))[i] = static_cast<float>(made);
        else
            static_cast<double*>(PyArray_DATA(out))[i] = made;
    }
    if (has_kept) return PyFloat_FromDouble(kept);
    Py_RETURN_NONE;
}

// fill_below(stream, out, limit): 1 where 53 bits are below the limit, else 0.
PyObject* below(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 3, "fill_below")) return refused(names, "fill_below");
    Twister* twister = twister_of(arguments[0]);
    if (twister == nullptr) return nullptr;
    const uint64_t limit = PyLong_AsUnsignedLongLong(arguments[2]);
    if (PyErr_Occurred()) return nullptr;
    PyArrayObject* out = filled(arguments[1], "fill_below", NPY_FLOAT, NPY_BOOL, NPY_BOOL);
    if (out == nullptr) return nullptr;
    const RandomTable* table = kernels().random;
    float* singles = static_cast<float*>(PyArray_DATA(out));
    uint8_t* bools = static_cast<uint8_t*>(PyArray_DATA(out));
    const bool single = PyArray_TYPE(out) == NPY_FLOAT;
    drawn(twister, PyArray_SIZE(out), 2, [=](const uint32_t* words, int64_t begin, int64_t some) {
        if (single)
            table->below(words, limit, singles + begin, some);
        else
            table->below_bool(words, limit, bools + begin, some);
    });
    Py_RETURN_NONE;
}

// fill_remainders(stream, out, low, span).
PyObject* remainders(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 4, "fill_remainders")) return refused(names, "fill_remainders");
    Twister* twister = twister_of(arguments[0]);
    if (twister == nullptr) return nullptr;
    const int64_t low = PyLong_AsLongLong(arguments[2]), span = PyLong_AsLongLong(arguments[3]);
    if (PyErr_Occurred()) return nullptr;
    if (span < 1 || span > UINT32_MAX || low > INT64_MAX - span) {
        PyErr_SetString(PyExc_ValueError, "fill_remainders: the span must be of 32 bits");
        return nullptr;
    }
    PyArrayObject* out = filled(arguments[1], "fill_remainders", NPY_INT64, NPY_INT64, NPY_INT64);
    if (out == nullptr) return nullptr;
    const RandomTable* table = kernels().random;
    int64_t* to = static_cast<int64_t*>(PyArray_DATA(out));
    drawn(twister, PyArray_SIZE(out), 1, [=](const uint32_t* words, int64_t begin, int64_t some) {
        table->remainders(words, low, static_cast<uint32_t>(span), to + begin, some);
    });
    Py_RETURN_NONE;
}

// permutation(stream, n): Fisher and Yates' shuffle from the front, one word for each step.
PyObject* permutation(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
    if (names != nullptr || !counted(count, 2, "permutation")) return refused(names, "permutation");
    Twister* twister = twister_of(arguments[0]);
    if (twister == nullptr) return nullptr;
    const int64_t n = PyLong_AsLongLong(arguments[1]);
    if (PyErr_Occurred()) return nullptr;
    if (n < 0 || n > UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "permutation: the number must be of 32 bits");
        return nullptr;
    }
    npy_intp shape = static_cast<npy_intp>(n);
    Reference result(new_array(1, &shape, NPY_INT64));
    if (!result) return nullptr;
    int64_t* numbers = static_cast<int64_t*>(PyArray_DATA(result.array()));
    for (int64_t i = 0; i < n; ++i) numbers[i] = i;
    drawn(twister, n - 1, 1, [=](const uint32_t* words, int64_t begin, int64_t some) {
        for (int64_t i = 0; i < some; ++i) {
            const int64_t at = begin + i, other = at + words[i] % static_cast<uint32_t>(n - at);
            std::swap(numbers[at], numbers[other]);
        }
    });
    return result.release();
}

}  // namespace

PyMethodDef random_methods[] = {
    method("fill_uniform", uniform, "fill_uniform(stream, out, low, high)"),
    method("fill_normal", normal, "fill_normal(stream, out, mean, deviation): of sixteen elements or more"),
    method("fill_pairs", pairs, "fill_pairs(stream, out, mean, deviation, kept) -> kept for the next call, or None"),
    method("fill_below", below, "fill_below(stream, out, limit): whether 53 bits are below the limit"),
    method("fill_remainders", remainders, "fill_remainders(stream, out, low, span)"),
    method("permutation", permutation, "permutation(stream, n)"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace mt
