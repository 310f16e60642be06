// What layers do to the rows of a batch.
#include "jit/definitions/batch_rules.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace hearth::batch {
namespace {

using Kind = BatchState::Kind;

constexpr std::string_view kWeights = "takes its weights from the rows";
constexpr std::string_view kAxis = "works along the axis of the rows";
constexpr std::string_view kNoRank = "has a tensor whose number of dimensions is not known";

// Whether all inputs but the first are the same in all runs. Says what comes of it where not.
bool OnlyFirstIsRows(BatchCall& call) {
  if (!call.AllClear()) return false;
  if (call.AllUniform()) {
    call.Give(BatchState::Uniform());
    return false;
  }
  for (size_t i = 1; i < call.facts.num_inputs(); ++i) {
    if (!JoinOfElements(call.in(i)).is_uniform()) {
      call.Unclear(kWeights);
      return false;
    }
  }
  if (call.rank(0)) return true;
  call.Unclear(kNoRank);
  return false;
}

// How many dimensions of an image an operator is for: the digit before the "d" in its name.
std::optional<size_t> ImageDimensions(const BatchCall& call) {
  const std::string_view name = call.facts.node().kind().toUnqualString();
  if (name == "pixel_shuffle") return 3;
  if (name == "grid_sampler")
    return call.rank(0) ? std::optional(std::max<size_t>(*call.rank(0), 2) - 2) : std::nullopt;
  for (size_t i = 0; i + 1 < name.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(name[i])) != 0;
    if (digit && name[i + 1] == 'd') return static_cast<size_t>(name[i] - '0');
  }
  return {};
}

// What a product of matrices makes of a factor's axis.
enum class Role : uint8_t { kNone, kBatch, kRow, kColumn, kSummed };

Role RoleOf(const BatchState& state, size_t rank, bool is_left) {
  if (!state.is_rows()) return Role::kNone;
  if (rank == 1) return Role::kSummed;
  if (state.axis + 2 < rank) return Role::kBatch;
  const bool last = state.axis + 1 == rank;
  if (is_left) return last ? Role::kSummed : Role::kRow;
  return last ? Role::kColumn : Role::kSummed;
}

// Of a product whose factors are inputs a and b; null where it is settled what comes of it.
std::optional<BatchState> ProductOf(BatchCall& call, size_t a, size_t b) {
  const BatchState &left = call.in(a), &right = call.in(b);
  if (!left.is_rows() && !right.is_rows()) return BatchState::Uniform();
  const auto unclear = [&](std::string_view reason) -> std::optional<BatchState> {
    call.Unclear(reason);
    return std::nullopt;
  };
  const std::optional<size_t> rank_a = call.rank(a), rank_b = call.rank(b);
  if (!rank_a || !rank_b || *rank_a == 0 || *rank_b == 0) return unclear(kNoRank);
  const Role role_a = RoleOf(left, *rank_a, true), role_b = RoleOf(right, *rank_b, false);
  if (role_a == Role::kSummed || role_b == Role::kSummed) {
    call.Mix(role_a == Role::kSummed ? left : right, "adds up what rows have");
    return std::nullopt;
  }
  const size_t rank = std::max<size_t>(std::max(*rank_a, *rank_b), 2);
  // Without the dimensions that vectors do not have.
  const size_t vectors = (*rank_a == 1 ? 1 : 0) + (*rank_b == 1 ? 1 : 0);
  const auto from_end = [&](size_t i) { return *call.rank(i) - call.in(i).axis; };
  const auto is_one = [&](size_t i, size_t place) {
    return *call.rank(i) < place || call.size(i, *call.rank(i) - place) == 1;
  };
  if (role_a == Role::kBatch && role_b == Role::kBatch && from_end(a) == from_end(b)) {
    if (left.outer != right.outer) return unclear("has the rows in two orders");
    return BatchState::Rows(rank - from_end(a), left.per_row.is_known() ? left.per_row : right.per_row,
                            left.of_inputs || right.of_inputs, left.outer);
  }
  if (role_a != Role::kNone && role_b != Role::kNone) {
    constexpr std::string_view kCrossed = "combines each row with each";
    const bool apart =
        (role_a != Role::kBatch || is_one(b, from_end(a))) && (role_b != Role::kBatch || is_one(a, from_end(b)));
    if (!apart || !right.of_inputs) return unclear(kCrossed);
    call.Mix(left, kCrossed);
    return std::nullopt;
  }
  const size_t rows = role_a != Role::kNone ? a : b;
  const size_t other = rows == a ? b : a;
  const BatchState& state = call.in(rows);
  const Role role = rows == a ? role_a : role_b;
  if (role == Role::kColumn) return BatchState::Rows(rank - 1 - vectors, state.per_row, state.of_inputs, state.outer);
  // A vector on the right leaves no columns.
  if (role == Role::kRow) return BatchState::Rows(rank - 2, state.per_row, state.of_inputs, state.outer);
  if (!is_one(other, from_end(rows))) return unclear("has along the rows a size that is not theirs");
  return BatchState::Rows(rank - from_end(rows), state.per_row, state.of_inputs, state.outer);
}

}  // namespace

