//! Which compiler built an image.

use crate::limits::Limits;
use crate::model::Release;
use crate::objects::contents;
use object::Object;

/// The release of LLVM that the section `.comment` of an ELF file names:
/// `clang version 22.1.8`. The newest, where several compilers took part.
pub(super) fn release(file: &object::File<'_>, limits: &Limits) -> Option<Release> {
    let section = file.section_by_name(".comment")?;
    let text = contents(&section, limits).ok()?;
    text.split(|byte| *byte == 0).filter_map(release_of).max()
}

fn release_of(line: &[u8]) -> Option<Release> {
    let words = b"clang version ";
    let at = line.windows(words.len()).position(|window| window == words)?;
    let digits: String = line[at + words.len()..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .map(|byte| char::from(*byte))
        .collect();
    digits.parse().ok().map(Release)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_number_is_the_release() {
        assert_eq!(release_of(b"Debian clang version 16.0.6 (15~deb12u1)"), Some(Release(16)));
        assert_eq!(release_of(b"clang version 22.1.8"), Some(Release(22)));
        assert_eq!(release_of(b"GCC: (Debian 12.2.0) 12.2.0"), None);
        assert_eq!(release_of(b"clang version "), None);
    }
}
