#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/splits.h"

namespace hone::data {

/// Images in files, and how they are labelled.
struct ImageList {
  struct Item {
    std::string path;
    std::string label;  ///< empty where the list has no labels
  };
  std::string name;  ///< name in messages: the folder, or the file of the list
  std::vector<Item> items;
  /// The classes of a folder in the order of their names, those without an image too; none for a
  /// list in a file, whose labels are the ones that occur.
  std::vector<std::string> classes;
};

/// Says whether a file is an image by its extension or, in spite of that, by its first bytes.
bool looks_like_image(const std::string& path);

/// Reads a folder of classes in the order of torchvision's ImageFolder: the classes by name, in
/// each its folders and in them its files. What begins with '.' is passed over, and so is a file
/// that is an image neither by its extension nor by its first bytes. Links are followed; one to a
/// folder that it lies in is an error, as are a name that is not UTF-8 and a folder without
/// classes.
ImageList images_by_class(const std::string& folder);

/// Lists the images below a folder, which need not be classes, in the same order.
ImageList images_in(const std::string& folder);

/// Reads a list of paths: the records of a CSV, TSV, JSON lines or plain file ("-": standard
/// input). It has labels where `need_label`. A path that is not absolute begins where the list's
/// file lies, or in the current folder for standard input.
ImageList images_listed(const std::string& file, bool need_label,
                        std::optional<Format> format = std::nullopt);

/// Keeps at most so many items, chosen by the seed, in the order in which they were.
void keep_some(ImageList& list, int64_t most, uint64_t seed);

/// Takes about this share of every label's items out of the list, chosen by the seed, and gives
/// them; at least one of each label stays.
ImageList split_off(ImageList& list, double share, uint64_t seed);

/// Gives the list as a split, whose contents are those of its images. With `labelled` false its
/// records have no labels.
Split image_split(ImageList list, bool labelled = true);

/// Finds the labels of a training list; see discover_labels(). A folder's are its classes.
LabelSet image_labels(const ImageList& list);

/// Fails where a list has a label that is not among `known`, the training set's.
void check_labels(const ImageList& list, const LabelSet& known);

}  // namespace hone::data
