//! Raw profiles (`.profraw`), versions 1 to 11: reader, writer, correlation.
