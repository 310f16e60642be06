// Flags of Triton's that are no settings of hearthd (config.TritonFlags): start lines made for Triton have them, and
// people are told what becomes of them. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/settings.pb.h"

namespace hearth::server {

// Lives as long as the process.
struct TritonFlag {
  std::string flag;  // "--cache-config"
  bool is_switch;    // on or off, and may stand alone
  const config::ForeignFlag* meaning;
};

const std::vector<TritonFlag>& TritonFlags();

// The warning for a flag with that value; empty where there is nothing to tell. kInvalidArgument for one that hearthd
// does not start with.
absl::StatusOr<std::string> JudgeTritonFlag(const TritonFlag& flag, const std::string& value);

// The table of docs/migrating.md, in Markdown.
std::string TritonFlagsTable();

}  // namespace hearth::server
