// A libnnopbase.so: descriptors that are checked where they are used, and counted.
#include "nnopbase.h"
#include <stdlib.h>
#include <string.h>

static const int sizes[42] = {4, 2, 1, 4, 1, 0, 2, 2, 4, 8, 8, 8, 1, [16] = 8, [17] = 16, [27] = 2};

void *aclCreateTensor(const int64_t *shape, uint64_t ndim, int data_type, const int64_t *strides, int64_t offset,
                      int format, const int64_t *storage, uint64_t storage_ndim, void *data)
{
    if (ndim > 16 || storage_ndim > 16 || data_type < 0 || data_type > 41 || !sizes[data_type]) return NULL;
    if ((uint64_t)data % 32) fake_violation("aclCreateTensor: %p is no multiple of 32", data);
    aclTensor *t = calloc(1, sizeof *t);
    t->magic = TENSOR;
    t->data_type = data_type;
    t->format = format;
    t->ndim = ndim;
    t->storage_ndim = storage_ndim;
    memcpy(t->shape, shape, ndim * 8);
    memcpy(t->strides, strides, ndim * 8);
    memcpy(t->storage, storage, storage_ndim * 8);
    t->offset = offset;
    t->data = data;
    int64_t last = offset, room = 1;
    for (uint64_t i = 0; i < ndim; i++) last += (shape[i] - 1) * strides[i];
    for (uint64_t i = 0; i < storage_ndim; i++) room *= storage[i];
    if (fake_elements(t) && last >= room) fake_violation("aclCreateTensor: elements beyond the storage");
    fake_count("aclTensor", 1);
    return t;
}

void *aclCreateScalar(void *value, int data_type)
{
    aclScalar *s = calloc(1, sizeof *s);
    s->magic = SCALAR;
    s->data_type = data_type;
    memcpy(s->value, value, sizes[data_type]);
    fake_count("aclScalar", 1);
    return s;
}

static aclArray *array(int magic, const char *kind, const void *values, uint64_t count, int size)
{
    if (count > 64) return NULL;
    aclArray *a = calloc(1, sizeof *a);
    a->magic = magic;
    a->count = count;
    memcpy(&a->of, values, count * size);
    fake_count(kind, 1);
    return a;
}

void *aclCreateIntArray(const int64_t *values, uint64_t count) { return array(INTS, "aclIntArray", values, count, 8); }
void *aclCreateFloatArray(const float *values, uint64_t n) { return array(FLOATS, "aclFloatArray", values, n, 4); }
void *aclCreateBoolArray(const uint8_t *values, uint64_t n) { return array(BOOLS, "aclBoolArray", values, n, 1); }
void *aclCreateTensorList(void **values, uint64_t n) { return array(LIST, "aclTensorList", values, n, 8); }

static int destroyed(void *given, int magic, const char *kind)
{
    if (!given || *(int *)given != magic) {
        fake_violation("%s: destroyed, and is none", kind);
        return 561103;
    }
    *(int *)given = 0; // never handed out again: what still refers to it is seen
    fake_count(kind, -1);
    return 0;
}

int aclDestroyTensor(void *t) { return destroyed(t, TENSOR, "aclTensor"); }
int aclDestroyScalar(void *s) { return destroyed(s, SCALAR, "aclScalar"); }
int aclDestroyIntArray(void *a) { return destroyed(a, INTS, "aclIntArray"); }
int aclDestroyFloatArray(void *a) { return destroyed(a, FLOATS, "aclFloatArray"); }
int aclDestroyBoolArray(void *a) { return destroyed(a, BOOLS, "aclBoolArray"); }

int aclDestroyTensorList(void *given)
{
    aclArray *a = given;
    for (uint64_t i = 0; i < a->count; i++) aclDestroyTensor(a->of.tensors[i]);
    return destroyed(a, LIST, "aclTensorList");
}

// Executors

aclOpExecutor *fake_executor(int (*body)(void *), uint64_t workspace)
{
    aclOpExecutor *e = calloc(1, sizeof *e);
    e->magic = 0xe4ec;
    e->body = body;
    e->workspace = workspace;
    fake_count("aclOpExecutor", 1);
    return e;
}

void fake_takes(aclOpExecutor *e, const aclTensor *tensor)
{
    if (tensor->magic != TENSOR) fake_violation("an operator was given what is no aclTensor");
    e->tensors[e->count++] = *tensor;
}

