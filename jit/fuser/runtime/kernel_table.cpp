#include "jit/fuser/runtime/kernel_table.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "jit/fuser/image/executable_memory.h"
#include "jit/fuser/image/kernel_image.h"
#include "jit/fuser/runtime/code_origin.h"
#include "jit/support/logging.h"

namespace hearth::fuser {
namespace {

using Cause = CodegenError::Cause;

// In a row, with a new helper each.
constexpr int kMostTries = 3;
constexpr int kMostCrashes = 2;
// Of one kernel, each after a while.
constexpr unsigned kMostFailures = 8;
constexpr std::chrono::milliseconds kLongestWait = std::chrono::hours(1);

spdlog::logger& Log() {
  static spdlog::logger& log = LoggerOf("fuser/kernel_table");
  return log;
}

std::shared_ptr<const KernelCode> Map(const KernelImage& image, Gpu* gpu) {
  const auto memory = std::make_shared<const ExecutableMemory>(image);
  auto code = std::make_shared<KernelCode>();
  code->sizes = memory->sizes();
  for (size_t i = 0; i < memory->num_loops(); ++i) code->loops.push_back(memory->loop(i));
  code->bytes = image.block.size() + image.device_code.size();
  code->memory = memory;
  if (image.device_code.empty() != (gpu == nullptr)) throw ImageError("a kernel's code is for another device");
  if (gpu != nullptr) code->on_gpu = std::make_shared<const GpuKernel>(*gpu, image);
  return code;
}

double MillisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

int64_t Now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

std::unique_ptr<KernelStore> StoreOf(const KernelTable::Settings& settings) {
  if (settings.folder.empty()) return nullptr;
  std::string origin = CodeOrigin(settings.helper, settings.target);
  if (!origin.empty()) return std::make_unique<KernelStore>(settings.folder, std::move(origin));
  Log().debug("{} does not say of which build it is: kernels are not kept", settings.helper);
  return nullptr;
}

}  // namespace

KernelTable::KernelTable(Settings settings)
    : settings_(std::move(settings)), store_(StoreOf(settings_)), retry_after_(settings_.retry_after) {}

std::shared_ptr<const KernelCode> KernelTable::Get(const std::string& text, const std::function<void()>& rest) {
  if (const auto known = Find(text)) return *known;
  const std::lock_guard making(making_);
  if (const auto known = Find(text)) return *known;
  if (retry_at_.load() != 0 && !MayRetry()) return nullptr;
  const auto start = std::chrono::steady_clock::now();
  Answer answer = Make(text, rest);
  {
    const std::lock_guard lock(mutex_);
    counters_.time += std::chrono::steady_clock::now() - start;
    if (answer.code != nullptr) ++counters_.made;
  }
  if (answer.code != nullptr) {
    Keep(text, answer.code);
  } else if (!answer.refusal.empty()) {
    SetAside(text, answer.refusal);
  }
  return answer.code;
}

std::optional<std::shared_ptr<const KernelCode>> KernelTable::Find(const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    const Kernel& kernel = kernels_[text];
    if (kernel.is_known) return kernel.code;
  }
  const auto start = std::chrono::steady_clock::now();
  const std::shared_ptr<const KernelImage> shared =
      settings_.shared != nullptr ? settings_.shared->Find(text) : nullptr;
  const std::optional<KernelFile> file = shared == nullptr && store_ != nullptr ? store_->Read(text) : std::nullopt;
  if (shared == nullptr && !file) return std::nullopt;
  std::shared_ptr<const KernelCode> code;
  if (shared != nullptr || file->image) {
    try {
      code = Map(shared != nullptr ? *shared : *file->image, settings_.gpu.get());
    } catch (const std::exception& error) {
      Log().warn("no code for a kernel: {}", error.what());
      return std::nullopt;
    }
  } else {
    Log().info("a kernel was set aside before: {}", file->reason);
  }
  const std::lock_guard lock(mutex_);
  Kernel& kernel = kernels_[text];
  if (kernel.is_known) return kernel.code;
  kernel = {.is_known = true, .code = code};
  if (code == nullptr) ++counters_.failed;
  // What another table has made counts there.
  if (code != nullptr && shared == nullptr) ++counters_.read;
  if (code != nullptr) Log().debug("a kernel was read: {} bytes in {:.3f} ms", code->bytes, MillisecondsSince(start));
  if (code != nullptr) counters_.bytes += code->bytes;
  return code;
}

