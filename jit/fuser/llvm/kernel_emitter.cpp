#include "jit/fuser/llvm/kernel_emitter.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <set>
#include <vector>

#include "jit/fuser/image/kernel_image.h"
#include "jit/fuser/llvm/address_arithmetic.h"
#include "jit/fuser/llvm/function_emitter.h"
#include "jit/fuser/llvm/host_target.h"
#include "jit/fuser/llvm/operations.h"

namespace hearth::fuser {
namespace {

using llvm::Function;
using llvm::FunctionType;
using llvm::Value;

void CollectLocals(const Kernel& kernel, const Body& body, std::set<BufferId>* locals) {
  for (const Statement& statement : body) {
    if (statement.loop != nullptr) {
      CollectLocals(kernel, statement.loop->body, locals);
    } else if (TouchesMemory(statement.instruction.opcode) &&
               kernel.buffers[statement.instruction.buffer].kind == BufferKind::kLocal) {
      locals->insert(statement.instruction.buffer);
    }
  }
}

class KernelEmitter {
 public:
  KernelEmitter(const Kernel& kernel, const HostTarget& target, llvm::Module& module)
      : kernel_(kernel),
        module_(module),
        builder_(module.getContext()),
        context_{.builder = builder_,
                 .has_fma = target.Has("fma"),
                 .has_rounding = target.Has("sse4.1"),
                 .has_f16c = target.Has("f16c")},
        address_arithmetic_(FindAddressArithmetic(kernel)) {}

  void EmitSizes() {
    llvm::Type* pointer = builder_.getPtrTy();
    Function* function =
        MakeFunction(FunctionType::get(builder_.getVoidTy(), {pointer, pointer}, false), kSizesName, true);
    FunctionEmitter emitter = MakeEmitter();
    emitter.EmitTop(function, function->getArg(0));
    const auto store = [&](size_t place, Value* value) {
      builder_.CreateStore(value,
                           builder_.CreateConstInBoundsGEP1_64(builder_.getInt64Ty(), function->getArg(1), place));
    };
    for (size_t index = 0; index < kernel_.body.size(); ++index) {
      const Loop& loop = *kernel_.body[index].loop;
      std::set<BufferId> locals;
      CollectLocals(kernel_, loop.body, &locals);
      Value* scratch = builder_.getInt64(0);
      for (const BufferId local : locals) scratch = builder_.CreateAdd(scratch, emitter.BytesOfLocal(local));
      store(index * kSizesPerLoop, emitter.ExtentOf(loop));
      store(index * kSizesPerLoop + 1, Saturated(emitter.WorkOf(loop.body)));
      store(index * kSizesPerLoop + 2, scratch);
    }
    builder_.CreateRetVoid();
  }

  void EmitLoops() {
    for (size_t index = 0; index < kernel_.body.size(); ++index) EmitLoopFunctions(index);
  }

 private:
  Function* MakeFunction(FunctionType* type, const std::string& name, bool is_entry) {
    auto* function = Function::Create(
        type, is_entry ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage, name, module_);
    function->setVisibility(is_entry ? llvm::GlobalValue::HiddenVisibility : llvm::GlobalValue::DefaultVisibility);
    function->setDSOLocal(true);
    function->setDoesNotThrow();
    function->setWillReturn();
    return function;
  }

  FunctionEmitter MakeEmitter() { return {context_, kernel_, address_arithmetic_}; }

  // Converts to an integer from 1 to 2^62; f64 beyond i64 would be undefined.
  Value* Saturated(Value* number) {
    LlvmScalar work(context_, number);
    work = ClampAbove(ClampBelow(work, 1.0), 0x1p62);
    return builder_.CreateFPToSI(work.value(), builder_.getInt64Ty());
  }

