#include "jit/interpreter/bailout_record.h"

#include <c10/util/Exception.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "jit/interpreter/traceback.h"
#include "jit/ir/printer.h"
#include "jit/support/errors.h"
#include "jit/support/logging.h"
#include "jit/support/memory_account.h"

namespace hearth {
namespace {

constexpr size_t kLongestText = 300;

spdlog::logger& Log() {
  static spdlog::logger& logger = LoggerOf("interpreter/bailouts");
  return logger;
}

std::string Bounded(std::string text) {
  if (text.size() <= kLongestText) return text;
  text.resize(kLongestText);
  return text + " ...";
}

std::string FirstLine(std::string_view text) {
  const std::string quoted = QuoteString(text.substr(0, std::min(text.find('\n'), kLongestText + 1)));
  return Bounded(quoted.substr(1, quoted.size() - 2));
}

}  // namespace

std::string PlaceOf(const SourceRange& range) {
  if (range.source == nullptr) return "";
  OriginalLocation original;
  if (const OriginalLocations* originals = range.source->originals();
      originals != nullptr && originals->Find(range.begin, &original) && !original.file.empty()) {
    return original.file + ":" + std::to_string(original.line());
  }
  return range.source->name() + ":" + std::to_string(range.source->PositionOf(range.begin).line);
}

std::string ExceptionText(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ModelError& of_fork) {
    return FirstLine(of_fork.class_name() + ": " + of_fork.message());
  } catch (const RaisedException& raised) {
    return FirstLine(raised.class_name + ": " + raised.message);
  } catch (const c10::Error& failed) {
    return FirstLine(failed.what_without_backtrace());
  } catch (const std::exception& failed) {
    return FirstLine(failed.what());
  } catch (...) {
    return "unknown exception";
  }
}

size_t BailoutRecord::AddGuard(GuardInfo guard) {
  guards_.push_back(std::move(guard));
  failures_.emplace_back(0);
  return guards_.size() - 1;
}

void BailoutRecord::CountBailout() {
  count_.fetch_add(1, std::memory_order_relaxed);
  if (totals_ != nullptr) totals_->bailouts.fetch_add(1, std::memory_order_relaxed);
}

void BailoutRecord::CountGuardFailure(size_t guard) {
  failures_[guard].fetch_add(1, std::memory_order_relaxed);
  guard_failures_.fetch_add(1, std::memory_order_relaxed);
  if (totals_ != nullptr) totals_->guard_failures.fetch_add(1, std::memory_order_relaxed);
}

void BailoutRecord::CountPlanException(const Node& node, const std::exception_ptr& error) {
  const MemoryAccount::Scope nobody(nullptr);
  plan_exceptions_.fetch_add(1, std::memory_order_relaxed);
  if (totals_ != nullptr) totals_->plan_exceptions.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(exceptions_, &node, &OfNode::node);
  if (known != exceptions_.end()) {
    ++known->exception.runs;
    return;
  }
  if (exceptions_.size() == kMostNodes) return;
  PlanException exception;
  exception.op = node.kind().toQualString();
  exception.node = Bounded(PrintNode(node));
  exception.where = PlaceOf(node.range());
  exception.text = ExceptionText(error);
  exception.runs = 1;
  Log().warn("{}: {} raised in a plan, and the baseline does not{}{}: {}; {}", function_name_, exception.op,
             exception.where.empty() ? "" : ", at ", exception.where, exception.text, exception.node);
  exceptions_.push_back({&node, std::move(exception)});
}

std::vector<BailoutRecord::PlanException> BailoutRecord::exceptions() const {
  const std::lock_guard lock(mutex_);
  std::vector<PlanException> exceptions;
  for (const OfNode& each : exceptions_) exceptions.push_back(each.exception);
  return exceptions;
}

}  // namespace hearth
