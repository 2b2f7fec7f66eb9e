// Attention of blocks of queries: their scores stand key by key, ACROSS queries side by side, and are never all there.
#include <limits>

#include "kernels/math.hpp"
#include "kernels/tables.hpp"
#include "kernels/tiles.hpp"

MT_NAMESPACE {
namespace {

// Rows (n, width), `step` apart, times a factor -> (n / HEIGHT, width, HEIGHT), filled up with zeros.
void pack_rows(const float* rows, int64_t step, int64_t n, int64_t width, float factor, float* packed) {
    for (int64_t first = 0; first < n; first += HEIGHT, packed += width * HEIGHT) {
        const int64_t high = std::min<int64_t>(HEIGHT, n - first);
        if (high < HEIGHT) std::fill(packed, packed + width * HEIGHT, 0.f);
        for (int64_t i = 0; i < high; ++i) {
            const float* from = rows + (first + i) * step;
            for (int64_t e = 0; e < width; ++e) packed[e * HEIGHT + i] = from[e] * factor;
        }
    }
}

// The columns of rows (n, width) -> (width / HEIGHT, n, HEIGHT), filled up with zeros.
void pack_columns(const float* rows, int64_t step, int64_t n, int64_t width, float* packed) {
    for (int64_t first = 0; first < width; first += HEIGHT) {
        const int64_t high = std::min<int64_t>(HEIGHT, width - first);
        for (int64_t k = 0; k < n; ++k, packed += HEIGHT) {
            const float* from = rows + k * step + first;
            for (int64_t i = 0; i < HEIGHT; ++i) packed[i] = i < high ? from[i] : 0.f;
        }
    }
}

// Queries (n, width) -> (width, ACROSS), filled up with zeros.
void pack_queries(const float* rows, int64_t step, int64_t n, int64_t width, float factor, float* packed) {
    if (n < ACROSS) std::fill(packed, packed + width * ACROSS, 0.f);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t e = 0; e < width; ++e) packed[e * ACROSS + i] = rows[i * step + e] * factor;
}

// Sums of so many rows are added up before the next begin.
constexpr int64_t RUN_OF_ROWS = 128;

// Scores (keys, ACROSS) become exponentials, relative to the greatest of each query; their sums (ACROSS).
MT_FLAT void exponentials(float* scores, int64_t keys, float* sums) {
    float most[ACROSS];
    for (int j = 0; j < ACROSS; ++j) most[j] = scores[j];
    for (int64_t k = 1; k < keys; ++k) {
        const float* row = scores + k * ACROSS;
        MT_VECTORIZE
        for (int j = 0; j < ACROSS; ++j) most[j] = most[j] > row[j] || most[j] != most[j] ? most[j] : row[j];
    }
    std::fill(sums, sums + ACROSS, 0.f);
    for (int64_t start = 0; start < keys; start += RUN_OF_ROWS) {
        float run[ACROSS] = {};
        for (int64_t k = start; k < std::min(keys, start + RUN_OF_ROWS); ++k) {
            float* row = scores + k * ACROSS;
            MT_VECTORIZE
            for (int j = 0; j < ACROSS; ++j) {
                row[j] = exp(row[j] - most[j]);
                run[j] += row[j];
            }
        }
        MT_VECTORIZE
        for (int j = 0; j < ACROSS; ++j) sums[j] += run[j];
    }
}

int64_t room(const Attention& s) {
    return whole_tiles(s.keys) * (s.width + ACROSS) + whole_tiles(s.values) * s.keys + s.width * ACROSS;
}

void attend(const float* query, const float* key, const float* value, float* result, const Attention& s, int64_t begin,
            int64_t end, float* space) {
    float* keys = space;
    float* values = keys + whole_tiles(s.keys) * s.width;
    float* queries = values + whole_tiles(s.values) * s.keys;
    float* scores = queries + s.width * ACROSS;
    const int64_t reached = s.causal ? std::min(s.keys, end) : s.keys;
    pack_rows(key, s.key_step, reached, s.width, s.key_factor, keys);
    pack_columns(value, s.value_step, reached, s.values, values);
    for (int64_t first = begin; first < end; first += ACROSS) {
        const int64_t n = std::min<int64_t>(ACROSS, end - first), seen = s.causal ? std::min(reached, first + n) : reached;
        pack_queries(query + first * s.query_step, s.query_step, n, s.width, s.query_factor, queries);
        for (int64_t k = 0; k < seen; k += HEIGHT)
            multiply_deep(keys + k * s.width, queries, s.width, scores + k * ACROSS);
        if (s.causal)
            for (int64_t k = first + 1; k < seen; ++k)
                std::fill(scores + k * ACROSS, scores + k * ACROSS + std::min<int64_t>(k - first, ACROSS),
                          -std::numeric_limits<float>::infinity());
        float sums[ACROSS];
        exponentials(scores, seen, sums);
        for (int64_t v = 0; v < s.values; v += HEIGHT) {
            alignas(64) float tile[HEIGHT * ACROSS];
            multiply_deep(values + v * reached, scores, seen, tile);
            const int64_t high = std::min<int64_t>(HEIGHT, s.values - v);
            for (int64_t j = 0; j < n; ++j) {
                float* to = result + (first + j) * s.result_step + v;
                for (int64_t i = 0; i < high; ++i) to[i] = tile[i * ACROSS + j] / sums[j];
            }
        }
    }
}

}  // namespace

extern const AttentionTable attention;
const AttentionTable attention = {ACROSS, room, attend};

}  // namespace
