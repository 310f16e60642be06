#include "jit/passes/common_subexpressions.h"

#include <ATen/core/Tensor.h>

#include <bit>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/analysis/pure_nodes.h"
#include "jit/compiler/compilation.h"
#include "jit/ir/closure.h"
#include "jit/ir/symbols.h"
#include "jit/operators/operator.h"

namespace hearth {
namespace {

// Words that tell nodes apart.
using Key = std::vector<uint64_t>;

struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t hash = 0x9e3779b97f4a7c15;
    for (const uint64_t word : key) hash = (hash ^ word) * 0xff51afd7ed558ccd, hash ^= hash >> 32;
    return hash;
  }
};

// Of a scalar or a tensor; empty for what is not pooled.
Key KeyOfConstant(const c10::IValue& value) {
  const auto key = [](char tag, uint64_t payload) { return Key{0, static_cast<uint64_t>(tag), payload}; };
  if (value.isNone()) return key('N', 0);
  if (value.isBool()) return key('b', value.toBool() ? 1 : 0);
  if (value.isInt()) return key('i', static_cast<uint64_t>(value.toInt()));
  if (value.isDouble()) return key('d', std::bit_cast<uint64_t>(value.toDouble()));
  if (value.isTensor()) {
    return key('t', reinterpret_cast<uintptr_t>(value.toTensor().unsafeGetTensorImpl()));
  }
  return {};
}

class Eliminator {
 public:
  explicit Eliminator(Compilation& compilation) : graph_(compilation.graph()), pure_(compilation.pure_nodes()) {}

  bool Run() {
    Walk(graph_.block());
    return changed_;
  }

 private:
  using Table = std::unordered_map<Key, Node*, KeyHash>;

  void Walk(Block* block) {
    tables_.emplace_back();
    for (Node* node : *block) {
      if (!node->blocks().empty()) {
        WalkInside(node);
        continue;
      }
      Key key = KeyOf(*node);
      if (key.empty()) continue;
      if (Node* same = Find(key)) {
        for (size_t i = 0; i < node->outputs().size(); ++i) node->output(i)->ReplaceAllUsesWith(same->output(i));
        node->Destroy();
        changed_ = true;
      } else {
        tables_.back().emplace(std::move(key), node);
      }
    }
    tables_.pop_back();
  }

  void WalkInside(Node* node) {
    std::vector<Table> around;
    const bool closure = IsClosure(*node);
    if (closure) std::swap(around, tables_);
    for (Block* block : node->blocks()) Walk(block);
    if (closure) std::swap(around, tables_);
  }

  Node* Find(const Key& key) const {
    for (const Table& table : tables_) {
      if (auto found = table.find(key); found != table.end()) return found->second;
    }
    return nullptr;
  }

  // Empty for a node that is not to be merged with others.
  Key KeyOf(const Node& node) const {
    if (node.outputs().empty()) return {};
    Key key;
    if (node.kind() == sym::kConstant) {
      key = KeyOfConstant(node.attribute<c10::IValue>(sym::kValueAttr));
    } else if (pure_.IsPure(node)) {
      key = {1, static_cast<uint64_t>(static_cast<c10::unique_t>(node.kind())), reinterpret_cast<uintptr_t>(node.op())};
      for (const Value* input : node.inputs()) key.push_back(input->id());
    }
    if (key.empty()) return {};
    // Equal types are mostly the same object; where they are not, nothing is merged.
    for (const Value* output : node.outputs()) key.push_back(reinterpret_cast<uintptr_t>(output->type().get()));
    return key;
  }

  Graph& graph_;
  const PureNodes& pure_;
  std::vector<Table> tables_;
  bool changed_ = false;
};

}  // namespace

bool EliminateCommonSubexpressions(Compilation& compilation) { return Eliminator(compilation).Run(); }

}  // namespace hearth
