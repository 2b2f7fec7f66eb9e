// Which of the compiled levels of instructions runs.
#pragma once

#include <string>
#include <vector>

#include "kernels/tables.hpp"

namespace mt {

// The kernels of the level in use; there is one from the first call of `use_level` on.
const Tables& kernels();

// Name of the level in use.
const char* level_name();

// Levels that were built and that this processor has, lowest first.
std::vector<std::string> levels();

// Uses a level of `levels()`, or the highest where `name` is empty; false where there is none of that name.
bool use_level(const std::string& name);

}  // namespace mt
