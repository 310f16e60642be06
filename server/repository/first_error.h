// The first error that a parser of Protobuf's text format reports, as FILE:LINE:COLUMN: MESSAGE; what follows it is
// often its consequence. For one thread.
#pragma once

#include <google/protobuf/io/tokenizer.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hearth::server {

class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(std::string file) : file_(std::move(file)) {}

  void AddError(int line, int column, const std::string& message) override {
    if (!message_.empty()) return;
    message_ = line < 0 ? absl::StrCat(file_, ": ", message)
                        : absl::StrCat(file_, ":", line + 1, ":", column + 1, ": ", message);
  }

  // Empty if there was none.
  const std::string& message() const { return message_; }

 private:
  const std::string file_;
  std::string message_;
};

}  // namespace hearth::server
