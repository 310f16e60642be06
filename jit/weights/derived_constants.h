// Tensors that plans compute from a model's weights while they are made. The plans of a model share them: one that some
// plan holds is not made again, however many specs there are.
//
// The table is thread-safe; what the making of one plan has of it is that thread's. A tensor lives as long as somebody
// holds it, mostly the graphs of plans; what was only a step on the way to another one goes when its plan has been
// made, and is known by what it was made of if it is made again. What is given as `from` and did not come from here, a
// model's weight, lives as long as the table. All that is held at a time takes at most kMostCopies times what those
// weights take, and kAlwaysBytes in any case: a weight may be packed for several sizes, though many sizes want the
// same, and that is one tensor; and where weights need no packing, few of them are given. What is made without `from`,
// and of that alone, and is small, is held in any case. What the tables of all models hold has a bound of its own, in
// bytes, and counts for no MemoryAccount.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/UndefinedTensorImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <compare>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hearth {

// The bytes that a tensor lies in: fewer than its elements have where these are one, such as expand gives it.
size_t MemoryOf(const at::Tensor& tensor);

// Whether they are of the same sizes and hold the same bytes in the same order; never, where those are not on the CPU.
bool AreSame(const at::Tensor& a, const at::Tensor& b);

class DerivedConstantTable;

// What all tables of a process may hold together. Thread-safe.
class DerivedConstantBudget {
 public:
  explicit DerivedConstantBudget(size_t limit = std::numeric_limits<size_t>::max()) : limit_(limit) {}

 private:
  friend class DerivedConstantTable;

  // Whether that table may come to hold `bytes`. Its lock is held; those of others are only tried.
  bool TryHold(DerivedConstantTable& table, size_t bytes);
  size_t Sum() const;  // with the lock held

  const size_t limit_;
  mutable std::mutex mutex_;
  std::vector<DerivedConstantTable*> tables_;
};

class DerivedConstantTable {
 public:
  explicit DerivedConstantTable(
      std::shared_ptr<DerivedConstantBudget> budget = std::make_shared<DerivedConstantBudget>());
  ~DerivedConstantTable();
  DerivedConstantTable(const DerivedConstantTable&) = delete;
  DerivedConstantTable& operator=(const DerivedConstantTable&) = delete;

  static constexpr size_t kMostCopies = 5;
  static constexpr size_t kAlwaysBytes = size_t{16} << 20;
  // Of one tensor that is made of numbers alone, in however many steps, and held whatever the weights take.
  static constexpr size_t kMostBytesOfNumbers = size_t{64} << 10;
  // Of one purpose and the same tensors: another takes the place of one that nobody holds, else of the oldest, whose
  // tensor is not found any more.
  static constexpr size_t kMostVariants = 16;

  // `purpose` and `variant` say all that the result depends on beside `from`, some of which may be undefined. `make`
  // runs under the table's lock; on a GPU, what it asked for is done when this returns. Where it makes what is there
  // already of another variant of that purpose, that is given. Empty if it is not kept: there is no room for more, as
  // `lacks_room` then says if it is given.
  std::vector<at::Tensor> Get(const std::string& purpose, const std::string& variant,
                              const std::vector<at::Tensor>& from, const std::function<std::vector<at::Tensor>()>& make,
                              bool* lacks_room = nullptr);

  // Of those that somebody holds; a little earlier, where one is being made just now.
  size_t bytes() const;
  // How many tensors or lists of them it remembers that it made.
  size_t entries() const;

 private:
  using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

  // A tensor of the model's, or the one of that index that an entry of that number made.
  struct Source {
    const void* weight = nullptr;
    size_t entry = 0;
    size_t index = 0;
    auto operator<=>(const Source&) const = default;
  };
  struct Key {
    std::string purpose;
    std::vector<Source> from;
    std::string variant;
    auto operator<=>(const Key&) const = default;
  };

  struct Made {
    WeakTensor tensor;
    bool defined;
  };
  struct Entry {
    size_t number;
    std::vector<Made> made;  // empty at first
  };
  struct Origin {
    WeakTensor tensor;  // whose address nobody else gets as long as this is here
    Source source;
    bool of_numbers;         // and of no weight
    bool is_part_of_weight;  // whose memory it shares
  };

  friend class DerivedConstantBudget;

  Source SourceOf(const at::Tensor& tensor);
  bool IsOfNumbers(const at::Tensor& tensor) const;
  static std::optional<std::vector<at::Tensor>> Alive(const Entry& entry);
  static bool IsHeld(const Entry& entry);
  Entry& EntryOf(const Key& key);
  // Forgets what nobody holds, but for steps on the way to what somebody does.
  void Prune();
  // Another variant's tensors where they are the same.
  void Share(const Key& key, std::vector<at::Tensor>& tensors) const;
  // Whether it is a view of a weight that is among those it was made from. With the lock held, as the next.
  bool IsPartOfWeight(const at::Tensor& tensor, const std::vector<at::Tensor>& from) const;
  size_t BytesHeld() const;

  const std::shared_ptr<DerivedConstantBudget> budget_;
  mutable size_t held_ = 0;  // when it was last counted; under the budget's lock
  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
  size_t next_number_ = 0;
  size_t prune_at_ = 64;  // entries
  std::unordered_map<const void*, Origin> origins_;
  std::unordered_map<const void*, at::Tensor> weights_;
  size_t weight_bytes_ = 0;
};

// What the making of one plan has of the table.
class DerivedConstants {
 public:
  // `rest` is called after each tensor that was made, without any lock: making one may take long. May be empty; what it
  // throws ends the work.
  explicit DerivedConstants(DerivedConstantTable& table, std::function<void()> rest = {})
      : table_(table), rest_(std::move(rest)) {}

  // As DerivedConstantTable::Get.
  std::vector<at::Tensor> Get(const std::string& purpose, const std::string& variant,
                              const std::vector<at::Tensor>& from,
                              const std::function<std::vector<at::Tensor>()>& make);
  std::vector<at::Tensor> Get(const std::string& purpose, const std::vector<at::Tensor>& from,
                              const std::function<std::vector<at::Tensor>()>& make) {
    return Get(purpose, "", from, make);
  }
  // For other work between passes that takes long.
  void Rest() const {
    if (rest_) rest_();
  }
  // Whether there was no room for something that more room would have kept.
  bool lacks_room() const { return lacks_room_; }

 private:
  DerivedConstantTable& table_;
  const std::function<void()> rest_;
  bool lacks_room_ = false;
};

}  // namespace hearth
