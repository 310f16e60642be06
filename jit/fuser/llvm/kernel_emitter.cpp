#include "jit/fuser/llvm/kernel_emitter.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <limits>
#include <set>
#include <vector>

#include "jit/fuser/image/kernel_image.h"
#include "jit/fuser/llvm/address_arithmetic.h"
#include "jit/fuser/llvm/host_target.h"
#include "jit/fuser/llvm/operations.h"

namespace hearth::fuser {
namespace {

using llvm::BasicBlock;
using llvm::Function;
using llvm::FunctionType;
using llvm::MDNode;
using llvm::PHINode;
using llvm::Value;

// How many rounds a loop is taken to have whose extent is not known at the top.
constexpr double kUnknownExtent = 16;

llvm::Type* MemoryTypeOf(llvm::LLVMContext& context, Dtype dtype) {
  return dtype == Dtype::kBool ? llvm::Type::getInt8Ty(context) : TypeOf(context, dtype);
}

bool HasLoop(const Body& body) {
  for (const Statement& statement : body) {
    if (statement.loop != nullptr) return true;
  }
  return false;
}

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

// The values of one function: those of the top, and of the loops that it has.
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
  void EmitTop(Function* function, Value* symbols) {
    builder_.SetInsertPoint(BasicBlock::Create(builder_.getContext(), "entry", function));
    for (ValueId symbol = 0; symbol < kernel_.symbols.size(); ++symbol) {
      llvm::Type* type = TypeOf(builder_.getContext(), kernel_.symbols[symbol]);
      values_[symbol] = builder_.CreateLoad(
          type, builder_.CreateInBoundsGEP(builder_.getInt64Ty(), symbols, builder_.getInt64(symbol)));
    }
    for (const Statement& statement : kernel_.prologue) EmitInstruction(statement.instruction);
  }

  void SetBuffer(BufferId buffer, Value* memory) { buffers_[buffer] = memory; }

  // Rounds [begin, end) of a loop at the top.
  void EmitRounds(const Loop& loop, Value* begin, Value* end) {
    EmitLoop(loop, begin, end);
    builder_.CreateRetVoid();
  }

  // ---- Of `sizes`, and where local buffers are in the scratch ----

  Value* NotNegative(Value* number) {
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, number, builder_.getInt64(0));
  }

  Value* ExtentOf(const Loop& loop) { return NotNegative(values_[loop.extent]); }

  // The bytes of a local buffer, up to the next multiple of 64.
  Value* BytesOfLocal(BufferId local) {
    const Buffer& buffer = kernel_.buffers[local];
    Value* bytes = builder_.getInt64(BytesOf(buffer.dtype));
    for (const ValueId size : buffer.sizes) bytes = builder_.CreateMul(bytes, NotNegative(values_[size]));
    return builder_.CreateAnd(builder_.CreateAdd(bytes, builder_.getInt64(kBlockAlignment - 1)),
                              builder_.getInt64(~uint64_t{kBlockAlignment - 1}));
  }

  // One round's work, as f64: numbers of any size multiply without overflow.
  Value* WorkOf(const Body& body) {
    Value* sum = llvm::ConstantFP::get(builder_.getDoubleTy(), 0);
    double constant = 0;
    for (const Statement& statement : body) {
      if (statement.loop == nullptr) {
        const Instruction& instruction = statement.instruction;
        constant += CostOf(instruction.opcode,
                           instruction.operands.empty() ? instruction.dtype : dtypes_[instruction.operands.back()]);
        continue;
      }
      Value* extent = values_[statement.loop->extent];
      Value* rounds = extent == nullptr ? llvm::ConstantFP::get(builder_.getDoubleTy(), kUnknownExtent)
                                        : builder_.CreateSIToFP(NotNegative(extent), builder_.getDoubleTy());
      Value* work = builder_.CreateFAdd(WorkOf(statement.loop->body), llvm::ConstantFP::get(builder_.getDoubleTy(), 1));
      sum = builder_.CreateFAdd(sum, builder_.CreateFMul(rounds, work));
    }
    return builder_.CreateFAdd(sum, llvm::ConstantFP::get(builder_.getDoubleTy(), constant));
  }

 private:
  Scalar ScalarOf(ValueId value) { return {context_, values_[value]}; }

  // ---- Loops ----

  // What goes from one round to the next: accumulators and carried values.
  struct Phi {
    PHINode* phi;
    Value* initial;
    Value* next = nullptr;
    ValueId result;
  };

