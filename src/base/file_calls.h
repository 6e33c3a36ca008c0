#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace hone {

/// The kinds of system calls that change what is on a disk.
enum class FileCall { create, make_folder, write, sync, rename, remove, link };

/// Sees every call of the functions below before it is made, from whichever thread makes it. Tests
/// let calls fail, or a process die, at any of them.
class FileCallHook {
 public:
  virtual ~FileCallHook() = default;
  /// The call is made where no value is returned. Otherwise it is not made and fails with that
  /// errno; 0 lets it seem to succeed. `to` is the new name of a rename or a link.
  virtual std::optional<int> before(FileCall call, const std::string& path,
                                    const std::string& to) = 0;
};

/// Sets the hook of this process; null, as at the start, removes it. No file may be in writing
/// meanwhile.
void set_file_call_hook(FileCallHook* hook);

// Whatever must survive a crash is written through these functions. A result of false or -1 leaves
// the reason in errno.

/// Opens a file for writing with O_CREAT and `flags`; gives its descriptor.
int create_file(const std::string& path, int flags);
bool make_folder(const std::string& path);
/// Makes what is missing of a folder and of those that it is in, and syncs their names.
bool make_folders(const std::string& path);
/// Writes all bytes to a descriptor of `path`.
bool write_bytes(int descriptor, const std::string& path, std::string_view bytes);
/// Waits until a file's contents are on the disk. A device that cannot say so is no failure.
bool sync_file(int descriptor, const std::string& path);
/// Waits until the names in a folder are on the disk. A folder that may not be read is no failure.
bool sync_folder(const std::string& path);
/// Gives the folder that `path` is a name in.
std::string folder_of(const std::string& path);
bool rename_path(const std::string& from, const std::string& to);
/// Gives a file a second name, which must not be there yet.
bool link_path(const std::string& from, const std::string& to);
bool remove_file(const std::string& path);
/// Removes a file, or a folder with all that is in it; links are not followed. It is no failure
/// that nothing is there.
bool remove_tree(const std::string& path);

/// The kind of error that a file or folder which cannot be created is: the mistake of whoever named
/// it, or io where the disk is at fault.
ErrorKind creation_error_kind(int error);

}  // namespace hone
