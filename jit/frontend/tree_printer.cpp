#include "jit/frontend/tree_printer.h"

#include <bit>

namespace hearth::tree {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

class Printer {
 public:
  explicit Printer(PrintRanges ranges) : with_ranges_(ranges == PrintRanges::kYes) {}

  void Print(const Node* node);
  std::string Take() { return std::move(out_); }
  void Line() { out_ += '\n'; }

 private:
  void PrintFields(const Node* node);
  void PrintStatementFields(const Node* node);
  void PrintConstant(const Node* node);

  void Field(const Node* node) {
    out_ += ' ';
    Print(node);
  }
  void Word(std::string_view word) { out_.append(" ").append(word); }
  void Flag(bool flag, std::string_view name) {
    if (flag) Word(name);
  }
  void Text(std::string_view text) {
    out_ += " \"";
    for (const char c : text) {
      const auto byte = static_cast<uint8_t>(c);
      if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += c;
      } else if (byte >= 0x20 && byte < 0x7f) {
        out_ += c;
      } else {
        out_ += "\\x";
        out_ += kHexDigits[byte >> 4];
        out_ += kHexDigits[byte & 15];
      }
    }
    out_ += '"';
  }
  void Bits(double value) {
    const auto bits = std::bit_cast<uint64_t>(value);
    out_ += ' ';
    for (int shift = 60; shift >= 0; shift -= 4) out_ += kHexDigits[bits >> shift & 15];
  }
  // ` [item item]`, each printed by `print`.
  template <class Items, class Function>
  void ListOf(const Items& items, Function print) {
    out_ += " [";
    bool first = true;
    for (const auto& item : items) {
      if (!std::exchange(first, false)) out_ += ' ';
      print(item);
    }
    out_ += ']';
  }
  template <class T>
  void Nodes(std::span<const T* const> nodes) {
    ListOf(nodes, [&](const T* node) { Print(node); });
  }
  void Keywords(std::span<const Keyword> keywords) {
    ListOf(keywords, [&](const Keyword& keyword) {
      out_ += "(keyword";
      Text(keyword.name);
      Field(keyword.value);
      out_ += ')';
    });
  }
  void Generators(std::span<const Generator> generators) {
    ListOf(generators, [&](const Generator& generator) {
      out_ += "(generator";
      Field(generator.target);
      Field(generator.iter);
      Nodes(generator.conditions);
      out_ += ')';
    });
  }
  void Parameters(std::span<const Parameter> parameters);

  std::string out_;
  bool with_ranges_;
};

void Printer::Print(const Node* node) {
  if (!node) {
    out_ += '_';
    return;
  }
  out_ += '(';
  out_ += KindName(node->kind);
  if (with_ranges_) {
    out_.append("@").append(std::to_string(node->range.begin));
    out_.append("-").append(std::to_string(node->range.end));
  }
  if (isa<Stmt>(node)) {
    PrintStatementFields(node);
  } else {
    PrintFields(node);
  }
  out_ += ')';
}

void Printer::PrintConstant(const Node* node) {
  switch (node->kind) {
    case Kind::kIntConstant:
      return Word(std::to_string(cast<IntConstant>(node)->value));
    case Kind::kFloatConstant:
      return Bits(cast<FloatConstant>(node)->value);
    case Kind::kComplexConstant:
      return Bits(cast<ComplexConstant>(node)->imaginary);
    case Kind::kStringConstant:
      return Text(cast<StringConstant>(node)->value);
    case Kind::kBoolConstant:
      return Word(cast<BoolConstant>(node)->value ? "True" : "False");
    default:
      return;
  }
}

