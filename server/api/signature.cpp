#include "server/api/signature.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <exception>
#include <new>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/support/memory_account.h"
#include "server/api/tensor_path.h"
#include "server/api/value_from_tensors.h"
#include "server/api/warmup_sample.h"

namespace hearth::server {
namespace {

template <typename... Words>
absl::Status Wrong(const std::string& name, const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat("input '", name, "' ", words...));
}

// 3 for "INPUT__3".
std::optional<int> PositionIn(const std::string& head) {
  const size_t mark = head.rfind("__");
  int position = 0;
  if (mark == std::string::npos || mark + 2 == head.size()) return std::nullopt;
  for (size_t i = mark + 2; i < head.size(); ++i) {
    if (head[i] < '0' || head[i] > '9') return std::nullopt;
  }
  if (!absl::SimpleAtoi(head.substr(mark + 2), &position)) return std::nullopt;
  return position;
}

// A tensor whose path another one has; null if there is none.
const WireTensor* FindRepeated(const std::vector<TensorAtPath>& parts) {
  if (parts.size() < 2) return nullptr;
  std::set<std::string_view> seen;
  for (const TensorAtPath& part : parts) {
    if (!seen.insert(part.path).second) return part.tensor;
  }
  return nullptr;
}

// The parts of a type, as metadata lists them.
void AppendSpecs(const c10::Type& type, const std::string& name, bool optional, std::vector<TensorSpec>& specs) {
  if (type.kind() == c10::TypeKind::OptionalType) {
    return AppendSpecs(*type.expectRef<c10::OptionalType>().getElementType(), name, true, specs);
  }
  const auto part = [&](const std::string& child) { return name.empty() ? child : JoinPath(name, child); };
  switch (type.kind()) {
    case c10::TypeKind::TupleType: {
      const auto& tuple = type.expectRef<c10::TupleType>();
      for (size_t i = 0; i < tuple.elements().size(); ++i) {
        const std::string child = tuple.schema() != nullptr ? tuple.schema()->arguments()[i].name() : std::to_string(i);
        AppendSpecs(*tuple.elements()[i], part(child), optional, specs);
      }
      return;
    }
    case c10::TypeKind::ListType:
      if (IsOneTensor(type)) break;
      return AppendSpecs(*type.expectRef<c10::ListType>().getElementType(), part("*"), optional, specs);
    case c10::TypeKind::DictType:
      return AppendSpecs(*type.expectRef<c10::DictType>().getValueType(), part("*"), optional, specs);
    case c10::TypeKind::NoneType:
      return;
    default:
      break;
  }
  TensorSpec spec{name, DatatypeOf(type), std::nullopt, optional};
  if (type.kind() == c10::TypeKind::ListType) {
    spec.shape = {-1};
  } else if (spec.datatype != nullptr) {
    spec.shape.emplace();
  }
  specs.push_back(std::move(spec));
}

template <typename Tensor>
TensorSpec SpecOfConfig(const Tensor& tensor, int max_batch_size) {
  TensorSpec spec{tensor.name(), FindDatatype(tensor.data_type()), std::nullopt, false};
  spec.shape.emplace();
  if (max_batch_size > 0) spec.shape->push_back(-1);
  spec.shape->insert(spec.shape->end(), tensor.dims().begin(), tensor.dims().end());
  return spec;
}

// Gives a tensor the shape that `reshape` says, behind the batch dimension if there is one. -1 is the size that is
// left.
template <typename Reshape>
void ApplyReshape(const Reshape& reshape, bool batched, WireTensor& tensor) {
  std::vector<int64_t> shape;
  if (batched) shape.push_back(tensor.shape.at(0));
  shape.insert(shape.end(), reshape.shape().begin(), reshape.shape().end());
  if (!tensor.datatype->is_bytes()) {
    tensor.tensor = tensor.tensor.reshape(shape);
    shape = tensor.tensor.sizes().vec();
  }
  tensor.shape = std::move(shape);
}

}  // namespace

Signature::Signature(const c10::FunctionSchema& schema, const inference::ModelConfig& config)
    : schema_(schema), config_(config) {}

