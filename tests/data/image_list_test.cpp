#include "data/image_list.h"

#include <set>

#include "data/image_processor.h"
#include "data/reading.h"
#include "data/sample_store.h"
#include "image/png_writer.h"

namespace hone::data {
namespace {

class ImageListTest : public testing::Test {
 protected:
  std::string image(const std::string& name) {
    return folder_.write(name, image::png_of(image::Image(1, 1)));
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  /// What an error says of this test's folder.
  template <typename Work>
  std::string complaint(Work work) const {
    const std::string message = error_of(work);
    return message.starts_with(path("")) ? message.substr(path("").size()) : message;
  }
  std::vector<std::string> names_of(const ImageList& list) const {
    std::vector<std::string> names;
    for (const auto& item : list.items) names.push_back(item.path.substr(path("").size()));
    return names;
  }

  TemporaryFolder folder_;
};

TEST_F(ImageListTest, AFolderOfClassesIsInTheOrderOfImageFolder) {
  // os.walk's folders and files, both sorted: "b-c" is before "b/x", for '-' is before '/'.
  for (const char* name :
       {"t/b/2.png", "t/b/10.JPG", "t/b/x/1.png", "t/b/x-y/1.png", "t/B/1.webp", "t/é ü/1.jpeg",
        "t/10/1.png", "t/2/1.png", "t/.hidden/1.png", "t/b/.1.png", "t/b/a"}) {
    image(name);
  }
  folder_.write("t/b/notes.txt", "no image");
  folder_.write("t/b/b.bmp", "BM");
  std::filesystem::create_directory(path("t/empty"));
  const ImageList list = images_by_class(path("t"));
  EXPECT_EQ(list.classes, (std::vector<std::string>{"10", "2", "B", "b", "empty", "é ü"}));
  EXPECT_EQ(names_of(list),
            (std::vector<std::string>{"t/10/1.png", "t/2/1.png", "t/B/1.webp", "t/b/10.JPG",
                                      "t/b/2.png", "t/b/a", "t/b/b.bmp", "t/b/x/1.png",
                                      "t/b/x-y/1.png", "t/é ü/1.jpeg"}));
  EXPECT_EQ(list.items.back().label, "é ü");
}

TEST_F(ImageListTest, LinksAreFollowedAndCirclesRefused) {
  image("t/a/1.png");
  image("elsewhere/2.png");
  std::filesystem::create_directory_symlink(path("elsewhere"), path("t/b"));
  std::filesystem::create_symlink(path("nowhere"), path("t/a/gone.png"));
  EXPECT_EQ(names_of(images_by_class(path("t"))),
            (std::vector<std::string>{"t/a/1.png", "t/a/gone.png", "t/b/2.png"}));
  std::filesystem::create_directory_symlink(path("t"), path("t/a/up"));
  EXPECT_EQ(complaint([&] { images_by_class(path("t")); }).substr(0, 36),
            "t/a/up/a: links in a circle: it lead");
  EXPECT_NE(complaint([&] { images_in(path("t")); }).find("links in a circle"), std::string::npos);
}

TEST_F(ImageListTest, FoldersThatHaveNothing) {
  EXPECT_EQ(complaint([&] { images_by_class(path("none")); }),
            "none: cannot open: not a folder, or not there");
  std::filesystem::create_directory(path("t"));
  EXPECT_EQ(complaint([&] { images_by_class(path("t")); }),
            "t: no classes: expected a folder of images for each");
  std::filesystem::create_directory(path("t/a"));
  EXPECT_EQ(complaint([&] { images_by_class(path("t")); }), "t: no images in its 1 classes");
  EXPECT_EQ(complaint([&] { images_in(path("t")); }), "t: no images");
  image("t/a/1.png");
  const ImageList one = images_by_class(path("t"));
  EXPECT_EQ(complaint([&] { image_labels(one); }),
            "t: label: expected at least two classes, got only 'a' (1 rows)");
  std::filesystem::create_directory(path("t/\xff"));
  EXPECT_NE(complaint([&] { images_by_class(path("t")); }).find("its name is not UTF-8"),
            std::string::npos);
}

TEST_F(ImageListTest, ClassesThatTrainingDoesNotHaveAreRefused) {
  image("t/a/1.png");
  image("t/b/1.png");
  image("v/a/1.png");
  image("v/c/1.png");
  const LabelSet known = image_labels(images_by_class(path("t")));
  EXPECT_EQ(known.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(complaint([&] { check_labels(images_by_class(path("v")), known); }),
            "v/c/1.png: class 'c': is not among the 2 classes of the training set");
}

TEST_F(ImageListTest, ListsInFilesAreRelativeToThem) {
  image("t/1.png");
  const std::string file = folder_.write("t/all.csv", "path,label\n1.png,x\n/abs/2.png,y\n");
  const ImageList list = images_listed(file, true);
  EXPECT_EQ(list.items.at(0).path, path("t/1.png"));
  EXPECT_EQ(list.items.at(1).path, "/abs/2.png");
  EXPECT_EQ(image_labels(list).names, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(images_listed(folder_.write("l.txt", "a.png\n"), false).items.at(0).path,
            path("a.png"));
  EXPECT_EQ(complaint([&] { images_listed(folder_.write("e.csv", "path,label\n,x\n"), true); }),
            "e.csv: line 2: path: empty, expected an image's");
  EXPECT_EQ(complaint([&] {
              images_listed(folder_.write("f.jsonl", "{\"path\":\"a\",\"label\":\"\"}\n"), true);
            }),
            "f.jsonl: line 1: label: missing");
  EXPECT_EQ(complaint([&] { images_listed(folder_.write("g.txt", ""), false); }),
            "g.txt: no samples");
}

TEST_F(ImageListTest, AShareOfEachClassIsSetApartByTheSeed) {
  ImageList all{"t", {}, {"a", "b", "c"}};
  for (int i = 0; i < 100; ++i) all.items.push_back({"a" + std::to_string(i), "a"});
  for (int i = 0; i < 10; ++i) all.items.push_back({"b" + std::to_string(i), "b"});
  all.items.push_back({"c0", "c"});
  const auto paths_of = [](const ImageList& list) {
    std::set<std::string> paths;
    for (const auto& item : list.items) paths.insert(item.path);
    return paths;
  };
  const auto split = [&](uint64_t seed) {
    ImageList rest = all;
    const ImageList off = split_off(rest, 0.15, seed);
    EXPECT_EQ(off.items.size(), 17u);  // 15 of a, 2 of b, the only c stays
    std::set<std::string> both = paths_of(rest);
    both.merge(paths_of(off));
    EXPECT_EQ(both, paths_of(all));
    EXPECT_EQ(rest.items.size() + off.items.size(), all.items.size());
    return paths_of(off);
  };
  EXPECT_EQ(split(1), split(1));
  EXPECT_NE(split(1), split(2));
  ImageList some = all;
  keep_some(some, 20, 3);
  EXPECT_EQ(some.items.size(), 20u);
  EXPECT_EQ(image_labels(some).names, all.classes) << "classes do not hang on the choice";
  ImageList few{"t", {{"a", "a"}}, {}};
  EXPECT_EQ(error_of([&] { split_off(few, 0.5, 1); }),
            "t: 1 images are too few to set a share of 0.5 apart");
}

TEST_F(ImageListTest, AStoreFollowsTheImagesAndTheirLabels) {
  const std::string file = image("t/a/1.png");
  image("t/b/1.png");
  const ImageProcessor processor(square_image_options(2));
  const auto key = [&] {
    const ImageList list = images_by_class(path("t"));
    const SampleStoreRecipe recipe{processor, image_labels(list), {}};
    return store_key(image_split(list), recipe);
  };
  const Hash128 before = key();
  EXPECT_EQ(key(), before);
  folder_.write("t/a/1.png", image::png_of(image::Image(2, 1)));
  EXPECT_NE(key(), before);
  image("t/a/1.png");
  EXPECT_EQ(key(), before);
  std::filesystem::rename(path("t/a/1.png"), path("t/b/2.png"));
  EXPECT_NE(key(), before);
}

}  // namespace
}  // namespace hone::data
