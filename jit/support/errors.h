// The exceptions that end a load or a request. Each carries a message fit for the person who caused it; none ends the
// process. They are turned into absl::Status once, in jit/runtime.cpp. No exception is used for control flow.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "jit/support/source_range.h"

namespace hearth {

// The bytes of an archive (or of a torch.save file) are not what the format demands: says what was expected and found.
class ArchiveError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Source text does not compile. what() is the bare message followed by file, line and the source with a caret.
class CompileError : public std::runtime_error {
 public:
  CompileError(const SourceRange& range, const std::string& message);

  // The message alone, without the place.
  const std::string& message() const { return message_; }
  const SourceRange& range() const { return range_; }

 private:
  std::string message_;
  SourceRange range_;
};

// The model raised, or an operator failed, while a method ran.
class ModelError : public std::runtime_error {
 public:
  // `class_name` is the Python class that the model raised, e.g. "builtins.ValueError", or "RuntimeError" for a
  // failing operator. `message` is its text; `traceback` is the whole report, serialized and original code, ending in
  // "class: message". what() is the traceback.
  ModelError(std::string class_name, std::string message, const std::string& traceback)
      : std::runtime_error(traceback), class_name_(std::move(class_name)), message_(std::move(message)) {}

  const std::string& class_name() const { return class_name_; }
  const std::string& message() const { return message_; }

 private:
  std::string class_name_;
  std::string message_;
};

// The caller handed arguments that do not fit the method's schema: says what was expected and what came.
class ArgumentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The run was cancelled, or its deadline passed, before it finished.
class CancelledError : public std::runtime_error {
 public:
  enum class Reason { kCancelled, kDeadline };
  explicit CancelledError(Reason reason)
      : std::runtime_error(reason == Reason::kDeadline ? "the deadline passed before the model finished"
                                                       : "the call was cancelled"),
        reason_(reason) {}
  Reason reason() const { return reason_; }

 private:
  Reason reason_;
};

}  // namespace hearth