void KernelTable::Keep(const std::string& text, std::shared_ptr<const KernelCode> code) {
  const std::lock_guard lock(mutex_);
  counters_.bytes += code->bytes;
  kernels_[text] = {.is_known = true, .code = std::move(code)};
}

void KernelTable::SetAside(const std::string& text, const std::string& reason) {
  Log().warn("no code for a kernel: {}", reason);
  Log().debug("the kernel: {}", text);
  {
    const std::lock_guard lock(mutex_);
    Kernel& kernel = kernels_[text];
    if (kernel.is_known && kernel.code == nullptr) return;
    if (kernel.code != nullptr) kernel.code->set_aside = true;
    kernel = {.is_known = true, .code = nullptr};
    ++counters_.failed;
  }
  if (settings_.shared != nullptr) settings_.shared->Remove(text);
  if (store_ != nullptr) store_->WriteReason(text, reason);
}

bool KernelTable::MayRetry() const {
  const int64_t at = retry_at_.load(std::memory_order_relaxed);
  return at != 0 && Now() >= at;
}

KernelCounters KernelTable::counters() const {
  const std::lock_guard lock(mutex_);
  KernelCounters counters = counters_;
  counters.waiting = static_cast<uint64_t>(
      std::ranges::count_if(kernels_, [](const auto& kernel) { return !kernel.second.is_known; }));
  return counters;
}

KernelTable::Answer KernelTable::Make(const std::string& text, const std::function<void()>& rest) {
  int crashes = 0;
  std::string why;
  for (int tries = 0; tries < kMostTries; ++tries) {
    try {
      Answer answer = Ask(text, rest);
      retry_after_ = settings_.retry_after;
      return answer;
    } catch (const CodegenError& error) {
      // What it may still answer is nobody's.
      process_ = nullptr;
      why = error.what();
      if (error.cause() == Cause::kTooSlow) return {.code = nullptr, .refusal = why};
      if (error.cause() == Cause::kCrashed && ++crashes == kMostCrashes) return {.code = nullptr, .refusal = why};
      if (error.cause() != Cause::kEnded && error.cause() != Cause::kCrashed) break;
    } catch (...) {
      process_ = nullptr;
      throw;
    }
  }
  Postpone(text, why);
  return {};
}

KernelTable::Answer KernelTable::Ask(const std::string& text, const std::function<void()>& rest) {
  const auto start = std::chrono::steady_clock::now();
  if (process_ == nullptr) process_ = std::make_unique<CodegenProcess>(settings_.helper, settings_.environment);
  process_->Ask({text, settings_.target}, settings_.patience);
  while (!process_->HasAnswer()) {
    const CodegenProcess::Pause paused(*process_);
    if (rest) rest();
  }
  CodegenAnswer answer = process_->TakeAnswer();
  if (!answer.ok) return {.code = nullptr, .refusal = answer.bytes.empty() ? "the helper refuses it" : answer.bytes};
  try {
    const auto image = std::make_shared<const KernelImage>(ParseKernelImage(answer.bytes));
    std::shared_ptr<const KernelCode> code = Map(*image, settings_.gpu.get());
    if (settings_.shared != nullptr) settings_.shared->Put(text, image);
    if (store_ != nullptr) store_->Write(text, *image);
    Log().debug("a kernel was made: {} bytes in {:.3f} ms", code->bytes, MillisecondsSince(start));
    return {.code = std::move(code), .refusal = ""};
  } catch (const std::exception& error) {
    throw CodegenError(Cause::kEnded, error.what());
  }
}

void KernelTable::Postpone(const std::string& text, const std::string& reason) {
  Log().warn("no code for a kernel for now: {}", reason);
  retry_at_ = Now() + std::chrono::nanoseconds(retry_after_).count();
  retry_after_ = std::min(2 * retry_after_, kLongestWait);
  const std::lock_guard lock(mutex_);
  Kernel& kernel = kernels_[text];
  if (++kernel.failures < kMostFailures) return;
  kernel.is_known = true;
  ++counters_.failed;
}

}  // namespace hearth::fuser
