#include "jit/ir/parser.h"

#include <ATen/core/jit_type.h>

#include <unordered_map>
#include <unordered_set>

#include "jit/ir/schema_check.h"
#include "jit/ir/symbols.h"
#include "jit/operators/registry.h"
#include "jit/support/errors.h"

namespace hearth {
namespace {

constexpr int kMaxBlockDepth = 100;

// Kinds that never name a registered operator, even where LibTorch has one of the same name.
bool IsInterpreterKind(Symbol kind) {
  static const std::unordered_set<Symbol> kKinds = {
      sym::kConstant,       sym::kIf,         sym::kLoop,           sym::kWith,
      sym::kFork,           sym::kAwaitable,  sym::kListConstruct,  sym::kDictConstruct,
      sym::kTupleConstruct, sym::kListUnpack, sym::kTupleUnpack,    sym::kTupleIndex,
      sym::kTupleSlice,     sym::kGetAttr,    sym::kSetAttr,        sym::kCreateObject,
      sym::kCallFunction,   sym::kCallMethod, sym::kIsInstance,     sym::kUncheckedCast,
      sym::kUninitialized,  sym::kToList,     sym::kRaiseException, sym::kStateStep,
      sym::kFrameState,     sym::kGuard,      sym::kObserve,        sym::kArena,
      sym::kPlace,          sym::kSlot};
  return kKinds.count(kind) != 0;
}

}  // namespace

// Reads one Graph; holds the names that are visible.
class GraphReader {
 public:
  explicit GraphReader(IrReader& reader) : reader_(reader), graph_(std::make_unique<Graph>()) {}

  std::unique_ptr<Graph> Read() {
    graph_->KeepSource(reader_.source_);
    if (!reader_.TryWord("graph")) reader_.Fail("expected 'graph'");
    ReadParams(graph_->block());
    reader_.ReadMark(":");
    while (!reader_.TryWord("return")) ReadNode(graph_->block(), 0);
    for (Value* value : ReadUses()) graph_->block()->AddReturn(value);
    return std::move(graph_);
  }

 private:
  struct Definition {
    std::string name;
    TypePtr type;
    size_t begin;
    size_t end;
  };

  std::string ReadValueName() {
    reader_.SkipSpace();
    if (!reader_.TryMark("%")) reader_.Fail("expected a value, like %x");
    return reader_.ReadName();
  }

  Definition ReadDefinition(std::string_view stops) {
    reader_.SkipSpace();
    Definition definition;
    definition.begin = reader_.at_;
    definition.name = ReadValueName();
    definition.end = reader_.at_;
    reader_.ReadMark(":");
    definition.type = reader_.ReadType(stops);
    return definition;
  }

  void Define(const Definition& definition, Value* value) {
    value->SetType(definition.type);
    if (!std::isdigit(static_cast<unsigned char>(definition.name[0]))) value->SetName(definition.name);
    if (!values_.emplace(definition.name, value).second) {
      reader_.FailAt(definition.begin, definition.end, "%" + definition.name + " is defined twice");
    }
    scope_.push_back(definition.name);
  }

  void ReadParams(Block* block) {
    reader_.ReadMark("(");
    bool first = true;
    while (!reader_.TryMark(")")) {
      if (!first) reader_.ReadMark(",");
      first = false;
      const Definition definition = ReadDefinition(",)");
      Define(definition, block->AddParam(definition.type));
    }
  }

  std::vector<Value*> ReadUses() {
    std::vector<Value*> values;
    reader_.ReadMark("(");
    bool first = true;
    while (!reader_.TryMark(")")) {
      if (!first) reader_.ReadMark(",");
      first = false;
      reader_.SkipSpace();
      const size_t begin = reader_.at_;
      const std::string name = ReadValueName();
      auto found = values_.find(name);
      if (found == values_.end()) reader_.FailAt(begin, reader_.at_, "%" + name + " is not defined here");
      values.push_back(found->second);
    }
    return values;
  }

  void ReadNode(Block* block, int depth) {
    if (depth > kMaxBlockDepth) reader_.Fail("blocks are nested too deeply");
    reader_.SkipSpace();
    const size_t begin = reader_.at_;
    std::vector<Definition> outputs;
    if (begin < reader_.text_.size() && reader_.text_[begin] == '%') {
      do {
        outputs.push_back(ReadDefinition(",="));
      } while (reader_.TryMark(","));
      reader_.ReadMark("=");
    }

    reader_.SkipSpace();
    const size_t kind_begin = reader_.at_;
    const std::string name = ReadKind();
    const size_t kind_end = reader_.at_;
    const size_t dot = name.find('.', name.find("::"));
    const Symbol kind = Symbol::fromQualString(name.substr(0, dot));

    // Linked in at once, so that the Graph owns it should the rest fail.
    Node* node = block->Append(graph_->Create(kind, {}, 0));
    ReadAttributes(node, outputs.empty() ? nullptr : outputs.front().type);
    for (Value* input : ReadUses()) node->AddInput(input);
    node->SetRange({reader_.source_.get(), static_cast<uint32_t>(begin), static_cast<uint32_t>(reader_.at_)});
    for (const Definition& output : outputs) node->AddOutput(output.type);

    if (!IsInterpreterKind(kind)) {
      const Operator* op = dot == std::string::npos
                               ? FindByTypes(*node)
                               : OperatorRegistry::Global().Find(kind, std::string_view(name).substr(dot + 1));
      if (op == nullptr) {
        reader_.FailAt(kind_begin, kind_end,
                       dot == std::string::npos && Exists(kind) ? "no overload of " + name + " takes these inputs"
                                                                : "no operator is named " + name);
      }
      node->SetOperator(op);
    }
    ReadBlocks(node, depth);
    for (size_t i = 0; i < outputs.size(); ++i) Define(outputs[i], node->output(i));
  }

