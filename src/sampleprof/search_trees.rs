//! Name tables of LLVM 24 (`--md5-indexed-tables`): the lengths of three arrays, then the hashes in them: of the functions
//! with inlined callees, of the others, and of the names that have no record.
//!
//! Each array is a binary search tree in breadth-first order: the children of element `i` are elements `2i + 1` and
//! `2i + 2`. Descriptions of the format do not state how the numbers are stored, so this uses the form that fits the size
//! of the section. It is accepted only if every array is a search tree.

use crate::bytes::Cursor;
use crate::bytes::leb128::read_uleb128;
use crate::error::{Error, ErrorKind, Result};

/// Reads the hashes, in the order by which records refer to them.
///
/// # Errors
///
/// Unsupported if no form fits.
pub(super) fn read_search_trees(cursor: &mut Cursor<'_>) -> Result<Vec<u64>> {
    let forms: [fn(&mut Cursor<'_>) -> Result<u64>; 2] =
        [|cursor| read_uleb128(cursor, "number of names"), |cursor| cursor.u64("number of names")];
    for number in forms {
        let mut probe = cursor.clone();
        if let Some(hashes) = read_as(&mut probe, number) {
            *cursor = probe;
            return Ok(hashes);
        }
    }
    let what = "reading a name table of MD5 search trees in this form".to_string();
    let error = Error::from(ErrorKind::Unsupported { what });
    let error = error.with_llvm_detail("Unsupported sample profile format version");
    Err(cursor.place(error.with_hint("write the profile without the MD5 tables of LLVM 24")))
}

/// Reads the section with one form of the numbers; `None` if it does not fit.
fn read_as(cursor: &mut Cursor<'_>, number: fn(&mut Cursor<'_>) -> Result<u64>) -> Option<Vec<u64>> {
    let mut lens = [0; 3];
    for len in &mut lens {
        *len = usize::try_from(number(cursor).ok()?).ok()?;
    }
    let count = lens.iter().try_fold(0usize, |sum, len| sum.checked_add(*len))?;
    let left = cursor.left();
    if u64::try_from(count).ok()?.checked_mul(8)? != left {
        return None;
    }
    let bytes = cursor.take("MD5 of names", left).ok()?;
    let hashes: Vec<u64> =
        bytes.chunks_exact(8).filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?))).collect();
    let mut rest = hashes.as_slice();
    for len in lens {
        let (tree, after) = rest.split_at_checked(len)?;
        if !is_search_tree(tree) {
            return None;
        }
        rest = after;
    }
    Some(hashes)
}

/// Returns true if a walk from left to right finds increasing keys.
fn is_search_tree(keys: &[u64]) -> bool {
    let (mut path, mut at, mut last) = (Vec::new(), 0, None);
    loop {
        while at < keys.len() {
            path.push(at);
            at = 2 * at + 1;
        }
        let Some(next) = path.pop() else { return true };
        if last.is_some_and(|last| last >= keys[next]) {
            return false;
        }
        last = Some(keys[next]);
        at = 2 * next + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::Endian;

    fn section(numbers: &[u8], hashes: &[u64]) -> Vec<u8> {
        numbers.iter().copied().chain(hashes.iter().flat_map(|hash| hash.to_le_bytes())).collect()
    }

    fn read(bytes: &[u8]) -> Option<Vec<u64>> {
        let mut cursor = Cursor::new(bytes, 0, Endian::Little, "names");
        let hashes = read_search_trees(&mut cursor).ok()?;
        assert!(cursor.is_empty());
        Some(hashes)
    }

    #[test]
    fn numbers_of_both_forms_are_read() {
        let hashes = [40, 20, 60, 10, 30, 7, 5];
        assert_eq!(read(&section(&[5, 0, 2], &hashes)).unwrap(), hashes);
        let words: Vec<u8> = [5u64, 0, 2].iter().flat_map(|number| number.to_le_bytes()).collect();
        assert_eq!(read(&section(&words, &hashes)).unwrap(), hashes);
        assert!(read(&[0, 0, 0]).unwrap().is_empty());
    }

    #[test]
    fn other_sections_are_rejected() {
        let hashes = [40, 20, 60, 10, 30];
        let good = section(&[5, 0, 0], &hashes);
        for len in 0..good.len() {
            assert_eq!(read(&good[..len]), None, "{len} bytes");
        }
        assert_eq!(read(&section(&[4, 0, 0], &hashes)), None);
        // Sorted keys, and a key in the wrong subtree.
        assert_eq!(read(&section(&[5, 0, 0], &[10, 20, 30, 40, 50])), None);
        assert_eq!(read(&section(&[5, 0, 0], &[40, 20, 60, 10, 45])), None);
        assert_eq!(read(&section(&[2, 0, 0], &[7, 7])), None);
        let huge = section(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 1, 1], &hashes);
        assert_eq!(read(&huge), None);
    }
}
