// In what a new version of a model differs for its clients from the one in service: methods and what they take and
// give, inputs and outputs of the configuration.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "jit/runtime.h"
#include "proto/inference/model_config.pb.h"

namespace hearth::server {

// Of those that are told; the last line then says how many there are beside them.
inline constexpr size_t kMostDifferences = 8;

// A line each, "method 'forward' was (Tensor x) -> Tensor, is (Tensor x, int n) -> Tensor"; empty if there are none.
std::vector<std::string> SignatureDifferences(const Model& before, const inference::ModelConfig& config_before,
                                              const Model& now, const inference::ModelConfig& config_now);

}  // namespace hearth::server
