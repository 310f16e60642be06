#include "jit/analysis/fact_rules.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace hearth {
namespace {

using Kind = ValueFacts::Kind;

void Linear(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const std::optional<KnownSizes>& weight = call.in(1).sizes;
  if (sizes && !sizes->empty() && weight && weight->size() == 2) {
    sizes->back() = weight->front();
  } else {
    sizes.reset();
  }
  call.Give(0, call.in(0), Same(call.in(0), call.in(1)), std::move(sizes));
  call.out().contiguous = call.out().default_strides = call.out().plain;
}

// The weight may be packed beside, in a format of which nothing is known.
void PlanLinear(Call& call) {
  Linear(call);
  call.out().plain = call.in(0).plain && call.in(1).plain;
  call.out().contiguous = call.out().default_strides = call.out().plain;
  if (call.in(0).device == call.in(1).device) call.out().device = call.in(0).device;
}

std::optional<KnownSizes> MatmulSizes(SizeAlgebra& algebra, const std::optional<KnownSizes>& a,
                                      const std::optional<KnownSizes>& b) {
  if (!a || !b || a->empty() || b->empty()) return {};
  if (a->size() == 1 && b->size() == 1) return KnownSizes();
  std::optional<KnownSizes> batch_a(std::in_place, a->begin(), a->end() - std::min<size_t>(a->size(), 2));
  std::optional<KnownSizes> batch_b(std::in_place, b->begin(), b->end() - std::min<size_t>(b->size(), 2));
  std::optional<KnownSizes> sizes = Broadcast(algebra, std::move(batch_a), std::move(batch_b));
  if (a->size() > 1) sizes->push_back((*a)[a->size() - 2]);
  if (b->size() > 1) sizes->push_back(b->back());
  return sizes;
}
void Matmul(Call& call) {
  call.Give(0, call.in(0), Same(call.in(0), call.in(1)), MatmulSizes(call.sizes(), call.in(0).sizes, call.in(1).sizes));
  // The product of a matrix with several is that of their transposes, transposed.
  const size_t ranks[] = {call.in(0).rank().value_or(0), call.in(1).rank().value_or(0)};
  const bool in_order = ranks[0] >= 2 && (ranks[1] == 2 || (ranks[0] >= 3 && ranks[1] >= 3));
  call.out().contiguous = call.out().default_strides = in_order && call.out().plain;
}
void AddedMatmul(Call& call) {
  const Dtype dtype = Same(call.in(1), call.in(2));
  call.Give(0, call.in(1), dtype == call.in(0).dtype ? dtype : Dtype(),
            MatmulSizes(call.sizes(), call.in(1).sizes, call.in(2).sizes));
}
void Attention(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const std::optional<KnownSizes>& key = call.in(1).sizes;
  const std::optional<KnownSizes>& value = call.in(2).sizes;
  if (sizes && key && value && sizes->size() > 1 && key->size() == sizes->size() && value->size() == sizes->size()) {
    // Batches are broadcast.
    const auto batch_of = [](const KnownSizes& all) { return KnownSizes(all.begin(), all.end() - 2); };
    const std::optional<KnownSizes> keys = Broadcast(call.sizes(), batch_of(*key), batch_of(*value));
    const std::optional<KnownSizes> batch = Broadcast(call.sizes(), batch_of(*sizes), keys);
    // Or heads are repeated, where that is asked for.
    const bool repeated = call.has("enable_gqa") && call.flag("enable_gqa") != false;
    for (size_t i = 0; i < batch->size(); ++i) (*sizes)[i] = repeated ? KnownSize() : (*batch)[i];
    sizes->back() = value->back();
  } else {
    sizes.reset();
  }
  call.Give(0, call.in(0), Same(call.in(0), call.in(2)), std::move(sizes));
}

// Element `i` of a list in which a single number stands for all.
KnownSize At(const std::optional<KnownSizes>& list, size_t i) {
  if (!list || list->empty()) return {};
  return list->size() == 1 ? list->front() : i < list->size() ? (*list)[i] : KnownSize();
}

KnownSize Window(SizeAlgebra& algebra, KnownSize size, KnownSize kernel, KnownSize stride, KnownSize padding,
                 KnownSize dilation) {
  if (!algebra.IsAtLeast(stride, 1)) return {};
  const KnownSize reach = algebra.Multiply(dilation, algebra.Subtract(kernel, 1));
  const KnownSize room = algebra.Subtract(algebra.Add(size, algebra.Multiply(padding, 2)), algebra.Add(reach, 1));
  if (algebra.Most(room).value_or(0) < 0) return {};
  return algebra.Add(algebra.Divide(room, stride), 1);
}

void Convolution(Call& call) {
  const std::optional<KnownSizes>& input = call.in(0).sizes;
  const std::optional<KnownSizes>& weight = call.in(1).sizes;
  const std::optional<bool> flagged = call.flag("transposed");
  const bool transposed = call.has("transposed") ? flagged.value_or(true) : call.has("output_padding");
  std::optional<KnownSizes> sizes;
  if (input && weight && weight->size() > 2 && input->size() + 1 >= weight->size() && input->size() <= weight->size() &&
      !(call.has("transposed") && !flagged)) {
    sizes = UnknownSizes(input->size());
    const size_t channels = input->size() + 1 - weight->size();
    if (channels == 1) sizes->front() = input->front();
    if (!transposed) {
      (*sizes)[channels] = weight->front();
      const auto stride = call.numbers("stride"), padding = call.numbers("padding"),
                 dilation = call.numbers("dilation");
      for (size_t i = 0; i + 2 < weight->size(); ++i) {
        (*sizes)[channels + 1 + i] = Window(call.sizes(), (*input)[channels + 1 + i], (*weight)[i + 2], At(stride, i),
                                            At(padding, i), At(dilation, i));
      }
    } else {
      (*sizes)[channels] = call.sizes().Multiply(call.computed("groups"), (*weight)[1]);
    }
  }
  call.Give(0, call.in(0), Same(call.in(0), call.in(1)), std::move(sizes));
}

void Softmax(Call& call) {
  const Dtype dtype = GivenDtype(call, call.in(0).dtype);
  call.Give(0, call.in(0), dtype, call.in(0).sizes);
  call.out().contiguous = call.in(0).contiguous && call.out().plain;
  call.out().default_strides = call.out().contiguous && call.in(0).default_strides;
}
void FirstLike(Call& call) { call.Give(0, call.in(0), call.in(0).dtype, call.in(0).sizes); }

// Batch and channels stay, the rest changes.
void Resample(Call& call, size_t spatial, const std::optional<KnownSizes>& to) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  if (sizes && sizes->size() >= spatial) {
    for (size_t i = 0; i < spatial; ++i) {
      (*sizes)[sizes->size() - spatial + i] = to && to->size() == spatial ? (*to)[i] : KnownSize();
    }
  } else {
    sizes.reset();
  }
  for (size_t i = 0; i < call.num_outputs(); ++i) {
    call.Give(i, call.in(0), i == 0 ? call.in(0).dtype : Dtype(c10::kLong), sizes);
  }
}
size_t SpatialRank(const Call& call) {
  const std::string_view name = call.node().kind().toUnqualString();
  for (size_t rank = 1; rank <= 3; ++rank) {
    if (name.find(static_cast<char>('0' + rank)) != std::string_view::npos) return rank;
  }
  return 3;
}
void Pool(Call& call) {
  const size_t spatial = SpatialRank(call);
  const std::optional<KnownSizes>& from = call.in(0).sizes;
  const auto kernel = call.numbers("kernel_size"), padding = call.numbers("padding");
  const auto dilation = call.has("dilation") ? call.numbers("dilation") : KnownSizes{1};
  auto stride = call.numbers("stride");
  if (stride && stride->empty()) stride = kernel;
  std::optional<KnownSizes> to;
  if (from && from->size() >= spatial && call.flag("ceil_mode") == false) {
    to.emplace();
    for (size_t i = 0; i < spatial; ++i) {
      to->push_back(Window(call.sizes(), (*from)[from->size() - spatial + i], At(kernel, i), At(stride, i),
                           At(padding, i), At(dilation, i)));
    }
  }
  Resample(call, spatial, to);
}
void AdaptivePool(Call& call) { Resample(call, SpatialRank(call), call.numbers("output_size")); }

