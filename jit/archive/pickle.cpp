#include "jit/archive/pickle.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "jit/archive/pickle_machine.h"
#include "jit/ir/type_parser.h"
#include "jit/support/load_budget.h"
#include "jit/support/memory_account.h"

namespace hearth {
namespace {

constexpr unsigned char kHighestProtocol = 2;
constexpr uint16_t kDeepest = std::numeric_limits<uint16_t>::max();

// Dict keys that LibTorch can hash.
bool CanBeKey(const c10::IValue& key) {
  return key.isInt() || key.isString() || key.isDouble() || key.isBool() || key.isComplexDouble() || key.isTensor() ||
         key.isDevice();
}

std::string Printable(unsigned char opcode) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = {'0', 'x', kDigits[opcode >> 4], kDigits[opcode & 15]};
  if (opcode > ' ' && opcode < 0x7f) out += std::string(" ('") + static_cast<char>(opcode) + "')";
  return out;
}

}  // namespace

PickleMachine::PickleMachine(std::string_view bytes, StorageTable& storages, PickleDelegate& delegate,
                             const PickleOptions& options)
    : bytes_(bytes), storages_(storages), delegate_(delegate), options_(options) {}

void PickleMachine::Fail(const std::string& what) const {
  throw ArchiveError(options_.file + ": " + options_.record + ": " + what + " (at byte " + std::to_string(opcode_at_) +
                     ")");
}

c10::IValue PickleMachine::Run() {
  if (bytes_.size() > options_.limits.max_bytes) {
    Fail("a pickle of " + std::to_string(bytes_.size()) + " bytes is larger than the limit of " +
         std::to_string(options_.limits.max_bytes));
  }
  // Weights are normal tensors, whatever the thread that loads is about.
  const c10::InferenceMode normal_tensors(false);
  const LoadBudget::Activity reading("reading ", options_.record);
  try {
    while (Step()) {
    }
    if (stack_.size() != 1 || !marks_.empty()) Fail("the pickle leaves more than one value");
    return ToValue(stack_.front());
  } catch (const ArchiveError& error) {
    const std::string what = error.what();
    if (what.compare(0, options_.file.size() + 1, options_.file + ":") == 0) throw;
    Fail(what);
  } catch (const c10::Error& error) {
    Fail(error.what_without_backtrace());
  } catch (const MemoryLimitError&) {
    throw;
  } catch (const std::bad_alloc&) {
    Fail("not enough memory for what the pickle asks for");
  }
}

