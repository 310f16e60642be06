// Questions about a piece of syntax that are answered before it is compiled.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "jit/frontend/tree.h"

namespace hearth {

// The names that the statements assign (targets of assignments, loops and with, nested functions), once each, in order
// of appearance. Names inside of nested functions and comprehensions are their own.
std::vector<std::string_view> AssignedNames(tree::StmtList statements);

// The names that the function's body reads or calls, once each.
std::vector<std::string_view> UsedNames(const tree::FunctionDef& function);

// Calls `visit` for every expression within the statements, nested functions included, an expression before its parts.
void VisitExpressions(tree::StmtList statements, const std::function<void(const tree::Expr&)>& visit);

// Whether a decorator of that name stands on it: `@interface`, `@torch.jit.interface`, `@jit.interface()`.
bool HasDecorator(const tree::FunctionDef& function, std::string_view name);
bool HasDecorator(const tree::ClassDef& definition, std::string_view name);
// Whether a decorator tells torch.jit not to compile it.
bool IsLeftToPython(const tree::FunctionDef& function);

// What may leave a list of statements other than by its end. A break or continue of a loop within it does not count.
struct Exits {
  bool may_return = false;
  bool may_break = false;
  bool may_continue = false;
  bool always = false;  // every path leaves, by any of these or by raising
  bool may_exit() const { return may_return || may_break || may_continue; }
};
Exits FindExits(tree::StmtList statements);
Exits FindExits(const tree::Stmt& statement);
// Whether a return stands anywhere but at the very end.
bool ReturnsEarly(tree::StmtList body);

}  // namespace hearth
