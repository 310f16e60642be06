// Layers: matrix products, normalisation, pooling, attention, called through LibTorch's unboxed entry points.
#include <ATen/ops/adaptive_avg_pool1d_ops.h>
#include <ATen/ops/adaptive_avg_pool3d_ops.h>
#include <ATen/ops/adaptive_max_pool2d_ops.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/affine_grid_generator_ops.h>
#include <ATen/ops/alpha_dropout_ops.h>
#include <ATen/ops/avg_pool3d_ops.h>
#include <ATen/ops/baddbmm_ops.h>
#include <ATen/ops/batch_norm_ops.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/conv1d_ops.h>
#include <ATen/ops/conv2d_ops.h>
#include <ATen/ops/conv3d_ops.h>
#include <ATen/ops/conv_transpose2d_ops.h>
#include <ATen/ops/dot_ops.h>
#include <ATen/ops/dropout_ops.h>
#include <ATen/ops/einsum_ops.h>
#include <ATen/ops/feature_dropout_ops.h>
#include <ATen/ops/grid_sampler_ops.h>
#include <ATen/ops/gru_ops.h>
#include <ATen/ops/im2col_ops.h>
#include <ATen/ops/instance_norm_ops.h>
#include <ATen/ops/layer_norm_ops.h>
#include <ATen/ops/log_softmax_ops.h>
#include <ATen/ops/lstm_ops.h>
#include <ATen/ops/matmul_ops.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/pixel_shuffle_ops.h>

#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"

namespace hearth::native {
namespace {

#define OP(name) EntryOf<at::_ops::name>()

constexpr NativeEntry kEntries[] = {
    OP(matmul),
    OP(mm),
    OP(bmm),
    OP(addmm),
    OP(addmm_),
    OP(baddbmm),
    OP(baddbmm_),
    OP(einsum),
    OP(dot),
    OP(conv1d),
    OP(conv1d_padding),
    OP(conv2d_padding),
    OP(conv3d),
    OP(conv3d_padding),
    OP(conv_transpose2d_input),
    OP(batch_norm),
    OP(layer_norm),
    OP(instance_norm),
    OP(dropout),
    OP(dropout_),
    OP(feature_dropout),
    OP(feature_dropout_),
    OP(alpha_dropout),
    OP(alpha_dropout_),
    OP(adaptive_avg_pool1d),
    OP(avg_pool3d),
    OP(adaptive_avg_pool3d),
    OP(adaptive_max_pool2d),
    OP(log_softmax_int),
    OP(pixel_shuffle),
    OP(grid_sampler),
    OP(affine_grid_generator),
    OP(im2col),
    OP(lstm_input),
    OP(lstm_data),
    OP(gru_input),
    OP(gru_data),
};

#undef OP

}  // namespace

std::span<const NativeEntry> TensorLayerNatives() { return kEntries; }

}  // namespace hearth::native
