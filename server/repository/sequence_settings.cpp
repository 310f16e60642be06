#include "server/repository/sequence_settings.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "server/repository/data_files.h"
#include "server/repository/layout.h"
#include "wire/datatypes.h"

namespace hearth::server {
namespace {

using inference::ModelSequenceBatching;
using ControlConfig = ModelSequenceBatching::Control;

constexpr uint64_t kLongestIdleMicroseconds = uint64_t{365} * 24 * 3600 * 1'000'000;

template <typename... Parts>
absl::Status WrongSequence(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("sequence_batching.", parts...));
}

bool IsCorrelationType(inference::DataType type) {
  return type == inference::TYPE_UINT64 || type == inference::TYPE_INT64 || type == inference::TYPE_UINT32 ||
         type == inference::TYPE_INT32 || type == inference::TYPE_STRING;
}

SequenceSettings::Control ControlOf(const std::string& input, const ControlConfig& config) {
  SequenceSettings::Control control{.input = input, .kind = config.kind(), .data_type = config.data_type()};
  const auto take = [&](inference::DataType type, const auto& values) {
    if (values.size() != 2) return;
    control.data_type = type;
    for (int i = 0; i < 2; ++i) control.values[i] = static_cast<double>(values[i]);
  };
  take(inference::TYPE_INT32, config.int32_false_true());
  take(inference::TYPE_FP32, config.fp32_false_true());
  take(inference::TYPE_BOOL, config.bool_false_true());
  return control;
}

absl::Status CheckControl(const std::string& where, const ControlConfig& control) {
  const int sizes[] = {control.int32_false_true_size(), control.fp32_false_true_size(), control.bool_false_true_size()};
  const auto given = std::ranges::count_if(sizes, [](int size) { return size > 0; });
  if (control.kind() == ControlConfig::CONTROL_SEQUENCE_CORRID) {
    if (given > 0) return WrongSequence(where, " is CONTROL_SEQUENCE_CORRID, which has no false and true");
    if (IsCorrelationType(control.data_type())) return absl::OkStatus();
    return WrongSequence(where, " has the data_type ", inference::DataType_Name(control.data_type()),
                         "; CONTROL_SEQUENCE_CORRID has TYPE_UINT64, INT64, UINT32, INT32 or STRING");
  }
  if (given == 1 && std::ranges::count(sizes, 2) == 1) return absl::OkStatus();
  return WrongSequence(where, " must have one of int32_false_true, fp32_false_true and bool_false_true, of two values");
}

absl::Status CheckState(const std::string& where, const ModelSequenceBatching::State& state) {
  if (state.input_name().empty() || state.output_name().empty()) {
    return WrongSequence(where, " must have an input_name and an output_name");
  }
  if (FindDatatype(state.data_type()) == nullptr) return WrongSequence(where, " has no data_type");
  for (const int64_t size : state.dims()) {
    if (size < 1 && size != -1) return WrongSequence(where, " has a dimension of ", size, "; sizes are -1 or above 0");
  }
  if (state.initial_state_size() > 1) return WrongSequence(where, " has more than one initial_state");
  if (state.initial_state().empty()) return absl::OkStatus();
  const auto& initial = state.initial_state(0);
  if (initial.state_data_case() == ModelSequenceBatching::InitialState::kDataFile) {
    if (const absl::Status status = CheckFileName(initial.data_file()); !status.ok()) {
      return WrongSequence(where, ".initial_state.data_file is a file in the model's folder ", kInitialStateFolder,
                           ": ", status.message());
    }
  }
  if (initial.data_type() != state.data_type()) return WrongSequence(where, ".initial_state has another data_type");
  const bool fits = std::ranges::equal(state.dims(), initial.dims(), [](int64_t declared, int64_t size) {
    return size >= 1 && (declared == -1 || declared == size);
  });
  return fits ? absl::OkStatus() : WrongSequence(where, ".initial_state has dims that the state's cannot be");
}

// Bytes of what a sequence begins with; below 0: too many.
int64_t InitialBytes(const SequenceSettings::State& state) {
  const Datatype& datatype = *FindDatatype(state.data_type);
  auto bytes = static_cast<int64_t>(datatype.is_bytes() ? sizeof(std::string) : datatype.size);
  for (const int64_t size : state.initial) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return -1;
  }
  return bytes;
}

template <typename Tensor>
void Describe(const std::string& name, inference::DataType type, const std::vector<int64_t>& dims, Tensor& out) {
  out.set_name(name);
  out.set_data_type(type);
  out.mutable_dims()->Add(dims.begin(), dims.end());
}

}  // namespace

