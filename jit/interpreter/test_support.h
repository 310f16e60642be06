// For the interpreter's tests: code and units of classes whose bodies are IR text, and waiting for many runs.
#pragma once

#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jit/interpreter/code.h"
#include "jit/interpreter/interpreter.h"
#include "jit/ir/parser.h"
#include "jit/module/compilation_unit.h"
#include "jit/support/errors.h"
#include "jit/support/resource_error.h"

namespace hearth {

inline std::shared_ptr<const Code> Compile(const std::string& text, const ParseOptions& options = {}) {
  // Reports of failures show the text, which the Graph keeps.
  static std::vector<std::unique_ptr<Graph>> graphs;
  graphs.push_back(ParseGraph(text, options));
  return CompileCode(*graphs.back(), "__torch__.M.forward");
}

inline c10::IValue RunText(const std::string& text, std::vector<c10::IValue> arguments,
                           const RunOptions& options = {}) {
  return hearth::Run(*Compile(text), std::move(arguments), options);
}

inline std::string ErrorOf(const std::string& text, std::vector<c10::IValue> arguments) {
  try {
    RunText(text, std::move(arguments));
  } catch (const ModelError& error) {
    return error.what();
  }
  return "no error";
}

// Waits for many runs to end.
class Latch {
 public:
  explicit Latch(int count) : left_(count) {}
  void Down() {
    std::lock_guard lock(mutex_);
    if (--left_ == 0) done_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  int left_;
};

// A unit with classes and functions whose bodies are IR text.
class UnitTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.resolve_class = [this](const std::string& name) -> c10::TypePtr { return unit_->FindType(name); };
    options_.resolve_function = [this](const std::string& name) { return unit_->FindFunction(name); };
  }

  c10::ClassTypePtr AddClass(const std::string& name) {
    auto type = c10::ClassType::create(c10::QualifiedName(name), unit_->opaque(), /*is_module=*/false);
    unit_->AddType(type);
    return type;
  }

  std::unique_ptr<Function> Make(const std::string& name, const std::string& text) {
    graphs_.push_back(ParseGraph(text, options_));
    const Graph& graph = *graphs_.back();
    std::vector<c10::Argument> arguments;
    for (const Value* input : graph.inputs()) arguments.emplace_back(input->name(), input->type());
    c10::FunctionSchema schema(name, "", std::move(arguments), {c10::Argument("", graph.outputs()[0]->type())});
    auto function = std::make_unique<Function>(c10::QualifiedName(name), std::move(schema), nullptr);
    SetCode(*function, CompileCode(graph, name));
    return function;
  }
  Function* AddFunction(const std::string& name, const std::string& text) {
    return unit_->AddFunction(Make(name, text));
  }
  Function* AddMethod(const c10::ClassTypePtr& type, const std::string& name, const std::string& text) {
    return unit_->AddMethod(type, Make(type->name()->qualifiedName() + "." + name, text));
  }
  c10::IValue NewObject(const c10::ClassTypePtr& type) {
    return c10::ivalue::Object::create(c10::StrongTypePtr(unit_->opaque(), type), type->numAttributes());
  }

  std::shared_ptr<CompilationUnit> unit_ = CompilationUnit::Create();
  ParseOptions options_;
  std::vector<std::unique_ptr<Graph>> graphs_;
};

}  // namespace hearth
