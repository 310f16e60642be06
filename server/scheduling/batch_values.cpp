#include "server/scheduling/batch_values.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/cat.h>
#include <c10/util/Exception.h>

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/support/tensors_in.h"
#include "server/scheduling/padded_values.h"
#include "server/scheduling/value_key.h"

namespace hearth::server {
namespace {

using c10::IValue;
using c10::TypeKind;

bool HasRows(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && tensor.dim() > 0 && tensor.size(0) > 0;
}

// Writes what tensors of calls that fit each other agree in, and counts their rows.
struct AppendRows {
  BatchKey& key;
  const BatchPadding& lengths;
  const PaddedTensors& padded;

  // False for what is in no batch.
  bool operator()(std::string& text, const at::Tensor& tensor) const {
    // What is on a GPU already was put there by its client, and is copied there by its own run.
    if (!HasRows(tensor) || !tensor.is_cpu()) return false;
    if (key.rows == 0) key.rows = tensor.size(0);
    if (tensor.size(0) != key.rows) return false;
    AppendBytes(text, 'T');
    AppendBytes(text, tensor.scalar_type());
    AppendBytes(text, tensor.dim());
    std::vector<int64_t> sizes = tensor.sizes().vec();
    if (const auto found = padded.find(tensor.unsafeGetTensorImpl()); found != padded.end()) {
      for (const size_t entry : found->second) {
        int64_t& size = sizes[lengths.inputs[entry].dimension];
        // Without elements it is its own matter.
        if (size == 0) return false;
        key.lengths[entry] = std::exchange(size, -1);
      }
    }
    for (const int64_t size : std::span(sizes).subspan(1)) AppendBytes(text, size);
    return true;
  }
};

std::vector<at::Tensor> TensorsIn(const IValue& value) {
  std::vector<at::Tensor> tensors;
  VisitPairs(value, value, [&](const at::Tensor& tensor, const at::Tensor&) { tensors.push_back(tensor); });
  return tensors;
}

// A value that is alike in each of several, with each tensor made by `join` of theirs.
template <typename Join>
IValue JoinValues(std::span<const IValue> values, Join join) {
  std::vector<std::vector<at::Tensor>> columns;
  for (const IValue& value : values) {
    const std::vector<at::Tensor> tensors = TensorsIn(value);
    if (columns.empty()) columns.resize(tensors.size());
    TORCH_CHECK(columns.size() == tensors.size(), "one has ", columns.size(), " tensors, another ", tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) columns[i].push_back(tensors[i]);
  }
  size_t next = 0;
  return MapTensors(values.front(), [&](const at::Tensor&) { return join(columns.at(next++)); });
}

// Makes the tensors of a batch.
class Concatenation {
 public:
  Concatenation(std::span<const CallArguments* const> calls, int64_t padding, const NewLockedTensor& make,
                const BatchPadding& lengths, std::span<const int64_t> to)
      : calls_(calls),
        padding_(padding),
        make_(make),
        lengths_(lengths),
        to_(to),
        padded_(FindPadded(*calls.front(), lengths)) {}

  // `value_of` gives each call's value of one argument.
  template <typename ValueOf>
  IValue Make(ValueOf value_of) const {
    std::vector<IValue> values;
    for (const CallArguments* call : calls_) values.push_back(value_of(*call));
    return JoinValues(values, [this](std::vector<at::Tensor>& column) { return Join(column); });
  }

 private:
  at::Tensor Join(std::vector<at::Tensor>& column) const {
    if (const auto found = padded_.find(column.front().unsafeGetTensorImpl()); found != padded_.end() && !to_.empty())
      return ConcatenatePadded(column, padding_, make_, lengths_, found->second, to_);
    column.resize(column.size() + padding_, column.back().narrow(0, column.back().size(0) - 1, 1));
    std::vector<int64_t> sizes = column.front().sizes().vec();
    sizes[0] = 0;
    for (const at::Tensor& rows : column) sizes[0] += rows.size(0);
    at::Tensor all = make_(sizes, column.front().scalar_type());
    if (!all.defined()) return at::cat(column, 0);
    at::cat_out(all, column, 0);
    return all;
  }

