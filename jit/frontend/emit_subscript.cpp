// Indexing and slicing, and assignment to an index.
#include <utility>

#include "jit/frontend/conversions.h"
#include "jit/frontend/emitter.h"
#include "jit/ir/symbols.h"

namespace hearth {

using tree::cast;
using tree::dyn_cast;
using tree::Kind;

namespace {

std::optional<int64_t> ConstantInt(const Value* value) {
  if (value->node()->kind() != sym::kConstant || value->type()->kind() != c10::TypeKind::IntType) return std::nullopt;
  return value->node()->attribute<c10::IValue>(sym::kValueAttr).toInt();
}

}  // namespace

SugaredValue Emitter::EmitSubscript(const tree::Subscript& subscript, const TypePtr& hint) {
  const SourceRange& range = subscript.range;
  Value* value = EmitExpr(*subscript.value);
  if (value->type()->kind() == c10::TypeKind::TensorType) return EmitTensorIndex(value, subscript);
  if (subscript.indices.size() != 1 || subscript.has_comma) {
    Fail(range, "a value of type " + value->type()->annotation_str() + " takes one index");
  }
  const tree::Expr& index = *subscript.indices.front();
  if (const auto* slice = dyn_cast<tree::Slice>(&index)) {
    if (value->type()->kind() == c10::TypeKind::TupleType) return EmitTupleSlice(value, *slice, range);
    Value* lower = slice->lower ? EmitExpr(*slice->lower) : NoneConstant();
    Value* upper = slice->upper ? EmitExpr(*slice->upper) : NoneConstant();
    Value* step = slice->step ? EmitExpr(*slice->step) : IntConstant(1);
    return CallOperator("aten", "slice", {value, lower, upper, step}, range);
  }
  switch (value->type()->kind()) {
    case c10::TypeKind::TupleType:
      return EmitTupleIndex(value, index, range);
    case c10::TypeKind::ClassType: {
      Value* position = EmitExpr(index);
      if (Value* magic = TryMagicMethod("__getitem__", {{value, position}}, range)) return magic;
      if (value->type()->is_module()) return EmitModuleIndex(value, index, hint, range);
      Fail(range, "class " + value->type()->annotation_str() + " has no __getitem__");
    }
    default:
      return CallOperator("aten", "__getitem__", {value, EmitExpr(index)}, range);
  }
}

Value* Emitter::EmitTupleIndex(Value* tuple, const tree::Expr& index, const SourceRange& range) {
  const auto elements = tuple->type()->expectRef<c10::TupleType>().elements();
  const auto count = static_cast<int64_t>(elements.size());
  Value* position = EmitExpr(index);
  if (position->type()->kind() != c10::TypeKind::IntType) {
    Fail(range, "a tuple's index must be an int but is of type " + position->type()->annotation_str());
  }
  const std::optional<int64_t> constant = ConstantInt(position);
  if (!constant) {
    // Fine as long as every element has the same type.
    for (const TypePtr& element : elements) {
      if (*element != *elements.front()) {
        Fail(range, "a tuple of different types needs an index that is known while compiling");
      }
    }
    if (elements.empty()) Fail(range, "an empty tuple cannot be indexed");
    return Insert(sym::kTupleIndex, {tuple, position}, elements.front(), range);
  }
  const int64_t wrapped = *constant < 0 ? *constant + count : *constant;
  if (wrapped < 0 || wrapped >= count) {
    Fail(range,
         "tuple index " + std::to_string(*constant) + " is out of range for a tuple of " + std::to_string(count));
  }
  TypePtr type = elements[static_cast<size_t>(wrapped)];
  return Insert(sym::kTupleIndex, {tuple, IntConstant(wrapped)}, std::move(type), range);
}

Value* Emitter::EmitTupleSlice(Value* tuple, const tree::Slice& slice, const SourceRange& range) {
  const auto elements = tuple->type()->expectRef<c10::TupleType>().elements();
  const auto count = static_cast<int64_t>(elements.size());
  const auto bound = [&](const tree::Expr* expr, int64_t otherwise) {
    if (!expr) return otherwise;
    Value* value = EmitExpr(*expr);
    if (value->type()->kind() == c10::TypeKind::NoneType) return otherwise;
    const std::optional<int64_t> constant = ConstantInt(value);
    if (!constant) Fail(expr->range, "a tuple's slice must be known while compiling");
    return *constant;
  };
  const int64_t step = bound(slice.step, 1);
  if (step == 0) Fail(range, "a slice's step cannot be zero");
  const auto clamp = [&](int64_t at, int64_t low, int64_t high) {
    if (at < 0) at += count;
    return std::min(std::max(at, low), high);
  };
  std::vector<Value*> taken;
  const std::vector<Value*> all = UnpackTuple(tuple, range);
  if (step > 0) {
    const int64_t begin = clamp(bound(slice.lower, 0), 0, count);
    const int64_t end = clamp(bound(slice.upper, count), 0, count);
    for (int64_t i = begin; i < end; i += step) taken.push_back(all[static_cast<size_t>(i)]);
  } else {
    const int64_t begin = slice.lower ? clamp(bound(slice.lower, count - 1), -1, count - 1) : count - 1;
    const int64_t end = slice.upper ? clamp(bound(slice.upper, -1), -1, count - 1) : -1;
    for (int64_t i = begin; i > end; i += step) taken.push_back(all[static_cast<size_t>(i)]);
  }
  std::vector<TypePtr> types;
  for (Value* value : taken) types.push_back(value->type());
  return InsertConstruct(sym::kTupleConstruct, taken, c10::TupleType::create(std::move(types)), range);
}

Emitter::TensorPart Emitter::EmitTensorPart(Value* tensor, const tree::Subscript& subscript) {
  const SourceRange& range = subscript.range;
  // Ints select, slices slice and None inserts an axis, one after the other; what is left are tensors to index by.
  std::vector<tree::Expr const*> indices;
  for (const tree::Expr* index : subscript.indices) {
    if (const auto* tuple = dyn_cast<tree::Tuple>(index)) {
      indices.insert(indices.end(), tuple->elements.begin(), tuple->elements.end());
    } else {
      indices.push_back(index);
    }
  }
  std::vector<Value*> values(indices.size());  // of all but slices and ellipses
  size_t ellipsis = indices.size();
  int64_t consumed_after = 0;  // axes that the indices after an ellipsis consume
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i]->kind == Kind::kEllipsisConstant) {
      if (ellipsis != indices.size()) Fail(range, "an index can have one ellipsis only");
      ellipsis = i;
    } else if (indices[i]->kind != Kind::kSlice) {
      values[i] = EmitExpr(*indices[i]);
    }
  }
  for (size_t i = ellipsis + 1; i < indices.size(); ++i) {
    const bool is_none = values[i] && values[i]->type()->kind() == c10::TypeKind::NoneType;
    if (!is_none) ++consumed_after;
  }
  std::vector<Value*> tensors;  // by axis of the result so far; null where the axis is kept
  bool has_tensor = false;
  Value* result = tensor;
  int64_t axis = 0;
  bool from_end = false;  // past an ellipsis, axes are counted from the back
  const auto place = [&](Value* index) {
    // Tensors after an ellipsis would need the rank, which is unknown here.
    if (from_end && index) Fail(range, "a tensor index after an ellipsis is not supported");
    tensors.push_back(index);
  };
  for (size_t i = 0; i < indices.size(); ++i) {
    if (i == ellipsis) {
      if (ellipsis + 1 == indices.size()) break;
      from_end = true;
      axis = -consumed_after;
      continue;
    }
    if (const auto* slice = dyn_cast<tree::Slice>(indices[i])) {
      if (slice->lower || slice->upper || slice->step) {
        Value* lower = slice->lower ? EmitExpr(*slice->lower) : NoneConstant();
        Value* upper = slice->upper ? EmitExpr(*slice->upper) : NoneConstant();
        Value* step = slice->step ? EmitExpr(*slice->step) : IntConstant(1);
        result = CallOperator("aten", "slice", {result, IntConstant(axis), lower, upper, step}, range);
      }
      place(nullptr);
      ++axis;
      continue;
    }
    Value* index = values[i];
    switch (index->type()->kind()) {
      case c10::TypeKind::IntType:
        // From the back, the axes still to come keep their negative numbers.
        result = CallOperator("aten", "select", {result, IntConstant(axis), index}, range);
        if (from_end) ++axis;
        break;
      case c10::TypeKind::NoneType:
        result = CallOperator("aten", "unsqueeze", {result, IntConstant(from_end ? axis - 1 : axis)}, range);
        place(nullptr);
        if (!from_end) ++axis;
        break;
      case c10::TypeKind::TensorType:
      case c10::TypeKind::OptionalType:
        has_tensor = true;
        place(index);
        ++axis;
        break;
      case c10::TypeKind::ListType:
      case c10::TypeKind::BoolType: {
        const OperatorSet* make = resolver_.operators().Find("aten", "tensor");
        Value* const arguments[] = {index};
        // A list is of positions whatever it holds: bools count as 0 and 1, and do not mask.
        std::vector<NamedArgument> named;
        if (index->type()->kind() == c10::TypeKind::ListType) {
          named.push_back({"dtype", InsertConstant(static_cast<int64_t>(c10::ScalarType::Long), c10::IntType::get())});
        }
        place(AsValue(CallOperator(*make, {arguments, named}, range), range));
        has_tensor = true;
        ++axis;
        break;
      }
      default:
        Fail(indices[i]->range, "a tensor cannot be indexed by a value of type " + index->type()->annotation_str());
    }
  }
  if (!has_tensor) return {result, nullptr};
  const TypePtr element = c10::OptionalType::create(c10::TensorType::get());
  for (Value*& index : tensors) {
    if (!index) index = NoneConstant();
  }
  return {result, InsertConstruct(sym::kListConstruct, tensors, c10::ListType::create(element), range)};
}

