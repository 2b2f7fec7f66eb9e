/* Kernels for test_native_kernels.py. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mt_kernel.h"

MT_KERNEL_LIBRARY

static int64_t counts[16];

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

/* add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!) */
MT_EXPORT int32_t toy_add_in_place_f32(DLTensor *self, const DLTensor *other, double alpha, char *message,
                                       size_t message_size) {
    counts[4]++;
    float *a = self->data;
    const float *b = other->data;
    for (int64_t i = 0, n = size_of(self); i < n; i++) a[offset_of(self, i)] += (float)alpha * b[offset_of(other, i)];
    return MT_OK;
}

/* mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!), of row-major tensors */
MT_EXPORT int32_t toy_mul_out_f32(const DLTensor *self, const DLTensor *other, DLTensor *out, char *message,
                                  size_t message_size) {
    counts[5]++;
    const float *a = self->data, *b = other->data;
    for (int64_t i = 0, n = size_of(out); i < n; i++)
        ((float *)out->data)[i] = a[offset_of(self, i)] * b[offset_of(other, i)];
    return MT_OK;
}

/* sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices), of vectors */
MT_EXPORT int32_t toy_sort_f32(const DLTensor *self, int64_t dim, int32_t descending, DLTensor *values,
                               DLTensor *indices, char *message, size_t message_size) {
    counts[6]++;
    if (self->ndim != 1) {
        snprintf(message, message_size, "toy_sort_f32 sorts vectors");
        return MT_NOT_IMPLEMENTED;
    }
    float *v = values->data;
    int64_t *at = indices->data;
    for (int64_t i = 0; i < self->shape[0]; i++) {
        float x = ((const float *)self->data)[i];
        int64_t j = i;
        for (; j > 0 && (descending ? v[j - 1] < x : v[j - 1] > x); j--) v[j] = v[j - 1], at[j] = at[j - 1];
        v[j] = x, at[j] = i;
    }
    return MT_OK;
}

/* index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor(a!), of vectors */
MT_EXPORT int32_t toy_index_add_f32(DLTensor *self, int64_t dim, const DLTensor *index, const DLTensor *source,
                                    double alpha, char *message, size_t message_size) {
    counts[7]++;
    const int64_t *at = index->data;
    int64_t n = size_of(index);
    for (int64_t i = 0; i < n; i++)
        if (at[i] < 0 || at[i] >= self->shape[0]) {
            snprintf(message, message_size, "index %d is out of range", (int)at[i]);
            return MT_INDEX_ERROR;
        }
    for (int64_t i = 0; i < n; i++) ((float *)self->data)[at[i]] += (float)alpha * ((const float *)source->data)[i];
    return MT_OK;
}

/* softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor, over the last dimension */
MT_EXPORT int32_t toy_softmax_f32(const DLTensor *self, int64_t dim, const DLDataType *dtype, DLTensor *out, char *message,
                                  size_t message_size) {
    counts[8]++;
    if ((dim != -1 && dim != self->ndim - 1) || dtype) {
        snprintf(message, message_size, "toy_softmax_f32 takes no dimension %d", (int)dim);
        return MT_VALUE_ERROR;
    }
    int64_t columns = self->shape[self->ndim - 1], rows = size_of(self) / columns;
    const float *a = self->data;
    float *c = out->data;
    for (int64_t i = 0; i < rows; i++, a += columns, c += columns) {
        float sum = 0;
        for (int64_t j = 0; j < columns; j++) sum += c[j] = expf(a[j]);
        for (int64_t j = 0; j < columns; j++) c[j] /= sum;
    }
    return MT_OK;
}

/* sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor; it notes where it writes to */
MT_EXPORT int32_t toy_sub_f32(const DLTensor *self, const DLTensor *other, double alpha, DLTensor *out, char *message,
                              size_t message_size) {
    counts[9]++;
    counts[10] = (int64_t)(intptr_t)out->data;
    const float *a = self->data, *b = other->data;
    for (int64_t i = 0, n = size_of(out); i < n; i++)
        ((float *)out->data)[i] = a[offset_of(self, i)] - (float)alpha * b[offset_of(other, i)];
    return MT_OK;
}
