// Lists: reading, changing in place, copying, comparing. One implementation serves every element type, as values carry
// their own.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "jit/operators/native_support.h"

namespace hearth::native {

int64_t AdjustSlice(int64_t length, int64_t* start, int64_t* end, int64_t step) {
  TORCH_CHECK(step != 0, "List slice should have non-zero step");
  TORCH_CHECK(step >= -std::numeric_limits<int64_t>::max(), "List slice step is out of bounds");
  if (*start == std::numeric_limits<int64_t>::max()) *start = step < 0 ? std::numeric_limits<int64_t>::max() : 0;
  if (*end == std::numeric_limits<int64_t>::max()) *end = step < 0 ? std::numeric_limits<int64_t>::min() : length;
  const auto clamp = [&](int64_t index) {
    if (index < 0) {
      index += length;
      return index < 0 ? (step < 0 ? int64_t{-1} : int64_t{0}) : index;
    }
    return index >= length ? (step < 0 ? length - 1 : length) : index;
  };
  *start = clamp(*start);
  *end = clamp(*end);
  if (step < 0) return *end < *start ? (*start - *end - 1) / -step + 1 : 0;
  return *start < *end ? (*end - *start - 1) / step + 1 : 0;
}

namespace {

constexpr auto kEnd = std::numeric_limits<int64_t>::max();

// The position that a Python index means. Throws out_of_range, which the model sees as "list index out of range".
size_t Position(int64_t index, size_t size) {
  const int64_t position = index < 0 ? index + static_cast<int64_t>(size) : index;
  if (position < 0 || position >= static_cast<int64_t>(size)) throw std::out_of_range("list index out of range");
  return static_cast<size_t>(position);
}

void Len(NativeArguments in, IValue* out) { *out = static_cast<int64_t>(Elements(in[0]).size()); }

void GetItem(NativeArguments in, IValue* out) {
  const std::vector<IValue>& list = Elements(in[0]);
  IValue element = list[Position(in[1].toInt(), list.size())];
  *out = std::move(element);
}

void SetItem(NativeArguments in, IValue* out) {
  std::vector<IValue>& list = Elements(in[0]);
  list[Position(in[1].toInt(), list.size())] = in[2];
  IValue self = in[0];
  *out = std::move(self);
}

void Append(NativeArguments in, IValue* out) {
  Elements(in[0]).push_back(in[1]);
  IValue self = in[0];
  *out = std::move(self);
}

void Insert(NativeArguments in, IValue* out) {
  std::vector<IValue>& list = Elements(in[0]);
  const int64_t size = static_cast<int64_t>(list.size());
  int64_t index = in[1].toInt();
  if (index < 0) index += size;
  list.insert(list.begin() + std::clamp<int64_t>(index, 0, size), in[2]);
}

void AppendAll(std::vector<IValue>& list, const std::vector<IValue>& more) {
  const size_t count = more.size();  // `more` may be `list` itself
  list.reserve(list.size() + count);
  for (size_t i = 0; i < count; ++i) list.push_back(more[i]);
}

void Extend(NativeArguments in, IValue* out) { AppendAll(Elements(in[0]), Elements(in[1])); }

void AddInPlace(NativeArguments in, IValue* out) {
  AppendAll(Elements(in[0]), Elements(in[1]));
  IValue self = in[0];
  *out = std::move(self);
}

void Add(NativeArguments in, IValue* out) {
  const std::vector<IValue>& a = Elements(in[0]);
  const std::vector<IValue>& b = Elements(in[1]);
  std::vector<IValue> joined;
  joined.reserve(a.size() + b.size());
  joined.insert(joined.end(), a.begin(), a.end());
  joined.insert(joined.end(), b.begin(), b.end());
  *out = MakeList(ElementType(in[0]), std::move(joined));
}

// LibTorch reserves `size * times` elements before it looks at the sign.
std::vector<IValue> Repeat(const std::vector<IValue>& list, int64_t times) {
  std::vector<IValue> repeated;
  const uint64_t wanted = static_cast<uint64_t>(list.size()) * static_cast<uint64_t>(times);
  if (wanted > repeated.max_size()) throw std::length_error("vector::reserve");
  if (times <= 0 || list.empty()) return repeated;
  TORCH_CHECK(static_cast<uint64_t>(times) <= repeated.max_size() / list.size(), "vector::reserve");
  repeated.reserve(wanted);
  for (int64_t i = 0; i < times; ++i) repeated.insert(repeated.end(), list.begin(), list.end());
  return repeated;
}

void MulLeft(NativeArguments in, IValue* out) {
  *out = MakeList(ElementType(in[0]), Repeat(Elements(in[0]), in[1].toInt()));
}
void MulRight(NativeArguments in, IValue* out) {
  *out = MakeList(ElementType(in[1]), Repeat(Elements(in[1]), in[0].toInt()));
}
void MulInPlace(NativeArguments in, IValue* out) {
  std::vector<IValue>& list = Elements(in[0]);
  if (in[1].toInt() != 1) list = Repeat(list, std::max<int64_t>(in[1].toInt(), 0));
  IValue self = in[0];
  *out = std::move(self);
}

IValue Remove(std::vector<IValue>& list, int64_t index, const char* when_empty) {
  TORCH_CHECK(!list.empty(), when_empty);
  const size_t position = Position(index, list.size());
  IValue removed = std::move(list[position]);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(position));
  return removed;
}

void Pop(NativeArguments in, IValue* out) {
  IValue removed = Remove(Elements(in[0]), in[1].toInt(), "pop from empty list");
  *out = std::move(removed);
}
void Delete(NativeArguments in, IValue* out) { Remove(Elements(in[0]), in[1].toInt(), "pop index out of range"); }

void Clear(NativeArguments in, IValue* out) { Elements(in[0]).clear(); }
void Reverse(NativeArguments in, IValue* out) { std::reverse(Elements(in[0]).begin(), Elements(in[0]).end()); }
void Copy(NativeArguments in, IValue* out) { *out = MakeList(ElementType(in[0]), Elements(in[0])); }

void Slice(NativeArguments in, IValue* out) {
  const std::vector<IValue>& list = Elements(in[0]);
  int64_t start = in[1].isInt() ? in[1].toInt() : (in[3].toInt() < 0 ? kEnd : 0);
  int64_t end = in[2].isInt() ? in[2].toInt() : kEnd;
  const int64_t step = in[3].isInt() ? in[3].toInt() : 1;
  const int64_t count = AdjustSlice(static_cast<int64_t>(list.size()), &start, &end, step);
  std::vector<IValue> picked;
  picked.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) picked.push_back(list[static_cast<size_t>(start + i * step)]);
  *out = MakeList(ElementType(in[0]), std::move(picked));
}