  void EmitLoop(const Loop& loop, Value* begin, Value* end) {
    llvm::LLVMContext& llvm = builder_.getContext();
    BasicBlock* before = builder_.GetInsertBlock();
    Function* function = before->getParent();
    BasicBlock* block = BasicBlock::Create(llvm, "loop", function);
    BasicBlock* after = BasicBlock::Create(llvm, "after", function);
    std::vector<Phi> phis = PhisOf(loop);
    builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), block, after);

    builder_.SetInsertPoint(block);
    PHINode* index = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    index->addIncoming(begin, before);
    values_[loop.index] = index;
    for (Phi& phi : phis) {
      phi.phi = builder_.CreatePHI(phi.initial->getType(), 2);
      phi.phi->addIncoming(phi.initial, before);
    }
    for (size_t i = 0; i < loop.carried.size(); ++i) values_[loop.carried[i].value] = phis[i].phi;

    const bool is_independent = loop.kind != LoopKind::kSequential;
    MDNode* access_group = is_independent ? MDNode::getDistinct(llvm, {}) : nullptr;
    loops_.push_back(access_group);
    EmitBody(loop.body);
    SetNext(loop, index, &phis);
    loops_.pop_back();

    BasicBlock* latch = builder_.GetInsertBlock();
    Value* next_index = builder_.CreateAdd(index, builder_.getInt64(1), "", /*HasNUW=*/false, /*HasNSW=*/true);
    auto* branch = builder_.CreateCondBr(builder_.CreateICmpSLT(next_index, end), block, after);
    branch->setMetadata(llvm::LLVMContext::MD_loop, LoopMetadata(access_group, is_independent && !HasLoop(loop.body)));
    index->addIncoming(next_index, latch);

    builder_.SetInsertPoint(after);
    for (const Phi& phi : phis) {
      phi.phi->addIncoming(phi.next, latch);
      PHINode* result = builder_.CreatePHI(phi.initial->getType(), 2);
      result->addIncoming(phi.initial, before);
      result->addIncoming(phi.next, latch);
      if (phi.result != kNoValue) values_[phi.result] = result;
    }
  }

  std::vector<Phi> PhisOf(const Loop& loop) {
    std::vector<Phi> phis;
    for (const Carried& carried : loop.carried) {
      phis.push_back({nullptr, values_[carried.initial], nullptr, carried.result});
    }
    for (const Accumulator& accumulator : loop.accumulators) {
      Value* identity = IdentityOf(accumulator.reduction, dtypes_[accumulator.element]);
      if (IsArgReduction(accumulator.reduction)) {
        // The best element so far, and where it was.
        phis.push_back({nullptr, identity, nullptr, kNoValue});
        identity = builder_.getInt64(0);
      }
      phis.push_back({nullptr, identity, nullptr, accumulator.result});
    }
    return phis;
  }

  void SetNext(const Loop& loop, Value* index, std::vector<Phi>* phis) {
    size_t i = 0;
    for (const Carried& carried : loop.carried) (*phis)[i++].next = values_[carried.next];
    for (const Accumulator& accumulator : loop.accumulators) {
      const Scalar element = ScalarOf(accumulator.element);
      const Scalar so_far(context_, (*phis)[i].phi);
      if (!IsArgReduction(accumulator.reduction)) {
        (*phis)[i++].next = Accumulate(accumulator.reduction, dtypes_[accumulator.element], so_far, element);
        continue;
      }
      const Scalar is_better = IsBetter(accumulator.reduction, dtypes_[accumulator.element], element, so_far);
      (*phis)[i++].next = Select(is_better, element, so_far).value();
      const Scalar place(context_, (*phis)[i].phi);
      (*phis)[i++].next = Select(is_better, Scalar(context_, index), place).value();
    }
  }

  Value* IdentityOf(Reduction reduction, Dtype dtype) {
    llvm::Type* type = TypeOf(builder_.getContext(), dtype);
    if (reduction == Reduction::kSum) return llvm::Constant::getNullValue(type);
    if (reduction == Reduction::kProduct) {
      return IsFloating(dtype) ? llvm::ConstantFP::get(type, 1) : llvm::ConstantInt::get(type, 1);
    }
    const bool is_minimum = reduction == Reduction::kMinimum || reduction == Reduction::kArgMinimum;
    if (IsFloating(dtype)) return llvm::ConstantFP::getInfinity(type, /*Negative=*/!is_minimum);
    const unsigned width = type->getIntegerBitWidth();
    if (dtype == Dtype::kBool || dtype == Dtype::kUint8) {
      return llvm::ConstantInt::get(type, is_minimum ? llvm::APInt::getMaxValue(width) : llvm::APInt(width, 0));
    }
    return llvm::ConstantInt::get(
        type, is_minimum ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getSignedMinValue(width));
  }

  Value* Accumulate(Reduction reduction, Dtype dtype, Scalar so_far, Scalar element) {
    if (reduction == Reduction::kMinimum || reduction == Reduction::kMaximum) {
      const Scalar operands[] = {so_far, element};
      return Compute(reduction == Reduction::kMinimum ? Opcode::kMinimum : Opcode::kMaximum, dtype, operands).value();
    }
    const bool is_sum = reduction == Reduction::kSum;
    Value* next = (is_sum ? so_far + element : so_far * element).value();
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(next);
    if (instruction == nullptr || !IsFloating(dtype)) return next;
    instruction->setHasAllowReassoc(true);
    // The product of a dot product need not be rounded before it is added.
    auto* product = llvm::dyn_cast<llvm::Instruction>(element.value());
    if (is_sum && product != nullptr && product->getOpcode() == llvm::Instruction::FMul && product->hasOneUse()) {
      instruction->setHasAllowContract(true);
      product->setHasAllowContract(true);
    }
    return next;
  }

  // A NaN is better than any number, and of equals the first is kept.
  Scalar IsBetter(Reduction reduction, Dtype dtype, Scalar element, Scalar best) {
    const bool is_minimum = reduction == Reduction::kArgMinimum;
    const Scalar low = is_minimum ? element : best;
    const Scalar high = is_minimum ? best : element;
    if (!IsFloating(dtype)) {
      const Scalar operands[] = {low, high};
      return Compute(Opcode::kLess, dtype, operands);
    }
    return (Less(low, high) | IsNan(element)) & !IsNan(best);
  }

  MDNode* LoopMetadata(MDNode* access_group, bool vectorize) {
    llvm::LLVMContext& llvm = builder_.getContext();
    const auto property = [&llvm](const char* name, llvm::Metadata* value) -> llvm::Metadata* {
      if (value == nullptr) return MDNode::get(llvm, {llvm::MDString::get(llvm, name)});
      return MDNode::get(llvm, {llvm::MDString::get(llvm, name), value});
    };
    // The first operand is the node itself, which makes it this loop's alone.
    llvm::SmallVector<llvm::Metadata*, 4> operands = {nullptr, property("llvm.loop.mustprogress", nullptr)};
    if (access_group != nullptr) operands.push_back(property("llvm.loop.parallel_accesses", access_group));
    if (vectorize) {
      operands.push_back(property("llvm.loop.vectorize.enable", llvm::ConstantAsMetadata::get(builder_.getTrue())));
    }
    MDNode* node = MDNode::getDistinct(llvm, operands);
    node->replaceOperandWith(0, node);
    return node;
  }

  // ---- Statements ----

  void EmitBody(const Body& body) {
    for (const Statement& statement : body) {
      if (statement.loop == nullptr) {
        EmitInstruction(statement.instruction);
      } else {
        EmitLoop(*statement.loop, builder_.getInt64(0), values_[statement.loop->extent]);
      }
    }
  }

  void EmitInstruction(const Instruction& instruction) {
    Value* result = ValueOf(instruction);
    if (instruction.result == kNoValue) return;
    if (address_arithmetic_[instruction.result]) {
      if (auto* operation = llvm::dyn_cast<llvm::Instruction>(result)) operation->setHasNoSignedWrap(true);
    }
    values_[instruction.result] = result;
  }

  Value* ValueOf(const Instruction& instruction) {
    const std::vector<ValueId>& ids = instruction.operands;
    switch (instruction.opcode) {
      case Opcode::kConstant:
        return ConstantOf(context_, instruction).value();
      case Opcode::kLoad:
        return Load(instruction.buffer, ids);
      case Opcode::kLoadIf:
        return LoadIf(instruction.buffer, values_[ids[0]], std::span(ids).subspan(1));
      case Opcode::kStore:
        Store(instruction.buffer, values_[ids[0]], std::span(ids).subspan(1));
        return nullptr;
      case Opcode::kCast:
        return Convert(ScalarOf(ids[0]), dtypes_[ids[0]], instruction.dtype).value();
      case Opcode::kBitcast:
        return Reinterpret(ScalarOf(ids[0]), instruction.dtype).value();
      default: {
        std::vector<Scalar> operands;
        for (const ValueId id : ids) operands.push_back(ScalarOf(id));
        return Compute(instruction.opcode, dtypes_[ids.back()], operands).value();
      }
    }
  }

  // ---- Memory ----

  Value* AddressOf(BufferId id, std::span<const ValueId> indices) {
    const Buffer& buffer = kernel_.buffers[id];
    const bool is_local = buffer.kind == BufferKind::kLocal;
    Value* offset = nullptr;
    for (size_t dimension = 0; dimension < indices.size(); ++dimension) {
      Value* index = values_[indices[dimension]];
      // Row by row: (i * size1 + j) * size2 + k.
      if (is_local && offset != nullptr) offset = builder_.CreateNSWMul(offset, values_[buffer.sizes[dimension]]);
      Value* term = is_local ? index : builder_.CreateNSWMul(index, values_[buffer.strides[dimension]]);
      offset = offset == nullptr ? term : builder_.CreateNSWAdd(offset, term);
    }
    if (offset == nullptr) return buffers_[id];
    return builder_.CreateInBoundsGEP(MemoryTypeOf(builder_.getContext(), buffer.dtype), buffers_[id], offset);
  }

  // As independent of other rounds of the loops that are open. Rounds of the loop at the top use the same scratch for
  // their local buffers, one after the other.
  void MarkAccess(BufferId id, llvm::Instruction* access) {
    const size_t first = kernel_.buffers[id].kind == BufferKind::kLocal ? 1 : 0;
    llvm::SmallVector<llvm::Metadata*, 4> groups;
    for (size_t i = first; i < loops_.size(); ++i) {
      if (loops_[i] != nullptr) groups.push_back(loops_[i]);
    }
    if (groups.empty()) return;
    access->setMetadata(llvm::LLVMContext::MD_access_group, groups.size() == 1
                                                                ? llvm::cast<MDNode>(groups[0])
                                                                : MDNode::get(builder_.getContext(), groups));
  }

  Value* Load(BufferId id, std::span<const ValueId> indices) {
    const Dtype dtype = kernel_.buffers[id].dtype;
    auto* load = builder_.CreateAlignedLoad(MemoryTypeOf(builder_.getContext(), dtype), AddressOf(id, indices),
                                            llvm::Align(BytesOf(dtype)));
    MarkAccess(id, load);
    return dtype == Dtype::kBool ? builder_.CreateICmpNE(load, builder_.getInt8(0)) : load;
  }

  Value* LoadIf(BufferId id, Value* condition, std::span<const ValueId> indices) {
    BasicBlock* before = builder_.GetInsertBlock();
    BasicBlock* block = BasicBlock::Create(builder_.getContext(), "load", before->getParent());
    BasicBlock* after = BasicBlock::Create(builder_.getContext(), "loaded", before->getParent());
    builder_.CreateCondBr(condition, block, after);
    builder_.SetInsertPoint(block);
    Value* loaded = Load(id, indices);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
    PHINode* result = builder_.CreatePHI(loaded->getType(), 2);
    result->addIncoming(llvm::Constant::getNullValue(loaded->getType()), before);
    result->addIncoming(loaded, block);
    return result;
  }

  void Store(BufferId id, Value* value, std::span<const ValueId> indices) {
    const Dtype dtype = kernel_.buffers[id].dtype;
    if (dtype == Dtype::kBool) value = builder_.CreateZExt(value, builder_.getInt8Ty());
    MarkAccess(id, builder_.CreateAlignedStore(value, AddressOf(id, indices), llvm::Align(BytesOf(dtype))));
  }

  EmitContext& context_;
  llvm::IRBuilder<>& builder_;
  const Kernel& kernel_;
  const std::vector<Dtype> dtypes_;
  const std::vector<bool>& address_arithmetic_;
  std::vector<Value*> values_;
  std::vector<Value*> buffers_;
  // The access groups of the loops that are open, from the one at the top inwards; null for those whose rounds depend
  // on each other.
  std::vector<MDNode*> loops_;
};

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

  void Emit() {
    EmitSizes();
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
    Scalar work(context_, number);
    work = ClampAbove(ClampBelow(work, 1.0), 0x1p62);
    return builder_.CreateFPToSI(work.value(), builder_.getInt64Ty());
  }

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
  KernelEmitter(kernel, target, module).Emit();
}

}  // namespace hearth::fuser
