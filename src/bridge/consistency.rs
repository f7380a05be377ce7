//! Compares the member `llvm` of a document with the entries that it explains. The extension determines the conversion
//! back to LLVM. The standard sections of LLVM's functions were made from it. If only one of the two was edited, the
//! caller must choose one.

use crate::bridge::decode::own_records;
use crate::bridge::demangle::method_of_pgo_name;
use crate::bridge::extension::{self, Extension};
use crate::bridge::names::{EncodedNames, MethodIdentity, identity};
use crate::bridge::records::{ContextCounts, TypeCounts, gather};
use crate::bridge::sections::{METHOD_TARGETS, MethodTargets, foreign};
use crate::bridge::to_iprof::{ToIprofOptions, checksum, sections};
use crate::error::{Error, Result};
use crate::hint::Hint;
use crate::iprof::{ContextHandle, Document, MethodHandle, SectionKind, Tables};
use crate::model::{Losses, Profile, RecordId};
use std::borrow::Cow;
use std::collections::HashSet;
use std::collections::{BTreeMap, BTreeSet};

/// The trusted side if the member `llvm` and the standard sections contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Trust {
    /// The sections that every iprof has. LLVM's own records are lost; its functions become methods.
    Standard,
    /// The member `llvm`. Changes of the standard sections are lost.
    Extension,
}

/// The maximum number of differences in a message.
const NAMED_DIFFERENCES: usize = 3;

/// The part of a document that its extension explains.
#[derive(Debug, Default)]
pub(super) struct Ownership {
    profile: Option<Profile>,
    /// Whether the whole document was made from the profile, and not edited.
    is_whole: bool,
    /// Methods that are LLVM functions: their counts without callers come from LLVM's records.
    functions: HashSet<MethodHandle>,
    /// Methods (in the bridge's notation) and type names that the mapping creates.
    methods: HashSet<Vec<u8>>,
    types: HashSet<Vec<u8>>,
}

impl Ownership {
    /// Explains nothing.
    pub(super) fn none() -> Self {
        Self::default()
    }

    /// Returns the explained data of the document's extension, if it has one that is trusted or agrees with the
    /// sections.
    ///
    /// # Errors
    ///
    /// Malformed if the extension cannot be read, or contradicts the sections and neither is trusted.
    pub(super) fn of(document: &Document, trust: Option<Trust>) -> Result<Self> {
        match document.member(extension::MEMBER) {
            Some(json) if trust != Some(Trust::Standard) => Self::establish(document, Extension::read(json)?, trust),
            _ => Ok(Self::none()),
        }
    }

    /// Returns the data of the document that `extension` explains.
    ///
    /// # Errors
    ///
    /// Malformed if the sections contradict it, unless it is trusted.
    fn establish(document: &Document, extension: Extension<'_>, trust: Option<Trust>) -> Result<Self> {
        let Some(profile) = extension.profile.map(Cow::into_owned) else { return Ok(Self::none()) };
        if extension.checksum == Some(checksum(document)) {
            return Ok(Self { profile: Some(profile), is_whole: true, ..Self::default() });
        }
        let counters_as_branches = extension.approximate.contains_key(SectionKind::Conditional.name());
        let expected = Expected::of(&profile, counters_as_branches)?;
        let spelling = EncodedNames::of(&expected.document.tables);
        let tables = &expected.document.tables;
        let mut ownership = Self {
            profile: None,
            is_whole: false,
            functions: HashSet::new(),
            methods: tables.methods().map(|handle| spelling.method(handle).to_vec()).collect(),
            types: tables.types().map(|handle| tables.type_name(handle).to_vec()).collect(),
        };
        let names: HashSet<&[u8]> = expected.functions.iter().map(|handle| spelling.method(*handle)).collect();
        let own_spelling = EncodedNames::of(&document.tables);
        let methods = document.tables.methods();
        ownership.functions = methods.filter(|handle| names.contains(own_spelling.method(*handle))).collect();
        if trust != Some(Trust::Extension) {
            ownership.compare(document, &own_spelling, &expected, &spelling)?;
        }
        ownership.profile = Some(profile);
        Ok(ownership)
    }

    /// Takes the profile that the extension carries.
    pub(super) fn take_profile(&mut self) -> Option<Profile> {
        self.profile.take()
    }

