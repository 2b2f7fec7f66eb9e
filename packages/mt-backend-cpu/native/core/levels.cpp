#include "core/levels.hpp"

namespace mt {

#define MT_DECLARE(LEVEL) \
    namespace LEVEL {     \
    extern const Tables tables; \
    }
#ifdef MT_HAS_v2
MT_DECLARE(v2)
#endif
#ifdef MT_HAS_v3
MT_DECLARE(v3)
#endif
#ifdef MT_HAS_v4
MT_DECLARE(v4)
#endif
#ifdef MT_HAS_baseline
MT_DECLARE(baseline)
#endif
#undef MT_DECLARE

namespace {

struct Level {
    const char* name;
    const Tables* tables;
    bool present;
};

#if defined(__x86_64__)
// What the levels of the x86-64 psABI ask for, by the names that older compilers know as well.
bool has_v2() { return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"); }

[[maybe_unused]] bool has_v3() {
    return has_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}

[[maybe_unused]] bool has_v4() {
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

const std::vector<Level>& all() {
    static const std::vector<Level> found = {
#ifdef MT_HAS_v2
        {"v2", &v2::tables, has_v2()},
#endif
#ifdef MT_HAS_v3
        {"v3", &v3::tables, has_v3()},
#endif
#ifdef MT_HAS_v4
        {"v4", &v4::tables, has_v4()},
#endif
#ifdef MT_HAS_baseline
        {"baseline", &baseline::tables, true},
#endif
    };
    return found;
}

const Level* used = nullptr;

}  // namespace

const Tables& kernels() { return *used->tables; }

const char* level_name() { return used->name; }

std::vector<std::string> levels() {
    std::vector<std::string> names;
    for (const Level& level : all())
        if (level.present) names.emplace_back(level.name);
    return names;
}

bool use_level(const std::string& name) {
    const Level* found = nullptr;
    for (const Level& level : all())
        if (level.present && (name.empty() || name == level.name)) found = &level;
    if (found == nullptr) return false;
    used = found;
    return true;
}

}  // namespace mt
