// Recurrent networks: all steps of some samples at once. The weights are packed in panels that stay in the first cache
// while all samples go by; gates are activated where they have just been summed.
#include "kernels/math.hpp"
#include "kernels/tables.hpp"
#include "kernels/tiles.hpp"

MT_NAMESPACE {
namespace {

// Rows that go through a panel together: as many as sums of 4 vectors each fit the registers.
#if defined(__AVX512F__)
constexpr int MOST_ROWS = 6;
#else
constexpr int MOST_ROWS = 3;
#endif
constexpr int MOST_COLUMNS = 4;

constexpr int gates_of(Recurrence::Kind kind) {
    return kind == Recurrence::Lstm ? 4 : kind == Recurrence::Gru ? 3 : 1;
}

// Vectors of a panel, of which each gate has its own, for the same units; else they stand side by side.
constexpr int columns_of(Recurrence::Kind kind) { return gates_of(kind) == 1 ? MOST_COLUMNS : gates_of(kind); }
constexpr int units_of(Recurrence::Kind kind) { return gates_of(kind) == 1 ? MOST_COLUMNS * WIDTH : WIDTH; }

int64_t divided(int64_t n, int64_t by) { return (n + by - 1) / by; }

// rows[i] (depth), panel (depth, COLUMNS, WIDTH) -> sums (ROWS, COLUMNS, WIDTH).
template <int ROWS, int COLUMNS>
MT_FLAT void multiply_panel(const float* const* rows, const float* panel, int64_t depth, float* sums) {
    for (int64_t start = 0; start < depth; start += DEPTH) {
        Vector held[ROWS][COLUMNS];
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 4
            for (int c = 0; c < COLUMNS; ++c) held[i][c] = Vector{};
        const int64_t end = std::min(depth, start + DEPTH);
        for (int64_t k = start; k < end; ++k, panel += COLUMNS * WIDTH) {
            Vector weights[COLUMNS];
#pragma GCC unroll 4
            for (int c = 0; c < COLUMNS; ++c) weights[c] = load(panel + c * WIDTH);
#pragma GCC unroll 16
            for (int i = 0; i < ROWS; ++i) {
                const Vector factor = rows[i][k] - Vector{};
#pragma GCC unroll 4
                for (int c = 0; c < COLUMNS; ++c) held[i][c] += factor * weights[c];
            }
        }
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 4
            for (int c = 0; c < COLUMNS; ++c) {
                Vector* to = reinterpret_cast<Vector*>(sums + (i * COLUMNS + c) * WIDTH);
                *to = start == 0 ? held[i][c] : *to + held[i][c];
            }
    }
}

template <int COLUMNS>
void multiply_panels(const float* const* rows, int n, const float* panel, int64_t depth, float* sums) {
    static_assert(MOST_ROWS <= 6, "a case for each number of rows");
    switch (n) {
        case 1: return multiply_panel<1, COLUMNS>(rows, panel, depth, sums);
        case 2: return multiply_panel<2, COLUMNS>(rows, panel, depth, sums);
        case 3: return multiply_panel<3, COLUMNS>(rows, panel, depth, sums);
        case 4: return multiply_panel<MOST_ROWS >= 4 ? 4 : 1, COLUMNS>(rows, panel, depth, sums);
        case 5: return multiply_panel<MOST_ROWS >= 5 ? 5 : 1, COLUMNS>(rows, panel, depth, sums);
        default: return multiply_panel<MOST_ROWS, COLUMNS>(rows, panel, depth, sums);
    }
}

// Of steps: panels (units / units_of, hidden, columns_of, WIDTH). Of gradients, which multiply by the transposed: panels
// (hidden / (4 WIDTH), gates * hidden, 4, WIDTH). Filled up with zeros.
int64_t room(Recurrence::Kind kind, int64_t hidden, bool backward) {
    if (backward) return divided(hidden, MOST_COLUMNS * WIDTH) * MOST_COLUMNS * WIDTH * gates_of(kind) * hidden;
    return divided(hidden, units_of(kind)) * hidden * columns_of(kind) * WIDTH;
}

void pack(Recurrence::Kind kind, const float* weight, int64_t hidden, bool backward, float* packed) {
    const int64_t gates = gates_of(kind);
    if (backward) {
        constexpr int64_t ACROSS_PANEL = MOST_COLUMNS * WIDTH;
        for (int64_t first = 0; first < hidden; first += ACROSS_PANEL) {
            const int64_t n = std::min(ACROSS_PANEL, hidden - first);
            for (int64_t k = 0; k < gates * hidden; ++k, packed += ACROSS_PANEL) {
                std::copy(weight + k * hidden + first, weight + k * hidden + first + n, packed);
                std::fill(packed + n, packed + ACROSS_PANEL, 0.f);
            }
        }
        return;
    }
    const int64_t columns = columns_of(kind), units = units_of(kind), row = columns * WIDTH;
    for (int64_t first = 0; first < hidden; first += units, packed += hidden * row) {
        for (int64_t c = 0; c < columns; ++c) {
            // Of which gate, and from which unit on.
            const int64_t gate = gates == 1 ? 0 : c, at = gates == 1 ? first + c * WIDTH : first;
            const int64_t n = std::max<int64_t>(0, std::min<int64_t>(WIDTH, hidden - at));
            const float* from = weight + (gate * hidden + at) * hidden;
            float* to = packed + c * WIDTH;
            if (n < WIDTH)
                for (int64_t k = 0; k < hidden; ++k) std::fill(to + k * row + n, to + k * row + WIDTH, 0.f);
            // Some terms of all units at a time: what is read of each then stays in the cache until its line is used up.
            for (int64_t start = 0; start < hidden; start += WIDTH) {
                const int64_t end = std::min<int64_t>(hidden, start + WIDTH);
                for (int64_t j = 0; j < n; ++j)
                    for (int64_t k = start; k < end; ++k) to[k * row + j] = from[j * hidden + k];
            }
        }
    }
}

// Up to `n` numbers, the rest zeros.
struct Some {
    float at[WIDTH];
    Some(const float* from, int64_t n) {
        if (from == nullptr || n < WIDTH) std::fill(at, at + WIDTH, 0.f);
        if (from != nullptr) std::memcpy(at, from, sizeof(float) * static_cast<size_t>(n));
    }
};

inline void store_some(float* to, const float* from, int64_t n) {
    if (to != nullptr) std::memcpy(to, from, sizeof(float) * static_cast<size_t>(n));
}

inline const float* past(const float* from, int64_t n) { return from == nullptr ? nullptr : from + n; }
inline float* past(float* from, int64_t n) { return from == nullptr ? nullptr : from + n; }

// The row of the state before a step, or null where the step is a sample's first.
int64_t row_before(const Recurrence& r, int64_t step, int64_t sample) {
    const int64_t before = r.backwards ? step + 1 : step - 1;
    return before >= 0 && before < r.steps && sample < r.sizes[before] ? r.starts[before] + sample : -1;
}

// The parts of a sample's gates at units [first, first + n), and where its results go.
struct Place {
    const float *sums, *previous;
    int64_t row, sample, first, n;
};

MT_FLAT void lstm_units(const Recurrence& r, const RecurrentForward& a, const Place& p) {
    const int64_t h = r.hidden;
    float gates[4][WIDTH], hidden[WIDTH];
    for (int g = 0; g < 4; ++g) {
        const Some input(a.inputs + (p.row * 4 + g) * h + p.first, p.n), bias(past(a.bias, g * h + p.first), p.n);
        const float* sums = p.sums + g * WIDTH;
        MT_VECTORIZE
        for (int j = 0; j < WIDTH; ++j) gates[g][j] = input.at[j] + (sums[j] + bias.at[j]);
    }
    Some cell(a.cell + p.sample * h + p.first, p.n);
    for (int g = 0; g < 4; ++g) {
        if (g == 2) continue;
        MT_VECTORIZE
        for (int j = 0; j < WIDTH; ++j) gates[g][j] = sigmoid(gates[g][j]);
    }
    MT_VECTORIZE
    for (int j = 0; j < WIDTH; ++j) gates[2][j] = tanh(gates[2][j]);
    MT_VECTORIZE
    for (int j = 0; j < WIDTH; ++j) cell.at[j] = gates[1][j] * cell.at[j] + gates[0][j] * gates[2][j];
    MT_VECTORIZE
    for (int j = 0; j < WIDTH; ++j) hidden[j] = gates[3][j] * tanh(cell.at[j]);
    store_some(a.cell + p.sample * h + p.first, cell.at, p.n);
    store_some(a.outputs + p.row * h + p.first, hidden, p.n);
    store_some(past(a.cells, p.row * h + p.first), cell.at, p.n);
    for (int g = 0; g < 4; ++g) store_some(past(a.activated, (p.row * 4 + g) * h + p.first), gates[g], p.n);
}

MT_FLAT void gru_units(const Recurrence& r, const RecurrentForward& a, const Place& p) {
    const int64_t h = r.hidden;
    float gates[4][WIDTH], inputs[3][WIDTH];
    for (int g = 0; g < 3; ++g) {
        const Some input(a.inputs + (p.row * 3 + g) * h + p.first, p.n), bias(past(a.bias, g * h + p.first), p.n);
        const float* sums = p.sums + g * WIDTH;
        float* to = gates[g < 2 ? g : 3];
        MT_VECTORIZE
        for (int j = 0; j < WIDTH; ++j) inputs[g][j] = input.at[j];
        MT_VECTORIZE
        for (int j = 0; j < WIDTH; ++j) to[j] = sums[j] + bias.at[j];
    }
    const Some before(p.previous + p.first, p.n);
    float hidden[WIDTH];
    for (int g = 0; g < 2; ++g) {
        MT_VECTORIZE
        for (int j = 0; j < WIDTH; ++j) gates[g][j] = sigmoid(inputs[g][j] + gates[g][j]);
    }
    MT_VECTORIZE
    for (int j = 0; j < WIDTH; ++j) gates[2][j] = tanh(inputs[2][j] + gates[0][j] * gates[3][j]);
    MT_VECTORIZE
    for (int j = 0; j < WIDTH; ++j) hidden[j] = (before.at[j] - gates[2][j]) * gates[1][j] + gates[2][j];
    store_some(a.outputs + p.row * h + p.first, hidden, p.n);
    for (int g = 0; g < 4; ++g) store_some(past(a.activated, (p.row * 4 + g) * h + p.first), gates[g], p.n);
}

MT_FLAT void plain_units(const Recurrence& r, const RecurrentForward& a, const Place& p) {
    for (int64_t c = 0; c * WIDTH < p.n; ++c) {
        const int64_t first = p.first + c * WIDTH, n = std::min<int64_t>(WIDTH, p.n - c * WIDTH);
        const Some input(a.inputs + p.row * r.hidden + first, n), bias(past(a.bias, first), n);
        const float* sums = p.sums + c * WIDTH;
        float hidden[WIDTH];
        MT_VECTORIZE
        for (int j = 0; j < WIDTH; ++j) hidden[j] = input.at[j] + (sums[j] + bias.at[j]);
        if (r.kind == Recurrence::Tanh) {
            MT_VECTORIZE
            for (int j = 0; j < WIDTH; ++j) hidden[j] = tanh(hidden[j]);
        } else {
            MT_VECTORIZE
            for (int j = 0; j < WIDTH; ++j) hidden[j] = hidden[j] < 0.f ? 0.f : hidden[j];
        }
        store_some(a.outputs + p.row * r.hidden + first, hidden, n);
    }
}

// Samples that go on at a step, of [begin, end), in groups of about one size.
template <class F>
void in_groups(const Recurrence& r, int64_t step, int64_t begin, int64_t end, const F& f) {
    const int64_t n = std::min(end, r.sizes[step]) - begin;
    if (n <= 0) return;
    const int64_t groups = divided(n, MOST_ROWS);
    for (int64_t g = 0; g < groups; ++g) f(begin + n * g / groups, static_cast<int>(n * (g + 1) / groups - n * g / groups));
}

template <int COLUMNS>
void forward_steps(const Recurrence& r, const RecurrentForward& a, const float* packed, int64_t begin, int64_t end) {
    const int64_t h = r.hidden, units = units_of(r.kind);
    for (int64_t number = 0; number < r.steps; ++number) {
        const int64_t step = r.backwards ? r.steps - 1 - number : number;
        for (int64_t first = 0; first < h; first += units)
            in_groups(r, step, begin, end, [&](int64_t sample, int n) {
                alignas(64) float sums[MOST_ROWS * COLUMNS * WIDTH];
                const float* previous[MOST_ROWS];
                for (int i = 0; i < n; ++i) {
                    const int64_t row = row_before(r, step, sample + i);
                    previous[i] = row < 0 ? a.initial + (sample + i) * h : a.outputs + row * h;
                }
                multiply_panels<COLUMNS>(previous, n, packed + first / units * h * COLUMNS * WIDTH, h, sums);
                for (int i = 0; i < n; ++i) {
                    const Place p{sums + i * COLUMNS * WIDTH, previous[i], r.starts[step] + sample + i,
                                  sample + i, first, std::min(units, h - first)};
                    if (r.kind == Recurrence::Lstm)
                        lstm_units(r, a, p);
                    else if (r.kind == Recurrence::Gru)
                        gru_units(r, a, p);
                    else
                        plain_units(r, a, p);
                }
            });
    }
    const int64_t last = r.backwards ? 0 : r.steps - 1;
    for (int64_t sample = begin; sample < end; ++sample) {
        int64_t step = last;
        while (sample >= r.sizes[step]) --step;
        const float* from = a.outputs + (r.starts[step] + sample) * h;
        std::copy(from, from + h, a.final_hidden + sample * h);
    }
}

void forward(const Recurrence& r, const RecurrentForward& a, const float* packed, int64_t begin, int64_t end) {
    if (gates_of(r.kind) == 3)
        forward_steps<3>(r, a, packed, begin, end);
    else
        forward_steps<4>(r, a, packed, begin, end);
}

// Gradients of one row's gates; its part of the state's gradient that does not go through the weights stays in `hidden`.
MT_FLAT void lstm_gradients(int64_t h, const RecurrentBackward& a, int64_t row, int64_t sample, const float* cell_before) {
    for (int64_t first = 0; first < h; first += WIDTH) {
        const int64_t n = std::min<int64_t>(WIDTH, h - first);
        const float* gates = a.activated + row * 4 * h + first;
        const Some of_output(past(a.grad_outputs, row * h + first), n), input(gates, n), forget(gates + h, n),
            fresh(gates + 2 * h, n), output(gates + 3 * h, n), cell(a.cells + row * h + first, n), before(cell_before + first, n);
        Some of_hidden(a.hidden + sample * h + first, n), of_cell(a.cell + sample * h + first, n);
        float made[4][WIDTH];
        MT_VECTORIZE
        for (int j = 0; j < WIDTH; ++j) {
            const float arrived = of_hidden.at[j] + of_output.at[j], shown = tanh(cell.at[j]);
            const float total = of_cell.at[j] + arrived * output.at[j] * (1.f - shown * shown);
            made[0][j] = total * fresh.at[j] * (input.at[j] - input.at[j] * input.at[j]);
            made[1][j] = total * before.at[j] * (forget.at[j] - forget.at[j] * forget.at[j]);
            made[2][j] = total * input.at[j] * (1.f - fresh.at[j] * fresh.at[j]);
            made[3][j] = arrived * shown * (output.at[j] - output.at[j] * output.at[j]);
            of_cell.at[j] = total * forget.at[j];
            of_hidden.at[j] = 0.f;
        }
        for (int g = 0; g < 4; ++g) store_some(a.of_inputs + (row * 4 + g) * h + first, made[g], n);
        store_some(a.cell + sample * h + first, of_cell.at, n);
        store_some(a.hidden + sample * h + first, of_hidden.at, n);
    }
}

MT_FLAT void gru_gradients(int64_t h, const RecurrentBackward& a, int64_t row, int64_t sample, const float* state_before) {
    for (int64_t first = 0; first < h; first += WIDTH) {
        const int64_t n = std::min<int64_t>(WIDTH, h - first);
        const float* gates = a.activated + row * 4 * h + first;
        const Some of_output(past(a.grad_outputs, row * h + first), n), reset(gates, n), update(gates + h, n),
            fresh(gates + 2 * h, n), from_state(gates + 3 * h, n), before(state_before + first, n);
        Some of_hidden(a.hidden + sample * h + first, n);
        float made[4][WIDTH];
        MT_VECTORIZE
        for (int j = 0; j < WIDTH; ++j) {
            const float arrived = of_hidden.at[j] + of_output.at[j];
            const float of_new = arrived * (1.f - update.at[j]) * (1.f - fresh.at[j] * fresh.at[j]);
            made[0][j] = of_new * from_state.at[j] * (reset.at[j] - reset.at[j] * reset.at[j]);
            made[1][j] = arrived * (before.at[j] - fresh.at[j]) * (update.at[j] - update.at[j] * update.at[j]);
            made[2][j] = of_new;
            made[3][j] = of_new * reset.at[j];
            of_hidden.at[j] = arrived * update.at[j];
        }
        for (int g = 0; g < 3; ++g) {
            store_some(a.of_inputs + (row * 3 + g) * h + first, made[g], n);
            store_some(a.of_states + (row * 3 + g) * h + first, made[g < 2 ? g : 3], n);
        }
        store_some(a.hidden + sample * h + first, of_hidden.at, n);
    }
}

MT_FLAT void plain_gradients(const Recurrence& r, const RecurrentBackward& a, int64_t row, int64_t sample) {
    const int64_t h = r.hidden;
    for (int64_t first = 0; first < h; first += WIDTH) {
        const int64_t n = std::min<int64_t>(WIDTH, h - first);
        const Some of_output(past(a.grad_outputs, row * h + first), n), shown(a.outputs + row * h + first, n);
        Some of_hidden(a.hidden + sample * h + first, n);
        float made[WIDTH];
        if (r.kind == Recurrence::Tanh) {
            MT_VECTORIZE
            for (int j = 0; j < WIDTH; ++j)
                made[j] = (of_hidden.at[j] + of_output.at[j]) * (1.f - shown.at[j] * shown.at[j]);
        } else {
            MT_VECTORIZE
            for (int j = 0; j < WIDTH; ++j) made[j] = shown.at[j] <= 0.f ? 0.f : of_hidden.at[j] + of_output.at[j];
        }
        std::fill(of_hidden.at, of_hidden.at + WIDTH, 0.f);
        store_some(a.of_inputs + row * h + first, made, n);
        store_some(a.hidden + sample * h + first, of_hidden.at, n);
    }
}

void backward(const Recurrence& r, const RecurrentBackward& a, const float* packed, int64_t begin, int64_t end) {
    constexpr int64_t ACROSS_PANEL = MOST_COLUMNS * WIDTH;
    const int64_t h = r.hidden, width = gates_of(r.kind) * h;
    const float* of_gates = r.kind == Recurrence::Gru ? a.of_states : a.of_inputs;
    for (int64_t number = 0; number < r.steps; ++number) {
        const int64_t step = r.backwards ? number : r.steps - 1 - number;
        for (int64_t sample = begin; sample < std::min(end, r.sizes[step]); ++sample) {
            const int64_t row = r.starts[step] + sample, before = row_before(r, step, sample);
            const float* state = before < 0 ? a.initial + sample * h : a.outputs + before * h;
            std::copy(state, state + h, a.previous + row * h);
            if (r.kind == Recurrence::Lstm)
                lstm_gradients(h, a, row, sample, before < 0 ? a.initial_cell + sample * h : a.cells + before * h);
            else if (r.kind == Recurrence::Gru)
                gru_gradients(h, a, row, sample, state);
            else
                plain_gradients(r, a, row, sample);
        }
        for (int64_t first = 0; first < h; first += ACROSS_PANEL)
            in_groups(r, step, begin, end, [&](int64_t sample, int n) {
                alignas(64) float sums[MOST_ROWS * ACROSS_PANEL];
                const float* rows[MOST_ROWS];
                for (int i = 0; i < n; ++i) rows[i] = of_gates + (r.starts[step] + sample + i) * width;
                multiply_panels<MOST_COLUMNS>(rows, n, packed + first * width, width, sums);
                const int64_t units = std::min(ACROSS_PANEL, h - first);
                for (int i = 0; i < n; ++i) {
                    float* to = a.hidden + (sample + i) * h + first;
                    const float* from = sums + i * ACROSS_PANEL;
                    MT_VECTORIZE
                    for (int64_t j = 0; j < units; ++j) to[j] += from[j];
                }
            });
    }
}

}  // namespace

extern const RecurrentTable recurrent;
const RecurrentTable recurrent = {room, pack, forward, backward};

}  // namespace
