#include "jit/definitions/size_algebra.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace hearth {
namespace {

constexpr size_t kMaxTerms = 8;
constexpr size_t kMaxDegree = 8;

std::optional<int64_t> Sum(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return {};
  return sum;
}

std::optional<int64_t> Product(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t product = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) return {};
  return product;
}

// By a number above 0.
int64_t DivideDown(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
int64_t RemainderDown(int64_t a, int64_t b) { return a % b + (a % b < 0 ? b : 0); }

}  // namespace

std::optional<std::vector<int64_t>> ConstantsOf(const std::optional<KnownSizes>& sizes) {
  if (!sizes) return {};
  std::vector<int64_t> constants;
  for (const KnownSize size : *sizes) {
    if (size.value_or(0) < 1) return {};
    constants.push_back(*size);
  }
  return constants;
}

KnownSize SizeAlgebra::Atom(Source source, std::optional<int64_t> least) {
  const auto [found, is_new] = sources_.emplace(source, atoms_.size());
  if (is_new) atoms_.push_back({Kind::kSource, {}, {}, least, {}, {}, {}});
  return Of({Term{{found->second}, 1}});
}

SizeAlgebra::Polynomial SizeAlgebra::PolynomialOf(KnownSize size) const {
  if (size.is_expression()) return polynomials_[static_cast<size_t>(size.value_)];
  if (*size == 0) return {};
  return {Term{{}, *size}};
}

std::optional<SizeAlgebra::Division> SizeAlgebra::DivisionOf(size_t atom) const {
  const AtomFacts& facts = atoms_[atom];
  if (facts.kind == Kind::kSource) return {};
  return Division{facts.kind == Kind::kQuotient, facts.a, facts.b};
}

KnownSize SizeAlgebra::Of(Polynomial polynomial) {
  std::erase_if(polynomial, [](const Term& term) { return term.coefficient == 0; });
  if (polynomial.empty()) return 0;
  if (polynomial.size() == 1 && polynomial.front().atoms.empty()) return polynomial.front().coefficient;
  const bool large = polynomial.size() > kMaxTerms ||
                     std::ranges::any_of(polynomial, [](const Term& term) { return term.atoms.size() > kMaxDegree; });
  if (large) return {};
  const auto [found, is_new] = indices_.emplace(std::move(polynomial), polynomials_.size());
  if (is_new) polynomials_.push_back(found->first);
  return KnownSize::Expression(found->second);
}

KnownSize SizeAlgebra::Add(KnownSize a, KnownSize b) {
  if (!a.is_known() || !b.is_known()) return {};
  std::map<std::vector<size_t>, int64_t> sum;
  for (const KnownSize part : {a, b}) {
    for (const Term& term : PolynomialOf(part)) {
      int64_t& coefficient = sum[term.atoms];
      if (__builtin_add_overflow(coefficient, term.coefficient, &coefficient)) return {};
    }
  }
  Polynomial polynomial;
  for (const auto& [atoms, coefficient] : sum) polynomial.push_back({atoms, coefficient});
  return Of(std::move(polynomial));
}

KnownSize SizeAlgebra::Multiply(KnownSize a, KnownSize b) {
  // Whatever the other is.
  if (a == 0 || b == 0) return 0;
  if (!a.is_known() || !b.is_known()) return {};
  const Polynomial left = PolynomialOf(a), right = PolynomialOf(b);
  if (left.size() * right.size() > kMaxTerms * kMaxTerms) return {};
  std::map<std::vector<size_t>, int64_t> sum;
  for (const Term& one : left) {
    for (const Term& other : right) {
      std::vector<size_t> atoms;
      std::ranges::merge(one.atoms, other.atoms, std::back_inserter(atoms));
      int64_t product = 0;
      int64_t& coefficient = sum[std::move(atoms)];
      if (__builtin_mul_overflow(one.coefficient, other.coefficient, &product) ||
          __builtin_add_overflow(coefficient, product, &coefficient)) {
        return {};
      }
    }
  }
  Polynomial polynomial;
  for (const auto& [atoms, coefficient] : sum) polynomial.push_back({atoms, coefficient});
  return Of(std::move(polynomial));
}

std::optional<SizeAlgebra::Polynomial> SizeAlgebra::Exactly(const Polynomial& dividend, const Term& divisor) const {
  Polynomial quotient;
  for (const Term& term : dividend) {
    if (term.coefficient % divisor.coefficient != 0 || !std::ranges::includes(term.atoms, divisor.atoms)) return {};
    Term part{{}, term.coefficient / divisor.coefficient};
    std::ranges::set_difference(term.atoms, divisor.atoms, std::back_inserter(part.atoms));
    quotient.push_back(std::move(part));
  }
  std::ranges::sort(quotient);
  return quotient;
}

