// A fused group of operators as a plan calls it: the constant operand that comes first in a node of hearth::fused, and
// what runs it. A call reads the sizes of its operands, makes the results' tensors and runs the kernel's loops, on
// several threads where the work is worth it.
//
// A plan's facts promise what the operands are. It is looked at all the same, since code that believes in other sizes
// writes wherever it likes: what does not fit raises, and the run leaves its plan.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/fuser/image/kernel_image.h"
#include "jit/fuser/runtime/gpu_kernel.h"
#include "jit/fuser/runtime/kernel_signature.h"

namespace hearth::fuser {

// A kernel's machine code (image/kernel_image.h says what the functions take). Immutable, but for its being set aside.
struct KernelCode {
  std::vector<LoopFunction> loops;
  SizesFunction sizes = nullptr;
  size_t bytes = 0;
  std::shared_ptr<const void> memory;                 // in which they are
  std::shared_ptr<const GpuKernel> on_gpu = nullptr;  // has the loops in their place, where the kernel is a GPU's
  // Its results turned out wrong: calls raise, so that runs leave the plans that have it.
  mutable std::atomic<bool> set_aside{false};
};

// Immutable and thread-safe.
class FusedKernel : public torch::CustomClassHolder {
 public:
  // `text` is the kernel's loop IR, for people.
  FusedKernel(KernelSignature signature, std::string text, std::shared_ptr<const KernelCode> code)
      : signature_(std::move(signature)), text_(std::move(text)), code_(std::move(code)) {}

  const KernelSignature& signature() const { return signature_; }
  const std::string& text() const { return text_; }
  const KernelCode& code() const { return *code_; }

  // The operands of the node, this kernel included. Assigns one result for each of the signature's outputs. Throws
  // c10::Error where an operand is not what the signature says.
  void Run(std::span<const c10::IValue* const> operands, c10::IValue* results) const;

  // The one that a node's operands begin with. Throws c10::Error if there is none.
  static const FusedKernel& Of(std::span<const c10::IValue* const> operands);
  // As the constant operand of a node, and back; null if it is no such thing.
  static c10::IValue Wrap(c10::intrusive_ptr<FusedKernel> kernel);
  static const FusedKernel* Unwrap(const c10::IValue& value);

 private:
  const KernelSignature signature_;
  const std::string text_;
  const std::shared_ptr<const KernelCode> code_;
};

}  // namespace hearth::fuser
