#include "jit/tools/ir_file.h"

#include <ATen/core/jit_type.h>
#include <ATen/ops/zeros.h>

#include "jit/support/errors.h"

namespace hearth {
namespace {

c10::FunctionSchema SchemaOf(const std::string& name, const Graph& graph) {
  std::vector<c10::Argument> arguments;
  for (const Value* input : graph.inputs()) arguments.emplace_back(input->name(), input->type());
  std::vector<c10::Argument> returns;
  for (const Value* output : graph.outputs()) returns.emplace_back("", output->type());
  return {name, "", std::move(arguments), std::move(returns)};
}

}  // namespace

IrFile::IrFile(std::shared_ptr<const Source> source) : unit_(CompilationUnit::Create()) {
  ParseOptions options;
  options.resolve_class = [this](const std::string& name) { return unit_->FindType(name); };
  options.resolve_function = [this](const std::string& name) { return unit_->FindFunction(name); };
  unit_->AddSource(source);
  IrReader reader(std::move(source), options);
  while (true) {
    if (reader.TryWord("class")) {
      ReadClass(reader);
    } else if (reader.TryWord("interface")) {
      ReadInterface(reader);
    } else if (reader.TryWord("function")) {
      ReadFunction(reader);
    } else {
      break;
    }
  }
  graph_ = reader.ReadGraph();
  if (!reader.AtEnd()) reader.Fail("expected the end of the file");
}

void IrFile::ReadClass(IrReader& reader) {
  const std::string name = reader.ReadName();
  reader.ReadMark(":");
  auto type = c10::ClassType::create(c10::QualifiedName(name), unit_->opaque(), /*is_module=*/true);
  unit_->AddType(type);
  while (!reader.AtEnd()) {
    const std::string_view rest = reader.Peek();
    if (rest.starts_with("class ") || rest.starts_with("interface ") || rest.starts_with("function ") ||
        rest.starts_with("graph(")) {
      return;
    }
    if (reader.TryWord("def")) {
      const std::string method = reader.ReadName();
      reader.ReadMark(":");
      unit_->AddMethod(type, ReadBody(reader, name + "." + method));
    } else {
      ReadAttribute(reader, type);
    }
  }
}

void IrFile::ReadAttribute(IrReader& reader, const c10::ClassTypePtr& type) {
  const std::string name = reader.ReadName();
  reader.ReadMark(":");
  const TypePtr attribute_type = reader.ReadType("=");
  c10::IValue value;
  if (reader.TryMark("=")) value = ReadValue(reader, attribute_type);
  type->addAttribute(name, attribute_type);
  attribute_values_[type->name()->qualifiedName()].push_back(std::move(value));
}

c10::IValue IrFile::ReadValue(IrReader& reader, const TypePtr& type) {
  if (reader.TryWord("zeros")) {
    reader.ReadMark("(");
    const c10::IValue sizes = reader.ReadLiteral(c10::ListType::ofInts());
    const c10::ScalarType dtype = reader.TryMark(",") ? (reader.ReadMark("Half"), c10::kHalf) : c10::kFloat;
    reader.ReadMark(")");
    return at::zeros(sizes.toIntVector(), dtype);
  }
  if (reader.TryWord("new")) {
    auto named = unit_->FindType(reader.ReadName());
    auto class_type = named ? named->cast<c10::ClassType>() : nullptr;
    if (class_type == nullptr) reader.Fail("no class of that name comes before");
    return MakeObject(class_type);
  }
  return reader.ReadLiteral(type);
}

void IrFile::ReadInterface(IrReader& reader) {
  const std::string name = reader.ReadName();
  reader.ReadMark(":");
  auto type = c10::InterfaceType::create(c10::QualifiedName(name), /*is_module=*/true);
  unit_->AddType(type);
  while (reader.TryWord("def")) {
    const std::string method = reader.ReadName();
    reader.ReadMark("(");
    std::vector<c10::Argument> arguments;
    while (!reader.TryMark(")")) {
      if (!arguments.empty()) reader.ReadMark(",");
      const TypePtr argument_type = reader.ReadType(" ");
      arguments.emplace_back(reader.ReadName(), argument_type);
    }
    reader.ReadMark("->");
    std::vector<c10::Argument> returns = {c10::Argument("", reader.ReadType(""))};
    type->addMethod(c10::FunctionSchema(method, "", std::move(arguments), std::move(returns)));
  }
}

void IrFile::ReadFunction(IrReader& reader) {
  const std::string name = reader.ReadName();
  reader.ReadMark(":");
  unit_->AddFunction(ReadBody(reader, name));
}

std::unique_ptr<Function> IrFile::ReadBody(IrReader& reader, const std::string& name) {
  std::shared_ptr<const Graph> body = reader.ReadGraph();
  const auto emit = [body](Function&, Graph& graph) {
    std::vector<std::pair<const Value*, Value*>> map;
    for (const Value* input : body->inputs()) map.emplace_back(input, graph.AddInput(input->type(), input->name()));
    graph.CloneBlockInto(*body->block(), graph.block(), std::move(map));
  };
  const c10::QualifiedName qualified(name);
  return std::make_unique<Function>(qualified, SchemaOf(qualified.name(), *body), emit);
}

c10::intrusive_ptr<c10::ivalue::Object> IrFile::MakeObject(const c10::ClassTypePtr& type) const {
  auto object = c10::ivalue::Object::create(c10::StrongTypePtr(unit_->opaque(), type), type->numAttributes());
  auto values = attribute_values_.find(type->name()->qualifiedName());
  for (size_t slot = 0; slot < type->numAttributes(); ++slot) object->setSlot(slot, values->second[slot]);
  return object;
}

c10::intrusive_ptr<c10::ivalue::Object> IrFile::MakeSelf() const {
  if (graph_->inputs().empty()) return {};
  auto type = graph_->inputs()[0]->type()->cast<c10::ClassType>();
  return type ? MakeObject(type) : c10::intrusive_ptr<c10::ivalue::Object>();
}

}  // namespace hearth