absl::StatusOr<std::unique_ptr<const Signature>> Signature::Create(const c10::FunctionSchema& schema,
                                                                   const inference::ModelConfig& config) {
  std::unique_ptr<Signature> signature(new Signature(schema, config));
  if (absl::Status status = signature->ResolveConfiguredInputs(); !status.ok()) return status;
  return std::unique_ptr<const Signature>(std::move(signature));
}

absl::Status Signature::ResolveConfiguredInputs() {
  const auto& inputs = config_.input();
  if (inputs.empty()) return absl::OkStatus();
  const auto all = [&](auto resolves) { return std::all_of(inputs.begin(), inputs.end(), resolves); };
  const bool by_name = all([&](const auto& input) { return ByName(input.name()).has_value(); });
  const bool by_position = !by_name && all([&](const auto& input) { return ByPosition(input.name()).has_value(); });
  const bool by_key = !by_name && !by_position && TakesOneDict();
  if (!by_name && !by_position && !by_key && inputs.size() > argument_count()) {
    return absl::InvalidArgumentError(absl::StrCat("the configuration has ", inputs.size(), " inputs, but '",
                                                   schema_.name(), "' takes ", argument_count(),
                                                   " arguments: ", KnownInputs()));
  }
  for (int i = 0; i < inputs.size(); ++i) {
    const inference::ModelInput& input = inputs[i];
    Target target{i, ""};
    if (by_name) target = *ByName(input.name());
    if (by_position) target = *ByPosition(input.name());
    if (by_key) target = {0, input.name()};
    configured_inputs_[input.name()] = {&input, std::move(target)};
  }
  return absl::OkStatus();
}

bool Signature::TakesOneDict() const {
  return argument_count() == 1 && argument(0).type()->kind() == c10::TypeKind::DictType;
}

std::optional<Signature::Target> Signature::ByName(const std::string& name) const {
  auto [head, rest] = SplitPath(name);
  for (int i = 0; i < argument_count(); ++i) {
    if (argument(i).name() == head) return Target{i, std::move(rest)};
  }
  return std::nullopt;
}

std::optional<Signature::Target> Signature::ByPosition(const std::string& name) const {
  auto [head, rest] = SplitPath(name);
  const std::optional<int> position = PositionIn(head);
  if (!position.has_value() || *position >= argument_count()) return std::nullopt;
  return Target{*position, std::move(rest)};
}

absl::StatusOr<Signature::Target> Signature::Resolve(const std::string& name) const {
  if (auto target = ByName(name)) return *std::move(target);
  if (auto target = ByPosition(name)) return *std::move(target);
  if (TakesOneDict() && !name.empty()) return Target{0, name};
  return Wrong(name, "is not known; the model takes ", KnownInputs());
}

std::string Signature::DisplayName(int index) const {
  for (const auto& [name, configured] : configured_inputs_) {
    if (configured.target.index == index && configured.target.path.empty()) return name;
  }
  return argument(index).name();
}

std::string Signature::KnownInputs() const {
  std::vector<std::string> known;
  if (!configured_inputs_.empty()) {
    for (const auto& input : config_.input()) known.push_back(absl::StrCat("'", input.name(), "'"));
  } else {
    for (int i = 0; i < argument_count(); ++i) {
      known.push_back(absl::StrCat("'", argument(i).name(), "' (", argument(i).type()->annotation_str(), ")"));
    }
  }
  return known.empty() ? "no inputs" : absl::StrJoin(known, ", ");
}

absl::Status Signature::CheckAgainst(const inference::ModelInput& config, WireTensor& tensor) const {
  const Datatype* wanted = FindDatatype(config.data_type());
  if (tensor.datatype != wanted) {
    return Wrong(tensor.name, "expects the datatype ", wanted->name, ", got ", tensor.datatype->name);
  }
  const bool batched = config_.max_batch_size() > 0;
  std::vector<int64_t> dims;
  if (batched) dims.push_back(-1);
  dims.insert(dims.end(), config.dims().begin(), config.dims().end());
  if (tensor.shape.size() != dims.size()) {
    return Wrong(tensor.name, "expects ", dims.size(), " dimensions, ", ShapeText(dims), ", got ", tensor.shape.size(),
                 ": ", ShapeText(tensor.shape));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != -1 && dims[i] != tensor.shape[i]) {
      return Wrong(tensor.name, "expects the shape ", ShapeText(dims), ", got ", ShapeText(tensor.shape));
    }
  }
  if (batched && tensor.shape[0] > config_.max_batch_size()) {
    return Wrong(tensor.name, "has a batch of ", tensor.shape[0], "; the model takes at most ",
                 config_.max_batch_size());
  }
  if (config.has_reshape()) ApplyReshape(config.reshape(), batched, tensor);
  return absl::OkStatus();
}

