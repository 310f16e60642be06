// Views, copies, indexing and factories of tensors, called through LibTorch's unboxed entry points.
#include <ATen/ops/_shape_as_tensor_ops.h>
#include <ATen/ops/arange_ops.h>
#include <ATen/ops/chunk_ops.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/detach_ops.h>
#include <ATen/ops/empty_like_ops.h>
#include <ATen/ops/empty_ops.h>
#include <ATen/ops/expand_as_ops.h>
#include <ATen/ops/expand_ops.h>
#include <ATen/ops/eye_ops.h>
#include <ATen/ops/fill_ops.h>
#include <ATen/ops/flatten_ops.h>
#include <ATen/ops/flip_ops.h>
#include <ATen/ops/full_like_ops.h>
#include <ATen/ops/full_ops.h>
#include <ATen/ops/gather_ops.h>
#include <ATen/ops/index_ops.h>
#include <ATen/ops/index_put_ops.h>
#include <ATen/ops/index_select_ops.h>
#include <ATen/ops/is_complex_ops.h>
#include <ATen/ops/is_floating_point_ops.h>
#include <ATen/ops/item_ops.h>
#include <ATen/ops/linspace_ops.h>
#include <ATen/ops/masked_select_ops.h>
#include <ATen/ops/meshgrid_ops.h>
#include <ATen/ops/movedim_ops.h>
#include <ATen/ops/narrow_ops.h>
#include <ATen/ops/new_empty_ops.h>
#include <ATen/ops/new_full_ops.h>
#include <ATen/ops/new_ones_ops.h>
#include <ATen/ops/new_zeros_ops.h>
#include <ATen/ops/ones_like_ops.h>
#include <ATen/ops/ones_ops.h>
#include <ATen/ops/permute_ops.h>
#include <ATen/ops/repeat_interleave_ops.h>
#include <ATen/ops/repeat_ops.h>
#include <ATen/ops/reshape_as_ops.h>
#include <ATen/ops/scalar_tensor_ops.h>
#include <ATen/ops/scatter_ops.h>
#include <ATen/ops/select_ops.h>
#include <ATen/ops/slice_ops.h>
#include <ATen/ops/split_ops.h>
#include <ATen/ops/split_with_sizes_ops.h>
#include <ATen/ops/squeeze_ops.h>
#include <ATen/ops/swapaxes_ops.h>
#include <ATen/ops/t_ops.h>
#include <ATen/ops/tile_ops.h>
#include <ATen/ops/to_ops.h>
#include <ATen/ops/transpose_ops.h>
#include <ATen/ops/tril_ops.h>
#include <ATen/ops/triu_ops.h>
#include <ATen/ops/type_as_ops.h>
#include <ATen/ops/unbind_ops.h>
#include <ATen/ops/unflatten_ops.h>
#include <ATen/ops/unfold_ops.h>
#include <ATen/ops/unsqueeze_ops.h>
#include <ATen/ops/view_as_ops.h>
#include <ATen/ops/view_ops.h>
#include <ATen/ops/zero_ops.h>
#include <ATen/ops/zeros_like_ops.h>
#include <ATen/ops/zeros_ops.h>

#include "jit/operators/native_support.h"
#include "jit/operators/native_thunk.h"

namespace hearth::native {
namespace {

#define OP(name) EntryOf<at::_ops::name>()

constexpr NativeEntry kEntries[] = {
    OP(chunk),
    OP(split_Tensor),
    OP(split_sizes),
    OP(split_with_sizes),
    OP(unbind_int),
    OP(view),
    OP(permute),
    OP(transpose_int),
    OP(transpose_),
    OP(t),
    OP(t_),
    OP(slice_Tensor),
    OP(select_int),
    OP(unsqueeze),
    OP(unsqueeze_),
    OP(squeeze),
    OP(squeeze_dim),
    OP(squeeze_dims),
    OP(squeeze_),
    OP(squeeze__dim),
    OP(squeeze__dims),
    OP(flatten_using_ints),
    OP(unflatten_int),
    OP(expand),
    OP(expand_as),
    OP(narrow),
    OP(narrow_Tensor),
    OP(index_select),
    OP(gather),
    OP(index_Tensor),
    OP(index_put_),
    OP(index_put),
    OP(scatter_src),
    OP(scatter__src),
    OP(scatter_value),
    OP(scatter__value),
    OP(scatter_reduce),
    OP(scatter__reduce),
    OP(scatter_value_reduce),
    OP(scatter__value_reduce),
    OP(movedim_intlist),
    OP(movedim_int),
    OP(flip),
    OP(repeat),
    OP(tile),
    OP(view_as),
    OP(reshape_as),
    OP(swapaxes),
    OP(swapaxes_),
    OP(repeat_interleave_Tensor),
    OP(repeat_interleave_self_Tensor),
    OP(repeat_interleave_self_int),
    OP(tril_),
    OP(tril),
    OP(triu_),
    OP(triu),
    OP(masked_select),
    OP(zeros),
    OP(ones),
    OP(full),
    OP(empty_memory_format),
    OP(arange),
    OP(arange_start),
    OP(arange_start_step),
    OP(linspace),
    OP(linspace_Tensor_Tensor),
    OP(linspace_Tensor_Scalar),
    OP(linspace_Scalar_Tensor),
    OP(zeros_like),
    OP(ones_like),
    OP(full_like),
    OP(empty_like),
    OP(eye),
    OP(eye_m),
    OP(new_zeros),
    OP(new_ones),
    OP(new_full),
    OP(new_empty),
    OP(scalar_tensor),
    OP(to_dtype_layout),
    OP(to_device),
    OP(to_dtype),
    OP(to_other),
    OP(type_as),
    OP(copy_),
    OP(fill_Scalar),
    OP(fill_Tensor),
    OP(fill__Scalar),
    OP(fill__Tensor),
    OP(zero_),
    OP(zero),
    OP(detach),
    OP(detach_),
    OP(item),
    OP(meshgrid),
    OP(meshgrid_indexing),
    OP(_shape_as_tensor),
    OP(is_floating_point),
    OP(is_complex),
    OP(unfold),
};

#undef OP

}  // namespace

std::span<const NativeEntry> TensorShapeNatives() { return kEntries; }

}  // namespace hearth::native
