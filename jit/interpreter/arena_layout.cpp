#include "jit/interpreter/arena_layout.h"

#include <algorithm>

#include "jit/support/arena_limits.h"

namespace hearth {
namespace {

using Step = ArenaLayout::Step;

int64_t ValueOf(const Step& step, const std::vector<int64_t>& numbers) {
  constexpr int64_t kNone = ArenaLayout::kNoNumber;
  if (step.kind == Step::Kind::kConstant) return step.a;
  const int64_t a = numbers[static_cast<size_t>(step.a)];
  const int64_t b = numbers[static_cast<size_t>(step.b)];
  if (a == kNone || b == kNone) return kNone;
  int64_t value = 0;
  switch (step.kind) {
    case Step::Kind::kAdd:
      return __builtin_add_overflow(a, b, &value) ? kNone : value;
    case Step::Kind::kMultiply:
      return __builtin_mul_overflow(a, b, &value) ? kNone : value;
    // Rounded down, as in Python.
    case Step::Kind::kDivide:
      return b == 0 ? kNone : a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
    case Step::Kind::kRemainder:
      return b == 0 ? kNone : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
    case Step::Kind::kConstant:
      break;
  }
  return kNone;
}

// 0 where it is too large or none.
size_t BytesOf(const ArenaLayout::Place& place, std::span<const int64_t> numbers) {
  size_t bytes = c10::elementSize(place.dtype);
  for (const uint32_t number : place.sizes) {
    const int64_t size = numbers[number];
    if (size <= 0 || static_cast<size_t>(size) > kMostBytesOfPlace / bytes) return 0;
    bytes *= static_cast<size_t>(size);
  }
  return bytes;
}

}  // namespace

void ArenaLayout::Compute(std::span<const int64_t> given, std::vector<int64_t>* numbers) const {
  numbers->assign(given.begin(), given.end());
  numbers->reserve(given.size() + steps.size());
  for (const Step& step : steps) numbers->push_back(ValueOf(step, *numbers));
}

size_t ArenaLayout::Arrange(std::span<const int64_t> numbers, std::vector<Extent>* extents) const {
  extents->clear();
  extents->reserve(places.size());
  size_t end = 0;
  for (const Place& place : places) {
    Extent extent{0, BytesOf(place, numbers)};
    for (const uint32_t below : place.over) {
      extent.offset = std::max(extent.offset, (*extents)[below].offset + ArenaAligned((*extents)[below].bytes));
    }
    end = std::max(end, extent.offset + ArenaAligned(extent.bytes));
    extents->push_back(extent);
  }
  return end;
}

}  // namespace hearth
