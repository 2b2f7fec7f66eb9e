"""Long runs: what must hold after a million nodes, 200,000 steps, 1,000 kills. ``./dev endurance``."""
