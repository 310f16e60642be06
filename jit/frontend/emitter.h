// Compiles one function's syntax to its Graph: SSA with structured control flow.
//
// Names are looked up in an Environment whose scopes follow the blocks; assignments inside of a branch or a loop become
// outputs of the prim::If or prim::Loop when its scope is left. Nothing is emitted twice and nothing is emitted that a
// later overload would throw away. Literals and defaults are pooled at the function's top, one node each.
//
// One Emitter a function, one thread. Errors are CompileErrors at the expression that is wrong. The shape (sugared
// values, environments, schema matching) is that of TorchScript's own compiler; the SSA form is made directly instead
// of through loads and stores.
//
// The class is implemented over several files by concern: emitter.cpp (functions, constants, values),
// emit_statement.cpp, emit_mutation.cpp, emit_control_flow.cpp, emit_refinement.cpp, emit_exit.cpp,
// emit_expression.cpp, emit_call.cpp, emit_attribute.cpp, emit_subscript.cpp, emit_special_form.cpp,
// emit_iteration.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jit/frontend/environment.h"
#include "jit/frontend/resolver.h"
#include "jit/frontend/schema_matching.h"
#include "jit/frontend/sugared_value.h"
#include "jit/frontend/tree.h"
#include "jit/frontend/tree_walk.h"
#include "jit/ir/graph.h"

namespace hearth {

class Emitter final : private ArgumentContext {
 public:
  // `graph` is empty and stays with the caller.
  Emitter(Resolver& resolver, Graph& graph) : resolver_(resolver), graph_(graph) {}

  // The body of `definition`, whose arguments are those of `schema`. A schema without returns has its type inferred;
  // the result is the function's return type.
  TypePtr EmitFunction(const tree::FunctionDef& definition, const c10::FunctionSchema& schema);
  // The type that the body's returns have together; the graph is left for nothing.
  TypePtr InferReturnType(const tree::FunctionDef& definition, const c10::FunctionSchema& schema);

 private:
  // --- emitter.cpp: values and constants.
  void Begin(const tree::FunctionDef& definition, const c10::FunctionSchema& schema);
  Value* IntConstant(int64_t value);
  Value* BoolConstant(bool value);
  Value* FloatConstant(double value);
  Value* NoneConstant();
  Value* StringConstant(std::string_view value);
  Value* InsertConstant(c10::IValue value, TypePtr type);
  Value* Uninitialized(const TypePtr& type, const SourceRange& range);
  Node* InsertNode(Symbol kind, std::span<Value* const> inputs, size_t num_outputs, const SourceRange& range);
  Value* Insert(Symbol kind, std::initializer_list<Value*> inputs, TypePtr type, const SourceRange& range);
  Value* InsertConstruct(Symbol kind, std::span<Value* const> inputs, TypePtr type, const SourceRange& range);
  // The value as one SSA value; packs several results. Fails for what is not a value.
  Value* AsValue(const SugaredValue& value, const SourceRange& range);
  // The value converted as an assignment to that type converts it; fails with `what` if it does not fit.
  Value* ConvertTo(Value* value, const TypePtr& type, const SourceRange& range, const char* what);
  std::vector<Value*> UnpackTuple(Value* tuple, const SourceRange& range);

  // ArgumentContext:
  bool IsEmptyListLiteral(const Value* value) const override;
  Value* DefaultConstant(const c10::IValue& default_value, const TypePtr& type) override;

  // --- emit_statement.cpp
  void EmitStatements(tree::StmtList statements);
  // Turns what LibTorch refuses (a dict's keys of a wrong type, say) into an error at the statement.
  void EmitStatement(const tree::Stmt& statement);
  void EmitOne(const tree::Stmt& statement);
  void EmitAssign(const tree::Assign& assign);
  void EmitAnnAssign(const tree::AnnAssign& assign);
  void EmitAugAssign(const tree::AugAssign& assign);
  void AssignTo(const tree::Expr& target, const SugaredValue& value, const SourceRange& range);
  void Unpack(tree::ExprList targets, const SugaredValue& value, const SourceRange& range);
  void SetVariable(std::string_view name, SugaredValue value, const SourceRange& range, TypePtr declared = nullptr);
  void EmitRaise(const tree::Raise& raise);
  void EmitAssert(const tree::Assert& statement);
  void EmitDelete(const tree::Delete& statement);

