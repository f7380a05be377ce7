//! Which names can stand in text as they are.

use crate::text::EXTERNAL;
use crate::text::numbers::parse_decimal;

/// What stands before a name, which decides whether the line reads as one.
#[derive(Debug, Default)]
pub(super) struct NamePlace {
    /// Some record was written.
    after_record: bool,
    /// Some record was written that LLVM sees.
    after_visible_record: bool,
}

impl NamePlace {
    /// Whether a reader would not take a function's name for a name here, so
    /// that its records have to be hidden from LLVM. Moves on behind them.
    pub(super) fn hides(&mut self, name: &[u8], has_several_records: bool) -> bool {
        // After a record, another of the same name too, digits alone are a
        // number of value kinds.
        let after_record = self.after_record || has_several_records;
        let hidden = match name.first() {
            None | Some(b'#') => true,
            Some(b':') if !self.after_visible_record => true,
            Some(_) => breaks_line(name) || (after_record && is_number(name)),
        };
        self.after_record = true;
        self.after_visible_record |= !hidden;
        hidden
    }
}

/// Whether a name stands for itself wherever in a text it is written, that of a target too.
pub(crate) fn is_plain_name(name: &[u8]) -> bool {
    let begins_plainly = name.first().is_some_and(|first| !matches!(first, b'#' | b':' | b'$'));
    begins_plainly && !breaks_line(name) && !is_number(name) && name != EXTERNAL
}

fn breaks_line(name: &[u8]) -> bool {
    name.ends_with(b"\r") || name.iter().any(|byte| matches!(byte, b'\n' | 0))
}

fn is_number(name: &[u8]) -> bool {
    parse_decimal(name).is_some_and(|number| number <= u32::MAX.into())
}

/// Whether a target's name can stand in front of `:COUNT`.
pub(super) fn is_speakable_target(name: &[u8]) -> bool {
    !name.is_empty()
        && name != EXTERNAL
        && !name.starts_with(b"#")
        && !name.iter().any(|byte| matches!(byte, b'\n' | 0))
}
