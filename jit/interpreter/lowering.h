// Makes Code of a Graph: one walk in program order that chooses registers and writes instructions.
//
// Registers are free for others as soon as their Value has died (analysis/liveness.h). Where control flow meets, each
// result has one register, and the Values that flow into it are steered there while they are made: a branch's or a loop
// body's result is computed in place wherever that register is free by then, and a loop-carried Value stays where it is
// from iteration to iteration. What cannot be steered is moved at the end of the branch, all moves at once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/analysis/liveness.h"
#include "jit/interpreter/code.h"
#include "jit/interpreter/interpreter.h"
#include "jit/interpreter/registers.h"
#include "jit/ir/graph.h"

namespace hearth {

class Lowering {
 public:
  // `top` is a Graph's block or a closure's body; its parameters become the Code's inputs.
  Lowering(const Block& top, std::string function_name);
  // Before Run: what CompileResumable and CompilePlan ask for. Both refer to what is given until then.
  void MarkResumePoints(std::span<const ResumePlace> places);
  void BailOutTo(std::shared_ptr<const Code> baseline, std::shared_ptr<BailoutTotals> totals);
  std::shared_ptr<Code> Run();

 private:
  struct Move {
    int32_t to;
    int32_t from;
    bool dies;
  };
  struct Comparison {
    const Value* value;
    Opcode jump;
    int32_t a;
    int32_t b;
  };

  // Control flow (lowering_control.cpp).
  void LowerBlock(const Block& block);
  void LowerIf(const Node* node);
  void LowerBranch(const Node* node, const Block& branch);
  void LowerLoop(const Node* node);
  void LowerWith(const Node* node);
  void LowerClosure(const Node* node);
  size_t EmitJumpIfFalse(const Node* node, const Value* condition);
  // Where output `i` of an If shall be; takes no register yet.
  int32_t ChooseJoin(const Node* node, size_t i, const std::vector<int32_t>& chosen);
  void MoveReturns(const Block& block, size_t first, std::span<const int32_t> targets);
  void EmitMoves(std::vector<Move> moves, const Node* origin);
  void EmitMove(const Move& move, const Node* origin);
  void DropAll(const std::vector<const Value*>& values, const Node* origin);
  void DropUnusedOutputs(const Node* node);

  // Leaving a plan for the baseline (lowering_bailouts.cpp).
  void LowerFrameState(const Node* node);
  void LowerGuard(const Node* node);
  void LowerObserve(const Node* node);
  void AddResumePoint(const Node* node);

  // A plan's memory (lowering_arena.cpp).
  void LowerArena(const Node* node);
  void LowerSlot(const Node* node);
  int32_t PlaceOf(const Node* node) const;

  // Straight code (lowering_nodes.cpp).
  void LowerNode(const Node* node);
  void LowerOperator(const Node* node);
  bool LowerInline(const Node* node);
  void LowerConstant(const Node* node);
  void LowerUncheckedCast(const Node* node);
  void LowerAttribute(const Node* node);
  void LowerTupleIndex(const Node* node);
  void LowerCall(const Node* node);

  // Shared.
  Instruction& Emit(Opcode opcode, const Node* origin);
  // The last instruction is not wanted after all.
  void TakeBack();
  // An instruction whose operands are the node's inputs and outputs, and what follows from Values dying in it.
  size_t EmitNode(Opcode opcode, const Node* node);
  size_t EmitOperands(Opcode opcode, const Node* node, std::span<Value* const> inputs, std::span<Value* const> outputs);
  void PatchTarget(size_t instruction) { At(instruction).target = static_cast<int32_t>(code_->instructions.size()); }
  Instruction& At(size_t instruction) { return code_->instructions[instruction]; }
  // An instruction that the node's method call becomes: the callee found now if the class is known.
  void SetCallee(size_t instruction, const c10::TypePtr& self, const std::string& method);

  int32_t Operand(const Value* value);
  int32_t Define(const Value* value);
  void Release(const Value* value);
  bool InRegister(const Value* value) { return Operand(value) >= 0; }
  static bool IsScalar(const Value* value);
  // A loop's trip counter lives on in its register, whatever the body does with it: nothing else may take that over.
  static bool IsCounter(const Value* value);
  int32_t NewConstant(c10::IValue value);
  int32_t OriginOf(const InlinedCall* call);

  const Block& top_;
  std::shared_ptr<Code> code_;
  Liveness liveness_;
  RegisterAllocator registers_;
  std::vector<int32_t> location_;      // by Value id
  std::vector<int32_t> wanted_;        // by Value id: the register it should be made in
  std::optional<Comparison> pending_;  // a comparison that its If will do
  std::unordered_map<const InlinedCall*, int32_t> inlined_;
  int32_t none_ = 0;
  std::unordered_map<const Node*, std::vector<size_t>> resume_at_;  // indices into resume_places_
  std::span<const ResumePlace> resume_places_;
  int32_t frame_state_ = Bailouts::kNone;  // that holds where instructions are emitted now
};

}  // namespace hearth
