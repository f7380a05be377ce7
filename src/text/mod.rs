//! Text profiles (`.proftext`): reader and writer.
