#include "server/scheduling/padded_values.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "jit/support/tensors_in.h"

namespace hearth::server {
namespace {

using c10::IValue;

// The part of a tuple, list or dict that a path begins with; takes it off the path. Nothing: it has none of that name.
std::optional<IValue> PartOf(const IValue& value, std::string_view& path) {
  const size_t dot = path.find('.');
  const std::string_view whole = path;
  const std::string_view head = path.substr(0, dot);
  path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  size_t index = 0;
  const bool is_index = absl::SimpleAtoi(absl::string_view(head.data(), head.size()), &index);
  if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    if (const auto& schema = value.toTupleRef().type()->schema()) {
      for (size_t i = 0; i < elements.size(); ++i) {
        if (schema->arguments()[i].name() == head) return elements[i];
      }
    }
    return is_index && index < elements.size() ? std::optional<IValue>(elements[index]) : std::nullopt;
  }
  if (value.isList()) {
    const c10::List<IValue> list = value.toList();
    return is_index && index < list.size() ? std::optional<IValue>(list.get(index)) : std::nullopt;
  }
  if (!value.isGenericDict()) return std::nullopt;
  for (const auto& entry : value.toGenericDict()) {
    if (!entry.key().isString()) continue;
    if (entry.key().toStringRef() == head) return entry.value();
    if (entry.key().toStringRef() != whole) continue;
    path = {};
    return entry.value();
  }
  return std::nullopt;
}

// Null if there is none at that path.
const c10::TensorImpl* TensorAt(IValue value, std::string_view path) {
  while (!path.empty()) {
    std::optional<IValue> part = PartOf(value, path);
    if (!part) return nullptr;
    value = *std::move(part);
  }
  return value.isTensor() && value.toTensor().defined() ? value.toTensor().unsafeGetTensorImpl() : nullptr;
}

const IValue* ArgumentOf(const CallArguments& call, const BatchPadding::Input& input) {
  if (input.argument < call.args.size()) return &call.args[input.argument];
  const auto named = std::ranges::find(call.kwargs, input.argument_name, [](const auto& each) { return each.first; });
  return named == call.kwargs.end() ? nullptr : &named->second;
}

}  // namespace

PaddedTensors FindPadded(const CallArguments& call, const BatchPadding& padding) {
  PaddedTensors padded;
  for (size_t i = 0; i < padding.inputs.size(); ++i) {
    const IValue* argument = ArgumentOf(call, padding.inputs[i]);
    const c10::TensorImpl* tensor = argument == nullptr ? nullptr : TensorAt(*argument, padding.inputs[i].path);
    if (tensor != nullptr && tensor->dim() > padding.inputs[i].dimension) padded[tensor].push_back(i);
  }
  return padded;
}

at::Tensor ConcatenatePadded(std::span<const at::Tensor> tensors, int64_t repeats, const NewLockedTensor& make,
                             const BatchPadding& padding, std::span<const size_t> entries,
                             std::span<const int64_t> lengths) {
  std::vector<int64_t> sizes = tensors.front().sizes().vec();
  sizes[0] = repeats;
  for (const at::Tensor& tensor : tensors) sizes[0] += tensor.size(0);
  for (const size_t entry : entries) sizes[padding.inputs[entry].dimension] = lengths[entry];
  at::Tensor all = make(sizes, tensors.front().scalar_type());
  if (!all.defined()) all = at::empty(sizes, tensors.front().options());
  all.fill_(padding.inputs[entries.front()].value);
  int64_t row = 0;
  const auto put = [&](const at::Tensor& rows) {
    at::Tensor place = all.narrow(0, row, rows.size(0));
    for (const size_t entry : entries) {
      const int64_t dimension = padding.inputs[entry].dimension;
      place = place.narrow(dimension, 0, rows.size(dimension));
    }
    place.copy_(rows);
    row += rows.size(0);
  };
  for (const at::Tensor& tensor : tensors) put(tensor);
  const at::Tensor& last = tensors.back();
  for (int64_t i = 0; i < repeats; ++i) put(last.narrow(0, last.size(0) - 1, 1));
  return all;
}

bool Trim(IValue& answer, const BatchPadding& padding, std::span<const int64_t> own,
          std::span<const int64_t> of_batch) {
  std::map<const c10::TensorImpl*, std::vector<size_t>> cut;
  for (size_t i = 0; i < padding.outputs.size(); ++i) {
    const BatchPadding::Output& output = padding.outputs[i];
    // Of an argument that was not given there is no length.
    if (own[output.input] == of_batch[output.input]) continue;
    const c10::TensorImpl* tensor = TensorAt(answer, output.path);
    if (tensor == nullptr || tensor->dim() <= output.dimension ||
        tensor->size(output.dimension) != of_batch[output.input])
      return false;
    cut[tensor].push_back(i);
  }
  if (cut.empty()) return true;
  answer = MapTensors(answer, [&](const at::Tensor& tensor) {
    const auto found = cut.find(tensor.unsafeGetTensorImpl());
    at::Tensor part = tensor;
    if (found == cut.end()) return part;
    for (const size_t i : found->second) {
      const BatchPadding::Output& output = padding.outputs[i];
      part = part.narrow(output.dimension, 0, own[output.input]);
    }
    return part;
  });
  return true;
}

}  // namespace hearth::server
