// A model that is made of others: what the repository knows of it beside what it knows of any model.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/runtime.h"
#include "proto/inference/model_config.pb.h"

namespace hearth::server {

// Thread-safe.
class EnsembleModel : public Model {
 public:
  // Whether its steps' models are there as they are now, and take and give what goes between them: kUnavailable for one
  // that does not serve, kInvalidArgument for what does not fit. Models that are idle, whose tensors nobody knows, are
  // there and fit.
  virtual absl::Status CheckSteps() const = 0;
};

// Makes one for a configuration that is checked; its steps are not looked at yet.
using EnsembleFactory =
    std::function<absl::StatusOr<std::shared_ptr<EnsembleModel>>(const inference::ModelConfig& config)>;

}  // namespace hearth::server
