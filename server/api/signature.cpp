#include "server/api/signature.h"

#include <ATen/core/jit_type.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <new>
#include <set>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/support/memory_account.h"
#include "server/api/tensor_path.h"
#include "server/api/value_from_tensors.h"
#include "server/api/warmup_sample.h"
#include "server/api/wrong_input.h"

namespace hearth::server {
namespace {

// A tensor whose path another one has; null if there is none.
const WireTensor* FindRepeated(const std::vector<TensorAtPath>& parts) {
  if (parts.size() < 2) return nullptr;
  std::set<std::string_view> seen;
  for (const TensorAtPath& part : parts) {
    if (!seen.insert(part.path).second) return part.tensor;
  }
  return nullptr;
}

template <typename Tensor>
TensorSpec SpecOfConfig(const Tensor& tensor, int max_batch_size) {
  TensorSpec spec{.name = tensor.name(), .datatype = FindDatatype(tensor.data_type())};
  spec.shape.emplace();
  if (max_batch_size > 0) spec.shape->push_back(-1);
  spec.shape->insert(spec.shape->end(), tensor.dims().begin(), tensor.dims().end());
  return spec;
}

// A shape with the size that -1 stands for; none if there is no such size.
std::optional<std::vector<int64_t>> FillShape(std::vector<int64_t> shape, int64_t elements) {
  int64_t known = 1;
  int64_t* open = nullptr;
  for (int64_t& size : shape) {
    if (size == -1) {
      open = &size;
    } else if (__builtin_mul_overflow(known, size, &known)) {
      return std::nullopt;
    }
  }
  if (open != nullptr && known > 0 && elements % known == 0) *open = elements / known;
  const bool fits = open == nullptr ? known == elements : *open != -1;
  return fits ? std::optional(std::move(shape)) : std::nullopt;
}

// Gives a tensor the shape that `reshape` says, behind the batch dimension if there is one. -1 is the size that is
// left. Says whether the tensor can have that shape.
template <typename Reshape>
bool ApplyReshape(const Reshape& reshape, bool batched, WireTensor& tensor) {
  std::vector<int64_t> wanted;
  if (batched) wanted.push_back(tensor.shape.at(0));
  wanted.insert(wanted.end(), reshape.shape().begin(), reshape.shape().end());
  auto shape = FillShape(std::move(wanted), CountElements(tensor.shape).value_or(-1));
  if (!shape.has_value()) return false;
  if (!tensor.datatype->is_bytes()) tensor.tensor = tensor.tensor.reshape(*shape);
  tensor.shape = *std::move(shape);
  return true;
}

// Without the C++ stack that LibTorch adds to its messages.
std::string ShortText(const std::exception& error) {
  const auto* const of_libtorch = dynamic_cast<const c10::Error*>(&error);
  return of_libtorch != nullptr ? of_libtorch->what_without_backtrace() : error.what();
}

// What is known of it from the schema completed by what was observed and, where that tells nothing, by what is assumed.
TensorSpec Completed(TensorSpec spec, const std::optional<TensorFacts>& facts) {
  if (spec.datatype == nullptr && facts.has_value()) {
    spec.datatype = facts->datatypes.front();
    spec.source = TensorSpec::Source::kObserved;
  }
  if (!spec.shape.has_value() && facts.has_value() && facts->shape.has_value()) {
    spec.shape = facts->shape;
    spec.source = TensorSpec::Source::kObserved;
  }
  if (spec.datatype == nullptr) {
    spec.datatype = FindDatatype("FP32");
    spec.source = TensorSpec::Source::kAssumed;
  }
  if (!spec.shape.has_value()) {
    spec.shape = {-1};
    spec.source = TensorSpec::Source::kAssumed;
  }
  return spec;
}

std::vector<TensorSpec> Completed(const SchemaTensors& tensors, const ObservedTensors* observed) {
  if (observed == nullptr) {
    std::vector<TensorSpec> specs = tensors.specs();
    for (TensorSpec& spec : specs) spec = Completed(std::move(spec), std::nullopt);
    return specs;
  }
  const std::vector<ObservedTensors::Named> named = observed->named();
  std::vector<TensorSpec> specs;
  for (size_t i = 0; i < tensors.specs().size(); ++i) {
    const TensorSpec& spec = tensors.specs()[i];
    const size_t before = specs.size();
    for (const ObservedTensors::Named& tensor : named) {
      if (tensor.number != i) continue;
      TensorSpec part = spec;
      part.name = tensor.name;
      specs.push_back(Completed(std::move(part), tensor.facts));
      specs.back().source = TensorSpec::Source::kObserved;
    }
    if (specs.size() == before) specs.push_back(Completed(spec, observed->FactsOf(i)));
  }
  return specs;
}

// The arguments and results, without the class that the method is of: it may be called otherwise in another archive.
std::string MethodText(const c10::FunctionSchema& schema) {
  std::string text;
  for (size_t i = 1; i < schema.arguments().size(); ++i) {
    absl::StrAppend(&text, schema.arguments()[i].name(), ": ", schema.arguments()[i].type()->annotation_str(), ", ");
  }
  for (const c10::Argument& result : schema.returns()) absl::StrAppend(&text, "-> ", result.type()->annotation_str());
  return text;
}

}  // namespace

void RecordObservation(ObservedCalls& known, const CallObservation& observation) {
  if (observation.inputs.empty() && observation.outputs.empty()) return;
  const MemoryAccount::Scope nobody(nullptr);
  if (!observation.inputs.empty()) known.inputs.Record(observation.inputs);
  if (!observation.outputs.empty()) known.outputs.Record(observation.outputs);
}

Signature::Signature(const c10::FunctionSchema& schema, const inference::ModelConfig& config)
    : schema_(schema),
      config_(WithSequenceTensors(config)),
      most_rows_(std::max<int64_t>(config.max_batch_size(), QueueSettingsOf(config).most_request_rows())),
      visible_inputs_(config.input_size()),
      visible_outputs_(config.output_size()),
      sequence_(config.has_sequence_batching() ? std::optional(SequenceSettingsOf(config)) : std::nullopt),
      arguments_(SchemaTensors::OfArguments(schema)),
      result_(SchemaTensors::OfResult(schema)) {}

absl::StatusOr<std::unique_ptr<Signature>> Signature::Create(const c10::FunctionSchema& schema,
                                                             const inference::ModelConfig& config) {
  std::unique_ptr<Signature> signature(new Signature(schema, config));
  if (absl::Status status = signature->ResolveConfiguredInputs(); !status.ok()) return status;
  signature->NameResult();
  return signature;
}

absl::Status Signature::ReadInitialStates(const DataFiles& files) {
  if (!sequence_) return absl::OkStatus();
  for (SequenceSettings::State& state : sequence_->states) {
    if (state.file.empty()) continue;
    auto read = files.Read(state.file, *FindDatatype(state.data_type), state.initial, kMostInitialBytes);
    if (!read.ok()) {
      return absl::Status(read.status().code(),
                          absl::StrCat("the initial state of '", state.input, "': ", read.status().message()));
    }
    state.read = *std::move(read);
  }
  return absl::OkStatus();
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
  return WrongInput(name, "is not known; the model takes ", KnownInputs());
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
    for (int i = 0; i < visible_inputs_; ++i) known.push_back(absl::StrCat("'", config_.input(i).name(), "'"));
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
    return WrongInput(tensor.name, "expects the datatype ", wanted->name, ", got ", tensor.datatype->name);
  }
  const bool batched = config_.max_batch_size() > 0;
  std::vector<int64_t> dims;
  if (batched) dims.push_back(-1);
  dims.insert(dims.end(), config.dims().begin(), config.dims().end());
  if (tensor.shape.size() != dims.size()) {
    return WrongInput(tensor.name, "expects ", dims.size(), " dimensions, ", ShapeText(dims), ", got ",
                      tensor.shape.size(), ": ", ShapeText(tensor.shape));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != -1 && dims[i] != tensor.shape[i]) {
      return WrongInput(tensor.name, "expects the shape ", ShapeText(dims), ", got ", ShapeText(tensor.shape));
    }
  }
  if (batched && tensor.shape[0] > most_rows_) {
    return WrongInput(tensor.name, "has a batch of ", tensor.shape[0], "; the model takes at most ", most_rows_);
  }
  if (config.has_reshape() && !ApplyReshape(config.reshape(), batched, tensor)) {
    return WrongInput(tensor.name, "of shape ", ShapeText(tensor.shape), " cannot be made into ",
                      ShapeText(config.reshape().shape()), ", as the model takes it");
  }
  return absl::OkStatus();
}

