// What of an answer a client may name: the path of a leaf, its position ("OUTPUT__0"), the configuration's name for it.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "proto/inference/model_config.pb.h"
#include "wire/wire_tensor.h"

namespace hearth::server {

// Finds the parts of an answer. Refers to them.
class AnswerNames {
 public:
  AnswerNames(const inference::ModelConfig& config, const std::vector<WireTensor>& leaves);

  // Null: it is not there.
  const WireTensor* Find(const std::string& name) const;

 private:
  const WireTensor* AtPath(const std::string& path) const;

  const std::vector<WireTensor>& leaves_;
  absl::flat_hash_map<std::string, size_t> places_, configured_;
  std::vector<std::string> heads_;
};

std::vector<std::string> NamesOf(const std::vector<WireTensor>& leaves);

// Why a client does not get it; `names` are what it may ask for.
std::string NotInAnswer(const std::string& name, const std::vector<std::string>& names);

}  // namespace hearth::server
