#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/enum_type.h>
#include <c10/core/Layout.h>
#include <c10/core/QScheme.h>

#include <sstream>
#include <utility>

#include "jit/archive/container_types.h"
#include "jit/archive/pickle_machine.h"

namespace hearth {

PickleItem PickleMachine::Call(const PickleItem& function, Items arguments) {
  PickleItem result;
  switch (function.global) {
    case Global::kRebuildTensorV2:
      result.value = RebuildTensor(arguments, /*has_dtype=*/false);
      return result;
    case Global::kRebuildTensorV3:
      result.value = RebuildTensor(arguments, /*has_dtype=*/true);
      return result;
    case Global::kRebuildQTensor:
      result.value = RebuildQuantized(arguments);
      return result;
    case Global::kRebuildSparseTensor:
      result.value = arguments.size() == 2 ? RebuildSparseOfPython(arguments) : RebuildSparse(arguments);
      return result;
    case Global::kRebuildMetaTensor:
      result.value = RebuildMeta(arguments);
      return result;
    case Global::kRebuildParameter:
    case Global::kRebuildParameterWithState:
      result.value = RebuildParameter(arguments);
      return result;
    case Global::kRebuildFromTypeV2:  // (function, type, its arguments, state); type and state mean nothing here
      if (Argument(arguments, 0).kind != ItemKind::kGlobal || arguments[0].global == Global::kRebuildFromTypeV2) {
        Fail("a tensor is rebuilt by something that is no function");
      }
      return Call(arguments[0], Tuple(arguments, 2));
    case Global::kDevice:
      result.value = c10::Device(std::string(String(arguments, 0)));
      if (arguments.size() > 1) {
        result.value = c10::Device(result.value.toDevice().type(), static_cast<c10::DeviceIndex>(Int(arguments, 1)));
      }
      return result;
    case Global::kSize: {
      result.value = c10::List<int64_t>(Ints(arguments, 0));
      CountAllocation();
      return result;
    }
    case Global::kComplex:
      result.value = c10::complex<double>(Double(arguments, 0), Double(arguments, 1));
      return result;
    case Global::kOrderedDict:
      if (!arguments.empty()) Fail("an OrderedDict is made with arguments");
      CountAllocation();
      result.value = c10::impl::GenericDict(c10::AnyType::get(), c10::AnyType::get());
      return result;
    case Global::kGetLayout: {
      const std::string_view name = String(arguments, 0);
      if (name == "torch.strided") {
        result.value = static_cast<int64_t>(c10::kStrided);
      } else if (name == "torch.sparse_coo") {
        result.value = static_cast<int64_t>(c10::kSparse);
      } else if (name == "torch.sparse_csr") {
        result.value = static_cast<int64_t>(c10::kSparseCsr);
      } else {
        Fail("tensors of layout " + std::string(name) +
             " are not read: only strided, sparse COO and sparse CSR ones are");
      }
      return result;
    }
    case Global::kEncode:
      result.value = DecodeBytes(arguments);
      return result;
    case Global::kBuildIntList:
      return BuildTypedList(arguments, c10::IntType::get());
    case Global::kBuildDoubleList:
      return BuildTypedList(arguments, c10::FloatType::get());
    case Global::kBuildBoolList:
      return BuildTypedList(arguments, c10::BoolType::get());
    case Global::kBuildTensorList:
      return BuildTypedList(arguments, c10::TensorType::get());
    case Global::kRestoreTypeTag:
      return RestoreTag(arguments);
    case Global::kClass:
      result.value = MakeEnum(classes_[static_cast<size_t>(function.value.toInt())], arguments);
      return result;
    case Global::kDtype:
    case Global::kStorageType:
    case Global::kQScheme:
    case Global::kPythonType:
      break;
  }
  Fail("something that is no function is called");
}

// ---------------------------------------------------------------------------------------------------------------------
// Tensors.

// (storage, offset, sizes, strides, requires_grad, hooks[, dtype][, {"conj": bool, "neg": bool}])
at::Tensor PickleMachine::RebuildTensor(Items arguments, bool has_dtype) {
  const StoredStorage& stored = Storage(arguments, 0);
  const std::vector<int64_t> sizes = Ints(arguments, 2);
  const std::vector<int64_t> strides = Ints(arguments, 3);
  const TensorGeometry geometry{Int(arguments, 1), sizes, strides};
  c10::ScalarType dtype = stored.dtype;
  if (has_dtype) {
    if (Argument(arguments, 6).kind != ItemKind::kGlobal || arguments[6].global != Global::kDtype) {
      Fail("a tensor has no dtype");
    }
    dtype = static_cast<c10::ScalarType>(arguments[6].value.toInt());
  }
  at::Tensor tensor = stored.meta ? MakeMetaTensor(dtype, geometry) : MakeTensor(stored.storage, dtype, geometry);
  const size_t flags = has_dtype ? 7 : 6;
  if (arguments.size() > flags) ApplyFlags(&tensor, Value(arguments, flags));
  if (Bool(arguments, 4)) tensor.set_requires_grad(true);
  return tensor;
}

void PickleMachine::ApplyFlags(at::Tensor* tensor, const c10::IValue& flags) {
  if (flags.isNone()) return;
  if (!flags.isGenericDict()) Fail("the flags of a tensor are no dict");
  for (const auto& entry : flags.toGenericDict()) {
    if (!entry.key().isString() || !entry.value().isBool()) Fail("the flags of a tensor are not of names and bools");
    if (entry.key().toStringRef() == "conj") {
      if (entry.value().toBool() && !tensor->is_complex()) Fail("a tensor that is not complex is a conjugate");
      tensor->_set_conj(entry.value().toBool());
    } else if (entry.key().toStringRef() == "neg") {
      tensor->_set_neg(entry.value().toBool());
    } else {
      Fail("a tensor has an unknown flag '" + entry.key().toStringRef() + "'");
    }
  }
}

// (storage, offset, sizes, strides, quantizer, requires_grad, hooks), where the quantizer is (scheme, scale, zero
// point) or (scheme, scales, zero points, axis).
at::Tensor PickleMachine::RebuildQuantized(Items arguments) {
  storages_.Fill();  // its quantizer may look at them
  const StoredStorage& stored = Storage(arguments, 0);
  const std::vector<int64_t> sizes = Ints(arguments, 2);
  const std::vector<int64_t> strides = Ints(arguments, 3);
  const TensorGeometry geometry{Int(arguments, 1), sizes, strides};
  const std::vector<PickleItem> quantizer = Tuple(arguments, 4);
  const PickleItem& scheme_item = Argument(quantizer, 0);
  if (scheme_item.kind != ItemKind::kGlobal || scheme_item.global != Global::kQScheme) {
    Fail("a quantized tensor has no quantization scheme");
  }
  if (stored.meta) return MakeMetaTensor(stored.dtype, geometry);
  const auto scheme = static_cast<c10::QScheme>(scheme_item.value.toInt());
  switch (scheme) {
    case c10::kPerTensorAffine:
      return MakePerTensorQuantized(stored.storage, stored.dtype, geometry, Double(quantizer, 1), Int(quantizer, 2));
    case c10::kPerChannelAffine:
    case c10::kPerChannelAffineFloatQParams:
      return MakePerChannelQuantized(stored.storage, stored.dtype, geometry, scheme, Tensor(quantizer, 1),
                                     Tensor(quantizer, 2), Int(quantizer, 3));
    default:
      Fail("tensors quantized by scheme " + c10::toString(scheme) + " are not read");
  }
}

// (layout, sizes, requires_grad, indices, values, hooks) for COO,
// (layout, sizes, requires_grad, crow_indices, col_indices, values, hooks) for CSR: what TorchScript writes.
at::Tensor PickleMachine::RebuildSparse(Items arguments) {
  storages_.Fill();  // its parts are looked at
  const int64_t layout = Int(arguments, 0);
  const std::vector<int64_t> sizes = Ints(arguments, 1);
  at::Tensor tensor;
  if (layout == static_cast<int64_t>(c10::kSparse)) {
    tensor = MakeSparseCoo(sizes, Tensor(arguments, 3), Tensor(arguments, 4));
  } else if (layout == static_cast<int64_t>(c10::kSparseCsr)) {
    tensor = MakeSparseCsr(sizes, Tensor(arguments, 3), Tensor(arguments, 4), Tensor(arguments, 5));
  } else {
    FailLayout(layout);
  }
  if (Bool(arguments, 2)) tensor.set_requires_grad(true);
  return tensor;
}

// (layout, (indices, values, sizes[, is_coalesced])) or (layout, (crow_indices, col_indices, values, sizes)): what
// torch.save writes.
at::Tensor PickleMachine::RebuildSparseOfPython(Items arguments) {
  storages_.Fill();
  const int64_t layout = Int(arguments, 0);
  const std::vector<PickleItem> parts = Tuple(arguments, 1);
  if (layout == static_cast<int64_t>(c10::kSparse)) {
    at::Tensor tensor = MakeSparseCoo(Ints(parts, 2), Tensor(parts, 0), Tensor(parts, 1));
    return parts.size() > 3 && Bool(parts, 3) ? tensor._coalesced_(true) : tensor;
  }
  if (layout == static_cast<int64_t>(c10::kSparseCsr)) {
    return MakeSparseCsr(Ints(parts, 3), Tensor(parts, 0), Tensor(parts, 1), Tensor(parts, 2));
  }
  FailLayout(layout);
}

void PickleMachine::FailLayout(int64_t layout) const {
  if (layout < 0 || layout >= static_cast<int64_t>(c10::Layout::NumOptions)) {
    Fail("a sparse tensor has layout " + std::to_string(layout) + ", which does not exist");
  }
  std::ostringstream name;
  name << static_cast<c10::Layout>(layout);
  Fail("tensors of layout " + name.str() + " are not read: only strided, sparse COO and sparse CSR ones are");
}

// (dtype, sizes, strides, requires_grad)
at::Tensor PickleMachine::RebuildMeta(Items arguments) {
  const PickleItem& dtype = Argument(arguments, 0);
  const std::vector<int64_t> sizes = Ints(arguments, 1);
  const std::vector<int64_t> strides = Ints(arguments, 2);
  const int64_t number = ToValue(dtype).isInt() ? ToValue(dtype).toInt() : -1;
  if (number < 0 || number >= static_cast<int64_t>(c10::ScalarType::Undefined)) Fail("a tensor has no dtype");
  return MakeMetaTensor(static_cast<c10::ScalarType>(number), {0, sizes, strides});
}

// (tensor, requires_grad, hooks[, state])
at::Tensor PickleMachine::RebuildParameter(Items arguments) {
  at::Tensor tensor = Tensor(arguments, 0);
  const bool requires_grad = Bool(arguments, 1);
  if (requires_grad) tensor.set_requires_grad(true);
  return tensor;
}

// ---------------------------------------------------------------------------------------------------------------------
// Containers, enums, bytes.

// (list or dict, "Dict[str, List[int]]")
PickleItem PickleMachine::RestoreTag(Items arguments) {
  PickleItem result;
  result.value = Value(arguments, 0);
  result.memo = PickleItem::kClosed;
  const std::string tag(String(arguments, 1));
  c10::TypePtr& type = tags_[tag];
  if (!type) {
    type = delegate_.ResolveType(tag);
    if (!type) Fail("the type '" + tag + "' is not known");
  }
  RestoreType(result.value, type);
  return result;
}

PickleItem PickleMachine::BuildTypedList(Items arguments, const c10::TypePtr& type) {
  PickleItem result;
  result.value = Value(arguments, 0);
  result.memo = PickleItem::kClosed;
  RestoreType(result.value, c10::ListType::create(type));
  return result;
}

c10::IValue PickleMachine::MakeEnum(const c10::TypePtr& type, Items arguments) {
  const auto enumeration = type->cast<c10::EnumType>();
  if (!enumeration) Fail("the class " + type->annotation_str() + " is called");
  const c10::IValue value = Value(arguments, 0);
  for (const auto& [name, member] : enumeration->enumNamesValues()) {
    if (member.tagKind() == value.tagKind() && member == value) {
      CountAllocation();
      return c10::IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(enumeration, name, member));
    }
  }
  Fail("the enum " + type->annotation_str() + " has no member of that value");
}

