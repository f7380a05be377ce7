//! The result of reading a file apart from its entries, and how reading ends.

use crate::error::Result as Accepted;
use crate::iprof::document::Version;
use crate::iprof::document::{Extras, InstanceofSpelling, Table, TopMember};
use crate::iprof::findings::{Code, Finding, Findings, Level, Verdict, refusal};
use crate::iprof::reader::{PartSize, ReadOptions, Reader, Sink};
use crate::iprof::sections::SectionKind;
use crate::iprof::tables::Tables;
use crate::iprof::window::{StopReason, Window};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Everything about a file but its entries.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// The version in the file, or the one assumed.
    pub(crate) version: Option<Version>,
    pub(crate) version_text: Option<String>,
    pub(crate) tables: Arc<Tables>,
    pub(crate) extras: Extras,
    pub(crate) layout: Vec<TopMember>,
    pub(crate) spelling: InstanceofSpelling,
    pub(crate) findings: Findings,
    /// Tables, sections and other members, by name.
    pub(crate) parts: BTreeMap<String, PartSize>,
    pub(crate) text_bytes: u64,
    /// No sound document can be made of this, with the options given.
    pub(crate) unreadable: bool,
    /// The names of 2022 were used.
    pub(crate) legacy: bool,
    /// A writer would write something in another way, apart from white space.
    pub(crate) respelled: bool,
    /// Keys of contexts that several entries of a section have.
    pub(crate) repeated: HashSet<u128>,
}

impl Reading {
    /// Entries that were handed on, of all sections.
    pub(crate) fn valid_entries(&self) -> u64 {
        self.section_sizes().map(|part| part.valid).sum()
    }

    /// Entries of all sections, sound or not.
    fn entries(&self) -> u64 {
        self.section_sizes().map(|part| part.entries).sum()
    }

    fn section_sizes(&self) -> impl Iterator<Item = &PartSize> {
        SectionKind::ALL.iter().filter_map(|kind| self.parts.get(kind.name()))
    }

    /// What the file is good for.
    pub(crate) fn verdict(&self) -> Verdict {
        if self.unreadable {
            Verdict::Unusable
        } else if self.valid_entries() == 0 {
            Verdict::TablesOnly
        } else if self.findings.has_errors() {
            Verdict::PartlyUsable
        } else {
            Verdict::Usable
        }
    }

    /// Refuses the file for its findings, unless they are accepted.
    ///
    /// # Errors
    ///
    /// The first finding that is an error.
    pub(crate) fn accepted(self, options: &ReadOptions) -> Accepted<Self> {
        let refused = self.findings.first_error();
        if self.unreadable || (refused.is_some() && !options.accept_errors) {
            return Err(refusal(refused, self.version_text.as_deref()));
        }
        Ok(self)
    }
}

