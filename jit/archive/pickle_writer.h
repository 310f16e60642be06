// Writes the pickle of a value in the form that torch.save gives it, and collects the storages of its tensors, for
// torch.load(..., weights_only=True) to read. See saved_value.h for what becomes what.
//
// Identity is kept: a list, dict, object or tensor that is reached twice is written once, and may reach itself. Errors:
// ArchiveError naming what cannot be written. Used once by one thread.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hearth {

class PickleWriter {
 public:
  // Writes the whole pickle of `value`.
  void Write(const c10::IValue& value);

  const std::string& bytes() const { return bytes_; }
  // The storages that the pickle names "0", "1", ..., on the CPU.
  const std::vector<c10::Storage>& storages() const { return storages_; }

 private:
  struct StorageUse {
    c10::ScalarType dtype;  // Undefined: as bytes
    size_t key;             // in storages_
  };

  void WriteValue(const c10::IValue& value, int depth);
  void WriteList(const c10::IValue& value, int depth);
  void WriteDict(const c10::IValue& value, int depth);
  void WriteTuple(c10::ArrayRef<c10::IValue> elements, int depth);
  void WriteObject(const c10::IValue& value, int depth);
  void WriteTensor(const at::Tensor& tensor);
  void WriteStrided(const at::Tensor& tensor);
  void WriteFlags(const at::Tensor& tensor);
  void WriteQuantized(const at::Tensor& tensor);
  void WriteSparse(const at::Tensor& tensor);
  void WriteMeta(const at::Tensor& tensor);
  void WriteStorage(const at::Tensor& tensor, bool as_bytes);

  void WriteInt(int64_t value);
  void WriteDouble(double value);
  void WriteBool(bool value);
  void WriteString(std::string_view text);
  // As Unicode text; the bytes must be UTF-8.
  void WriteText(std::string_view text);
  void WriteInts(c10::IntArrayRef numbers);
  void WriteGlobal(std::string_view module, std::string_view name);
  void WriteEmptyHooks();

  void WriteOpcode(char opcode) { bytes_ += opcode; }
  template <typename T>
  void WriteNumber(T value);
  // Writes a reference if what lies there was written before. Else remembers that it is written now: the caller makes
  // it and puts it into the memo.
  bool WroteBefore(const void* identity);
  void PutInMemo(const void* identity);

  std::string bytes_;
  std::unordered_map<const void*, uint32_t> memo_;
  std::unordered_map<const void*, StorageUse> first_uses_;  // of each storage
  std::vector<c10::Storage> storages_;
  std::vector<c10::IValue> alive_;  // whose address is in the memo
};

}  // namespace hearth
