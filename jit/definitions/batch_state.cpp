#include "jit/definitions/batch_state.h"

#include <algorithm>

namespace hearth {
namespace {

using Kind = BatchState::Kind;

// Sizes are made of few atoms; what means something else does so in a few steps.
constexpr int kMostSteps = 8;

}  // namespace

BatchState Join(const BatchState& a, const BatchState& b) {
  if (a.kind == Kind::kNever) return b;
  if (b.kind == Kind::kNever) return a;
  if (a.kind == Kind::kRows && b.kind == Kind::kRows && a.axis == b.axis && a.outer == b.outer) {
    const KnownSize per_row = a.per_row == b.per_row ? a.per_row : KnownSize();
    return BatchState::Rows(a.axis, per_row, a.of_inputs && b.of_inputs, a.outer);
  }
  if (a.kind == Kind::kContainer || b.kind == Kind::kContainer) {
    if (a.kind != b.kind || a.elements.size() != b.elements.size()) return Join(JoinOfElements(a), JoinOfElements(b));
    BatchState both{.kind = Kind::kContainer};
    for (size_t i = 0; i < a.elements.size(); ++i) both.elements.push_back(Join(a.elements[i], b.elements[i]));
    return both;
  }
  if (a.kind == b.kind && (a.kind == Kind::kRowNumbers ? a.axis == b.axis : a.kind != Kind::kRows)) return a;
  if (a.kind == Kind::kCount && b.kind == Kind::kUniform) return a;
  if (a.kind == Kind::kUniform && b.kind == Kind::kCount) return b;
  // That rows mix in some runs alone is not known of a run.
  if (a.kind == Kind::kUnknown || a.kind == Kind::kMixed) return BatchState::Because(Kind::kUnknown, a.why, a.reason);
  if (b.kind == Kind::kUnknown || b.kind == Kind::kMixed) return BatchState::Because(Kind::kUnknown, b.why, b.reason);
  return BatchState::Because(Kind::kUnknown, nullptr, "gives rows in one case and something else in another");
}

BatchState JoinOfElements(const BatchState& state) {
  if (state.kind != Kind::kContainer) return state;
  BatchState all = BatchState::Never();
  for (const BatchState& element : state.elements) all = Join(all, JoinOfElements(element));
  return all;
}

std::optional<size_t> BatchSizes::AtomOf(KnownSize size) const {
  if (!size.is_expression()) return {};
  const SizeAlgebra::Polynomial polynomial = algebra_.PolynomialOf(size);
  if (polynomial.size() != 1 || polynomial[0].coefficient != 1 || polynomial[0].atoms.size() != 1) return {};
  return polynomial[0].atoms[0];
}

void BatchSizes::SetUniform(KnownSize atom) {
  const auto at = AtomOf(Normal(atom));
  if (at && at != AtomOf(rows_) && !algebra_.DivisionOf(*at)) known_.uniform.insert(*at);
}

void BatchSizes::SetMeaning(KnownSize atom, KnownSize means) {
  const auto at = AtomOf(Normal(atom));
  if (!at || at == AtomOf(rows_) || known_.uniform.contains(*at) || algebra_.DivisionOf(*at)) return;
  std::set<size_t> atoms;
  Collect(means, &atoms);
  if (!atoms.contains(*at)) known_.meanings.emplace(*at, means);
}

void BatchSizes::Collect(KnownSize size, std::set<size_t>* atoms) const {
  if (!size.is_expression()) return;
  for (const SizeAlgebra::Term& term : algebra_.PolynomialOf(size)) {
    for (const size_t atom : term.atoms) {
      if (!atoms->insert(atom).second) continue;
      if (const auto division = algebra_.DivisionOf(atom)) {
        Collect(division->dividend, atoms);
        Collect(division->divisor, atoms);
      }
    }
  }
}

KnownSize BatchSizes::Normal(KnownSize size) {
  for (int step = 0; step < kMostSteps && size.is_expression(); ++step) {
    std::set<size_t> atoms;
    Collect(size, &atoms);
    const KnownSize before = size;
    for (const size_t atom : atoms) {
      if (const auto found = known_.meanings.find(atom); found != known_.meanings.end())
        size = algebra_.Substitute(size, {found->first, found->second});
    }
    if (size == before) break;
  }
  return size;
}

bool BatchSizes::Check(KnownSize size, bool rows_too) const {
  if (size.has_value()) return true;
  if (!size.is_expression()) return false;
  std::set<size_t> atoms;
  Collect(size, &atoms);
  return std::ranges::all_of(atoms, [&](size_t atom) {
    return algebra_.DivisionOf(atom).has_value() || known_.uniform.contains(atom) ||
           (rows_too && atom == AtomOf(rows_));
  });
}

KnownSize BatchSizes::PerRow(KnownSize size) {
  size = Normal(size);
  if (!size.is_expression()) return {};
  const KnownSize each = algebra_.Divide(size, rows_);
  return algebra_.Multiply(each, rows_) == size && Check(each, false) ? each : KnownSize();
}

}  // namespace hearth
