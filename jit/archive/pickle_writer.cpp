#include "jit/archive/pickle_writer.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/empty.h>
#include <ATen/quantized/Quantizer.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/Layout.h>

#include <bit>
#include <limits>
#include <utility>

#include "jit/support/errors.h"

namespace hearth {
namespace {

constexpr int kDeepestWritten = 1000;

// Whether torch has a class torch.<T>Storage for these elements; newer types are written as bytes with a dtype beside.
bool HasStorageClass(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::kByte:
    case c10::kChar:
    case c10::kShort:
    case c10::kInt:
    case c10::kLong:
    case c10::kHalf:
    case c10::kFloat:
    case c10::kDouble:
    case c10::kComplexFloat:
    case c10::kComplexDouble:
    case c10::kBool:
    case c10::kBFloat16:
    case c10::kQInt8:
    case c10::kQUInt8:
    case c10::kQInt32:
    case c10::kQUInt4x2:
    case c10::kQUInt2x4:
      return true;
    default:
      return false;
  }
}

// The length of the UTF-8 character that `text` begins with; 0 if it begins with none.
size_t CharacterSize(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  const auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first < 0xF0) {
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    return continues(1) && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first < 0xF5) {
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) >= 0x90) return 0;
    return continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

c10::Storage OnCpu(const c10::Storage& storage) {
  if (storage.device().is_cpu()) return storage;
  const c10::DispatchKey key = c10::computeDispatchKey(c10::kByte, c10::kStrided, storage.device());
  at::Tensor bytes = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(storage), c10::DispatchKeySet(key),
                                                              c10::scalarTypeToTypeMeta(c10::kByte));
  const int64_t size = static_cast<int64_t>(storage.nbytes());
  const int64_t stride = 1;
  bytes.unsafeGetTensorImpl()->set_sizes_and_strides({&size, 1}, {&stride, 1});
  return bytes.to(c10::kCPU).storage();
}

}  // namespace

void PickleWriter::Write(const c10::IValue& value) {
  bytes_ += "\x80\x02";
  WriteValue(value, 0);
  WriteOpcode('.');
}

void PickleWriter::WriteValue(const c10::IValue& value, int depth) {
  if (depth > kDeepestWritten) throw ArchiveError("the value is nested too deeply to be written");
  if (value.isNone()) {
    WriteOpcode('N');
  } else if (value.isTensor()) {
    WriteTensor(value.toTensor());
  } else if (value.isInt()) {
    WriteInt(value.toInt());
  } else if (value.isDouble()) {
    WriteDouble(value.toDouble());
  } else if (value.isBool()) {
    WriteBool(value.toBool());
  } else if (value.isString()) {
    WriteString(value.toStringRef());
  } else if (value.isComplexDouble()) {
    const c10::complex<double> number = value.toComplexDouble();
    WriteGlobal("__builtin__", "complex");
    WriteDouble(number.real());
    WriteDouble(number.imag());
    bytes_ += "\x86R";
  } else if (value.isDevice()) {
    WriteGlobal("torch", "device");
    WriteText(value.toDevice().str());
    bytes_ += "\x85R";
  } else if (value.isList()) {
    WriteList(value, depth);
  } else if (value.isGenericDict()) {
    WriteDict(value, depth);
  } else if (value.isTuple()) {
    WriteTuple(value.toTupleRef().elements().asArrayRef(), depth);
  } else if (value.isEnum()) {
    WriteValue(value.toEnumHolder()->value(), depth + 1);
  } else if (value.isObject()) {
    WriteObject(value, depth);
  } else {
    throw ArchiveError("a " + value.tagKind() + " cannot be written to a file");
  }
}

void PickleWriter::WriteList(const c10::IValue& value, int depth) {
  const void* identity = value.internalToPointer();
  if (WroteBefore(identity)) return;
  alive_.push_back(value);
  WriteOpcode(']');
  PutInMemo(identity);
  const auto elements = value.toListRef();
  if (elements.empty()) return;
  WriteOpcode('(');
  for (const c10::IValue& element : elements) WriteValue(element, depth + 1);
  WriteOpcode('e');
}

void PickleWriter::WriteDict(const c10::IValue& value, int depth) {
  const void* identity = value.internalToPointer();
  if (WroteBefore(identity)) return;
  alive_.push_back(value);
  WriteOpcode('}');
  PutInMemo(identity);
  const c10::impl::GenericDict dict = value.toGenericDict();
  if (dict.empty()) return;
  WriteOpcode('(');
  for (const auto& entry : dict) {
    WriteValue(entry.key(), depth + 1);
    WriteValue(entry.value(), depth + 1);
  }
  WriteOpcode('u');
}

void PickleWriter::WriteTuple(c10::ArrayRef<c10::IValue> elements, int depth) {
  if (elements.empty()) return WriteOpcode(')');
  if (elements.size() > 3) WriteOpcode('(');
  for (const c10::IValue& element : elements) WriteValue(element, depth + 1);
  WriteOpcode(elements.size() > 3 ? 't' : static_cast<char>(0x84 + elements.size()));
}

