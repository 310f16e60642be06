// The one door to the JIT: load an archive or a file of source, ask what it offers, call a method, cancel, read what it
// did. The server and the command line include this header and, for logs and memory, jit/support; nothing deeper.
//
// Values cross the door as c10::IValue. Everything here is thread-safe unless it says otherwise.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/support/batch_proof.h"
#include "jit/support/memory_use.h"

namespace hearth {

// What runs a model's calls: the baseline, which is there from the start, or plans that are compiled for the arguments'
// types and shapes.
enum class Tier {
  kAuto,         // plans are compiled in the background for what is called often; no call waits
  kBaseline,     // nothing is compiled
  kSpecialised,  // every call waits for its plan: for the command line and tests
  kExact,        // the same, of a plan for exactly the arguments' sizes
};

struct CompilerOptions {
  Tier tier = Tier::kAuto;
  // Of one processor, that compiling may take while calls are answered or nobody waits for it; 0: no limit but the
  // least priority.
  double processor_share = 0;
  uint64_t compile_after = 2;  // calls with arguments of one spec
  uint64_t exact_after = 256;  // calls with tensors of the same sizes, which then have a plan of their own; 0: never
  int64_t job_memory = int64_t{4} << 30;    // that making one plan may come to hold; 0: no limit
  double job_seconds = 600;                 // of a processor, that making one plan may take; 0: no limit
  size_t max_plans = 4096;                  // of all models, argument specs without a plan included
  int64_t plan_bytes = int64_t{256} << 20;  // of all models
  // Of all models' weights as plans have them packed or folded, beside plan_bytes; plans do without what there is no
  // room for.
  int64_t weight_copies = int64_t{4} << 30;
  // Whether groups of operators become kernels; they do where the program that makes their code, hearth-codegen, is
  // beside this one.
  bool fuse = true;
  // Where what models are called with is kept for the next process, which has it compiled before it is asked, and the
  // code of kernels; empty: nowhere. Processes may share it.
  std::string cache_dir;
  std::chrono::nanoseconds cache_interval = std::chrono::minutes(1);  // how often it is written, if there is news
  // How many of the calls that a plan answers are answered again by the baseline, in the background, and compared.
  // Answers must then not be written into by who gets them.
  double shadow_share = 0;
  // For tests, where calls wait for plans: those speculate on what one run showed, which is the first with arguments of
  // its spec and is not answered by a plan.
  bool profiled = false;
  // For tests: each call fails one guard of its plan, which goes on in the baseline from there; picked by this seed.
  std::optional<uint64_t> fail_guards;
};

struct RuntimeOptions {
  // Threads that run interpreters; 0 means one for each processor that this process may use
  // (support/processors.h).
  int threads = 0;
  // Threads that each operator may use; 0: as many as there are processors for the only run, fewer the more there are.
  int operator_threads = 0;
  // Threads for calls in the background (CallOptions::in_background).
  int background_threads = 1;
  // Shared libraries that register operators or classes with LibTorch (torchvision's _C.so, say), loaded in order.
  std::vector<std::string> operator_libraries;
  // The devices that models are put on: "cpu", "cuda" (the first GPU), "cuda:N", several ("cuda:0,cuda:2") or
  // "cuda:all".
  std::string device = "cpu";
  // Called once if a GPU fails for good, with what happened, on the thread that finds it: it must not block or throw.
  // The process cannot use that GPU any more: calls that would, and loads, give kUnavailable. May be empty.
  std::function<void(const std::string& what)> on_device_failure;
  // Bytes that a call may come to hold more than it was given, in the memory of the CPU; 0: no limit. A model may have
  // its own.
  int64_t memory_limit = 0;
  // The same of all calls of one model together, with what the server holds for their requests. A model may have its
  // own.
  int64_t memory_limit_of_model = 0;
  // The same of all calls.
  int64_t memory_limit_of_all = 0;
  // Time that a run may take from when a thread takes it up, whatever its deadline is; 0: any time. Warm-ups may take
  // longer. A model may have its own.
  std::chrono::nanoseconds run_time_limit{0};
  // The same for loading a model, beside its weights, and the time that loading may take but for reading weights.
  int64_t load_memory_limit = 0;
  std::chrono::nanoseconds load_time_limit{0};  // 0: no limit
  // Bytes of large tensors' memory that may lie idle for the next ones, in the whole process (support/kept_memory.h);
  // 0: none.
  int64_t kept_memory = int64_t{1} << 30;
  CompilerOptions compiler;
};

class MemoryAccount;
class Model;

struct LoadOptions {
  // Whether the file may be mapped where it lies. Only right when nothing overwrites it while the model lives (the
  // command line); otherwise its bytes are copied into memory of this process first.
  bool map_file_in_place = false;
  // Libraries as in RuntimeOptions, which this archive needs. They are loaded first, once in the process's life, and
  // stay for all models.
  std::vector<std::string> operator_libraries;
  // Of a file of source, the only function that is wanted; empty: all.
  std::string function;
  // In place of the runtime's limits for each call of this model and for all of them together; 0: none.
  std::optional<int64_t> memory_limit;
  std::optional<int64_t> memory_limit_of_model;
  std::optional<std::chrono::nanoseconds> run_time_limit;  // likewise
  // In place of CompilerOptions' for this model; where calls wait for plans, only the bounds.
  std::optional<uint64_t> compile_after;
  std::optional<uint64_t> exact_after;
  std::optional<size_t> max_plans;    // of the model's methods; no more than those of all models
  std::optional<int64_t> plan_bytes;  // likewise
  // What this one takes the place of: plans are asked for at once for what it is called with (WhenWarm waits for them),
  // made of its profiles where the code is the same. May be null. Of the same Runtime.
  std::shared_ptr<const Model> predecessor;
  // Which of Runtime::gpus a copy of the model is put on; empty: each. Calls are spread over the copies. A model that
  // writes its own state, or takes objects of its own classes, cannot have several: it is put on one of them where this
  // is empty, and refused with kInvalidArgument where it is not.
  std::vector<int> gpus;
  // Requests are answered meanwhile and go first: one thread of low priority loads the model.
  bool in_background = false;
  // Ends the load as soon as it looks (at each line, opcode and node), with kCancelled.
  std::stop_token stop;
};

// A method as the archive's schema gives it, or a function of a file of source.
struct MethodInfo {
  std::string name;                   // "forward"
  const c10::FunctionSchema* schema;  // owned by the model
  bool has_self = true;               // argument 0 is self