void Softmax(BatchCall& call) {
  if (!call.AllClear()) return;
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  const BatchState& state = call.in(0);
  const auto dim = call.rank(0) ? Dimension(call.facts.number("dim"), *call.rank(0)) : std::nullopt;
  if (!dim || !state.is_rows()) return call.Unclear("works along a dimension that is not known");
  if (*dim == state.axis) return call.Mix(state, "is taken over all rows");
  call.Give(state);
}

void LayerNorm(BatchCall& call) {
  if (!OnlyFirstIsRows(call)) return;
  const BatchState& state = call.in(0);
  const std::optional<KnownSizes> shape = call.facts.numbers("normalized_shape");
  if (!shape || call.outputs().size() != 1) return call.Unclear("normalizes dimensions that are not known");
  if (state.axis + shape->size() >= *call.rank(0)) return call.Mix(state, "normalizes over all rows");
  call.Give(state);
}

// And of instances: of each image and its channels.
void GroupNorm(BatchCall& call) {
  if (!OnlyFirstIsRows(call)) return;
  if (call.in(0).axis != 0) return call.Unclear(kAxis);
  call.Give(call.in(0));
}

void BatchNorm(BatchCall& call) {
  if (!OnlyFirstIsRows(call)) return;
  const BatchState& state = call.in(0);
  const std::optional<bool> training = call.facts.flag("training");
  if (!training || call.outputs().size() != 1) return call.Unclear("may normalize by what all rows have together");
  if (state.axis == 1) return call.Unclear(kAxis);
  if (*training) return call.Mix(state, "normalizes by what all rows have together");
  call.Give(state);
}

void Linear(BatchCall& call) {
  if (!OnlyFirstIsRows(call)) return;
  const BatchState& state = call.in(0);
  if (state.axis + 1 == *call.rank(0)) return call.Mix(state, "adds up what rows have");
  call.Give(state);
}

void Matmul(BatchCall& call) {
  if (!call.AllClear()) return;
  if (const auto product = ProductOf(call, 0, 1)) call.Give(*product);
}

void AddedMatmul(BatchCall& call) {
  if (!call.AllClear()) return;
  const std::optional<BatchState> product = ProductOf(call, 1, 2);
  if (!product) return;
  const BatchOperand operands[] = {{&call.in(0), &call.facts.in(0)}, {&*product, &call.facts.out()}};
  GiveBroadcast(call, operands);
}

void Outer(BatchCall& call) {
  if (!call.AllClear()) return;
  const BatchState &a = call.in(0), &b = call.in(1);
  if (a.is_rows() && b.is_rows()) return b.of_inputs ? call.Mix(a, "combines each row with each") : call.Unclear(kAxis);
  if (!a.is_rows() && !b.is_rows()) return call.Give(BatchState::Uniform());
  call.GiveRows(a.is_rows() ? a : b, a.is_rows() ? 0 : 1);
}

