// Sizes of which it is known what they are made of, if not what they are.
//
// A KnownSize is a number that every run knows, a number of which is known how it is computed from others, or nothing.
// What is computed is a polynomial over atoms with integer coefficients: atoms are numbers that a run brings along (a
// size of an argument, an int that an operator gave) and quotients and remainders that do not come out even.
// Polynomials are kept in one normal form and once only, so two sizes are known to be equal if they are the same
// KnownSize. Two that are not the same may still be equal.
//
// An atom may have bounds: a size of an argument that a spec says is neither 0 nor 1 is 2 at least. They decide what
// the normal form alone does not: how two sizes compare, whether one is broadcast.
//
// An atom that nothing bounds from below is any int, and what is computed of it may wrap around. Sums and products are
// the same polynomial all the same, but nothing is taken out of a quotient or a comparison then. Numbers computed of
// sizes are taken to stay within 64 bits, as those of real tensors do. Of a quotient it is assumed that the
// divisor is not 0, which raises. Polynomials larger than a handful of terms are not known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace hearth {

class KnownSize {
 public:
  KnownSize() = default;
  KnownSize(int64_t constant) : kind_(Kind::kConstant), value_(constant) {}  // NOLINT(google-explicit-constructor)

  // Whether it is a constant.
  bool has_value() const { return kind_ == Kind::kConstant; }
  explicit operator bool() const { return has_value(); }
  int64_t operator*() const { return value_; }
  int64_t value_or(int64_t otherwise) const { return has_value() ? value_ : otherwise; }
  std::optional<int64_t> constant() const { return has_value() ? std::optional(value_) : std::nullopt; }

  bool is_expression() const { return kind_ == Kind::kExpression; }
  // Whether two that are the same are equal.
  bool is_known() const { return kind_ != Kind::kUnknown; }

  // The same number, or both unknown.
  bool operator==(const KnownSize&) const = default;
  auto operator<=>(const KnownSize&) const = default;

 private:
  friend class SizeAlgebra;
  enum class Kind : uint8_t { kUnknown, kConstant, kExpression };

  static KnownSize Expression(size_t index) {
    KnownSize size;
    size.kind_ = Kind::kExpression;
    size.value_ = static_cast<int64_t>(index);
    return size;
  }

  Kind kind_ = Kind::kUnknown;
  int64_t value_ = 0;  // the constant, or which polynomial
};

using KnownSizes = std::vector<KnownSize>;

// Null unless each is a constant, and at least 1.
std::optional<std::vector<int64_t>> ConstantsOf(const std::optional<KnownSizes>& sizes);

// Holds the polynomials that its KnownSizes refer to. Used by one thread.
class SizeAlgebra {
 public:
  // What run-time number an atom stands for: the caller's own numbering.
  using Source = std::pair<size_t, size_t>;

  // The same for the same source; `least` is what it is at least: 0 or more for a size, null for any int.
  KnownSize Atom(Source source, std::optional<int64_t> least);

  KnownSize Add(KnownSize a, KnownSize b);
  KnownSize Subtract(KnownSize a, KnownSize b) { return Add(a, Multiply(b, -1)); }
  KnownSize Multiply(KnownSize a, KnownSize b);
  // Rounded down, and what that leaves over, which has the divisor's sign.
  KnownSize Divide(KnownSize a, KnownSize b);
  KnownSize Remainder(KnownSize a, KnownSize b);

  // What an atom may well be; what a size then is, which proves nothing. Unknown if it is not said of all atoms.
  void Expect(KnownSize atom, int64_t likely);
  KnownSize Likely(KnownSize size) const;

  // Null: not known.
  std::optional<int64_t> Least(KnownSize size) const;
  std::optional<int64_t> Most(KnownSize size) const;
  // So many elements a tensor of these sizes has at least; a size of which nothing is known counts as 1.
  int64_t LeastElements(const KnownSizes& sizes) const;
  std::optional<bool> IsLess(KnownSize a, KnownSize b);
  bool IsAtLeast(KnownSize size, KnownSize least) { return IsLess(size, least) == false; }
  // Whether they are equal; null if that is not known.
  std::optional<bool> AreEqual(KnownSize a, KnownSize b);

  // ---- What holds for a while ----
  // The bounds of an atom, as they were.
  struct Bounds {
    size_t atom;
    std::optional<int64_t> least, most;
  };
  // Learns that a size is at least `least`. Narrows the bounds of the one atom that it is computed of, if that is a
  // size and no product; gives what they were, for Restore in the opposite order. Null: nothing was learned.
  std::optional<Bounds> LearnAtLeast(KnownSize size, int64_t least);
  void Restore(const Bounds& before);

  // If a and b are equal, an atom in one of them is something else. What it is then, if that can be told.
  struct Meaning {
    size_t atom;
    KnownSize means;
  };
  std::optional<Meaning> Solve(KnownSize a, KnownSize b);
  // The size with that known.
  KnownSize Substitute(KnownSize size, const Meaning& known);

  // "2*a0*a1 + 3", for logs and tests.
  std::string ToString(KnownSize size) const;

  // What a known size is made of, for who writes it down as arithmetic: a sum of products.
  struct Term {
    std::vector<size_t> atoms;  // in order; none: a constant
    int64_t coefficient;
    auto operator<=>(const Term&) const = default;
  };
  using Polynomial = std::vector<Term>;  // in order of atoms, no coefficient is 0
  Polynomial PolynomialOf(KnownSize size) const;
  // Of an atom that is a quotient or remainder: which, and of what. Null: it is a number that a run brings along.
  struct Division {
    bool is_quotient;
    KnownSize dividend, divisor;
  };
  std::optional<Division> DivisionOf(size_t atom) const;

 private:
  enum class Kind : uint8_t { kSource, kQuotient, kRemainder };
  struct Range {
    std::optional<int64_t> least, most;
  };
  // What follows for an atom from the bounds that are known now. It is asked for over and over, and divisions are
  // nested.
  struct Conclusion {
    uint64_t bounds_version = 0;
    Range range;
    bool of_sizes = false;  // whether what is computed of it cannot wrap around
  };
  struct AtomFacts {
    Kind kind;
    KnownSize a, b;                      // of which it is the quotient or remainder
    std::optional<int64_t> least, most;  // of a kSource
    std::optional<int64_t> likely;
    mutable Conclusion conclusion = {};
  };

  KnownSize Of(Polynomial polynomial);
  KnownSize Uneven(Kind kind, KnownSize a, KnownSize b);
  // The quotient if it comes out even whatever the atoms are.
  std::optional<Polynomial> Exactly(const Polynomial& dividend, const Term& divisor) const;
  std::optional<int64_t> LikelyAtom(size_t atom) const;
  // Whether what is computed of it cannot wrap around.
  bool IsOfSizes(KnownSize size) const;
  const Conclusion& ConclusionOf(size_t atom) const;
  Range RangeOfAtom(const AtomFacts& facts) const;
  Range RangeOf(const Term& term) const;
  Range RangeOf(KnownSize size) const;
  bool Mentions(const Polynomial& polynomial, size_t atom) const;
  KnownSize SubstituteIn(size_t atom, const Meaning& known);

  std::vector<AtomFacts> atoms_;
  uint64_t bounds_version_ = 1;
  std::map<Source, size_t> sources_;
  std::map<std::tuple<Kind, KnownSize, KnownSize>, size_t> uneven_;
  std::vector<Polynomial> polynomials_;
  std::map<Polynomial, size_t> indices_;
};

}  // namespace hearth