// Two numbers a dimension, from the last one on.
void Pad(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const auto pad = call.numbers(call.has("padding") ? "padding" : "pad");
  if (sizes && pad && pad->size() % 2 == 0 && pad->size() / 2 <= sizes->size()) {
    for (size_t i = 0; i < pad->size() / 2; ++i) {
      KnownSize& size = (*sizes)[sizes->size() - 1 - i];
      size = call.sizes().Add(size, call.sizes().Add((*pad)[2 * i], (*pad)[2 * i + 1]));
    }
  } else if (sizes) {
    sizes = UnknownSizes(sizes->size());
  }
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
}

// Without weights it gives none.
void SelfAttention(Call& call) {
  call.Give(0, call.in(0), Same(call.in(0), call.in(call.find("qkv_weight"))), call.in(0).sizes);
}

void SampleGrid(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const std::optional<KnownSizes>& grid = call.in(1).sizes;
  for (size_t i = 2; sizes && i < sizes->size(); ++i) {
    (*sizes)[i] = grid && grid->size() == sizes->size() ? (*grid)[i - 1] : KnownSize();
  }
  call.Give(0, call.in(0), Same(call.in(0), call.in(1)), std::move(sizes));
}

void Embedding(Call& call) {
  std::optional<KnownSizes> sizes = call.in(1).sizes;
  if (sizes && call.in(0).rank() == 2u) {
    sizes->push_back(call.in(0).sizes->back());
  } else {
    sizes.reset();
  }
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
  call.out().contiguous = call.out().default_strides = call.out().plain;
}