  // --- emit_control_flow.cpp
  struct Branch {
    Block* block;
    std::vector<Environment::Change> changes;
    std::vector<Environment::Change> refinements;  // of names that it does not change
    Exits exits;
    // Whether its end is never reached, and nothing after it by way of flags either: it raises.
    bool unreachable() const { return exits.always && !exits.may_exit(); }
  };
  using Body = std::function<void()>;
  // Emits `body` at the end of the block in a scope of its own.
  Branch EmitBranch(Block* block, const Body& body);
  // Makes outputs of `node` for what the branches assigned.
  void Join(Node* node, Branch& then, Branch& otherwise, const SourceRange& range);
  void EmitIf(const tree::If& statement, tree::StmtList rest);
  void EmitIfElse(Value* condition, const SourceRange& range, const Body& then, const Exits& then_exits,
                  const Body& otherwise, const Exits& otherwise_exits);
  // A value of two that are computed on demand, of one type.
  Value* EmitChoice(Value* condition, const SourceRange& range, const std::function<Value*()>& then,
                    const std::function<Value*()>& otherwise);
  void EmitWhile(const tree::While& statement);
  void EmitFor(const tree::For& statement);
  // A loop of at most `max_trip` rounds over `statements`. `condition`, if given, says before each round whether to go
  // on; `bind` gets the round's number before the statements run.
  void EmitLoop(Value* max_trip, const std::function<Value*()>& condition, std::vector<std::string_view> assigned,
                tree::StmtList statements, const SourceRange& range, const std::function<void(Value*)>& bind);
  // The same for any body; names in `assigned` are carried.
  void EmitPlainLoop(Value* max_trip, Value* start, const std::vector<std::string_view>& assigned,
                     const SourceRange& range, const std::function<Value*(Value*)>& body);
  void EmitWith(const tree::With& statement, size_t item);
  Value* EmitCondition(const tree::Expr& condition);
  Value* ToBool(Value* value, const SourceRange& range);
  SugaredValue EmitClosure(const tree::FunctionDef& definition, Symbol kind, const SourceRange& range);

  // --- emit_refinement.cpp
  // The condition's value where types alone decide it.
  std::optional<bool> DecideCondition(const tree::Expr& condition);
  // Narrows the types of variables as is right where the condition came out that way.
  void Refine(const tree::Expr& condition, bool outcome);
  void RefineVariable(const tree::Name& name, const TypePtr& from, const TypePtr& to);
  // The type of a name or an attribute without emitting it, or null.
  TypePtr TypeOf(const tree::Expr& expr);

  // --- emit_exit.cpp: return, break and continue in the middle, lowered to flags.
  void EmitReturn(const tree::Return& statement);
  void MergeReturned(const TypePtr& type, const SourceRange& range);
  void EmitLoopExit(bool is_break, const SourceRange& range);
  // Emits what follows a statement that may have left.
  void EmitGuarded(tree::StmtList rest, const SourceRange& range);
  void EmitGuarded(const Body& rest, const Exits& exits, const SourceRange& range);
  void DeclareExits(tree::StmtList body, const SourceRange& range);

