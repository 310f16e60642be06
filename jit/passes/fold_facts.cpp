#include "jit/passes/fold_facts.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <utility>
#include <vector>

#include "jit/analysis/fact_queries.h"
#include "jit/analysis/tensor_numbers.h"
#include "jit/analysis/uninitialized.h"
#include "jit/analysis/value_fact_table.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/node_effects.h"
#include "jit/definitions/value_facts.h"
#include "jit/graph_edits/constant_table.h"
#include "jit/graph_edits/fold.h"
#include "jit/graph_edits/simplify_node.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/registry.h"

namespace hearth {
namespace {

// By what they are computed of, the ints that a place in the graph sees.
class NumberTable {
 public:
  // Null if there is none.
  Value* Find(KnownSize number) const {
    const auto found = values_.find(number);
    return found == values_.end() ? nullptr : found->second;
  }
  Value* FindOrAdd(KnownSize number, Value* value) {
    if (Value* same = Find(number)) return same;
    // An Optional or a Scalar that is known to be an int does not stand for one, nor does what may not be there.
    if (value->type()->kind() != c10::TypeKind::IntType || MayBeUninitialized(*value)) return value;
    values_.emplace(number, value);
    added_.push_back(number);
    return value;
  }

  // A walk over a block is in one: what is computed there is not seen beyond.
  class Scope {
   public:
    explicit Scope(NumberTable* table) : table_(table), depth_(table->added_.size()) {}
    ~Scope() {
      for (; table_->added_.size() > depth_; table_->added_.pop_back()) table_->values_.erase(table_->added_.back());
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    NumberTable* table_;
    size_t depth_;
  };

 private:
  std::map<KnownSize, Value*> values_;
  std::vector<KnownSize> added_;
};

class FactFolder {
 public:
  explicit FactFolder(Compilation& compilation)
      : graph_(compilation.graph()),
        facts_(compilation.NewFacts()),
        tensor_numbers_(facts_.memory()),
        constants_(&graph_),
        records_gradients_(MayRecordGradients(*compilation.source().block())) {}

  bool Run() {
    for (Value* input : graph_.inputs()) {
      if (!ForwardNone(input)) Narrow(input, KnownType(*input));
    }
    Walk(graph_.block());
    RemoveTensorNumbers();
    return changed_;
  }

 private:
  void Walk(Block* block) {
    const ValueFactTable::Scope learned_here(&facts_, *block);
    const NumberTable::Scope made_here(&numbers_);
    for (Value* param : block->params()) Forward(param);
    for (Node* node = block->param_node()->next(); node != block->return_node();) node = Visit(node);
    UseKnownNumbers(block->return_node());
  }

  // What is to be visited next.
  Node* Visit(Node* node) {
    const Symbol kind = node->kind();
    UseKnownNumbers(node);
    if (kind == sym::kIf) return VisitIf(node);
    if (kind == sym::kLoop) return VisitLoop(node);
    if (kind == sym::kGuard) return VisitGuard(node);
    Node* next = node->next();
    if (!node->blocks().empty()) {
      VisitOther(node);
    } else if (!TryAnswer(node) && !TryMode(node) && !TryTensorNumber(node) && !TryQuestion(node) &&
               !TrySimplify(node) && !TryElements(node) && !TryDictElement(node)) {
      facts_.Infer(*node);
      if (GivesItsInput(*node, facts_)) {
        Replace(node, node->input(0));
      } else if (!TryNumber(node)) {
        for (Value* output : node->outputs()) Forward(output);
      }
    }
    return next;
  }

  // ---- Control flow ----

  Node* VisitIf(Node* node) {
    const c10::IValue* condition = ConstantOf(*node->input());
    if (condition != nullptr && condition->isBool()) return TakeBranch(node, node->block(condition->toBool() ? 0 : 1));
    for (Block* block : node->blocks()) Walk(block);
    facts_.Leave(*node);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      Value* result = node->block(0)->returns()[i];
      const bool from_outside = result->node()->block() != node->block(0) && result == node->block(1)->returns()[i];
      if (from_outside) {
        ReplaceUses(node->output(i), result);
      } else if (!Forward(node->output(i)) && *result->type() == *node->block(1)->returns()[i]->type()) {
        Narrow(node->output(i), result->type());
      }
    }
    return node->next();
  }

