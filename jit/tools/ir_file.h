// A test file of hearth-opt: a graph, with the classes and functions that it talks about before it.
//
//   class __torch__.Scale:
//     factor : float = 2.0
//     weight : Tensor = zeros([2, 3])
//     child : __torch__.Child = new __torch__.Child
//     def forward:
//       graph(%self : __torch__.Scale, %x : Tensor):
//         ...
//   interface __torch__.Doer:
//     def do(__torch__.Doer self, Tensor x) -> Tensor
//   function __torch__.helper:
//     graph(...):
//       ...
//   graph(%self : __torch__.Scale, %x : Tensor):
//     ...
//
// A name must come before its use. An attribute without a value is None.
#pragma once

#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>

#include <memory>
#include <string>

#include "jit/ir/graph.h"
#include "jit/ir/parser.h"
#include "jit/module/compilation_unit.h"

namespace hearth {

class IrFile {
 public:
  // Throws CompileError; `source` must outlive that.
  explicit IrFile(std::shared_ptr<const Source> source);

  const Graph& graph() const { return *graph_; }
  const CompilationUnit& unit() const { return *unit_; }
  // An object of the class of the graph's first input; null if that is not an object.
  c10::intrusive_ptr<c10::ivalue::Object> MakeSelf() const;

 private:
  void ReadClass(IrReader& reader);
  void ReadInterface(IrReader& reader);
  void ReadFunction(IrReader& reader);
  std::unique_ptr<Function> ReadBody(IrReader& reader, const std::string& name);
  void ReadAttribute(IrReader& reader, const c10::ClassTypePtr& type);
  c10::IValue ReadValue(IrReader& reader, const TypePtr& type);
  c10::intrusive_ptr<c10::ivalue::Object> MakeObject(const c10::ClassTypePtr& type) const;

  std::shared_ptr<CompilationUnit> unit_;
  std::unordered_map<std::string, std::vector<c10::IValue>> attribute_values_;  // by class; by slot
  std::unique_ptr<Graph> graph_;
};

}  // namespace hearth
