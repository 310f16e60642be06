// Compiles behind the requests' backs: threads of the least priority take jobs from a bounded queue, the most
// worthwhile first, within a share of the processor.
//
// The share matters beside the priority: under a control group's quota everything that the process runs is throttled
// together, whatever its priority. It is kept from pass to pass, and within those that pack weights from one to the
// next, so a single step may run over and is made up for afterwards. While somebody waits for compiled code and no
// request is served there is no share: he would rather have it than the processor. Operators that a job runs use its
// own thread only, whose clock has it all (support/operator_threads.h).
//
// A request may hand in a job without ever waiting: if the queue's lock is taken, the job is refused; counters are read
// without it. Everything else here may wait for a thread of the compiler's to be scheduled: it is for the threads that
// load, unload and inspect. Jobs belong to a CompileClient (one a model), whose end
// waits until none of its jobs is left.
//
// Every job that was taken ends in exactly one way, of which it is told. A job that throws is logged with the graph's
// name and the pass, counted, and harmless; so is what those who are told throw.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jit/interpreter/cancellation.h"

namespace hearth {

// What a job sees of the compiler while it runs. Used by the job's thread.
class CompileProgress {
 public:
  virtual ~CompileProgress() = default;
  // Before each pass, and now and then within: names it for logs and people, and gives way: sleeps while the compiler
  // has used up its share. Throws CancelledError when the job is not wanted any more, and another exception if it has
  // taken too long or holds too much.
  virtual void Begin(std::string_view pass) = 0;
  // For long loops within a pass, and for runs of code on behalf of the job.
  virtual const std::shared_ptr<CancellationToken>& token() const = 0;
};

enum class CompileOutcome {
  kDone,
  kFailed,     // it threw
  kCancelled,  // its client ended
  kDropped,    // the queue was full and others more worthwhile
};

struct CompileJob {
  std::string graph;  // what people know it by
  // How much it is wanted, in a unit that all jobs share: how often what it is for was called. Asked when jobs are
  // compared, from any thread and under the queue's lock: quick, and never throws.
  std::function<double()> worth;
  // Run one after the other, by one thread, until one throws. A job is told of its end after the last.
  struct Stage {
    std::string name;
    std::function<void(CompileProgress&)> run;
  };
  std::vector<Stage> stages;
  // Once, after the run or instead of it. On a compiler's thread, or on the one that ends the client.
  std::function<void(CompileOutcome)> ended;  // may be empty
};

// Thread-safe. Not destroyed by its own threads: a job holds neither it nor the last reference to a client's owner.
class BackgroundCompiler {
 public:
  struct Settings {
    int threads = 1;
    size_t max_queued = 256;
    double processor_share = 0;  // of one processor, for all threads together; 0: no limit
    // Whether requests are served just now, so that the share holds though somebody waits. Asked by one thread at a
    // time, often: quick, and never throws. Empty: never.
    std::function<bool()> serving;
    int64_t job_memory = 0;  // bytes that a job may come to hold; 0: no limit
    double job_seconds = 0;  // of its thread's processor, that a job may take; 0: no limit
  };

  explicit BackgroundCompiler(const Settings& settings);
  // There is no client left, for each holds this, and so no job.
  ~BackgroundCompiler();
  BackgroundCompiler(const BackgroundCompiler&) = delete;
  BackgroundCompiler& operator=(const BackgroundCompiler&) = delete;

  struct Counters {
    size_t queued;
    size_t running;
    uint64_t done;
    uint64_t failed;
    uint64_t cancelled;
    uint64_t dropped;          // taken and displaced, or not taken, because the queue was full
    uint64_t busy;             // not taken because the lock was not free
    double processor_seconds;  // of the jobs' threads
  };
  Counters counters() const;

  struct Running {
    std::string graph;
    std::string stage;
    std::string pass;  // of that stage; empty before the first
    std::chrono::duration<double> since_start;
    bool resting;  // its share is used up
  };

 private:
  friend class CompileClient;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Jobs of one owner. Thread-safe.
class CompileClient {
 public:
  explicit CompileClient(const std::shared_ptr<BackgroundCompiler>& compiler);
  // As Cancel.
  ~CompileClient();
  CompileClient(const CompileClient&) = delete;
  CompileClient& operator=(const CompileClient&) = delete;

  // Whether the job was taken; if not, it is told nothing. Never waits.
  bool TryEnqueue(CompileJob job);
  // The same, but waits for the queue's lock: refused only where the queue is full or the client has ended.
  bool Enqueue(CompileJob job);
  // Ends queued jobs, tells running ones to stop and waits until they have, all references to what they hold are gone,
  // and no other is taken. A job that cancels its own client does not wait for itself.
  void Cancel();
  // Waits until no job is queued or running. False if it is not so by `deadline`.
  bool WaitUntilIdle(std::chrono::steady_clock::time_point deadline) const;
  // Calls `done` once, as soon as no job is queued or running: before this returns, or on the thread that ends the last
  // job; it must not block. Whoever drops what is returned does not wait any longer; `done` may then just be
  // under way.
  std::shared_ptr<const void> WhenIdle(std::function<void()> done);
  // Of its jobs.
  std::vector<BackgroundCompiler::Running> running() const;

 private:
  friend struct BackgroundCompiler::Impl;
  struct State;
  const std::shared_ptr<BackgroundCompiler> compiler_;
  const std::shared_ptr<State> state_;
};

}  // namespace hearth
