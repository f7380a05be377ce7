//! Names and hashes under which a comparison finds the same functions in two profiles.
//!
//! A merge adapts both inputs to one release. A comparison changes only the functions that
//! [`cross`](crate::instr::cross_release::cross) would join if both profiles were merged, so two profiles of one
//! release are compared unchanged.

use crate::error::{Result, Warning};
use crate::instr::cross_release::bitmaps;
use crate::instr::cross_release::finding::FindingKind;
use crate::instr::cross_release::finding::{CrossReleaseOptions, Origins};
use crate::instr::cross_release::front_end_hashes::{FOURTH_MASK, FOURTH_RELEASE, FOURTH_VERSION};
use crate::instr::cross_release::front_end_hashes::{is_of_clang, is_small, other_algorithms};
use crate::instr::cross_release::ir_hashes::IrHashes;
use crate::instr::cross_release::names::{Changes, changed, names_may_change, rebuild, separator_to_replace};
use crate::instr::cross_release::{AdaptedProfile, cross};
use crate::model::{
    BinaryId, FunctionRecord, MemProfSection, NameRef, Profile, ProfileKind, ProfileReader, RecordRef, Release,
    SymbolTable, TemporalProfile, name_ref,
};
use crate::names::separator;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// The difference between the releases that wrote two profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum FollowedKind {
    /// Names of local functions: `file:function` up to LLVM 17, `file;function` since LLVM 18.
    Name,
    /// Front-end hashes of large functions: since LLVM 22 their four highest bits are zero.
    Hash,
}

/// Functions that were compared although their names or hashes differ.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Followed {
    /// The difference.
    pub kind: FollowedKind,
    /// The number of functions.
    pub functions: u64,
    /// Names of the first functions.
    pub first_names: Vec<String>,
}

/// `2 functions have different names in the two profiles (…); compared as the same: f, g`.
impl fmt::Display for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let functions = if self.functions == 1 { "function has" } else { "functions have" };
        let what = match self.kind {
            FollowedKind::Name => "names in the two profiles (local functions of LLVM 17 or earlier and 18 or later)",
            FollowedKind::Hash => "hashes in the two profiles (LLVM 21 or earlier and 22 or later)",
        };
        let names = self.first_names.join(", ");
        write!(f, "{} {functions} different {what}; compared as the same: {names}", self.functions)?;
        if self.functions > self.first_names.len() as u64 { f.write_str(", …") } else { Ok(()) }
    }
}

/// Functions of two profiles whose names or hashes differ between releases.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    has_ir: bool,
    has_front_end: bool,
    /// Their names and hashes, without counters.
    functions: Profile,
}

impl Candidates {
    /// Adds a function of a profile of the given kind.
    pub(crate) fn add(&mut self, kind: ProfileKind, name: &[u8], func_hash: u64) {
        self.has_ir |= kind.is_ir();
        self.has_front_end |= !kind.is_ir();
        let may_differ = match kind.is_ir() {
            true => memchr::memchr2(b':', b';', name).is_some(),
            false => !is_small(func_hash) && is_of_clang(name, func_hash),
        };
        if may_differ {
            let function = self.functions.functions.intern(name);
            if self.functions.functions.find_record(function, func_hash).is_none() {
                self.functions.functions.push_record(function, &FunctionRecord::new(func_hash, Vec::new()));
            }
        }
    }

    /// Collects all functions of two profiles.
    pub(crate) fn of(profiles: [&Profile; 2]) -> Self {
        let mut candidates = Self::default();
        for profile in profiles {
            for function in profile.functions.iter() {
                function.records().for_each(|record| candidates.add(profile.kind, function.name(), record.func_hash));
            }
        }
        candidates
    }

