// Descriptors of the fake libnnopbase.so, as its operators see them.
#pragma once
#include "fake_cann.h"

enum { TENSOR = 0x7e45, SCALAR = 0x5ca1, INTS = 0x1475, FLOATS = 0xf107, BOOLS = 0xb001, LIST = 0x1157 };

typedef struct {
    int magic, data_type, format;
    uint64_t ndim, storage_ndim;
    int64_t shape[16], strides[16], storage[16], offset;
    char *data;
} aclTensor;

typedef struct {
    int magic, data_type;
    char value[16];
} aclScalar;

typedef struct {
    int magic;
    uint64_t count;
    union {
        int64_t ints[64];
        float floats[64];
        uint8_t bools[64];
        aclTensor *tensors[64];
    } of;
} aclArray;

typedef struct {
    int magic, count, writes; // the first `writes` tensors are written
    aclTensor tensors[8];
    aclScalar scalar;
    uint64_t workspace;
    int (*body)(void *);
    char extra[512];
} aclOpExecutor;

aclOpExecutor *fake_executor(int (*body)(void *), uint64_t workspace);
void fake_takes(aclOpExecutor *executor, const aclTensor *tensor);
int fake_run(aclOpExecutor *executor, void *workspace, uint64_t size, uint64_t stream);
double fake_get(const aclTensor *tensor, uint64_t index);
void fake_set(const aclTensor *tensor, uint64_t index, double value);
uint64_t fake_elements(const aclTensor *tensor);
