// Calls of operators, functions, methods and classes.
#include <sstream>
#include <utility>

#include "jit/frontend/emitter.h"
#include "jit/ir/symbols.h"
#include "jit/module/compilation_unit.h"
#include "jit/operators/registry.h"

namespace hearth {

using tree::cast;
using tree::dyn_cast;
using tree::Kind;

Emitter::EvaluatedArguments Emitter::EvaluateArguments(const tree::Call& call, Value* first) {
  EvaluatedArguments arguments;
  if (first) {
    arguments.positional.reserve(call.args.size() + 1);
    arguments.positional.push_back(first);
    for (Value* value : EmitElements(call.args, nullptr)) arguments.positional.push_back(value);
  } else {
    arguments.positional = EmitElements(call.args, nullptr);
  }
  for (const tree::Keyword& keyword : call.keywords) {
    if (keyword.name.empty()) Fail(keyword.range, "keyword arguments cannot be expanded");
    arguments.named.push_back({keyword.name, EmitExpr(*keyword.value)});
  }
  return arguments;
}

namespace {

// What LibTorch blames for an expression: its range without the parentheses around what it begins with.
SourceRange BlamedRange(const tree::Expr& expression) {
  SourceRange range = expression.range;
  if (const auto* attribute = dyn_cast<tree::Attribute>(&expression)) {
    range.begin = BlamedRange(*attribute->value).begin;
  } else if (const auto* subscript = dyn_cast<tree::Subscript>(&expression)) {
    range.begin = BlamedRange(*subscript->value).begin;
  } else if (const auto* call = dyn_cast<tree::Call>(&expression)) {
    range.begin = BlamedRange(*call->callee).begin;
  }
  return range;
}

}  // namespace

SugaredValue Emitter::EmitCall(const tree::Call& call, const TypePtr& hint) {
  // A call is blamed for by what it calls, without the arguments.
  tree::Call blamed = call;
  blamed.range = BlamedRange(*call.callee);
  return EmitCallTo(EmitSugared(*call.callee), blamed, hint);
}

SugaredValue Emitter::EmitCallTo(const SugaredValue& callee, const tree::Call& call, const TypePtr& hint) {
  if (const auto* op = std::get_if<OperatorValue>(&callee)) {
    const EvaluatedArguments arguments = EvaluateArguments(call);
    return CallOperator(*op->set, {arguments.positional, arguments.named, op->self}, call.range);
  }
  if (const auto* method = std::get_if<MethodValue>(&callee)) {
    const EvaluatedArguments arguments = EvaluateArguments(call, method->self);
    return CallMethod(*method->schema, method->function, {arguments.positional, arguments.named}, call.range);
  }
  if (const auto* function = std::get_if<FunctionValue>(&callee)) {
    const EvaluatedArguments arguments = EvaluateArguments(call);
    return CallFunction(*function->function, {arguments.positional, arguments.named}, call.range);
  }
  if (const auto* form = std::get_if<SpecialFormValue>(&callee)) return EmitSpecialForm(*form, call, hint);
  if (const auto* tensor_cast = std::get_if<TensorCastValue>(&callee)) {
    if (!call.args.empty() || !call.keywords.empty()) Fail(call.range, "a tensor's cast takes no arguments");
    return CallOperator("aten", "to", {tensor_cast->self, IntConstant(static_cast<int64_t>(tensor_cast->dtype))},
                        call.range);
  }
  if (const auto* made = std::get_if<NewValue>(&callee)) {
    return Insert(sym::kCreateObject, {}, made->type, call.range);
  }
  if (const auto* type = std::get_if<TypeValue>(&callee)) return Construct(type->type, call);
  if (Value* const* object = std::get_if<Value*>(&callee)) {
    // Calling a module is calling its forward; another object, its __call__.
    const bool is_module = (*object)->type()->is_module();
    const SugaredValue method = GetValueAttribute(*object, is_module ? "forward" : "__call__", call.callee->range);
    return EmitCallTo(method, call, hint);
  }
  if (const auto* space = std::get_if<NamespaceValue>(&callee)) {
    if (space->kind == NamespaceValue::Kind::kArchive) {
      Fail(call.callee->range, "the archive's code does not define '" + std::string(space->name) + "'");
    }
  }
  Fail(call.callee->range, std::string(Describe(callee)) + " cannot be called here");
}

SugaredValue Emitter::CallOperator(const OperatorSet& set, const CallArguments& arguments, const SourceRange& range) {
  if (!set.known()) FailUnknownOperator(set, range);
  const Candidate* chosen = nullptr;
  if (set.candidates.size() == 1) {
    if (TryMatch(*set.candidates.front().schema, arguments, true, *this, &match_, nullptr)) {
      chosen = &set.candidates.front();
    }
  } else {
    for (const bool implicit : {false, true}) {
      for (const Candidate& candidate : set.candidates) {
        if (TryMatch(*candidate.schema, arguments, implicit, *this, &match_, nullptr)) {
          chosen = &candidate;
          break;
        }
      }
      if (chosen) break;
    }
  }
  if (!chosen) FailNoMatch(set, arguments, range);

  const std::vector<Value*> inputs = EmitArguments(graph_, range, match_, arguments, *this);
  if (chosen->body) {
    graph_.SetCurrentRange(range);
    const std::vector<Value*> outputs = graph_.InlineGraph(chosen->body->emitted_graph(), inputs);
    return outputs.front();
  }
  if (Value* device = TryDeviceConstant(set, inputs)) return device;
  Node* node = InsertNode(set.symbol, inputs, match_.returns.size(), range);
  node->SetOperator(chosen->op);
  for (size_t i = 0; i < match_.returns.size(); ++i) node->output(i)->SetType(match_.returns[i]);
  if (match_.returns.size() == 1) return node->output();
  return ResultsValue{{node->outputs().begin(), node->outputs().end()}, chosen->schema};
}

Value* Emitter::TryDeviceConstant(const OperatorSet& set, std::span<Value* const> inputs) {
  static const Symbol kDevice = Symbol::fromQualString("aten::device");
  if (set.symbol != kDevice || inputs.size() != 1 || inputs[0]->node()->kind() != sym::kConstant) return nullptr;
  const auto& name = inputs[0]->node()->attribute<c10::IValue>(sym::kValueAttr);
  if (!name.isString()) return nullptr;
  try {
    return InsertPooled(c10::Device(name.toStringRef()), c10::DeviceObjType::get());
  } catch (const c10::Error&) {
    return nullptr;  // raises where it runs
  }
}

Value* Emitter::CallOperator(std::string_view space, std::string_view name, std::initializer_list<Value*> arguments,
                             const SourceRange& range) {
  const OperatorSet* set = resolver_.operators().Find(space, name);
  const std::span<Value* const> positional(arguments.begin(), arguments.size());
  return AsValue(CallOperator(*set, {positional, {}}, range), range);
}

void Emitter::FailUnknownOperator(const OperatorSet& set, const SourceRange& range) {
  const std::string name = set.symbol.toQualString();
  std::string message = "Unknown builtin op: " + name + ".";
  const std::vector<std::string> similar = OperatorRegistry::Global().Similar(set.symbol);
  for (size_t i = 0; i < similar.size(); ++i) {
    message += i == 0 ? "\nHere are some suggestions:\n  " : "\n  ";
    message += similar[i];
  }
  throw UnknownOperatorError(range, name, message);
}

void Emitter::FailNoMatch(const OperatorSet& set, const CallArguments& arguments, const SourceRange& range) {
  std::ostringstream message;
  message << "Arguments for call are not valid.\nThe following variants are available:\n";
  for (const Candidate& candidate : set.candidates) {
    std::string why;
    TryMatch(*candidate.schema, arguments, true, *this, &match_, &why);
    message << "\n  " << *candidate.schema << ":\n  ";
    for (const char c : why) {
      message << c;
      if (c == '\n') message << "  ";
    }
  }
  message << "\nThe original call is:";
  Fail(range, message.str());
}

Value* Emitter::CallFunction(Function& function, const CallArguments& arguments, const SourceRange& range) {
  if (function.getSchema().returns().empty()) function.EnsureDefined();
  const c10::FunctionSchema& schema = function.getSchema();
  if (schema.returns().empty()) {
    Fail(range, "function '" + function.qualname().qualifiedName() +
                    "' is called recursively, so its return type must be annotated");
  }
  std::string why;
  if (!TryMatch(schema, arguments, true, *this, &match_, nullptr)) {
    TryMatch(schema, arguments, true, *this, &match_, &why);
    std::ostringstream message;
    message << schema << ":\n" << why << "The call is:";
    Fail(range, message.str());
  }
  TypePtr type = match_.returns.front();
  const std::vector<Value*> inputs = EmitArguments(graph_, range, match_, arguments, *this);
  Node* node = InsertNode(sym::kCallFunction, inputs, 1, range);
  node->SetAttribute(sym::kFunctionAttr, static_cast<torch::jit::Function*>(&function));
  node->output()->SetType(std::move(type));
  return node->output();
}

Value* Emitter::CallMethod(const c10::FunctionSchema& declared, torch::jit::Function* function,
                           const CallArguments& arguments, const SourceRange& range) {
  const c10::FunctionSchema* schema = &declared;
  TypePtr type;
  if (auto* own = dynamic_cast<Function*>(function); own && schema->returns().empty()) {
    own->EnsureDefined();
    schema = &own->getSchema();
    if (schema->returns().empty()) {
      Fail(range, "method '" + schema->name() + "' is called recursively, so its return type must be annotated");
    }
  }
  std::string why;
  if (!TryMatch(*schema, arguments, true, *this, &match_, nullptr)) {
    TryMatch(*schema, arguments, true, *this, &match_, &why);
    std::ostringstream message;
    message << *schema << ":\n" << why << "The call is:";
    Fail(range, message.str());
  }
  type = match_.returns.empty() ? TypePtr(c10::NoneType::get()) : match_.returns.front();
  const std::vector<Value*> inputs = EmitArguments(graph_, range, match_, arguments, *this);
  Node* node = InsertNode(sym::kCallMethod, inputs, 1, range);
  node->SetAttribute(sym::kNameAttr, function ? function->name() : schema->name());
  node->output()->SetType(std::move(type));
  return node->output();
}

Value* Emitter::TryMagicMethod(std::string_view name, std::span<Value* const> arguments, const SourceRange& range) {
  const auto* type = arguments.front()->type()->castRaw<c10::ClassType>();
  if (!type) return nullptr;
  torch::jit::Function* method = FindMethod(*type, std::string(name));
  if (!method) return nullptr;
  return CallMethod(method->getSchema(), method, {arguments, {}}, range);
}

Value* Emitter::Construct(const c10::NamedTypePtr& type, const tree::Call& call) {
  if (const auto class_type = std::dynamic_pointer_cast<c10::ClassType>(type)) {
    Value* object = Insert(sym::kCreateObject, {}, class_type, call.range);
    if (torch::jit::Function* init = FindMethod(*class_type, "__init__")) {
      const EvaluatedArguments arguments = EvaluateArguments(call, object);
      CallMethod(init->getSchema(), init, {arguments.positional, arguments.named}, call.range);
    } else if (!call.args.empty() || !call.keywords.empty()) {
      Fail(call.range, "class " + class_type->annotation_str() + " has no __init__ and so takes no arguments");
    }
    return object;
  }
  const EvaluatedArguments arguments = EvaluateArguments(call);
  if (const auto tuple = std::dynamic_pointer_cast<c10::TupleType>(type)) {
    const CallArguments given{arguments.positional, arguments.named};
    std::string why;
    if (!TryMatch(*tuple->schema(), given, true, *this, &match_, &why)) Fail(call.range, why);
    const std::vector<Value*> inputs = EmitArguments(graph_, call.range, match_, given, *this);
    return InsertConstruct(sym::kTupleConstruct, inputs, tuple, call.range);
  }
  Fail(call.range, "type " + type->annotation_str() + " cannot be constructed by a call");
}

}  // namespace hearth