// Python's bytes are pickled as text of code points below 256, to be encoded as Latin-1.
c10::IValue PickleMachine::DecodeBytes(Items arguments) {
  const std::string_view text = String(arguments, 0);
  if (String(arguments, 1) != "latin1") Fail("bytes are encoded by something else than latin1");
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      bytes += text[i];
    } else if ((first & 0xFC) == 0xC0 && i + 1 < text.size()) {
      bytes += static_cast<char>((first & 3) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3F));
    } else {
      Fail("bytes hold a character that is not of Latin-1");
    }
  }
  CountAllocation();
  return bytes;
}

// ---------------------------------------------------------------------------------------------------------------------
// Arguments.

const PickleItem& PickleMachine::Argument(Items arguments, size_t index) {
  if (index >= arguments.size()) Fail("a function is called with too few arguments");
  return arguments[index];
}

c10::IValue PickleMachine::Value(Items arguments, size_t index) { return ToValue(Argument(arguments, index)); }

int64_t PickleMachine::Int(Items arguments, size_t index) {
  const PickleItem& item = Argument(arguments, index);
  if (item.kind != ItemKind::kValue || !item.value.isInt()) Fail("an argument is not the integer that it should be");
  return item.value.toInt();
}

bool PickleMachine::Bool(Items arguments, size_t index) {
  const PickleItem& item = Argument(arguments, index);
  if (item.kind != ItemKind::kValue || !item.value.isBool()) Fail("an argument is not the bool that it should be");
  return item.value.toBool();
}

