// Feeds any bytes to the pickle machine. The first byte chooses the dialect and options, the rest is the pickle. What
// comes out is looked at in full, so that a tensor that reaches past its storage is seen by AddressSanitizer.
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include "jit/archive/container_types.h"
#include "jit/archive/pickle.h"
#include "jit/archive/pickle_writer.h"
#include "jit/support/errors.h"

namespace hearth {
namespace {

constexpr int64_t kMostElements = 1 << 16;

class FuzzDelegate : public PlainPickleDelegate {
 public:
  FuzzDelegate() {
    class_ = c10::ClassType::create(c10::QualifiedName("__torch__.C"), {});
    class_->addAttribute("a", c10::AnyType::get());
    enum_ = c10::EnumType::create(c10::QualifiedName("__torch__.E"), c10::IntType::get(), {{"A", c10::IValue(1)}}, {});
  }

  c10::TypePtr ResolveClass(const std::string& name) override {
    if (name == "__torch__.C") return class_;
    if (name == "__torch__.E") return enum_;
    return nullptr;
  }

  c10::IValue MakeObject(const c10::TypePtr& type, const c10::IValue& state) override {
    const auto class_type = type->cast<c10::ClassType>();
    if (!class_type || !state.isGenericDict()) throw ArchiveError("no state of a class");
    auto object = c10::ivalue::Object::create(c10::WeakOrStrongTypePtr(c10::WeakTypePtr({}, class_type)), 1);
    const auto attributes = state.toGenericDict();
    if (const auto found = attributes.find("a"); found != attributes.end()) object->setSlot(0, found->value());
    return object;
  }

 private:
  c10::ClassTypePtr class_;
  std::shared_ptr<c10::EnumType> enum_;
};

// The storage of key "N" has N bytes, each with memory of its own, so that one byte too far is seen.
RecordBytes FuzzStorage(const std::string& key) {
  const size_t size = std::min<size_t>(std::strtoul(key.c_str(), nullptr, 10), 4096);
  std::shared_ptr<char> bytes(static_cast<char*>(::operator new (size, std::align_val_t{64})),
                              [](char* data) { ::operator delete (data, std::align_val_t{64}); });
  for (size_t i = 0; i < size; ++i) bytes.get()[i] = static_cast<char>(i & 1);
  return {bytes.get(), size, bytes};
}

void LookAt(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_meta() || tensor.numel() > kMostElements) return;
  if (tensor.layout() != c10::kStrided) return;
  // Copies each element.
  (void)tensor.clone();
}

void LookAt(const c10::IValue& value, int depth) {
  if (depth > 50) return;
  if (value.isTensor()) {
    LookAt(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) LookAt(element, depth + 1);
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) LookAt(element, depth + 1);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) LookAt(entry.value(), depth + 1);
  }
}

void ReadAndWrite(uint8_t choice, std::string_view pickle) {
  FuzzDelegate delegate;
  StorageTable storages(FuzzStorage, c10::Device(c10::kCPU), /*big_endian=*/(choice & 4) != 0);
  PickleOptions options;
  options.file = "fuzz";
  options.record = "data.pkl";
  options.dialect = (choice & 1) ? PickleDialect::kTorchSave : PickleDialect::kTorchScript;
  options.empty_records_as_meta = (choice & 2) != 0;
  options.limits.max_depth = 100;
  const c10::IValue value = ReadPickle(pickle, storages, delegate, options);
  InferContainerTypes(value);
  LookAt(value, 0);
  PickleWriter writer;
  writer.Write(value);
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    hearth::ReadAndWrite(data[0], std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1));
  } catch (const hearth::ArchiveError&) {
    // What a bad pickle is meant to give.
  }
  return 0;
}