const Signature::ConfiguredInput* Signature::Configured(const std::string& name, const Target& target) const {
  if (const auto found = configured_inputs_.find(name); found != configured_inputs_.end()) return &found->second;
  for (const auto& [other, configured] : configured_inputs_) {
    if (configured.target == target) return &configured;
  }
  return nullptr;
}

absl::Status Signature::CheckAllGiven(const std::vector<const inference::ModelInput*>& given) const {
  for (const inference::ModelInput& input : config_.input()) {
    if (input.optional() || std::ranges::find(given, &input) != given.end()) continue;
    const Target& target = configured_inputs_.at(input.name()).target;
    return WrongInput(input.name(), "(", argument(target.index).type()->annotation_str(),
                      ") is missing; the model takes ", KnownInputs());
  }
  return absl::OkStatus();
}

absl::Status Signature::CheckInputs(const std::vector<std::string>& names) const {
  std::vector<const inference::ModelInput*> given;
  std::set<int> given_arguments;
  for (const std::string& name : names) {
    const auto found = configured_inputs_.find(name);
    auto target = found != configured_inputs_.end() ? absl::StatusOr<Target>(found->second.target) : Resolve(name);
    if (!target.ok()) return target.status();
    if (const ConfiguredInput* configured = Configured(name, *target)) given.push_back(configured->config);
    given_arguments.insert(target->index);
  }
  if (absl::Status status = CheckAllGiven(given); !status.ok()) return status;
  for (int i = 0; i < argument_count(); ++i) {
    const bool may_lack =
        argument(i).default_value().has_value() || argument(i).type()->kind() == c10::TypeKind::OptionalType ||
        argument(i).type()->kind() == c10::TypeKind::ListType || argument(i).type()->kind() == c10::TypeKind::DictType;
    if (may_lack || given_arguments.contains(i)) continue;
    return WrongInput(DisplayName(i), "(", argument(i).type()->annotation_str(), ") is missing; the model takes ",
                      KnownInputs());
  }
  return absl::OkStatus();
}