bool HasInitialStateFiles(const inference::ModelConfig& config) {
  return std::ranges::any_of(config.sequence_batching().state(), [](const ModelSequenceBatching::State& state) {
    return !state.initial_state().empty() && !state.initial_state(0).data_file().empty();
  });
}

SequenceSettings SequenceSettingsOf(const inference::ModelConfig& config) {
  const ModelSequenceBatching& batching = config.sequence_batching();
  SequenceSettings settings;
  if (batching.max_sequence_idle_microseconds() > 0) {
    settings.longest_idle = std::chrono::microseconds(
        static_cast<int64_t>(std::min(batching.max_sequence_idle_microseconds(), kLongestIdleMicroseconds)));
  }
  for (const auto& input : batching.control_input()) {
    for (const auto& control : input.control()) settings.controls.push_back(ControlOf(input.name(), control));
  }
  for (const auto& state : batching.state()) {
    const auto& dims = state.initial_state().empty() ? state.dims() : state.initial_state(0).dims();
    settings.states.push_back({state.input_name(), state.output_name(), state.data_type(), {dims.begin(), dims.end()}});
    if (!state.initial_state().empty()) settings.states.back().file = state.initial_state(0).data_file();
    // As Triton: what varies begins with 1.
    for (int64_t& size : settings.states.back().initial) size = std::max<int64_t>(size, 1);
  }
  return settings;
}

absl::Status CheckSequenceBatching(const inference::ModelConfig& config) {
  const ModelSequenceBatching& batching = config.sequence_batching();
  if (batching.iterative_sequence()) {
    return absl::UnimplementedError("sequence_batching.iterative_sequence is not offered by this server");
  }
  if (config.input().empty() || config.output().empty()) {
    return absl::InvalidArgumentError("a model with sequence_batching must declare its inputs and outputs");
  }
  for (const int32_t size : batching.oldest().preferred_batch_size()) {
    if (size >= 1 && size <= config.max_batch_size()) continue;
    return WrongSequence("oldest.preferred_batch_size is ", size, "; it must be from 1 to max_batch_size, which is ",
                         config.max_batch_size());
  }
  std::set<std::string> inputs, outputs;
  std::set<int> kinds;
  for (const auto& input : config.input()) inputs.insert(input.name());
  for (const auto& output : config.output()) outputs.insert(output.name());
  for (int i = 0; i < batching.control_input_size(); ++i) {
    const auto& input = batching.control_input(i);
    const std::string where = absl::StrCat("control_input[", i, "] ('", input.name(), "')");
    if (input.name().empty()) return WrongSequence("control_input[", i, "] has no name");
    if (!inputs.insert(input.name()).second) return WrongSequence(where, " is an input already");
    if (input.control_size() != 1) return WrongSequence(where, " must have one control");
    if (!kinds.insert(input.control(0).kind()).second) return WrongSequence(where, " is of a kind that is there twice");
    if (absl::Status status = CheckControl(where, input.control(0)); !status.ok()) return status;
  }
  int64_t bytes = 0;
  for (int i = 0; i < batching.state_size(); ++i) {
    const auto& state = batching.state(i);
    const std::string where = absl::StrCat("state[", i, "] ('", state.input_name(), "')");
    if (absl::Status status = CheckState(where, state); !status.ok()) return status;
    if (!inputs.insert(state.input_name()).second) return WrongSequence(where, " is an input already");
    if (!outputs.insert(state.output_name()).second) {
      return WrongSequence(where, " has the output_name '", state.output_name(), "', which is an output already");
    }
  }
  for (const SequenceSettings::State& state : SequenceSettingsOf(config).states) {
    const int64_t more = InitialBytes(state);
    if (more < 0 || more > kMostInitialBytes - bytes) {
      return WrongSequence("state makes a sequence begin with more than ", kMostInitialBytes, " bytes");
    }
    bytes += more;
  }
  return absl::OkStatus();
}

inference::ModelConfig WithSequenceTensors(inference::ModelConfig config) {
  if (!config.has_sequence_batching()) return config;
  const SequenceSettings settings = SequenceSettingsOf(config);
  for (const auto& control : settings.controls) Describe(control.input, control.data_type, {1}, *config.add_input());
  for (int i = 0; i < config.sequence_batching().state_size(); ++i) {
    const auto& state = config.sequence_batching().state(i);
    const std::vector<int64_t> dims(state.dims().begin(), state.dims().end());
    Describe(state.input_name(), state.data_type(), dims, *config.add_input());
    Describe(state.output_name(), state.data_type(), dims, *config.add_output());
  }
  return config;
}

}  // namespace hearth::server
