#include <utility>

#include "jit/interpreter/lowering.h"
#include "jit/ir/symbols.h"

namespace hearth {

void Lowering::MarkResumePoints(std::span<const ResumePlace> places) {
  resume_places_ = places;
  code_->resume_points.resize(places.size());
  for (size_t i = 0; i < places.size(); ++i) resume_at_[places[i].node].push_back(i);
}

void Lowering::AddResumePoint(const Node* node) {
  const auto found = resume_at_.find(node);
  if (found == resume_at_.end()) return;
  for (size_t i : found->second) {
    ResumePoint& point = code_->resume_points[i];
    point.pc = static_cast<uint32_t>(code_->instructions.size());
    for (const Value* value : resume_places_[i].live) {
      // A loop that counts nothing has no counter.
      const int32_t location = location_[value->id()];
      point.registers.push_back(location >= 0 ? location : kNotInRegister);
    }
  }
}

void Lowering::BailOutTo(std::shared_ptr<const Code> baseline, std::shared_ptr<BailoutTotals> totals) {
  code_->bailouts = std::make_unique<Bailouts>();
  code_->bailouts->baseline = std::move(baseline);
  code_->bailouts->record = std::make_unique<BailoutRecord>(code_->function_name, std::move(totals));
}

void Lowering::LowerFrameState(const Node* node) {
  DropAll(liveness_.DeadBefore(node), node);
  TORCH_CHECK(code_->bailouts != nullptr, "a FrameState outside of a plan");
  const int64_t anchor = node->attribute<int64_t>(sym::kAnchorAttr);
  if (anchor < 0) {
    frame_state_ = Bailouts::kNone;
    return;
  }
  Bailouts& bailouts = *code_->bailouts;
  const auto& points = bailouts.baseline->resume_points;
  TORCH_CHECK(static_cast<size_t>(anchor) < points.size() &&
                  points[static_cast<size_t>(anchor)].registers.size() == node->inputs().size(),
              "a FrameState does not fit its anchor");
  frame_state_ = static_cast<int32_t>(bailouts.states.size());
  bailouts.states.push_back({static_cast<uint32_t>(anchor), static_cast<uint32_t>(code_->operands.size())});
  for (const Value* input : node->inputs()) code_->operands.push_back(Operand(input));
}

void Lowering::LowerGuard(const Node* node) {
  TORCH_CHECK(frame_state_ != Bailouts::kNone, "a guard that no FrameState covers");
  GuardInfo guard;
  guard.range = node->range();
  if (node->HasAttribute(sym::kClaimAttr)) {
    guard.claim = node->attribute<std::string>(sym::kClaimAttr);
    guard.number = node->attribute<int64_t>(sym::kNumberAttr);
  }
  At(EmitNode(Opcode::kGuard, node)).target = static_cast<int32_t>(code_->bailouts->record->AddGuard(std::move(guard)));
}

void Lowering::LowerObserve(const Node* node) {
  const int32_t value = Operand(node->input());
  Instruction& observe = Emit(Opcode::kObserve, node);
  observe.a = value;
  observe.target = static_cast<int32_t>(node->attribute<int64_t>(sym::kSiteAttr));
}

}  // namespace hearth