int aclDestroyAclOpExecutor(void *given)
{
    aclOpExecutor *e = given;
    if (!e || e->magic != 0xe4ec) {
        fake_violation("aclDestroyAclOpExecutor of what is no executor");
        return 561103;
    }
    e->magic = 0;
    fake_count("aclOpExecutor", -1);
    return 0;
}

uint64_t fake_elements(const aclTensor *t)
{
    uint64_t count = 1;
    for (uint64_t i = 0; i < t->ndim; i++) count *= t->shape[i];
    return count;
}

typedef struct {
    aclOpExecutor executor;
    char *workspace;
} given_run;

static int body(void *data)
{
    given_run *g = data;
    for (uint64_t i = 0; i < g->executor.workspace; i++) g->workspace[i] = 0x5a; // it is ours until the end
    int code = g->executor.body(&g->executor);
    for (uint64_t i = 0; i < g->executor.workspace; i++)
        if (g->workspace[i] != 0x5a) fake_violation("an operator's workspace was written to by something else");
    return code;
}

int fake_run(aclOpExecutor *e, void *workspace, uint64_t size, uint64_t stream)
{
    if (e->magic != 0xe4ec) {
        fake_violation("the second phase of an operator with an executor that is gone");
        return 561103;
    }
    if (size != e->workspace || (size && !workspace)) fake_violation("a workspace of %lu bytes, not %lu", size, e->workspace);
    fake_range ranges[16];
    int count = 0;
    for (int i = 0; i < e->count; i++) {
        aclTensor *t = &e->tensors[i];
        int64_t last = t->offset;
        for (uint64_t d = 0; d < t->ndim; d++) last += (t->shape[d] - 1) * t->strides[d];
        uint64_t start = (uint64_t)t->data + t->offset * sizes[t->data_type];
        uint64_t bytes = fake_elements(t) ? (last - t->offset + 1) * sizes[t->data_type] : 0;
        ranges[count++] = (fake_range){start, bytes, i < e->writes};
    }
    ranges[count++] = (fake_range){(uint64_t)workspace, size, 1};
    given_run g = {*e, workspace};
    int code = fake_enqueue(stream, body, &g, sizeof g, ranges, count);
    aclDestroyAclOpExecutor(e); // the second phase destroys it, whether it succeeds or not
    return code;
}

// Elements, as doubles.

static float half_value(uint16_t bits)
{
    _Float16 value;
    memcpy(&value, &bits, 2);
    return value;
}

static char *element(const aclTensor *t, uint64_t index)
{
    int64_t at = t->offset;
    for (int64_t d = (int64_t)t->ndim - 1; d >= 0; d--) {
        at += (int64_t)(index % t->shape[d]) * t->strides[d];
        index /= t->shape[d];
    }
    return t->data + at * sizes[t->data_type];
}

double fake_get(const aclTensor *t, uint64_t index)
{
    const char *p = element(t, index);
    uint32_t wide;
    float single;
    switch (t->data_type) {
    case 0: return *(float *)p;
    case 1: return half_value(*(uint16_t *)p);
    case 2: return *(int8_t *)p;
    case 3: return *(int32_t *)p;
    case 4: case 12: return *(uint8_t *)p;
    case 6: return *(int16_t *)p;
    case 9: return *(int64_t *)p;
    case 27:
        wide = (uint32_t) * (uint16_t *)p << 16;
        memcpy(&single, &wide, 4);
        return single;
    }
    fake_violation("elements of data type %d", t->data_type);
    return 0;
}

void fake_set(const aclTensor *t, uint64_t index, double value)
{
    char *p = element(t, index);
    float single = value;
    uint32_t wide;
    _Float16 half = value;
    switch (t->data_type) {
    case 0: *(float *)p = value; return;
    case 1: memcpy(p, &half, 2); return;
    case 2: *(int8_t *)p = value; return;
    case 3: *(int32_t *)p = value; return;
    case 4: *(uint8_t *)p = value; return;
    case 12: *(uint8_t *)p = value != 0; return;
    case 6: *(int16_t *)p = value; return;
    case 9: *(int64_t *)p = value; return;
    case 27:
        memcpy(&wide, &single, 4);
        wide += 0x7fff + (wide >> 16 & 1);
        *(uint16_t *)p = wide >> 16;
        return;
    }
    fake_violation("elements of data type %d", t->data_type);
}
