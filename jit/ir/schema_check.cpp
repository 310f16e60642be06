#include "jit/ir/schema_check.h"

#include <ATen/core/jit_type.h>

namespace hearth {
namespace {

std::string ArgumentMismatch(const c10::Argument& argument, const TypePtr& actual, c10::TypeEnv* variables) {
  TypePtr formal = argument.type();
  if (formal->hasFreeVariables()) {
    const c10::MatchTypeReturn match = c10::matchTypeVariables(formal, actual, *variables);
    if (!match.success()) return "'" + argument.name() + "': " + match.reason();
    formal = c10::tryEvalTypeVariables(formal, *variables);
    // A variable inside an Optional that is None binds nothing.
    if (formal == nullptr) return "";
  }
  std::ostringstream why;
  if (actual->isSubtypeOfExt(*formal, &why)) return "";
  return "'" + argument.name() + "' is a " + formal->annotation_str() + ", and a " + actual->annotation_str() +
         " was given";
}

}  // namespace

std::string SchemaMismatch(const c10::FunctionSchema& schema, const Node& node) {
  const std::vector<c10::Argument>& arguments = schema.arguments();
  const size_t given = node.inputs().size();
  if (schema.is_vararg() ? given < arguments.size() : given != arguments.size()) {
    return "takes " + std::to_string(arguments.size()) + " inputs, and " + std::to_string(given) + " were given";
  }
  c10::TypeEnv variables;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string mismatch = ArgumentMismatch(arguments[i], node.input(i)->type(), &variables);
    if (!mismatch.empty()) return mismatch;
  }
  if (!schema.is_varret() && node.outputs().size() != schema.returns().size()) {
    return "gives " + std::to_string(schema.returns().size()) + " outputs, and the node has " +
           std::to_string(node.outputs().size());
  }
  for (size_t i = 0; i < schema.returns().size() && i < node.outputs().size(); ++i) {
    TypePtr given_type = schema.returns()[i].type();
    if (given_type->hasFreeVariables()) given_type = c10::tryEvalTypeVariables(given_type, variables);
    if (given_type != nullptr && !given_type->isSubtypeOf(*node.output(i)->type())) {
      return "gives a " + given_type->annotation_str() + ", not a " + node.output(i)->type()->annotation_str();
    }
  }
  return "";
}

}  // namespace hearth
