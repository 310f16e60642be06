// return, break and continue in the middle of things. The IR has no jumps: an exit sets flags, which are variables like
// the user's, and what would have run after it stands under an if. A function whose only return is its last statement,
// as every printed one, uses none of this.
//
//   $returned, $result   set by a return that is not the function's last statement
//   $exited<N>           the rest of this round of loop N (or of the function, 0) is to be skipped
//   $broke<N>            loop N is to end
#include <string>
#include <utility>

#include "jit/frontend/conversions.h"
#include "jit/frontend/emitter.h"
#include "jit/ir/symbols.h"

namespace hearth {
void Emitter::DeclareExits(tree::StmtList body, const SourceRange& range) {
  loops_.push_back({"$exited0", {}});
  early_returns_ = ReturnsEarly(body);
  if (!early_returns_) return;
  environment_.Set(environment_.Id("$exited0"), BoolConstant(false));
  environment_.Set(environment_.Id("$returned"), BoolConstant(false));
  if (infers_) return;
  Value* nothing =
      return_type_->kind() == c10::TypeKind::NoneType || return_type_->kind() == c10::TypeKind::OptionalType
          ? InsertPooled(c10::IValue(), return_type_)
          : Uninitialized(return_type_, range);
  environment_.Set(environment_.Id("$result"), nothing, return_type_);
}

void Emitter::EmitReturn(const tree::Return& statement) {
  Value* value = statement.value ? EmitExpr(*statement.value, return_type_) : NoneConstant();
  if (!early_returns_) {
    result_ = value;
    if (return_type_) result_ = ConvertTo(value, return_type_, statement.range, "the function's return value");
    return;
  }
  if (infers_) {
    MergeReturned(value->type(), statement.range);
  } else {
    value = ConvertTo(value, return_type_, statement.range, "the function's return value");
    environment_.Set(environment_.Id("$result"), value, return_type_);
  }
  environment_.Set(environment_.Id("$returned"), BoolConstant(true));
  environment_.Set(environment_.Id(loops_.back().exited), BoolConstant(true));
  if (loops_.size() > 1) environment_.Set(environment_.Id(loops_.back().broke), BoolConstant(true));
}

void Emitter::MergeReturned(const TypePtr& type, const SourceRange& range) {
  if (!inferred_) {
    inferred_ = type;
    return;
  }
  const auto merged = c10::unifyTypes(inferred_, type);
  if (!merged) {
    Fail(range, "a return before this one gave a value of type " + inferred_->annotation_str() + ", and this one of " +
                    type->annotation_str());
  }
  inferred_ = *merged;
}

void Emitter::EmitLoopExit(bool is_break, const SourceRange& range) {
  if (loops_.size() < 2) {
    Fail(range, is_break ? "break is only allowed in a loop" : "continue is only allowed in a loop");
  }
  LoopExits& loop = loops_.back();
  if (!is_break && graph_.insertion_point()->block() != loop.body) loop.continues_in_branch = true;
  environment_.Set(environment_.Id(loop.exited), BoolConstant(true));
  if (is_break) environment_.Set(environment_.Id(loop.broke), BoolConstant(true));
}

void Emitter::EmitGuarded(tree::StmtList rest, const SourceRange& range) {
  EmitGuarded([&] { EmitStatements(rest); }, FindExits(rest), range);
}

void Emitter::EmitGuarded(const Body& rest, const Exits& exits, const SourceRange& range) {
  Value* exited = environment_.Find(loops_.back().exited)->ssa();
  Exits left;
  left.always = left.may_return = true;
  EmitIfElse(
      exited, range, [] {}, left, rest, exits);
}

void Emitter::EmitLoop(Value* max_trip, const std::function<Value*()>& condition,
                       std::vector<std::string_view> assigned, tree::StmtList statements, const SourceRange& range,
                       const std::function<void(Value*)>& bind) {
  const Exits exits = FindExits(statements);
  const bool leaves = exits.may_return || exits.may_break;
  const auto set_flag = [&](std::string_view name, bool value) {
    environment_.Set(environment_.Id(name), BoolConstant(value));
  };
  LoopExits loop;
  if (exits.may_exit()) {
    const std::string number = std::to_string(++num_loops_);
    loop.exited = *made_names_.emplace_back(std::make_unique<std::string>("$exited" + number));
    loop.broke = *made_names_.emplace_back(std::make_unique<std::string>("$broke" + number));
    if (leaves) {
      set_flag(loop.broke, false);
      assigned.push_back(loop.broke);
    }
    if (exits.may_return) assigned.push_back("$returned");
    if (exits.may_return && !infers_) assigned.push_back("$result");
  }
  loops_.push_back(loop);
  Value* start = condition ? condition() : BoolConstant(true);
  EmitPlainLoop(max_trip, start, assigned, range, [&](Value* round) {
    Block* body = round->node()->block();
    loops_.back().body = body;
    if (exits.may_exit()) set_flag(loop.exited, false);
    bind(round);
    EmitStatements(statements);
    if (!leaves) {
      Value* again = condition ? condition() : BoolConstant(true);
      const bool same = condition && again == start;
      if (loops_.back().continues_in_branch && !same) body->owner()->SetAttribute(sym::kContinuesAttr, int64_t{1});
      return again;
    }
    Value* broke = environment_.Find(loop.broke)->ssa();
    return EmitChoice(
        broke, range, [&] { return BoolConstant(false); },
        [&] { return condition ? condition() : BoolConstant(true); });
  });
  loops_.pop_back();
  if (exits.may_return) {
    // What follows the loop must be skipped in the loop or function around it.
    Value* returned = environment_.Find("$returned")->ssa();
    environment_.Set(environment_.Id(loops_.back().exited), returned);
    if (loops_.size() > 1) environment_.Set(environment_.Id(loops_.back().broke), returned);
  }
}

}  // namespace hearth