Value* Emitter::EmitTensorIndex(Value* tensor, const tree::Subscript& subscript) {
  const TensorPart part = EmitTensorPart(tensor, subscript);
  if (part.indices) return CallOperator("aten", "index", {part.view, part.indices}, subscript.range);
  return part.view == tensor ? CallOperator("aten", "alias", {tensor}, subscript.range) : part.view;
}

Value* Emitter::EmitModuleIndex(Value* container, const tree::Expr& index, const TypePtr& hint,
                                const SourceRange& range) {
  const auto& type = container->type()->expectRef<c10::ClassType>();
  Value* key = EmitExpr(index);
  const bool by_name = key->type()->kind() == c10::TypeKind::StringType;
  std::vector<std::string> names;
  for (size_t i = 0; i < type.numAttributes(); ++i) {
    if (type.getAttribute(i)->is_module()) names.push_back(type.getAttributeName(i));
  }
  const auto child = [&](const std::string& name) { return AsValue(GetValueAttribute(container, name, range), range); };
  if (const std::optional<int64_t> constant = ConstantInt(key)) {
    const auto count = static_cast<int64_t>(names.size());
    const int64_t wrapped = *constant < 0 ? *constant + count : *constant;
    if (wrapped < 0 || wrapped >= count) Fail(range, "the module has no child " + std::to_string(*constant));
    return child(names[static_cast<size_t>(wrapped)]);
  }
  if (!hint || hint->kind() != c10::TypeKind::InterfaceType) {
    Fail(range, "a module's child can be chosen at run time only where an interface type is declared for it");
  }
  const std::function<Value*(size_t)> choose = [&](size_t i) -> Value* {
    if (i == names.size()) {
      const OperatorSet* raise = resolver_.operators().Find("prim", "RaiseException");
      Value* text = by_name ? key : CallOperator("aten", "str", {key}, range);
      Value* before = StringConstant(type.annotation_str() + " does not have a field with name '");
      text = CallOperator("aten", "add", {before, text}, range);
      Value* const message[] = {CallOperator("aten", "add", {text, StringConstant("'")}, range)};
      CallOperator(*raise, {message, {}}, range);
      return Uninitialized(hint, range);
    }
    Value* wanted = by_name ? StringConstant(names[i]) : IntConstant(static_cast<int64_t>(i));
    Value* same = CallOperator("aten", "eq", {key, wanted}, range);
    Value* chosen = EmitChoice(
        same, range,
        [&] {
          Value* module = child(names[i]);
          if (!IsSubtype(module->type(), hint)) {
            Fail(range, "child '" + names[i] + "' does not implement the interface " + hint->annotation_str());
          }
          return Insert(sym::kUncheckedCast, {module}, hint, range);
        },
        [&] { return choose(i + 1); });
    chosen->SetType(hint);
    return chosen;
  };
  return choose(0);
}