  // What callers give.
  std::span<const c10::Argument> arguments() const { return std::span(schema->arguments()).subspan(has_self ? 1 : 0); }
};

struct AttributeInfo {
  std::string path;  // "layer1.0.conv1.weight"
  std::string type;  // TorchScript's annotation, "Tensor", "int", ...
  bool is_parameter = false;
  bool is_buffer = false;
  std::optional<at::Tensor> tensor;  // the value if it is a tensor
  std::string value;                 // printed value of anything that is neither tensor nor object
};

struct OperatorUse {
  std::string name;  // "aten::conv2d"
  int64_t calls = 0;
};

// Which text of a method to show.
enum class GraphStage {
  kEmitted,   // as the front end made it
  kBaseline,  // inlined, frozen and cleaned: what the interpreter runs
};

// What a call did, for people: its method, and the hooks around it.
struct CallReport {
  // By the kinds of nodes of the graph ("aten::linear", "prim::Loop"), with the time of its own.
  struct Operator {
    std::string name;
    uint64_t calls = 0;
    std::chrono::nanoseconds time{0};  // of the host
    // Of the GPU, from when it came to the operator until it came to the next, waiting for the host included; 0: none.
    std::chrono::nanoseconds device_time{0};
  };
  // An operator as it ran.
  struct Event {
    std::string name;
    std::string where;  // "model.py:12"; empty where that is not known
    std::chrono::steady_clock::time_point start;
    std::chrono::nanoseconds time{0};
    size_t thread = 0;  // numbers of this process's threads
    // Of the GPU, by the same clock; 0: none.
    std::chrono::steady_clock::time_point device_start{};
    std::chrono::nanoseconds device_time{0};
  };
  struct Pass {
    std::string name;
    unsigned runs = 0;
    unsigned changes = 0;  // runs that changed the graph
    std::chrono::nanoseconds time{0};
  };
  struct Run {
    std::string method;  // its qualified name
    // 0: it began in the baseline; otherwise in a plan of that tier, of which:
    unsigned tier = 0;
    std::string arguments;
    std::chrono::nanoseconds compile_time{0};
    uint32_t guards = 0;
    // Of the operators that make a tensor, how many have their result in the plan's own memory; how large that is for
    // the sizes that are likely, and how much of it is in use at one time.
    size_t results = 0;
    size_t planned_results = 0;
    size_t planned_bytes = 0;
    size_t planned_peak = 0;
    std::vector<std::string> bailouts;  // why this run went back to the baseline, if it did
    std::vector<Operator> operators;    // the one with the most time first
    std::vector<Event> events;  // the first `most_events` at most, in the order in which their threads told them
    std::vector<Pass> passes;   // likewise, of those that made the plan
  };
  // Events that whoever asks for the report wants of each run.
  size_t most_events = 0;
  std::vector<Run> runs;
};

struct CallOptions {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  // Called once on the thread that takes the run up, before its first instruction: parts waiting from running.
  // Not called if the run never begins. Must not block or throw.
  std::function<void()> on_start;
  // The calling thread may run the method itself where it has no loops or calls and need not wait for another run: the
  // callback is then called before CallAsync returns, or on the thread of a fork that had to be waited for. For calls
  // that are known to take microseconds.
  bool may_run_here = false;
  // Filled by the time of the callback, if given: the call looks at the clock before every instruction.
  std::shared_ptr<CallReport> report;
  // Where the tier that the run begins in is told, before its first instruction: 0 is the baseline. There until the
  // callback; null: nobody asks.
  unsigned* tier = nullptr;
  // A warm-up, whose answer nobody waits for: what is compiled does not give way to it, and calls with tensors of the
  // same sizes are expected, so these have a plan of their own as soon as one can be made.
  bool is_warmup = false;
  // One of Model::operator_threads; 0: as the runs that are under way leave it.
  int operator_threads = 0;
  // On a thread of low priority that is none of RuntimeOptions::threads, and operators on that alone unless
  // `operator_threads` says otherwise. A method that draws random numbers runs on the usual threads all the same:
  // others may wait for their turn to draw.
  bool in_background = false;
  // The answer's tensors may stay on the runtime's device, where they are ready when the callback is called. They may
  // be the model's own, to be read until that returns.
  bool answer_stays_on_device = false;
  // What the call's memory counts for; null: an account of its own, as Model::NewAccount makes it.
  std::shared_ptr<MemoryAccount> memory;
  // With CompilerOptions::fail_guards: which guard of the plan fails, of so many as it has, in place of a drawn one.
  std::optional<uint64_t> failing_guard;
};

// What a plan speculates on because a profile said so, and checks by a guard.
struct GuardedClaim {
  std::string text;   // "flag is True"
  std::string where;  // "model.py:12"; empty where that is not known
  uint64_t failures = 0;
};

// An exception that an operator of a plan raised, where the baseline then did the same work without one: a defect of
// hearth's.
struct PlanException {
  std::string op;     // "hearth::convolution"
  std::string node;   // as the plan's graph has it
  std::string where;  // "model.py:12"; empty where that is not known
  std::string text;   // its first line, bounded and escaped; of the first run's
  uint64_t runs = 0;
};

// A fused group of operators of a plan.
struct PlanKernel {
  std::vector<std::string> results;  // of each node of the graph that calls it: "%y, %z"
  std::string code;                  // loop IR, as text
  uint64_t bytes = 0;                // of machine code
  bool set_aside = false;            // its results were wrong: calls leave the plan there
};

// One ArgumentSpec that a model's method is called with, and a plan for it; again for each further plan.
struct PlanInfo {
  enum class State { kCold, kQueued, kCompiled, kFailed, kDeoptimised };
  std::string method;     // its qualified name
  std::string arguments;  // "Float[2: *, 1] cpu contiguous, int"
  State state = State::kCold;
  uint64_t calls = 0;  // estimated beyond the first few
  // Of the plan, where there is one:
  unsigned tier = 0;  // 1: for all sizes; 2: for these alone:
  std::string sizes;  // "[2, 3], [1]"
  std::chrono::nanoseconds compile_time{0};
  uint64_t bytes = 0;
  uint32_t guards = 0;
  uint64_t bailouts = 0;  // runs that went back to the baseline; of those:
  uint64_t guard_failures = 0;
  uint64_t model_exceptions = 0;          // for what the baseline raised too
  uint64_t plan_exceptions = 0;           // for what the plan alone raised
  std::vector<PlanException> exceptions;  // which those were: of the plan's first few nodes that raised
  std::vector<GuardedClaim> claims;
  std::string recording;  // of its runs on a GPU, in words; empty: none yet, or no GPU
  // If asked for:
  std::string graph;  // IR text
  std::vector<PlanKernel> kernels;
};

// A plan that is being made.
struct CompilationInfo {
  std::string method;  // its qualified name
  std::string stage;   // "passes", then "code"
  std::string pass;    // of that stage; empty before the first
  std::chrono::duration<double> since_start{0};
  bool resting = false;  // compiling has used up its share of the processor
};

// How many argument specs and plans there are.
struct PlanCounts {
  uint64_t specs = 0;        // of arguments, with a plan or without
  uint64_t failed = 0;       // of those, could not be compiled
  uint64_t specialised = 0;  // plans of tier 1
  uint64_t exact = 0;        // plans of tier 2
  uint64_t bytes = 0;
  uint64_t copied_bytes = 0;    // of weights that were packed or folded for plans
  uint64_t recorded_bytes = 0;  // of a GPU's memory, which recorded runs of plans hold
  // Since the model was loaded, of plans that are gone too:
  uint64_t bailouts = 0;  // runs that went back to the baseline
  uint64_t guard_failures = 0;
  uint64_t plan_exceptions = 0;   // runs that went back for an exception that the plan alone raised
  uint64_t invalidated = 0;       // plans that did so too often, and are not used any more
  uint64_t calls[3] = {0, 0, 0};  // by the tier that began them; estimated beyond the first few of a spec
};

// Of everything that a runtime compiled, plans only in the background.
struct CompilerCounters {
  uint64_t queued = 0;   // now
  uint64_t running = 0;  // now
  uint64_t done = 0;
  uint64_t failed = 0;
  uint64_t cancelled = 0;
  uint64_t dropped = 0;  // the queue was full, or busy
  double processor_seconds = 0;
  uint64_t shadow_runs = 0;  // answers of plans that were checked against the baseline's
  uint64_t shadow_differences = 0;
  // Fused kernels: made by the helper, read from `cache_dir`, without code for good, and asked for but not made yet.
  uint64_t kernels_made = 0;
  uint64_t kernels_read = 0;
  uint64_t kernels_failed = 0;
  uint64_t kernels_waiting = 0;
};

// A call under way. Dropping it does not cancel.
class CallHandle {
 public:
  virtual ~CallHandle() = default;
  // Asks the run to stop at its next safepoint; the callback then gets a kCancelled status. Idempotent.
  virtual void Cancel() = 0;
};

using Arguments = std::vector<c10::IValue>;
using KeywordArguments = std::vector<std::pair<std::string, c10::IValue>>;
using Callback = std::function<void(absl::StatusOr<c10::IValue>)>;

// What a model is called with often, and arguments like those.
struct FrequentCall {
  std::string method;  // "forward"
  std::string sizes;   // of the tensors: "[2, 3], [1]"
  uint64_t calls = 0;  // estimated
  // Anew each time, for a run may write to them. Throws where there is no memory for them.
  std::function<Arguments()> make;
};

// Statuses that calls give, beside OK:
//   kInvalidArgument   the arguments do not fit the schema (expected and got are named)
//   kNotFound          no such method
//   kResourceExhausted the call asked for more memory than it may have
//   kInternal          the model raised or an operator failed; the message is the TorchScript traceback
//   kUnavailable       the model's GPU has failed (RuntimeOptions::on_device_failure)
//   kCancelled, kDeadlineExceeded (for the runtime's limit of a run's time, too: the message then says so)
//
// The last reference to one may go anywhere, with a call's callback too: a thread of the runtime's ends the model.
class Model {
 public:
  virtual ~Model() = default;