bool PickleMachine::Step() {
  LoadBudget::Check();
  opcode_at_ = at_;
  const auto opcode = Read<uint8_t>();
  switch (opcode) {
    case 0x80: {  // PROTO
      const auto protocol = Read<uint8_t>();
      if (protocol > kHighestProtocol) {
        Fail("pickle protocol " + std::to_string(protocol) +
             " is not read; save with torch.save's default, protocol 2");
      }
      return true;
    }
    case '.':  // STOP
      return false;
    case 'c':  // GLOBAL
      PushGlobal();
      return true;
    case 0x81:  // NEWOBJ
      MakeNewObject();
      return true;
    case 'b':  // BUILD
      BuildObject();
      return true;
    case 'R':  // REDUCE
      Reduce();
      return true;
    case 'Q':  // BINPERSID
      LoadPersistent();
      return true;
    case 'q':  // BINPUT
      Put(Read<uint8_t>());
      return true;
    case 'r':  // LONG_BINPUT
      Put(Read<uint32_t>());
      return true;
    case 'h':  // BINGET
      Get(Read<uint8_t>());
      return true;
    case 'j':  // LONG_BINGET
      Get(Read<uint32_t>());
      return true;
    case '(':  // MARK
      marks_.push_back(stack_.size());
      return true;
    case 'N':  // NONE
      Push(c10::IValue());
      return true;
    case 0x88:  // NEWTRUE
      Push(true);
      return true;
    case 0x89:  // NEWFALSE
      Push(false);
      return true;
    case 'K':  // BININT1
      Push(static_cast<int64_t>(Read<uint8_t>()));
      return true;
    case 'M':  // BININT2
      Push(static_cast<int64_t>(Read<uint16_t>()));
      return true;
    case 'J':  // BININT
      Push(static_cast<int64_t>(static_cast<int32_t>(Read<uint32_t>())));
      return true;
    case 0x8a:  // LONG1
      PushLong();
      return true;
    case 'G':  // BINFLOAT
      Push(std::bit_cast<double>(__builtin_bswap64(Read<uint64_t>())));
      return true;
    case 'X':  // BINUNICODE
      PushString(Read<uint32_t>());
      return true;
    case ']':  // EMPTY_LIST
      CountAllocation();
      Push(c10::impl::GenericList(c10::AnyType::get()), 1);
      return true;
    case 'l':  // LIST
      PushList();
      return true;
    case 'a':  // APPEND
      AppendAll(1);
      return true;
    case 'e':  // APPENDS
      AppendAll(stack_.size() - PopMark());
      return true;
    case '}':  // EMPTY_DICT
      CountAllocation();
      Push(c10::impl::GenericDict(c10::AnyType::get(), c10::AnyType::get()), 1);
      return true;
    case 'd':  // DICT
      PushDict();
      return true;
    case 's':  // SETITEM
      SetItems(2);
      return true;
    case 'u':  // SETITEMS
      SetItems(stack_.size() - PopMark());
      return true;
    case ')':  // EMPTY_TUPLE
      PushTuple(0);
      return true;
    case 0x85:  // TUPLE1
      PushTuple(1);
      return true;
    case 0x86:  // TUPLE2
      PushTuple(2);
      return true;
    case 0x87:  // TUPLE3
      PushTuple(3);
      return true;
    case 't':  // TUPLE
      PushTuple(stack_.size() - PopMark());
      return true;
    default:
      Fail("opcode " + Printable(opcode) + " is not one that torch writes");
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Bytes.

template <typename T>
T PickleMachine::Read() {
  if (bytes_.size() - at_ < sizeof(T)) Fail("the pickle is cut off");
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i));
  }
  at_ += sizeof(T);
  return value;
}

std::string_view PickleMachine::ReadBytes(uint64_t size) {
  if (bytes_.size() - at_ < size) Fail("the pickle is cut off");
  const std::string_view bytes = bytes_.substr(at_, size);
  at_ += size;
  return bytes;
}

std::string_view PickleMachine::ReadLine() {
  const size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) Fail("the pickle is cut off");
  const std::string_view line = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  return line;
}

void PickleMachine::PushString(uint64_t size) {
  CountAllocation();
  Push(std::string(ReadBytes(size)));
}

// A little-endian two's complement number of up to eight bytes.
void PickleMachine::PushLong() {
  const auto size = Read<uint8_t>();
  if (size > sizeof(int64_t)) Fail("an integer has more than 64 bits");
  const std::string_view bytes = ReadBytes(size);
  uint64_t value = size > 0 && (static_cast<unsigned char>(bytes.back()) & 0x80) ? ~uint64_t{0} : 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  Push(static_cast<int64_t>(value));
}

// ---------------------------------------------------------------------------------------------------------------------
// The stack and the memo.

void PickleMachine::Push(c10::IValue value, size_t depth, uint32_t memo) {
  PickleItem& item = stack_.emplace_back();
  item.value = std::move(value);
  item.depth = static_cast<uint16_t>(depth);
  item.memo = memo;
}

void PickleMachine::PushItem(PickleItem item) { stack_.push_back(std::move(item)); }

PickleItem& PickleMachine::Top() {
  if (stack_.empty() || (!marks_.empty() && marks_.back() >= stack_.size())) Fail("the stack has too few values");
  return stack_.back();
}

PickleItem PickleMachine::Pop() {
  PickleItem item = std::move(Top());
  stack_.pop_back();
  return item;
}

// The stack's height at the last mark, which is taken away.
size_t PickleMachine::PopMark() {
  if (marks_.empty()) Fail("there is no mark");
  const size_t height = marks_.back();
  marks_.pop_back();
  return height;
}

