#include "jit/definitions/batch_rules.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "jit/definitions/definition.h"

namespace hearth {
namespace {

using Kind = BatchState::Kind;

bool IsTensorLike(const c10::Type& type) {
  if (const auto* optional = type.castRaw<c10::OptionalType>()) return IsTensorLike(*optional->getElementType());
  return type.kind() == c10::TypeKind::TensorType;
}

bool Depends(const BatchState& state, Kind on) {
  if (state.kind != Kind::kContainer) return state.kind == on;
  return std::ranges::any_of(state.elements, [&](const BatchState& element) { return Depends(element, on); });
}

// Null: nothing in it is of that kind.
const BatchState* Find(const BatchState& state, Kind kind) {
  if (state.kind == kind) return &state;
  for (const BatchState& element : state.elements) {
    if (const BatchState* found = Find(element, kind)) return found;
  }
  return nullptr;
}

bool IsUniform(const BatchState& state) {
  if (state.kind != Kind::kContainer) return state.is_uniform();
  return std::ranges::all_of(state.elements, IsUniform);
}

// The inputs that are tensors, None left out.
std::vector<BatchOperand> TensorsOf(BatchCall& call) {
  std::vector<BatchOperand> operands;
  for (size_t i = 0; i < call.facts.num_inputs(); ++i) {
    const BatchState& state = call.in(i);
    if (state.kind == Kind::kNever || !IsTensorLike(*call.facts.node().input(i)->type())) continue;
    operands.push_back({&state, &call.facts.in(i)});
  }
  return operands;
}

bool AreOthersUniform(const BatchCall& call) {
  for (size_t i = 1; i < call.facts.num_inputs(); ++i) {
    if (!IsUniform(call.in(i))) return false;
  }
  return true;
}

bool IsOneAt(const BatchOperand& operand, size_t from_end) {
  const std::optional<size_t> rank = operand.facts->rank();
  return rank && (*rank < from_end || (*operand.facts->sizes)[*rank - from_end] == 1);
}

// A new tensor, of whose elements only the sizes depend on anything.
void GiveOfSizes(BatchCall& call) {
  const ValueFacts& made = call.facts.out();
  if (!made.sizes) return call.Unclear("makes a tensor whose sizes are not known");
  const KnownSizes sizes = call.SizesOf(made);
  std::optional<size_t> axis;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (call.sizes.IsUniform(sizes[i])) continue;
    if (axis || !call.sizes.PerRow(sizes[i]).is_known())
      return call.Unclear("makes a tensor whose sizes depend on the number of rows in a way that is not known");
    axis = i;
  }
  call.Give(axis ? BatchState::Rows(*axis, call.sizes.PerRow(sizes[*axis]), false) : BatchState::Uniform());
}

}  // namespace

KnownSizes BatchCall::SizesOf(const ValueFacts& facts_of_tensor) {
  KnownSizes normal;
  for (const KnownSize size : *facts_of_tensor.sizes) normal.push_back(sizes.Normal(size));
  return normal;
}

void BatchCall::Give(const BatchState& state) { std::ranges::fill(outputs_, state); }

void BatchCall::GiveRows(const BatchState& like, size_t axis) {
  Give(BatchState::Rows(axis, like.per_row, like.of_inputs, like.outer));
}

void BatchCall::Mix(const BatchState& of, std::string_view reason) {
  if (!of.is_rows() || !of.of_inputs) return Unclear(reason);
  MixSurely(reason);
}
void BatchCall::MixSurely(std::string_view reason) { Give(BatchState::Because(Kind::kMixed, &facts.node(), reason)); }
void BatchCall::Unclear(std::string_view reason) { Give(BatchState::Because(Kind::kUnknown, &facts.node(), reason)); }

bool BatchCall::Clear(const BatchState& state, bool counts_too) {
  if (const BatchState* mixed = Find(state, Kind::kMixed)) {
    Give(*mixed);
    return false;
  }
  if (const BatchState* unknown = Find(state, Kind::kUnknown)) {
    Give(*unknown);
    return false;
  }
  if (!counts_too && Depends(state, Kind::kCount)) {
    Unclear("computes with the number of rows");
    return false;
  }
  if (Depends(state, Kind::kRowNumbers)) {
    Unclear("computes with the numbers of the rows");
    return false;
  }
  return true;
}