std::optional<SeenTensor> Signature::Seen(const Target& target, const WireTensor& tensor, std::string& path) const {
  path = JoinPath(argument(target.index).name(), target.path);
  const std::optional<size_t> number = arguments_.Find(path);
  if (!number.has_value()) return std::nullopt;
  const std::string_view name = arguments_.IsOpen(*number) ? std::string_view(path) : std::string_view();
  return SeenTensor{*number, name, tensor.datatype, tensor.shape};
}

absl::StatusOr<BoundArguments> Signature::Bind(std::vector<WireTensor> inputs, CallObservation* observation) const try {
  BoundArguments bound;
  const bool observes = observation != nullptr && config_.input().empty();
  std::vector<std::string> paths(observes ? inputs.size() : 0);
  absl::InlinedVector<SeenTensor, 8> seen;
  std::vector<std::vector<TensorAtPath>> parts(argument_count());
  std::vector<const inference::ModelInput*> given;
  const WireTensor* first_of_batch = nullptr;
  for (size_t i = 0; i < inputs.size(); ++i) {
    WireTensor& tensor = inputs[i];
    Target target;
    if (const auto configured = configured_inputs_.find(tensor.name); configured != configured_inputs_.end()) {
      target = configured->second.target;
    } else {
      auto resolved = Resolve(tensor.name);
      if (!resolved.ok()) return resolved.status();
      target = *std::move(resolved);
    }
    if (const ConfiguredInput* configured = Configured(tensor.name, target)) {
      if (absl::Status status = CheckAgainst(*configured->config, tensor); !status.ok()) return status;
      given.push_back(configured->config);
      if (first_of_batch == nullptr) first_of_batch = &tensor;
      if (config_.max_batch_size() > 0 && tensor.shape[0] != first_of_batch->shape[0]) {
        return WrongInput(tensor.name, "has a batch of ", tensor.shape[0], "; input '", first_of_batch->name,
                          "' has one of ", first_of_batch->shape[0]);
      }
    }
    if (observes) {
      if (auto known = Seen(target, tensor, paths[i])) seen.push_back(*known);
    }
    parts[target.index].push_back({std::move(target.path), &tensor});
  }
  if (absl::Status status = CheckAllGiven(given); !status.ok()) return status;
  if (config_.max_batch_size() > 0 && !inputs.empty() && !inputs[0].shape.empty()) {
    bound.batch_size = inputs[0].shape[0];
  }
  bool hole = false;
  for (int i = 0; i < argument_count(); ++i) {
    if (parts[i].empty() && argument(i).default_value().has_value()) {
      hole = true;
      continue;
    }
    if (const WireTensor* repeated = FindRepeated(parts[i]))
      return WrongInput(repeated->name, "is given more than once");
    auto value = ValueFromTensors(argument(i).type(), DisplayName(i), std::move(parts[i]));
    if (!value.ok()) return value.status();
    if (hole || argument(i).kwarg_only()) {
      bound.kwargs.emplace_back(argument(i).name(), *std::move(value));
    } else {
      bound.args.push_back(*std::move(value));
    }
  }
  if (observes && !observation->known->inputs.Covers(seen)) observation->inputs = {seen.begin(), seen.end()};
  return bound;
} catch (const std::bad_alloc&) {
  throw;
} catch (const std::exception& error) {
  // LibTorch refuses some conversions by throwing.
  return absl::InvalidArgumentError(absl::StrCat("the inputs cannot be made into arguments: ", ShortText(error)));
}

