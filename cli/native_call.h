// hearth infer with the server's own protocol, hearth.v1: any method with any values, and the list of methods. Each
// prints to stdout and stderr and gives the process's exit code.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/client.h"
#include "proto/hearth.pb.h"

namespace hearth::cli {

struct NativeCallOptions {
  std::string method;
  std::string inputs;  // what torch.save wrote, as `hearth run` takes it
  std::string output;  // write the answer here in place of a summary; may be empty
  bool json = false;
};

int CallMethod(const ServerOptions& server, const NativeCallOptions& options);
// What ListMethods prints, for other subcommands.
absl::StatusOr<v1::ListMethodsResponse> AskForMethods(const ServerOptions& server);
int ListMethods(const ServerOptions& server, bool json);

}  // namespace hearth::cli