bool BatchCall::AllClear(std::initializer_list<size_t> inputs) {
  const auto given = [&](size_t i) { return i < facts.num_inputs(); };
  // What mixes rows for certain comes before what is not known.
  for (const size_t i : inputs) {
    if (given(i) && Depends(in(i), Kind::kMixed)) return Clear(in(i), true);
  }
  return std::ranges::all_of(inputs, [&](size_t i) { return !given(i) || Clear(in(i), false); });
}

bool BatchCall::AllClear() {
  for (size_t i = 0; i < facts.num_inputs(); ++i) {
    if (Depends(in(i), Kind::kMixed)) return Clear(in(i), true);
  }
  for (size_t i = 0; i < facts.num_inputs(); ++i) {
    if (!Clear(in(i), false)) return false;
  }
  return true;
}

bool BatchCall::AreSizes(std::initializer_list<size_t> inputs) {
  return std::ranges::all_of(inputs, [&](size_t i) { return i >= facts.num_inputs() || Clear(in(i), true); });
}

bool BatchCall::AllUniform() const {
  for (size_t i = 0; i < facts.num_inputs(); ++i) {
    if (!IsUniform(in(i))) return false;
  }
  return true;
}

void GiveBroadcast(BatchCall& call, std::span<const BatchOperand> operands, size_t kept) {
  const auto is_rows = [](const BatchOperand& operand) { return operand.state->is_rows(); };
  const auto first = std::ranges::find_if(operands, is_rows);
  if (first == operands.end()) return call.Give(BatchState::Uniform());
  if (operands.size() == 1 && kept == 0) return call.Give(*first->state);
  size_t rank = 0;
  for (const BatchOperand& operand : operands) {
    if (!operand.facts->rank()) return call.Unclear("has a tensor whose number of dimensions is not known");
    rank = std::max(rank, *operand.facts->rank());
  }
  const auto from_end = [](const BatchOperand& operand) { return *operand.facts->rank() - operand.state->axis; };
  BatchState all = *first->state;
  const size_t place = from_end(*first);
  for (const BatchOperand& operand : operands) {
    if (!operand.state->is_rows()) {
      if (!IsOneAt(operand, place)) return call.Unclear("has along the rows a size that is not theirs");
      continue;
    }
    if (from_end(operand) != place) {
      const bool apart = IsOneAt(operand, place) && IsOneAt(*first, from_end(operand));
      constexpr std::string_view kCrossed = "combines each row with each";
      if (apart && operand.state->of_inputs) return call.Mix(*first->state, kCrossed);
      return call.Unclear(kCrossed);
    }
    if (operand.state->outer != all.outer) return call.Unclear("has the rows in two orders");
    if (!all.per_row.is_known()) all.per_row = operand.state->per_row;
    all.of_inputs |= operand.state->of_inputs;
  }
  if (place <= kept) return call.Unclear("works along the axis of the rows");
  call.GiveRows(all, rank - place);
}