    /// Finds the functions that both profiles have under different names or hashes.
    pub(crate) fn following(mut self) -> Following {
        if self.has_ir == self.has_front_end {
            return Following::default();
        }
        self.functions.kind = if self.has_ir { ProfileKind::IR } else { ProfileKind::NONE };
        let mut origins = Origins::default();
        origins.add_unknown();
        let mut options = CrossReleaseOptions::new(FOURTH_RELEASE, FOURTH_VERSION, origins);
        options.version_is_given = true;
        let known: HashSet<Vec<u8>> =
            self.functions.functions.iter().map(|function| function.name().to_vec()).collect();
        let mut crossed = cross(self.functions, &options);
        // Local functions with one form of their name keep it.
        crossed.former_names.retain(|new, _| known.contains(new));
        Following::of(crossed)
    }
}

/// The replacements of names and hashes under which two profiles are compared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Following {
    /// Maps names before LLVM 18 to those since LLVM 18.
    names: HashMap<Vec<u8>, Vec<u8>>,
    /// Maps the hashes of these names.
    targets: HashMap<NameRef, NameRef>,
    /// Whether to clear the bits of front-end hashes that LLVM 22 and later clear.
    clears_hashes: bool,
    followed: Vec<Followed>,
}

impl Following {
    fn of(crossed: AdaptedProfile) -> Self {
        let names: HashMap<Vec<u8>, Vec<u8>> = crossed.former_names.into_iter().map(|(new, old)| (old, new)).collect();
        let targets = names.iter().map(|(old, new)| (name_ref(old), name_ref(new))).collect();
        let mut following = Self { names, targets, ..Self::default() };
        for finding in &crossed.findings {
            let kind = match finding.kind {
                FindingKind::Joined => FollowedKind::Name,
                FindingKind::TwoHashes => FollowedKind::Hash,
                _ => continue,
            };
            following.clears_hashes |= kind == FollowedKind::Hash;
            let names = finding.first_names.iter().map(|name| following.name(name));
            let first_names = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
            following.followed.push(Followed { kind, functions: finding.functions, first_names });
        }
        following
    }

    /// Returns true if there is nothing to replace.
    pub(crate) fn is_empty(&self) -> bool {
        self.followed.is_empty()
    }

    /// Returns the functions with replacements.
    pub(crate) fn into_followed(self) -> Vec<Followed> {
        self.followed
    }

    /// Returns the names that replace others.
    pub(crate) fn new_names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.values().map(Vec::as_slice)
    }

    /// Returns the name under which a function is compared.
    pub(crate) fn name<'a>(&'a self, name: &'a [u8]) -> &'a [u8] {
        self.names.get(name).map_or(name, Vec::as_slice)
    }

    /// Returns the hash under which a record is compared, if it is another one.
    pub(crate) fn hash(&self, name: &[u8], func_hash: u64) -> Option<u64> {
        let is_cleared = self.clears_hashes && func_hash > FOURTH_MASK && is_of_clang(name, func_hash);
        is_cleared.then_some(func_hash & FOURTH_MASK)
    }

    /// Returns the target under which calls of a function are compared.
    pub(crate) fn target(&self, target: NameRef) -> NameRef {
        self.targets.get(&target).copied().unwrap_or(target)
    }

    /// Returns the profile with the names and hashes of the comparison.
    pub(crate) fn apply(&self, mut profile: Profile) -> Profile {
        if self.is_empty() {
            return profile;
        }
        let mut changes = Changes { targets: self.targets.clone(), ..Changes::default() };
        for function in profile.functions.iter() {
            if let Some(name) = self.names.get(function.name()) {
                changes.names.insert(function.id(), name.clone());
            }
            let records = function.record_ids().zip(function.records());
            let hashes = records.filter_map(|(id, record)| Some((id, self.hash(function.name(), record.func_hash)?)));
            changes.hashes.extend(hashes);
        }
        rebuild(&profile, changes, Release::DEFAULT, &mut Default::default()).replace_in(&mut profile);
        profile
    }

    /// Wraps a reader so that its records have the names and hashes of the comparison.
    pub(crate) fn reader<'a>(&'a self, reader: &'a mut dyn ProfileReader) -> FollowingReader<'a> {
        FollowingReader { following: self, reader, changed: None }
    }
}

