//! Names of functions without the suffixes that LLVM adds to copies of them.

/// Suffixes of copies, in the order in which they are cut.
const SUFFIXES: [&[u8]; 2] = [b".llvm.", b".part."];

/// Suffixes of symbols for parts of functions that debug info does not have, in the order in which they are cut.
const PART_SUFFIXES: [&[u8]; 5] = [b".cleanup", b".destroy", b".resume", b".cold", b".warm"];

/// Suffixes of symbols for copies of functions that debug info does not have, in the order in which they are cut.
const COPY_SUFFIXES: [&[u8]; 5] = [b".llvm.", b".part.", b".isra.", b".constprop.", b".lto_priv."];

/// The name of the function in the source, of which the linker knows a copy.
pub(super) fn canonical(name: &[u8]) -> &[u8] {
    cut(name, &SUFFIXES)
}

/// The name of a symbol without the suffixes that debug info does not have.
pub(super) fn without_suffixes(name: &[u8]) -> &[u8] {
    without_copy_suffixes(cut(name, &PART_SUFFIXES))
}

/// Like [`without_suffixes`], for functions only, not for their parts.
pub(super) fn without_copy_suffixes(name: &[u8]) -> &[u8] {
    cut(name, &COPY_SUFFIXES)
}

fn cut<'n>(name: &'n [u8], suffixes: &[&[u8]]) -> &'n [u8] {
    suffixes.iter().fold(name, |name, suffix| {
        let Some(at) = memchr::memmem::rfind(name, suffix) else { return name };
        let is_last = !name[at + suffix.len()..].contains(&b'.');
        if is_last { &name[..at] } else { name }
    })
}

/// Returns true for a mangled name of C++ or Rust.
pub(super) fn is_mangled(name: &[u8]) -> bool {
    [&b"_Z"[..], b"_R", b"?"].iter().any(|prefix| name.starts_with(prefix))
}

/// Functions without a body of their own in the source. All translation units have one of the same name.
const AMBIGUOUS: [&[u8]; 2] = [b"__cxx_global_var_init", b"__tls_init"];

/// Returns true for a name that many functions have.
pub(super) fn is_ambiguous(name: &[u8]) -> bool {
    AMBIGUOUS.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_name_of_its_function() {
        for (name, expected) in [
            ("aa.llvm.123", "aa"),
            ("dd.part.0.llvm.77", "dd"),
            ("dd.part.0", "dd"),
            ("ee.__uniq.12.llvm.5", "ee.__uniq.12"),
            ("ff.llvm.5.cold", "ff.llvm.5.cold"),
            ("cc.cold", "cc.cold"),
            ("plain", "plain"),
        ] {
            assert_eq!(canonical(name.as_bytes()), expected.as_bytes(), "{name}");
        }
    }

    #[test]
    fn initializers_of_translation_units_are_ambiguous() {
        assert!(is_ambiguous(b"__cxx_global_var_init.3"));
        assert!(is_ambiguous(b"__tls_init"));
        assert!(!is_ambiguous(b"_GLOBAL__sub_I_a.cpp"));
    }
}