KnownSize SizeAlgebra::Uneven(Kind kind, KnownSize a, KnownSize b) {
  const auto [found, is_new] = uneven_.emplace(std::tuple(kind, a, b), atoms_.size());
  if (is_new) atoms_.push_back({kind, a, b, {}, {}, {}, {}});
  return Of({Term{{found->second}, 1}});
}

bool SizeAlgebra::IsOfSizes(KnownSize size) const {
  if (!size.is_expression()) return true;
  return std::ranges::all_of(polynomials_[static_cast<size_t>(size.value_)], [&](const Term& term) {
    return std::ranges::all_of(term.atoms, [&](size_t atom) { return ConclusionOf(atom).of_sizes; });
  });
}

KnownSize SizeAlgebra::Divide(KnownSize a, KnownSize b) {
  if (!a.is_known() || !b.is_known() || b == 0) return {};
  if (a == b) return 1;
  // Of all quotients by negative numbers nothing is known but that they are the same.
  if (b && *b < 0) return a ? KnownSize() : Uneven(Kind::kQuotient, a, b);
  if (a && b) return DivideDown(*a, *b);
  if (!IsOfSizes(a) || !IsOfSizes(b)) return Uneven(Kind::kQuotient, a, b);
  if (const Polynomial divisor = PolynomialOf(b); divisor.size() == 1) {
    if (std::optional<Polynomial> quotient = Exactly(PolynomialOf(a), divisor.front())) return Of(std::move(*quotient));
  }
  if (!b) return Uneven(Kind::kQuotient, a, b);
  // What comes out even is taken out.
  Polynomial even, rest;
  for (const Term& term : PolynomialOf(a)) {
    const int64_t over = RemainderDown(term.coefficient, *b);
    if (over != term.coefficient) even.push_back({term.atoms, DivideDown(term.coefficient, *b)});
    if (over != 0) rest.push_back({term.atoms, over});
  }
  const KnownSize uneven = Of(std::move(rest));
  if (!uneven.is_known()) return {};
  if (uneven) return Add(Of(std::move(even)), DivideDown(*uneven, *b));
  return Add(Of(std::move(even)), Uneven(Kind::kQuotient, uneven, b));
}

KnownSize SizeAlgebra::Remainder(KnownSize a, KnownSize b) {
  if (!a.is_known() || !b.is_known() || b == 0) return {};
  if (a == b) return 0;
  if (b && *b < 0) return {};
  if (a && b) return RemainderDown(*a, *b);
  if (!IsOfSizes(a) || !IsOfSizes(b)) return Uneven(Kind::kRemainder, a, b);
  if (const Polynomial divisor = PolynomialOf(b); divisor.size() == 1) {
    if (Exactly(PolynomialOf(a), divisor.front())) return 0;
  }
  if (!b) return Uneven(Kind::kRemainder, a, b);
  Polynomial rest;
  for (const Term& term : PolynomialOf(a)) rest.push_back({term.atoms, RemainderDown(term.coefficient, *b)});
  const KnownSize uneven = Of(std::move(rest));
  if (uneven) return RemainderDown(*uneven, *b);
  return uneven.is_known() ? Uneven(Kind::kRemainder, uneven, b) : KnownSize();
}

void SizeAlgebra::Expect(KnownSize atom, int64_t likely) {
  const Polynomial polynomial = PolynomialOf(atom);
  if (polynomial.size() == 1 && polynomial.front().atoms.size() == 1 && polynomial.front().coefficient == 1) {
    atoms_[polynomial.front().atoms.front()].likely = likely;
  }
}

KnownSize SizeAlgebra::Likely(KnownSize size) const {
  if (!size.is_expression()) return size;
  std::optional<int64_t> sum = 0;
  for (const Term& term : PolynomialOf(size)) {
    std::optional<int64_t> product = term.coefficient;
    for (const size_t atom : term.atoms) product = Product(product, LikelyAtom(atom));
    sum = Sum(sum, product);
  }
  return sum ? KnownSize(*sum) : KnownSize();
}

std::optional<int64_t> SizeAlgebra::LikelyAtom(size_t atom) const {
  const AtomFacts& facts = atoms_[atom];
  if (facts.kind == Kind::kSource) return facts.likely;
  const KnownSize a = Likely(facts.a), b = Likely(facts.b);
  if (!a || !b || *b < 1) return {};
  return facts.kind == Kind::kQuotient ? DivideDown(*a, *b) : RemainderDown(*a, *b);
}

