// The table of this level.
#include "kernels/tables.hpp"

#include "kernels/loops.hpp"

MT_NAMESPACE {

extern const ActivationTable activation;
extern const SoftmaxTable activation_softmax;
extern const NormTable norm;
extern const HalfTable half;

extern const Tables tables;
const Tables tables = {&activation, &activation_softmax, &norm, &half};

}  // namespace
