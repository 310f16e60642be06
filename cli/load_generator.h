// Sends one request over and over and measures the answers.
//
// A closed loop has so many clients that each send the next request when they have the answer to the last. An open loop
// sends at a rate whatever the answers do, as independent users would; a latency then counts from the time at which the
// request was due, so that a server that falls behind shows it.
//
// Requests are sent as the bytes that they are, asynchronously: one thread keeps thousands of them under way.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/latency_histogram.h"

namespace hearth::cli {

struct LoadOptions {
  int clients = 1;        // of a closed loop; of an open loop, how many requests may be under way
  double rate = 0;        // requests a second of an open loop; 0: a closed loop
  double seconds = 10;    // that are measured
  double warm_up = 1;     // seconds before, which are not
  uint64_t requests = 0;  // ends once so many are measured; 0: at the end of the time
};

struct LoadResult {
  struct Error {
    uint64_t count = 0;
    std::string message;  // of the first
  };

  LatencyHistogram latencies;  // of what was answered
  uint64_t failed = 0;
  std::map<std::string, Error> errors;  // by the status's name
  double seconds = 0;                   // from the first measured request's start to the last one's end
  // Of an open loop: requests that left more than a millisecond after they were due, because this program or the bound
  // on requests under way held them up.
  uint64_t late = 0;
};

// Blocks until the last answer is there. `connections`, at least one, take turns. `method` is the path of the call.
LoadResult GenerateLoad(const std::vector<Connection>& connections, const std::string& method,
                        const grpc::ByteBuffer& request, const LoadOptions& options);

}  // namespace hearth::cli
