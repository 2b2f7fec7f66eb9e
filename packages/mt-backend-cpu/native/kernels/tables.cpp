// The table of this level.
#include "kernels/tables.hpp"

#include "kernels/loops.hpp"

MT_NAMESPACE {

extern const ActivationTable activation;
extern const SoftmaxTable activation_softmax;
extern const NormTable norm;
extern const ChannelTable norm_channels;
extern const PoolTable pool;
extern const UpsampleTable pool_upsample;
extern const LossTable loss;
extern const ConvTable conv;
extern const ConvRowsTable conv_rows;
extern const AttentionTable attention;
extern const RecurrentTable recurrent;
extern const FftTable fft;
extern const HalfTable half;
extern const ElementwiseTable elementwise;
extern const RandomTable random;
extern const ActivationBackwardTable activation_backward;
extern const ComparisonTable comparison;
extern const ScanTable reduction_scan;
extern const ReductionTable reduction;
extern const LinalgTable linalg;
extern const SortTable sort;
extern const IndexingTable indexing;
extern const OrderTable sort_rows;
extern const ViewTable view;
extern const PairedTable matmul;
extern const CastTable casts;
extern const SelectionTable selection;
extern const ProductTable matmul_batches;

extern const Tables tables;
const Tables tables = {
    &activation,
    &activation_softmax,
    &norm,
    &norm_channels,
    &pool,
    &pool_upsample,
    &loss,
    &conv,
    &conv_rows,
    &attention,
    &recurrent,
    &fft,
    &half,
    &elementwise,
    &random,
    &activation_backward,
    &comparison,
    &reduction_scan,
    &reduction,
    &linalg,
    &sort,
    &indexing,
    &sort_rows,
    &view,
    &matmul,
    &casts,
    &selection,
    &matmul_batches,
};

}  // namespace
