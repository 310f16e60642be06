#include "jit/definitions/definition_lists.h"
#include "jit/definitions/fact_rules.h"
#include "jit/definitions/gather_rules.h"
#include "jit/definitions/pointwise_facts.h"
#include "jit/definitions/row_rules.h"
#include "jit/libraries/recurrence.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
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
  call.GiveOrder(StrideOrder::Default(true));
}

// Layers side by side, of a weight [groups, inputs, outputs].
void GroupedLinear(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const std::optional<KnownSizes>& weight = call.in(1).sizes;
  if (sizes && !sizes->empty() && weight && weight->size() == 3) {
    sizes->back() = call.sizes().Multiply(weight->front(), weight->back());
  } else {
    sizes.reset();
  }
  call.Give(0, call.in(0), Same(call.in(0), call.in(1)), std::move(sizes));
  call.GiveOrder(StrideOrder::Default(true));
}

// Of an input's columns.
void LeftLinear(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const std::optional<KnownSizes>& weight = call.in(1).sizes;
  if (sizes && sizes->size() >= 2 && weight && weight->size() == 2) {
    (*sizes)[sizes->size() - 2] = weight->front();
  } else {
    sizes.reset();
  }
  call.Give(0, call.in(0), Same(call.in(0), call.in(1)), std::move(sizes));
  call.GiveOrder(StrideOrder::Default(true));
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
  if (in_order) call.GiveOrder(StrideOrder::Default(true));
}
void AddedMatmul(Call& call) {
  const Dtype dtype = Same(call.in(1), call.in(2));
  call.Give(0, call.in(1), dtype == call.in(0).dtype ? dtype : Dtype(),
            MatmulSizes(call.sizes(), call.in(1).sizes, call.in(2).sizes));
}
// Where the equation names each dimension by a letter, and says those of the result.
std::optional<KnownSizes> EinsumSizes(SizeAlgebra& algebra, std::string equation,
                                      std::span<const ValueFacts> operands) {
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos) return {};
  std::map<char, KnownSize> size_of;
  size_t operand = 0, dimension = 0;
  for (const char label : std::string_view(equation).substr(0, arrow)) {
    if (label == ',') {
      ++operand;
      dimension = 0;
      continue;
    }
    if (operand >= operands.size() || !operands[operand].rank() || dimension >= *operands[operand].rank()) return {};
    const KnownSize size = (*operands[operand].sizes)[dimension++];
    const auto [entry, is_first] = size_of.try_emplace(label, size);
    if (!is_first && algebra.AreEqual(entry->second, size) != true) entry->second = {};
  }
  KnownSizes sizes;
  for (const char label : std::string_view(equation).substr(arrow + 2)) {
    const auto entry = size_of.find(label);
    if (entry == size_of.end()) return {};
    sizes.push_back(entry->second);
  }
  return sizes;
}
void Einsum(Call& call) {
  const c10::IValue* equation = call.constant(size_t{0});
  const ValueFacts& operands = call.in(1);
  if (equation == nullptr || operands.kind != Kind::kList || operands.elements.empty()) return;
  Dtype dtype = operands.elements[0].dtype;
  for (const ValueFacts& operand : operands.elements) {
    if (operand.dtype != dtype) dtype.reset();
  }
  call.Give(0, operands.elements[0], dtype, EinsumSizes(call.sizes(), equation->toStringRef(), operands.elements));
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

void BiasedAttention(Call& call) {
  Attention(call);
  ValueFacts& result = call.out();
  const std::optional<bool> tokens_first = call.flag("tokens_first");
  if (result.sizes && (!tokens_first || result.sizes->size() < 3)) {
    result.sizes.reset();
  } else if (result.sizes && *tokens_first) {
    std::swap((*result.sizes)[result.sizes->size() - 3], (*result.sizes)[result.sizes->size() - 2]);
  }
  call.GiveOrder(StrideOrder::Default(true));
}

void Softmax(Call& call) {
  const Dtype dtype = GivenDtype(call, call.in(0).dtype);
  call.Give(0, call.in(0), dtype, call.in(0).sizes);
  call.GiveOrder(StrideOrder::Default(true));
}
void FirstLike(Call& call) { call.Give(0, call.in(0), call.in(0).dtype, call.in(0).sizes); }

// Without weights it gives none.
void SelfAttention(Call& call) {
  call.Give(0, call.in(0), Same(call.in(0), call.in(call.find("qkv_weight"))), call.in(0).sizes);
}

void Embedding(Call& call) {
  std::optional<KnownSizes> sizes = call.in(1).sizes;
  if (sizes && call.in(0).rank() == 2u) {
    sizes->push_back(call.in(0).sizes->back());
  } else {
    sizes.reset();
  }
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
  call.GiveOrder(StrideOrder::Default(true));
}

void GruCell(Call& call) {
  call.Give(0, call.in(1), Same(call.in(0), call.in(1)), call.in(1).sizes);
  const bool in_order = call.in(1).default_strides() && call.out().device && call.out().device->is_cpu();
  if (in_order) call.GiveOrder(StrideOrder::Default(true));
}

void LayerNorm(Call& call) {
  FirstLike(call);
  call.GiveOrder(StrideOrder::Default(true));
}

// In the format that images suggest, on a CPU.
void GroupNorm(Call& call) {
  const ValueFacts& input = call.in(0);
  call.Give(0, input, input.dtype, input.sizes);
  if (input.rank() == 4u && input.device && input.device->is_cpu()) {
    call.GiveOrder(OrderOfSuggested(call.sizes(), input));
  } else if (input.rank() == 3u || input.rank() == 4u) {
    call.GiveOrder(StrideOrder::Default(true));
  }
}

// A factor and an offset for each channel of each image.
void GroupScales(Call& call) {
  const std::optional<KnownSizes>& sizes = call.in(0).sizes;
  std::optional<KnownSizes> channels;
  if (sizes && sizes->size() == 4) channels = KnownSizes{(*sizes)[0], (*sizes)[1], 1, 1};
  for (const size_t output : {0, 1}) {
    call.Give(output, call.in(0), c10::kFloat, channels);
    call.GiveOrder(StrideOrder::Default(true), output);
  }
}

// Of a direction and a length for each of its slices.
void WeightNorm(Call& call) {
  const std::optional<KnownSizes>&sizes = call.in(0).sizes, &lengths = call.in(1).sizes;
  bool fits = sizes && lengths && sizes->size() == lengths->size();
  for (size_t i = 0; fits && i < sizes->size(); ++i) fits = (*lengths)[i] == 1 || (*lengths)[i] == (*sizes)[i];
  call.Give(0, call.in(0), Same(call.in(0), call.in(1)), fits ? sizes : std::nullopt);
}

// What comes of each step lies step by step, also where sequences come first.
void PlannedRecurrence(Call& call) {
  const c10::IValue* constant = call.constant("planned");
  const auto* planned = constant == nullptr ? nullptr : libraries::Recurrence::Unwrap(*constant);
  const std::optional<KnownSizes>& input = call.in(0).sizes;
  if (planned == nullptr || !input || input->size() != 3) return;
  const libraries::RecurrenceSettings& settings = planned->settings();
  KnownSizes output = *input;
  output.back() = settings.directions * planned->hidden();
  const KnownSizes state = {settings.layers * settings.directions, (*input)[settings.batch_first ? 0 : 1],
                            planned->hidden()};
  for (size_t i = 0; i < call.num_outputs(); ++i) {
    call.Give(i, call.in(0), call.in(0).dtype, i == 0 ? output : state);
    call.GiveOrder(StrideOrder::Default(true), i);
  }
  constexpr size_t kSequencesFirst[] = {1, 0, 2};
  if (settings.batch_first) call.GiveOrder(StrideOrder::Default(true).Permuted(kSequencesFirst), 0);
}

// The same of LibTorch's, which have as many numbers a step as their states.
void Recurrence(Call& call) {
  const ValueFacts& given = call.in(1);
  const bool has_memory = given.kind == ValueFacts::Kind::kList && given.elements.size() == 2;
  const ValueFacts& state = has_memory ? given.elements.front() : given;
  const std::optional<KnownSizes>& input = call.in(0).sizes;
  const std::optional<bool> bidirectional = call.flag("bidirectional");
  const std::optional<bool> batch_first = call.flag("batch_first");
  if (!bidirectional || !batch_first || !input || input->size() != 3 || state.rank() != 3u) return;
  KnownSizes output = *input;
  const KnownSize hidden = state.sizes->back();
  output.back() = *bidirectional ? call.sizes().Multiply(hidden, 2) : hidden;
  for (size_t i = 0; i < call.num_outputs(); ++i) {
    const bool is_memory = i == 2;
    if (is_memory && given.elements.back().rank() != 3u) continue;
    call.Give(i, call.in(0), call.in(0).dtype,
              i == 0      ? output
              : is_memory ? *given.elements.back().sizes
                          : *state.sizes);
    call.GiveOrder(StrideOrder::Default(true), i);
  }
  constexpr size_t kSequencesFirst[] = {1, 0, 2};
  if (*batch_first) call.GiveOrder(StrideOrder::Default(true).Permuted(kSequencesFirst), 0);
}

using enum OperatorClass;

const OperatorDefinition kDefinitions[] = {
    {.name = "aten::linear", .kind = kProduct, .facts = Linear, .autocast = AutocastPolicy::kReduced},
    {.name = "hearth::linear", .kind = kProduct, .facts = Linear, .into = {"", "hearth::linear", "into"}},
    {.name = "hearth::grouped_linear", .kind = kProduct, .facts = GroupedLinear},
    {.name = "hearth::left_linear", .kind = kProduct, .facts = LeftLinear, .into = {"", "hearth::left_linear", "into"}},
    {.name = "aten::matmul",
     .kind = kProduct,
     .facts = Matmul,
     .into = {"", "hearth::matmul", "into"},
     .autocast = AutocastPolicy::kReduced},
    {.name = "hearth::matmul", .kind = kProduct, .facts = Matmul, .into = {"", "hearth::matmul", "into"}},
    {.name = "aten::mm", .kind = kProduct, .facts = Matmul, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::bmm", .kind = kProduct, .facts = Matmul, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::mv", .kind = kProduct, .facts = Matmul, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::addmm",
     .kind = kProduct,
     .facts = AddedMatmul,
     .in_place = true,
     .autocast = AutocastPolicy::kReduced},
    {.name = "aten::baddbmm",
     .kind = kProduct,
     .facts = AddedMatmul,
     .in_place = true,
     .autocast = AutocastPolicy::kReduced},
    {.name = "aten::_native_multi_head_attention", .kind = kAttention, .facts = SelfAttention},
    {.name = "aten::scaled_dot_product_attention", .kind = kAttention, .facts = Attention},
    {.name = "hearth::attention", .kind = kAttention, .facts = BiasedAttention},
    {.name = "aten::softmax",
     .kind = kNormalization,
     .facts = Softmax,
     .row = &row::kSoftmax,
     .into = {"int", "aten::softmax", "int_out"}},
    {.name = "aten::log_softmax",
     .kind = kNormalization,
     .facts = Softmax,
     .row = &row::kLogSoftmax,
     .autocast = AutocastPolicy::kFullUnlessDtypeGiven},
    {.name = "aten::special_softmax", .kind = kNormalization, .facts = Softmax, .row = &row::kSoftmax},
    {.name = "aten::special_log_softmax", .kind = kNormalization, .facts = Softmax, .row = &row::kLogSoftmax},
    {.name = "aten::instance_norm", .kind = kNormalization, .facts = FirstLike, .hides_writes = true},
    {.name = "aten::_weight_norm", .kind = kNormalization, .facts = WeightNorm},
    {.name = "aten::group_norm", .kind = kNormalization, .facts = GroupNorm, .autocast = AutocastPolicy::kFull},
    {.name = "hearth::group_scales", .kind = kNormalization, .facts = GroupScales},
    {.name = "aten::_transformer_encoder_layer_fwd", .kind = kAttention, .facts = FirstLike},
    {.name = "aten::rms_norm", .kind = kNormalization, .facts = facts::Like, .row = &row::kRmsNorm},
    {.name = "aten::layer_norm",
     .kind = kNormalization,
     .facts = LayerNorm,
     .row = &row::kLayerNorm,
     .autocast = AutocastPolicy::kFull},
    {.name = "hearth::lstm", .kind = kRecurrent, .facts = PlannedRecurrence},
    {.name = "hearth::gru", .kind = kRecurrent, .facts = PlannedRecurrence},
    {.name = "aten::lstm", .kind = kRecurrent, .facts = Recurrence},
    {.name = "aten::gru", .kind = kRecurrent, .facts = Recurrence},
    {.name = "aten::rnn_tanh", .kind = kRecurrent, .facts = Recurrence},
    {.name = "aten::rnn_relu", .kind = kRecurrent, .facts = Recurrence},
    {.name = "aten::gru_cell", .kind = kRecurrent, .facts = GruCell, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::embedding", .kind = kIndexing, .facts = Embedding, .gather = gather::ByEmbedding},
    {.name = "aten::native_layer_norm", .kind = kNormalization, .autocast = AutocastPolicy::kFull},
    {.name = "aten::_batch_norm_impl_index", .kind = kNormalization, .hides_writes = true},
    {.name = "aten::cudnn_batch_norm", .kind = kNormalization, .hides_writes = true},
    {.name = "aten::miopen_batch_norm", .kind = kNormalization, .hides_writes = true},
    {.name = "aten::einsum", .kind = kProduct, .facts = Einsum, .hides_aliases = true},
    {.name = "aten::linalg_multi_dot", .kind = kProduct, .hides_aliases = true},
    {.name = "aten::chain_matmul", .kind = kProduct, .hides_aliases = true, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::addmv", .kind = kProduct, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::addr", .kind = kProduct, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::addbmm", .kind = kProduct, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::_thnn_fused_lstm_cell", .kind = kRecurrent, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::_thnn_fused_gru_cell", .kind = kRecurrent, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::lstm_cell", .kind = kRecurrent, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::rnn_tanh_cell", .kind = kRecurrent, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::rnn_relu_cell", .kind = kRecurrent, .autocast = AutocastPolicy::kReduced},
    {.name = "aten::bilinear", .kind = kProduct, .autocast = AutocastPolicy::kWidest},
    {.name = "aten::dot", .kind = kProduct, .autocast = AutocastPolicy::kWidest},
    {.name = "aten::tensordot", .kind = kProduct, .autocast = AutocastPolicy::kWidest},
};

}  // namespace

std::span<const OperatorDefinition> LayerDefinitions() { return kDefinitions; }

}  // namespace hearth
