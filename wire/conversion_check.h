// Whether a conversion of messages and values, which may be long, is still wanted: it asks every thousand values or so.
// What a conversion works for says so on the thread; code that converts need not know of requests.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace hearth {

// Thrown by CheckConversion where the conversion is not wanted any more; whoever made the scope gets it.
class ConversionEnded : public std::exception {
 public:
  explicit ConversionEnded(absl::Status why) : why_(std::move(why)), text_(why_.message()) {}
  const absl::Status& why() const { return why_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  absl::Status why_;
  std::string text_;
};

// What conversions on this thread ask until its end. Scopes nest; the innermost counts.
class ConversionScope {
 public:
  // A status that is not OK ends the conversion.
  explicit ConversionScope(std::function<absl::Status()> wanted);
  ~ConversionScope();
  ConversionScope(const ConversionScope&) = delete;
  ConversionScope& operator=(const ConversionScope&) = delete;

 private:
  friend void CheckConversion();

  const std::function<absl::Status()> wanted_;
  const ConversionScope* const outer_;
};

// Throws ConversionEnded, or MemoryLimitError if the thread's memory account has passed its limit.
void CheckConversion();

// Calls it for one in so many values.
inline constexpr size_t kValuesBetweenChecks = 1024;
inline void CheckConversionAt(size_t value) {
  if (value % kValuesBetweenChecks == 0) CheckConversion();
}

}  // namespace hearth
