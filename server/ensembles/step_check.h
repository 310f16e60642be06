// Whether an ensemble's steps fit the models that are there: each model serves, takes the inputs that it is given and
// makes the outputs that are wanted of it, and where both sides say of a tensor what it is, they say the same.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "proto/inference/model_config.pb.h"
#include "server/repository/ensemble_graph.h"
#include "server/repository/repository.h"

namespace hearth::server {

// As EnsembleModel::CheckSteps.
absl::Status CheckEnsembleSteps(const EnsembleGraph& graph, const inference::ModelConfig& config,
                                const Repository& repository);

// kInvalidArgument if `step`, or an ensemble that it has for a step, and so on, has the ensemble `name` for a step, or
// they nest deeper than kDeepestEnsemble. For a step that is no ensemble, that takes no time.
absl::Status CheckNesting(const std::string& name, const Servable& step, const Repository& repository);

// Ensembles in each other.
inline constexpr int kDeepestEnsemble = 8;

}  // namespace hearth::server