  virtual std::vector<MethodInfo> methods() const = 0;
  // Null if there is no such method.
  virtual const c10::FunctionSchema* FindMethod(std::string_view name) const = 0;
  // What a run of the method does beside answering: "draws random numbers (aten::rand at model.py:12)". Empty: nobody
  // can tell how often it runs with the same arguments, and calls may be run as one. kNotFound if there is no such
  // method.
  virtual absl::StatusOr<std::string> SideEffect(std::string_view method) const = 0;

  // Of a method without side effects: whether calls may be run as one, with their tensors put together along dimension
  // 0. `arguments` is what is known of each that callers give, in the schema's order. Takes as long as making a plan
  // does. kNotFound if there is no such method.
  virtual absl::StatusOr<BatchProof> ProveBatch(std::string_view method,
                                                std::span<const BatchArgument> arguments) const = 0;

  // Why two calls with the same arguments may be answered otherwise, or do other things than answering: as SideEffect,
  // or for what other methods write. Empty: they may not.
  virtual absl::StatusOr<std::string> WhyNotRepeatable(std::string_view method) const = 0;

  // Whether a run of the method leaves the memory of its arguments as it is and keeps none of it, so that others may
  // read it during the run and after. False where that is not known.
  virtual bool LeavesArguments(std::string_view /*method*/) const { return false; }

