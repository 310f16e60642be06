// What the parameters of an inference ask for. Each is honoured or refused; those that are a client's own, which Triton
// hands to its model, have no effect on an archive. docs/protocol.md lists them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/inference/service.pb.h"
#include "server/api/request_message.h"
#include "server/api/sequences.h"
#include "server/api/shared_memory.h"

namespace hearth::server {

// A part of a region.
struct RegionPart {
  SharedRegionPtr region;
  uint64_t offset = 0;
  uint64_t byte_size = 0;
};

struct RequestedOutput {
  std::string name;
  int64_t classes = 0;               // above 0: as classification.h has it
  std::optional<RegionPart> region;  // where it is to be written to
};

struct RequestParameters {
  std::optional<std::chrono::microseconds> timeout;  // none if the request does not say, or says 0
  uint64_t priority = 0;                             // of the model's levels; what is none of them: its default
  SequenceRequest sequence;                          // only of a model that has sequences
};

// kInvalidArgument for what is no level of the model; one without levels has 0 of them and takes any priority, as an
// ensemble does for its steps.
absl::Status CheckPriority(uint64_t priority, uint64_t levels);

// kInvalidArgument for a parameter of the request that is refused, or of another type than it should be. A model
// without sequences refuses what is asked of them.
absl::StatusOr<RequestParameters> ReadRequestParameters(const inference::ModelInferRequest& request,
                                                        uint64_t priority_levels, bool has_sequences = false);

// The outputs that the request names, each once, in their order. kInvalidArgument for a parameter that is refused,
// kNotFound for a region that is not registered.
absl::StatusOr<std::vector<RequestedOutput>> ReadRequestedOutputs(const inference::ModelInferRequest& request,
                                                                  const SharedRegions& regions);

// Reads the inputs that lie in regions of shared memory. Takes time that grows with their size; what is read counts for
// the thread's memory account.
absl::Status ReadRegions(const SharedRegions& regions, InferRequestMessage& message);

}  // namespace hearth::server