void PickleWriter::WriteObject(const c10::IValue& value, int depth) {
  const auto& object = value.toObjectRef();
  if (WroteBefore(&object)) return;
  const c10::ClassTypePtr type = object.type();
  alive_.push_back(value);
  WriteOpcode('}');
  PutInMemo(&object);
  if (type->numAttributes() == 0) return;
  WriteOpcode('(');
  for (size_t i = 0; i < type->numAttributes(); ++i) {
    WriteString(type->getAttributeName(i));
    WriteValue(object.getSlot(i), depth + 1);
  }
  WriteOpcode('u');
}

// ---------------------------------------------------------------------------------------------------------------------
// Tensors.

void PickleWriter::WriteTensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return WriteOpcode('N');
  if (WroteBefore(tensor.unsafeGetTensorImpl())) return;
  alive_.emplace_back(tensor);
  if (tensor.layout() == c10::kSparse || tensor.layout() == c10::kSparseCsr) {
    WriteSparse(tensor);
  } else if (tensor.layout() != c10::kStrided) {
    WriteStrided(tensor.to_dense());
  } else if (tensor.is_meta()) {
    WriteMeta(tensor);
  } else if (tensor.is_quantized()) {
    WriteQuantized(tensor);
  } else if (tensor._is_zerotensor()) {
    WriteStrided(tensor.clone());
  } else {
    WriteStrided(tensor);
  }
  PutInMemo(tensor.unsafeGetTensorImpl());
}

void PickleWriter::WriteStrided(const at::Tensor& tensor) {
  // Readers take a typed storage to be of one dtype: a view of it as another (the parts of a complex tensor) is written
  // as a view of its bytes.
  const auto first =
      tensor.has_storage() ? first_uses_.find(tensor.storage().unsafeGetStorageImpl()) : first_uses_.end();
  const bool typed = HasStorageClass(tensor.scalar_type()) &&
                     (first == first_uses_.end() || first->second.dtype == tensor.scalar_type());
  WriteGlobal("torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
  WriteOpcode('(');
  WriteStorage(tensor, !typed);
  WriteInt(tensor.storage_offset());
  WriteInts(tensor.sizes());
  WriteInts(tensor.strides());
  WriteBool(tensor.requires_grad());
  WriteEmptyHooks();
  if (!typed) WriteGlobal("torch", c10::getDtypeNames(tensor.scalar_type()).first);
  WriteFlags(tensor);
  bytes_ += "tR";
}

// {"conj": True, "neg": True}: operations that a tensor's readers apply.
void PickleWriter::WriteFlags(const at::Tensor& tensor) {
  if (!tensor.is_conj() && !tensor.is_neg()) return;
  bytes_ += "}(";
  if (tensor.is_conj()) {
    WriteText("conj");
    WriteBool(true);
  }
  if (tensor.is_neg()) {
    WriteText("neg");
    WriteBool(true);
  }
  WriteOpcode('u');
}

void PickleWriter::WriteQuantized(const at::Tensor& tensor) {
  if (dynamic_cast<const at::UnknownQuantizer*>(tensor.quantizer().get()) != nullptr) {
    throw ArchiveError("a tensor of dtype " + c10::getDtypeNames(tensor.scalar_type()).first +
                       " that nothing was quantized into, and which has no scale, cannot be written to a file");
  }
  const c10::QScheme scheme = tensor.qscheme();
  const bool per_tensor = scheme == c10::kPerTensorAffine;
  if (!per_tensor && scheme != c10::kPerChannelAffine && scheme != c10::kPerChannelAffineFloatQParams) {
    throw ArchiveError("a tensor quantized by scheme " + c10::toString(scheme) + " cannot be written to a file");
  }
  WriteGlobal("torch._utils", "_rebuild_qtensor");
  WriteOpcode('(');
  WriteStorage(tensor, false);
  WriteInt(tensor.storage_offset());
  WriteInts(tensor.sizes());
  WriteInts(tensor.strides());
  WriteOpcode('(');
  if (per_tensor) {
    WriteGlobal("torch", "per_tensor_affine");
    WriteDouble(tensor.q_scale());
    WriteInt(tensor.q_zero_point());
  } else {
    WriteGlobal("torch", scheme == c10::kPerChannelAffine ? "per_channel_affine" : "per_channel_affine_float_qparams");
    WriteTensor(tensor.q_per_channel_scales());
    WriteTensor(tensor.q_per_channel_zero_points());
    WriteInt(tensor.q_per_channel_axis());
  }
  WriteOpcode('t');
  WriteBool(false);
  WriteEmptyHooks();
  bytes_ += "tR";
}

void PickleWriter::WriteSparse(const at::Tensor& tensor) {
  const bool coo = tensor.layout() == c10::kSparse;
  WriteGlobal("torch._utils", "_rebuild_sparse_tensor");
  WriteGlobal("torch.serialization", "_get_layout");
  WriteText(coo ? "torch.sparse_coo" : "torch.sparse_csr");
  bytes_ += "\x85R(";
  const at::Tensor detached = tensor.detach();
  if (coo) {
    WriteTensor(detached._indices());
    WriteTensor(detached._values());
    WriteInts(tensor.sizes());
    WriteBool(detached.is_coalesced());
  } else {
    WriteTensor(detached.crow_indices());
    WriteTensor(detached.col_indices());
    WriteTensor(detached.values());
    WriteInts(tensor.sizes());
  }
  bytes_ += "t\x86R";
}

void PickleWriter::WriteMeta(const at::Tensor& tensor) {
  WriteGlobal("torch._utils", "_rebuild_meta_tensor_no_storage");
  WriteOpcode('(');
  WriteGlobal("torch", c10::getDtypeNames(tensor.scalar_type()).first);
  WriteInts(tensor.sizes());
  WriteInts(tensor.strides());
  WriteBool(tensor.requires_grad());
  bytes_ += "tR";
}

// The persistent id ("storage", class, key, location, number of elements).
void PickleWriter::WriteStorage(const at::Tensor& tensor, bool as_bytes) {
  if (!tensor.has_storage()) throw ArchiveError("a tensor without a storage cannot be written to a file");
  const c10::Storage& storage = tensor.storage();
  const auto dtype = as_bytes ? c10::ScalarType::Undefined : tensor.scalar_type();
  const auto first = first_uses_.try_emplace(storage.unsafeGetStorageImpl(), dtype, storages_.size()).first;
  size_t key = first->second.key;
  // A quantized tensor cannot be a view of bytes: where its storage was of another dtype, it gets a copy.
  if (!as_bytes && first->second.dtype != dtype) key = storages_.size();
  if (key == storages_.size()) storages_.push_back(OnCpu(storage));
  WriteOpcode('(');
  WriteText("storage");
  if (as_bytes) {
    WriteGlobal("torch.storage", "UntypedStorage");
  } else {
    WriteGlobal("torch", std::string(c10::toString(tensor.scalar_type())) + "Storage");
  }
  WriteText(std::to_string(key));
  WriteText("cpu");
  const size_t element = as_bytes ? 1 : tensor.element_size();
  WriteInt(static_cast<int64_t>(storage.nbytes() / element));
  bytes_ += "tQ";
}

// ---------------------------------------------------------------------------------------------------------------------
// Opcodes.

template <typename T>
void PickleWriter::WriteNumber(T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    bytes_ += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xFF);
  }
}

