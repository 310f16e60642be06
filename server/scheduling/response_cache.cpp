#include "server/scheduling/response_cache.h"

#include <openssl/evp.h>

#include <exception>
#include <memory>
#include <utility>

#include "jit/support/memory_account.h"
#include "jit/support/tensors_in.h"
#include "server/scheduling/value_key.h"

namespace hearth::server {
namespace {

// Of an entry beside its answer.
constexpr size_t kEntryBytes = 512;

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new()) { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }
  void append(const void* bytes, size_t size) { EVP_DigestUpdate(context_.get(), bytes, size); }
  ResponseCache::Key Finish() {
    ResponseCache::Key key{};
    EVP_DigestFinal_ex(context_.get(), key.data(), nullptr);
    return key;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, FreeDigest> context_;
};

struct ByteCount {
  size_t bytes = kEntryBytes;
  void append(const void*, size_t size) { bytes += size; }
};

bool HasContents(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == at::kStrided && tensor.is_cpu() && !tensor.is_quantized();
}

bool AppendContents(Sha256& out, const at::Tensor& tensor) {
  if (!HasContents(tensor)) return false;
  AppendBytes(out, 'T');
  AppendBytes(out, tensor.scalar_type());
  AppendBytes(out, tensor.dim());
  for (const int64_t size : tensor.sizes()) AppendBytes(out, size);
  const at::Tensor contents = tensor.resolve_conj().resolve_neg().contiguous();
  out.append(contents.const_data_ptr(), contents.nbytes());
  return true;
}

// Nothing where there is no memory for it.
std::optional<c10::IValue> Copy(const c10::IValue& answer) {
  // It outlives its request, so it is not part of that one's memory.
  const MemoryAccount::Scope nobody(nullptr);
  try {
    return MapTensors(answer,
                      [](const at::Tensor& tensor) { return tensor.detach().clone(at::MemoryFormat::Contiguous); });
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<ResponseCache::Key> ResponseCache::KeyOf(uint64_t load, const DispatchedCall& call) {
  Sha256 hash;
  AppendBytes(hash, load);
  AppendText(hash, call.method);
  if (!AppendCall(hash, call.arguments, AppendContents)) return std::nullopt;
  return hash.Finish();
}

std::optional<c10::IValue> ResponseCache::Find(const Key& key) {
  std::lock_guard lock(mutex_);
  const auto found = found_.find(key);
  if (found == found_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->answer;
}

void ResponseCache::Put(const Key& key, const c10::IValue& answer) {
  ByteCount count;
  ValueKeyWriter writer(count, [](ByteCount& out, const at::Tensor& tensor) {
    if (!HasContents(tensor)) return false;
    out.bytes += kEntryBytes + tensor.nbytes();
    return true;
  });
  if (!writer.Append(answer) || count.bytes > most_bytes_) return;
  std::optional<c10::IValue> copy = Copy(answer);
  if (!copy) return;
  std::lock_guard lock(mutex_);
  if (found_.contains(key)) return;
  bytes_ += count.bytes;
  while (bytes_ > most_bytes_) DropOldest();
  entries_.push_front({key, *std::move(copy), count.bytes});
  found_.emplace(key, entries_.begin());
}

void ResponseCache::DropOldest() {
  bytes_ -= entries_.back().bytes;
  found_.erase(entries_.back().key);
  entries_.pop_back();
}

size_t ResponseCache::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace hearth::server
