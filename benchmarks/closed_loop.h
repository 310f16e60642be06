// A load of clients that each have one request under way at a time, and what it measures.
#pragma once

#include <functional>

namespace hearth::benchmarks {

// Makes one request and waits for its answer; false if that is wrong, which ends the run. Called by one thread.
using Call = std::function<bool()>;

// Runs so many clients for so many seconds, after 0.3 s in which nothing is measured, each on a thread that makes its
// own Call with `connect`; prints {"requests": N, "per_second": R, "p50_us": ..., "p99_us": ...}. Returns an exit
// status: 1 if an answer was wrong, a client threw, or none answered.
int RunClosedLoop(int clients, double seconds, const std::function<Call(int client)>& connect);

}  // namespace hearth::benchmarks
