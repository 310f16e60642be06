#include "jit/analysis/fact_rules.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace hearth {
namespace {

using Kind = ValueFacts::Kind;

void ViewAs(Call& call, std::optional<KnownSizes> sizes, bool contiguous = false) {
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
  call.out().contiguous = contiguous && call.in(0).contiguous && call.in(0).plain;
}

KnownSize Product(const KnownSizes& sizes, size_t from, size_t to) {
  int64_t product = 1;
  for (size_t i = from; i < to; ++i) {
    if (!sizes[i]) return {};
    if (__builtin_mul_overflow(product, *sizes[i], &product)) return {};
  }
  return product;
}

void View(Call& call) {
  if (call.num_inputs() != 2 || call.node().input(1)->type()->kind() != c10::TypeKind::ListType) return;
  std::optional<KnownSizes> sizes = call.numbers(call.has("size") ? "size" : "shape");
  if (sizes) {
    // An unknown one may itself be -1; then none of them says what is left.
    KnownSize* rest = nullptr;
    KnownSize others = 1;
    for (KnownSize& size : *sizes) {
      if (size == -1) {
        rest = &size;
      } else if (others) {
        others = size ? KnownSize(*others * *size) : KnownSize();
      }
    }
    if (rest != nullptr) {
      const KnownSize all = call.in(0).sizes ? Product(*call.in(0).sizes, 0, call.in(0).sizes->size()) : KnownSize();
      *rest = all && others && *others > 0 ? KnownSize(*all / *others) : KnownSize();
    }
  }
  ViewAs(call, std::move(sizes), true);
}

void Flatten(Call& call) {
  const std::optional<KnownSizes>& sizes = call.in(0).sizes;
  const auto start = call.number("start_dim"), end = call.number("end_dim");
  if (!sizes || !start || !end) return ViewAs(call, {}, true);
  if (sizes->empty()) return ViewAs(call, KnownSizes{1}, true);
  const auto from = Dimension(*start, sizes->size()), to = Dimension(*end, sizes->size());
  if (!from || !to || *from > *to) return;
  KnownSizes flat(sizes->begin(), sizes->begin() + *from);
  flat.push_back(Product(*sizes, *from, *to + 1));
  flat.insert(flat.end(), sizes->begin() + *to + 1, sizes->end());
  ViewAs(call, std::move(flat), true);
}

void Unflatten(Call& call) {
  const std::optional<KnownSizes>& sizes = call.in(0).sizes;
  const auto dim = call.number("dim");
  const std::optional<KnownSizes> parts = call.numbers("sizes");
  const auto at = sizes && dim ? Dimension(*dim, sizes->size()) : std::nullopt;
  if (!at || !parts || sizes->empty()) return ViewAs(call, {}, true);
  KnownSizes apart(sizes->begin(), sizes->begin() + *at);
  for (const KnownSize& part : *parts) apart.push_back(part == -1 ? KnownSize() : part);
  apart.insert(apart.end(), sizes->begin() + *at + 1, sizes->end());
  ViewAs(call, std::move(apart), true);
}

void Unsqueeze(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const auto dim = call.number("dim");
  if (sizes && dim) {
    const auto at = Dimension(dim, sizes->size() + 1);
    if (!at) return;
    sizes->insert(sizes->begin() + *at, 1);
  } else if (sizes) {
    sizes = UnknownSizes(sizes->size() + 1);
  }
  ViewAs(call, std::move(sizes), true);
}

void Squeeze(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const auto dim = call.number("dim");
  if (sizes && call.num_inputs() == 1) {
    if (std::any_of(sizes->begin(), sizes->end(), [](const KnownSize& size) { return !size; })) return ViewAs(call, {});
    std::erase(*sizes, KnownSize(1));
  } else if (sizes && dim && !sizes->empty()) {
    const auto at = Dimension(dim, sizes->size());
    if (!at || !(*sizes)[*at]) return ViewAs(call, {});
    if ((*sizes)[*at] == 1) sizes->erase(sizes->begin() + *at);
  } else if (!sizes || !sizes->empty()) {
    return ViewAs(call, {});
  }
  ViewAs(call, std::move(sizes), true);
}

void Transpose(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const auto a = call.number("dim0"), b = call.number("dim1");
  if (sizes && a && b) {
    const auto first = Dimension(*a, sizes->size()), second = Dimension(*b, sizes->size());
    if (!first || !second) return;
    if (!sizes->empty()) std::swap((*sizes)[*first], (*sizes)[*second]);
  } else if (sizes) {
    sizes = UnknownSizes(sizes->size());
  }
  ViewAs(call, std::move(sizes));
}

void TransposeMatrix(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  if (sizes) std::reverse(sizes->begin(), sizes->end());
  ViewAs(call, std::move(sizes));
}

void Permute(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  const auto dims = call.numbers("dims");
  if (sizes && dims && dims->size() == sizes->size()) {
    for (size_t i = 0; i < dims->size(); ++i) {
      const auto from = Dimension((*dims)[i], sizes->size());
      (*sizes)[i] = from ? (*call.in(0).sizes)[*from] : KnownSize();
    }
  } else if (sizes) {
    sizes = UnknownSizes(sizes->size());
  }
  ViewAs(call, std::move(sizes));
}

void Expand(Call& call) {
  std::optional<KnownSizes> sizes = call.numbers("size");
  const std::optional<KnownSizes>& from = call.in(0).sizes;
  if (sizes && from && from->size() <= sizes->size()) {
    const size_t extra = sizes->size() - from->size();
    for (size_t i = 0; i < from->size(); ++i) {
      if ((*sizes)[extra + i] == -1) (*sizes)[extra + i] = (*from)[i];
    }
  } else if (sizes) {
    sizes = UnknownSizes(sizes->size());
  }
  ViewAs(call, std::move(sizes));
}

void SizesOfOther(Call& call) { ViewAs(call, call.in(1).sizes); }

// One dimension gone, or of another size.
std::optional<KnownSizes> Without(const std::optional<KnownSizes>& sizes, std::optional<int64_t> dim) {
  if (!sizes || sizes->empty()) return {};
  if (!dim) return UnknownSizes(sizes->size() - 1);
  const auto at = Dimension(dim, sizes->size());
  if (!at) return {};
  KnownSizes rest = *sizes;
  rest.erase(rest.begin() + *at);
  return rest;
}
std::optional<KnownSizes> With(std::optional<KnownSizes> sizes, std::optional<int64_t> dim, KnownSize size) {
  if (!sizes) return {};
  if (!dim) return UnknownSizes(sizes->size());
  const auto at = Dimension(dim, sizes->size());
  if (!at || sizes->empty()) return {};
  (*sizes)[*at] = size;
  return sizes;
}

void Select(Call& call) { ViewAs(call, Without(call.in(0).sizes, call.number("dim"))); }
void Slice(Call& call) {
  const auto dim = call.number("dim");
  KnownSize size;
  const auto start = call.number("start"), end = call.number("end"), step = call.number("step");
  const auto at = dim && call.in(0).rank() ? Dimension(dim, *call.in(0).rank()) : std::nullopt;
  const bool from_start = call.is_none("start") || start == 0;
  const bool to_end = call.is_none("end") || end == std::numeric_limits<int64_t>::max();
  // The whole of it.
  if (at && *call.in(0).rank() > 0 && from_start && to_end && step == 1) size = (*call.in(0).sizes)[*at];
  ViewAs(call, With(call.in(0).sizes, dim, size));
}
void Narrow(Call& call) { ViewAs(call, With(call.in(0).sizes, call.number("dim"), call.number("length"))); }

// Dtype and device that all elements of the list have in common.
ValueFacts CommonElement(const ValueFacts& list) {
  ValueFacts common;
  common.kind = Kind::kTensor;
  if (list.kind != Kind::kList || list.elements.empty()) return common;
  common = list.elements.front();
  for (const ValueFacts& element : list.elements) common = Join(common, element);
  return common;
}

void Concatenate(Call& call) {
  const ValueFacts& list = call.in(0);
  ValueFacts common = CommonElement(list);
  if (!common.is_tensor()) return;
  const auto dim = call.number("dim");
  std::optional<KnownSizes> sizes = common.sizes;
  if (sizes && !sizes->empty()) {
    KnownSize total = 0;
    const auto at = Dimension(dim, sizes->size());
    for (const ValueFacts& element : list.elements) {
      const KnownSize size = at ? (*element.sizes)[*at] : KnownSize();
      total = total && size ? KnownSize(*total + *size) : KnownSize();
    }
    if (at) {
      // What is unknown in one and known in another is what it is.
      for (const ValueFacts& element : list.elements) {
        for (size_t i = 0; i < sizes->size(); ++i) {
          if (i != *at && !(*sizes)[i] && (*element.sizes)[i]) (*sizes)[i] = (*element.sizes)[i];
        }
      }
      (*sizes)[*at] = total;
    } else {
      sizes = UnknownSizes(sizes->size());
    }
  }
  call.Give(0, common, common.dtype, std::move(sizes));
  // Of four or five dimensions it may be channels-last as its parts are, and parts with sizes of 1 may be both.
  const bool images = !common.rank() || *common.rank() == 4 || *common.rank() == 5;
  call.out().contiguous = common.contiguous && call.out().plain && !images;
}

void Stack(Call& call) {
  const ValueFacts& list = call.in(0);
  ValueFacts common = CommonElement(list);
  std::optional<KnownSizes> sizes = common.sizes;
  const auto dim = call.number("dim");
  if (sizes) {
    const auto at = Dimension(dim, sizes->size() + 1);
    if (at) {
      sizes->insert(sizes->begin() + *at, static_cast<int64_t>(list.elements.size()));
    } else {
      sizes = UnknownSizes(sizes->size() + 1);
    }
  }
  call.Give(0, common, common.dtype, std::move(sizes));
}

void GiveList(Call& call, size_t length, const ValueFacts& element) {
  constexpr size_t kMaxLength = 64;
  if (length > kMaxLength) return;
  call.out() = {};
  call.out().kind = Kind::kList;
  call.out().elements.assign(length, element);
}
void Split(Call& call) {
  std::optional<KnownSizes> parts = call.numbers("split_sizes");
  if (!parts && call.node().input(1)->type()->kind() == c10::TypeKind::ListType) parts = call.numbers("split_size");
  if (!parts) return;
  const auto dim = call.number("dim");
  std::vector<ValueFacts> elements;
  for (const KnownSize& part : *parts) {
    ViewAs(call, With(call.in(0).sizes, dim, part));
    elements.push_back(call.out());
  }
  call.out() = {};
  if (call.node().input(1)->type()->kind() != c10::TypeKind::ListType) return;
  call.out().kind = Kind::kList;
  call.out().elements = std::move(elements);
}
void Unbind(Call& call) {
  const auto dim = call.number("dim");
  const auto at = dim && call.in(0).rank().value_or(0) > 0 ? Dimension(dim, *call.in(0).rank()) : std::nullopt;
  const KnownSize length = at ? (*call.in(0).sizes)[*at] : KnownSize();
  if (!length || *length < 0) return;
  Select(call);
  const ValueFacts element = call.out();
  call.out() = {};
  GiveList(call, static_cast<size_t>(*length), element);
}
void Element(Call& call) {
  const ValueFacts& list = call.in(0);
  const c10::IValue* index = call.constant(size_t{1});
  if ((list.kind != Kind::kList && list.kind != Kind::kTuple) || index == nullptr || !index->isInt()) return;
  const auto at = Dimension(index->toInt(), list.elements.size());
  if (at && *at < list.elements.size()) call.out() = list.elements[*at];
}

void SizesAsList(Call& call) {
  if (!call.in(0).rank() || call.num_inputs() != 1) return;
  call.out().kind = Kind::kList;
  call.out().sizes = call.in(0).sizes;
}

void Index(Call& call) {
  const ValueFacts& list = call.in(1);
  std::optional<KnownSizes> sizes;
  if (list.kind == Kind::kList && call.in(0).rank()) {
    size_t removed = 0, added = 0;
    bool known = true;
    for (const ValueFacts& index : list.elements) {
      if (index.kind == Kind::kNone) continue;
      known &= index.is_tensor() && index.rank() && (index.dtype == c10::kLong || index.dtype == c10::kInt);
      if (!known) break;
      added = std::max(added, *index.rank());
      ++removed;
    }
    if (known && removed <= *call.in(0).rank()) sizes = UnknownSizes(*call.in(0).rank() - removed + added);
  }
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
}
void IndexSelect(Call& call) {
  call.Give(
      0, call.in(0), call.in(0).dtype,
      With(call.in(0).sizes, call.number("dim"), call.in(2).rank() == 1u ? call.in(2).sizes->front() : KnownSize()));
}
void Gather(Call& call) { call.Give(0, call.in(0), call.in(0).dtype, call.in(2).sizes); }
void Nonzero(Call& call) {
  std::optional<KnownSizes> sizes = UnknownSizes(2);
  if (call.in(0).rank()) sizes->back() = static_cast<int64_t>(*call.in(0).rank());
  call.Give(0, call.in(0), c10::kLong, std::move(sizes));
}
void Sorted(Call& call) {
  std::optional<KnownSizes> sizes = call.in(0).sizes;
  if (call.has("k")) sizes = With(std::move(sizes), call.number("dim"), call.number("k"));
  if (call.num_outputs() != 2) return;
  call.Give(0, call.in(0), call.in(0).dtype, sizes);
  call.Give(1, call.in(0), c10::kLong, sizes);
}
void Repeat(Call& call) {
  const auto repeats = call.numbers("repeats");
  std::optional<KnownSizes> sizes = repeats ? UnknownSizes(repeats->size()) : std::nullopt;
  if (sizes && call.in(0).rank() && *call.in(0).rank() <= sizes->size()) {
    const size_t extra = sizes->size() - *call.in(0).rank();
    for (size_t i = 0; i < sizes->size(); ++i) {
      const KnownSize size = i < extra ? KnownSize(1) : (*call.in(0).sizes)[i - extra];
      if (size && (*repeats)[i]) (*sizes)[i] = *size * *(*repeats)[i];
    }
  }
  call.Give(0, call.in(0), call.in(0).dtype, std::move(sizes));
}

}  // namespace