/// A reader whose records have the names and hashes of the comparison.
pub(crate) struct FollowingReader<'a> {
    following: &'a Following,
    reader: &'a mut dyn ProfileReader,
    changed: Option<FunctionRecord>,
}

impl ProfileReader for FollowingReader<'_> {
    fn kind(&self) -> ProfileKind {
        self.reader.kind()
    }

    fn version_word(&self) -> u64 {
        self.reader.version_word()
    }

    fn next_record(&mut self) -> Result<Option<RecordRef<'_>>> {
        let Some(read) = self.reader.next_record()? else { return Ok(None) };
        let Following { names, targets, .. } = self.following;
        let hash = self.following.hash(read.name, read.record.func_hash);
        self.changed = changed(read.record, hash, targets);
        let record = self.changed.as_ref().map_or(read.record, FunctionRecord::view);
        Ok(Some(match names.get(read.name) {
            Some(name) => RecordRef { name, name_ref: None, text: None, record },
            None => RecordRef { record, ..read },
        }))
    }

    fn symbols(&mut self) -> Result<&SymbolTable> {
        self.reader.symbols()
    }

    fn binary_ids(&mut self) -> Result<Vec<BinaryId>> {
        self.reader.binary_ids()
    }

    fn temporal(&mut self) -> TemporalProfile {
        self.reader.temporal()
    }

    fn vtable_names(&mut self) -> Result<Vec<Vec<u8>>> {
        self.reader.vtable_names()
    }

    fn memprof(&self) -> Result<Option<MemProfSection>> {
        self.reader.memprof()
    }

    fn take_warnings(&mut self) -> Vec<Warning> {
        self.reader.take_warnings()
    }
}

// Detects during reading whether anything has to change, so that most merges skip the rewrite.

/// The evidence from names and hashes, collected before there is a profile.
#[derive(Debug)]
pub(crate) struct RewriteCheck {
    is_ir: bool,
    ir_hashes: IrHashes,
    /// Whether names from the other side of LLVM 18 are possible.
    names_may_change: bool,
    /// The character in names of the other side, and whether a name has it.
    separator: u8,
    has_separator: bool,
    /// Whether some hash has to be examined.
    has_large_hash: bool,
    /// Whether bitmaps have to be examined.
    bitmaps_may_differ: bool,
}

impl RewriteCheck {
    /// Returns a check for a profile of the given kind.
    pub(crate) fn new(kind: ProfileKind, options: &CrossReleaseOptions) -> Self {
        let origins = options.origins;
        Self {
            is_ir: kind.is_ir(),
            ir_hashes: IrHashes::new(options),
            names_may_change: names_may_change(options),
            separator: separator_to_replace(options),
            has_separator: false,
            has_large_hash: other_algorithms(origins, options.indexed_version) != [None; 2],
            bitmaps_may_differ: bitmaps::may_differ(options),
        }
    }

    /// Examines a function and its FuncHashes.
    pub(crate) fn look_at(&mut self, name: &[u8], mut hashes: impl Iterator<Item = u64>) {
        if !self.is_ir {
            self.has_large_hash |= hashes.any(|hash| !is_small(hash) && is_of_clang(name, hash));
            return;
        }
        self.ir_hashes.add(hashes);
        if self.names_may_change && !self.has_separator {
            self.has_separator =
                memchr::memchr(self.separator, name).is_some() && separator(name) == Some(self.separator);
        }
    }

    /// Returns true if [`cross`](crate::instr::cross_release::cross) certainly changes nothing and finds nothing for
    /// the requested release and version. A false result is inconclusive.
    pub(crate) fn leaves_all(&self) -> bool {
        let names_stay = !self.names_may_change || !self.has_separator;
        if self.is_ir {
            names_stay && !self.ir_hashes.differ()
        } else {
            !self.has_large_hash && !self.bitmaps_may_differ
        }
    }
}
