// The code of one function of a kernel (kernel_emitter.h): its values, loops and accesses to memory. First EmitTop,
// then what else the function needs.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <span>
#include <vector>

#include "jit/fuser/ir/kernel.h"
#include "jit/fuser/llvm/llvm_scalar.h"

namespace hearth::fuser {

class FunctionEmitter {
 public:
  FunctionEmitter(EmitContext& context, const Kernel& kernel, const std::vector<bool>& address_arithmetic)
      : context_(context),
        builder_(context.builder),
        kernel_(kernel),
        dtypes_(DtypesOf(kernel)),
        address_arithmetic_(address_arithmetic),
        values_(kernel.num_values),
        buffers_(kernel.buffers.size()) {}

  // Begins `function`: symbols and what is computed of them.
  void EmitTop(llvm::Function* function, llvm::Value* symbols);

  void SetBuffer(BufferId buffer, llvm::Value* memory) { buffers_[buffer] = memory; }

  // Rounds [begin, end) of a loop at the top, and the function's end.
  void EmitRounds(const Loop& loop, llvm::Value* begin, llvm::Value* end);

  // ---- Of `sizes`, and where local buffers are in the scratch ----
  llvm::Value* NotNegative(llvm::Value* number);

  llvm::Value* ExtentOf(const Loop& loop) { return NotNegative(values_[loop.extent]); }

  // The bytes of a local buffer, up to the next multiple of 64.
  llvm::Value* BytesOfLocal(BufferId local);

  // One round's work, as f64: numbers of any size multiply without overflow.
  llvm::Value* WorkOf(const Body& body);

 private:
  LlvmScalar ScalarOf(ValueId value) { return {context_, values_[value]}; }

  // ---- Loops ----

  // What goes from one round to the next: accumulators and carried values.
  struct Phi {
    llvm::PHINode* phi;
    llvm::Value* initial;
    llvm::Value* next = nullptr;
    ValueId result;
  };
  void EmitLoop(const Loop& loop, llvm::Value* begin, llvm::Value* end);
  std::vector<Phi> PhisOf(const Loop& loop);
  void SetNext(const Loop& loop, llvm::Value* index, std::vector<Phi>* phis);
  llvm::Value* IdentityOf(Reduction reduction, Dtype dtype);
  llvm::Value* Accumulate(Reduction reduction, Dtype dtype, LlvmScalar so_far, LlvmScalar element);

  // A NaN is better than any number, and of equals the first is kept.
  LlvmScalar IsBetter(Reduction reduction, Dtype dtype, LlvmScalar element, LlvmScalar best);
  llvm::MDNode* LoopMetadata(const Loop& loop, llvm::MDNode* access_group);

  // ---- Statements ----
  void EmitBody(const Body& body);
  void EmitInstruction(const Instruction& instruction);
  llvm::Value* ValueOf(const Instruction& instruction);

  // ---- Memory ----
  llvm::Value* AddressOf(BufferId id, std::span<const ValueId> indices);

  // As independent of other rounds of the loops that are open. Rounds of the loop at the top use the same scratch for
  // their local buffers, one after the other.
  void MarkAccess(BufferId id, llvm::Instruction* access);
  llvm::Value* Load(BufferId id, std::span<const ValueId> indices);
  llvm::Value* LoadIf(BufferId id, llvm::Value* condition, std::span<const ValueId> indices);
  void Store(BufferId id, llvm::Value* value, std::span<const ValueId> indices);

  EmitContext& context_;
  llvm::IRBuilder<>& builder_;
  const Kernel& kernel_;
  const std::vector<Dtype> dtypes_;
  const std::vector<bool>& address_arithmetic_;
  std::vector<llvm::Value*> values_;
  std::vector<llvm::Value*> buffers_;
  // The access groups of the loops that are open, from the one at the top inwards; null for those whose rounds depend
  // on each other.
  std::vector<llvm::MDNode*> loops_;
};

}  // namespace hearth::fuser
