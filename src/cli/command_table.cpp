// What the program can do; hone-small has another table, small/command_table.cpp.
#include <array>

#include "cli/commands.h"

namespace hone::cli {
namespace {

constexpr std::array<Command, 16> kCommands = {{
    {"train", "fine-tune a classifier, or train one from nothing", train},
    {"predict", "label texts or images with a classifier", predict},
    {"eval", "score a classifier on a task or a labelled file", eval},
    {"explain", "say why texts get their labels", explain},
    {"embed", "turn texts or images into vectors", embed},
    {"tokenize", "show how texts become token ids", tokenize},
    {"info", "what this build, this machine and a model have", info},
    {"prep", "make raw reviews a store of entries to train on", prep},
    {"convert", "write a model folder in another dtype", convert},
    {"bench", "measure forward passes", bench},
    {"profile", "show where the time and memory of a command go", profile, true},
    {"study", "measure many cases, again and again, and compare", study},
    {"doctor", "look for what is wrong or slow here, or in a profile", doctor},
    {"report", "show runs, profiles and studies as a page", report, true},
    {"serve", "answer requests over HTTP", serve, true},
    {"completion", "what makes a shell complete hone's options", completion},
}};

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace hone::cli
