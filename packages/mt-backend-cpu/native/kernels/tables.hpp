// What each level of instructions offers: one table for each operator family, of functions over contiguous memory.
//
// Functions run in the calling thread; whoever calls them divides the work. None of them allocates or fails.
#pragma once

#include <cstdint>

namespace mt {

// n elements -> n elements; the result may be the argument itself, but must not overlap it otherwise.
using Map = void (*)(const float* x, float* result, int64_t n);
// The same of two arguments.
using Map2 = void (*)(const float* a, const float* b, float* result, int64_t n);

// n elements of several arguments, and numbers beside them -> n elements; the result may be any of the arguments.
using MapMany = void (*)(const float* const* arguments, const float* numbers, float* result, int64_t n);

// The same of two arguments of bfloat16, as they are stored.
using Map2Brain = void (*)(const uint16_t* a, const uint16_t* b, uint16_t* result, int64_t n);

struct ElementwiseTable {
    Map2 add, sub, mul, div;
    Map2Brain add_brain, sub_brain, mul_brain, div_brain;
    // The same of an array and a number.
    MapMany add_number, sub_number, mul_number, div_number;
    // a + alpha b; self + value a b; self + value a / b; from the nearer of two ends.
    MapMany add_scaled, addcmul, addcdiv, lerp;
    // What is left of integers divided by a number other than 0, with the number's sign.
    void (*remainder32)(const int32_t* x, int64_t number, int32_t* result, int64_t n);
    void (*remainder64)(const int64_t* x, int64_t number, int64_t* result, int64_t n);
};

struct ComparisonTable {
    // x limited from below, from above, from both sides.
    MapMany clamp_min, clamp_max, clamp;
    // condition[i] ? a[i * a_step] : b[i * b_step], of elements of 1, 2, 4 and 8 bytes; steps are 0 or 1.
    void (*select[4])(const uint8_t* condition, const void* a, int64_t a_step, const void* b, int64_t b_step,
                      void* result, int64_t n);
};

struct ActivationBackwardTable {
    // grad, x -> gradient of x: of what is above a threshold; between two limits; with a slope below 0.
    MapMany threshold_backward, hardtanh_backward, leaky_relu_backward;
    Map2 hardsigmoid_backward, hardswish_backward;
};

struct ActivationTable {
    Map gelu_erf, gelu_tanh, silu, sigmoid, tanh, erf, exp, relu, hardswish, sign;
    // x, or x times a number where it is not above 0.
    MapMany leaky_relu;
    // grad, x -> gradient of x.
    Map2 gelu_erf_backward, gelu_tanh_backward, silu_backward;
    // grad, result -> gradient.
    Map2 sigmoid_backward, tanh_backward;
};

// rows x width, both contiguous -> the same; width > 0.
using Rows = void (*)(const float* x, float* result, int64_t rows, int64_t width);
// grad, result -> gradient.
using Rows2 = void (*)(const float* grad, const float* result, float* gradient, int64_t rows, int64_t width);

// Columns [begin, end) of (width, inner); width > 0.
using Columns = void (*)(const float* x, float* result, int64_t width, int64_t inner, int64_t begin, int64_t end);
using Columns2 = void (*)(const float* grad, const float* result, float* gradient, int64_t width, int64_t inner,
                          int64_t begin, int64_t end);

struct SoftmaxTable {
    Rows softmax, log_softmax;
    Rows2 softmax_backward, log_softmax_backward;
    Columns softmax_columns, log_softmax_columns;
    Columns2 softmax_columns_backward, log_softmax_columns_backward;
};

struct LossTable {
    // Scores (rows, width), labels (rows) below width or `ignored`.
    void (*cross_entropy)(const float* x, const int64_t* labels, int64_t ignored, float* losses, int64_t rows,
                          int64_t width);
    // `weight` (width) may be null.
    void (*nll)(const float* x, const int64_t* labels, const float* weight, int64_t ignored, float* losses,
                float* weights, int64_t rows, int64_t width);
    // Writes to the labels' places of `result` (rows, width); `total`, one number, may be null.
    void (*nll_backward)(const float* grad, int64_t grad_step, const int64_t* labels, const float* weight,
                         int64_t ignored, const float* total, float* result, int64_t rows, int64_t width);
    float (*sum)(const float* x, int64_t n);
};

struct NormTable {
    // x (rows, width) -> result (rows, width), mean (rows), rstd (rows); weight and bias (width) may be null.
    void (*layer_norm)(const float* x, const float* weight, const float* bias, float eps, float* result, float* mean,
                       float* rstd, int64_t rows, int64_t width);
    void (*layer_norm_backward)(const float* grad, const float* x, const float* mean, const float* rstd,
                                const float* weight, float* result, int64_t rows, int64_t width);
    // Adds up the rows' parts of the gradients of weight and bias, (width) each.
    void (*layer_norm_parameters)(const float* grad, const float* x, const float* mean, const float* rstd,
                                  float* of_weight, float* of_bias, int64_t rows, int64_t width);
    // (count, width): the sum of all rows into the first; the others are overwritten.
    void (*add_pairwise)(float* parts, int64_t count, int64_t width);
    void (*rms_norm)(const float* x, const float* weight, float eps, float* result, float* rstd, int64_t rows,
                     int64_t width);
    // Groups [begin, end) of n * groups; x (n, channels, inner), mean and rstd (n, groups), weight and bias (channels).
    void (*group_norm)(const float* x, const float* weight, const float* bias, float eps, float* result, float* mean,
                       float* rstd, int64_t channels, int64_t groups, int64_t inner, int64_t begin, int64_t end);
    // slopes and levels (n, channels): sums of grad * normalized x and of grad; result may be null.
    void (*group_norm_backward)(const float* grad, const float* x, const float* mean, const float* rstd,
                                const float* weight, float* result, float* slopes, float* levels, int64_t channels,
                                int64_t groups, int64_t inner, int64_t begin, int64_t end);
};

// (outer, channels, inner), row-major. Where inner is 1, kernels go by rows of channels.
struct Channels {
    int64_t outer, channels, inner;
};

struct ChannelTable {
    // Channels [begin, end).
    void (*moments_of_planes)(const float* x, const Channels& s, float* mean, float* variance, int64_t begin,
                              int64_t end);
    // (rows, channels) -> sums (channels) of x, or of (x - center)^2.
    void (*sums_of_rows)(const float* x, const float* center, int64_t channels, float* sums, int64_t rows);
    // (x - mean) * scale + shift, which may be null: runs [begin, end) of outer * channels, or rows of channels.
    void (*affine)(const float* x, const float* mean, const float* scale, const float* shift, float* result,
                   const Channels& s, int64_t begin, int64_t end);
    // Sums of grad * normalized x, and of grad.
    void (*gradients_of_planes)(const float* grad, const float* x, const float* mean, const float* rstd,
                                const Channels& s, float* slopes, float* levels, int64_t begin, int64_t end);
    void (*gradients_of_rows)(const float* grad, const float* x, const float* mean, const float* rstd, int64_t channels,
                              float* slopes, float* levels, int64_t rows);
    // (grad - level - normalized x * slope) * scale: runs or rows as `affine`.
    void (*input_gradient)(const float* grad, const float* x, const float* mean, const float* rstd, const float* scale,
                           const float* slope, const float* level, float* result, const Channels& s, int64_t begin,
                           int64_t end);
};

// Windows that slide over planes of three dimensions; of fewer, the first are 1. All sizes and steps are positive.
struct Windows {
    int64_t input[3], output[3], kernel[3], stride[3], padding[3], dilation[3];
};

// What the sum of a window is divided by: a number, or how many elements it has, with those in the padding or without.
struct Divisor {
    bool fixed, with_padding;
    int64_t number;
};

// "planes": x (planes, *input) -> (planes, *output). "rows": x (n, *input, channels) -> (n, *output, channels), of
// which the output's rows [begin, end) of n * output[0] * output[1] are made. Planes hold fewer than 2^31 elements.
struct PoolTable {
    // Places, flat in the plane, may be null.
    void (*max_planes)(const float* x, float* result, int64_t* places, const Windows& w, int64_t planes);
    void (*max_rows)(const float* x, float* result, int64_t* places, const Windows& w, int64_t channels, int64_t begin,
                     int64_t end);
    void (*mean_planes)(const float* x, float* result, const Windows& w, const Divisor& divisor, int64_t planes);
    void (*mean_rows)(const float* x, float* result, const Windows& w, const Divisor& divisor, int64_t channels,
                      int64_t begin, int64_t end);
    // grad (planes, *output) -> (planes, *input).
    void (*mean_planes_backward)(const float* grad, float* result, const Windows& w, const Divisor& divisor,
                                 int64_t planes);
    // Windows that follow from the sizes of input and output alone.
    void (*adaptive_max)(const float* x, float* result, int64_t* places, const Windows& w, int64_t planes);
    void (*adaptive_mean)(const float* x, float* result, const Windows& w, int64_t planes);
    void (*adaptive_mean_backward)(const float* grad, float* result, const Windows& w, int64_t planes);
};

// A line of `from` elements made one of `to`: element j is the sum over t < taps of weights[t * to + j] times the element
// at places[t * to + j]. Without weights there is one tap, which counts whole. In uneven maps a negative place is no tap.
struct LineMap {
    int64_t from, to, taps;
    const int32_t* places;
    const float* weights;
    bool uneven, from_zero;
};

struct UpsampleTable {
    // (rows, from) -> (rows, to).
    void (*along_rows)(const float* x, float* result, const LineMap& line, int64_t rows);
    // (from, inner) -> (to, inner).
    void (*along_columns)(const float* x, float* result, const LineMap& line, int64_t inner);
};

// Windows over channels, with a result for each of several outputs.
struct Correlation {
    Windows windows;
    // Of a group: outputs, and channels times the kernel's elements.
    int64_t outputs, depth;
    // Of the input, in elements: along channels and three dimensions. Of the result: along outputs and places.
    int64_t strides[4], output_strides[2];
    // Of the weights: along outputs, channels, and three dimensions of the kernel.
    int64_t weight_strides[5];
    // How many samples there are, how far apart they begin, and their results.
    int64_t samples, of_sample, of_result;
    // Whether windows have more elements than there are places; whether columns are samples of a place, not places of a sample.
    bool lengthy, samples_first;
};

// What is computed of a group: columns, which are the places of all samples; outputs; terms of the sums.
struct CorrelationPart {
    int64_t first, n, from_output, to_output, from_term, to_term;
};

struct ConvTable {
    // How many columns a part has at most; from what outputs, and from what terms, parts begin at multiples.
    int64_t strip, height, step;
    int64_t (*packed_size)(int64_t outputs, int64_t depth);
    // Weights of a group in the order in which `correlate` reads them, of outputs [begin, end) times `height`.
    void (*pack_weights)(const float* w, const Correlation& s, int64_t begin, int64_t end, float* packed);
    // One group; `bias` (outputs) may be null and counts where the terms begin.
    void (*correlate)(const float* x, const float* packed, const float* bias, float* result, const Correlation& s,
                      const CorrelationPart& part);
};

// Windows of single channels, or of few.
struct ConvRowsTable {
    // How many elements of a kernel `correlate_channels` takes at most.
    int64_t reach;
    // One output of one sample, all places; x and result are row-major, weights (depth).
    void (*correlate_rows)(const float* x, const float* weights, float bias, float* result, const Correlation& s);
    // Each channel by itself, channels side by side, `outputs` of them: rows [begin, end) of all samples' places; weights
    // (elements of the kernel, channels), bias (channels) or null.
    void (*correlate_channels)(const float* x, const float* weights, const float* bias, float* result, const Correlation& s,
                               int64_t begin, int64_t end);
    // One channel of one sample, all places, windows of more elements than there are places: of two dimensions.
    void (*correlate_windows)(const float* x, const float* weights, float bias, float* result, const Correlation& s);
};

// softmax(query key^T, times the product of both factors) value, of rows that are `step` elements apart.
struct Attention {
    int64_t queries, keys, width, values, query_step, key_step, value_step, result_step;
    float query_factor, key_factor;
    bool causal;
};

struct AttentionTable {
    // How many queries are taken together, and how many numbers `attend` needs room for.
    int64_t across;
    int64_t (*room)(const Attention& s);
    // Queries [begin, end); rows of the result (queries, values) are `result_step` apart.
    void (*attend)(const float* query, const float* key, const float* value, float* result, const Attention& s,
                   int64_t begin, int64_t end, float* space);
};

// One direction of one layer over sequences: at step t the first sizes[t] > 0 of `batch` go on, and the rows of the step
// begin at starts[t]; sizes fall from the first, which is `batch`. Steps are taken from the last where it is backwards.
// Gates are those of `kind`, of `hidden` units each: 4 of an LSTM (input, forget, new, output), 3 of a GRU (reset, update,
// new), 1 of plain networks.
struct Recurrence {
    enum Kind { Lstm, Gru, Tanh, Relu } kind;
    int64_t hidden, batch, steps;
    const int64_t *sizes, *starts;
    bool backwards;
};

// Arrays are row-major. Of all rows: inputs (gates * hidden), the inputs' part of the gates before activation; outputs
// and cells (hidden); activated (4 * hidden), of a GRU reset, update, new, and the state's part of new. What is kept for
// the gradient alone, `activated` and `cells`, may be null. Of the batch: states (hidden).
struct RecurrentForward {
    const float *inputs, *bias, *initial;
    float *outputs, *activated, *cells, *final_hidden, *cell;
};

// Gradients of the outputs and of the last states may be null. `hidden` and `cell` (batch, hidden) become the gradients of
// the first states; `previous` (rows, hidden) is filled with the state before each step, `of_states` (rows, gates * hidden)
// with the gradient of the state's part of the gates, which is that of the inputs' but in a GRU.
struct RecurrentBackward {
    const float *grad_outputs, *outputs, *initial, *initial_cell, *activated, *cells;
    float *of_inputs, *of_states, *previous, *hidden, *cell;
};

struct RecurrentTable {
    // How many numbers the packed weights (gates * hidden, hidden) take, for steps and for their gradients.
    int64_t (*room)(Recurrence::Kind kind, int64_t hidden, bool backward);
    void (*pack)(Recurrence::Kind kind, const float* weight, int64_t hidden, bool backward, float* packed);
    // Samples [begin, end) of the batch through all steps.
    void (*forward)(const Recurrence& r, const RecurrentForward& a, const float* packed, int64_t begin, int64_t end);
    void (*backward)(const Recurrence& r, const RecurrentBackward& a, const float* packed, int64_t begin, int64_t end);
};

// Sequences of n, the product of `factors`, each of 2 to 5. Twiddles are those of each stage, pairs of real and
// imaginary part; `halves` are the n + 1 first roots of unity of order 2 n, for transforms of real numbers, or null.
struct FftPlan {
    int64_t n, stages;
    const int32_t* factors;
    const float *twiddles, *halves;
};

constexpr int MOST_LANES = 16;

// Where the sequences begin, and how far apart their elements lie; the last ones repeat where there are fewer than lanes.
struct FftLanes {
    int64_t at[MOST_LANES], count, step;
};

struct FftTable {
    int64_t lanes;
    int64_t (*room)(int64_t n);
    void (*complex_lanes)(const FftPlan& plan, const float* x, float* y, const FftLanes& from, const FftLanes& to,
                          bool forward, float scale, float* space);
    // Real numbers of one sequence lie `inner` apart; the steps of their lanes are those of two.
    void (*real_lanes)(const FftPlan& plan, const float* x, float* y, const FftLanes& from, const FftLanes& to,
                       int64_t inner, float scale, float* space);
    void (*lanes_to_real)(const FftPlan& plan, const float* x, float* y, const FftLanes& from, const FftLanes& to,
                          int64_t inner, float scale, float* space);
};

struct HalfTable {
    void (*from_bfloat16)(const uint16_t* x, float* result, int64_t n);
    void (*to_bfloat16)(const float* x, uint16_t* result, int64_t n);
    void (*from_float16)(const uint16_t* x, float* result, int64_t n);
    void (*to_float16)(const float* x, uint16_t* result, int64_t n);
};

struct CastTable {
    // From and to bool, uint8, int8, int16, int32, int64, float32, float64; null where it is left to others.
    void (*cast[8][8])(const void* x, void* result, int64_t n);
};

// Element types of the first two: bool, int32, int64, float32, float64; of the last three: int32, int64.
struct SelectionTable {
    int64_t (*count[5])(const void* x, int64_t n);
    // `first` plus the places of what is not zero.
    void (*find[5])(const void* x, int64_t n, int64_t first, int64_t* found);
    // What stands where `chosen` is not 0, of elements of 1, 2, 4 and 8 bytes.
    void (*choose[4])(const uint8_t* chosen, const void* x, int64_t n, void* result);
    // n > 0.
    void (*range[2])(const void* x, int64_t n, int64_t* least, int64_t* greatest);
    // Adds up how often each number from `least` on is there.
    void (*tally[2])(const void* x, int64_t n, int64_t least, int64_t* counts);
    void (*look_up[2])(const void* x, int64_t n, int64_t least, const int64_t* ranks, int64_t* result);
};

struct ScanTable {
    // outer x length x inner, contiguous, summed along length; the running sum is kept in double precision.
    void (*cumsum)(const float* x, float* result, int64_t outer, int64_t length, int64_t inner);
};

// outer x length x inner, contiguous, reduced along length > 0 to outer x inner.
using ReduceColumns = void (*)(const float* x, float* result, int64_t outer, int64_t length, int64_t inner, int64_t n);

struct ReductionTable {
    // Sums divided by a number, of rows of `length`.
    void (*sum)(const float* x, float* result, int64_t rows, int64_t length, float divisor);
    // Adds `rows` rows of n elements, which begin `step` apart, to sums in double precision.
    void (*add_rows)(const float* x, int64_t rows, int64_t step, int64_t n, double* sums);
    // x and result begin at the same of `inner` columns, of which the first n are reduced.
    ReduceColumns amax, amin;
    float (*sum_all)(const float* x, int64_t n);
};

struct LinalgTable {
    float (*sum_of_squares)(const float* x, int64_t n);
};

// An element of a row that is sorted, and its place in it.
struct Placed {
    float value;
    int64_t place;
};

struct SortTable {
    // The first k of a row of n as PyTorch selects them, moved to its beginning.
    void (*select)(Placed* row, int64_t n, int64_t k, bool largest, bool sorted);
};

// An element's place in its row, and a number in its place.
struct Keyed {
    uint32_t key, place;
};

// A row of n > 0 elements of 4 bytes in order, NaN the largest, equal elements as they stood; `space` holds 2 n.
using Order = void (*)(const void* x, int64_t n, bool descending, void* values, int64_t* places, Keyed* space);

struct OrderTable {
    Order floats, integers;
};

struct ViewTable {
    // to[a * to_row + b] = from[b * from_row + a], a < rows, b < columns, of elements of 2, 4 and 8 bytes; steps in bytes.
    void (*transpose[3])(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t rows, int64_t columns);
};

// a (rows, depth) b (depth, columns), steps in elements, with `bias` (columns), which may be null; all of bfloat16.
struct PairedProduct {
    const uint16_t *a, *b, *bias;
    int64_t rows, columns, depth, a_row, a_column, b_row, b_column;
};

struct PairedTable {
    // Whether the processor multiplies pairs; the others need it.
    bool (*available)();
    // Columns of a panel; rows and columns of a block.
    int64_t across, rows, columns;
    // Panels [begin, end) of b, each of (depth + 1) / 2 * across numbers.
    void (*pack)(const PairedProduct& p, uint32_t* packed, int64_t begin, int64_t end);
    // The block of the result (rows, columns) that begins at a row and a column.
    void (*multiply)(const PairedProduct& p, const uint32_t* packed, int64_t row, int64_t column, uint16_t* result);
};

// a (rows, depth), b (depth, columns): elements between neighbouring rows and columns of each.
struct Product {
    int64_t rows, depth, columns, a_row, a_column, b_row, b_column;
};

struct ProductTable {
    // Rows and columns of a block.
    int64_t rows, columns;
    // The block of the row-major product that begins at a row and a column.
    void (*multiply)(const Product& p, const float* a, const float* b, float* result, int64_t row, int64_t column);
};

struct IndexingTable {
    // target[places[k]] += alpha source[k], rows of n elements, `to` and `from` elements apart; `skipped` is left out.
    void (*add_rows)(float* target, int64_t to, const float* source, int64_t from, const int64_t* places, int64_t rows,
                     int64_t n, float alpha, int64_t skipped);
    // For j < n, of elements of 1, 2, 4 and 8 bytes: result[j] = x[j * step + places[j] * along].
    void (*gather[4])(const void* x, int64_t step, int64_t along, const int64_t* places, void* result, int64_t n);
    // x[j * step + places[j] * along] = source[j * other].
    void (*scatter[4])(void* x, int64_t step, int64_t along, const int64_t* places, const void* source, int64_t other,
                       int64_t n);
    // x[j * step + places[j] * along] += source[j * other].
    void (*scatter_add)(float* x, int64_t step, int64_t along, const int64_t* places, const float* source,
                        int64_t other, int64_t n);
    // Whether all places are in [0, size).
    bool (*within)(const int64_t* places, int64_t n, int64_t size);
};

// Streams begin with the 624 words of a Mersenne Twister and how many of them are used up.
struct RandomTable {
    // The next n words.
    void (*words)(uint32_t* key, int32_t* used, uint32_t* result, int64_t n);
    // n words -> n numbers from low to high; what is rounded to high becomes low.
    void (*uniform)(const uint32_t* words, float low, float high, float* result, int64_t n);
    // 2 n words -> the same in double precision.
    void (*uniform_double)(const uint32_t* words, double low, double high, double* result, int64_t n);
    // n uniform numbers, n a multiple of 16 -> as many normal numbers.
    void (*normal)(const float* uniform, float mean, float deviation, float* result, int64_t n);
    // 2 n words -> n times whether 53 bits are below a limit.
    void (*below)(const uint32_t* words, uint64_t limit, float* result, int64_t n);
    void (*below_bool)(const uint32_t* words, uint64_t limit, uint8_t* result, int64_t n);
    // n words -> low + word % span.
    void (*remainders)(const uint32_t* words, int64_t low, uint32_t span, int64_t* result, int64_t n);
};

struct Tables {
    const ActivationTable* activation;
    const SoftmaxTable* softmax;
    const NormTable* norm;
    const ChannelTable* channels;
    const PoolTable* pool;
    const UpsampleTable* upsample;
    const LossTable* loss;
    const ConvTable* conv;
    const ConvRowsTable* conv_rows;
    const AttentionTable* attention;
    const RecurrentTable* recurrent;
    const FftTable* fft;
    const HalfTable* half;
    const ElementwiseTable* elementwise;
    const RandomTable* random;
    const ActivationBackwardTable* activation_backward;
    const ComparisonTable* comparison;
    const ScanTable* scan;
    const ReductionTable* reduction;
    const LinalgTable* linalg;
    const SortTable* sort;
    const IndexingTable* indexing;
    const OrderTable* order;
    const ViewTable* view;
    const PairedTable* paired;
    const CastTable* casts;
    const SelectionTable* selection;
    const ProductTable* product;
};

}  // namespace mt
