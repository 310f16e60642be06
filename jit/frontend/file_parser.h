// The statement half of the parser: blocks and statements (parser.cpp), functions, classes and their parameters
// (definition_parser.cpp). For the parser's own files only; everyone else uses parser.h.
#pragma once

#include <cstddef>
#include <vector>

#include "jit/frontend/expression_parser.h"
#include "jit/frontend/lexer.h"
#include "jit/frontend/tree.h"
#include "jit/support/source_range.h"

namespace hearth {

class FileParser : public ExpressionParser {
 public:
  FileParser(const Source& source, tree::Arena& arena) : ExpressionParser(source, Lexer(source), arena) {}

  tree::StmtList ParseFile();

 private:
  // Pushes the statements of the next line, or of the next compound statement.
  bool AtAttributeNamedByAKeyword();
  void ParseLine();
  const tree::Stmt* ParseSimple();
  // `: body`, indented or on the same line. `context` is for errors: "after the condition". Returns what stands between
  // the colon and the first statement, which is nothing but comments.
  SourceRange ParseBlock(const char* context, bool is_class = false);
  // ParseBlock's statements as children of `parent`.
  tree::StmtList TakeBlock(size_t mark, tree::Node* parent) { return TakeSince(mark, &statements_, parent); }

  const tree::Stmt* ParseIf();
  const tree::Stmt* ParseFor();
  const tree::Stmt* ParseWhile();
  const tree::Stmt* ParseWith();
  const tree::Stmt* ParseDecorated();
  const tree::Stmt* ParseFunction(size_t decorators_mark);
  const tree::Stmt* ParseClass(size_t decorators_mark);
  void ParseParameters();
  tree::Parameter ParseParameter(tree::ParameterKind kind);
  void ApplyTypeComment(SourceRange comments, tree::FunctionDef* function);
  void RefuseElse(const char* of);
  bool WithItemsAreParenthesized();

  const tree::Stmt* ParseExpressionStatement();
  const tree::Stmt* ParseAnnotated(uint32_t begin, const tree::Expr* target);
  const tree::Stmt* ParseReturn();
  const tree::Stmt* ParseRaise();
  const tree::Stmt* ParseAssert();
  const tree::Stmt* ParseDelete();
  const tree::Stmt* ParseImport();
  // The end of a statement's list of expressions: nothing follows on this line.
  bool AtLineEnd() const { return At(TokenKind::kNewline) || At(TokenKind::kSemicolon) || At(TokenKind::kEnd); }

  std::vector<const tree::Stmt*> statements_;  // a stack of blocks being collected
  std::vector<tree::Parameter> parameters_;
  bool in_class_body_ = false;
};

}  // namespace hearth