  // buffers, symbols, begin, end, scratch → each buffer that is used, symbols, begin, end
  void EmitLoopFunctions(size_t index) {
    const Loop& loop = *kernel_.body[index].loop;
    std::set<BufferId> locals;
    CollectLocals(kernel_, loop.body, &locals);
    const size_t num_outer = kernel_.num_inputs() + kernel_.num_outputs();
    llvm::Type* pointer = builder_.getPtrTy();
    llvm::Type* number = builder_.getInt64Ty();

    std::vector<llvm::Type*> types(num_outer + locals.size(), pointer);
    types.insert(types.end(), {pointer, number, number});
    Function* rounds =
        MakeFunction(FunctionType::get(builder_.getVoidTy(), types, false), "rounds_" + std::to_string(index), false);
    rounds->addFnAttr(llvm::Attribute::NoInline);
    EmitRounds(loop, locals, num_outer, rounds);

    Function* entry =
        MakeFunction(FunctionType::get(builder_.getVoidTy(), {pointer, pointer, number, number, pointer}, false),
                     NameOfLoop(index), true);
    FunctionEmitter emitter = MakeEmitter();
    emitter.EmitTop(entry, entry->getArg(1));
    std::vector<Value*> arguments;
    for (size_t buffer = 0; buffer < num_outer; ++buffer) {
      arguments.push_back(
          builder_.CreateLoad(pointer, builder_.CreateConstInBoundsGEP1_64(pointer, entry->getArg(0), buffer)));
    }
    Value* local_memory = entry->getArg(4);
    for (const BufferId local : locals) {
      arguments.push_back(local_memory);
      local_memory = builder_.CreateInBoundsGEP(builder_.getInt8Ty(), local_memory, emitter.BytesOfLocal(local));
    }
    arguments.insert(arguments.end(), {entry->getArg(1), entry->getArg(2), entry->getArg(3)});
    builder_.CreateCall(rounds, arguments);
    builder_.CreateRetVoid();
  }

  void EmitRounds(const Loop& loop, const std::set<BufferId>& locals, size_t num_outer, Function* rounds) {
    FunctionEmitter emitter = MakeEmitter();
    const auto argument = [&](BufferId buffer, unsigned place, uint64_t alignment) {
      llvm::Argument* memory = rounds->getArg(place);
      memory->addAttr(llvm::Attribute::NoAlias);
      memory->addAttr(llvm::Attribute::NoCapture);
      memory->addAttr(llvm::Attribute::NoUndef);
      memory->addAttr(llvm::Attribute::getWithAlignment(builder_.getContext(), llvm::Align(alignment)));
      if (kernel_.buffers[buffer].kind == BufferKind::kInput) memory->addAttr(llvm::Attribute::ReadOnly);
      emitter.SetBuffer(buffer, memory);
    };
    unsigned place = 0;
    for (; place < num_outer; ++place) argument(place, place, BytesOf(kernel_.buffers[place].dtype));
    for (const BufferId local : locals) argument(local, place++, kBlockAlignment);
    llvm::Argument* symbols = rounds->getArg(place);
    symbols->addAttr(llvm::Attribute::NoAlias);
    symbols->addAttr(llvm::Attribute::NoCapture);
    symbols->addAttr(llvm::Attribute::ReadOnly);
    emitter.EmitTop(rounds, symbols);
    emitter.EmitRounds(loop, rounds->getArg(place + 1), rounds->getArg(place + 2));
  }

  const Kernel& kernel_;
  llvm::Module& module_;
  llvm::IRBuilder<> builder_;
  EmitContext context_;
  const std::vector<bool> address_arithmetic_;
};

}  // namespace

std::string NameOfLoop(size_t index) { return "loop_" + std::to_string(index); }

void EmitKernel(const Kernel& kernel, const HostTarget& target, llvm::Module& module) {
  KernelEmitter emitter(kernel, target, module);
  emitter.EmitSizes();
  emitter.EmitLoops();
}

void EmitSizes(const Kernel& kernel, const HostTarget& target, llvm::Module& module) {
  KernelEmitter(kernel, target, module).EmitSizes();
}

}  // namespace hearth::fuser