    /// Returns true if the profile explains the whole document.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub(super) fn has_profile(&self) -> bool {
        self.profile.is_some()
    }

    /// Returns true if LLVM's records explain the counts of this context.
    pub(super) fn owns(&self, document: &Document, section: SectionKind, context: ContextHandle) -> bool {
        !matches!(section, SectionKind::Sampling | SectionKind::Monitor)
            && document.contexts.caller(context) == ContextHandle::ROOT
            && (self.is_whole
                || document.contexts.leaf(context).is_some_and(|leaf| self.functions.contains(&leaf.method)))
    }

    /// Returns true if the mapping creates this method, given in the bridge's notation.
    pub(super) fn derives_method(&self, name: &[u8]) -> bool {
        self.is_whole || self.methods.contains(name)
    }

    /// Returns true if the mapping creates the type of this name.
    pub(super) fn derives_type(&self, name: &[u8]) -> bool {
        self.is_whole || self.types.contains(name)
    }

    fn compare(
        &self,
        document: &Document,
        own_spelling: &EncodedNames,
        expected: &Expected,
        spelling: &EncodedNames,
    ) -> Result<()> {
        let found = gather(document, own_spelling, &|section, context| self.owns(document, section, context))?;
        let all = |section: SectionKind, context| expected.owns(section, context);
        let wanted = gather(&expected.document, spelling, &all)?;
        let (found, wanted) = (found.by_method(), wanted.by_method());
        let mut differences = Differences::default();
        let names: BTreeSet<&[u8]> = found.keys().chain(wanted.keys()).copied().collect();
        let nothing = ContextCounts::default();
        for name in names {
            let [found, wanted] = [&found, &wanted].map(|counts| counts.get(name).unwrap_or(&nothing));
            if found != wanted {
                differences.contexts(name, found, wanted);
            }
        }
        if let Some(json) = document.member(METHOD_TARGETS) {
            differences.targets(&read_targets(document, json)?, &expected.targets);
        }
        differences.into_result()
    }
}

/// The expected content of the sections.
struct Expected {
    document: Document,
    functions: HashSet<MethodHandle>,
    targets: NamedTargets,
}

/// Targets by the names of the methods, which are valid in any document.
type NamedTargets = MethodTargets<MethodIdentity>;

impl Expected {
    fn of(profile: &Profile, counters_as_branches: bool) -> Result<Self> {
        let own = own_records(profile);
        let own_ids: HashSet<RecordId> = own.iter().map(|record| record.id).collect();
        let options = ToIprofOptions { counters_as_branches, ..ToIprofOptions::default() };
        // The losses were reported when the file was written.
        let (document, parts) = sections(profile, &own, &options, &mut Losses::new())?;
        let functions = foreign(profile, &own_ids)
            .filter_map(|function| find_method(&document.tables, &method_of_pgo_name(function.name()).identity))
            .collect();
        let targets = named(&document.tables, &parts.method_targets);
        Ok(Self { document, functions, targets })
    }

    fn owns(&self, section: SectionKind, context: ContextHandle) -> bool {
        !matches!(section, SectionKind::Sampling | SectionKind::Monitor)
            && self.document.contexts.caller(context) == ContextHandle::ROOT
            && self.document.contexts.leaf(context).is_some_and(|leaf| self.functions.contains(&leaf.method))
    }
}

/// Returns the method of an identity in a document's tables.
fn find_method(tables: &Tables, method: &MethodIdentity) -> Option<MethodHandle> {
    let mut signature = vec![tables.find_type(&method.declaring)?, tables.find_type(&method.returns)?];
    for parameter in &method.parameters {
        signature.push(tables.find_type(parameter)?);
    }
    tables.find_method(&method.name, &signature)
}

/// Returns targets by names.
fn named(tables: &Tables, targets: &MethodTargets<MethodHandle>) -> NamedTargets {
    let name = |method: &MethodHandle| identity(tables, *method);
    let counts =
        |counts: &BTreeMap<MethodHandle, u64>| counts.iter().map(|(target, count)| (name(target), *count)).collect();
    targets.iter().map(|((method, bci), targets)| ((name(method), *bci), counts(targets))).collect()
}

/// The additional section of method targets, resolved.
fn read_targets(document: &Document, json: &[u8]) -> Result<NamedTargets> {
    #[derive(serde::Deserialize)]
    struct Entry {
        ctx: String,
        records: Vec<u64>,
    }
    let section = String::from_utf8_lossy(METHOD_TARGETS);
    let bad = |detail: String| Error::malformed(detail).in_section(section.clone()).in_format("iprof");
    let entries: Vec<Entry> = serde_json::from_slice(json).map_err(|error| bad(error.to_string()))?;
    let tables = &document.tables;
    let by_id: BTreeMap<u64, MethodHandle> = tables.methods().map(|m| (tables.method_id(m).into(), m)).collect();
    let method = |id: u64| {
        let handle = by_id.get(&id).ok_or_else(|| bad(format!("method {id} is not declared")))?;
        Ok::<_, Error>(identity(tables, *handle))
    };
    let mut targets = NamedTargets::new();
    for entry in entries {
        let frame = entry.ctx.split_once(':').and_then(|(id, bci)| Some((id.parse().ok()?, bci.parse().ok()?)));
        let (id, bci) = frame.ok_or_else(|| bad(format!("context {:?} is not one frame", entry.ctx)))?;
        let site = targets.entry((method(id)?, bci)).or_default();
        let (pairs, rest) = entry.records.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(bad(format!("{} values at {}, expected pairs", entry.records.len(), entry.ctx)));
        }
        for [target, count] in pairs {
            let sum: &mut u64 = site.entry(method(*target)?).or_default();
            *sum = sum.saturating_add(*count);
        }
    }
    Ok(targets)
}

/// The differences between sections and extension: the first ones, and their number.
#[derive(Debug, Default)]
struct Differences {
    named: Vec<String>,
    count: u64,
}

