#include "cli/flag_names.h"

#include <gtest/gtest.h>

#include "cli/program.h"

namespace hone::cli {
namespace {

std::string shown(ErrorKind kind, const std::string& message) {
  return with_flags(Error(kind, message));
}

TEST(FlagNames, TakeTheFieldsPlace) {
  EXPECT_EQ(shown(ErrorKind::usage, "max_length: 600 is more than the model's 512 positions"),
            "--max_seq_length: 600 is more than the model's 512 positions");
  EXPECT_EQ(shown(ErrorKind::unsupported, "dtype: use bf16 or `device` cpu"),
            "--dtype: use bf16 or --device cpu");
  EXPECT_EQ(shown(ErrorKind::memory, "give `batch.train`, or `batch.find_size`"),
            "give --per_device_train_batch_size, or --auto_find_batch_size");
}

TEST(FlagNames, LeaveTheRestAsItIs) {
  for (const char* message : {"", ": ", "`", "``", "`nothing` of `this` is a `field",
                              "output 'a: b'", "max_lengths: 3"}) {
    EXPECT_EQ(shown(ErrorKind::usage, message), message);
  }
  EXPECT_EQ(shown(ErrorKind::io, "output: cannot create"), "output: cannot create")
      << "a folder of that name";
  EXPECT_EQ(shown(ErrorKind::usage, "`it``device`"), "`it`--device");
}

TEST(FlagNames, AreThoseOfTheCommands) {
  std::string help = hone({"train", "--help-all"}).out;
  for (const char* command : {"predict", "convert", "explain", "serve", "prep", "study"}) {
    help += hone({command, "--help"}).out;
  }
  for (const FieldFlag& entry : field_flags()) {
    EXPECT_NE(help.find(entry.flag), std::string::npos) << entry.field << " " << entry.flag;
  }
}

TEST(FlagNames, AreWhatUsersSee) {
  const std::string said =
      hone({"predict", "--model", golden("bert-words"), "--max_seq_length", "25"}).err;
  EXPECT_EQ(said, "hone: --max_seq_length: 25 is more than the model's 24 positions\n");
}

}  // namespace
}  // namespace hone::cli