double PickleMachine::Double(Items arguments, size_t index) {
  const PickleItem& item = Argument(arguments, index);
  if (item.kind != ItemKind::kValue || !item.value.isDouble()) Fail("an argument is not the float that it should be");
  return item.value.toDouble();
}

std::string_view PickleMachine::String(Items arguments, size_t index) {
  const PickleItem& item = Argument(arguments, index);
  if (item.kind != ItemKind::kValue || !item.value.isString()) Fail("an argument is not the string that it should be");
  return item.value.toStringRef();
}

at::Tensor PickleMachine::Tensor(Items arguments, size_t index) {
  const PickleItem& item = Argument(arguments, index);
  if (item.kind != ItemKind::kValue || !item.value.isTensor()) Fail("an argument is not the tensor that it should be");
  return item.value.toTensor();
}

std::vector<int64_t> PickleMachine::Ints(Items arguments, size_t index) {
  const c10::IValue value = Value(arguments, index);
  std::vector<int64_t> numbers;
  const auto add = [&](c10::ArrayRef<c10::IValue> elements) {
    numbers.reserve(elements.size());
    for (const c10::IValue& element : elements) {
      if (!element.isInt()) Fail("an argument is not the integers that it should be");
      numbers.push_back(element.toInt());
    }
  };
  if (value.isTuple()) {
    add(value.toTupleRef().elements());
  } else if (value.isList()) {
    add(value.toListRef());
  } else {
    Fail("an argument is not the integers that it should be");
  }
  return numbers;
}

const PickleMachine::StoredStorage& PickleMachine::Storage(Items arguments, size_t index) {
  const PickleItem& item = Argument(arguments, index);
  if (item.kind != ItemKind::kStorage) Fail("an argument is not the storage that it should be");
  return stored_[static_cast<size_t>(item.value.toInt())];
}

std::vector<PickleItem> PickleMachine::Tuple(Items arguments, size_t index) {
  const PickleItem& item = Argument(arguments, index);
  if (item.kind == ItemKind::kArguments) return arguments_[static_cast<size_t>(item.value.toInt())].items;
  if (item.kind != ItemKind::kValue || !item.value.isTuple()) Fail("an argument is not the tuple that it should be");
  std::vector<PickleItem> items;
  for (const c10::IValue& element : item.value.toTupleRef().elements()) items.emplace_back().value = element;
  return items;
}

}  // namespace hearth