// Elements of one scalar type.
template <typename T>
bool EqualElements(const IValue& a, const IValue& b) {
  if constexpr (std::is_same_v<T, std::string>) {
    return a.toStringRef() == b.toStringRef();
  } else {
    return Get<T>(a) == Get<T>(b);
  }
}

template <typename T>
bool EqualLists(const IValue& left, const IValue& right) {
  const std::vector<IValue>& a = Elements(left);
  const std::vector<IValue>& b = Elements(right);
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), EqualElements<T>);
}
template <typename T>
void Equal(NativeArguments in, IValue* out) {
  *out = EqualLists<T>(in[0], in[1]);
}
template <typename T>
void NotEqual(NativeArguments in, IValue* out) {
  *out = !EqualLists<T>(in[0], in[1]);
}

template <typename T>
std::vector<IValue>::iterator FindElement(std::vector<IValue>& list, const IValue& element) {
  return std::find_if(list.begin(), list.end(), [&](const IValue& other) { return EqualElements<T>(other, element); });
}
template <typename T>
void Contains(NativeArguments in, IValue* out) {
  std::vector<IValue>& list = Elements(in[0]);
  *out = FindElement<T>(list, in[1]) != list.end();
}
template <typename T>
void Count(NativeArguments in, IValue* out) {
  const std::vector<IValue>& list = Elements(in[0]);
  *out = static_cast<int64_t>(
      std::count_if(list.begin(), list.end(), [&](const IValue& other) { return EqualElements<T>(other, in[1]); }));
}

template <typename T>
void Min(NativeArguments in, IValue* out) {
  const std::vector<IValue>& list = Elements(in[0]);
  TORCH_CHECK(!list.empty(), "min() arg is an empty sequence");
  T least = Get<T>(list[0]);
  for (size_t i = 1; i < list.size(); ++i) {
    const T element = Get<T>(list[i]);
    if (element < least) least = element;
  }
  *out = least;
}
template <typename T>
void Max(NativeArguments in, IValue* out) {
  const std::vector<IValue>& list = Elements(in[0]);
  TORCH_CHECK(!list.empty(), "max() arg is an empty sequence");
  T greatest = Get<T>(list[0]);
  for (size_t i = 1; i < list.size(); ++i) {
    const T element = Get<T>(list[i]);
    if (element > greatest) greatest = element;
  }
  *out = greatest;
}