// Of a quotient or remainder it follows from what is known of its operands, which are older atoms.
const SizeAlgebra::Conclusion& SizeAlgebra::ConclusionOf(size_t atom) const {
  const AtomFacts& facts = atoms_[atom];
  Conclusion& conclusion = facts.conclusion;
  if (conclusion.bounds_version == bounds_version_) return conclusion;
  conclusion.range = RangeOfAtom(facts);
  if (facts.kind == Kind::kSource) {
    conclusion.of_sizes = facts.least.has_value();
  } else {
    const bool bounded = conclusion.range.least && conclusion.range.most;
    conclusion.of_sizes = bounded || (IsOfSizes(facts.a) && IsOfSizes(facts.b));
  }
  conclusion.bounds_version = bounds_version_;
  return conclusion;
}

SizeAlgebra::Range SizeAlgebra::RangeOfAtom(const AtomFacts& facts) const {
  if (facts.kind == Kind::kSource) return {facts.least, facts.most};
  const bool sizes = IsOfSizes(facts.a) && IsOfSizes(facts.b);
  if (facts.b) {
    if (*facts.b < 1) return {};
    if (facts.kind == Kind::kRemainder) return {0, *facts.b - 1};
    if (!sizes) return {};
    const auto down = [&](std::optional<int64_t> n) {
      return n ? std::optional(DivideDown(*n, *facts.b)) : std::nullopt;
    };
    const Range range = RangeOf(facts.a);
    return {down(range.least), down(range.most)};
  }
  const bool positive = sizes && RangeOf(facts.b).least.value_or(-1) >= 0 &&
                        (facts.kind == Kind::kRemainder || RangeOf(facts.a).least.value_or(-1) >= 0);
  return {positive ? std::optional<int64_t>(0) : std::nullopt, {}};
}

SizeAlgebra::Range SizeAlgebra::RangeOf(const Term& term) const {
  if (term.atoms.empty()) return {term.coefficient, term.coefficient};
  Range range{1, 1};
  for (const size_t atom : term.atoms) {
    const Range& factor = ConclusionOf(atom).range;
    // Of what may be negative, only the range of the thing itself.
    if (term.atoms.size() > 1 && factor.least.value_or(-1) < 0) return {};
    range = {Product(range.least, factor.least), Product(range.most, factor.most)};
  }
  if (term.coefficient < 0) std::swap(range.least, range.most);
  return {Product(range.least, term.coefficient), Product(range.most, term.coefficient)};
}

SizeAlgebra::Range SizeAlgebra::RangeOf(KnownSize size) const {
  if (!size.is_expression()) return {size.constant(), size.constant()};
  Range range{0, 0};
  for (const Term& term : polynomials_[static_cast<size_t>(size.value_)]) {
    const Range part = RangeOf(term);
    range = {Sum(range.least, part.least), Sum(range.most, part.most)};
  }
  return range;
}

std::optional<int64_t> SizeAlgebra::Least(KnownSize size) const { return RangeOf(size).least; }
std::optional<int64_t> SizeAlgebra::Most(KnownSize size) const { return RangeOf(size).most; }

int64_t SizeAlgebra::LeastElements(const KnownSizes& sizes) const {
  int64_t elements = 1;
  for (const KnownSize size : sizes) elements *= Least(size).value_or(1);
  return elements;
}

std::optional<bool> SizeAlgebra::IsLess(KnownSize a, KnownSize b) {
  if (!a.is_known() || !b.is_known()) return {};
  if (a == b) return false;
  const Range one = RangeOf(a), other = RangeOf(b);
  if (one.most && other.least && *one.most < *other.least) return true;
  if (one.least && other.most && *one.least >= *other.most) return false;
  if (!IsOfSizes(a) || !IsOfSizes(b)) return {};
  const Range over = RangeOf(Subtract(b, a));
  if (over.least && *over.least > 0) return true;
  if (over.most && *over.most <= 0) return false;
  return {};
}

std::optional<bool> SizeAlgebra::AreEqual(KnownSize a, KnownSize b) {
  if (!a.is_known() || !b.is_known()) return {};
  if (a == b) return true;
  const KnownSize difference = Subtract(a, b);
  if (difference == 0) return true;
  const Range range = RangeOf(difference);
  const bool apart = (range.least && *range.least > 0) || (range.most && *range.most < 0);
  return apart ? std::optional(false) : std::nullopt;
}