absl::StatusOr<BoundArguments> Signature::BindWarmup(const inference::ModelWarmup& sample, const DataFiles& files) const
    try {
  auto tensors = WarmupTensors(sample, config_.max_batch_size() > 0, files);
  if (!tensors.ok()) return tensors.status();
  return Bind(*std::move(tensors));
} catch (const MemoryLimitError& error) {
  return absl::ResourceExhaustedError(absl::StrCat("making the sample ", error.what()));
} catch (const std::exception& error) {
  return absl::InvalidArgumentError(absl::StrCat("the sample cannot be made: ", ShortText(error)));
}

absl::Status Signature::FinishOutput(WireTensor& leaf) const {
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
      if (!ApplyReshape(dims, batched, leaf)) {
        return absl::InternalError(absl::StrCat("output '", leaf.name, "' of shape ", ShapeText(leaf.shape),
                                                " cannot be made into ", ShapeText(dims.shape()),
                                                ", as the model's configuration says"));
      }
    }
  }
  return absl::OkStatus();
}

void Signature::NameResult() {
  if (!result_.AllNamed()) return;
  for (const TensorSpec& spec : result_.specs()) {
    const bool alone = result_.specs().size() == 1 && spec.name == kOnlyOutput;
    result_leaves_.emplace_back().name = alone ? "" : spec.name;
  }
  result_names_ = std::make_unique<const AnswerNames>(config_, result_leaves_);
}

absl::Status Signature::CheckRequested(const std::vector<std::string>& requested) const {
  if (result_names_ == nullptr) return absl::OkStatus();
  for (const std::string& name : requested) {
    if (result_names_->Find(name) != nullptr) continue;
    return absl::InvalidArgumentError(NotInAnswer(name, KnownOutputs(result_leaves_)));
  }
  return absl::OkStatus();
}

absl::Status Signature::CheckNoState(const std::vector<std::string>& requested) const {
  if (!sequence_) return absl::OkStatus();
  for (const SequenceSettings::State& state : sequence_->states) {
    const WireTensor* const leaf = result_names_ == nullptr ? nullptr : result_names_->Find(state.output);
    for (const std::string& name : requested) {
      if (name != state.output && (leaf == nullptr || result_names_->Find(name) != leaf)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("'", name, "' is a state of the model's sequences, which requests do not get"));
    }
  }
  return absl::OkStatus();
}

void Signature::Observe(const std::vector<WireTensor>& leaves, CallObservation& observation) const {
  absl::InlinedVector<SeenTensor, 8> seen;
  for (const WireTensor& leaf : leaves) {
    const std::optional<size_t> number = result_.Find(leaf.name);
    if (!number.has_value() || leaf.datatype == nullptr) continue;
    std::string_view name;
    if (result_.IsOpen(*number)) name = leaf.name.empty() ? std::string_view(kOnlyOutput) : leaf.name;
    seen.push_back({*number, name, leaf.datatype, leaf.shape});
  }
  if (!observation.known->outputs.Covers(seen)) observation.outputs = {seen.begin(), seen.end()};
}

