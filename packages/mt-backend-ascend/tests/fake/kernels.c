// Shared objects of kernels, as ascendc_library makes them: aclrtlaunch_<kernel>(blocks, stream, arguments).
#include "fake_cann.h"
#include <stdio.h>
#include <string.h>

// z[i] = x[i] + a * y[i] over n elements, by `blocks` cores.

typedef struct {
    float *x, *y, *z, a;
    uint32_t n, blocks;
} axpy_data;

static int axpy_body(void *data)
{
    axpy_data *d = data;
    for (uint32_t b = 0; b < d->blocks; b++)
        for (uint32_t i = b; i < d->n; i += d->blocks) d->z[i] = d->x[i] + d->a * d->y[i];
    return 0;
}

uint32_t aclrtlaunch_axpy(uint32_t blocks, uint64_t stream, void *x, void *y, void *z, float a, uint32_t n)
{
    int told = fake_failure("aclrtlaunch_axpy");
    if (told) return told;
    axpy_data d = {x, y, z, a, n, blocks};
    fake_range ranges[3] = {{(uint64_t)x, 4 * n, 0}, {(uint64_t)y, 4 * n, 0}, {(uint64_t)z, 4 * n, 1}};
    return fake_enqueue(stream, axpy_body, &d, sizeof d, ranges, 3);
}

static int failing_body(void *data)
{
    (void)data;
    return 507015;
}

uint32_t aclrtlaunch_fails_later(uint32_t blocks, uint64_t stream, void *x)
{
    fake_range range = {(uint64_t)x, 4, 1};
    return fake_enqueue(stream, failing_body, &blocks, sizeof blocks, &range, 1);
}

// A struct, which is read when the kernel runs: as late as an implementation of launches may.

typedef struct {
    uint32_t total, tile;
    double scale;
    int16_t shift;
    uint64_t seed;
} tiling;

typedef struct {
    tiling *data;
    double *out; // of 8 bytes each, whatever the dtype
} tiled_data;

static int tiled_body(void *data)
{
    tiled_data *d = data;
    memcpy(d->out, d->data, sizeof(tiling));
    return 0;
}

uint32_t aclrtlaunch_tiled(uint32_t blocks, uint64_t stream, tiling *t, void *out)
{
    (void)blocks;
    tiled_data d = {t, out};
    fake_range range = {(uint64_t)out, sizeof(tiling), 1};
    return fake_enqueue(stream, tiled_body, &d, sizeof d, &range, 1);
}

// Every argument as it came, bit by bit.

static char record[2048];
static int at;

const char *last_call(void) { return record; }

static void note(const char *name, const void *value, size_t size)
{
    at += sprintf(record + at, "%s=", name);
    for (size_t i = size; i-- > 0;) at += sprintf(record + at, "%02x", ((const unsigned char *)value)[i]);
    record[at++] = ' ';
    record[at] = 0;
}

#define NOTE(name) note(#name, &name, sizeof name)

uint32_t aclrtlaunch_many(uint32_t blocks, uint64_t stream, int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e,
                          uint32_t f, int64_t g, uint64_t h, _Bool i, float j, double k, float l, double m, float n,
                          float o, double p, double q, float r, float s, double t, int8_t u, int16_t v, int32_t w,
                          int64_t x, void *y, void *z)
{
    at = 0;
    NOTE(blocks); NOTE(stream); NOTE(a); NOTE(b); NOTE(c); NOTE(d); NOTE(e); NOTE(f); NOTE(g); NOTE(h); NOTE(i);
    NOTE(j); NOTE(k); NOTE(l); NOTE(m); NOTE(n); NOTE(o); NOTE(p); NOTE(q); NOTE(r); NOTE(s); NOTE(t); NOTE(u);
    NOTE(v); NOTE(w); NOTE(x); NOTE(y); NOTE(z);
    return 0;
}

// As a binary: the arguments lie in a buffer.

int fake_binary_many(uint32_t blocks, uint64_t stream, const void *arguments, size_t size)
{
    const struct {
        _Alignas(4) int8_t a;
        _Alignas(4) _Bool b;
        _Alignas(4) uint16_t c;
        float d;
        double e;
        int64_t f;
        _Alignas(8) tiling g;
        _Alignas(4) int8_t h;
        void *i;
        _Alignas(4) uint16_t half;
        _Alignas(4) uint16_t bfloat16;
        _Alignas(4) int8_t last;
    } *given = arguments;
    at = 0;
    NOTE(blocks); NOTE(stream);
    note("a", &given->a, 1); note("b", &given->b, 1); note("c", &given->c, 2); note("d", &given->d, 4);
    note("e", &given->e, 8); note("f", &given->f, 8); note("total", &given->g.total, 4); note("seed", &given->g.seed, 8);
    note("h", &given->h, 1); note("i", &given->i, 8); note("half", &given->half, 2); note("bfloat16", &given->bfloat16, 2);
    note("last", &given->last, 1); NOTE(size);
    return 0;
}
