// What gives a Function its Code, and how the interpreter finds it again.
#pragma once

#include <memory>
#include <typeinfo>

#include "jit/interpreter/code.h"
#include "jit/module/function.h"

namespace hearth {

// Calls from LibTorch run on the caller's thread and share its mode and its run's token.
class CodeExecutable final : public Executable {
 public:
  explicit CodeExecutable(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  void Run(torch::jit::Stack& stack) override;
  const std::shared_ptr<const Code>& code() const { return code_; }

 private:
  std::shared_ptr<const Code> code_;
};

// Null if the function has no Code but something else that runs it, or nothing yet.
inline const Code* CodeFor(const Function& function) {
  const Executable* executable = function.executable();
  if (executable == nullptr || typeid(*executable) != typeid(CodeExecutable)) return nullptr;
  return static_cast<const CodeExecutable*>(executable)->code().get();
}

}  // namespace hearth