namespace batch {

void Pointwise(BatchCall& call) {
  // Lists of other elements, one behind the other.
  if (call.facts.node().outputs().size() == 1 &&
      call.facts.node().output()->type()->kind() == c10::TypeKind::ListType) {
    BatchState all = BatchState::Never();
    const bool joins = std::ranges::none_of(call.facts.node().inputs(),
                                            [](const Value* input) { return IsTensorLike(*input->type()); });
    if (!joins && !call.AllClear()) return;
    if (!joins && !call.AllUniform()) return call.Unclear("makes a list of what is in the rows");
    for (size_t i = 0; i < call.facts.num_inputs(); ++i) all = hearth::Join(all, JoinOfElements(call.in(i)));
    return call.Give(all);
  }
  const bool tensors = std::ranges::any_of(call.facts.node().outputs(),
                                           [](const Value* output) { return IsTensorLike(*output->type()); });
  if (!tensors) return Scalar(call);
  if (!call.AllClear()) return;
  GiveBroadcast(call, TensorsOf(call));
}

// The first operand in another form.
void Like(BatchCall& call) {
  const Dtype dtype = call.facts.out().dtype;
  const bool counts = dtype == c10::kLong || dtype == c10::kInt;
  if (call.in(0).kind == Kind::kRowNumbers && counts) return call.Give(call.in(0));
  if (call.AllClear({0})) call.Give(call.in(0));
}

// The first operand with other elements.
void Overwritten(BatchCall& call) {
  BatchState before = call.in(0);
  if (!before.is_rows() && !before.is_uniform()) return call.Unclear("writes over what is not known");
  before.of_inputs = false;
  std::vector<BatchOperand> operands = TensorsOf(call);
  if (!call.AllClear() || operands.empty()) return;
  operands.front().state = &before;
  GiveBroadcast(call, operands);
}

void Reduction(BatchCall& call) {
  if (call.facts.num_inputs() == 2 && call.facts.is_tensor_type(1)) return Pointwise(call);
  if (!call.AllClear()) return;
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  const BatchState& state = call.in(0);
  const bool of_one = AreOthersUniform(call) && !call.facts.has("size") && !call.facts.has("reduction");
  if (!of_one || !state.is_rows()) return call.Unclear("reduces rows in a way that is not known");
  constexpr std::string_view kReduces = "makes one of all rows";
  if (!call.facts.has("dim") || call.facts.is_none("dim")) return call.Mix(state, kReduces);
  const std::optional<KnownSizes> dims = call.facts.numbers("dim");
  const std::optional<bool> keeps = call.facts.has("keepdim") ? call.facts.flag("keepdim") : std::optional(false);
  if (!dims || dims->empty() || !keeps || !call.rank(0)) return call.Unclear("reduces dimensions that are not known");
  std::vector<bool> reduced(*call.rank(0));
  for (const KnownSize dim : *dims) {
    const auto at = Dimension(dim.constant(), reduced.size());
    if (!at || *at >= reduced.size()) return call.Unclear("reduces dimensions that are not known");
    reduced[*at] = true;
  }
  if (reduced[state.axis]) return call.Mix(state, kReduces);
  const auto before = std::count(reduced.begin(), reduced.begin() + static_cast<ptrdiff_t>(state.axis), true);
  call.GiveRows(state, *keeps ? state.axis : state.axis - static_cast<size_t>(before));
}

// Of two tensors that are broadcast, along one dimension of what comes of that.
void CosineSimilarity(BatchCall& call) {
  if (!call.AllClear()) return;
  const std::vector<BatchOperand> operands = TensorsOf(call);
  GiveBroadcast(call, operands);
  const BatchState state = call.out();
  if (!state.is_rows()) return;
  size_t rank = 0;
  for (const BatchOperand& operand : operands) rank = std::max(rank, operand.facts->rank().value_or(0));
  const auto dim = Dimension(call.facts.number("dim"), rank);
  if (!dim || *dim >= rank || *dim == state.axis) return call.Unclear("compares rows in a way that is not known");
  call.GiveRows(state, state.axis - (*dim < state.axis ? 1 : 0));
}

// Of which nothing is known but that it is the same where all inputs are.
void NotFollowed(BatchCall& call) {
  if (!call.AllClear()) return;
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  call.Unclear("compares rows in a way that is not known");
}

void Scan(BatchCall& call) {
  if (!call.AllClear()) return;
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  const BatchState& state = call.in(0);
  const auto dim = call.rank(0) ? Dimension(call.facts.number("dim"), *call.rank(0)) : std::nullopt;
  if (!state.is_rows() || !AreOthersUniform(call) || !dim || !call.facts.is_none("prepend") ||
      !call.facts.is_none("append"))
    return call.Unclear("works along a dimension that is not known");
  if (*dim == state.axis) return call.Mix(state, "works along the rows");
  call.Give(state);
}

void Sorted(BatchCall& call) { Scan(call); }

// The mean or sum of all elements, or each.
void Loss(BatchCall& call) {
  if (!call.AllClear()) return;
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  const std::optional<int64_t> reduction = call.facts.number("reduction");
  if (reduction != 1 && reduction != 2) return call.Unclear("compares rows in a way that is not known");
  call.Mix(call.in(0), "makes one of all rows");
}

void Created(BatchCall& call) {
  for (size_t i = 0; i < call.facts.num_inputs(); ++i) {
    const std::string& name = call.facts.node().op()->schema().arguments()[i].name();
    if (name == "self") continue;
    if (!(name == "size" ? call.AreSizes({i}) : call.AllClear({i}))) return;
  }
  GiveOfSizes(call);
}

void CreatedLike(BatchCall& call) {
  for (size_t i = 1; i < call.facts.num_inputs(); ++i) {
    if (!call.AllClear({i})) return;
  }
  BatchState state = call.in(0);
  state.of_inputs = false;
  if (state.is_rows() || state.is_uniform()) return call.Give(state);
  GiveOfSizes(call);
}

void RowNumbers(BatchCall& call) {
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  const auto is = [&](std::string_view name, int64_t number) {
    return !call.facts.has(name) || call.facts.number(name) == number;
  };
  const bool counts = call.sizes.Normal(call.facts.computed("end")) == call.sizes.rows();
  if (counts && is("start", 0) && is("step", 1)) return call.Give({.kind = Kind::kRowNumbers});
  call.Unclear("makes numbers up to one that is not the same in all runs");
}

// Of a tensor's sizes, dtype and the like.
void Query(BatchCall& call) {
  const Value& answer = *call.facts.node().output();
  const bool number = answer.type()->kind() == c10::TypeKind::IntType;
  const bool numbers = answer.type()->kind() == c10::TypeKind::ListType;
  const BatchState& state = call.in(0);
  if ((!number && !numbers) || call.facts.node().kind() == c10::aten::dim) {
    static const c10::Symbol kIsContiguous = c10::Symbol::fromQualString("aten::is_contiguous");
    const bool of_layout = call.facts.node().kind() == kIsContiguous && !state.is_uniform();
    return call.Give(of_layout ? BatchState::Because(Kind::kCount, &call.facts.node(), "asks how rows lie in memory")
                               : BatchState::Uniform());
  }
  const ValueFacts& facts = call.facts.out();
  const KnownSizes known = number ? KnownSizes{facts.number} : facts.sizes.value_or(KnownSizes{KnownSize()});
  if (std::ranges::all_of(known, [&](KnownSize size) { return call.sizes.IsUniform(size); }) || state.is_uniform())
    return call.Give(BatchState::Uniform());
  constexpr std::string_view kAsks = "asks how many rows there are";
  const auto count = BatchState::Because(Kind::kCount, &call.facts.node(), kAsks);
  if (std::ranges::all_of(known, [&](KnownSize size) { return call.sizes.IsOfRows(size); })) return call.Give(count);
  const auto dim = number && call.rank(0) ? Dimension(call.facts.number("dim"), *call.rank(0)) : std::nullopt;
  if (state.is_rows()) return call.Give(dim && *dim != state.axis ? BatchState::Uniform() : count);
  if (state.kind == Kind::kRowNumbers) return call.Give(count);
  call.Unclear("asks for a size that may depend on what is in the rows");
}

// Numbers, strings and the like.
void Scalar(BatchCall& call) {
  const Node& node = call.facts.node();
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  const ValueFacts& facts = call.facts.out();
  if (call.outputs().size() == 1 && facts.kind == ValueFacts::Kind::kInt && facts.number.is_known()) {
    if (call.sizes.IsUniform(facts.number)) return call.Give(BatchState::Uniform());
    if (call.sizes.IsOfRows(facts.number))
      return call.Give(BatchState::Because(Kind::kCount, &node, "computes with the number of rows"));
  }
  const bool identity = node.kind() == c10::aten::__is__ || node.kind() == c10::aten::__isnot__;
  if (identity && std::ranges::none_of(node.inputs(), [&](const Value* input) {
        const size_t i = static_cast<size_t>(std::ranges::find(node.inputs(), input) - node.inputs().begin());
        return Depends(call.in(i), Kind::kUnknown);
      })) {
    return call.Give(BatchState::Uniform());
  }
  for (size_t i = 0; i < call.facts.num_inputs(); ++i) {
    if (Depends(call.in(i), Kind::kMixed)) return call.Give(*Find(call.in(i), Kind::kMixed));
  }
  for (size_t i = 0; i < call.facts.num_inputs(); ++i) {
    if (Depends(call.in(i), Kind::kUnknown)) return call.Give(*Find(call.in(i), Kind::kUnknown));
    if (Depends(call.in(i), Kind::kRows) || Depends(call.in(i), Kind::kRowNumbers))
      return call.Unclear("takes a number out of the rows");
  }
  call.Give(BatchState::Because(Kind::kCount, &node, "computes with the number of rows"));
}

// Of a container, what does not depend on its elements.
void Length(BatchCall& call) {
  if (call.facts.is_tensor_type(0)) return Query(call);
  const BatchState& state = call.in(0);
  if (const BatchState* unknown = Find(state, Kind::kUnknown)) return call.Give(*unknown);
  const bool is_list = call.facts.node().input(0)->type()->kind() == c10::TypeKind::ListType;
  static const c10::Symbol kContains = c10::Symbol::fromQualString("aten::__contains__");
  const bool of_elements = is_list && call.facts.node().kind() == kContains;
  const bool fixed = state.kind == Kind::kContainer || state.is_rows() || (is_list && call.facts.in(0).sizes);
  if (of_elements || !AreOthersUniform(call) || !fixed) return Scalar(call);
  call.Give(BatchState::Uniform());
}

// Of a list, tuple or dict.
void Element(BatchCall& call) {
  const BatchState& all = call.in(0);
  if (!call.AllClear({1})) return;
  const ValueFacts& facts = call.facts.out();
  if (facts.kind == ValueFacts::Kind::kInt) {
    if (call.sizes.IsUniform(facts.number)) return call.Give(BatchState::Uniform());
    if (call.sizes.IsOfRows(facts.number))
      return call.Give(BatchState::Because(Kind::kCount, &call.facts.node(), "asks how many rows there are"));
  }
  const c10::IValue* index = call.facts.constant(size_t{1});
  const c10::TypeKind type = call.facts.node().input(0)->type()->kind();
  const bool in_order = type == c10::TypeKind::ListType || type == c10::TypeKind::TupleType;
  if (in_order && all.kind == Kind::kContainer && index != nullptr && index->isInt()) {
    const auto at = Dimension(index->toInt(), all.elements.size());
    if (at && *at < all.elements.size()) return call.Give(all.elements[*at]);
  }
  call.Give(JoinOfElements(all));
}

}  // namespace batch

