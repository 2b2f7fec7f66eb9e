/* The C interface of kernels for mindtorch: no Python object crosses it, and no Python header is needed.
 *
 * A kernel is an exported function whose parameters follow the operator's schema, in its order:
 *
 *   Tensor               const DLTensor *            NULL for None
 *   Tensor[]             const DLTensor *const *, int64_t count
 *   int, SymInt          int64_t
 *   float, Scalar        double
 *   bool                 int32_t                     0 or 1
 *   str                  const char *                UTF-8, NULL for None
 *   int[]                const int64_t *, int64_t count
 *   float[]              const double *, int64_t count
 *   bool[]               const int32_t *, int64_t count
 *   ScalarType           const DLDataType *          NULL for None
 *
 *   An optional number (int?, float?, Scalar?, bool?) is a pointer, NULL for None. An optional list that is None has the
 *   pointer NULL and the count 0.
 *
 * A tensor that the schema says is written (Tensor(a!) of in-place and out= forms) is a DLTensor * without const: its
 * memory is read and written, with its own shape and strides. Such a function has no other results.
 *
 * Otherwise one DLTensor * comes for each result after the arguments, whose memory is allocated, row-major, and to be
 * filled; NULL for a result that is not wanted. That memory may be what a program gave as out=; where it gave an input
 * of the same shape and strides to be overwritten (in-place forms of elementwise operators), result and input have the
 * same data, and else no memory in common. Last come
 *
 *   char *message, size_t message_size               where to write a text that ends in 0, if the status is not MT_OK
 *
 * and the function returns a status. It is called without Python's global lock, from any thread, and must not keep a
 * pointer that it was given. Inputs are read only, and may have any strides, 0 among them, unless the kernel was
 * registered for row-major ones. The inputs of an elementwise operator have the shape of the result. A function that
 * fails has written nothing: what it refuses, it refuses first.
 */
#ifndef MT_KERNEL_H
#define MT_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* Version of this interface. A library says for which it was built by MT_KERNEL_LIBRARY, once. */
#define MT_KERNEL_ABI 1

#if defined(_WIN32)
#define MT_EXPORT __declspec(dllexport)
#else
#define MT_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
#define MT_KERNEL_LIBRARY \
    extern "C" MT_EXPORT int32_t mt_kernel_abi(void) { return MT_KERNEL_ABI; }
#else
#define MT_KERNEL_LIBRARY \
    MT_EXPORT int32_t mt_kernel_abi(void) { return MT_KERNEL_ABI; }
#endif

/* What a kernel returns. Any other number is an error too. */
#define MT_OK 0
#define MT_ERROR 1           /* RuntimeError with the message */
#define MT_NOT_IMPLEMENTED 2 /* NotImplementedError with the message */
#define MT_INDEX_ERROR 3     /* IndexError with the message: an index among the elements is out of range */
#define MT_VALUE_ERROR 4     /* ValueError with the message */

/* DLPack's structures, for those who do not include <dlpack/dlpack.h> before this file. */
#ifndef DLPACK_DLPACK_H_

enum { kDLCPU = 1, kDLCUDA = 2, kDLExtDev = 12 };
enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLComplex = 5, kDLBool = 6 };

typedef struct {
    int32_t device_type;
    int32_t device_id;
} DLDevice;

typedef struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; never NULL here, but for ndim 0 */
    uint64_t byte_offset;
} DLTensor;

#endif
#endif
