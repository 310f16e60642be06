// Pointwise operators, comparisons and reductions on tensors, called through LibTorch's unboxed entry points.
#include <ATen/ops/abs_ops.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/all_ops.h>
#include <ATen/ops/amax_ops.h>
#include <ATen/ops/amin_ops.h>
#include <ATen/ops/any_ops.h>
#include <ATen/ops/argmax_ops.h>
#include <ATen/ops/argmin_ops.h>
#include <ATen/ops/argsort_ops.h>
#include <ATen/ops/bitwise_and_ops.h>
#include <ATen/ops/bitwise_not_ops.h>
#include <ATen/ops/bitwise_or_ops.h>
#include <ATen/ops/ceil_ops.h>
#include <ATen/ops/clamp_max_ops.h>
#include <ATen/ops/clamp_min_ops.h>
#include <ATen/ops/clamp_ops.h>
#include <ATen/ops/cos_ops.h>
#include <ATen/ops/cumsum_ops.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/elu_ops.h>
#include <ATen/ops/eq_ops.h>
#include <ATen/ops/erf_ops.h>
#include <ATen/ops/exp_ops.h>
#include <ATen/ops/floor_divide_ops.h>
#include <ATen/ops/floor_ops.h>
#include <ATen/ops/fmod_ops.h>
#include <ATen/ops/ge_ops.h>
#include <ATen/ops/gelu_ops.h>
#include <ATen/ops/gt_ops.h>
#include <ATen/ops/hardsigmoid_ops.h>
#include <ATen/ops/hardswish_ops.h>
#include <ATen/ops/hardtanh_ops.h>
#include <ATen/ops/isfinite_ops.h>
#include <ATen/ops/isnan_ops.h>
#include <ATen/ops/le_ops.h>
#include <ATen/ops/leaky_relu_ops.h>
#include <ATen/ops/log2_ops.h>
#include <ATen/ops/log_ops.h>
#include <ATen/ops/logical_and_ops.h>
#include <ATen/ops/logical_not_ops.h>
#include <ATen/ops/logical_or_ops.h>
#include <ATen/ops/logsumexp_ops.h>
#include <ATen/ops/lt_ops.h>
#include <ATen/ops/masked_fill_ops.h>
#include <ATen/ops/max_ops.h>
#include <ATen/ops/maximum_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/min_ops.h>
#include <ATen/ops/minimum_ops.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/ne_ops.h>
#include <ATen/ops/neg_ops.h>
#include <ATen/ops/nonzero_ops.h>
#include <ATen/ops/norm_ops.h>
#include <ATen/ops/pow_ops.h>
#include <ATen/ops/prelu_ops.h>
#include <ATen/ops/prod_ops.h>
#include <ATen/ops/reciprocal_ops.h>
#include <ATen/ops/relu6_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/remainder_ops.h>
#include <ATen/ops/round_ops.h>
#include <ATen/ops/rsqrt_ops.h>
#include <ATen/ops/rsub_ops.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/sin_ops.h>
#include <ATen/ops/softplus_ops.h>
#include <ATen/ops/sort_ops.h>
#include <ATen/ops/sqrt_ops.h>
#include <ATen/ops/square_ops.h>
#include <ATen/ops/std_ops.h>
#include <ATen/ops/sub_ops.h>
#include <ATen/ops/sum_ops.h>
#include <ATen/ops/tanh_ops.h>
#include <ATen/ops/topk_ops.h>
#include <ATen/ops/var_ops.h>
#include <ATen/ops/where_ops.h>

#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"

