// The tensors of a sequence's request that the client does not send: controls and states.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/api/sequences.h"
#include "server/repository/sequence_settings.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

// kInvalidArgument for a name of another type than the model's control for it has.
absl::Status CheckSequenceName(const SequenceSettings& settings, const SequenceRequest& request,
                               const std::string& model);

// The model's inputs that go beside the request's: with a batch dimension if it is `batched`. `states` are those of the
// sequence, in the order of the settings; empty for one that begins, or of which nothing was kept yet.
std::vector<WireTensor> SequenceInputs(const SequenceSettings& settings, const SequenceRequest& request,
                                       std::vector<WireTensor> states, bool batched);

}  // namespace hearth::server
