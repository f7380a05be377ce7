//! List files and remapping files.

use profbridge::Compat;
use profbridge::input::parse_list;
use profbridge::instr::Remapping;

/// List files. Only names and weights are read; the file system is not accessed.
pub fn list(data: &[u8]) {
    for compat in [Compat::Profbridge, Compat::Llvm22] {
        for entry in parse_list(data, compat) {
            let Ok(entry) = entry else { continue };
            assert!(!entry.path.as_os_str().as_encoded_bytes().contains(&b'\n'));
        }
    }
}

/// Remapping files. Renamed names contain no spaces.
pub fn remapping(data: &[u8]) {
    let Ok(remapping) = Remapping::parse(data) else { return };
    for word in data.split(|byte| matches!(byte, b' ' | b'\n' | b'\r')) {
        let renamed = remapping.apply(word);
        assert!(!renamed.contains(&b' ') && !renamed.contains(&b'\n'));
    }
}
