#include "data/image_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "data/sampler.h"
#include "image/decode.h"

namespace hone::data {
namespace {

namespace fs = std::filesystem;

/// The extensions that ImageFolder takes for images.
constexpr std::string_view kExtensions[] = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                            ".pgm", ".tif",  ".tiff", ".webp"};
constexpr size_t kMostDepth = 64;

struct Entries {
  std::vector<std::string> folders;  ///< names, sorted
  std::vector<std::string> files;
};

Entries entries_of(const std::string& folder) {
  Entries entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code broken;  // A link that leads nowhere is listed, and fails when it is read.
    (it->is_directory(broken) ? entries.folders : entries.files).push_back(name);
  }
  if (error) fail(ErrorKind::bad_file, "{}: cannot list: {}", folder, error.message());
  std::sort(entries.folders.begin(), entries.folders.end());
  std::sort(entries.files.begin(), entries.files.end());
  return entries;
}

/// Collects the images below a folder.
class Walk {
 public:
  explicit Walk(std::string label) : label_(std::move(label)) {}

  void enter(const std::string& folder) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error) fail(ErrorKind::bad_file, "{}: cannot open: {}", folder, error.message());
    if (std::find(above_.begin(), above_.end(), real) != above_.end()) {
      fail(ErrorKind::bad_file, "{}: links in a circle: it leads to {}, which it lies in", folder,
           real.string());
    }
    if (above_.size() == kMostDepth) {
      fail(ErrorKind::bad_file, "{}: more than {} folders deep", folder, kMostDepth);
    }
    above_.push_back(real);
    const Entries entries = entries_of(folder);
    by_folder_[folder];
    for (const std::string& name : entries.files) {
      const fs::path path = folder + "/" + name;
      std::error_code broken;
      const fs::file_type type = fs::status(path, broken).type();
      const bool special = type != fs::file_type::regular && type != fs::file_type::not_found;
      if (!special && (type == fs::file_type::not_found || looks_like_image(path.string()))) {
        by_folder_[folder].push_back({path.string(), label_});
      }
    }
    for (const std::string& name : entries.folders) enter(folder + "/" + name);
    above_.pop_back();
  }

  /// Appends what was found, folder by folder in the order of their whole paths, as ImageFolder.
  void append_to(std::vector<ImageList::Item>& items) const {
    for (const auto& [folder, found] : by_folder_) {
      items.insert(items.end(), found.begin(), found.end());
    }
  }

 private:
  std::string label_;
  std::vector<fs::path> above_;
  std::map<std::string, std::vector<ImageList::Item>> by_folder_;
};

void check_folder(const std::string& folder) {
  if (!folder_exists(folder)) {
    fail(ErrorKind::bad_file, "{}: cannot open: not a folder, or not there", folder);
  }
}

/// Gives the numbers below `size` in an order by the seed.
std::vector<int64_t> shuffled(int64_t size, uint64_t seed) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  const Permutation permutation(size, seed, 0);
  for (int64_t i = 0; i < size; ++i) order[static_cast<size_t>(i)] = permutation(i);
  return order;
}

/// Moves the marked items out of the list; gives them.
std::vector<ImageList::Item> take_marked(std::vector<ImageList::Item>& items,
                                         const std::vector<bool>& marked) {
  std::vector<ImageList::Item> taken, left;
  for (size_t i = 0; i < items.size(); ++i) {
    (marked[i] ? taken : left).push_back(std::move(items[i]));
  }
  items = std::move(left);
  return taken;
}

class ImageRecords : public RecordStream {
 public:
  ImageRecords(std::shared_ptr<const ImageList> list, bool labelled)
      : list_(std::move(list)), labelled_(labelled) {}

  bool next(Record& record) override {
    if (at_ == list_->items.size()) return false;
    const ImageList::Item& item = list_->items[at_++];
    record = {};
    record.text = item.path;
    if (labelled_) record.label = item.label;
    record.row = static_cast<int64_t>(at_);
    return true;
  }
  bool waiting() override { return true; }
  /// The image that a complaint is about names itself.
  std::string where(const Record& record) const override {
    return list_->items[static_cast<size_t>(record.row - 1)].path;
  }

 private:
  std::shared_ptr<const ImageList> list_;
  bool labelled_;
  size_t at_ = 0;
};

}  // namespace

bool looks_like_image(const std::string& path) {
  std::string extension = fs::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (std::find(std::begin(kExtensions), std::end(kExtensions), extension) !=
      std::end(kExtensions)) {
    return true;
  }
  const InputFile file(path);
  std::string begin(std::min<uint64_t>(file.size(), 12), '\0');
  file.read(0, begin.data(), begin.size());
  return !image::format_of(begin).empty();
}