impl<S: Sink> Reader<'_, S> {
    /// Reads what waits for its tables, and reports how the text ended.
    pub(super) fn conclude(mut self, window: &Window<'_>, mut end: Result<(), StopReason>) -> Reading {
        if !matches!(end, Err(StopReason::Refused | StopReason::OutOfMemory)) {
            let early = self.read_early();
            end = end.and(early);
        }
        self.leave_known();
        self.reading.text_bytes = window.text_len();
        if let Some(failure) = &window.failure {
            self.report(Code::Unreadable, "$", window.text_len(), "$", format_args!("reading stopped: {failure}"));
        }
        let complete = end.is_ok();
        if !matches!(end, Err(StopReason::Truncated(_) | StopReason::Refused | StopReason::OutOfMemory))
            && self.is_foreign()
        {
            let message = "the document has other members, but no types, no methods and no section";
            return self.refuse_whole(Code::NotAnIprof, message.to_string());
        }
        if self.placeholders == 2 {
            let message = format!(
                "types and methods are placeholders, one entry of id -1 each: the tables were never written, \
                 and nobody can tell which methods {} were counted for",
                self.counted()
            );
            return self.refuse_whole(Code::PlaceholderTables, message);
        }
        match end {
            Ok(()) | Err(StopReason::Refused) => {}
            Err(StopReason::OutOfMemory) => {
                self.report(Code::Unreadable, "$", window.offset(), "$", "reading stopped: out of memory");
                self.reading.unreadable = true;
            }
            Err(StopReason::Truncated(_)) if window.is_blank() => {
                if window.failure.is_none() {
                    self.report(Code::EmptyFile, "$", 0, "$", "there is nothing in the file");
                }
                self.reading.unreadable = true;
            }
            Err(StopReason::Truncated(offset)) => {
                if window.failure.is_none() {
                    let message = format!("the text ends inside the document; {}", self.recovered());
                    self.report(Code::Truncated, "$", offset, "$", message);
                }
                self.reading.findings.repaired(Code::Truncated, "closed", "document", 1);
            }
            Err(StopReason::Syntax(offset, expected)) => {
                let message = format!("{expected} was expected; {}", self.recovered());
                self.report(Code::BadJson, "$", offset, "$", message);
                self.reading.unreadable |= !self.options.salvage;
            }
            Err(StopReason::Encoding(offset)) => {
                self.report(Code::BadEncoding, "$", offset, "$", "the text is not UTF-8");
                self.reading.unreadable = true;
            }
        }
        if complete {
            self.check_whole();
        } else if self.reading.version.is_none() && !self.reading.unreadable {
            // Cut before its version: what is there is read as what every producer writes.
            self.reading.version = Some(self.options.assume_version.unwrap_or_default());
        }
        self.reading
    }

    /// How much was read before the text ended, by table and section.
    fn recovered(&self) -> String {
        let listed = self.reading.parts.iter().filter(|(name, _)| *name != "version");
        let parts: Vec<String> = listed.map(|(name, part)| format!("{} of {name}", part.entries)).collect();
        if parts.is_empty() { "no entry is complete".to_string() } else { format!("complete: {}", parts.join(", ")) }
    }

    /// Refuses the document for one reason, beside which the others do not matter.
    fn refuse_whole(mut self, code: Code, message: String) -> Reading {
        self.reading.findings = Findings::default();
        self.report(code, "$", 0, "$", message);
        self.reading.unreadable = true;
        self.reading
    }

    /// How many entries the sections have.
    fn counted(&self) -> String {
        match self.reading.entries() {
            0 => "anything".to_string(),
            1 => "the one entry".to_string(),
            entries => format!("the {entries} entries"),
        }
    }

    /// Whether the document is none of ours: package files, settings and reports
    /// are objects as well, and may even have a version.
    fn is_foreign(&self) -> bool {
        let is_other = |finding: &Finding| finding.code == Code::UnknownSection && finding.level == Level::Warning;
        let is_known = |member: &TopMember| !matches!(member, TopMember::Version | TopMember::Other(..));
        self.reading.findings.iter().any(is_other) && !self.reading.layout.iter().any(is_known)
    }

    /// What can be said only once the document has ended.
    fn check_whole(&mut self) {
        let reading = &mut self.reading;
        let present = [
            ("version", reading.version_text.is_some() || self.names_seen.contains(&b"version"[..])),
            ("types", self.tables_read.contains(&Table::Types)),
            ("methods", self.tables_read.contains(&Table::Methods) || self.names_seen.contains(&b"methods"[..])),
        ];
        for (name, present) in present {
            if present {
                continue;
            }
            let message = format_args!("the member \"{name}\" is missing");
            reading.findings.report(Code::MissingField, name, Some(0), name, message);
            match self.options.assume_version {
                Some(assumed) if name == "version" => {
                    reading.version = Some(assumed);
                    reading.findings.repaired(Code::MissingField, "assumed", "version", 1);
                }
                _ => reading.unreadable = true,
            }
        }
        if reading.legacy {
            let message = "the field names are those of 2022; they are read as today's";
            reading.findings.report(Code::LegacyLayout, "$", Some(0), "$", message);
        }
        let instanceof = self.sections_seen.iter().find(|(kind, _)| *kind == SectionKind::Instanceof);
        if let Some((_, offset)) = instanceof
            && reading.version.is_some_and(|version| version < Version::V1_1)
        {
            let message = "instance-of profiles came with version 1.1.0";
            let path = reading.spelling.name();
            reading.findings.report(Code::SectionNewerThanVersion, "$", Some(*offset), path, message);
        }
        if reading.entries() == 0 && !reading.unreadable {
            let message = "no section has an entry";
            reading.findings.report(Code::NoProfiles, "$", Some(0), "$", message);
        }
    }
}
