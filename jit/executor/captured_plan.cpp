#include "jit/executor/captured_plan.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/StreamGuard.h>

#include <exception>
#include <limits>
#include <utility>

#include "jit/device/gpu_convolutions.h"
#include "jit/executor/copied_values.h"
#include "jit/executor/value_difference.h"
#include "jit/support/errors.h"
#include "jit/support/logging.h"
#include "jit/support/tensors_in.h"

namespace hearth {
namespace {

spdlog::logger& CaptureLog() {
  static spdlog::logger& log = LoggerOf("executor/captured_plan");
  return log;
}

bool IsAlike(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.scalar_type() == b.scalar_type() && a.device() == b.device() && a.sizes() == b.sizes() &&
         a.strides() == b.strides() && a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

// An answer with memory of its own, dense also where it is part of a tensor.
c10::IValue OwnCopy(const c10::IValue& answer) {
  return MapTensors(answer, [](const at::Tensor& tensor) { return tensor.defined() ? tensor.clone() : tensor; });
}

// What LibTorch says goes on with where in its own code that was.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

// A recording with its arguments and its answer.
class CapturedPlan::Copy {
 public:
  Copy(std::vector<c10::IValue> arguments, size_t own) : arguments_(std::move(arguments)), own_(own) {}

  void Record(Gpu& gpu, const PlanRun& run) {
    graph_ = gpu.Record([&](const c10::Stream& stream) { answer_ = run(arguments_, stream); });
  }

  std::mutex& mutex() { return mutex_; }
  const RecordedGraph& graph() const { return *graph_; }

  // With the mutex held.
  std::optional<c10::IValue> Replay(std::span<const c10::IValue> arguments, const c10::Stream& stream) {
    const c10::StreamGuard on_stream(stream);
    const at::NoGradGuard no_gradients;
    std::vector<std::pair<at::Tensor, at::Tensor>> copies;
    bool alike = true;
    for (size_t i = own_; i < arguments.size() && alike; ++i) {
      alike = VisitPairs(arguments_[i], arguments[i],
                         [&](const at::Tensor& recorded, const at::Tensor& given) {
                           alike = alike && IsAlike(recorded, given);
                           if (recorded.defined()) copies.emplace_back(recorded, given);
                         }) &&
              alike;
    }
    if (!alike) return std::nullopt;
    graph_->Begin(stream);
    for (const auto& [recorded, given] : copies) recorded.copy_(given, /*non_blocking=*/true);
    graph_->Launch(stream);
    c10::IValue answer = OwnCopy(answer_);
    graph_->End(stream);
    return answer;
  }

 private:
  std::mutex mutex_;
  const std::vector<c10::IValue> arguments_;
  const size_t own_;
  c10::IValue answer_;
  std::unique_ptr<RecordedGraph> graph_;  // ends before what it reads and writes
};

CapturedPlan::CapturedPlan(CaptureSettings settings) : settings_(std::move(settings)) {
  all_.reserve(settings_.most_copies);
}

CapturedPlan::~CapturedPlan() = default;

bool CapturedPlan::TakeTurn() {
  return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_relaxed);
}

void CapturedPlan::PutBack() { taken_.store(false, std::memory_order_relaxed); }

void CapturedPlan::Record(const PlanRun& run, std::vector<c10::IValue> arguments, size_t own,
                          const c10::Stream& made_on) {
  made_on.synchronize();
  const BestConvolutions best;
  try {
    RecordFirst(run, arguments, own);
    if (!ready()) return;
    const size_t bytes = all_.front()->graph().bytes();
    while (all_.size() < settings_.most_copies && all_.size() * bytes <= settings_.most_bytes) {
      const auto stream = settings_.streams->Take();
      std::optional<std::vector<c10::IValue>> copies;
      {
        const c10::StreamGuard on_stream(*stream);
        copies = CopyDeep(std::span(arguments).subspan(own), std::numeric_limits<size_t>::max());
      }
      stream->synchronize();
      if (!copies) return;
      copies->insert(copies->begin(), arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(own));
      Publish(RecordCopy(run, *std::move(copies), own));
    }
  } catch (const CancelledError&) {
    throw;
  } catch (const ModelError& error) {
    CaptureLog().debug("{}", error.what());
    Refuse(FirstLine(error.message()));
  } catch (const std::exception& error) {
    Refuse(FirstLine(error.what()));
  }
}

void CapturedPlan::RecordFirst(const PlanRun& run, std::vector<c10::IValue> arguments, size_t own) {
  const auto stream = settings_.streams->Take();
  // The libraries choose their kernels in the first run, and CUDA loads them.
  const c10::IValue expected = run(arguments, *stream);
  std::unique_ptr<Copy> copy;
  std::string difference;
  try {
    stream->synchronize();
    copy = RecordCopy(run, arguments, own);
    const std::optional<c10::IValue> answer = copy->Replay(arguments, *stream);
    const c10::StreamGuard on_stream(*stream);
    difference = answer ? ValueDifference(OwnCopy(expected), *answer) : "its own arguments do not fit";
  } catch (...) {
    // Its memory goes to others with the end of this.
    stream->synchronize();
    throw;
  }
  stream->synchronize();
  if (difference.empty()) {
    Publish(std::move(copy));
  } else {
    CaptureLog().error("a recorded run answers otherwise than the plan: {}", difference);
    Refuse("it answers otherwise than the plan: " + difference);
  }
}

std::unique_ptr<CapturedPlan::Copy> CapturedPlan::RecordCopy(const PlanRun& run, std::vector<c10::IValue> arguments,
                                                             size_t own) const {
  auto copy = std::make_unique<Copy>(std::move(arguments), own);
  copy->Record(*settings_.gpu, run);
  return copy;
}

void CapturedPlan::Publish(std::unique_ptr<Copy> copy) {
  all_.push_back(std::move(copy));
  copies_.store(all_.size(), std::memory_order_release);
}

void CapturedPlan::Refuse(const std::string& reason) {
  CaptureLog().info("a plan's runs stay as they are, not recorded: {}", reason);
  taken_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  refused_ = reason;
}

std::optional<c10::IValue> CapturedPlan::Replay(std::span<const c10::IValue> arguments, const c10::Stream& stream) {
  const size_t count = copies_.load(std::memory_order_acquire);
  if (count == 0) return std::nullopt;
  const size_t first = next_.fetch_add(1, std::memory_order_relaxed);
  std::unique_lock<std::mutex> lock;
  Copy* copy = nullptr;
  for (size_t i = 0; i < count && copy == nullptr; ++i) {
    Copy* candidate = all_[(first + i) % count].get();
    lock = std::unique_lock(candidate->mutex(), std::try_to_lock);
    if (lock.owns_lock()) copy = candidate;
  }
  if (copy == nullptr) {
    // Until others have asked for their runs, which takes them no longer than this one.
    copy = all_[first % count].get();
    lock = std::unique_lock(copy->mutex());
  }
  return copy->Replay(arguments, stream);
}

CapturedPlan::Description CapturedPlan::Describe() const {
  Description description;
  description.copies = copies_.load(std::memory_order_acquire);
  for (size_t i = 0; i < description.copies; ++i) description.bytes += all_[i]->graph().bytes();
  if (description.copies > 0) description.operations = all_.front()->graph().num_operations();
  const std::lock_guard lock(mutex_);
  description.refused = refused_;
  return description;
}

}  // namespace hearth