  // --- emit_expression.cpp
  Value* EmitExpr(const tree::Expr& expr, const TypePtr& hint = nullptr);
  SugaredValue EmitSugared(const tree::Expr& expr, const TypePtr& hint = nullptr);
  SugaredValue EmitName(const tree::Name& name);
  Value* EmitList(const tree::List& list, const TypePtr& hint);
  Value* EmitTuple(const tree::Tuple& tuple, const TypePtr& hint);
  Value* EmitDict(const tree::Dict& dict, const TypePtr& hint);
  Value* EmitUnary(const tree::UnaryOp& op);
  Value* EmitBinary(const tree::BinOp& op);
  Value* EmitBinary(tree::BinaryOperator op, Value* left, Value* right, const SourceRange& range);
  Value* EmitBool(const tree::BoolOp& op, size_t first);
  Value* EmitCompare(const tree::Compare& compare);
  Value* EmitComparison(tree::CompareOperator op, Value* left, Value* right, const SourceRange& range);
  Value* EmitFString(const tree::JoinedStr& string);
  std::vector<Value*> EmitElements(tree::ExprList elements, const TypePtr& element_hint);
  // The type that all elements of a container literal share.
  TypePtr ElementType(std::span<Value* const> elements, const TypePtr& hint, const char* what,
                      const SourceRange& range);

  // --- emit_call.cpp
  SugaredValue EmitCall(const tree::Call& call, const TypePtr& hint);
  SugaredValue EmitCallTo(const SugaredValue& callee, const tree::Call& call, const TypePtr& hint);
  struct EvaluatedArguments {
    std::vector<Value*> positional;
    std::vector<NamedArgument> named;
  };
  EvaluatedArguments EvaluateArguments(const tree::Call& call, Value* first = nullptr);
  SugaredValue CallOperator(const OperatorSet& set, const CallArguments& arguments, const SourceRange& range);
  // An operator with a single result.
  Value* CallOperator(std::string_view space, std::string_view name, std::initializer_list<Value*> arguments,
                      const SourceRange& range);
  // A device given by a literal name is a constant.
  Value* TryDeviceConstant(const OperatorSet& set, std::span<Value* const> inputs);
  Value* CallFunction(Function& function, const CallArguments& arguments, const SourceRange& range);
  // `arguments` has the object first.
  Value* CallMethod(const c10::FunctionSchema& schema, torch::jit::Function* function, const CallArguments& arguments,
                    const SourceRange& range);
  // The object's magic method, if it is of a class that has it.
  Value* TryMagicMethod(std::string_view name, std::span<Value* const> arguments, const SourceRange& range);
  Value* Construct(const c10::NamedTypePtr& type, const tree::Call& call);
  [[noreturn]] void FailUnknownOperator(const OperatorSet& set, const SourceRange& range);
  [[noreturn]] void FailNoMatch(const OperatorSet& set, const CallArguments& arguments, const SourceRange& range);

  // --- emit_attribute.cpp
  SugaredValue EmitAttribute(const tree::Attribute& attribute);
  SugaredValue GetAttribute(const SugaredValue& base, std::string_view name, const SourceRange& range);
  SugaredValue GetValueAttribute(Value* value, std::string_view name, const SourceRange& range);
  std::optional<SugaredValue> FindValueAttribute(Value* value, std::string_view name, const SourceRange& range);
  Value* EnumValue(Value* value, const SourceRange& range);
  SugaredValue GetTypeAttribute(const c10::NamedTypePtr& type, std::string_view name, const SourceRange& range);
  // `declared` is the type that the assignment names, or null.
  void SetAttribute(Value* object, std::string_view name, Value* value, const SourceRange& range,
                    const TypePtr& declared = nullptr);
  void AddAttribute(const std::string& name, const TypePtr& type, const SourceRange& range);

  // --- emit_subscript.cpp
  SugaredValue EmitSubscript(const tree::Subscript& subscript, const TypePtr& hint);
  void AssignSubscript(const tree::Subscript& target, Value* value);
  // The value, made a tensor of the dtype and device of `like` if it is none.
  Value* TensorLike(Value* value, Value* like, const SourceRange& range);
  Value* EmitTupleIndex(Value* tuple, const tree::Expr& index, const SourceRange& range);
  Value* EmitTupleSlice(Value* tuple, const tree::Slice& slice, const SourceRange& range);
  // What an index says of a tensor: a view of it, and tensors to index the view by (null if there are none).
  struct TensorPart {
    Value* view;
    Value* indices;
  };
  TensorPart EmitTensorPart(Value* tensor, const tree::Subscript& subscript);
  Value* EmitTensorIndex(Value* tensor, const tree::Subscript& subscript);
  void RequireAssignable(const Value& container, const SourceRange& range) const;
  Value* EmitModuleIndex(Value* container, const tree::Expr& index, const TypePtr& hint, const SourceRange& range);

