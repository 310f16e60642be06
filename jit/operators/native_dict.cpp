// Dicts, which keep the order of insertion. One implementation serves every type of key.
#include <string>

#include "jit/operators/native_support.h"

namespace hearth::native {
namespace {

using Map = c10::detail::DictImpl::dict_map_type;

[[noreturn]] void NoSuchKey(const IValue& key) { TORCH_CHECK(false, "KeyError: ", key); }

void Len(NativeArguments in, IValue* out) { *out = static_cast<int64_t>(DictOf(in[0]).dict.size()); }

void GetItem(NativeArguments in, IValue* out) {
  Map& map = DictOf(in[0]).dict;
  auto found = map.find(in[1]);
  if (found == map.end()) NoSuchKey(in[1]);
  IValue value = found->second;
  *out = std::move(value);
}

void SetItem(NativeArguments in, IValue* out) { DictOf(in[0]).dict.insert_or_assign(in[1], in[2]); }

void Contains(NativeArguments in, IValue* out) {
  Map& map = DictOf(in[0]).dict;
  *out = map.find(in[1]) != map.end();
}

void Get(NativeArguments in, IValue* out) {
  Map& map = DictOf(in[0]).dict;
  auto found = map.find(in[1]);
  IValue value = found == map.end() ? IValue() : found->second;
  *out = std::move(value);
}
void GetDefault(NativeArguments in, IValue* out) {
  Map& map = DictOf(in[0]).dict;
  auto found = map.find(in[1]);
  IValue value = found == map.end() ? in[2] : found->second;
  *out = std::move(value);
}

void SetDefault(NativeArguments in, IValue* out) {
  Map& map = DictOf(in[0]).dict;
  auto found = map.find(in[1]);
  IValue value = found == map.end() ? in[2] : found->second;
  if (found == map.end()) map.insert(std::make_pair(in[1], in[2]));
  *out = std::move(value);
}

void Pop(NativeArguments in, IValue* out) {
  Map& map = DictOf(in[0]).dict;
  auto found = map.find(in[1]);
  if (found == map.end()) NoSuchKey(in[1]);
  IValue value = found->second;
  map.erase(found);
  *out = std::move(value);
}
void PopDefault(NativeArguments in, IValue* out) {
  Map& map = DictOf(in[0]).dict;
  auto found = map.find(in[1]);
  IValue value = found == map.end() ? in[2] : found->second;
  if (found != map.end()) map.erase(found);
  *out = std::move(value);
}

void Delete(NativeArguments in, IValue* out) {
  Map& map = DictOf(in[0]).dict;
  auto found = map.find(in[1]);
  if (found == map.end()) NoSuchKey(in[1]);
  map.erase(found);
}

void Clear(NativeArguments in, IValue* out) { DictOf(in[0]).dict.clear(); }

void Update(NativeArguments in, IValue* out) {
  Map& map = DictOf(in[0]).dict;
  const Map& more = DictOf(in[1]).dict;
  if (&map == &more) return;
  for (const auto& entry : more) map.insert_or_assign(entry.first, entry.second);
}

void Copy(NativeArguments in, IValue* out) {
  const c10::detail::DictImpl& dict = DictOf(in[0]);
  c10::impl::GenericDict copy(dict.elementTypes.keyType, dict.elementTypes.valueType);
  copy.reserve(dict.dict.size());
  for (const auto& entry : dict.dict) copy.insert(entry.first, entry.second);
  *out = copy;
}

void Keys(NativeArguments in, IValue* out) {
  const c10::detail::DictImpl& dict = DictOf(in[0]);
  std::vector<IValue> keys;
  keys.reserve(dict.dict.size());
  for (const auto& entry : dict.dict) keys.push_back(entry.first);
  *out = MakeList(dict.elementTypes.keyType, std::move(keys));
}
void Values(NativeArguments in, IValue* out) {
  const c10::detail::DictImpl& dict = DictOf(in[0]);
  std::vector<IValue> values;
  values.reserve(dict.dict.size());
  for (const auto& entry : dict.dict) values.push_back(entry.second);
  *out = MakeList(dict.elementTypes.valueType, std::move(values));
}
void Items(NativeArguments in, IValue* out) {
  const c10::detail::DictImpl& dict = DictOf(in[0]);
  std::vector<IValue> items;
  items.reserve(dict.dict.size());
  for (const auto& entry : dict.dict) items.emplace_back(c10::ivalue::Tuple::create({entry.first, entry.second}));
  *out = MakeList(c10::TupleType::create({dict.elementTypes.keyType, dict.elementTypes.valueType}), std::move(items));
}

#define EVERY_KEY(prefix, function)                                                                          \
  {prefix "int", function}, {prefix "str", function}, {prefix "float", function}, {prefix "bool", function}, \
      {prefix "complex", function}, {                                                                        \
    prefix "Tensor", function                                                                                \
  }

constexpr NativeEntry kEntries[] = {
    EVERY_KEY("aten::len.Dict_", Len),
    EVERY_KEY("aten::__getitem__.Dict_", GetItem),
    EVERY_KEY("aten::_set_item.", SetItem),
    EVERY_KEY("aten::__contains__.", Contains),
    EVERY_KEY("aten::get.", Get),
    EVERY_KEY("aten::get.default_", GetDefault),
    EVERY_KEY("aten::setdefault.", SetDefault),
    EVERY_KEY("aten::pop.Dict_", Pop),
    EVERY_KEY("aten::pop.Dict_default_", PopDefault),
    EVERY_KEY("aten::Delete.Dict_", Delete),
    EVERY_KEY("aten::clear.", Clear),
    EVERY_KEY("aten::update.", Update),
    EVERY_KEY("aten::copy.Dict_", Copy),
    EVERY_KEY("aten::dict.Dict_", Copy),
    EVERY_KEY("aten::keys.", Keys),
    EVERY_KEY("aten::values.", Values),
    EVERY_KEY("aten::items.", Items),
};

#undef EVERY_KEY

}  // namespace

std::span<const NativeEntry> DictNatives() { return kEntries; }

}  // namespace hearth::native
