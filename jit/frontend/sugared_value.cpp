#include "jit/frontend/sugared_value.h"

namespace hearth {
namespace {

struct Describer {
  const char* operator()(const Unbound&) const { return "nothing"; }
  const char* operator()(Value*) const { return "a value"; }
  const char* operator()(const NamespaceValue&) const { return "a namespace"; }
  const char* operator()(const OperatorValue&) const { return "an operator"; }
  const char* operator()(const FunctionValue&) const { return "a function"; }
  const char* operator()(const MethodValue&) const { return "a method"; }
  const char* operator()(const TypeValue&) const { return "a class"; }
  const char* operator()(const NewValue&) const { return "a class's constructor"; }
  const char* operator()(const ClosureValue&) const { return "a function defined within a function"; }
  const char* operator()(const ResultsValue&) const { return "a value"; }
  const char* operator()(const SpecialFormValue&) const { return "a builtin function"; }
  const char* operator()(const TensorCastValue&) const { return "a tensor's cast"; }
  const char* operator()(const ExceptionValue&) const { return "an exception class"; }
};

}  // namespace

const char* Describe(const SugaredValue& value) { return std::visit(Describer(), value); }

}  // namespace hearth
