//! The description of a text profile.

use super::reader::TextReader;
use crate::compat::Compat;
use crate::model::description::{Description, PartDescription};
use crate::model::summary::SummaryRules;
use crate::model::{ProfileReader, SummaryBuilder};

/// Describes a text profile. Records before a fault count.
pub(crate) fn describe(data: &[u8]) -> Description {
    let mut description = Description::new("LLVM text profile", data.len() as u64);
    description.supported = true;
    let mut reader = match TextReader::new(data, Compat::Profbridge) {
        Ok(reader) => reader,
        Err(error) => {
            description.set_error(&error);
            return description;
        }
    };
    let mut part = PartDescription::default();
    let mut records = 0u64;
    let mut summary = SummaryBuilder::new(SummaryRules::default());
    let fault = loop {
        match reader.next_record() {
            Ok(Some(item)) => {
                records += 1;
                summary.add_record(item.record);
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    part.variant = reader.kind().sentence_words();
    part.written_by = Some("all LLVM releases, 3.5 and later".to_string());
    part.read_by = Some("all LLVM releases that support its keywords".to_string());
    part.section("records", None, data.len() as u64, Some(records));
    let traces = reader.temporal().traces.len();
    if traces != 0 {
        part.fact("temporal traces", traces.to_string());
    }
    let total = summary.saturated_total();
    part.fact("largest count", summary.finish(&[]).max_count.to_string());
    part.fact("total count", total.to_string());
    description.parts.push(part);
    description.warnings = reader.take_warnings().iter().map(ToString::to_string).collect();
    if let Some(error) = fault {
        description.set_error(&error);
    }
    description
}