void Printer::PrintFields(const Node* node) {
  switch (node->kind) {
    case Kind::kName:
      return Text(cast<Name>(node)->id);
    case Kind::kAttribute: {
      const auto* attribute = cast<Attribute>(node);
      Field(attribute->value);
      return Text(attribute->attr);
    }
    case Kind::kSubscript: {
      const auto* subscript = cast<Subscript>(node);
      Field(subscript->value);
      Nodes(subscript->indices);
      return Flag(subscript->has_comma, "comma");
    }
    case Kind::kSlice: {
      const auto* slice = cast<Slice>(node);
      Field(slice->lower);
      Field(slice->upper);
      return Field(slice->step);
    }
    case Kind::kCall: {
      const auto* call = cast<Call>(node);
      Field(call->callee);
      Nodes(call->args);
      return Keywords(call->keywords);
    }
    case Kind::kList:
      return Nodes(cast<List>(node)->elements);
    case Kind::kTuple:
      return Nodes(cast<Tuple>(node)->elements);
    case Kind::kDict:
      return ListOf(cast<Dict>(node)->items, [&](const DictItem& item) {
        out_ += "(item";
        Field(item.key);
        Field(item.value);
        out_ += ')';
      });
    case Kind::kListComp: {
      const auto* comprehension = cast<ListComp>(node);
      Field(comprehension->element);
      Generators(comprehension->generators);
      return Flag(comprehension->is_generator, "generator");
    }
    case Kind::kDictComp: {
      const auto* comprehension = cast<DictComp>(node);
      Field(comprehension->key);
      Field(comprehension->value);
      return Generators(comprehension->generators);
    }
    case Kind::kUnaryOp: {
      const auto* operation = cast<UnaryOp>(node);
      Word(Spelling(operation->op));
      return Field(operation->operand);
    }
    case Kind::kBinOp: {
      const auto* operation = cast<BinOp>(node);
      Word(Spelling(operation->op));
      Field(operation->left);
      return Field(operation->right);
    }
    case Kind::kBoolOp: {
      const auto* operation = cast<BoolOp>(node);
      Word(Spelling(operation->op));
      return Nodes(operation->values);
    }
    case Kind::kCompare: {
      const auto* compare = cast<Compare>(node);
      Field(compare->left);
      return ListOf(compare->comparisons, [&](const Comparison& comparison) {
        out_ += "(";
        out_ += Spelling(comparison.op);
        Field(comparison.right);
        out_ += ')';
      });
    }
    case Kind::kTernary: {
      const auto* ternary = cast<Ternary>(node);
      Field(ternary->condition);
      Field(ternary->if_true);
      return Field(ternary->if_false);
    }
    case Kind::kStarred:
      return Field(cast<Starred>(node)->value);
    case Kind::kJoinedStr:
      return Nodes(cast<JoinedStr>(node)->parts);
    case Kind::kFormattedValue: {
      const auto* formatted = cast<FormattedValue>(node);
      Field(formatted->value);
      Word(formatted->conversion ? std::string_view(&formatted->conversion, 1) : "_");
      return Field(formatted->format_spec);
    }
    default:
      return PrintConstant(node);
  }
}

void Printer::Parameters(std::span<const Parameter> parameters) {
  constexpr std::string_view kKinds[] = {"positional", "normal", "keyword", "*", "**"};
  ListOf(parameters, [&](const Parameter& parameter) {
    out_ += "(parameter";
    Word(kKinds[static_cast<size_t>(parameter.kind)]);
    Text(parameter.name);
    Field(parameter.annotation);
    Field(parameter.default_value);
    out_ += ')';
  });
}

void Printer::PrintStatementFields(const Node* node) {
  switch (node->kind) {
    case Kind::kAssign:
      Nodes(cast<Assign>(node)->targets);
      return Field(cast<Assign>(node)->value);
    case Kind::kAnnAssign: {
      const auto* assign = cast<AnnAssign>(node);
      Field(assign->target);
      Field(assign->annotation);
      return Field(assign->value);
    }
    case Kind::kAugAssign: {
      const auto* assign = cast<AugAssign>(node);
      Word(Spelling(assign->op));
      Field(assign->target);
      return Field(assign->value);
    }
    case Kind::kExprStmt:
      return Field(cast<ExprStmt>(node)->value);
    case Kind::kIf: {
      const auto* branch = cast<If>(node);
      Field(branch->condition);
      Nodes(branch->body);
      return Nodes(branch->else_body);
    }
    case Kind::kFor: {
      const auto* loop = cast<For>(node);
      Field(loop->target);
      Field(loop->iter);
      return Nodes(loop->body);
    }
    case Kind::kWhile:
      Field(cast<While>(node)->condition);
      return Nodes(cast<While>(node)->body);
    case Kind::kWith:
      ListOf(cast<With>(node)->items, [&](const WithItem& item) {
        out_ += "(item";
        Field(item.context);
        Field(item.target);
        out_ += ')';
      });
      return Nodes(cast<With>(node)->body);
    case Kind::kReturn:
      return Field(cast<Return>(node)->value);
    case Kind::kRaise:
      Field(cast<Raise>(node)->exception);
      return Field(cast<Raise>(node)->cause);
    case Kind::kAssert:
      Field(cast<Assert>(node)->condition);
      return Field(cast<Assert>(node)->message);
    case Kind::kDelete:
      return Nodes(cast<Delete>(node)->targets);
    case Kind::kFunctionDef: {
      const auto* function = cast<FunctionDef>(node);
      Text(function->name);
      Parameters(function->parameters);
      Field(function->returns);
      Nodes(function->body);
      return Nodes(function->decorators);
    }
    case Kind::kClassDef: {
      const auto* definition = cast<ClassDef>(node);
      Text(definition->name);
      Nodes(definition->bases);
      Keywords(definition->keywords);
      Nodes(definition->body);
      return Nodes(definition->decorators);
    }
    default:
      return;
  }
}

}  // namespace

std::string PrintTree(const Node* node, PrintRanges ranges) {
  Printer printer(ranges);
  printer.Print(node);
  return printer.Take();
}

std::string PrintTree(const Tree& tree, PrintRanges ranges) {
  Printer printer(ranges);
  for (const Stmt* statement : tree.body()) {
    printer.Print(statement);
    printer.Line();
  }
  return printer.Take();
}

}  // namespace hearth::tree
