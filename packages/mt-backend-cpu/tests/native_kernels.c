/* Kernels for test_native_kernels.py. */
#include <stdio.h>
#include <string.h>

#include "mt_kernel.h"

MT_KERNEL_LIBRARY

static int64_t counts[8];

MT_EXPORT int64_t toy_count(int32_t which) { return counts[which]; }

/* Offset, in elements, of the element number i of a tensor counted in row-major order. */
static int64_t offset_of(const DLTensor *t, int64_t i) {
    int64_t offset = 0;
    for (int32_t d = t->ndim - 1; d >= 0; d--) {
        offset += i % t->shape[d] * t->strides[d];
        i /= t->shape[d];
    }
    return offset;
}

static int64_t size_of(const DLTensor *t) {
    int64_t size = 1;
    for (int32_t d = 0; d < t->ndim; d++) size *= t->shape[d];
    return size;
}

/* add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor */
MT_EXPORT int32_t toy_add_f32(const DLTensor *self, const DLTensor *other, double alpha, DLTensor *out, char *message,
                              size_t message_size) {
    counts[0]++;
    const float *a = self->data, *b = other->data;
    float *c = out->data;
    for (int64_t i = 0, n = size_of(out); i < n; i++)
        c[i] = a[offset_of(self, i)] + (float)alpha * b[offset_of(other, i)];
    return MT_OK;
}

/* sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor */
MT_EXPORT int32_t toy_row_sum_f32(const DLTensor *self, const int64_t *dim, int64_t dims, int32_t keepdim,
                                  const DLDataType *dtype, DLTensor *out, char *message, size_t message_size) {
    counts[1]++;
    if (dims != 1 || (dim[0] != self->ndim - 1 && dim[0] != -1)) {
        snprintf(message, message_size, "toy_row_sum_f32 sums rows, not %d dimensions from %d on", (int)dims,
                 dims ? (int)dim[0] : 0);
        return MT_NOT_IMPLEMENTED;
    }
    if (dtype && dtype->code != kDLFloat) {
        snprintf(message, message_size, "the sum of floats is no number of kind %d", dtype->code);
        return MT_ERROR;
    }
    int64_t columns = self->shape[self->ndim - 1], rows = size_of(out);
    const float *a = self->data;
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0;
        for (int64_t j = 0; j < columns; j++) sum += a[i * columns + j];
        ((float *)out->data)[i] = sum;
    }
    return MT_OK;
}

/* cat(Tensor[] tensors, int dim=0) -> Tensor, of rows */
MT_EXPORT int32_t toy_cat_f32(const DLTensor *const *tensors, int64_t count, int64_t dim, DLTensor *out, char *message,
                              size_t message_size) {
    counts[2]++;
    float *c = out->data;
    if (dim != 0) return 77;
    for (int64_t k = 0; k < count; k++) {
        memcpy(c, tensors[k]->data, size_of(tensors[k]) * sizeof(float));
        c += size_of(tensors[k]);
    }
    return MT_OK;
}

/* gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor, of vectors */
MT_EXPORT int32_t toy_gather(const DLTensor *self, int64_t dim, const DLTensor *index, int32_t sparse_grad, DLTensor *out,
                             char *message, size_t message_size) {
    counts[3]++;
    if (index->dtype.code != kDLInt || index->dtype.bits != 64 || self->dtype.lanes != 1) return MT_ERROR;
    for (int64_t i = 0; i < size_of(out); i++)
        ((float *)out->data)[i] = ((const float *)self->data)[((const int64_t *)index->data)[i]];
    return MT_OK;
}