absl::StatusOr<BoundArguments> Signature::Bind(std::vector<WireTensor> inputs) const try {
  BoundArguments bound;
  std::vector<std::vector<TensorAtPath>> parts(argument_count());
  for (WireTensor& tensor : inputs) {
    Target target;
    auto configured = configured_inputs_.find(tensor.name);
    if (configured != configured_inputs_.end()) {
      if (absl::Status status = CheckAgainst(*configured->second.config, tensor); !status.ok()) return status;
      target = configured->second.target;
    } else {
      auto resolved = Resolve(tensor.name);
      if (!resolved.ok()) return resolved.status();
      target = *std::move(resolved);
    }
    parts[target.index].push_back({std::move(target.path), &tensor});
  }
  if (config_.max_batch_size() > 0 && !inputs.empty() && !inputs[0].shape.empty()) {
    bound.batch_size = inputs[0].shape[0];
  }
  bool hole = false;
  for (int i = 0; i < argument_count(); ++i) {
    if (parts[i].empty() && argument(i).default_value().has_value()) {
      hole = true;
      continue;
    }
    if (const WireTensor* repeated = FindRepeated(parts[i])) return Wrong(repeated->name, "is given more than once");
    auto value = ValueFromTensors(argument(i).type(), DisplayName(i), std::move(parts[i]));
    if (!value.ok()) return value.status();
    if (hole || argument(i).kwarg_only()) {
      bound.kwargs.emplace_back(argument(i).name(), *std::move(value));
    } else {
      bound.args.push_back(*std::move(value));
    }
  }
  return bound;
} catch (const std::bad_alloc&) {
  throw;
} catch (const std::exception& error) {
  // LibTorch refuses some conversions by throwing (an integer too large, a device without memory).
  return absl::InvalidArgumentError(absl::StrCat("the inputs cannot be made into arguments: ", error.what()));
}

absl::StatusOr<BoundArguments> Signature::BindWarmup(const inference::ModelWarmup& sample) const try {
  auto tensors = WarmupTensors(sample, config_.max_batch_size() > 0);
  if (!tensors.ok()) return tensors.status();
  return Bind(*std::move(tensors));
} catch (const MemoryLimitError& error) {
  return absl::ResourceExhaustedError(absl::StrCat("making the sample ", error.what()));
} catch (const std::exception& error) {
  return absl::InvalidArgumentError(absl::StrCat("the sample cannot be made: ", error.what()));
}

// The parts of an answer, found by the names that clients give them. Refers to the parts.
class Signature::Answer {
 public:
  Answer(const Signature& signature, const std::vector<WireTensor>& leaves) : signature_(signature), leaves_(leaves) {
    for (size_t i = 0; i < leaves.size(); ++i) {
      places_.try_emplace(leaves[i].name, i);
      std::string head = SplitPath(leaves[i].name).first;
      if (heads_.empty() || heads_.back() != head) heads_.push_back(std::move(head));
    }
    for (int i = 0; i < signature.config_.output_size() && i < static_cast<int>(leaves.size()); ++i) {
      configured_.try_emplace(signature.config_.output(i).name(), i);
    }
  }

  // Null: it is not there.
  const WireTensor* Find(const std::string& name) const {
    if (const WireTensor* leaf = AtPath(name); leaf != nullptr && !name.empty()) return leaf;
    auto [head, rest] = SplitPath(name);
    if (const std::optional<int> position = PositionIn(head)) {
      if (leaves_.size() == 1 && leaves_[0].name.empty()) return *position == 0 && rest.empty() ? &leaves_[0] : nullptr;
      if (const WireTensor* leaf = AtPath(JoinPath(std::to_string(*position), rest))) return leaf;
      // Of a dict or of named fields: the part at that place.
      if (*position >= static_cast<int>(heads_.size())) return nullptr;
      return AtPath(JoinPath(heads_[*position], rest));
    }
    const auto place = configured_.find(name);
    return place == configured_.end() ? nullptr : &leaves_[place->second];
  }