impl Differences {
    fn note(&mut self, section: &str, method: &[u8], bci: i32, found: &str, wanted: &str) {
        self.count += 1;
        if self.named.len() < NAMED_DIFFERENCES {
            let method = String::from_utf8_lossy(method);
            let wanted = if found == wanted { "the same counts for other targets" } else { wanted };
            self.named.push(format!("{section} at {method}:{bci} has {found}, the extension has {wanted}"));
        }
    }

    fn contexts(&mut self, method: &[u8], found: &ContextCounts, wanted: &ContextCounts) {
        if found.calls != wanted.calls {
            let text = |calls: Option<u64>| calls.map_or_else(|| "nothing".to_string(), |count| count.to_string());
            let section = SectionKind::CallCount.name();
            self.note(section, method, 0, &text(found.calls), &text(wanted.calls));
        }
        let branches = |shapes: &crate::bridge::records::BranchShapes| counts_text(shapes.values().flatten());
        let types = |types: &TypeCounts| counts_text(types.values());
        self.sites(SectionKind::Conditional, method, &found.conditionals, &wanted.conditionals, branches);
        self.sites(SectionKind::VirtualInvoke, method, &found.virtual_invokes, &wanted.virtual_invokes, types);
        self.sites(SectionKind::Instanceof, method, &found.instanceofs, &wanted.instanceofs, types);
    }

    fn sites<T: PartialEq>(
        &mut self,
        section: SectionKind,
        method: &[u8],
        found: &BTreeMap<i32, T>,
        wanted: &BTreeMap<i32, T>,
        text: impl Fn(&T) -> String,
    ) {
        let bcis: BTreeSet<i32> = found.keys().chain(wanted.keys()).copied().collect();
        for bci in bcis {
            let (found, wanted) = (found.get(&bci), wanted.get(&bci));
            if found != wanted {
                let text = |site: Option<&T>| site.map_or_else(|| "nothing".to_string(), &text);
                self.note(section.name(), method, bci, &text(found), &text(wanted));
            }
        }
    }

    fn targets(&mut self, found: &NamedTargets, wanted: &NamedTargets) {
        let places: BTreeSet<_> = found.keys().chain(wanted.keys()).collect();
        for place in places {
            let (found, wanted) = (found.get(place), wanted.get(place));
            if found != wanted {
                let text = |site: Option<&BTreeMap<_, u64>>| {
                    site.map_or_else(|| "nothing".to_string(), |site| counts_text(site.values()))
                };
                let section = String::from_utf8_lossy(METHOD_TARGETS);
                self.note(&section, &place.0.notation(), place.1, &text(found), &text(wanted));
            }
        }
    }

    fn into_result(self) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let more = self.count - self.named.len() as u64;
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let detail = format!("sections and extension contradict each other: {}{more}", self.named.join("; "));
        Err(Error::malformed(detail).in_section("llvm").in_format("iprof").with_hint(Hint::ChooseTrusted))
    }
}

/// Formats counts; if the counts agree, their places do not.
fn counts_text<'a>(counts: impl Iterator<Item = &'a u64>) -> String {
    let list: Vec<String> = counts.map(u64::to_string).collect();
    format!("({})", list.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::to_iprof::to_iprof;
    use crate::iprof::{self, Writer};
    use crate::model::{FunctionRecord, ProfileKind};

    fn read(bytes: &[u8]) -> Document {
        iprof::Reader::from_bytes(bytes, &iprof::ReadOptions::default()).read().unwrap().0
    }

    #[test]
    fn unchanged_documents_are_recognized_by_their_checksum() {
        let mut profile = Profile { kind: ProfileKind::FRONT_END, ..Profile::default() };
        for (name, count) in [("main", 4711), ("_ZN3foo3barEi", 12), ("a.c;local", 0)] {
            let function = profile.functions.intern(name.as_bytes());
            profile.functions.push_record(function, &FunctionRecord::new(7, vec![count, 3]));
        }
        let (document, _) = to_iprof(&profile, &ToIprofOptions::default()).unwrap();
        let text = String::from_utf8(Writer::default().to_bytes(&document)).unwrap();
        let is_whole = |text: &str, trust| Ownership::of(&read(text.as_bytes()), trust).map(|found| found.is_whole());
        assert!(is_whole(&text, None).unwrap());
        let spaced = text.replace("],", "], ");
        assert!(is_whole(&spaced, None).unwrap(), "white space is not data");
        let edited = text.replacen("[4711]", "[4712]", 1);
        assert_ne!(edited, text);
        assert!(is_whole(&edited, None).is_err());
        assert!(!is_whole(&edited, Some(Trust::Extension)).unwrap());
        let mut old = document.clone();
        let member = String::from_utf8(old.member(extension::MEMBER).unwrap().to_vec()).unwrap();
        let begin = member.find("\"sections\"").unwrap();
        let end = member[begin..].find(',').unwrap() + begin + 1;
        let first = format!("{}{}", member[..begin].replace(":2", ":1"), &member[end..]);
        old.set_member(extension::MEMBER, first.as_bytes());
        assert!(!Ownership::of(&old, None).unwrap().is_whole(), "version 1 has no checksum");
    }
}
