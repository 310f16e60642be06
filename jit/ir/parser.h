// Text → Graph: reads what jit/ir/printer.h writes. `#` and `//` begin a comment; line breaks and indentation carry no
// meaning.
//
// An operator is found by its exact name and overload ("aten::add.Tensor"). Without an overload ("aten::add") the one
// that has none is taken if it fits the inputs' types, otherwise the first of the registry's order that does.
// Everything that does not read is a CompileError with line and caret. The result is well formed as a data structure
// (every value is defined before its use, in a block around it); whether inputs fit schemas is jit/ir/verifier.h's
// question.
//
// Nodes' source ranges point into the text, which the Graph keeps alive; the caller keeps it for a CompileError's sake.
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jit/ir/graph.h"
#include "jit/ir/type_parser.h"
#include "jit/support/source_range.h"

namespace hearth {

struct ParseOptions {
  // The classes that types may name; without it none may.
  ClassResolver resolve_class;
  // The function of a qualified name (prim::CallFunction[function=@name]); null if there is none.
  std::function<torch::jit::Function*(const std::string& qualified_name)> resolve_function;
  // What "<... #k>" stands for; without it such a constant is an error.
  const std::vector<c10::IValue>* constants = nullptr;
};

std::unique_ptr<Graph> ParseGraph(std::shared_ptr<const Source> source, const ParseOptions& options = {});
std::unique_ptr<Graph> ParseGraph(std::string text, const ParseOptions& options = {});

// Reads pieces of IR text one after the other, for files that hold more than one Graph. Every Read* throws CompileError
// if its piece does not come next.
class IrReader {
 public:
  IrReader(std::shared_ptr<const Source> source, const ParseOptions& options);

  bool AtEnd();
  // What comes next, up to the end of the text.
  std::string_view Peek();
  // Consumes `word` if it comes next and is not the beginning of a longer word.
  bool TryWord(std::string_view word);
  // Consumes a punctuation mark if it comes next.
  bool TryMark(std::string_view mark);
  void ReadMark(std::string_view mark);
  // A name with dots: __torch__.Foo.forward.
  std::string ReadName();
  // A type, up to a character of `stops` outside of brackets or the end of the line.
  TypePtr ReadType(std::string_view stops);
  // A constant's literal; its numbers and empty containers take their type from `type` (null: guess).
  c10::IValue ReadLiteral(const TypePtr& type);
  // "graph(...): ... return (...)".
  std::unique_ptr<Graph> ReadGraph();

  SourceRange here();
  [[noreturn]] void Fail(const std::string& message);

 private:
  friend class GraphReader;
  void SkipSpace();
  [[noreturn]] void FailAt(size_t begin, size_t end, const std::string& message) const;
  c10::IValue ReadLiteral(const TypePtr& type, int depth);
  c10::IValue ReadNumber(const TypePtr& type);
  c10::IValue ReadList(const TypePtr& type, int depth);
  c10::IValue ReadTuple(const TypePtr& type, int depth);
  c10::IValue ReadDict(const TypePtr& type, int depth);
  c10::IValue ReadPlaceholder();
  double ReadDouble();
  int64_t ReadInt();
  std::string ReadString();

  std::shared_ptr<const Source> source_;
  const ParseOptions& options_;
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace hearth