  Node* TakeBranch(Node* node, Block* taken) {
    Node* first = nullptr;
    while (!taken->empty()) {
      Node* moved = taken->param_node()->next();
      moved->MoveBefore(node);
      if (first == nullptr) first = moved;
    }
    for (size_t i = 0; i < node->outputs().size(); ++i) node->output(i)->ReplaceAllUsesWith(taken->returns()[i]);
    Node* next = first != nullptr ? first : node->next();
    Destroy(node);
    return next;
  }

  Node* VisitLoop(Node* node) {
    const c10::IValue* trips = ConstantOf(*node->input(0));
    const c10::IValue* start = ConstantOf(*node->input(1));
    Node* next = node->next();
    if ((trips != nullptr && trips->toInt() <= 0) || (start != nullptr && !start->toBool())) {
      for (size_t i = 0; i < node->outputs().size(); ++i) node->output(i)->ReplaceAllUsesWith(node->input(i + 2));
      Destroy(node);
      return next;
    }
    DropUnchanged(node);
    facts_.Enter(*node);
    Walk(node->block(0));
    facts_.Leave(*node);
    for (Value* output : node->outputs()) Forward(output);
    return next;
  }

  // What a loop carries round unchanged.
  void DropUnchanged(Node* loop) {
    Block* body = loop->block(0);
    for (size_t i = loop->outputs().size(); i-- > 0;) {
      if (body->returns()[i + 1] != body->param(i + 1)) continue;
      Value* carried = loop->input(i + 2);
      body->RemoveReturn(i + 1);
      body->param(i + 1)->ReplaceAllUsesWith(carried);
      loop->output(i)->ReplaceAllUsesWith(carried);
      body->RemoveParam(i + 1);
      loop->RemoveOutput(i);
      loop->RemoveInput(i + 2);
      changed_ = true;
    }
  }

  Node* VisitGuard(Node* node) {
    Node* next = node->next();
    for (size_t i = node->inputs().size(); i-- > 0;) {
      const c10::IValue* condition = ConstantOf(*node->input(i));
      if (condition == nullptr || !condition->toBool()) continue;
      node->RemoveInput(i);
      changed_ = true;
    }
    if (node->inputs().empty()) {
      Destroy(node);
    } else {
      facts_.Infer(*node);
    }
    return next;
  }

  void VisitOther(Node* node) {
    const bool closure = IsClosure(*node);
    facts_.Enter(*node);
    NumberTable around;
    if (closure) std::swap(around, numbers_);
    for (Block* block : node->blocks()) {
      if (closure) constants_.BeginClosure(block);
      Walk(block);
      if (closure) constants_.EndClosure();
    }
    if (closure) std::swap(around, numbers_);
    facts_.Leave(*node);
  }

  // ---- Nodes ----

  bool TryAnswer(Node* node) {
    std::optional<c10::IValue> answer = AnswerFromFacts(*node, facts_);
    if (!answer) return false;
    Replace(node, Constant(std::move(*answer), nullptr, node->range()));
    return true;
  }

  // Runs have gradients off, and autocast is what its pass made of the regions in the code.
  bool TryMode(Node* node) {
    static const std::array kModes = {Symbol::fromQualString("aten::is_grad_enabled"),
                                      Symbol::fromQualString("aten::is_autocast_enabled"),
                                      Symbol::fromQualString("aten::is_autocast_cpu_enabled")};
    if (records_gradients_ || std::ranges::find(kModes, node->kind()) == kModes.end()) return false;
    Replace(node, Constant(false, nullptr, node->range()));
    return true;
  }

  bool TryTensorNumber(Node* node) {
    std::optional<c10::IValue> number = tensor_numbers_.TakenBy(*node);
    if (!number) return false;
    Replace(node, Constant(std::move(*number), nullptr, node->range()));
    return true;
  }

  // To a list or dict that is a constant: one of self's, mostly.
  bool TryQuestion(Node* node) {
    if (node->op() == nullptr || node->inputs().empty() || node->outputs().size() != 1) return false;
    if (ConstantOf(*node->input(0)) == nullptr || facts_.memory().MayBeWritten(*node->input(0))) return false;
    std::vector<const c10::IValue*> operands;
    for (const Value* input : node->inputs()) {
      operands.push_back(ConstantOf(*input));
      if (operands.back() == nullptr) return false;
    }
    std::optional<c10::IValue> answer = FoldQuestion(*node->op(), operands);
    if (!answer) return false;
    Replace(node, Constant(std::move(*answer), nullptr, node->range()));
    return true;
  }

