#include "jit/fuser/runtime/kernel_table.h"

#include <exception>
#include <utility>

#include "jit/fuser/image/executable_memory.h"
#include "jit/fuser/image/kernel_image.h"
#include "jit/support/logging.h"

namespace hearth::fuser {
namespace {

spdlog::logger& Log() {
  static spdlog::logger& log = LoggerOf("fuser/kernel_table");
  return log;
}

std::shared_ptr<const KernelCode> Map(const std::string& bytes) {
  const KernelImage image = ParseKernelImage(bytes);
  const auto memory = std::make_shared<const ExecutableMemory>(image);
  auto code = std::make_shared<KernelCode>();
  code->sizes = memory->sizes();
  for (size_t i = 0; i < memory->num_loops(); ++i) code->loops.push_back(memory->loop(i));
  code->bytes = image.block.size();
  code->memory = memory;
  return code;
}

}  // namespace

KernelTable::KernelTable(Settings settings) : settings_(std::move(settings)) {}

std::shared_ptr<const KernelCode> KernelTable::Get(const std::string& text, const std::function<void()>& rest) {
  const std::lock_guard making(making_);
  if (const auto known = Find(text)) return *known;
  const auto start = std::chrono::steady_clock::now();
  std::shared_ptr<const KernelCode> code = Make(text, rest);
  const std::lock_guard lock(mutex_);
  kernels_.emplace(text, code);
  counters_.time += std::chrono::steady_clock::now() - start;
  if (code == nullptr) {
    ++counters_.refused;
  } else {
    ++counters_.made;
    counters_.bytes += code->bytes;
  }
  return code;
}

std::optional<std::shared_ptr<const KernelCode>> KernelTable::Find(const std::string& text) const {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(text);
  if (found == kernels_.end()) return {};
  return found->second;
}

KernelTable::Counters KernelTable::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

std::shared_ptr<const KernelCode> KernelTable::Make(const std::string& text, const std::function<void()>& rest) {
  std::string why;
  bool is_wanted = true;
  try {
    if (process_ == nullptr) process_ = std::make_unique<CodegenProcess>(settings_.helper);
    process_->Ask({text, settings_.target}, settings_.patience);
    while (!process_->HasAnswer()) {
      const CodegenProcess::Pause paused(*process_);
      is_wanted = false;
      if (rest) rest();
      is_wanted = true;
    }
    CodegenAnswer answer = process_->TakeAnswer();
    if (answer.ok) return Map(answer.bytes);
    why = std::move(answer.bytes);
  } catch (const std::exception& error) {
    // What it may still answer is nobody's.
    process_ = nullptr;
    if (!is_wanted) throw;
    why = error.what();
  }
  Log().warn("no code for a kernel: {}", why);
  Log().debug("the kernel: {}", text);
  return nullptr;
}

}  // namespace hearth::fuser
