// What a version of a model was called with and answered, so that its metadata can tell where no configuration does:
// for each input and output of its signature the datatypes seen and the shape that covers all shapes seen.
//
// One ObservedTensors is of one direction. A signature numbers its tensors; some of these numbers stand for any number
// of tensors ("images.*"), whose names a call chooses: those of the first call that has any are kept, with facts of
// their own, for as long as every later call has the same.
//
// What is kept only ever grows more general, a bounded number of times, however calls vary: a call that brings nothing
// new is compared with what is known, without a lock and without writing; else it is recorded under a lock.
#pragma once

#include <c10/util/ArrayRef.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/datatypes.h"

namespace hearth::server {

// A tensor of a call. Refers to the call's memory.
struct SeenTensor {
  size_t number = 0;      // the signature's
  std::string_view name;  // empty: the number stands for this one tensor
  const Datatype* datatype = nullptr;
  c10::IntArrayRef shape;
};

// The same with memory of its own: from a call's beginning, where it is compared, to its end, where it is known whether
// the call went well.
struct Sighting {
  explicit Sighting(const SeenTensor& tensor)
      : number(tensor.number), name(tensor.name), datatype(tensor.datatype), shape(tensor.shape.vec()) {}

  size_t number;
  std::string name;
  const Datatype* datatype;
  std::vector<int64_t> shape;
};

struct TensorFacts {
  std::vector<const Datatype*> datatypes;     // the one that was seen first comes first
  std::optional<std::vector<int64_t>> shape;  // -1 where it varied; none: the number of dimensions did
};

// Thread-safe.
class ObservedTensors {
 public:
  // Names kept, and bytes of each; a call that has more counts as one that varies.
  static constexpr size_t kMostNames = 256;
  static constexpr size_t kLongestName = 256;
  // A tensor of more dimensions counts as one whose number of dimensions varies.
  static constexpr size_t kMostDimensions = 16;

  explicit ObservedTensors(size_t tensors) : slots_(tensors) {}

  // Whether a call of these tensors brings nothing new. Takes no lock.
  bool Covers(std::span<const SeenTensor> call) const;
  void Record(std::span<const Sighting> call);

  size_t size() const { return slots_.size(); }
  // Of a tensor, or of all that a number stands for; none: not seen.
  std::optional<TensorFacts> FactsOf(size_t number) const;

  struct Named {
    size_t number = 0;
    std::string name;
    TensorFacts facts;
  };
  // The tensors that calls name, in the order of the first call; empty while none came, and once calls varied.
  std::vector<Named> named() const;

 private:
  // Fields are written under the record's lock and read without: each only moves from "unseen" over what was seen to
  // "varies", so that a reader who sees an old one finds news where there are none.
  class Slot {
   public:
    bool Covers(const Datatype& datatype, c10::IntArrayRef shape) const;
    void Add(const Datatype& datatype, c10::IntArrayRef shape);
    std::optional<TensorFacts> facts() const;

   private:
    static constexpr int kUnseen = -2;
    static constexpr int kVaries = -1;

    std::atomic<const Datatype*> first_{nullptr};
    std::atomic<uint32_t> datatypes_{0};  // a bit for each, by its number in configurations
    std::atomic<int> rank_{kUnseen};
    std::array<std::atomic<int64_t>, kMostDimensions> sizes_{};
  };
  struct NamedSlot {
    size_t number = 0;
    std::string name;
    Slot slot;
  };
  using NamedSlots = std::vector<NamedSlot>;

  // The place of a name, which is most likely `hint`.
  template <typename Slots>
  static auto Find(Slots& named, size_t number, std::string_view name, size_t hint) -> decltype(named.data());
  void RecordNames(std::span<const Sighting> call);

  std::vector<Slot> slots_;
  std::unique_ptr<NamedSlots> owned_;        // made once
  std::atomic<NamedSlots*> named_{nullptr};  // owned_, once its names are set
  std::atomic<bool> names_vary_{false};
  mutable std::mutex recording_;
};

// Of the calls of one method.
struct ObservedCalls {
  ObservedCalls(std::string method, size_t inputs, size_t outputs)
      : schema(std::move(method)), inputs(inputs), outputs(outputs) {}

  const std::string schema;
  ObservedTensors inputs, outputs;
};

}  // namespace hearth::server
