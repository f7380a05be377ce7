//! Members that are not part of the format: kept as they are, or passed over.

use super::part::KNOWN_EXTENSIONS;
use super::{Reader, Sink};
use crate::iprof::document::TopMember;
use crate::iprof::findings::{Code, Level};
use crate::iprof::json::{self, Scan, Shape, Stop};
use crate::iprof::names;
use crate::iprof::window::{Elements, StopReason, Window};
use crate::memory::TryReserve;

impl<S: Sink> Reader<'_, S> {
    /// A member that is not part of the format.
    pub(super) fn other(&mut self, name: &[u8], window: &mut Window<'_>) -> Result<(), StopReason> {
        let offset = window.offset();
        let mut keep = Keep { keep: !self.options.drop_unknown, ..Keep::default() };
        if window.step(|scan, _| scan.shape())? == Shape::Array {
            // Element by element, so that only what is kept needs memory.
            keep.value.push(b'[');
            window.elements(&mut keep)?;
            keep.value.push(b']');
        } else {
            window.value(&mut keep)?;
        }
        self.wrote(keep.value.len() as u64);
        let message = "the member is not part of the format; it is kept as it is";
        let (level, group) = if KNOWN_EXTENSIONS.contains(&name) {
            (Level::Info, "known members")
        } else {
            (Code::UnknownSection.level(), "members")
        };
        let path = names::display(name);
        self.reading.findings.report_as(level, Code::UnknownSection, group, Some(offset), path, message);
        if !self.options.drop_unknown {
            self.reading.layout.push(TopMember::Other(name.into(), keep.value.into()));
        }
        Ok(())
    }
}

/// Keeps the text of a value that nobody interprets.
#[derive(Default)]
struct Keep {
    value: Vec<u8>,
    element: Vec<u8>,
    keep: bool,
    out_of_memory: bool,
}

impl Elements for Keep {
    fn parse(&mut self, scan: &mut Scan<'_>, _: u64, _: usize) -> Result<(), Stop> {
        let text = scan.skip()?;
        self.element.clear();
        self.out_of_memory |= self.keep && !self.element.try_reserve_more(text.len());
        if self.keep && !self.out_of_memory {
            json::write_compact(&mut self.element, text);
        }
        Ok(())
    }

    fn commit(&mut self, index: usize) -> bool {
        if self.keep && index > 0 {
            self.value.push(b',');
        }
        let has_room = !self.out_of_memory && self.value.try_reserve_more(self.element.len() + 2);
        if has_room {
            self.value.append(&mut self.element);
        }
        has_room
    }
}
