#include "server/api/sequence_tensors.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "wire/datatypes.h"

namespace hearth::server {
namespace {

using Control = inference::ModelSequenceBatching::Control;

bool IsTrue(SequenceSettings::Kind kind, const SequenceRequest& request) {
  switch (kind) {
    case Control::CONTROL_SEQUENCE_START:
      return request.starts;
    case Control::CONTROL_SEQUENCE_END:
      return request.ends;
    default:
      return true;  // a request is always ready when it runs
  }
}

WireTensor ControlTensor(const SequenceSettings::Control& control, const SequenceRequest& request, bool batched) {
  WireTensor tensor;
  tensor.name = control.input;
  tensor.datatype = FindDatatype(control.data_type);
  tensor.shape = batched ? std::vector<int64_t>{1, 1} : std::vector<int64_t>{1};
  if (tensor.datatype->is_bytes()) {
    tensor.strings = {request.name};
  } else if (control.kind == Control::CONTROL_SEQUENCE_CORRID) {
    // Numbers above those of int64 keep their bits.
    const auto number = static_cast<int64_t>(request.number);
    tensor.tensor = at::full(tensor.shape, number, at::TensorOptions(at::kLong)).to(tensor.datatype->scalar);
  } else {
    const double value = control.values[IsTrue(control.kind, request) ? 1 : 0];
    tensor.tensor = at::full(tensor.shape, value, at::TensorOptions(tensor.datatype->scalar));
  }
  return tensor;
}

WireTensor InitialState(const SequenceSettings::State& state, bool batched) {
  WireTensor tensor;
  tensor.name = state.input;
  tensor.datatype = FindDatatype(state.data_type);
  tensor.shape = state.initial;
  if (batched) tensor.shape.insert(tensor.shape.begin(), 1);
  if (state.read) {
    tensor.strings = state.read->strings;
    // A model may write to what it is given.
    if (state.read->tensor.defined()) tensor.tensor = state.read->tensor.view(tensor.shape).clone();
  } else if (tensor.datatype->is_bytes()) {
    tensor.strings.resize(static_cast<size_t>(*CountElements(tensor.shape)));
  } else {
    tensor.tensor = at::zeros(tensor.shape, at::TensorOptions(tensor.datatype->scalar));
  }
  return tensor;
}

}  // namespace

absl::Status CheckSequenceName(const SequenceSettings& settings, const SequenceRequest& request,
                               const std::string& model) {
  for (const SequenceSettings::Control& control : settings.controls) {
    if (control.kind != Control::CONTROL_SEQUENCE_CORRID) continue;
    const Datatype& expected = *FindDatatype(control.data_type);
    if (expected.is_bytes() == request.is_text) continue;
    return absl::InvalidArgumentError(absl::StrCat("sequence batching control '", control.input, "' data-type is '",
                                                   request.is_text ? "BYTES" : "UINT64", "', but model '", model,
                                                   "' expects '", expected.name, "'"));
  }
  return absl::OkStatus();
}

std::vector<WireTensor> SequenceInputs(const SequenceSettings& settings, const SequenceRequest& request,
                                       std::vector<WireTensor> states, bool batched) {
  std::vector<WireTensor> inputs;
  for (const auto& control : settings.controls) inputs.push_back(ControlTensor(control, request, batched));
  for (size_t i = 0; i < settings.states.size(); ++i) {
    if (i < states.size() && states[i].datatype != nullptr) {
      inputs.push_back(std::move(states[i]));
      inputs.back().name = settings.states[i].input;
    } else {
      inputs.push_back(InitialState(settings.states[i], batched));
    }
  }
  return inputs;
}

}  // namespace hearth::server