void AddViewRules(FactRules& rules) {
  rules.Add(View, "view reshape");
  rules.Add(Flatten, "flatten");
  rules.Add(Unflatten, "unflatten");
  rules.Add(Unsqueeze, "unsqueeze");
  rules.Add(Squeeze, "squeeze");
  rules.Add(Transpose, "transpose swapaxes swapdims");
  rules.Add(TransposeMatrix, "t numpy_T");
  rules.Add(Permute, "permute");
  rules.Add(Expand, "expand");
  rules.Add(SizesOfOther, "expand_as view_as reshape_as");
  rules.Add(Select, "select");
  rules.Add(Slice, "slice");
  rules.Add(Narrow, "narrow");
  rules.Add(Concatenate, "cat concat concatenate");
  rules.Add(Stack, "stack");
  rules.Add(Split, "split split_with_sizes");
  rules.Add(Unbind, "unbind");
  rules.Add(Element, "__getitem__");
  rules.Add(SizesAsList, "size");
  rules.Add(Index, "index");
  rules.Add(IndexSelect, "index_select");
  rules.Add(Gather, "gather");
  rules.Add(Nonzero, "nonzero argwhere");
  rules.Add(Sorted, "sort topk");
  rules.Add(Repeat, "repeat");
}

}  // namespace hearth
