//! Descriptions of files of each format.

pub(super) mod instr;
pub(super) mod other_formats;
#[cfg(feature = "correlate")]
pub(super) mod program;
pub(super) mod stacks;

use crate::compat::Compat;
use crate::error_report::ErrorReport;
use crate::iprof;
use crate::limits::Limits;
use crate::model::description::{Description, PartDescription};
use crate::model::{ProfileReader, SummaryBuilder, summary::SummaryRules};
use crate::text::TextReader;

/// An instrumentation profile in text.
pub(super) fn describe_text(data: &[u8]) -> Description {
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
    let summary = summary.finish(&[]);
    part.fact("largest count", summary.max_count.to_string());
    part.fact("total count", summary.total_count.to_string());
    description.parts.push(part);
    description.warnings = reader.take_warnings().iter().map(ToString::to_string).collect();
    if let Some(error) = fault {
        description.set_error(&error);
    }
    description
}

/// An iprof.
pub(super) fn describe_iprof(data: &[u8], limits: &Limits) -> Description {
    let mut description = Description::new("GraalVM iprof", data.len() as u64);
    description.supported = true;
    let options = iprof::ReadOptions { limits: *limits, ..iprof::ReadOptions::default() };
    let examination = iprof::examine(data, &options);
    let mut part = PartDescription { version: examination.version.clone(), ..PartDescription::default() };
    part.written_by = Some("GraalVM native images built with --pgo-instrument".to_string());
    part.read_by = Some("native-image --pgo".to_string());
    for (name, size) in &examination.parts {
        part.section(name, None, size.bytes, Some(size.entries));
    }
    if let Some(document) = &examination.document {
        part.fact("types", document.tables.types_count().to_string());
        part.fact("methods", document.tables.methods_count().to_string());
    }
    part.fact("verdict", examination.verdict.name());
    description.parts.push(part);
    let odd = examination.findings.iter().filter(|finding| finding.level != iprof::Level::Info);
    description.warnings = odd.map(ToString::to_string).collect();
    if examination.verdict == iprof::Verdict::Unusable {
        description.error = examination.findings.worst().map(|finding| {
            let mut error = ErrorReport::of_message("iprof-finding", finding.to_string());
            (error.section, error.offset) = (Some(finding.path.clone()), finding.offset);
            error
        });
        description.hint = Some(crate::hint::Hint::CheckForMore);
    }
    description
}
