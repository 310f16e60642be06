// What an ensemble is made of, as its configuration (ensemble_scheduling) says it: steps, of which each is a call of
// another model, and the tensors that go from the ensemble's inputs to steps, from step to step, and to the ensemble's
// outputs. A graph is sound: each tensor that somebody takes is made by one step or is an input, no step waits for
// itself, and every tensor is of use to somebody. Whether the models are there and take such tensors is looked at
// elsewhere (server/ensembles/step_check.h).
//
// Immutable, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/inference/model_config.pb.h"

namespace hearth::server {

// As Triton calls what an ensemble is in place of a framework's model.
inline constexpr const char* kEnsemblePlatform = "ensemble";
inline constexpr int kMostEnsembleSteps = 256;

inline bool IsEnsemble(const inference::ModelConfig& config) { return config.has_ensemble_scheduling(); }

class EnsembleGraph {
 public:
  // A step's input or output, by its model's name for it, and the ensemble's tensor that it takes or makes.
  struct Link {
    std::string name;
    size_t tensor = 0;
  };
  struct Step {
    std::string model;
    std::string version;                // a number; empty: whichever serves
    std::vector<Link> inputs, outputs;  // sorted by their names
  };
  struct Tensor {
    std::string name;
    std::vector<size_t> takers;  // steps, one of which may be there several times
    bool is_output = false;
  };

  // Of a configuration with ensemble_scheduling. kInvalidArgument with "ensemble_scheduling.step[1] ('tail') ..." for
  // one that is not sound.
  static absl::StatusOr<EnsembleGraph> Create(const inference::ModelConfig& config);

  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  // The tensors that are the ensemble's inputs and outputs, in the configuration's order.
  const std::vector<size_t>& inputs() const { return inputs_; }
  const std::vector<size_t>& outputs() const { return outputs_; }
  // "step 2 ('tail')", counted from 1 as people do.
  std::string NameOf(size_t step) const;

 private:
  class Builder;

  std::vector<Step> steps_;
  std::vector<Tensor> tensors_;
  std::vector<size_t> inputs_, outputs_;
};

// The models of an ensemble's steps, each once; none of a configuration of anything else.
std::set<std::string> StepModels(const inference::ModelConfig& config);

}  // namespace hearth::server
