// Sends requests, one over and over or those of a source, and measures the answers.
//
// A closed loop has so many clients that each send the next request when they have the answer to the last. An open loop
// sends at a rate, or when the source says, whatever the answers do, as independent users would; a latency then counts
// from the time at which the request was due, so that a server that falls behind shows it.
//
// Requests are sent as the bytes that they are, asynchronously: one thread keeps thousands of them under way.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/latency_histogram.h"

namespace hearth::cli {

// What is sent, one after another.
class RequestSource {
 public:
  struct Request {
    // Both are there until the next one is asked for.
    const std::string* method = nullptr;  // the path of the call
    const grpc::ByteBuffer* message = nullptr;
    std::chrono::nanoseconds due{0};  // since the first one was; for loops that the source times
    uint64_t number = 0;              // told with the answer
  };

  virtual ~RequestSource() = default;
  // False where there is none any more. Called by one thread at a time.
  virtual bool Next(Request& request) = 0;
  // Called by one thread, which reads the answers.
  virtual void OnAnswer(uint64_t /*number*/, const grpc::Status& /*status*/, grpc::ByteBuffer& /*answer*/) {}
};

// What an open loop has under way at most, where nobody says.
inline constexpr int kMostUnderWay = 4096;

struct LoadOptions {
  int clients = 1;        // of a closed loop; of an open loop, how many requests may be under way
  double rate = 0;        // requests a second of an open loop; 0: a closed loop, unless the source says
  bool timed = false;     // an open loop that sends when the source says
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

// Blocks until the last answer is there. `connections`, at least one, take turns.
LoadResult GenerateLoad(const std::vector<Connection>& connections, RequestSource& source, const LoadOptions& options);
// One request over and over. `method` is the path of the call.
LoadResult GenerateLoad(const std::vector<Connection>& connections, const std::string& method,
                        const grpc::ByteBuffer& request, const LoadOptions& options);

}  // namespace hearth::cli
