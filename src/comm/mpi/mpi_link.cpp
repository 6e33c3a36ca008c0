// libhone_mpi.so: the one place that sees a header of MPI.

#include <mpi.h>

#include <map>
#include <string>

#include "base/error.h"
#include "base/version.h"
#include "comm/mpi_plugin.h"

namespace hone::comm {
namespace {

/// Messages of hone are apart from those of others in the process.
constexpr int kTag = 1;

void check_mpi(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail(ErrorKind::failed, "MPI cannot {}: {}", what,
       std::string_view(text, static_cast<size_t>(length)));
}

class MpiLink : public Link {
 public:
  MpiLink() {
    int given = 0;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given), "start");
    if (given < MPI_THREAD_SERIALIZED) {
      fail(ErrorKind::unsupported, "MPI cannot be used: it allows one thread alone");
    }
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &ranks_), "start");
    check_mpi(MPI_Comm_set_errhandler(ranks_, MPI_ERRORS_RETURN), "start");
    check_mpi(MPI_Comm_rank(ranks_, &rank_), "tell the rank");
    check_mpi(MPI_Comm_size(ranks_, &size_), "count the ranks");
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Request send(int to, const void* data, size_t bytes) override {
    MPI_Request& request = under_way_[++last_];
    check_mpi(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, kTag, ranks_, &request),
              "send");
    return last_;
  }

  Request receive(int from, void* data, size_t bytes) override {
    MPI_Request& request = under_way_[++last_];
    check_mpi(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, kTag, ranks_, &request),
              "receive");
    return last_;
  }

  bool finished(Request request) override {
    const auto found = under_way_.find(request);
    int done = 0;
    check_mpi(MPI_Test(&found->second, &done, MPI_STATUS_IGNORE), "finish a message");
    if (done != 0) under_way_.erase(found);
    return done != 0;
  }

  void close() override {
    MPI_Comm_free(&ranks_);
    MPI_Finalize();
  }

 private:
  MPI_Comm ranks_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  Request last_ = 0;
  std::map<Request, MPI_Request> under_way_;
};

const char* library_name() {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  // Open MPI goes on with who built it and when.
  static const std::string name(text, std::string_view(text).find(','));
  return name.c_str();
}

const MpiPlugin kPlugin = {kMpiInterface, kVersion, library_name,
                           []() -> Link* { return new MpiLink; }};

}  // namespace
}  // namespace hone::comm

extern "C" __attribute__((visibility("default"))) const hone::comm::MpiPlugin* hone_mpi_plugin() {
  return &hone::comm::kPlugin;
}
