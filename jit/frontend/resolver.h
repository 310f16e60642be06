// What the emitter asks of the archive that it compiles for: what a qualified name means, what a type annotation
// means, and the archive's constants. For archives an ArchiveResolver, for files that people write a WrittenResolver.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <string>
#include <string_view>
#include <vector>

#include "jit/frontend/errors.h"
#include "jit/frontend/operator_table.h"
#include "jit/frontend/python_names.h"
#include "jit/frontend/sugared_value.h"
#include "jit/frontend/tree.h"
#include "jit/module/compilation_unit.h"

namespace hearth {

// How deeply code is being compiled: functions that wait for functions that they call, blocks within blocks. Bounded,
// so that no code overflows the stack.
class CompileDepth {
 public:
  // For a scope. Throws CompileError at `range` where the bound is exceeded.
  CompileDepth(int& depth, const SourceRange& range) : depth_(depth) {
    if (depth_ >= kMax) Fail(range, "the code nests too deeply here");
    ++depth_;
  }
  ~CompileDepth() { --depth_; }
  CompileDepth(const CompileDepth&) = delete;
  CompileDepth& operator=(const CompileDepth&) = delete;

 private:
  static constexpr int kMax = 1000;
  int& depth_;
};

class Resolver {
 public:
  virtual ~Resolver() = default;

  // The type that an annotation means. Throws CompileError.
  virtual TypePtr ResolveType(const tree::Expr& annotation) = 0;
  // The function or type of that name, or Unbound if it is only a prefix of names.
  virtual SugaredValue ResolveQualified(std::string_view qualified_name) = 0;
  // What a name means that no variable has taken, beside the builtins; Unbound if nothing.
  virtual SugaredValue ResolveGlobal(std::string_view) { return Unbound{}; }
  // What stands behind a dot after a NamespaceValue of kind kPython.
  virtual PythonMember ResolveMember(std::string_view, std::string_view) { return {}; }
  // Whether people wrote the code; else torch.jit.save printed it.
  virtual bool written() const { return false; }
  virtual const std::vector<c10::IValue>& constants() const = 0;
  virtual OperatorTable& operators() = 0;
  virtual CompilationUnit& unit() = 0;

  int& compile_depth() { return compile_depth_; }
  // Whether what is emitted now are calls of the archive's own age. LibTorch upgrades old calls in the bodies of
  // methods alone: in free functions, hooks and closures they mean what they mean today, whatever the archive's
  // version.
  bool& upgrades() { return upgrades_; }

 private:
  int compile_depth_ = 0;
  bool upgrades_ = false;
};

}  // namespace hearth