void GruCell(Call& call) {
  call.Give(0, call.in(1), Same(call.in(0), call.in(1)), call.in(1).sizes);
  const bool in_order = call.in(1).default_strides && call.out().device && call.out().device->is_cpu();
  call.out().contiguous = call.out().default_strides = in_order && call.out().plain;
}

void LayerNorm(Call& call) {
  FirstLike(call);
  call.out().contiguous = call.out().default_strides = call.out().plain;
}

}  // namespace

void AddLayerRules(FactRules& rules) {
  rules.Add(Linear, "linear");
  rules.Add(PlanLinear, "hearth::linear");
  rules.Add(Matmul, "matmul mm bmm mv");
  rules.Add(AddedMatmul, "addmm baddbmm");
  rules.Add(SelfAttention, "_native_multi_head_attention");
  rules.Add(Attention, "scaled_dot_product_attention");
  rules.Add(Convolution,
            "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d _convolution "
            "convolution");
  rules.Add(Softmax, "softmax log_softmax");
  rules.Add(FirstLike, "batch_norm instance_norm group_norm native_batch_norm _transformer_encoder_layer_fwd");
  rules.Add(LayerNorm, "layer_norm");
  rules.Add(GruCell, "gru_cell");
  rules.Add(Pool, "max_pool1d max_pool2d max_pool3d max_pool2d_with_indices avg_pool1d avg_pool2d avg_pool3d");
  rules.Add(AdaptivePool,
            "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d "
            "upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d "
            "upsample_bilinear2d upsample_bicubic2d");
  rules.Add(Pad, "pad constant_pad_nd reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d");
  rules.Add(Embedding, "embedding");
  rules.Add(SampleGrid, "grid_sampler grid_sampler_2d grid_sampler_3d");
}

}  // namespace hearth