namespace {

// In place of the rule of its class.
const std::unordered_map<std::string_view, BatchRule>& Table() {
  static const std::unordered_map<std::string_view, BatchRule> kTable = {
      {"aten::copy", batch::Overwritten},
      {"aten::fill", batch::Overwritten},
      {"aten::zero", batch::Overwritten},
      {"aten::prelu", batch::Prelu},
      {"aten::detach", batch::Like},
      {"aten::alias", batch::Like},
      {"aten::list", batch::Like},
      {"aten::values", batch::Like},
      {"aten::len", batch::Length},
      {"aten::keys", batch::Length},
      {"aten::__contains__", batch::Length},
      {"aten::_unwrap_optional", batch::Like},
      {"prim::unchecked_unwrap_optional", batch::Like},
      {"prim::requires_grad", batch::Query},
      {"aten::is_conj", batch::Query},
      {"aten::is_neg", batch::Query},
      {"aten::sort", batch::Sorted},
      {"aten::topk", batch::Sorted},
      {"aten::argsort", batch::Sorted},
      {"aten::cosine_similarity", batch::CosineSimilarity},
      {"aten::dist", batch::NotFollowed},
      {"aten::pdist", batch::NotFollowed},
      {"aten::cdist", batch::NotFollowed},
      {"aten::sum_to_size", batch::NotFollowed},
      {"aten::cross_entropy_loss", batch::Loss},
      {"aten::kl_div", batch::Loss},
      {"aten::l1_loss", batch::Loss},
      {"aten::smooth_l1_loss", batch::Loss},
      {"aten::mse_loss", batch::Loss},
      {"aten::soft_margin_loss", batch::Loss},
      {"aten::binary_cross_entropy_with_logits", batch::Loss},
      {"aten::nll_loss", batch::Loss},
      {"aten::nll_loss2d", batch::Loss},
      {"aten::cosine_embedding_loss", batch::Loss},
      {"aten::hinge_embedding_loss", batch::Loss},
      {"aten::margin_ranking_loss", batch::Loss},
      {"aten::multilabel_margin_loss", batch::Loss},
      {"aten::multi_margin_loss", batch::Loss},
      {"aten::triplet_margin_loss", batch::Loss},
      {"aten::zeros_like", batch::CreatedLike},
      {"aten::ones_like", batch::CreatedLike},
      {"aten::full_like", batch::CreatedLike},
      {"aten::empty_like", batch::CreatedLike},
      {"aten::arange", batch::RowNumbers},
      {"aten::__getitem__", batch::Element},
      {"aten::softmax", batch::Softmax},
      {"aten::log_softmax", batch::Softmax},
      {"aten::layer_norm", batch::LayerNorm},
      {"aten::rms_norm", batch::LayerNorm},
      {"aten::group_norm", batch::GroupNorm},
      {"aten::instance_norm", batch::GroupNorm},
      {"aten::batch_norm", batch::BatchNorm},
      {"aten::native_batch_norm", batch::BatchNorm},
      {"aten::linear", batch::Linear},
      {"aten::matmul", batch::Matmul},
      {"aten::mm", batch::Matmul},
      {"aten::bmm", batch::Matmul},
      {"aten::mv", batch::Matmul},
      {"aten::dot", batch::Matmul},
      {"aten::addmm", batch::AddedMatmul},
      {"aten::baddbmm", batch::AddedMatmul},
      {"aten::outer", batch::Outer},
      {"aten::einsum", batch::Einsum},
      {"aten::pixel_shuffle", batch::Images},
      {"aten::pad", batch::Pad},
      {"aten::constant_pad_nd", batch::Pad},
      {"aten::reflection_pad1d", batch::Pad},
      {"aten::reflection_pad2d", batch::Pad},
      {"aten::replication_pad1d", batch::Pad},
      {"aten::replication_pad2d", batch::Pad},
      {"aten::scaled_dot_product_attention", batch::Attention},
      {"aten::_transformer_encoder_layer_fwd", batch::EncoderLayer},
      {"aten::_native_multi_head_attention", batch::EncoderLayer},
      {"aten::lstm", batch::Recurrence},
      {"aten::gru", batch::Recurrence},
      {"aten::rnn_tanh", batch::Recurrence},
      {"aten::rnn_relu", batch::Recurrence},
      {"aten::lstm_cell", batch::Cell},
      {"aten::gru_cell", batch::Cell},
      {"aten::rnn_tanh_cell", batch::Cell},
      {"aten::rnn_relu_cell", batch::Cell},
      {"aten::embedding", batch::Embedding},
      {"aten::view", batch::Reshape},
      {"aten::reshape", batch::Reshape},
      {"aten::_unsafe_view", batch::Reshape},
      {"aten::flatten", batch::Reshape},
      {"aten::unflatten", batch::Reshape},
      {"aten::view_as", batch::Reshape},
      {"aten::reshape_as", batch::Reshape},
      {"aten::unsqueeze", batch::Unsqueeze},
      {"aten::squeeze", batch::Squeeze},
      {"aten::transpose", batch::Transpose},
      {"aten::swapaxes", batch::Transpose},
      {"aten::swapdims", batch::Transpose},
      {"aten::t", batch::TransposeMatrix},
      {"aten::numpy_T", batch::TransposeMatrix},
      {"aten::permute", batch::Permute},
      {"aten::expand", batch::Expand},
      {"aten::expand_as", batch::Expand},
      {"aten::repeat", batch::Repeat},
      {"aten::repeat_interleave", batch::RepeatElements},
      {"aten::select", batch::Select},
      {"aten::slice", batch::Slice},
      {"aten::narrow", batch::Slice},
      {"aten::split", batch::Parts},
      {"aten::split_with_sizes", batch::Parts},
      {"aten::chunk", batch::Parts},
      {"aten::tensor_split", batch::Parts},
      {"aten::unbind", batch::Parts},
      {"aten::glu", batch::AlongOther},
      {"aten::unfold", batch::AlongOther},
      {"aten::index_select", batch::AlongOther},
      {"aten::flip", batch::Reordered},
      {"aten::roll", batch::Reordered},
      {"aten::tril", batch::Triangle},
      {"aten::triu", batch::Triangle},
      {"aten::cat", batch::Join},
      {"aten::concat", batch::Join},
      {"aten::concatenate", batch::Join},
      {"aten::stack", batch::Stack},
      {"aten::index", batch::Index},
      {"aten::gather", batch::Gather},
      {"aten::take_along_dim", batch::Gather},
      {"aten::scatter", batch::Put},
      {"aten::scatter_add", batch::Put},
      {"aten::slice_scatter", batch::Put},
      {"aten::select_scatter", batch::Put},
      {"aten::one_hot", batch::OneHot},
  };
  return kTable;
}

BatchRule RuleOf(OperatorClass kind) {
  switch (kind) {
    case OperatorClass::kPointwise:
    case OperatorClass::kDropout:
      return batch::Pointwise;
    case OperatorClass::kConversion:
      return batch::Like;
    case OperatorClass::kReduction:
      return batch::Reduction;
    case OperatorClass::kScan:
      return batch::Scan;
    case OperatorClass::kConvolution:
      return batch::Convolution;
    case OperatorClass::kPooling:
    case OperatorClass::kResampling:
      return batch::Images;
    case OperatorClass::kCreation:
      return batch::Created;
    case OperatorClass::kTensorQuery:
      return batch::Query;
    case OperatorClass::kScalar:
    case OperatorClass::kContainer:
      return batch::Scalar;
    default:
      return nullptr;
  }
}

}  // namespace

BatchRule FindBatchRule(c10::Symbol symbol) {
  const auto found = Table().find(symbol.toQualString());
  return found != Table().end() ? found->second : RuleOf(DefinitionOf(symbol).kind);
}

}  // namespace hearth
