#include "server/ensembles/ensemble_run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/api/guarded.h"
#include "server/ensembles/ensemble_schema.h"
#include "server/ensembles/step_check.h"
#include "server/scheduling/retry_advice.h"
#include "wire/tensors_from_value.h"

namespace hearth::server {
namespace {

// One request has models loaded again at most so often: where memory is short, another load may unload them.
constexpr int kMostLoadsOfSteps = 4;
// Steps that are run within each other's answers, on one thread's stack, before another thread goes on.
constexpr int kDeepestChain = 16;

thread_local int chain_depth = 0;

absl::Status InStep(const EnsembleGraph& graph, size_t step, const absl::Status& status) {
  absl::Status named(status.code(), absl::StrCat(graph.NameOf(step), ": ", status.message()));
  const auto advice = RetryAfterOf(status);
  return advice ? WithRetryAfter(std::move(named), *advice) : named;
}

size_t BytesOf(const WireTensor& tensor) {
  size_t bytes = tensor.tensor.defined() ? tensor.tensor.nbytes() : 0;
  for (const std::string& text : tensor.strings) bytes += sizeof(text) + text.size();
  return bytes;
}

bool IsShared(const at::Tensor& tensor) {
  return tensor.defined() && (tensor.use_count() > 1 || tensor.storage().use_count() > 1);
}

}  // namespace

// A step of this request that has begun.
struct EnsembleRun::StepRun {
  size_t step = 0;
  ServablePtr servable;
  Ensemble::Habits habits;
  std::shared_ptr<MemoryAccount> memory;  // may be null
  CallObservation observation;
  bool entered = false;   // the step's limiter
  bool admitted = false;  // by the dispatcher
  int64_t rows = 1;
  Execution execution;
  Clock::time_point arrived, handed_over, finished;
  std::atomic<Clock::rep> began{0};  // since the clock's epoch; 0: not yet
  std::shared_ptr<CallHandle> handle;
};

EnsembleRun::EnsembleRun(std::shared_ptr<const Ensemble> ensemble, DispatchedCall call, DispatchCallback done)
    : ensemble_(std::move(ensemble)),
      call_(std::move(call)),
      servables_(ensemble_->graph().steps().size()),
      done_(std::move(done)),
      values_(ensemble_->graph().tensors().size()),
      missing_(servables_.size()),
      steps_left_(servables_.size()) {
  const EnsembleGraph& graph = ensemble_->graph();
  for (size_t i = 0; i < values_.size(); ++i) {
    values_[i].takers = graph.tensors()[i].takers.size() + (graph.tensors()[i].is_output ? 1 : 0);
  }
  for (size_t i = 0; i < missing_.size(); ++i) missing_[i] = graph.steps()[i].inputs.size();
}

void EnsembleRun::Start() {
  caller_ = std::this_thread::get_id();
  if (call_.on_start) call_.on_start();
  const absl::Status status = Guarded([&] { return TakeArguments(); });
  if (!status.ok()) return Finish(status);
  ChooseModels();
}

absl::Status EnsembleRun::TakeArguments() {
  const inference::ModelConfig& config = ensemble_->config();
  CallArguments arguments = std::move(call_.arguments);
  for (int i = 0; i < config.input_size(); ++i) {
    const std::string& name = config.input(i).name();
    c10::IValue value;
    if (static_cast<size_t>(i) < arguments.args.size()) {
      value = std::move(arguments.args[i]);
    } else {
      const auto named = std::ranges::find(arguments.kwargs, name, [](const auto& each) { return each.first; });
      if (named != arguments.kwargs.end()) value = std::move(named->second);
    }
    if (value.isNone()) {
      if (config.input(i).optional()) continue;
      return absl::InvalidArgumentError(absl::StrCat("the ensemble's input '", name, "' is missing"));
    }
    if (absl::Status status = TakeArgument(i, value); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status EnsembleRun::TakeArgument(size_t input, const c10::IValue& value) {
  const inference::ModelConfig& config = ensemble_->config();
  const inference::ModelInput& declared = config.input(static_cast<int>(input));
  auto leaves = TensorsFromValue(value);
  if (!leaves.ok()) return leaves.status();
  if (leaves->size() != 1 || leaves->front().datatype == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("the ensemble's input '", declared.name(), "' is no tensor"));
  }
  WireTensor& tensor = leaves->front();
  if (tensor.datatype->is_bytes()) {
    const auto count = static_cast<int64_t>(tensor.strings.size());
    auto shape = ShapeOfStrings(declared, config.max_batch_size() > 0, count);
    if (!shape) {
      return absl::InvalidArgumentError(absl::StrCat("the ensemble's input '", declared.name(), "' has ", count,
                                                     " strings, which its dims cannot have"));
    }
    tensor.shape = *std::move(shape);
  }
  values_[ensemble_->graph().inputs()[input]].tensor = std::move(tensor);
  return absl::OkStatus();
}

void EnsembleRun::ChooseModels() {
  std::string idle;
  for (size_t i = 0; i < servables_.size(); ++i) {
    if (absl::Status status = ChooseModel(i, idle); !status.ok()) return Fail(i, status);
    if (!idle.empty()) return AwaitModel(idle);
  }
  std::vector<size_t> ready;
  {
    std::lock_guard lock(mutex_);
    // Those that no step makes are there, or left out.
    for (const size_t input : ensemble_->graph().inputs()) {
      for (const size_t taker : ensemble_->graph().tensors()[input].takers) --missing_[taker];
    }
    for (size_t i = 0; i < missing_.size(); ++i) {
      if (missing_[i] == 0) ready.push_back(i);
    }
  }
  StartSteps(ready);
}

absl::Status EnsembleRun::ChooseModel(size_t step, std::string& idle) {
  const EnsembleGraph::Step& wanted = ensemble_->graph().steps()[step];
  const Repository& repository = ensemble_->environment().repository;
  auto chosen = repository.Choose(wanted.model, wanted.version);
  if (IsIdle(chosen.status()) && loads_awaited_ < kMostLoadsOfSteps) {
    idle = wanted.model;
    return absl::OkStatus();
  }
  // Whatever is the matter with the model, the ensemble that was asked for is there.
  if (!chosen.ok()) return absl::UnavailableError(chosen.status().message());
  servables_[step] = *std::move(chosen);
  return CheckNesting(ensemble_->config().name(), *servables_[step], repository);
}

void EnsembleRun::AwaitModel(const std::string& model) {
  ++loads_awaited_;
  // Held meanwhile, they could not make room for each other.
  std::ranges::fill(servables_, nullptr);
  // Not the run itself, which the callback holds.
  const std::shared_ptr<const void> who = std::make_shared<char>();
  {
    std::lock_guard lock(mutex_);
    if (done_ == nullptr) return;
    awaits_model_ = who;
  }
  ensemble_->environment().repository.LoadIdle(
      model, who, [self = shared_from_this(), model](const absl::Status& loaded) {
        if (self->ended()) return;
        if (!loaded.ok()) {
          return self->Finish(
              absl::Status(loaded.code(), absl::StrCat("the step's model '", model, "': ", loaded.message())));
        }
        self->ensemble_->environment().post([self] { self->ChooseModels(); });
      });
}

void EnsembleRun::StartSteps(const std::vector<size_t>& ready) {
  for (const size_t step : ready) {
    if (ended()) return;
    Enter(step);
  }
}

void EnsembleRun::Enter(size_t step) {
  const auto run = std::make_shared<StepRun>();
  run->step = step;
  run->servable = std::move(servables_[step]);
  run->arrived = run->handed_over = Clock::now();
  StepLimiter* limiter = ensemble_->limiter(step);
  if (limiter == nullptr) return RunStep(run);
  const auto ticket = limiter->Enter(call_.deadline, [self = shared_from_this(), run](const absl::Status& status) {
    run->entered = status.ok();
    if (!status.ok()) return self->Fail(run->step, status);
    if (self->ended()) return self->Leave(*run);
    self->RunStep(run);
  });
  if (!ticket) return;
  {
    std::lock_guard lock(mutex_);
    if (done_ != nullptr) {
      waiting_[step] = *ticket;
      return;
    }
  }
  limiter->Withdraw(*ticket);
}

void EnsembleRun::Leave(StepRun& run) {
  if (std::exchange(run.entered, false)) ensemble_->limiter(run.step)->Leave();
}

absl::StatusOr<std::vector<WireTensor>> EnsembleRun::TakeInputs(const StepRun& run) {
  std::vector<WireTensor> inputs;
  std::vector<std::unique_ptr<MemoryAccount>> counted;
  {
    std::lock_guard lock(mutex_);
    if (done_ == nullptr) return absl::CancelledError("the request has ended");
    for (const EnsembleGraph::Link& link : ensemble_->graph().steps()[run.step].inputs) {
      Value& value = values_[link.tensor];
      const bool is_last = --value.takers == 0;
      if (!value.tensor) continue;
      inputs.push_back(is_last ? std::move(*value.tensor) : *value.tensor);
      inputs.back().name = link.name;
      if (!is_last) continue;
      value.tensor.reset();
      counted.push_back(std::move(value.counted));
    }
  }
  for (WireTensor& input : inputs) {
    if (run.habits.writes_inputs && IsShared(input.tensor)) input.tensor = input.tensor.clone();
  }
  return inputs;
}

absl::StatusOr<DispatchedCall> EnsembleRun::PrepareStep(StepRun& run) {
  const Signature& signature = SignatureOf(*run.servable);
  run.memory = run.servable->model->NewAccount();
  const MemoryAccount::Scope counting(run.memory.get());
  std::optional<absl::StatusOr<DispatchedCall>> prepared;
  const absl::Status status = Guarded([&] {
    run.habits = ensemble_->HabitsOf(run.step, run.servable);
    auto inputs = TakeInputs(run);
    if (!inputs.ok()) return inputs.status();
    size_t bytes = 0;
    for (const WireTensor& input : *inputs) bytes += BytesOf(input);
    run.observation.known = run.servable->observed.get();
    auto bound = signature.Bind(*std::move(inputs), &run.observation);
    if (!bound.ok()) return bound.status();
    DispatchedCall call;
    call.arguments = {std::move(bound->args), std::move(bound->kwargs)};
    call.rows = run.rows = bound->batch_size;
    call.bytes = bytes;
    prepared = std::move(call);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return *std::move(prepared);
}

void EnsembleRun::RunStep(const StepPtr& run) {
  if (chain_depth >= kDeepestChain) {
    return ensemble_->environment().post([self = shared_from_this(), run] { self->RunStep(run); });
  }
  auto call = PrepareStep(*run);
  run->handed_over = Clock::now();
  if (!call.ok()) {
    Report(*run, call.status());
    Leave(*run);
    return Fail(run->step, call.status());
  }
  call->deadline = call_.deadline;
  call->memory = run->memory;
  call->queue.priority = call_.queue.priority;
  call->of_admitted_request = true;
  call->caller = std::this_thread::get_id() == caller_ ? call_.caller : CallerThread::kOneOfMany;
  call->on_start = [run] { run->began = Clock::now().time_since_epoch().count(); };
  {
    std::lock_guard lock(mutex_);
    running_.push_back(run);
  }
  run->admitted = true;
  ++chain_depth;
  auto handle = ensemble_->environment().dispatcher.Dispatch(
      run->servable, *std::move(call),
      [self = shared_from_this(), run](absl::StatusOr<c10::IValue> answer, const Execution& execution) {
        self->OnAnswer(run, std::move(answer), execution);
      });
  --chain_depth;
  if (!handle.ok()) {
    run->admitted = false;
    {
      std::lock_guard lock(mutex_);
      std::erase(running_, run);
    }
    Report(*run, handle.status());
    Leave(*run);
    return Fail(run->step, handle.status());
  }
  bool cancel = false;
  {
    std::lock_guard lock(mutex_);
    cancel = done_ == nullptr;
    // Else it has ended already.
    if (std::ranges::find(running_, run) != running_.end()) run->handle = *handle;
  }
  if (cancel && *handle != nullptr) (*handle)->Cancel();
}

void EnsembleRun::OnAnswer(const StepPtr& run, absl::StatusOr<c10::IValue> answer, const Execution& execution) {
  run->finished = Clock::now();
  run->execution = execution;
  std::vector<size_t> ready;
  absl::Status status = answer.status();
  if (status.ok()) {
    const MemoryAccount::Scope counting(call_.memory.get());
    status = Guarded([&] {
      auto outputs = ReadAnswer(*run, *std::move(answer));
      if (!outputs.ok()) return outputs.status();
      ready = KeepOutputs(*run, *std::move(outputs));
      return absl::OkStatus();
    });
  }
  bool is_last = false;
  {
    std::lock_guard lock(mutex_);
    std::erase(running_, run);
    run->handle = nullptr;
    is_last = status.ok() && --steps_left_ == 0;
  }
  Report(*run, status);
  Leave(*run);
  // Its version may go before the other steps are done.
  run->servable = nullptr;
  if (!status.ok()) return Fail(run->step, status);
  if (is_last) {
    c10::IValue made;
    status = Guarded([&] {
      made = MakeAnswer();
      return absl::OkStatus();
    });
    if (!status.ok()) return Finish(status);
    return Finish(std::move(made));
  }
  StartSteps(ready);
}

absl::StatusOr<std::vector<WireTensor>> EnsembleRun::ReadAnswer(StepRun& run, c10::IValue answer) {
  const Signature& signature = SignatureOf(*run.servable);
  std::vector<std::string> names;
  for (const EnsembleGraph::Link& link : ensemble_->graph().steps()[run.step].outputs) names.push_back(link.name);
  auto outputs = signature.Unbind(std::move(answer), names, &run.observation);
  // The client did not ask for it; the ensemble did.
  if (absl::IsInvalidArgument(outputs.status())) return absl::InternalError(outputs.status().message());
  if (!outputs.ok()) return outputs.status();
  for (WireTensor& output : *outputs) {
    if (run.habits.keeps_outputs && IsShared(output.tensor)) output.tensor = output.tensor.clone();
  }
  RecordObservation(*run.servable->observed, run.observation);
  return outputs;
}

std::vector<size_t> EnsembleRun::KeepOutputs(const StepRun& run, std::vector<WireTensor> outputs) {
  const EnsembleGraph& graph = ensemble_->graph();
  std::vector<std::unique_ptr<MemoryAccount>> counted;
  for (const WireTensor& output : outputs) counted.push_back(Count(output));
  std::vector<size_t> ready;
  std::lock_guard lock(mutex_);
  for (const EnsembleGraph::Link& link : graph.steps()[run.step].outputs) {
    Value& value = values_[link.tensor];
    const auto made = std::ranges::find(outputs, link.name, &WireTensor::name);
    // What the model left out (None) is left out for who takes it.
    if (made != outputs.end()) {
      value.counted = std::move(counted[made - outputs.begin()]);
      value.tensor = std::move(*made);
    }
    for (const size_t taker : graph.tensors()[link.tensor].takers) {
      if (--missing_[taker] == 0) ready.push_back(taker);
    }
  }
  return ready;
}

std::unique_ptr<MemoryAccount> EnsembleRun::Count(const WireTensor& tensor) const {
  if (call_.memory == nullptr) return nullptr;
  auto account = std::make_unique<MemoryAccount>(call_.memory->limit(), call_.memory.get());
  account->Charge(BytesOf(tensor));
  return account;
}

void EnsembleRun::Report(const StepRun& run, const absl::Status& status) const {
  const Clock::time_point now = Clock::now();
  EndedRequest ended{.status = status,
                     .times = {},
                     .rows = run.rows,
                     .execution = run.execution,
                     .admitted = run.admitted,
                     .began = run.began != 0};
  ended.times.total = now - run.arrived;
  ended.times.compute_input = run.handed_over - run.arrived;
  if (run.admitted) {
    const Clock::time_point start = ended.began ? Clock::time_point(Clock::duration(run.began)) : run.handed_over;
    ended.times.queue = start - run.handed_over;
    ended.times.compute_infer = run.finished - start;
    ended.times.compute_output = now - run.finished;
  }
  ended.ran_too_long =
      absl::IsDeadlineExceeded(status) && ended.began && (!call_.deadline || run.finished < *call_.deadline);
  CountRequest(ended, *run.servable->statistics);
}

void EnsembleRun::Fail(size_t step, const absl::Status& status) { Finish(InStep(ensemble_->graph(), step, status)); }

bool EnsembleRun::ended() const {
  std::lock_guard lock(mutex_);
  return done_ == nullptr;
}

c10::IValue EnsembleRun::MakeAnswer() {
  std::vector<c10::IValue> outputs;
  for (const size_t output : ensemble_->graph().outputs()) {
    std::optional<WireTensor> tensor;
    {
      std::lock_guard lock(mutex_);
      // Cancelled, nothing of it is needed.
      if (done_ == nullptr) return c10::IValue();
      tensor = std::exchange(values_[output].tensor, std::nullopt);
      values_[output].counted = nullptr;
    }
    if (!tensor) {
      outputs.emplace_back();
    } else if (tensor->datatype->is_bytes()) {
      outputs.emplace_back(c10::List<std::string>(tensor->strings));
    } else {
      outputs.emplace_back(std::move(tensor->tensor));
    }
  }
  return c10::ivalue::Tuple::createNamed(std::move(outputs), AnswerType(ensemble_->schema()));
}

void EnsembleRun::Finish(absl::StatusOr<c10::IValue> answer) {
  // What is withdrawn may hold the run.
  const auto self = shared_from_this();
  DispatchCallback done;
  std::vector<std::shared_ptr<CallHandle>> handles;
  std::vector<Value> values;
  std::map<size_t, StepLimiter::Ticket> waiting;
  {
    std::lock_guard lock(mutex_);
    if (done_ == nullptr) return;
    done = std::exchange(done_, nullptr);
    for (const StepPtr& run : running_) {
      if (run->handle != nullptr) handles.push_back(run->handle);
    }
    waiting.swap(waiting_);
    awaits_model_ = nullptr;
    // Takers that are still to come find nothing, and see that it has ended.
    values.resize(values_.size());
    values.swap(values_);
  }
  for (const auto& [step, ticket] : waiting) ensemble_->limiter(step)->Withdraw(ticket);
  for (const auto& handle : handles) handle->Cancel();
  values.clear();
  done(std::move(answer), {.rows = call_.rows});
}

void EnsembleRun::Cancel() { Finish(absl::CancelledError("the request was cancelled")); }

}  // namespace hearth::server
