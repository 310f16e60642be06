#include "jit/passes/peel_loops.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "jit/analysis/loop_size.h"
#include "jit/compiler/compilation.h"
#include "jit/definitions/definition.h"
#include "jit/definitions/node_effects.h"
#include "jit/graph_edits/loop_entry.h"
#include "jit/graph_edits/operate.h"
#include "jit/graph_edits/simplify_node.h"
#include "jit/ir/symbols.h"

namespace hearth {
namespace {

constexpr size_t kMaxNodesOfLoop = 256;
constexpr size_t kMaxNodesAdded = 1024;

// A question that only the first round answers differently.
struct Question {
  Node* node;
  bool answer;  // in later rounds
};

class Peeler {
 public:
  explicit Peeler(Graph& graph) : graph_(graph) { Walk(graph.block()); }
  bool changed() const { return changed_; }

 private:
  void Walk(Block* block) {
    for (Node* node = block->param_node()->next(); node != block->return_node();) {
      Node* next = node->next();
      for (Block* inner : node->blocks()) Walk(inner);
      if (node->kind() == sym::kLoop) TryPeel(node);
      node = next;
    }
  }

  // ---- Whether it pays ----

  void TryPeel(Node* loop) {
    const Block& body = *loop->block(0);
    const c10::IValue* trips = ConstantOf(*loop->input(0));
    if (trips != nullptr && trips->toInt() <= 1) return;
    const std::vector<Question> questions = FindQuestions(*body.param(0));
    bool pays = !questions.empty();
    for (size_t i = 1; i < body.params().size(); ++i) pays |= IsNoneAtFirst(*loop, i);
    const size_t added = NumNodes(body) + 3;
    if (!pays || added > kMaxNodesOfLoop || added_ + added > kMaxNodesAdded) return;
    added_ += added;
    Peel(loop, questions);
    changed_ = true;
  }

  static bool IsNoneAtFirst(const Node& loop, size_t i) {
    const Block& body = *loop.block(0);
    const c10::IValue* initial = ConstantOf(*loop.input(i + 1));
    if (initial == nullptr || !initial->isNone() || MayBeNone(*body.returns()[i]->type())) return false;
    return std::ranges::any_of(body.param(i)->uses(), [](const Use& use) {
      const Symbol user = use.user->kind();
      return user == c10::aten::__is__ || user == c10::aten::__isnot__ || user == sym::kIsInstance;
    });
  }

  // Comparisons of the round's number by which branches go.
  static std::vector<Question> FindQuestions(const Value& round) {
    std::vector<Question> questions;
    for (const Use& use : round.uses()) {
      const std::optional<bool> answer = LaterAnswer(*use.user, use.offset);
      if (answer && DecidesBranch(*use.user->output())) questions.push_back({use.user, *answer});
    }
    return questions;
  }

  static bool DecidesBranch(const Value& condition) {
    return std::ranges::any_of(condition.uses(), [](const Use& use) {
      return use.user->kind() == sym::kIf ||
             (use.user->kind() == c10::aten::__not__ && DecidesBranch(*use.user->output()));
    });
  }

  // Of a comparison with 0 or 1 that is true, or false, in the first round alone.
  static std::optional<bool> LaterAnswer(const Node& node, size_t offset) {
    if (node.inputs().size() != 2 || offset != 0 || node.outputs().size() != 1) return {};
    const c10::IValue* constant = ConstantOf(*node.input(1));
    if (constant == nullptr || !constant->isInt()) return {};
    const int64_t number = constant->toInt();
    const Relation relation = DefinitionOf(node.kind()).relation;
    if (number == 0 && (relation == Relation::kEqual || relation == Relation::kLessOrEqual)) return false;
    if (number == 0 && (relation == Relation::kNotEqual || relation == Relation::kGreater)) return true;
    if (number == 1 && relation == Relation::kLess) return false;
    if (number == 1 && relation == Relation::kGreaterOrEqual) return true;
    return {};
  }

  // ---- The change ----

  void Peel(Node* loop, const std::vector<Question>& questions) {
    graph_.SetCurrentRange(loop->range());
    std::optional<InsertionGuard> at(std::in_place, &graph_, loop);
    Value* trips = loop->input(0);
    Value* left = TripsLeft(trips);
    Value* begins = HasFirstRound(graph_, *loop);
    Node* around = nullptr;
    if (begins != nullptr) {
      around = BranchAroundLoop(graph_, loop, begins);
      at.emplace(&graph_, around->block(0));
    }
    // The first round.
    std::vector<Value*> values(loop->inputs().begin() + 1, loop->inputs().end());
    values[0] = graph_.InsertConstant(int64_t{0});
    values = graph_.CopyBlock(*loop->block(0), values);
    // The others.
    if (around != nullptr) loop->MoveBefore(around->block(0)->return_node());
    loop->ReplaceInput(0, left);
    for (size_t i = 0; i < values.size(); ++i) loop->ReplaceInput(i + 1, values[i]);
    for (size_t i = 1; i < values.size(); ++i) Narrow(loop, i);
    for (const Question& question : questions) Answer(question);
    CountFromOne(loop);
  }

  Value* TripsLeft(Value* trips) {
    const c10::IValue* constant = ConstantOf(*trips);
    if (constant == nullptr) return Operate(graph_, c10::aten::sub, "int", {trips, graph_.InsertConstant(int64_t{1})});
    // The one of a while loop is no number of rounds.
    const int64_t number = constant->toInt();
    return number == std::numeric_limits<int64_t>::max() ? trips : graph_.InsertConstant(number - 1);
  }

  // What is never None any more.
  static void Narrow(Node* loop, size_t i) {
    const Block& body = *loop->block(0);
    const TypePtr& type = loop->input(i + 1)->type();
    if (MayBeNone(*type) || *type != *body.returns()[i]->type()) return;
    body.param(i)->SetType(type);
    loop->output(i - 1)->SetType(type);
  }

  void Answer(const Question& question) {
    const InsertionGuard at(&graph_, question.node);
    question.node->output()->ReplaceAllUsesWith(graph_.InsertConstant(question.answer));
    question.node->Destroy();
  }

  void CountFromOne(Node* loop) {
    Block* body = loop->block(0);
    if (!body->param(0)->HasUses()) return;
    {
      const InsertionGuard at(&graph_, loop);
      loop->AddInput(graph_.InsertConstant(int64_t{1}));
    }
    loop->AddOutput(c10::IntType::get());
    Value* number = body->AddParam(c10::IntType::get());
    number->SetName(body->param(0)->name());
    body->param(0)->ReplaceAllUsesWith(number);
    // Behind the FrameState with which a round begins: before it, that of the round before would hold.
    Node* first = body->param_node()->next();
    while (first->kind() == sym::kConstant) first = first->next();
    if (first->kind() == sym::kFrameState) first = first->next();
    const InsertionGuard at(&graph_, first);
    body->AddReturn(Operate(graph_, c10::aten::add, "int", {number, graph_.InsertConstant(int64_t{1})}));
  }

  Graph& graph_;
  size_t added_ = 0;
  bool changed_ = false;
};

}  // namespace

bool PeelLoops(Compilation& compilation) { return Peeler(compilation.graph()).changed(); }

}  // namespace hearth