template <typename T>
void Sum(NativeArguments in, IValue* out) {
  // LibTorch's total of ints is a 32-bit int, and wraps.
  using Total = std::conditional_t<std::is_same_v<T, double>, double, uint32_t>;
  Total total = 0;
  for (const IValue& element : Elements(in[0])) total += static_cast<Total>(Get<T>(element));
  if constexpr (std::is_same_v<T, double>) {
    *out = total;
  } else {
    *out = int64_t{static_cast<int32_t>(total)};
  }
}

template <typename T>
void Any(NativeArguments in, IValue* out) {
  const std::vector<IValue>& list = Elements(in[0]);
  *out =
      std::any_of(list.begin(), list.end(), [](const IValue& element) { return static_cast<bool>(Get<T>(element)); });
}
template <typename T>
void All(NativeArguments in, IValue* out) {
  const std::vector<IValue>& list = Elements(in[0]);
  *out =
      std::all_of(list.begin(), list.end(), [](const IValue& element) { return static_cast<bool>(Get<T>(element)); });
}

void RangeList(NativeArguments in, IValue* out) {
  const int64_t count = in[0].toInt();
  std::vector<IValue> numbers;
  numbers.reserve(static_cast<size_t>(count));  // throws length_error for what is negative
  for (int64_t i = 0; i < count; ++i) numbers.emplace_back(i);
  *out = MakeList(c10::IntType::get(), std::move(numbers));
}

constexpr NativeEntry kEntries[] = {
    {"aten::len.t", Len},
    {"aten::len.any", Len},
    {"aten::__getitem__.t", GetItem},
    {"aten::select.t", GetItem},
    {"aten::_set_item.t", SetItem},
    {"aten::append.t", Append},
    {"aten::insert.t", Insert},
    {"aten::extend.t", Extend},
    {"aten::add_.t", AddInPlace},
    {"aten::add.t", Add},
    {"aten::mul.left_t", MulLeft},
    {"aten::mul.right_", MulRight},
    {"aten::mul_.t", MulInPlace},
    {"aten::pop.t", Pop},
    {"aten::Delete.t", Delete},
    {"aten::clear.t", Clear},
    {"aten::reverse.t", Reverse},
    {"aten::copy.t", Copy},
    {"aten::list.t", Copy},
    {"aten::slice.t", Slice},
    {"aten::eq.int_list", Equal<int64_t>},
    {"aten::eq.float_list", Equal<double>},
    {"aten::eq.bool_list", Equal<bool>},
    {"aten::eq.str_list", Equal<std::string>},
    {"aten::ne.int_list", NotEqual<int64_t>},
    {"aten::ne.float_list", NotEqual<double>},
    {"aten::ne.bool_list", NotEqual<bool>},
    {"aten::ne.str_list", NotEqual<std::string>},
    {"aten::__contains__.int_list", Contains<int64_t>},
    {"aten::__contains__.float_list", Contains<double>},
    {"aten::__contains__.str_list", Contains<std::string>},
    {"aten::count.int", Count<int64_t>},
    {"aten::count.float", Count<double>},
    {"aten::count.bool", Count<bool>},
    {"aten::count.str", Count<std::string>},
    {"prim::min.self_int", Min<int64_t>},
    {"prim::min.self_float", Min<double>},
    {"prim::min.self_bool", Min<bool>},
    {"prim::max.self_int", Max<int64_t>},
    {"prim::max.self_float", Max<double>},
    {"prim::max.self_bool", Max<bool>},
    {"aten::sum.int", Sum<int64_t>},
    {"aten::sum.float", Sum<double>},
    {"aten::sum.bool", Sum<bool>},
    {"aten::any.int", Any<int64_t>},
    {"aten::any.float", Any<double>},
    {"aten::any.bool", Any<bool>},
    {"aten::all.int", All<int64_t>},
    {"aten::all.float", All<double>},
    {"aten::all.bool", All<bool>},
    {"prim::rangelist", RangeList},
};

}  // namespace

std::span<const NativeEntry> ListNatives() { return kEntries; }

}  // namespace hearth::native
