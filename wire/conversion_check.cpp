#include "wire/conversion_check.h"

#include <utility>

#include "jit/support/memory_account.h"

namespace hearth {
namespace {

thread_local const ConversionScope* scope_of_thread = nullptr;

}  // namespace

ConversionScope::ConversionScope(std::function<absl::Status()> wanted)
    : wanted_(std::move(wanted)), outer_(std::exchange(scope_of_thread, this)) {}

ConversionScope::~ConversionScope() { scope_of_thread = outer_; }

void CheckConversion() {
  MemoryAccount::CheckThread();
  if (scope_of_thread == nullptr) return;
  if (absl::Status status = scope_of_thread->wanted_(); !status.ok()) throw ConversionEnded(std::move(status));
}

}  // namespace hearth
