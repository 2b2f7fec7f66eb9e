// A libopapi.so with the operators that copies need, and a package of the kind that users build: aclnnScaledAdd.
#include "nnopbase.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int copy_body(void *data)
{
    aclOpExecutor *e = data;
    aclTensor *to = &e->tensors[0], *of = &e->tensors[1];
    uint64_t count = fake_elements(to);
    for (uint64_t i = 0; i < count; i++) fake_set(to, i, fake_get(of, i));
    return 0;
}

int aclnnInplaceCopyGetWorkspaceSize(aclTensor *to, const aclTensor *of, uint64_t *size, aclOpExecutor **executor)
{
    int told = fake_failure("aclnnInplaceCopyGetWorkspaceSize");
    if (told) return told;
    if (to->ndim != of->ndim || memcmp(to->shape, of->shape, to->ndim * 8)) return 161002;
    *executor = fake_executor(copy_body, *size = 64);
    (*executor)->writes = 1;
    fake_takes(*executor, to);
    fake_takes(*executor, of);
    return 0;
}

int aclnnInplaceCopy(void *workspace, uint64_t size, aclOpExecutor *executor, uint64_t stream)
{
    return fake_run(executor, workspace, size, stream);
}

static double number(const aclScalar *s)
{
    aclTensor t = {TENSOR, s->data_type, 2, 1, 1, {1}, {1}, {1}, 0, (char *)s->value};
    return fake_get(&t, 0);
}

static int fill_body(void *data)
{
    aclOpExecutor *e = data;
    for (uint64_t i = 0, n = fake_elements(&e->tensors[0]); i < n; i++) fake_set(&e->tensors[0], i, number(&e->scalar));
    return 0;
}

int aclnnInplaceFillScalarGetWorkspaceSize(aclTensor *to, const aclScalar *value, uint64_t *size, aclOpExecutor **executor)
{
    *executor = fake_executor(fill_body, *size = 0);
    (*executor)->writes = 1;
    (*executor)->scalar = *value;
    fake_takes(*executor, to);
    return 0;
}

int aclnnInplaceFillScalar(void *workspace, uint64_t size, aclOpExecutor *executor, uint64_t stream)
{
    return fake_run(executor, workspace, size, stream);
}

// out = x * scale + alpha * y, and a record of every other argument.

static char record[1024];

const char *last_scaled_add(void) { return record; }

static int scaled_body(void *data)
{
    aclOpExecutor *e = data;
    double scale;
    memcpy(&scale, e->extra, sizeof scale);
    for (uint64_t i = 0, n = fake_elements(&e->tensors[0]); i < n; i++)
        fake_set(&e->tensors[0], i, fake_get(&e->tensors[1], i) * scale + number(&e->scalar) * fake_get(&e->tensors[2], i));
    return 0;
}

int aclnnScaledAddGetWorkspaceSize(const aclTensor *x, const aclTensor *y, const aclScalar *alpha, const aclArray *dims,
                                   const aclArray *weights, const aclArray *mask, const aclArray *more,
                                   const char *mode, int64_t big, float single, double scale, int8_t small, _Bool flag,
                                   const aclTensor *none, aclTensor *out, uint64_t *size, aclOpExecutor **executor)
{
    int told = fake_failure("aclnnScaledAddGetWorkspaceSize");
    if (told) return told;
    int at = sprintf(record, "x=%d:%d y=%d dims=%x", x->data_type, x->format, y->data_type, dims->magic);
    for (uint64_t i = 0; i < dims->count; i++) at += sprintf(record + at, ",%ld", dims->of.ints[i]);
    at += sprintf(record + at, " weights=%x", weights->magic);
    for (uint64_t i = 0; i < weights->count; i++) at += sprintf(record + at, ",%a", weights->of.floats[i]);
    at += sprintf(record + at, " mask=%x", mask->magic);
    for (uint64_t i = 0; i < mask->count; i++) at += sprintf(record + at, ",%d", mask->of.bools[i]);
    at += sprintf(record + at, " more=%lu:%lx mode=%s big=%ld single=%a scale=%a small=%d flag=%d none=%p", more->count,
                  (long)more->of.tensors[0]->shape[0], mode, big, single, scale, small, flag, (void *)none);
    *executor = fake_executor(scaled_body, *size = 4096);
    (*executor)->writes = 1;
    (*executor)->scalar = *alpha;
    memcpy((*executor)->extra, &scale, sizeof scale);
    fake_takes(*executor, out);
    fake_takes(*executor, x);
    fake_takes(*executor, y);
    return 0;
}

int aclnnScaledAdd(void *workspace, uint64_t size, aclOpExecutor *executor, uint64_t stream)
{
    int told = fake_failure("aclnnScaledAdd");
    if (!told) return fake_run(executor, workspace, size, stream);
    int aclDestroyAclOpExecutor(void *);
    aclDestroyAclOpExecutor(executor);
    return told;
}
