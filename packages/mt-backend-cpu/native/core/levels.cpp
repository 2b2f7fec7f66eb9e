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

const std::vector<Level>& all() {
    static const std::vector<Level> found = {
#ifdef MT_HAS_v2
        {"v2", &v2::tables, bool(__builtin_cpu_supports("x86-64-v2"))},
#endif
#ifdef MT_HAS_v3
        {"v3", &v3::tables, bool(__builtin_cpu_supports("x86-64-v3"))},
#endif
#ifdef MT_HAS_v4
        {"v4", &v4::tables, bool(__builtin_cpu_supports("x86-64-v4"))},
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