// The uppermost items, all of them above the last mark.
PickleMachine::Items PickleMachine::Last(size_t count) const {
  const size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() - floor < count) Fail("the stack has too few values");
  return Items(stack_).last(count);
}

void PickleMachine::CountAllocation() {
  if (++allocations_ > options_.limits.max_allocations) Fail("the pickle makes too many strings and containers");
}

size_t PickleMachine::DepthOver(Items items) const {
  size_t depth = 0;
  for (const PickleItem& item : items) depth = std::max<size_t>(depth, item.depth);
  if (depth + 1 > std::min<size_t>(options_.limits.max_depth, kDeepest)) Fail("containers are nested too deeply");
  return depth + 1;
}

void PickleMachine::Changing(PickleItem& container, size_t depth_of_new) {
  const bool memoized = container.memo < memo_.size();
  if (container.memo == PickleItem::kClosed || (memoized && memo_[container.memo].fetched)) {
    Fail("a container is changed after it was put to use, so that it could come to hold itself");
  }
  container.depth = static_cast<uint16_t>(std::max<size_t>(container.depth, depth_of_new));
  if (memoized) memo_[container.memo].item.depth = container.depth;
}

c10::IValue PickleMachine::ToValue(const PickleItem& item) {
  switch (item.kind) {
    case ItemKind::kValue:
      return item.value;
    case ItemKind::kGlobal:
      // TorchScript's dtypes and schemes are ints.
      if (item.global == Global::kDtype || item.global == Global::kQScheme) return item.value;
      Fail("a class or function stands where a value is expected");
    case ItemKind::kArguments: {
      const auto index = static_cast<size_t>(item.value.toInt());
      if (!arguments_[index].value) {
        std::vector<c10::IValue> elements;
        for (const PickleItem& element : arguments_[index].items) elements.push_back(ToValue(element));
        arguments_[index].value = c10::ivalue::Tuple::create(std::move(elements));
      }
      return *arguments_[index].value;
    }
    case ItemKind::kStorage:
      Fail("a bare storage stands where a value is expected");
    case ItemKind::kNewObject:
      Fail("an object has no state");
  }
  Fail("an item of no kind");
}

void PickleMachine::Put(uint64_t index) {
  // Every index is written by an opcode of its own, so an honest one is smaller than the pickle is long.
  if (index >= bytes_.size()) Fail("memo index " + std::to_string(index) + " is too large");
  PickleItem& item = Top();
  if (index >= memo_.size()) memo_.resize(index + 1);
  MemoEntry& entry = memo_[index];
  if (entry.used) Fail("memo entry " + std::to_string(index) + " is written twice");
  if (item.memo == PickleItem::kFresh) {
    item.memo = static_cast<uint32_t>(index);
  } else if (item.memo != PickleItem::kClosed) {
    Fail("a value is put into the memo twice");
  }
  entry.item = item;
  entry.used = true;
  entry.fetched = item.memo == PickleItem::kClosed;
}

void PickleMachine::Get(uint64_t index) {
  if (index >= memo_.size() || !memo_[index].used) Fail("memo entry " + std::to_string(index) + " was never written");
  MemoEntry& entry = memo_[index];
  entry.fetched = true;
  PickleItem item = entry.item;
  item.memo = PickleItem::kClosed;
  PushItem(std::move(item));
}

// ---------------------------------------------------------------------------------------------------------------------
// Containers.

void PickleMachine::PushTuple(size_t count) {
  CountAllocation();
  const Items items = Last(count);
  const size_t depth = DepthOver(items);
  const bool plain =
      std::all_of(items.begin(), items.end(), [](const PickleItem& item) { return item.kind == ItemKind::kValue; });
  PickleItem tuple;
  tuple.depth = static_cast<uint16_t>(depth);
  if (plain) {
    std::vector<c10::IValue> elements;
    elements.reserve(count);
    for (const PickleItem& item : items) elements.push_back(item.value);
    tuple.value = c10::ivalue::Tuple::create(std::move(elements));
  } else {
    tuple.kind = ItemKind::kArguments;
    tuple.value = static_cast<int64_t>(arguments_.size());
    arguments_.push_back({{items.begin(), items.end()}, std::nullopt});
  }
  Drop(count);
  PushItem(std::move(tuple));
}