  // A contiguous tensor of any numbers in page-locked memory of the host, to be filled and given as an argument, which
  // is sooner on a GPU then (device/device.h); undefined where other memory is as good. Throws what LibTorch throws,
  // MemoryLimitError where the thread's account has no room.
  virtual at::Tensor NewLockedArgument(c10::IntArrayRef /*sizes*/, c10::ScalarType /*dtype*/) const { return {}; }

  // Whether CallOptions::may_run_here has the method's calls run on the calling thread.
  virtual bool RunsOnCaller(std::string_view method) const = 0;

  // Calls `method` with self bound to the model's module, on the runtime's pool. Checks the arguments against the
  // schema and fills in defaults first. The callback runs once, on a pool thread or, if nothing can be run or
  // CallOptions allow it, before CallAsync returns. Tensors in `args` may be written in place by the model: hand over
  // ones that are yours to lose, or on the runtime's GPU, which are copied first. No hooks run.
  virtual std::shared_ptr<CallHandle> CallAsync(std::string_view method, Arguments args, KeywordArguments kwargs,
                                                CallOptions options, Callback callback) = 0;
  // The same, run to its end; the answer is returned.
  virtual absl::StatusOr<c10::IValue> Call(std::string_view method, Arguments args, KeywordArguments kwargs,
                                           CallOptions options = {}) = 0;
  // As Python's module(*args, **kwargs): forward with the top-level module's hooks around it. Of a file of source, its
  // function forward, or the only one that it has.
  virtual absl::StatusOr<c10::IValue> CallModule(Arguments args, KeywordArguments kwargs, CallOptions options = {}) = 0;

