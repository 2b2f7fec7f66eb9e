// Lines resized: elements as weighted sums of others of the same line.
#include <algorithm>
#include <cstring>

#include "kernels/loops.hpp"
#include "kernels/tables.hpp"

MT_NAMESPACE {
namespace {

// Columns that are summed before the next begin, so that sums stay in the nearest cache.
constexpr int64_t TOGETHER = 1024;

template <bool UNEVEN>
MT_INLINE float product(float weight, const float* x, int32_t place) {
    if (!UNEVEN) return weight * x[place];
    const float v = weight * x[place < 0 ? 0 : place];
    return place < 0 ? 0.f : v;
}

template <bool UNEVEN>
MT_FLAT void row(const float* x, float* result, const LineMap& line) {
    const int64_t n = line.to;
    const float* weights = line.weights;
    const int32_t* places = line.places;
    if (line.from_zero) std::fill(result, result + n, 0.f);
    for (int64_t t = 0; t < line.taps; ++t, weights += n, places += n) {
        if (t == 0 && !line.from_zero) {
            MT_VECTORIZE
            for (int64_t j = 0; j < n; ++j) result[j] = product<UNEVEN>(weights[j], x, places[j]);
        } else {
            MT_VECTORIZE
            for (int64_t j = 0; j < n; ++j) result[j] += product<UNEVEN>(weights[j], x, places[j]);
        }
    }
}

// Two taps, the commonest number, in one pass.
MT_FLAT void row_of_two(const float* x, float* result, const LineMap& line) {
    const int64_t n = line.to;
    const float *one = line.weights, *other = one + n;
    const int32_t *here = line.places, *there = here + n;
    MT_VECTORIZE
    for (int64_t j = 0; j < n; ++j) result[j] = one[j] * x[here[j]] + other[j] * x[there[j]];
}

MT_FLAT void chosen(const float* x, float* result, const LineMap& line) {
    MT_VECTORIZE
    for (int64_t j = 0; j < line.to; ++j) result[j] = x[line.places[j]];
}

bool is_of_two(const LineMap& line) { return line.taps == 2 && !line.uneven && !line.from_zero; }

void along_rows(const float* x, float* result, const LineMap& line, int64_t rows) {
    for (int64_t r = 0; r < rows; ++r, x += line.from, result += line.to) {
        if (line.weights == nullptr) chosen(x, result, line);
        else if (is_of_two(line)) row_of_two(x, result, line);
        else if (line.uneven) row<true>(x, result, line);
        else row<false>(x, result, line);
    }
}

MT_FLAT void column_of_two(const float* a, const float* b, float one, float other, float* to, int64_t n) {
    MT_VECTORIZE
    for (int64_t i = 0; i < n; ++i) to[i] = one * a[i] + other * b[i];
}

template <bool FIRST>
MT_FLAT void add_column(const float* from, float weight, float* to, int64_t n) {
    MT_VECTORIZE
    for (int64_t i = 0; i < n; ++i) to[i] = FIRST ? weight * from[i] : to[i] + weight * from[i];
}

void along_columns(const float* x, float* result, const LineMap& line, int64_t inner) {
    for (int64_t j = 0; j < line.to; ++j, result += inner) {
        if (line.weights == nullptr) {
            std::memcpy(result, x + line.places[j] * inner, sizeof(float) * static_cast<size_t>(inner));
            continue;
        }
        for (int64_t start = 0; start < inner; start += TOGETHER) {
            const int64_t n = std::min(TOGETHER, inner - start);
            float* to = result + start;
            const float* from = x + start;
            if (is_of_two(line)) {
                column_of_two(from + line.places[j] * inner, from + line.places[line.to + j] * inner, line.weights[j],
                              line.weights[line.to + j], to, n);
                continue;
            }
            bool first = !line.from_zero;
            if (!first) std::fill(to, to + n, 0.f);
            for (int64_t t = 0; t < line.taps; ++t) {
                const float weight = line.weights[t * line.to + j];
                const int32_t place = line.places[t * line.to + j];
                if (place < 0) continue;
                const float* at = from + place * inner;
                if (first) add_column<true>(at, weight, to, n);
                else add_column<false>(at, weight, to, n);
                first = false;
            }
            if (first) std::fill(to, to + n, 0.f);
        }
    }
}

}  // namespace

extern const UpsampleTable pool_upsample;
const UpsampleTable pool_upsample = {along_rows, along_columns};

}  // namespace
