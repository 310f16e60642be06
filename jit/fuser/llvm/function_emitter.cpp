#include "jit/fuser/llvm/function_emitter.h"

#include <llvm/IR/Intrinsics.h>

#include "jit/fuser/image/kernel_image.h"
#include "jit/fuser/llvm/operations.h"

namespace hearth::fuser {
namespace {

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

// Above this many operations a round, two rounds at a time keep the processor busy; four, which LLVM would take, only
// leave more of them to the loop that does what is left over, and less room for loads ahead.
constexpr double kHeavyRound = 8;

double CostOfInstructions(const Body& body) {
  double cost = 0;
  for (const Statement& statement : body) cost += CostOf(statement.instruction.opcode, statement.instruction.dtype);
  return cost;
}

}  // namespace

using llvm::BasicBlock;
using llvm::Function;
using llvm::MDNode;
using llvm::PHINode;
using llvm::Value;

void FunctionEmitter::EmitTop(Function* function, Value* symbols) {
  builder_.SetInsertPoint(BasicBlock::Create(builder_.getContext(), "entry", function));
  for (ValueId symbol = 0; symbol < kernel_.symbols.size(); ++symbol) {
    llvm::Type* type = TypeOf(builder_.getContext(), kernel_.symbols[symbol]);
    values_[symbol] = builder_.CreateLoad(
        type, builder_.CreateInBoundsGEP(builder_.getInt64Ty(), symbols, builder_.getInt64(symbol)));
  }
  for (const Statement& statement : kernel_.prologue) EmitInstruction(statement.instruction);
}

void FunctionEmitter::EmitRounds(const Loop& loop, Value* begin, Value* end) {
  EmitLoop(loop, begin, end);
  builder_.CreateRetVoid();
}

Value* FunctionEmitter::NotNegative(Value* number) {
  return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, number, builder_.getInt64(0));
}

Value* FunctionEmitter::BytesOfLocal(BufferId local) {
  const Buffer& buffer = kernel_.buffers[local];
  Value* bytes = builder_.getInt64(BytesOf(buffer.dtype));
  for (const ValueId size : buffer.sizes) bytes = builder_.CreateMul(bytes, NotNegative(values_[size]));
  return builder_.CreateAnd(builder_.CreateAdd(bytes, builder_.getInt64(kBlockAlignment - 1)),
                            builder_.getInt64(~uint64_t{kBlockAlignment - 1}));
}