  // --- emit_special_form.cpp
  SugaredValue EmitSpecialForm(const SpecialFormValue& form, const tree::Call& call, const TypePtr& hint);
  Value* EmitCast(SpecialForm form, const tree::Call& call);
  Value* EmitAnnotate(const tree::Call& call);
  Value* EmitIsInstance(const tree::Call& call);
  SugaredValue EmitGetAttr(const tree::Call& call);
  SugaredValue EmitFork(const tree::Call& call, Symbol kind);
  void GatherTypes(const tree::Expr& expr, std::vector<TypePtr>* types);
  // Whether values of type `type` are surely, never or perhaps instances of one of `classes`.
  static std::optional<bool> DecideInstance(const TypePtr& type, std::span<const TypePtr> classes);

  // --- emit_iteration.cpp
  // What a for statement walks over: its length and its element at a position.
  struct Iterable {
    Value* length = nullptr;                        // null: known only at compile time
    std::optional<size_t> static_length;            // unrolled
    std::function<SugaredValue(Value*)> at;         // by a position at run time
    std::function<SugaredValue(size_t)> at_static;  // by a position known now
  };
  // A loop of a known number of rounds, from that one on.
  void EmitUnrolled(const tree::For& statement, const Iterable& iterable, const Exits& exits, size_t round);
  Iterable MakeIterable(const tree::Expr& expr);
  Iterable MakeIterable(const SugaredValue& value, const SourceRange& range);
  Value* EmitListComprehension(const tree::ListComp& comprehension, const TypePtr& hint);
  Value* EmitDictComprehension(const tree::DictComp& comprehension, const TypePtr& hint);
  void EmitGenerators(std::span<const tree::Generator> generators, const SourceRange& range, const Body& innermost);

  // Literals and defaults at the top of a function's or closure's body.
  struct ConstantPool {
    explicit ConstantPool(Block* top) : last(top->param_node()) {}
    Node* last;  // constants go after it
    std::unordered_map<int64_t, Value*> ints;
    std::unordered_map<uint64_t, Value*> floats;  // by bits
    std::unordered_map<std::string_view, Value*> strings;
    std::unordered_map<const c10::IValue*, Value*> by_identity;  // defaults and the archive's constants
    Value* bools[2] = {nullptr, nullptr};
    Value* none = nullptr;
  };
  Value* InsertPooled(c10::IValue value, TypePtr type);

  // How the code that is being emitted may be left.
  struct LoopExits {
    std::string_view exited;  // names of flag variables; empty if the loop is never left so
    std::string_view broke;
    const Block* body = nullptr;       // of the loop
    bool continues_in_branch = false;  // somewhere below that
  };

  Resolver& resolver_;
  Graph& graph_;
  Environment environment_;
  std::vector<ConstantPool> pools_;
  std::vector<const Value*> empty_lists_;
  Match match_;  // reused between calls

  TypePtr return_type_;         // null while it is to be inferred
  Value* result_ = nullptr;     // of a return at the very end
  bool early_returns_ = false;  // the flags below are in use
  bool infers_ = false;         // only for the type of what is returned, inferred_
  TypePtr inferred_;
  c10::ClassTypePtr initialized_;  // of an __init__ that people wrote: what it assigns becomes an attribute
  std::vector<LoopExits> loops_;   // innermost last
  size_t num_loops_ = 0;
  std::vector<std::unique_ptr<std::string>> made_names_;  // of flags
};

}  // namespace hearth
