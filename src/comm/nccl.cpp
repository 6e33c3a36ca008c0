// The one place that knows NCCL's functions, whose binary interface is the same in all versions 2.

#include "comm/nccl.h"

#include <array>
#include <cstring>

#include "base/error.h"
#include "base/library.h"
#include "base/plugin.h"

namespace hone::comm {
namespace {

struct NcclId {
  std::array<char, 128> bytes;
};
using NcclHandle = void*;
constexpr int kNcclSuccess = 0;
constexpr int kNcclInProgress = 7;
constexpr int kNcclFloat = 7;
constexpr int kNcclSum = 0;

struct NcclApi {
  int (*version)(int* number) = nullptr;
  const char* (*words)(int code) = nullptr;
  int (*make_id)(NcclId* id) = nullptr;
  int (*open)(NcclHandle* handle, int size, NcclId id, int rank) = nullptr;
  int (*all_reduce)(const void* from, void* to, size_t count, int dtype, int op, NcclHandle handle,
                    void* stream) = nullptr;
  int (*error)(NcclHandle handle, int* code) = nullptr;
  int (*abort)(NcclHandle handle) = nullptr;
};

struct OpenedNccl {
  NcclApi api;
  NcclInfo info;
};

OpenedNccl open_nccl(const std::string& path) {
  OpenedNccl opened;
  const Library library = open_library(path);
  opened.info.missing = library.missing;
  if (!library.handle) return opened;
  const auto take = [&](auto& function, const char* name) {
    function = find_function<std::remove_reference_t<decltype(function)>>(library, name);
    if (!function) opened.info.missing = path + " has no " + name;
  };
  take(opened.api.version, "ncclGetVersion");
  take(opened.api.words, "ncclGetErrorString");
  take(opened.api.make_id, "ncclGetUniqueId");
  take(opened.api.open, "ncclCommInitRank");
  take(opened.api.all_reduce, "ncclAllReduce");
  take(opened.api.error, "ncclCommGetAsyncError");
  take(opened.api.abort, "ncclCommAbort");
  if (!opened.info.missing.empty()) return opened;
  opened.api.version(&opened.info.version);
  opened.info.library = path;
  return opened;
}

const OpenedNccl& opened_nccl() {
  static const OpenedNccl opened = open_nccl(plugin_path("HONE_NCCL", "libnccl.so.2"));
  return opened;
}

void check_nccl(int code, const char* what) {
  if (code == kNcclSuccess || code == kNcclInProgress) return;
  fail(ErrorKind::failed, "NCCL cannot {}: {}", what, opened_nccl().api.words(code));
}

}  // namespace

const NcclInfo& nccl_info() { return opened_nccl().info; }

NcclSums::NcclSums(Communicator& ranks) {
  if (const std::string& missing = nccl_info().missing; !missing.empty()) {
    fail(ErrorKind::unsupported, "NCCL cannot be used: {}", missing);
  }
  NcclId id{};
  if (ranks.rank() == 0) check_nccl(opened_nccl().api.make_id(&id), "start");
  ranks.broadcast(id.bytes.data(), id.bytes.size());
  check_nccl(opened_nccl().api.open(&handle_, ranks.size(), id, ranks.rank()), "join the ranks");
}

NcclSums::~NcclSums() {
  if (handle_) opened_nccl().api.abort(handle_);
}

void NcclSums::start(float* data, int64_t count, void* stream) {
  check_nccl(opened_nccl().api.all_reduce(data, data, static_cast<size_t>(count), kNcclFloat,
                                          kNcclSum, handle_, stream),
             "sum");
}

void NcclSums::check() const {
  int code = kNcclSuccess;
  check_nccl(opened_nccl().api.error(handle_, &code), "tell whether it failed");
  check_nccl(code, "sum");
}

}  // namespace hone::comm
