#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace hone::cli {

/// What every subcommand takes.
struct CommonOptions {
  DType dtype = DType::f32;
  bool dtype_given = false;
  std::string device = "auto";
  std::string tuning;  ///< a file of a GPU's fastest products; empty: none
  int threads = 0;     ///< 0: the cores that the process may use
  bool json = false;
  bool quiet = false;

  /// Absent: what the model folder is stored in.
  std::optional<DType> wanted_dtype() const {
    return dtype_given ? std::optional(dtype) : std::nullopt;
  }
};

/// The options of one subcommand. Dash and underscore are alike in every name; an unknown name is
/// a usage error with the nearest known one. Values are written when parse() succeeds in reading
/// them; what is not given keeps its value.
class Arguments {
 public:
  /// `command` as "predict"; `summary` is the first line of its help.
  Arguments(std::string command, std::string summary);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  /// `names` as "--model,--model_name_or_path"; `value` is how help shows the value: "DIR".
  void text(const std::string& names, const std::string& value, std::string& target,
            const std::string& help);
  void integer(const std::string& names, int64_t low, int64_t high, int64_t& target,
               const std::string& help);
  void real(const std::string& names, double low, double high, double& target,
            const std::string& help);
  void flag(const std::string& names, bool& target, const std::string& help);
  /// An argument without a name; shown as `name`.
  void positional(const std::string& name, std::string& target, const std::string& help);
  /// Options from here on are shown by --help-all alone, so that --help fits a screen.
  void advanced();
  /// A name that users bring along from elsewhere: the answer to it says what to use here.
  void replaced(const std::string& name, const std::string& advice);
  /// The last lines of the help, without "Example:".
  void example(const std::string& line);

  /// --device, --dtype, --threads, --json, --quiet. Help shows them last.
  CommonOptions& common() { return common_; }
  /// Where --dtype means what is written rather than how to compute, fp16 is one too.
  void allow_fp16() { allow_fp16_ = true; }

  /// False where help or the version was asked for: `answer` is to be printed, nothing else done.
  bool parse(const std::vector<std::string>& arguments, std::string& answer);

 private:
  struct App;
  void declare_common();
  void take_dtype(const std::string& dtype);
  std::string spelled(const std::string& argument) const;
  /// Trainer's users write `--fp16 True`.
  bool is_switch_value(const std::string& option, const std::string& word) const;

  std::string command_;
  std::unique_ptr<App> app_;
  CommonOptions common_;
  bool allow_fp16_ = false;
};

/// The one of `known` that a misspelt `name` most likely means; none where nothing is near.
std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& known);

/// --model of a subcommand that needs one.
void require_model(const std::string& model);

}  // namespace hone::cli