  // Arithmetic that nobody needs any more.
  void RemoveTensorNumbers() {
    for (const Value* computed : std::views::reverse(tensor_numbers_.computed())) {
      if (!computed->HasUses()) Destroy(const_cast<Node*>(computed->node()));
    }
  }

  bool TrySimplify(Node* node) {
    operands_.clear();
    for (Value* input : node->inputs()) operands_.push_back({ConstantOf(*input), input, KnownType(*input)});
    if (node->kind() == sym::kConstant || !SimplifyNode(*node, operands_, &replacements_)) return false;
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      Replacement& replacement = replacements_[i];
      Value* value = replacement.operand ? node->input(*replacement.operand) : replacement.value;
      if (value == nullptr) value = Constant(std::move(*replacement.constant), replacement.type, node->range());
      node->output(i)->ReplaceAllUsesWith(value);
    }
    Destroy(node);
    return true;
  }

  // An int that is a constant, or that has been computed already.
  bool TryNumber(Node* node) {
    if (node->outputs().size() != 1 || node->kind() == sym::kConstant) return false;
    const ValueFacts& facts = facts_.Of(*node->output());
    if (facts.kind != ValueFacts::Kind::kInt || MayDivideByZero(*node)) return false;
    if (facts.number) {
      Replace(node, Constant(*facts.number, nullptr, node->range()));
      return true;
    }
    Value* same = numbers_.FindOrAdd(facts.number, node->output());
    if (same == node->output()) return false;
    Replace(node, same);
    return true;
  }

  bool MayDivideByZero(const Node& node) {
    if (node.kind() != c10::aten::floordiv && node.kind() != c10::aten::remainder) return false;
    return facts_.sizes().AreEqual(facts_.Of(*node.input(1)).number, 0) != false;
  }

  // What was computed before it was known to be a constant.
  void UseKnownNumbers(Node* node) {
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const Value& input = *node->input(i);
      const ValueFacts& facts = facts_.Of(input);
      if (facts.kind != ValueFacts::Kind::kInt || !facts.number || ConstantOf(input) != nullptr) continue;
      node->ReplaceInput(i, Constant(*facts.number, nullptr, node->range()));
      changed_ = true;
    }
  }

  // Elements of lists that are made in sight.
  bool TryElements(Node* node) {
    if (node->kind() == sym::kListUnpack) return TryUnpack(node);
    if (node->kind() != c10::aten::__getitem__ || node->inputs().size() != 2) return false;
    const c10::IValue* index = ConstantOf(*node->input(1));
    if (index == nullptr || !index->isInt()) return false;
    const std::optional<size_t> length = KnownLength(*node->input(0));
    if (!length) return false;
    const int64_t at = index->toInt() < 0 ? index->toInt() + static_cast<int64_t>(*length) : index->toInt();
    if (at < 0 || at >= static_cast<int64_t>(*length)) return false;
    Replace(node, ElementOf(*node->input(0), static_cast<size_t>(at), node));
    return true;
  }

  // What was put into a dict under a constant key, right before in the same block, where the graph has made it.
  bool TryDictElement(Node* node) {
    if (node->kind() != c10::aten::__getitem__ || node->inputs().size() != 2) return false;
    const Value& dict = *node->input(0);
    const c10::IValue* key = ConstantOf(*node->input(1));
    const Node& maker = *dict.node();
    const bool is_new = maker.kind() == c10::aten::dict || maker.kind() == sym::kDictConstruct;
    if (!is_new || maker.block() != node->block() || key == nullptr || !key->isString()) return false;
    const auto elsewhere = [&](const Use& use) { return use.user->block() != node->block(); };
    if (std::ranges::any_of(dict.uses(), elsewhere)) return false;
    for (Node* before = node->prev(); before != &maker; before = before->prev()) {
      if (std::ranges::find(before->inputs(), &dict) == before->inputs().end()) continue;
      // Who goes on from there has the dict as it is by then.
      if (before->kind() == sym::kFrameState) continue;
      if (before->input(0) != &dict) return false;
      if (IsQuestion(before->kind())) continue;
      if (before->kind() != c10::aten::_set_item || before->inputs().size() != 3) return false;
      const c10::IValue* written = ConstantOf(*before->input(1));
      if (written == nullptr || !written->isString()) return false;
      if (written->toStringRef() != key->toStringRef()) continue;
      if (*before->input(2)->type() != *node->output()->type()) return false;
      Replace(node, before->input(2));
      ForgetDict(dict);
      return true;
    }
    return false;
  }

