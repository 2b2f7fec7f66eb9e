// Elements and rows that are looked up, written and added by index; whoever calls has checked the indices.
#include "kernels/loops.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

// Row by row, in the order of the index.
void add_rows(float* target, int64_t to, const float* source, int64_t from, const int64_t* places, int64_t rows,
              int64_t n, float alpha, int64_t skipped) {
    for (int64_t k = 0; k < rows; ++k) {
        if (places[k] == skipped) continue;
        float* row = target + places[k] * to;
        const float* added = source + k * from;
        MT_VECTORIZE
        for (int64_t j = 0; j < n; ++j) row[j] += alpha * added[j];
    }
}

template <class T>
void gather(const void* x, int64_t step, int64_t along, const int64_t* places, void* result, int64_t n) {
    const T* from = static_cast<const T*>(x);
    T* to = static_cast<T*>(result);
    MT_VECTORIZE
    for (int64_t j = 0; j < n; ++j) to[j] = from[j * step + places[j] * along];
}

template <class T>
void scatter(void* x, int64_t step, int64_t along, const int64_t* places, const void* source, int64_t other,
             int64_t n) {
    T* to = static_cast<T*>(x);
    const T* from = static_cast<const T*>(source);
    for (int64_t j = 0; j < n; ++j) to[j * step + places[j] * along] = from[j * other];
}

void scatter_add(float* x, int64_t step, int64_t along, const int64_t* places, const float* source, int64_t other,
                 int64_t n) {
    for (int64_t j = 0; j < n; ++j) x[j * step + places[j] * along] += source[j * other];
}

bool within(const int64_t* places, int64_t n, int64_t size) {
    const uint64_t limit = static_cast<uint64_t>(size);
    return reduce<int64_t>(n, 0, [=](int64_t i) { return static_cast<int64_t>(static_cast<uint64_t>(places[i]) >= limit); },
                           [](int64_t a, int64_t b) { return a | b; }) == 0;
}

}  // namespace

extern const IndexingTable indexing;
const IndexingTable indexing = {
    add_rows,
    {gather<uint8_t>, gather<uint16_t>, gather<uint32_t>, gather<uint64_t>},
    {scatter<uint8_t>, scatter<uint16_t>, scatter<uint32_t>, scatter<uint64_t>},
    scatter_add,
    within,
};

}  // namespace
