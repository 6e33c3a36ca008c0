#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace hone::cli {

/// The most tokens of a text that a flag may ask for.
inline constexpr int64_t kMostTokens = 1 << 20;

/// The options that every subcommand takes.
struct CommonOptions {
  DType dtype = DType::f32;
  bool dtype_given = false;
  std::string device = "auto";
  std::string tuning;  ///< a file of a GPU's fastest products; empty: none
  int threads = 0;     ///< 0: the cores that the process may use
  bool json = false;
  bool quiet = false;

  /// Gives the dtype asked for; absent: what the model folder is stored in.
  std::optional<DType> wanted_dtype() const {
    return dtype_given ? std::optional(dtype) : std::nullopt;
  }
};

/// One option or argument of a subcommand, as help shows it.
struct DeclaredOption {
  std::vector<std::string> names;  ///< dashes included; an argument without a name has none
  std::string value;               ///< "DIR", or the argument's name; empty for a switch
  std::string help;
  bool advanced = false;  ///< whether --help-all alone lists it
};

/// Everything that a subcommand declares before it reads its arguments.
struct Declaration {
  std::string summary;
  std::string example;
  std::vector<DeclaredOption> options;
};

/// Runs a subcommand up to Arguments::parse(), which hands its declaration over in place of reading
/// anything. Completion scripts and the manual page are made of it, so that they name what --help
/// names.
Declaration declaration_of(int (*command)(const std::vector<std::string>& arguments));

/// The options of one subcommand. Dash and underscore are alike in every name; an unknown name is
/// a usage error with the nearest known one. Values are written when parse() succeeds in reading
/// them; what is not given keeps its value.
class Arguments {
 public:
  /// `command` is as in "predict"; `summary` is the first line of its help.
  Arguments(std::string command, std::string summary);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  /// Adds an option. `names` is as in "--model,--model_name_or_path"; `value` is how help shows the
  /// value: "DIR".
  void text(const std::string& names, const std::string& value, std::string& target,
            const std::string& help);
  /// Adds an option that may be given more than once; `target` gets all values in order.
  void texts(const std::string& names, const std::string& value, std::vector<std::string>& target,
             const std::string& help);
  /// Adds an option that takes one or more values each time it is given.
  void lists(const std::string& names, const std::string& value, std::vector<std::string>& target,
             const std::string& help);
  void integer(const std::string& names, int64_t low, int64_t high, int64_t& target,
               const std::string& help);
  void real(const std::string& names, double low, double high, double& target,
            const std::string& help);
  void flag(const std::string& names, bool& target, const std::string& help);
  /// Adds an argument without a name; shown as `name`.
  void positional(const std::string& name, std::string& target, const std::string& help);
  /// Lists options from here on by --help-all alone, so that --help fits a screen.
  void advanced();
  /// Adds a name that users bring along from elsewhere: the answer to it says what to use here.
  void replaced(const std::string& name, const std::string& advice);
  /// Sets the last lines of the help, without "Example:".
  void example(const std::string& line);

  /// Adds --device, --dtype, --threads, --json, --quiet. Help shows them last.
  CommonOptions& common() { return common_; }
  /// Lets --device take a list, separated by commas.
  void allow_devices() { allow_devices_ = true; }
  /// Takes options that are not given from the environment: `--max-batch-tokens` from
  /// PREFIX_MAX_BATCH_TOKENS, and from MAX_BATCH_TOKENS where `plain` has that option.
  void read_environment(std::string prefix, std::vector<std::string> plain);
  /// Leaves them out, for a subcommand that computes nothing.
  void without_common() { with_common_ = false; }
  /// Lets --dtype take fp16, where it means what is written rather than how to compute.
  void allow_fp16() { allow_fp16_ = true; }

  /// Reads the arguments. Gives false where help or the version was asked for: `answer` is to be
  /// printed, nothing else done.
  bool parse(const std::vector<std::string>& arguments, std::string& answer);

 private:
  struct App;
  void declare_common();
  Declaration declaration() const;
  void take_dtype(const std::string& dtype);
  std::string spelled(const std::string& argument) const;
  /// Says whether a word is a switch's value, because Trainer's users write `--fp16 True`.
  bool is_switch_value(const std::string& option, const std::string& word) const;

  std::string command_;
  std::unique_ptr<App> app_;
  CommonOptions common_;
  /// The words that stand for variables of the environment.
  std::vector<std::string> environment_words(const std::vector<std::string>& given) const;
  void take_devices(const std::string& names);

  bool with_common_ = true;
  bool allow_fp16_ = false;
  bool allow_devices_ = false;
  std::string environment_prefix_;
  std::vector<std::string> plain_variables_;
};

/// Gives the one of `known` that a misspelt `name` most likely means; none where nothing is near.
std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& known);

/// The help of --no_plan, in every subcommand that has it.
inline constexpr const char* kNoPlanHelp = "step by step, no memory shared: to compare";

/// Fails where a subcommand that needs --model has none.
void require_model(const std::string& model);

}  // namespace hone::cli
