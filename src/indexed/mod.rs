//! Indexed profiles (`.profdata`), versions 1 to 13: reader, lookup, writer.
