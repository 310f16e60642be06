"""Models that nobody here wrote, with seeded random weights: recipes by library, and archives of some of them on disk."""
