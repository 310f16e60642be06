// The processor that a kernel is compiled for, as LLVM names it: which instructions there are and how long they take.
// As text "sapphirerapids", "skylake-avx512,-avx512cd", "x86-64-v3": a processor, then features that it has beside
// those that LLVM expects of it, or has not.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace llvm {
class TargetMachine;
}

namespace hearth::fuser {

class TargetError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class HostTarget {
 public:
  // "native" is the processor of this machine. Throws TargetError for a text that is none, and for a processor of
  // another architecture.
  static HostTarget OfText(std::string_view text);
  static HostTarget Native() { return OfText("native"); }

  // Never "native": the same text means the same processor on any machine.
  const std::string& text() const { return text_; }
  bool Has(std::string_view feature) const;

  // Of position-independent code in the small code model.
  std::unique_ptr<llvm::TargetMachine> MakeMachine() const;

 private:
  HostTarget() = default;

  std::string text_;
  std::string cpu_;
  std::string features_;  // "+a,-b"
};

}  // namespace hearth::fuser
