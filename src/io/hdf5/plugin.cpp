// What the program finds in libhone_hdf5.so.

#include "io/hdf5_plugin.h"

#include "base/version.h"
#include "io/hdf5/builder.h"
#include "io/hdf5/handle.h"

namespace hone::io {
namespace {

herr_t keep_first(unsigned, const H5E_error2_t* error, void* reason) {
  auto& text = *static_cast<std::string*>(reason);
  if (text.empty() && error->desc) text = error->desc;
  return 0;
}

std::string library_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  const std::lock_guard lock(hdf5_mutex());
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace

std::string hdf5_reason() {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
  H5Eclear2(H5E_DEFAULT);
  for (char& c : reason) {
    if (c == '\n') c = ' ';
  }
  return reason.empty() ? "HDF5 cannot do it" : "HDF5 says: " + reason;
}

}  // namespace hone::io

extern "C" __attribute__((visibility("default"))) const hone::io::Hdf5Plugin* hone_hdf5_plugin() {
  static const hone::io::Hdf5Plugin plugin = [] {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    return hone::io::Hdf5Plugin{hone::io::kHdf5Interface, hone::kVersion,
                                hone::io::new_builder,    hone::io::index_bytes,
                                hone::io::new_reader,     hone::io::library_version};
  }();
  return &plugin;
}