Value* Emitter::TensorLike(Value* value, Value* like, const SourceRange& range) {
  if (value->type()->kind() == c10::TypeKind::TensorType) return value;
  const NamedArgument named[] = {{"dtype", CallOperator("prim", "dtype", {like}, range)},
                                 {"device", CallOperator("prim", "device", {like}, range)}};
  Value* const positional[] = {value};
  return AsValue(CallOperator(*resolver_.operators().Find("aten", "tensor"), {positional, named}, range), range);
}

void Emitter::RequireAssignable(const Value& container, const SourceRange& range) const {
  const c10::TypeKind kind = container.type()->kind();
  if (kind != c10::TypeKind::ListType && kind != c10::TypeKind::DictType && kind != c10::TypeKind::ClassType) {
    Fail(range, "the elements of a value of type " + container.type()->annotation_str() + " cannot be assigned to");
  }
}

void Emitter::AssignSubscript(const tree::Subscript& target, Value* value) {
  const SourceRange& range = target.range;
  Value* container = EmitExpr(*target.value);
  if (container->type()->kind() == c10::TypeKind::TensorType) {
    const TensorPart part = EmitTensorPart(container, target);
    value = TensorLike(value, container, range);
    if (part.indices) {
      CallOperator("aten", "index_put_", {part.view, part.indices, value}, range);
    } else {
      CallOperator("aten", "copy_", {part.view, value}, range);
    }
    return;
  }
  RequireAssignable(*container, range);
  if (target.indices.size() != 1 || target.indices.front()->kind == Kind::kSlice) {
    Fail(range, "a slice of a value of type " + container->type()->annotation_str() + " cannot be assigned to");
  }
  Value* index = EmitExpr(*target.indices.front());
  if (TryMagicMethod("__setitem__", {{container, index, value}}, range)) return;
  CallOperator("aten", "_set_item", {container, index, value}, range);
}

}  // namespace hearth