namespace hearth::native {
namespace {

#define OP(name) EntryOf<at::_ops::name>()

constexpr NativeEntry kEntries[] = {
    OP(div_Tensor_mode),
    OP(div__Tensor_mode),
    OP(div_Scalar_mode),
    OP(div__Scalar_mode),
    OP(rsub_Tensor),
    OP(rsub_Scalar),
    OP(sigmoid),
    OP(sigmoid_),
    OP(tanh),
    OP(tanh_),
    OP(gelu_),
    OP(gelu),
    OP(silu),
    OP(silu_),
    OP(hardswish),
    OP(hardswish_),
    OP(hardsigmoid),
    OP(hardsigmoid_),
    OP(hardtanh),
    OP(hardtanh_),
    OP(leaky_relu),
    OP(leaky_relu_),
    OP(elu),
    OP(elu_),
    OP(softplus),
    OP(relu6),
    OP(relu6_),
    OP(prelu),
    OP(exp),
    OP(exp_),
    OP(log),
    OP(log_),
    OP(log2),
    OP(log2_),
    OP(sqrt),
    OP(sqrt_),
    OP(rsqrt),
    OP(rsqrt_),
    OP(neg),
    OP(neg_),
    OP(abs),
    OP(abs_),
    OP(reciprocal),
    OP(reciprocal_),
    OP(sin),
    OP(sin_),
    OP(cos),
    OP(cos_),
    OP(floor),
    OP(floor_),
    OP(ceil),
    OP(ceil_),
    OP(round),
    OP(round_),
    OP(round_decimals),
    OP(round__decimals),
    OP(erf),
    OP(erf_),
    OP(pow_Tensor_Tensor),
    OP(pow_Scalar),
    OP(pow_Tensor_Scalar),
    OP(pow__Scalar),
    OP(pow__Tensor),
    OP(clamp),
    OP(clamp_Tensor),
    OP(clamp_),
    OP(clamp__Tensor),
    OP(clamp_min),
    OP(clamp_min_Tensor),
    OP(clamp_min_),
    OP(clamp_min__Tensor),
    OP(clamp_max),
    OP(clamp_max_Tensor),
    OP(clamp_max_),
    OP(clamp_max__Tensor),
    OP(minimum),
    OP(maximum),
    OP(square),
    OP(square_),
    OP(eq_Scalar),
    OP(eq_Tensor),
    OP(ne_Scalar),
    OP(ne_Tensor),
    OP(ne__Scalar),
    OP(ne__Tensor),
    OP(lt_Scalar),
    OP(lt_Tensor),
    OP(lt__Scalar),
    OP(lt__Tensor),
    OP(le_Scalar),
    OP(le_Tensor),
    OP(le__Scalar),
    OP(le__Tensor),
    OP(gt_Scalar),
    OP(gt_Tensor),
    OP(gt__Scalar),
    OP(gt__Tensor),
    OP(ge_Scalar),
    OP(ge_Tensor),
    OP(ge__Scalar),
    OP(ge__Tensor),
    OP(logical_not),
    OP(logical_not_),
    OP(logical_and),
    OP(logical_and_),
    OP(logical_or),
    OP(logical_or_),
    OP(bitwise_and_Scalar),
    OP(bitwise_and_Scalar_Tensor),
    OP(bitwise_and_Tensor),
    OP(bitwise_and__Scalar),
    OP(bitwise_and__Tensor),
    OP(bitwise_or_Scalar),
    OP(bitwise_or_Scalar_Tensor),
    OP(bitwise_or_Tensor),
    OP(bitwise_or__Scalar),
    OP(bitwise_or__Tensor),
    OP(bitwise_not),
    OP(bitwise_not_),
    OP(where_self),
    OP(where_ScalarSelf),
    OP(where_ScalarOther),
    OP(masked_fill__Scalar),
    OP(masked_fill_Scalar),
    OP(masked_fill__Tensor),
    OP(masked_fill_Tensor),
    OP(isnan),
    OP(isfinite),
    OP(floor_divide),
    OP(floor_divide__Tensor),
    OP(floor_divide_Scalar),
    OP(floor_divide__Scalar),
    OP(remainder_Scalar),
    OP(remainder__Scalar),
    OP(remainder_Tensor),
    OP(remainder__Tensor),
    OP(remainder_Scalar_Tensor),
    OP(fmod_Scalar),
    OP(fmod__Scalar),
    OP(fmod_Tensor),
    OP(fmod__Tensor),
    OP(sum),
    OP(mean),
    OP(max_dim),
    OP(max),
    OP(max_other),
    OP(min_dim),
    OP(min),
    OP(min_other),
    OP(argmax),
    OP(argmin),
    OP(amax),
    OP(amin),
    OP(std),
    OP(std_dim),
    OP(std_correction),
    OP(var),
    OP(var_dim),
    OP(var_correction),
    OP(prod),
    OP(prod_dim_int),
    OP(all_dim),
    OP(all_dims),
    OP(all),
    OP(any_dim),
    OP(any_dims),
    OP(any),
    OP(cumsum),
    OP(cumsum_),
    OP(topk),
    OP(sort),
    OP(sort_stable),
    OP(argsort),
    OP(argsort_stable),
    OP(nonzero),
    OP(norm_ScalarOpt_dtype),
    OP(norm_Scalar),
    OP(norm_ScalarOpt_dim_dtype),
    OP(logsumexp),
};

#undef OP

}  // namespace

std::span<const NativeEntry> TensorMathNatives() { return kEntries; }

}  // namespace hearth::native
