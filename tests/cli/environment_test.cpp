#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/arguments.h"

namespace hone::cli {
namespace {

/// Sets a variable of the environment for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

struct EnvironmentFlags {
  std::vector<std::string> models;
  int64_t tokens = 1;
};

EnvironmentFlags parse_with_environment(const Words& words) {
  Arguments arguments("test", "A test.");
  EnvironmentFlags flags;
  arguments.texts("--model,--model-id", "DIR", flags.models, "folders");
  arguments.integer("--max-batch-tokens", 1, 1 << 20, flags.tokens, "tokens");
  arguments.read_environment("HONE", {"--model-id"});
  std::string answer;
  EXPECT_TRUE(arguments.parse(words, answer));
  return flags;
}

using Models = std::vector<std::string>;

TEST(Environment, VariablesAreTakenUnderTheirPrefix) {
  const Variable tokens("HONE_MAX_BATCH_TOKENS", "7");
  const Variable other("MAX_BATCH_TOKENS", "8");
  EXPECT_EQ(parse_with_environment({}).tokens, 7);
  EXPECT_EQ(parse_with_environment({"--max_batch_tokens", "9"}).tokens, 9);
}

TEST(Environment, PlainNamesAreThoseThatWereNamed) {
  const Variable tokens("MAX_BATCH_TOKENS", "8");
  const Variable model("MODEL_ID", "a");
  const EnvironmentFlags flags = parse_with_environment({});
  EXPECT_EQ(flags.tokens, 1);
  EXPECT_EQ(flags.models, Models{"a"});
}

TEST(Environment, AnOptionGivenUnderAnotherNameTakesNoVariable) {
  const Variable model("MODEL_ID", "a");
  EXPECT_EQ(parse_with_environment({"--model", "b", "--model", "c"}).models, (Models{"b", "c"}));
  const Variable own("HONE_MODEL", "d");
  EXPECT_EQ(parse_with_environment({}).models, Models{"d"});
  EXPECT_EQ(parse_with_environment({"--model-id=e"}).models, Models{"e"});
}

}  // namespace
}  // namespace hone::cli