void PickleMachine::PushList() {
  const size_t count = stack_.size() - PopMark();
  CountAllocation();
  PickleItem list;
  list.value = c10::impl::GenericList(c10::AnyType::get());
  list.depth = 1;
  stack_.insert(stack_.end() - static_cast<std::ptrdiff_t>(count), std::move(list));
  AppendAll(count);
}

void PickleMachine::AppendAll(size_t count) {
  const Items items = Last(count);
  if (Last(count + 1).front().kind != ItemKind::kValue || !Last(count + 1).front().value.isList()) {
    Fail("something is appended to a value that is no list");
  }
  PickleItem& container = stack_[stack_.size() - count - 1];
  Changing(container, count == 0 ? 1 : DepthOver(items));
  c10::List<c10::IValue> list = container.value.toList();
  list.reserve(list.size() + count);
  for (const PickleItem& item : items) list.push_back(ToValue(item));
  Drop(count);
}

void PickleMachine::PushDict() {
  const size_t count = stack_.size() - PopMark();
  CountAllocation();
  PickleItem dict;
  dict.value = c10::impl::GenericDict(c10::AnyType::get(), c10::AnyType::get());
  dict.depth = 1;
  stack_.insert(stack_.end() - static_cast<std::ptrdiff_t>(count), std::move(dict));
  SetItems(count);
}

void PickleMachine::SetItems(size_t count) {
  const Items items = Last(count);
  if (count % 2 != 0) Fail("a dict has a key without a value");
  if (Last(count + 1).front().kind != ItemKind::kValue || !Last(count + 1).front().value.isGenericDict()) {
    Fail("a key is set in a value that is no dict");
  }
  PickleItem& container = stack_[stack_.size() - count - 1];
  Changing(container, count == 0 ? 1 : DepthOver(items));
  c10::impl::GenericDict dict = container.value.toGenericDict();
  dict.reserve(dict.size() + count / 2);
  for (size_t i = 0; i < count; i += 2) {
    c10::IValue key = ToValue(items[i]);
    if (!CanBeKey(key)) Fail("a " + key.tagKind() + " cannot be a dict's key");
    dict.insert_or_assign(std::move(key), ToValue(items[i + 1]));
  }
  Drop(count);
}

// ---------------------------------------------------------------------------------------------------------------------
// Objects, calls, storages.

void PickleMachine::PushGlobal() {
  const size_t begin = at_;
  const std::string_view module = ReadLine();
  const std::string_view name = ReadLine();
  PickleItem item;
  item.kind = ItemKind::kGlobal;
  item.memo = PickleItem::kFresh;
  if (const auto found = FindGlobal(bytes_.substr(begin, at_ - 1 - begin))) {
    item.global = found->global;
    item.value = found->number;
  } else if (module == "__torch__" || module.substr(0, 10) == "__torch__.") {
    item.global = Global::kClass;
    item.value = static_cast<int64_t>(classes_.size());
    c10::TypePtr type = delegate_.ResolveClass(std::string(module) + "." + std::string(name));
    if (!type) Fail("class " + std::string(module) + "." + std::string(name) + " is not in the archive");
    classes_.push_back(std::move(type));
  } else {
    Fail("the pickle names '" + std::string(module) + "." + std::string(name) +
         "', which is not among the things that may be loaded");
  }
  PushItem(std::move(item));
}

void PickleMachine::MakeNewObject() {
  const PickleItem arguments = Pop();
  PickleItem type = Pop();
  if (type.kind != ItemKind::kGlobal || type.global != Global::kClass) Fail("an object is made of no class");
  if (!arguments.value.isTuple() || !arguments.value.toTupleRef().elements().empty()) {
    Fail("an object is made with arguments");
  }
  PickleItem item;
  item.kind = ItemKind::kNewObject;
  item.value = std::move(type.value);
  item.depth = 1;
  PushItem(std::move(item));
}

