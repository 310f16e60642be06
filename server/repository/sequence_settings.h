// What a configuration's sequence_batching asks for, under Triton's names and with Triton's meaning: which of the
// method's inputs the server fills in (controls), and which tensors it keeps from one request of a sequence to the next
// (states). Every sequence has states of its own, so that there are no slots to share, and `direct` and `oldest` are
// the same here.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/inference/model_config.pb.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

struct SequenceSettings {
  using Kind = inference::ModelSequenceBatching::Control::Kind;

  struct Control {
    std::string input;
    Kind kind = inference::ModelSequenceBatching::Control::CONTROL_SEQUENCE_START;
    inference::DataType data_type = inference::TYPE_INVALID;
    // What false and true are; not of CONTROL_SEQUENCE_CORRID.
    double values[2] = {0, 1};
  };
  struct State {
    std::string input, output;
    inference::DataType data_type = inference::TYPE_INVALID;
    std::vector<int64_t> initial;         // sizes of what a sequence begins with, without a batch dimension
    std::string file = {};                // that it is read from; empty: it is zeros
    std::optional<WireTensor> read = {};  // from that file, once the model is loaded
  };

  std::chrono::microseconds longest_idle{1'000'000};
  std::vector<Control> controls;
  std::vector<State> states;
};

// Of what all states of a sequence begin with, and of each file.
inline constexpr int64_t kMostInitialBytes = int64_t{1} << 30;

// Whether sequences begin with what files hold (data_file of an initial_state).
bool HasInitialStateFiles(const inference::ModelConfig& config);

// Of a configuration that is checked, and has sequence_batching.
SequenceSettings SequenceSettingsOf(const inference::ModelConfig& config);

// Of one that has it: kInvalidArgument for what makes no sense, kUnimplemented for what is not offered.
absl::Status CheckSequenceBatching(const inference::ModelConfig& config);

// With the controls and states as inputs, and the states as outputs, behind those that clients see. Any other
// configuration as it is.
inference::ModelConfig WithSequenceTensors(inference::ModelConfig config);

}  // namespace hearth::server
