//! A path, folder, list or `-` becomes typed bytes: detection, mapping, gzip.