  // What is put into a dict that the graph has made and nobody asks any more.
  void ForgetDict(const Value& dict) {
    const auto puts = [&](const Use& use) { return use.user->kind() == c10::aten::_set_item && use.offset == 0; };
    if (!std::ranges::all_of(dict.uses(), puts)) return;
    while (dict.HasUses()) Destroy(dict.uses().front().user);
  }

  bool TryUnpack(Node* node) {
    if (KnownLength(*node->input()) != node->outputs().size()) return false;
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      node->output(i)->ReplaceAllUsesWith(ElementOf(*node->input(), i, node));
    }
    Destroy(node);
    return true;
  }

  // Of a list literal or of a tensor's sizes, as long as nobody writes it.
  std::optional<size_t> KnownLength(const Value& list) const {
    if (list.type()->kind() != c10::TypeKind::ListType || facts_.memory().MayHoldOthers(list)) return {};
    const Node& maker = *list.node();
    if (maker.kind() == sym::kListConstruct) return maker.inputs().size();
    if (maker.kind() == c10::aten::size && maker.inputs().size() == 1) return facts_.Of(*maker.input()).rank();
    return {};
  }

  Value* ElementOf(const Value& list, size_t i, Node* before) {
    const Node& maker = *list.node();
    if (maker.kind() == sym::kListConstruct) return maker.input(i);
    static const Operator* const kSizeOf = OperatorRegistry::Global().Find(c10::aten::size, "int");
    Value* tensor = maker.input();
    const KnownSize known = (*facts_.Of(*tensor).sizes)[i];
    if (known) return Constant(*known, nullptr, before->range());
    if (Value* same = numbers_.Find(known)) return same;
    Value* dim = Constant(static_cast<int64_t>(i), nullptr, before->range());
    Node* size = graph_.Create(c10::aten::size, {tensor, dim});
    size->SetOperator(kSizeOf);
    size->output()->SetType(c10::IntType::get());
    size->SetRange(before->range());
    size->SetInlinedCall(before->inlined_call());
    size->InsertBefore(before);
    facts_.Infer(*size);
    ForwardNumber(size->output());
    return size->output();
  }

  // ---- Values ----

  Value* Constant(c10::IValue value, TypePtr type, const SourceRange& range) {
    Value* constant = constants_.Materialize(constants_.Of(std::move(value), std::move(type)), range);
    facts_.Infer(*constant->node());
    return constant;
  }

  TypePtr KnownType(const Value& value) const { return NarrowType(value.type(), facts_.Of(value)); }

  void Narrow(Value* value, const TypePtr& type) {
    if (*type == *value->type()) return;
    value->SetType(type);
    changed_ = true;
  }

  bool Forward(Value* value) { return ForwardNone(value) || ForwardNumber(value); }

  bool ForwardNumber(Value* value) {
    const ValueFacts& facts = facts_.Of(*value);
    if (facts.kind != ValueFacts::Kind::kInt || value->node()->kind() == sym::kConstant || !value->HasUses())
      return false;
    Value* same = facts.number ? Constant(*facts.number, nullptr, {}) : numbers_.FindOrAdd(facts.number, value);
    if (same == value) return false;
    ReplaceUses(value, same);
    return true;
  }

  bool ForwardNone(Value* value) {
    if (facts_.Of(*value).kind != ValueFacts::Kind::kNone || value->node()->kind() == sym::kConstant) return false;
    ReplaceUses(value, Constant({}, nullptr, {}));
    return true;
  }

  void ReplaceUses(Value* value, Value* replacement) {
    if (!value->HasUses()) return;
    value->ReplaceAllUsesWith(replacement);
    changed_ = true;
  }

  void Replace(Node* node, Value* value) {
    node->output()->ReplaceAllUsesWith(value);
    Destroy(node);
  }

  void Destroy(Node* node) {
    node->Destroy();
    changed_ = true;
  }

  Graph& graph_;
  ValueFactTable facts_;
  TensorNumbers tensor_numbers_;
  ConstantTable constants_;
  NumberTable numbers_;
  const bool records_gradients_;
  bool changed_ = false;
  std::vector<Operand> operands_;
  std::vector<Replacement> replacements_;
};

}  // namespace

bool FoldFacts(Compilation& compilation) { return FactFolder(compilation).Run(); }

}  // namespace hearth
