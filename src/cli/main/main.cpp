#include "cli/commands.h"

int main(int count, char** words) { return hone::cli::run({words + 1, words + count}); }