  virtual std::vector<AttributeInfo> attributes() const = 0;
  // The numbers of threads that operators may come to have, the largest first: libraries prepare code for each.
  virtual std::vector<int> operator_threads() const = 0;
  // What is called how often, and the plans that there are; none where nothing is compiled.
  virtual std::vector<PlanInfo> plans(bool with_graphs) const = 0;
  // So many of the calls of one method with tensors of the same sizes that there were most, the most first. Tensors
  // that are made have other contents than those calls' had, so calls whose values matter otherwise are left out; none
  // where nothing is compiled.
  virtual std::vector<FrequentCall> frequent_calls(size_t most) const = 0;
  // What of it is being compiled just now. May wait for a thread of the compiler's.
  virtual std::vector<CompilationInfo> compilations() const = 0;
  // The plans, counted: without the texts that describe them.
  virtual PlanCounts plan_counts() const = 0;
  // Has plans compiled for all argument specs that the model was called with so far, and calls `done` once when
  // none is left to compile: before this returns, or on a thread of the compiler's, which it must not block. Until then
  // compiling is not held to its share of the processor but while calls are answered, of whatever model. Whoever drops
  // what is returned does not wait any longer; `done` may then just be under way.
  virtual std::shared_ptr<const void> WhenWarm(std::function<void()> done) = 0;
  virtual std::vector<OperatorUse> operators() const = 0;
  // IR text of a method; kNotFound if there is none.
  virtual absl::StatusOr<std::string> GraphText(std::string_view method, GraphStage stage) const = 0;
  // The archive's source text, every file under code/ with its name.
  virtual std::vector<std::pair<std::string, std::string>> sources() const = 0;
  // Bytes that the weights occupy.
  virtual uint64_t weight_bytes() const = 0;
  // Bytes that loading it left in memory beside the weights: its code, its graphs, its types.
  virtual uint64_t code_bytes() const = 0;
  // These, and what plans, copies of weights and recorded runs hold, by the memory that they are in.
  virtual MemoryUse memory_use() const = 0;
  // For the memory of one request to the model: with the model's limit, within the account of all requests
  // (Runtime::memory_of_all). For whoever counts more for a request than its call. Null: nothing is limited. One that
  // stands for several requests has the limit of all of them.
  virtual std::shared_ptr<MemoryAccount> NewAccount(int64_t requests = 1) const = 0;
};

// Owns the threads that models run on: destroying it waits for the calls under way and the end of models that nobody
// holds any more, and its models must not be called after that.
class Runtime {
 public:
  // Loads operator libraries and opens the device. Errors: kNotFound or kFailedPrecondition, naming library or device.
  static absl::StatusOr<std::unique_ptr<Runtime>> Create(const RuntimeOptions& options);
  virtual ~Runtime() = default;