 private:
  const WireTensor* AtPath(const std::string& path) const {
    const auto place = places_.find(path);
    return place == places_.end() ? nullptr : &leaves_[place->second];
  }

  const Signature& signature_;
  const std::vector<WireTensor>& leaves_;
  absl::flat_hash_map<std::string, size_t> places_, configured_;
  std::vector<std::string> heads_;
};

absl::Status Signature::FinishOutput(WireTensor& leaf) const {
  if (!leaf.datatype->is_bytes()) leaf.tensor = ReadyToSend(std::move(leaf.tensor));
  for (const inference::ModelOutput& output : config_.output()) {
    if (output.name() != leaf.name) continue;
    const Datatype* wanted = FindDatatype(output.data_type());
    if (wanted != leaf.datatype) {
      return absl::InternalError(absl::StrCat("output '", leaf.name, "' is ", leaf.datatype->name,
                                              "; the model's configuration says ", wanted->name));
    }
    const bool batched = config_.max_batch_size() > 0 && !leaf.shape.empty();
    if (output.has_reshape()) {
      // The model's shape is the reshape's; clients see dims.
      inference::ModelTensorReshape dims;
      *dims.mutable_shape() = output.dims();
      ApplyReshape(dims, batched, leaf);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<WireTensor>> Signature::Unbind(c10::IValue result,
                                                          const std::vector<std::string>& requested) const try {
  auto flat = TensorsFromValue(result);
  if (!flat.ok()) return flat.status();
  // The leaves hold what they need; what they hold alone need not be copied.
  result = c10::IValue();
  std::vector<WireTensor>& leaves = *flat;

  std::vector<std::string> names = requested;
  if (names.empty()) {
    for (const auto& output : config_.output()) names.push_back(output.name());
  }
  std::vector<WireTensor> outputs;
  if (names.empty()) {
    for (WireTensor& leaf : leaves) {
      if (leaf.name.empty()) leaf.name = kOnlyOutput;
    }
    outputs = std::move(leaves);
  } else {
    const Answer answer(*this, leaves);
    for (const std::string& name : names) {
      const WireTensor* leaf = answer.Find(name);
      if (leaf == nullptr) {
        const std::string there = absl::StrJoin(leaves, ", ", [](std::string* out, const WireTensor& l) {
          absl::StrAppend(out, "'", l.name.empty() ? kOnlyOutput : l.name, "'");
        });
        const std::string message =
            absl::StrCat("output '", name, "' is not in the answer, which has ", there.empty() ? "none" : there);
        return requested.empty() ? absl::InternalError(message) : absl::InvalidArgumentError(message);
      }
      outputs.push_back(*leaf);
      outputs.back().name = name;
    }
    leaves.clear();
  }
  std::erase_if(outputs, [](const WireTensor& output) { return output.datatype == nullptr; });
  for (WireTensor& output : outputs) {
    if (absl::Status status = FinishOutput(output); !status.ok()) return status;
  }
  return outputs;
} catch (const std::bad_alloc&) {
  throw;
} catch (const std::exception& error) {
  return absl::InternalError(absl::StrCat("the model's answer cannot be sent: ", error.what()));
}

std::vector<TensorSpec> Signature::inputs() const {
  std::vector<TensorSpec> specs;
  for (const auto& input : config_.input()) {
    specs.push_back(SpecOfConfig(input, config_.max_batch_size()));
    specs.back().optional = input.optional();
  }
  if (!specs.empty()) return specs;
  for (int i = 0; i < argument_count(); ++i) {
    AppendSpecs(*argument(i).type(), argument(i).name(), argument(i).default_value().has_value(), specs);
  }
  return specs;
}

std::vector<TensorSpec> Signature::outputs() const {
  std::vector<TensorSpec> specs;
  for (const auto& output : config_.output()) specs.push_back(SpecOfConfig(output, config_.max_batch_size()));
  if (!specs.empty() || schema_.returns().empty()) return specs;
  AppendSpecs(*schema_.returns()[0].type(), "", false, specs);
  for (TensorSpec& spec : specs) {
    if (spec.name.empty()) spec.name = kOnlyOutput;
  }
  return specs;
}

}  // namespace hearth::server
