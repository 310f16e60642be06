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

std::shared_ptr<const KernelCode> KernelTable::Get(const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = kernels_.try_emplace(text);
  if (!is_new) return found->second;
  const auto start = std::chrono::steady_clock::now();
  found->second = Make(text);
  counters_.time += std::chrono::steady_clock::now() - start;
  if (found->second == nullptr) {
    ++counters_.refused;
  } else {
    ++counters_.made;
    counters_.bytes += found->second->bytes;
  }
  return found->second;
}

KernelTable::Counters KernelTable::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

std::shared_ptr<const KernelCode> KernelTable::Make(const std::string& text) {
  CodegenAnswer answer;
  try {
    if (process_ == nullptr) process_ = std::make_unique<CodegenProcess>(settings_.helper);
    answer = process_->Ask({text, settings_.target}, settings_.patience);
    if (answer.ok) return Map(answer.bytes);
  } catch (const std::exception& error) {
    process_ = nullptr;
    answer.bytes = error.what();
  }
  Log().warn("no code for a kernel: {}", answer.bytes);
  Log().debug("the kernel: {}", text);
  return nullptr;
}

}  // namespace hearth::fuser