void PickleMachine::BuildObject() {
  const PickleItem state = Pop();
  PickleItem& item = Top();
  if (item.kind == ItemKind::kValue && item.value.isGenericDict() && options_.dialect == PickleDialect::kTorchSave) {
    return;  // the attributes of an OrderedDict, such as a state_dict's metadata
  }
  if (item.kind != ItemKind::kNewObject) Fail("a state is given to a value that is no new object");
  Changing(item, DepthOver(Items(&state, 1)));
  CountAllocation();
  const c10::TypePtr type = classes_[static_cast<size_t>(item.value.toInt())];
  c10::IValue object = delegate_.MakeObject(type, ToValue(state));
  item.kind = ItemKind::kValue;
  item.value = std::move(object);
  if (item.memo < memo_.size()) {
    memo_[item.memo].item.kind = ItemKind::kValue;
    memo_[item.memo].item.value = item.value;
  }
}

void PickleMachine::Reduce() {
  const PickleItem tuple = Pop();
  const PickleItem function = Pop();
  if (function.kind != ItemKind::kGlobal) Fail("a value that is no function is called");
  PickleItem result;
  if (function.global == Global::kClass) {
    // An enum is called with its value itself.
    result = Call(function, Items(&tuple, 1));
  } else if (tuple.kind == ItemKind::kArguments) {
    // A copy, since the call may make argument tuples of its own.
    const std::vector<PickleItem> items = arguments_[static_cast<size_t>(tuple.value.toInt())].items;
    result = Call(function, items);
  } else if (tuple.kind == ItemKind::kValue && tuple.value.isTuple()) {
    std::vector<PickleItem> items;
    for (const c10::IValue& element : tuple.value.toTupleRef().elements()) {
      items.emplace_back().value = element;
    }
    result = Call(function, items);
  } else {
    Fail("a function is called with something that is no tuple");
  }
  result.depth = std::max(result.depth, tuple.depth);
  PushItem(std::move(result));
}

// ("storage", type, key, location, number of elements)
void PickleMachine::LoadPersistent() {
  const PickleItem id = Pop();
  if (id.kind != ItemKind::kArguments) Fail("a persistent id is not one of a storage");
  const std::vector<PickleItem> items = arguments_[static_cast<size_t>(id.value.toInt())].items;
  const PickleItem& type = Argument(items, 1);
  if (String(items, 0) != "storage" || type.kind != ItemKind::kGlobal || type.global != Global::kStorageType) {
    Fail("a persistent id is not one of a storage");
  }
  StoredStorage stored;
  stored.dtype = static_cast<c10::ScalarType>(type.value.toInt());
  const std::string key(String(items, 2));
  const int64_t numel = Int(items, 4);
  if (String(items, 3) == "meta") {
    stored.meta = true;
  } else {
    stored.storage = storages_.Get(key, stored.dtype, numel, options_.empty_records_as_meta);
    stored.meta = !stored.storage;
  }
  PickleItem item;
  item.kind = ItemKind::kStorage;
  item.value = static_cast<int64_t>(stored_.size());
  stored_.push_back(std::move(stored));
  PushItem(std::move(item));
}

// ---------------------------------------------------------------------------------------------------------------------

c10::TypePtr PlainPickleDelegate::ResolveType(std::string_view annotation) {
  try {
    return ParseType(annotation, [](const std::string&) { return c10::TypePtr(); });
  } catch (const TypeParseError& error) {
    throw ArchiveError("type tag '" + std::string(annotation) + "': " + error.message);
  }
}

c10::TypePtr PlainPickleDelegate::ResolveClass(const std::string& qualified_name) {
  throw ArchiveError("an object of class " + qualified_name + " stands where plain values are expected");
}

c10::IValue PlainPickleDelegate::MakeObject(const c10::TypePtr& type, const c10::IValue&) {
  throw ArchiveError("an object of class " + type->annotation_str() + " stands where plain values are expected");
}

c10::IValue ReadPickle(std::string_view bytes, StorageTable& storages, PickleDelegate& delegate,
                       const PickleOptions& options) {
  return PickleMachine(bytes, storages, delegate, options).Run();
}

}  // namespace hearth