// Where the equation names each dimension by a letter, and says those of the result.
void Einsum(BatchCall& call) {
  if (!call.AllClear({1})) return;
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  constexpr std::string_view kEquation = "has an equation that is not understood";
  const c10::IValue* constant = call.facts.constant(size_t{0});
  const BatchState& operands = call.in(1);
  if (constant == nullptr || operands.kind != Kind::kContainer) return call.Unclear(kEquation);
  std::string equation = constant->toStringRef();
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos) return call.Unclear(kEquation);
  std::vector<std::string> labels(1);
  for (const char label : equation.substr(0, arrow)) {
    if (label == ',') labels.emplace_back();
    if (label != ',') labels.back() += label;
  }
  if (labels.size() != operands.elements.size()) return call.Unclear(kEquation);
  char rows = 0;
  BatchState all;
  for (size_t i = 0; i < labels.size(); ++i) {
    const BatchState& state = operands.elements[i];
    if (!state.is_rows()) continue;
    if (state.axis >= labels[i].size()) return call.Unclear(kEquation);
    const char label = labels[i][state.axis];
    if (rows != 0 && state.outer != all.outer) return call.Unclear(kAxis);
    if (rows != 0 && rows != label) {
      return all.of_inputs && state.of_inputs ? call.MixSurely("combines each row with each") : call.Unclear(kAxis);
    }
    const bool of_inputs = state.of_inputs || (rows != 0 && all.of_inputs);
    all = state;
    all.of_inputs = of_inputs;
    rows = label;
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto times = std::ranges::count(labels[i], rows);
    if (times != (operands.elements[i].is_rows() ? 1 : 0)) return call.Unclear(kAxis);
  }
  const size_t place = equation.substr(arrow + 2).find(rows);
  if (place == std::string::npos) return call.Mix(all, "adds up what rows have");
  call.GiveRows(all, place);
}

// Of images in a batch; of one image without a batch the first dimension is its channels.
void Convolution(BatchCall& call) {
  if (!OnlyFirstIsRows(call)) return;
  const BatchState& state = call.in(0);
  static const c10::Symbol kStepsFirst = c10::Symbol::fromQualString("aten::conv_tbc");
  const size_t batch = call.facts.node().kind() == kStepsFirst ? 1 : 0;
  if (call.rank(0) != call.rank(1) || state.axis != batch) return call.Unclear(kAxis);
  call.Give(state);
}

// Pooling, resampling: of each channel apart, along as many dimensions as the operator's name says.
void Images(BatchCall& call) {
  if (!call.AllClear()) return;
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  const std::optional<size_t> dimensions = ImageDimensions(call);
  const BatchState& state = call.in(0);
  if (!dimensions || !call.rank(0) || !state.is_rows() || state.axis + *dimensions >= *call.rank(0))
    return call.Unclear(kAxis);
  // The grid that tells where to look has a batch, too.
  for (size_t i = 1; i < call.facts.num_inputs(); ++i) {
    if (!call.facts.is_tensor_type(i)) continue;
    const BatchState& grid = call.in(i);
    if (state.axis != 0 || !grid.is_rows() || grid.axis != 0 || grid.outer != state.outer) return call.Unclear(kAxis);
  }
  call.Give(state);
}

void Pad(BatchCall& call) {
  if (!OnlyFirstIsRows(call)) return;
  const BatchState& state = call.in(0);
  const std::optional<KnownSizes> pads = call.facts.numbers(call.facts.has("pad") ? "pad" : "padding");
  if (!pads) return call.Unclear("pads dimensions that are not known");
  const size_t from_end = *call.rank(0) - state.axis;
  if (2 * from_end <= pads->size() && ((*pads)[2 * from_end - 1] != 0 || (*pads)[2 * from_end - 2] != 0))
    return call.Unclear(kAxis);
  call.Give(state);
}

