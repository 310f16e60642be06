// The state of a pickle that is being run; the inside of pickle.h, split over pickle.cpp (opcodes) and
// pickle_functions.cpp (what the allowed globals do when called).
#pragma once

#include <c10/util/Exception.h>

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jit/archive/pickle.h"
#include "jit/archive/pickle_globals.h"
#include "jit/archive/tensor_builder.h"

namespace hearth {

enum class ItemKind : uint8_t {
  kValue,
  kGlobal,     // `global`; `value` holds the index of a class, or the number that the global stands for
  kArguments,  // a tuple with something in it that is no value; `value` holds its index
  kStorage,    // `value` holds its index
  kNewObject,  // an object that waits for its state; `value` holds its class's index
};

// What stands on the stack and in the memo.
//
// Containers are filled after they are made, so a reference to one that is still being filled could make it hold
// itself. Hence the rule: what has been fetched from the memo is never changed again. `memo` says whether it has been.
struct PickleItem {
  static constexpr uint32_t kFresh = 0xFFFFFFFF;   // not in the memo
  static constexpr uint32_t kClosed = 0xFFFFFFFE;  // not to be changed any more

  c10::IValue value;
  ItemKind kind = ItemKind::kValue;
  Global global{};
  uint16_t depth = 0;      // levels of containers
  uint32_t memo = kFresh;  // else the index of its memo entry
};

class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, StorageTable& storages, PickleDelegate& delegate, const PickleOptions& options);
  c10::IValue Run();

 private:
  using Items = std::span<const PickleItem>;

  struct MemoEntry {
    PickleItem item;
    bool used = false;
    bool fetched = false;
  };
  struct StoredStorage {
    c10::Storage storage;
    c10::ScalarType dtype;
    bool meta = false;
  };
  struct Arguments {
    std::vector<PickleItem> items;
    std::optional<c10::IValue> value;  // once asked for
  };

  // Opcodes.
  bool Step();  // false at STOP
  void PushGlobal();
  void PushString(uint64_t size);
  void PushLong();
  void PushTuple(size_t count);
  void PushList();
  void PushDict();
  void AppendAll(size_t count);
  void SetItems(size_t count);
  void MakeNewObject();
  void BuildObject();
  void Reduce();
  void LoadPersistent();
  void Put(uint64_t index);
  void Get(uint64_t index);

  // Bytes.
  template <typename T>
  T Read();
  std::string_view ReadBytes(uint64_t size);
  std::string_view ReadLine();

  // Stack.
  void Push(c10::IValue value, size_t depth = 0, uint32_t memo = PickleItem::kFresh);
  void PushItem(PickleItem item);
  PickleItem Pop();
  size_t PopMark();
  PickleItem& Top();
  Items Last(size_t count) const;
  void Drop(size_t count) { stack_.resize(stack_.size() - count); }
  void CountAllocation();
  // Makes sure that the container may be changed, and notes that it now holds something of that depth.
  void Changing(PickleItem& container, size_t depth_of_new);
  c10::IValue ToValue(const PickleItem& item);
  size_t DepthOver(Items items) const;

  // Functions.
  PickleItem Call(const PickleItem& function, Items arguments);
  at::Tensor RebuildTensor(Items arguments, bool has_dtype);
  at::Tensor RebuildQuantized(Items arguments);
  at::Tensor RebuildSparse(Items arguments);
  at::Tensor RebuildSparseOfPython(Items arguments);
  at::Tensor RebuildMeta(Items arguments);
  at::Tensor RebuildParameter(Items arguments);
  PickleItem RestoreTag(Items arguments);
  PickleItem BuildTypedList(Items arguments, const c10::TypePtr& type);
  c10::IValue MakeEnum(const c10::TypePtr& type, Items arguments);
  c10::IValue DecodeBytes(Items arguments);
  void ApplyFlags(at::Tensor* tensor, const c10::IValue& flags);

  // Arguments; they throw if there are too few, or if one is something else.
  const PickleItem& Argument(Items arguments, size_t index);
  c10::IValue Value(Items arguments, size_t index);
  int64_t Int(Items arguments, size_t index);
  bool Bool(Items arguments, size_t index);
  double Double(Items arguments, size_t index);
  std::string_view String(Items arguments, size_t index);
  at::Tensor Tensor(Items arguments, size_t index);
  std::vector<int64_t> Ints(Items arguments, size_t index);
  const StoredStorage& Storage(Items arguments, size_t index);
  // The items of an argument that is a tuple.
  std::vector<PickleItem> Tuple(Items arguments, size_t index);

  [[noreturn]] void Fail(const std::string& what) const;
  [[noreturn]] void FailLayout(int64_t layout) const;

  const std::string_view bytes_;
  size_t at_ = 0;
  size_t opcode_at_ = 0;
  StorageTable& storages_;
  PickleDelegate& delegate_;
  const PickleOptions& options_;

  std::vector<PickleItem> stack_;
  std::vector<size_t> marks_;
  std::vector<MemoEntry> memo_;
  std::vector<c10::TypePtr> classes_;
  std::vector<StoredStorage> stored_;
  std::vector<Arguments> arguments_;
  std::unordered_map<std::string, c10::TypePtr> tags_;
  uint64_t allocations_ = 0;
};

}  // namespace hearth