Value* FunctionEmitter::WorkOf(const Body& body) {
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

void FunctionEmitter::EmitLoop(const Loop& loop, Value* begin, Value* end) {
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
  branch->setMetadata(llvm::LLVMContext::MD_loop, LoopMetadata(loop, access_group));
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

std::vector<FunctionEmitter::Phi> FunctionEmitter::PhisOf(const Loop& loop) {
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

void FunctionEmitter::SetNext(const Loop& loop, Value* index, std::vector<Phi>* phis) {
  size_t i = 0;
  for (const Carried& carried : loop.carried) (*phis)[i++].next = values_[carried.next];
  for (const Accumulator& accumulator : loop.accumulators) {
    const LlvmScalar element = ScalarOf(accumulator.element);
    const LlvmScalar so_far(context_, (*phis)[i].phi);
    if (!IsArgReduction(accumulator.reduction)) {
      (*phis)[i++].next = Accumulate(accumulator.reduction, dtypes_[accumulator.element], so_far, element);
      continue;
    }
    const LlvmScalar is_better = IsBetter(accumulator.reduction, dtypes_[accumulator.element], element, so_far);
    (*phis)[i++].next = Select(is_better, element, so_far).value();
    const LlvmScalar place(context_, (*phis)[i].phi);
    (*phis)[i++].next = Select(is_better, LlvmScalar(context_, index), place).value();
  }
}

Value* FunctionEmitter::IdentityOf(Reduction reduction, Dtype dtype) {
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

Value* FunctionEmitter::Accumulate(Reduction reduction, Dtype dtype, LlvmScalar so_far, LlvmScalar element) {
  if (reduction == Reduction::kMinimum || reduction == Reduction::kMaximum) {
    const LlvmScalar operands[] = {so_far, element};
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

LlvmScalar FunctionEmitter::IsBetter(Reduction reduction, Dtype dtype, LlvmScalar element, LlvmScalar best) {
  const bool is_minimum = reduction == Reduction::kArgMinimum;
  const LlvmScalar low = is_minimum ? element : best;
  const LlvmScalar high = is_minimum ? best : element;
  if (!IsFloating(dtype)) {
    const LlvmScalar operands[] = {low, high};
    return Compute(Opcode::kLess, dtype, operands);
  }
  return (Less(low, high) | IsNan(element)) & !IsNan(best);
}

MDNode* FunctionEmitter::LoopMetadata(const Loop& loop, MDNode* access_group) {
  llvm::LLVMContext& llvm = builder_.getContext();
  const auto property = [&llvm](const char* name, llvm::Metadata* value) -> llvm::Metadata* {
    if (value == nullptr) return MDNode::get(llvm, {llvm::MDString::get(llvm, name)});
    return MDNode::get(llvm, {llvm::MDString::get(llvm, name), value});
  };
  // The first operand is the node itself, which makes it this loop's alone.
  llvm::SmallVector<llvm::Metadata*, 4> operands = {nullptr, property("llvm.loop.mustprogress", nullptr)};
  if (access_group != nullptr) operands.push_back(property("llvm.loop.parallel_accesses", access_group));
  const bool vectorize = access_group != nullptr && !HasLoop(loop.body);
  if (vectorize) {
    operands.push_back(property("llvm.loop.vectorize.enable", llvm::ConstantAsMetadata::get(builder_.getTrue())));
  }
  if (vectorize && loop.kind == LoopKind::kParallel && CostOfInstructions(loop.body) > kHeavyRound) {
    operands.push_back(property("llvm.loop.interleave.count", llvm::ConstantAsMetadata::get(builder_.getInt32(2))));
  }
  MDNode* node = MDNode::getDistinct(llvm, operands);
  node->replaceOperandWith(0, node);
  return node;
}

void FunctionEmitter::EmitBody(const Body& body) {
  for (const Statement& statement : body) {
    if (statement.loop == nullptr) {
      EmitInstruction(statement.instruction);
    } else {
      EmitLoop(*statement.loop, builder_.getInt64(0), values_[statement.loop->extent]);
    }
  }
}

void FunctionEmitter::EmitInstruction(const Instruction& instruction) {
  Value* result = ValueOf(instruction);
  if (instruction.result == kNoValue) return;
  if (address_arithmetic_[instruction.result]) {
    if (auto* operation = llvm::dyn_cast<llvm::Instruction>(result)) operation->setHasNoSignedWrap(true);
  }
  values_[instruction.result] = result;
}

Value* FunctionEmitter::ValueOf(const Instruction& instruction) {
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
      std::vector<LlvmScalar> operands;
      for (const ValueId id : ids) operands.push_back(ScalarOf(id));
      return Compute(instruction.opcode, dtypes_[ids.back()], operands).value();
    }
  }
}

Value* FunctionEmitter::AddressOf(BufferId id, std::span<const ValueId> indices) {
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

void FunctionEmitter::MarkAccess(BufferId id, llvm::Instruction* access) {
  const size_t first = kernel_.buffers[id].kind == BufferKind::kLocal ? 1 : 0;
  llvm::SmallVector<llvm::Metadata*, 4> groups;
  for (size_t i = first; i < loops_.size(); ++i) {
    if (loops_[i] != nullptr) groups.push_back(loops_[i]);
  }
  if (groups.empty()) return;
  access->setMetadata(llvm::LLVMContext::MD_access_group,
                      groups.size() == 1 ? llvm::cast<MDNode>(groups[0]) : MDNode::get(builder_.getContext(), groups));
}

Value* FunctionEmitter::Load(BufferId id, std::span<const ValueId> indices) {
  const Dtype dtype = kernel_.buffers[id].dtype;
  auto* load = builder_.CreateAlignedLoad(MemoryTypeOf(builder_.getContext(), dtype), AddressOf(id, indices),
                                          llvm::Align(BytesOf(dtype)));
  MarkAccess(id, load);
  return dtype == Dtype::kBool ? builder_.CreateICmpNE(load, builder_.getInt8(0)) : load;
}

Value* FunctionEmitter::LoadIf(BufferId id, Value* condition, std::span<const ValueId> indices) {
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

void FunctionEmitter::Store(BufferId id, Value* value, std::span<const ValueId> indices) {
  const Dtype dtype = kernel_.buffers[id].dtype;
  if (dtype == Dtype::kBool) value = builder_.CreateZExt(value, builder_.getInt8Ty());
  MarkAccess(id, builder_.CreateAlignedStore(value, AddressOf(id, indices), llvm::Align(BytesOf(dtype))));
}

}  // namespace hearth::fuser
