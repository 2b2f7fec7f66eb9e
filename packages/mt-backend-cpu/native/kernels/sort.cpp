// Selection within rows. Which of equal elements comes first is what the algorithms of GNU's C++ library make of it,
// which PyTorch is built with.
#include <algorithm>
#include <cstdint>

#include "kernels/loops.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

// A type of this file's own: templates of it are nobody else's, of no other level of instructions either.
struct Element : Placed {};

bool is_nan(float x) { return x != x; }

// NaN is greater than every number.
struct Greater {
    bool operator()(const Element& a, const Element& b) const {
        return (is_nan(a.value) && !is_nan(b.value)) || a.value > b.value;
    }
};

struct Less {
    bool operator()(const Element& a, const Element& b) const {
        return (!is_nan(a.value) && is_nan(b.value)) || a.value < b.value;
    }
};

// So many times more elements than are wanted, and a heap selects them.
constexpr int64_t HEAPED = 64;

template <class Before>
void select_by(Element* row, int64_t n, int64_t k, bool sorted, Before before) {
    if (k * HEAPED <= n) {
        std::partial_sort(row, row + k, row + n, before);
        return;
    }
    std::nth_element(row, row + k - 1, row + n, before);
    if (sorted) std::sort(row, row + k - 1, before);
}

void select(Placed* row, int64_t n, int64_t k, bool largest, bool sorted) {
    Element* elements = static_cast<Element*>(row);
    if (largest)
        select_by(elements, n, k, sorted, Greater{});
    else
        select_by(elements, n, k, sorted, Less{});
}

}  // namespace

extern const SortTable sort;
const SortTable sort = {select};

}  // namespace