  // Loads a TorchScript archive. Errors: kInvalidArgument for a file that is not a sound archive or whose code does not
  // compile (file, line, caret), kNotFound for no such file or a library that cannot be loaded, kUnimplemented naming
  // operators that this build lacks, kInternal when code that runs during loading (__setstate__) raised,
  // kResourceExhausted and kDeadlineExceeded where loading passed the runtime's limits, kUnavailable where its GPU has
  // failed.
  virtual absl::StatusOr<std::shared_ptr<Model>> Load(const std::string& path, const LoadOptions& options) = 0;

  // Loads a file of TorchScript as people write it: functions, and the classes, named tuples, enums and interfaces that
  // they use. The model's methods are its functions, or LoadOptions::function alone: nothing that it does not use is
  // compiled then. Errors: as Load's, kNotFound also for no such function.
  virtual absl::StatusOr<std::shared_ptr<Model>> LoadSource(const std::string& path, const LoadOptions& options) = 0;

  virtual CompilerCounters compiler_counters() const = 0;
  // What all accounts of requests are within, as long as the runtime lives; null: RuntimeOptions give no limit.
  virtual MemoryAccount* memory_of_all() const = 0;
  // Runs `work` on a thread of the pool, after what waits there. For what a request needs that is no call. It must not
  // throw.
  virtual void Post(std::function<void()> work) = 0;

  // The numbers of the GPUs that models are on; none: they are on the CPU.
  virtual std::vector<int> gpus() const = 0;
  // Bytes of a GPU's memory that another process shares (Gpu::OpenSharedMemory). kUnimplemented without a GPU,
  // kInvalidArgument for another one than the models' and for a handle that cannot be opened.
  virtual absl::StatusOr<at::Tensor> OpenSharedMemory(int64_t gpu, const std::string& handle, int64_t bytes) = 0;
};

// What torch.save(value, path) wrote: tensors, numbers, strings, None, lists, tuples, dicts. kInvalidArgument if the
// file is something else.
absl::StatusOr<c10::IValue> ReadSavedValue(const std::string& path);
// Writes a file that torch.load(path, weights_only=True) reads; objects become dicts of their attributes.
absl::Status WriteSavedValue(const c10::IValue& value, const std::string& path);

}  // namespace hearth