ImageList images_by_class(const std::string& folder) {
  check_folder(folder);
  ImageList list{folder, {}, entries_of(folder).folders};
  if (list.classes.empty()) {
    fail(ErrorKind::bad_file, "{}: no classes: expected a folder of images for each", folder);
  }
  for (const std::string& name : list.classes) {
    if (!is_valid_utf8(name)) {
      fail(ErrorKind::bad_file, "{}: class {}: its name is not UTF-8", folder, quote(name));
    }
    Walk walk(name);
    walk.enter(folder + "/" + name);
    walk.append_to(list.items);
  }
  if (list.items.empty()) {
    fail(ErrorKind::bad_file, "{}: no images in its {} classes", folder, list.classes.size());
  }
  return list;
}

ImageList images_in(const std::string& folder) {
  check_folder(folder);
  ImageList list{folder, {}, {}};
  Walk walk("");
  walk.enter(folder);
  walk.append_to(list.items);
  if (list.items.empty()) fail(ErrorKind::bad_file, "{}: no images", folder);
  return list;
}

ImageList images_listed(const std::string& file, bool need_label, std::optional<Format> format) {
  ImageList list{file, {}, {}};
  const fs::path folder = file == "-" ? fs::path() : fs::path(file).parent_path();
  const auto records = open_records(file, {format, need_label});
  for (Record record; records->next(record);) {
    if (record.text.empty()) {
      fail(ErrorKind::bad_file, "{}: path: empty, expected an image's", records->where(record));
    }
    if (record.text.find('\0') != std::string::npos) {
      fail(ErrorKind::bad_file, "{}: path: has a zero byte", records->where(record));
    }
    if (record.labels) {
      fail(ErrorKind::bad_file, "{}: label: a list, expected one value", records->where(record));
    }
    if (need_label && (!record.label || record.label->empty())) {
      fail(ErrorKind::bad_file, "{}: label: missing", records->where(record));
    }
    list.items.push_back({(folder / record.text).string(), record.label.value_or("")});
  }
  if (list.items.empty()) fail(ErrorKind::bad_file, "{}: no samples", file);
  return list;
}

void keep_some(ImageList& list, int64_t most, uint64_t seed) {
  const int64_t size = std::ssize(list.items);
  if (most < 0 || most >= size) return;
  const std::vector<int64_t> order = shuffled(size, seed);
  std::vector<bool> kept(list.items.size());
  for (int64_t i = 0; i < most; ++i)
    kept[static_cast<size_t>(order[static_cast<size_t>(i)])] = true;
  list.items = take_marked(list.items, kept);
}

ImageList split_off(ImageList& list, double share, uint64_t seed) {
  std::map<std::string, int64_t> left;  // by label: those that may still go
  std::map<std::string, int64_t> counts;
  for (const ImageList::Item& item : list.items) ++counts[item.label];
  for (const auto& [label, count] : counts) {
    const auto wanted = static_cast<int64_t>(static_cast<double>(count) * share + 0.5);
    left[label] = std::min(wanted, count - 1);
  }
  std::vector<bool> taken(list.items.size());
  for (const int64_t number : shuffled(std::ssize(list.items), seed)) {
    const auto at = static_cast<size_t>(number);
    int64_t& more = left[list.items[at].label];
    if (more > 0) taken[at] = true;
    --more;
  }
  ImageList off{list.name + " (validation)", take_marked(list.items, taken), list.classes};
  if (off.items.empty()) {
    fail(ErrorKind::bad_file, "{}: {} images are too few to set a share of {} apart", list.name,
         list.items.size(), share);
  }
  return off;
}

Split image_split(ImageList list, bool labelled) {
  Split split;
  split.name = list.name;
  for (const ImageList::Item& item : list.items) {
    split.files.push_back(item.path);
    split.contents += item.path + '\0' + item.label + '\0';
  }
  const auto shared = std::make_shared<const ImageList>(std::move(list));
  split.open = [shared, labelled] { return std::make_unique<ImageRecords>(shared, labelled); };
  return split;
}

LabelSet image_labels(const ImageList& list) {
  if (list.classes.empty()) {
    return discover_labels(image_split(list));
  }
  check_classes(list.name, list.classes, std::ssize(list.items));
  return {ProblemType::single_label, list.classes};
}

void check_labels(const ImageList& list, const LabelSet& known) {
  if (known.problem != ProblemType::single_label) return;
  std::set<std::string> keys;
  for (const std::string& name : known.names) keys.insert(normal_label(name));
  for (const ImageList::Item& item : list.items) {
    if (keys.contains(normal_label(item.label))) continue;
    fail(ErrorKind::bad_file, "{}: class {}: is not among the {} classes of the training set",
         item.path, quote(item.label), known.names.size());
  }
}

}  // namespace hone::data