  const std::span<const CallArguments* const> calls_;
  const int64_t padding_;
  const NewLockedTensor& make_;
  const BatchPadding& lengths_;
  const std::span<const int64_t> to_;
  const PaddedTensors padded_;
};

bool IsOneValue(const c10::Type& type) {
  switch (type.kind()) {
    case TypeKind::IntType:
    case TypeKind::FloatType:
    case TypeKind::BoolType:
    case TypeKind::NumberType:
    case TypeKind::StringType:
    case TypeKind::NoneType:
      return true;
    case TypeKind::OptionalType:
      return IsOneValue(*type.expectRef<c10::OptionalType>().getElementType());
    default:
      return false;
  }
}

// Whether a value of the type is tensors and, where `or_values`, values that are the same for all rows.
bool IsTensors(const c10::Type& type, bool or_values) {
  if (type.kind() == TypeKind::TensorType) return true;
  if (const auto* tuple = type.castRaw<c10::TupleType>()) {
    for (const c10::TypePtr& element : tuple->elements()) {
      if (!IsTensors(*element, or_values)) return false;
    }
    return true;
  }
  if (const auto* list = type.castRaw<c10::ListType>()) return IsTensors(*list->getElementType(), false);
  if (const auto* dict = type.castRaw<c10::DictType>()) return IsTensors(*dict->getValueType(), false);
  if (const auto* optional = type.castRaw<c10::OptionalType>()) {
    return IsTensors(*optional->getElementType(), or_values);
  }
  return or_values && IsOneValue(type);
}

absl::Status Refused(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("dynamic_batching needs ", what));
}

}  // namespace

std::optional<BatchKey> BatchKeyOf(const CallArguments& call, const BatchPadding& lengths) {
  BatchKey key;
  key.lengths.resize(lengths.inputs.size());
  const PaddedTensors padded = FindPadded(call, lengths);
  if (!AppendCall(key.text, call, AppendRows{key, lengths, padded}) || key.rows == 0) return std::nullopt;
  return key;
}

CallArguments Concatenate(std::span<const CallArguments* const> calls, int64_t padding, const NewLockedTensor& make,
                          const BatchPadding& lengths, std::span<const int64_t> to) {
  const Concatenation concatenation(calls, padding, make, lengths, to);
  CallArguments all;
  for (size_t i = 0; i < calls.front()->args.size(); ++i) {
    all.args.push_back(concatenation.Make([i](const CallArguments& call) { return call.args[i]; }));
  }
  for (size_t i = 0; i < calls.front()->kwargs.size(); ++i) {
    all.kwargs.emplace_back(calls.front()->kwargs[i].first,
                            concatenation.Make([i](const CallArguments& call) { return call.kwargs[i].second; }));
  }
  return all;
}

IValue JoinAnswers(std::span<const IValue> answers) {
  return JoinValues(answers, [](const std::vector<at::Tensor>& column) { return at::cat(column, 0); });
}

std::optional<std::vector<IValue>> Split(const IValue& answer, std::span<const int64_t> rows, int64_t padding) {
  const int64_t all = std::accumulate(rows.begin(), rows.end(), padding);
  for (const at::Tensor& tensor : TensorsIn(answer)) {
    if (!HasRows(tensor) || tensor.size(0) != all) return std::nullopt;
  }
  std::vector<IValue> parts;
  int64_t first = 0;
  for (const int64_t count : rows) {
    parts.push_back(MapTensors(answer, [&](const at::Tensor& tensor) { return tensor.narrow(0, first, count); }));
    first += count;
  }
  return parts;
}

absl::StatusOr<std::string> CheckBatches(const Model& model, const c10::FunctionSchema& schema,
                                         std::span<const BatchArgument> arguments) {
  bool has_tensors = false;
  for (const c10::Argument& argument : std::span(schema.arguments()).subspan(1)) {
    if (!IsTensors(*argument.type(), /*or_values=*/true)) {
      return Refused(absl::StrCat("arguments of tensors, whose rows are the batch: argument '", argument.name(),
                                  "' of '", schema.name(), "' is ", argument.type()->annotation_str()));
    }
    has_tensors |= !IsOneValue(*argument.type());
  }
  if (!has_tensors)
    return Refused(absl::StrCat("an argument of tensors, whose rows are the batch: '", schema.name(), "' has none"));
  for (const c10::Argument& result : schema.returns()) {
    if (IsTensors(*result.type(), /*or_values=*/false)) continue;
    return Refused(absl::StrCat("answers of tensors, which have the rows of the batch: '", schema.name(), "' gives ",
                                result.type()->annotation_str()));
  }
  const auto effect = model.SideEffect(schema.name());
  if (!effect.ok()) return effect.status();
  if (!effect->empty())
    return Refused(absl::StrCat("a method that does nothing but answer: '", schema.name(), "' ", *effect));
  const auto proof = model.ProveBatch(schema.name(), arguments);
  if (!proof.ok()) return proof.status();
  switch (proof->verdict) {
    case BatchProof::Verdict::kIndependent:
      return absl::StrCat("proved: ", proof->text);
    case BatchProof::Verdict::kDependent:
      return Refused(absl::StrCat("rows that are along dimension 0 and do not depend on each other: of '",
                                  schema.name(), "' it is proved that ", proof->text));
    case BatchProof::Verdict::kUnknown:
      break;
  }
  return absl::StrCat("declared by max_batch_size; ", proof->text);
}

}  // namespace hearth::server