absl::StatusOr<std::vector<WireTensor>> Signature::Unbind(c10::IValue result, const std::vector<std::string>& requested,
                                                          CallObservation* observation) const try {
  auto flat = TensorsFromValue(result);
  if (!flat.ok()) return flat.status();
  // The leaves hold what they need; what they hold alone need not be copied.
  result = c10::IValue();
  std::vector<WireTensor>& leaves = *flat;
  if (observation != nullptr && config_.output().empty()) Observe(leaves, *observation);

  const std::vector<std::string> names = requested.empty() ? DefaultOutputs() : requested;
  std::vector<WireTensor> outputs;
  if (names.empty()) {
    for (WireTensor& leaf : leaves) {
      if (leaf.name.empty()) leaf.name = kOnlyOutput;
    }
    outputs = std::move(leaves);
  } else {
    const AnswerNames answer(config_, leaves);
    for (const std::string& name : names) {
      const WireTensor* leaf = answer.Find(name);
      if (leaf == nullptr) {
        return requested.empty() ? absl::InternalError(NotInAnswer(name, NamesOf(leaves)))
                                 : absl::InvalidArgumentError(NotInAnswer(name, KnownOutputs(leaves)));
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
  return absl::InternalError(absl::StrCat("the model's answer cannot be sent: ", ShortText(error)));
}

std::shared_ptr<ObservedCalls> Signature::ObservedAfter(std::shared_ptr<ObservedCalls> before) const {
  std::string text = MethodText(schema_);
  if (before != nullptr && before->schema == text) return before;
  return std::make_shared<ObservedCalls>(std::move(text), arguments_.specs().size(), result_.specs().size());
}

std::vector<BatchArgument> Signature::BatchArguments() const {
  std::vector<BatchArgument> arguments(argument_count());
  std::vector<bool> listed(argument_count());
  for (const auto& [name, configured] : configured_inputs_) {
    const inference::ModelInput& input = *configured.config;
    listed[configured.target.index] = true;
    if (!configured.target.path.empty()) continue;
    BatchArgument& argument = arguments[configured.target.index];
    const auto& sizes = input.has_reshape() ? input.reshape().shape() : input.dims();
    argument.sizes = std::vector<int64_t>{-1};
    argument.sizes->insert(argument.sizes->end(), sizes.begin(), sizes.end());
    const Datatype& datatype = *FindDatatype(input.data_type());
    if (!datatype.is_bytes()) argument.dtype = datatype.scalar;
  }
  for (int i = 0; i < argument_count() && !listed.empty(); ++i)
    arguments[i].absent = !config_.input().empty() && !listed[i] && argument(i).default_value().has_value();
  return arguments;
}

absl::Status Signature::ResolvePadding(BatchPadding padding) {
  for (BatchPadding::Input& input : padding.inputs) {
    const auto configured = configured_inputs_.find(input.name);
    auto target = configured != configured_inputs_.end() ? absl::StatusOr<Target>(configured->second.target)
                                                         : Resolve(input.name);
    if (!target.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the parameter ", kPadInputs, " names '", input.name, "'; the model takes ", KnownInputs()));
    }
    input.argument = static_cast<size_t>(target->index);
    input.argument_name = argument(target->index).name();
    input.path = std::move(target->path);
  }
  for (BatchPadding::Output& output : padding.outputs) {
    const WireTensor* leaf = result_names_ == nullptr ? nullptr : result_names_->Find(output.name);
    if (result_names_ != nullptr && leaf == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("the parameter ", kTrimOutputs, " names '", output.name, "'; ",
                                                     NotInAnswer(output.name, NamesOf(result_leaves_))));
    }
    // A list or dict shows its names when it comes.
    output.path = leaf != nullptr ? leaf->name : output.name;
  }
  padding_ = std::move(padding);
  return absl::OkStatus();
}

std::vector<std::string> Signature::DefaultOutputs() const {
  std::vector<std::string> names;
  for (int i = 0; i < visible_outputs_; ++i) names.push_back(config_.output(i).name());
  return names;
}

std::vector<std::string> Signature::KnownOutputs(const std::vector<WireTensor>& leaves) const {
  std::vector<std::string> configured = DefaultOutputs();
  return configured.empty() ? NamesOf(leaves) : configured;
}

std::vector<TensorSpec> Signature::inputs(const ObservedTensors* observed) const {
  std::vector<TensorSpec> specs;
  for (int i = 0; i < visible_inputs_; ++i) {
    const inference::ModelInput& input = config_.input(i);
    specs.push_back(SpecOfConfig(input, config_.max_batch_size()));
    specs.back().optional = input.optional();
  }
  return specs.empty() ? Completed(arguments_, observed) : specs;
}

std::vector<TensorSpec> Signature::outputs(const ObservedTensors* observed) const {
  std::vector<TensorSpec> specs;
  for (int i = 0; i < visible_outputs_; ++i) specs.push_back(SpecOfConfig(config_.output(i), config_.max_batch_size()));
  return specs.empty() ? Completed(result_, observed) : specs;
}

}  // namespace hearth::server
