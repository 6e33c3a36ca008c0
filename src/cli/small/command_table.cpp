// What hone-small can do: use models and make them smaller. Training, studies and servers are
// hone's.
#include <array>

#include "cli/commands.h"

namespace hone::cli {
namespace {

constexpr std::array<Command, 6> kCommands = {{
    {"predict", "label texts or images with a classifier", predict},
    {"eval", "score a classifier on a task or a labelled file", eval},
    {"embed", "turn texts or images into vectors", embed},
    {"tokenize", "show how texts become token ids", tokenize},
    {"info", "what this build, this machine and a model have", info},
    {"convert", "write a model folder in another dtype", convert},
}};

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace hone::cli