// Queries, keys, values and a mask, whose last two dimensions are the steps and what each of them has.
void Attention(BatchCall& call) {
  if (!call.AllClear()) return;
  std::vector<BatchOperand> operands;
  for (size_t i = 0; i < std::min<size_t>(call.facts.num_inputs(), 4); ++i) {
    if (call.in(i).kind != Kind::kNever) operands.push_back({&call.in(i), &call.facts.in(i)});
  }
  GiveBroadcast(call, operands, 2);
}

// Layers whose sequences come first, with a mask of sequences or of steps.
void EncoderLayer(BatchCall& call) {
  if (!call.AllClear()) return;
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  const size_t mask = call.facts.find("mask");
  for (size_t i = 0; i < call.facts.num_inputs(); ++i) {
    const BatchState state = JoinOfElements(call.in(i));
    const std::string& name = call.facts.node().op()->schema().arguments()[i].name();
    const bool sequences = name == "src" || name == "query" || name == "key" || name == "value";
    const bool in_order = !state.is_rows() || (state.axis == 0 && state.outer == 1);
    if (!in_order || (sequences && (!state.is_rows() || call.rank(i) != size_t{3}))) return call.Unclear(kAxis);
    if (sequences || state.is_uniform()) continue;
    constexpr int64_t kOfSequences = 1;
    if (i != mask || call.facts.number("mask_type") != kOfSequences) return call.Unclear(kWeights);
  }
  call.Give(call.in(0));
}

// Layers of LSTM, GRU or RNN cells, and the state that they begin with.
void Recurrence(BatchCall& call) {
  if (!call.AllClear()) return;
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  const std::optional<bool> batch_first = call.facts.flag("batch_first");
  const BatchState& input = call.in(0);
  if (!batch_first || !input.is_rows() || !call.rank(0)) return call.Unclear("runs along what is not known");
  const size_t steps = *call.rank(0) == 3 && *batch_first ? 1 : 0;
  if (input.axis == steps) return call.Mix(input, "runs along the rows as if they were steps");
  if (*call.rank(0) != 3 || input.axis == 2) return call.Unclear(kAxis);
  const BatchState begin = JoinOfElements(call.in(1));
  if (!begin.is_rows() || begin.axis != 1 || begin.outer != input.outer)
    return call.Unclear("begins with a state that is not of the rows");
  for (size_t i = 2; i < call.facts.num_inputs(); ++i) {
    if (!JoinOfElements(call.in(i)).is_uniform()) return call.Unclear(kWeights);
  }
  for (size_t i = 0; i < call.outputs().size(); ++i)
    call.out(i) =
        BatchState::Rows(i == 0 ? input.axis : 1, input.per_row, input.of_inputs || begin.of_inputs, input.outer);
}

// One step of such a layer.
void Cell(BatchCall& call) {
  if (!call.AllClear()) return;
  if (call.AllUniform()) return call.Give(BatchState::Uniform());
  const BatchState begin = JoinOfElements(call.in(1));
  for (size_t i = 2; i < call.facts.num_inputs(); ++i) {
    if (!JoinOfElements(call.in(i)).is_uniform()) return call.Unclear(kWeights);
  }
  const BatchState& input = call.in(0);
  if (!input.is_rows() || !begin.is_rows() || input.axis != 0 || begin.axis != 0 || begin.outer != input.outer ||
      call.rank(0) != size_t{2})
    return call.Unclear(kAxis);
  call.Give(BatchState::Rows(0, input.per_row, input.of_inputs || begin.of_inputs, input.outer));
}

void Embedding(BatchCall& call) {
  if (!call.AllClear()) return;
  if (!call.in(0).is_uniform()) return call.Unclear(kWeights);
  call.Give(call.in(1).is_rows() ? call.in(1) : BatchState::Uniform());
}

// The weight is one, or one for each of dimension 1.
void Prelu(BatchCall& call) {
  if (!OnlyFirstIsRows(call)) return;
  if (call.in(0).axis == 1) return call.Unclear(kAxis);
  call.Give(call.in(0));
}

}  // namespace hearth::batch