void PickleWriter::WriteInt(int64_t value) {
  if (value >= 0 && value <= 0xFF) {
    WriteOpcode('K');
    WriteNumber(static_cast<uint8_t>(value));
  } else if (value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max()) {
    WriteOpcode('J');
    WriteNumber(static_cast<int32_t>(value));
  } else {
    bytes_ += "\x8a\x08";
    WriteNumber(value);
  }
}

void PickleWriter::WriteDouble(double value) {
  WriteOpcode('G');
  WriteNumber(__builtin_bswap64(std::bit_cast<uint64_t>(value)));
}

void PickleWriter::WriteBool(bool value) { WriteOpcode(static_cast<char>(value ? 0x88 : 0x89)); }

// TorchScript's strings are bytes. Those that are no text become Python's bytes.
void PickleWriter::WriteString(std::string_view text) {
  if (IsUtf8(text)) return WriteText(text);
  std::string latin1;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      latin1 += c;
    } else {
      latin1 += static_cast<char>(0xC0 | byte >> 6);
      latin1 += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  WriteGlobal("_codecs", "encode");
  WriteText(latin1);
  WriteText("latin1");
  bytes_ += "\x86R";
}

void PickleWriter::WriteText(std::string_view text) {
  if (text.size() > std::numeric_limits<uint32_t>::max()) throw ArchiveError("a string is too long to be written");
  WriteOpcode('X');
  WriteNumber(static_cast<uint32_t>(text.size()));
  bytes_ += text;
}

void PickleWriter::WriteInts(c10::IntArrayRef numbers) {
  WriteOpcode('(');
  for (const int64_t number : numbers) WriteInt(number);
  WriteOpcode('t');
}

void PickleWriter::WriteGlobal(std::string_view module, std::string_view name) {
  WriteOpcode('c');
  bytes_.append(module).append("\n").append(name).append("\n");
}

void PickleWriter::WriteEmptyHooks() {
  WriteGlobal("collections", "OrderedDict");
  bytes_ += ")R";
}

bool PickleWriter::WroteBefore(const void* identity) {
  const auto found = memo_.find(identity);
  if (found == memo_.end()) return false;
  WriteOpcode('j');
  WriteNumber(found->second);
  return true;
}

void PickleWriter::PutInMemo(const void* identity) {
  const auto index = static_cast<uint32_t>(memo_.size());
  memo_.emplace(identity, index);
  WriteOpcode('r');
  WriteNumber(index);
}

}  // namespace hearth