  std::string ReadKind() {
    const std::string space = reader_.ReadName();
    if (reader_.text_.substr(reader_.at_, 2) != "::") reader_.Fail("expected '::'");
    reader_.at_ += 2;
    if (space.find('.') != std::string::npos) reader_.Fail("expected a node's kind, like aten::add");
    return space + "::" + reader_.ReadName();
  }

  static bool Exists(Symbol kind) { return !OperatorRegistry::Global().Candidates(kind).empty(); }

  static const Operator* FindByTypes(const Node& node) {
    OperatorRegistry& registry = OperatorRegistry::Global();
    const Operator* exact = registry.Find(node.kind(), "");
    if (exact != nullptr && SchemaMismatch(exact->schema(), node).empty()) return exact;
    for (const Operator* candidate : registry.Candidates(node.kind())) {
      if (SchemaMismatch(candidate->schema(), node).empty()) return candidate;
    }
    return nullptr;
  }

  void ReadBlocks(Node* node, int depth) {
    while (reader_.TryWord("block" + std::to_string(node->blocks().size()))) {
      Block* block = node->AddBlock();
      const size_t outer = scope_.size();
      ReadParams(block);
      reader_.ReadMark(":");
      while (!reader_.TryMark("->")) ReadNode(block, depth + 1);
      for (Value* value : ReadUses()) block->AddReturn(value);
      for (; scope_.size() > outer; scope_.pop_back()) values_.erase(scope_.back());
    }
  }

  void ReadAttributes(Node* node, const TypePtr& output_type) {
    if (!reader_.TryMark("[")) return;
    do {
      const Symbol name = Symbol::attr(reader_.ReadName());
      reader_.ReadMark("=");
      node->SetAttribute(name, ReadAttribute(name, output_type));
    } while (reader_.TryMark(","));
    reader_.ReadMark("]");
  }

  Attribute ReadAttribute(Symbol name, const TypePtr& output_type) {
    if (name == sym::kValueAttr) {
      const size_t begin = reader_.at_;
      c10::IValue value = reader_.ReadLiteral(output_type);
      if (output_type != nullptr && !value.type()->isSubtypeOf(*output_type)) {
        reader_.FailAt(
            begin, reader_.at_,
            "this constant is a " + value.type()->annotation_str() + ", not a " + output_type->annotation_str());
      }
      return value;
    }
    reader_.SkipSpace();
    if (reader_.TryMark("@")) return ReadFunction();
    if (reader_.TryMark(":")) return reader_.ReadType(",]");
    if (reader_.TryMark("[")) {
      std::vector<TypePtr> types;
      do {
        types.push_back(reader_.ReadType(",]"));
      } while (reader_.TryMark(","));
      reader_.ReadMark("]");
      return types;
    }
    if (reader_.at_ < reader_.text_.size() && reader_.text_[reader_.at_] == '"') return reader_.ReadString();
    return reader_.ReadInt();
  }

  torch::jit::Function* ReadFunction() {
    const size_t begin = reader_.at_;
    const std::string name = reader_.ReadName();
    torch::jit::Function* function =
        reader_.options_.resolve_function ? reader_.options_.resolve_function(name) : nullptr;
    if (function == nullptr) reader_.FailAt(begin, reader_.at_, "no function is named " + name);
    return function;
  }

  IrReader& reader_;
  std::unique_ptr<Graph> graph_;
  std::unordered_map<std::string, Value*> values_;  // those visible here
  std::vector<std::string> scope_;                  // their names, in order of definition
};

std::unique_ptr<Graph> IrReader::ReadGraph() { return GraphReader(*this).Read(); }

std::unique_ptr<Graph> ParseGraph(std::shared_ptr<const Source> source, const ParseOptions& options) {
  IrReader reader(std::move(source), options);
  std::unique_ptr<Graph> graph = reader.ReadGraph();
  if (!reader.AtEnd()) reader.Fail("expected the end of the text");
  return graph;
}

std::unique_ptr<Graph> ParseGraph(std::string text, const ParseOptions& options) {
  return ParseGraph(std::make_shared<Source>(std::move(text), "graph.ir"), options);
}

}  // namespace hearth
