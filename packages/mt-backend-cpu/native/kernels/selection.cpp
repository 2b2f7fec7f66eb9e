// What is not zero: how many, where, and what stands there.
#include <cstring>

#include "kernels/loops.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

template <class T>
int64_t count(const void* x, int64_t n) {
    const T* elements = static_cast<const T*>(x);
    return reduce<int64_t>(n, 0, [=](int64_t i) { return static_cast<int64_t>(elements[i] != T(0)); },
                           [](int64_t a, int64_t b) { return a + b; });
}

// Elements that are looked at before what was found is written: without branches one is written more than is found.
constexpr int64_t HELD_BACK = 256;

template <class T>
void find(const void* x, int64_t n, int64_t first, int64_t* found) {
    const T* elements = static_cast<const T*>(x);
    int64_t held[HELD_BACK + 1];
    for (int64_t start = 0; start < n; start += HELD_BACK) {
        const int64_t end = n - start < HELD_BACK ? n : start + HELD_BACK;
        int64_t k = 0;
        for (int64_t i = start; i < end; ++i) {
            held[k] = first + i;
            k += elements[i] != T(0);
        }
        std::memcpy(found, held, sizeof(int64_t) * static_cast<size_t>(k));
        found += k;
    }
}

template <class T>
void choose(const uint8_t* chosen, const void* x, int64_t n, void* result) {
    const T* elements = static_cast<const T*>(x);
    T* to = static_cast<T*>(result);
    T held[HELD_BACK + 1];
    for (int64_t start = 0; start < n; start += HELD_BACK) {
        const int64_t end = n - start < HELD_BACK ? n : start + HELD_BACK;
        int64_t k = 0;
        for (int64_t i = start; i < end; ++i) {
            held[k] = elements[i];
            k += chosen[i] != 0;
        }
        std::memcpy(to, held, sizeof(T) * static_cast<size_t>(k));
        to += k;
    }
}

template <class T>
void range(const void* x, int64_t n, int64_t* least, int64_t* greatest) {
    const T* elements = static_cast<const T*>(x);
    *least = reduce<T>(n, elements[0], [=](int64_t i) { return elements[i]; }, [](T a, T b) { return a < b ? a : b; });
    *greatest = reduce<T>(n, elements[0], [=](int64_t i) { return elements[i]; }, [](T a, T b) { return a > b ? a : b; });
}

template <class T>
void tally(const void* x, int64_t n, int64_t least, int64_t* counts) {
    const T* elements = static_cast<const T*>(x);
    for (int64_t i = 0; i < n; ++i) ++counts[static_cast<int64_t>(elements[i]) - least];
}

template <class T>
void look_up(const void* x, int64_t n, int64_t least, const int64_t* ranks, int64_t* result) {
    const T* elements = static_cast<const T*>(x);
    for (int64_t i = 0; i < n; ++i) result[i] = ranks[static_cast<int64_t>(elements[i]) - least];
}

}  // namespace

extern const SelectionTable selection;
const SelectionTable selection = {
    {count<uint8_t>, count<int32_t>, count<int64_t>, count<float>, count<double>},
    {find<uint8_t>, find<int32_t>, find<int64_t>, find<float>, find<double>},
    {choose<uint8_t>, choose<uint16_t>, choose<uint32_t>, choose<uint64_t>},
    {range<int32_t>, range<int64_t>},
    {tally<int32_t>, tally<int64_t>},
    {look_up<int32_t>, look_up<int64_t>},
};

}  // namespace