std::optional<SizeAlgebra::Bounds> SizeAlgebra::LearnAtLeast(KnownSize size, int64_t least) {
  if (!size.is_expression()) return {};
  const Polynomial polynomial = PolynomialOf(size);
  std::optional<Term> multiple;
  std::optional<int64_t> rest = least;  // what the multiple is at least
  for (const Term& term : polynomial) {
    if (term.atoms.empty()) {
      rest = Sum(rest, Product(term.coefficient, -1));
    } else if (multiple || term.atoms.size() != 1) {
      return {};
    } else {
      multiple = term;
    }
  }
  constexpr int64_t kLeastInt = std::numeric_limits<int64_t>::min();
  if (!multiple || !rest || *rest == kLeastInt || multiple->coefficient == kLeastInt) return {};
  const size_t atom = multiple->atoms.front();
  AtomFacts& facts = atoms_[atom];
  if (facts.kind != Kind::kSource || !facts.least) return {};
  const Bounds before{atom, facts.least, facts.most};
  if (multiple->coefficient > 0) {
    const int64_t bound = -DivideDown(-*rest, multiple->coefficient);
    if (bound <= *facts.least || bound > facts.most.value_or(bound)) return {};
    facts.least = bound;
  } else {
    const int64_t bound = DivideDown(-*rest, -multiple->coefficient);
    if (bound >= facts.most.value_or(std::numeric_limits<int64_t>::max()) || bound < *facts.least) return {};
    facts.most = bound;
  }
  ++bounds_version_;
  return before;
}

void SizeAlgebra::Restore(const Bounds& before) {
  atoms_[before.atom].least = before.least;
  atoms_[before.atom].most = before.most;
  ++bounds_version_;
}

bool SizeAlgebra::Mentions(const Polynomial& polynomial, size_t atom) const {
  return std::ranges::any_of(polynomial, [&](const Term& term) {
    return std::ranges::any_of(term.atoms, [&](size_t one) {
      if (one == atom) return true;
      const AtomFacts& facts = atoms_[one];
      return facts.kind != Kind::kSource &&
             (Mentions(PolynomialOf(facts.a), atom) || Mentions(PolynomialOf(facts.b), atom));
    });
  });
}

std::optional<SizeAlgebra::Meaning> SizeAlgebra::Solve(KnownSize a, KnownSize b) {
  if (!a.is_known() || !b.is_known() || a == b) return {};
  // The newer atom is what is known less of.
  if (a.is_expression() && b.is_expression() && PolynomialOf(a).front().atoms < PolynomialOf(b).front().atoms) {
    std::swap(a, b);
  }
  for (int side = 0; side < 2; ++side, std::swap(a, b)) {
    if (!a.is_expression()) continue;
    const Polynomial polynomial = PolynomialOf(a);
    const Term& term = polynomial.front();
    if (polynomial.size() != 1 || term.atoms.size() != 1) continue;
    const size_t atom = term.atoms.front();
    if (Mentions(PolynomialOf(b), atom)) continue;
    if (term.coefficient == 1) return Meaning{atom, b};
    if (b && *b % term.coefficient == 0 && IsOfSizes(a)) return Meaning{atom, *b / term.coefficient};
  }
  return {};
}

KnownSize SizeAlgebra::SubstituteIn(size_t atom, const Meaning& known) {
  if (atom == known.atom) return known.means;
  const AtomFacts facts = atoms_[atom];
  if (facts.kind == Kind::kSource) return Of({Term{{atom}, 1}});
  const KnownSize a = Substitute(facts.a, known), b = Substitute(facts.b, known);
  return facts.kind == Kind::kQuotient ? Divide(a, b) : Remainder(a, b);
}

KnownSize SizeAlgebra::Substitute(KnownSize size, const Meaning& known) {
  if (!size.is_expression()) return size;
  const Polynomial polynomial = PolynomialOf(size);
  if (!Mentions(polynomial, known.atom)) return size;
  KnownSize sum = 0;
  for (const Term& term : polynomial) {
    KnownSize product = term.coefficient;
    for (const size_t atom : term.atoms) product = Multiply(product, SubstituteIn(atom, known));
    sum = Add(sum, product);
  }
  return sum;
}

std::string SizeAlgebra::ToString(KnownSize size) const {
  if (!size.is_known()) return "?";
  if (size) return std::to_string(*size);
  std::string text;
  for (const Term& term : PolynomialOf(size)) {
    if (!text.empty()) text += " + ";
    if (term.atoms.empty() || term.coefficient != 1) text += std::to_string(term.coefficient);
    const char* times = term.coefficient != 1 ? "*" : "";
    for (const size_t atom : term.atoms) {
      const AtomFacts& facts = atoms_[atom];
      text += times;
      if (facts.kind == Kind::kSource) {
        text += "a" + std::to_string(atom);
      } else {
        text += "(" + ToString(facts.a) + (facts.kind == Kind::kQuotient ? " // " : " % ") + ToString(facts.b) + ")";
      }
      times = "*";
    }
  }
  return text;
}

}  // namespace hearth
