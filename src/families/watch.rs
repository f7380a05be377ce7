//! Merging the profiles of a directory while programs write them.
//!
//! A [`Watch`] scans a directory about ten times a second: a network file system does not report changes of other
//! machines, and scanning costs little. It merges every file that no longer changes and that its reader accepts.
//!
//! The merged profiles and the list of their files are one file, a partial merge, which is replaced atomically. So a
//! process that is killed at any moment loses no profile, and its successor counts none twice:
//!
//! 1. Read the files. If they will be deleted, give each a name that was never used before, so that a program can
//!    write a new profile under the old name. To find profiles that the result would skip, such as those of another
//!    kind, finish the merge with them: they are not merged, and stay.
//! 2. Replace the partial merge.
//! 3. Delete the files. A successor deletes files that the list contains, and merges the others.

use crate::driver::output_form::OutputForm;
use crate::driver::{InputOutcome, InputReport};
use crate::error::{Error, Level, Result};
use crate::families::files::check_file;
use crate::families::partial::{Partial, PartialOptions};
use crate::families::plan::MergeRequest;
use crate::input::{Access, Family, Format, Input, InputList, has_profile_extension, output};
use crate::partial::{InputState, claimed_path, original_path};
use crate::system::{self, Identity, identity};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// The shortest time between two looks into the directory.
pub const PAUSE: Duration = Duration::from_millis(100);

/// The time without changes after which a file counts as complete.
const QUIET_TIME: Duration = Duration::from_millis(500);

/// The time that [`Watch::finish`] waits for files that still change.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// The order in which profiles are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum WatchOrder {
    /// As they arrive: by time of their last change
    #[default]
    Arrival,
    /// By name; the merge begins when the watch ends
    Name,
}

/// The options of a [`Watch`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WatchOptions {
    /// Whether files are deleted after they were merged.
    pub delete_merged: bool,
    /// The order of the merge.
    pub order: WatchOrder,
    /// The options of the merge.
    pub merge: PartialOptions,
    /// The filters and renamings among them, in words.
    pub applied: Vec<String>,
    /// Whether an output that is a partial merge is continued.
    pub continues_output: bool,
}

/// A file in the directory that is not merged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftFile {
    /// The path.
    pub path: PathBuf,
    /// The reason.
    pub reason: String,
    /// Whether it is or may become a profile.
    pub is_profile: bool,
}

/// A merge of the profiles that appear in a directory.
#[derive(Debug)]
pub struct Watch {
    folder: PathBuf,
    output: PathBuf,
    state: PathBuf,
    options: WatchOptions,
    partial: Option<Partial>,
    /// The merged files, and their last change if this process knows it.
    listed: HashMap<PathBuf, Option<Stamp>>,
    seen: BTreeMap<PathBuf, Seen>,
    last_change: Instant,
    merged: usize,
    deleted: usize,
    lock: Lock,
}

/// The properties of a file that differ after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    identity: Identity,
    len: u64,
    modified: Option<SystemTime>,
}

/// A file that is not merged yet.
#[derive(Debug)]
struct Seen {
    stamp: Stamp,
    since: Instant,
    /// Whether a process has it mapped for writing, so that it changes without a new stamp: continuous mode of LLVM.
    is_mapped: bool,
    /// The reason why it cannot be merged unless it changes, and whether it may be a profile.
    refused: Option<(String, bool)>,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let identity = identity(path, &found);
        Some(Self { identity, len: found.len(), modified: found.modified().ok() })
    }
}

impl Watch {
    /// Starts to watch a directory. The partial merge has the name of `output` and the extension `.part`; if it exists,
    /// it is continued. The output itself is never written and never an input.
    ///
    /// # Errors
    ///
    /// I/O errors for the directory and the state; usage for a state that is not a partial merge, and if another
    /// process uses it.
    pub fn open(folder: &Path, output: &Path, options: WatchOptions) -> Result<Self> {
        // Absolute, because the list of merged files must have the same paths when the watch continues.
        let cannot_open = |source| Error::io("cannot open", source).in_file(folder);
        let folder = fs::canonicalize(folder).map_err(cannot_open)?;
        fs::read_dir(&folder).map_err(|source| Error::io("cannot list", source).in_file(&folder))?;
        let state = with_end(output, ".part");
        let lock = Lock::take(&state)?;
        let is_earlier_part = || options.continues_output && Input::new(output).is_partial();
        let known = if state.exists() { Some(&*state) } else { Some(output).filter(|_| is_earlier_part()) };
        let read = |path: &Path| -> Result<Partial> {
            let bytes = Input::new(path).stored_bytes(Access::Read, options.merge.limits())?;
            Partial::from_bytes(&bytes, &options.merge).map_err(|error| error.in_file(path))
        };
        let partial = known.map(read).transpose()?;
        let inputs = partial.as_ref().map(Partial::inputs).unwrap_or_default();
        Ok(Self {
            listed: inputs.into_iter().map(|input| (input.path.clone(), None)).collect(),
            folder,
            output: output.to_path_buf(),
            state,
            options,
            partial,
            seen: BTreeMap::new(),
            last_change: Instant::now(),
            merged: 0,
            deleted: 0,
            lock,
        })
    }

    /// Looks into the directory once, and merges the files that are complete. Returns the number of merged files.
    ///
    /// # Errors
    ///
    /// I/O errors for the directory, the state and files to be deleted. No profile is lost.
    pub fn poll(&mut self) -> Result<usize> {
        self.scan()?;
        match self.options.order {
            WatchOrder::Arrival => self.merge_complete(),
            WatchOrder::Name => Ok(0),
        }
    }

    /// Merges the rest, after waiting for a short time for files that still change.
    ///
    /// # Errors
    ///
    /// The errors of [`poll`](Self::poll); usage if a name precedes one that an earlier process merged.
    pub fn finish(&mut self) -> Result<()> {
        let began = Instant::now();
        loop {
            self.scan()?;
            let still_changes = |seen: &Seen| seen.refused.is_none() && seen.since.elapsed() < QUIET_TIME;
            let is_over = !self.seen.values().any(still_changes) || began.elapsed() > LAST_WAIT;
            if is_over || self.options.order == WatchOrder::Arrival {
                self.merge_complete()?;
            }
            if is_over {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Returns the number of files that this process merged.
    pub fn merged(&self) -> usize {
        self.merged
    }

    /// Returns the number of files that this process deleted.
    pub fn deleted(&self) -> usize {
        self.deleted
    }

    /// Returns the number of merged files, including those of earlier processes.
    pub fn listed(&self) -> usize {
        self.listed.len()
    }

    /// Returns the time since a file appeared, changed or was merged.
    pub fn idle(&self) -> Duration {
        self.last_change.elapsed()
    }

    /// Returns the files that are not merged, and those that changed after they were merged.
    pub fn left(&self) -> Vec<LeftFile> {
        let waiting = self.seen.iter().map(|(path, seen)| {
            let changes = match seen.is_mapped {
                true => "a process has it mapped and still changes it (continuous mode)",
                false => "it still changes",
            };
            let (reason, is_profile) = seen.refused.clone().unwrap_or((changes.to_string(), true));
            let reason = reason.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&reason).to_string();
            LeftFile { path: path.clone(), reason, is_profile }
        });
        let changed = self.listed.iter().filter_map(|(path, stamp)| {
            let has_changed = stamp.is_some() && Stamp::of(path).is_some_and(|found| Some(found) != *stamp);
            let reason = "it changed after it was merged".to_string();
            has_changed.then(|| LeftFile { path: path.clone(), reason, is_profile: true })
        });
        let mut left: Vec<LeftFile> = waiting.chain(changed).collect();
        left.sort_by(|one, other| one.path.cmp(&other.path));
        left
    }

    /// Returns the file of the partial merge, which exists if files were merged.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Removes the state, after the result was written.
    ///
    /// # Errors
    ///
    /// I/O errors.
    pub fn remove_state(self) -> Result<()> {
        match fs::remove_file(&self.state) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("cannot delete", source).in_file(&self.state))
            }
            _ => Ok(()),
        }
    }

    /// Finds the files in the directory.
    fn scan(&mut self) -> Result<()> {
        let mut list = InputList::new(crate::Compat::Profbridge).without_output(&self.state);
        if let Err(error) = list.push(&self.folder) {
            // A directory below may have been removed during the scan.
            return if fs::read_dir(&self.folder).is_ok() { Ok(()) } else { Err(error) };
        }
        let mut before = std::mem::take(&mut self.seen);
        let own: Vec<Stamp> = [&self.lock.path, &self.output].into_iter().filter_map(|path| Stamp::of(path)).collect();
        for path in list.into_inputs().into_iter().map(|input| input.path) {
            let Some(stamp) = Stamp::of(&path).filter(|_| !output::is_temporary(&path)) else { continue };
            if own.iter().any(|own| own.identity == stamp.identity) {
                continue;
            }
            if let Some(known) = self.listed.get_mut(&path) {
                known.get_or_insert(stamp);
                if self.options.delete_merged && original_path(&path).is_some() {
                    self.delete(&path)?;
                }
                continue;
            }
            let seen = before.remove(&path).filter(|seen| seen.stamp == stamp);
            let seen = seen.unwrap_or_else(|| {
                self.last_change = Instant::now();
                Seen { stamp, since: Instant::now(), is_mapped: false, refused: None }
            });
            self.seen.insert(path, seen);
        }
        Ok(())
    }

    /// Merges the files that are complete. Returns their number.
    fn merge_complete(&mut self) -> Result<usize> {
        let mut paths = self.complete();
        let part = loop {
            if paths.is_empty() {
                return Ok(0);
            }
            if self.options.order == WatchOrder::Name {
                self.require_order(&paths)?;
            }
            if let Some(part) = self.read(&mut paths)? {
                break part;
            }
        };
        match &mut self.partial {
            Some(partial) => partial.append(part)?,
            None => self.partial = Some(part),
        }
        self.store()?;
        for path in &paths {
            let seen = self.seen.remove(path);
            self.listed.insert(path.clone(), seen.map(|seen| seen.stamp));
        }
        self.merged += paths.len();
        self.last_change = Instant::now();
        if self.options.delete_merged {
            paths.iter().try_for_each(|path| self.delete(path))?;
        }
        Ok(paths.len())
    }

    /// Returns the files that no longer change, in the order of the merge.
    fn complete(&mut self) -> Vec<PathBuf> {
        let is_quiet = |seen: &Seen| seen.refused.is_none() && seen.since.elapsed() >= QUIET_TIME;
        if self.seen.values().any(is_quiet) {
            let mapped = system::files_mapped_for_writing();
            for (path, seen) in self.seen.iter_mut().filter(|(_, seen)| is_quiet(seen)) {
                seen.is_mapped = fs::canonicalize(path).is_ok_and(|path| mapped.contains(&path));
            }
        }
        let is_complete = |seen: &Seen| is_quiet(seen) && !seen.is_mapped;
        let mut complete: Vec<_> = self.seen.iter().filter(|(_, seen)| is_complete(seen)).collect();
        let name = |path: &Path| original_path(path).unwrap_or_else(|| path.to_path_buf());
        match self.options.order {
            WatchOrder::Arrival => complete.sort_by_key(|(path, seen)| (seen.stamp.modified, name(path))),
            WatchOrder::Name => complete.sort_by_key(|(path, _)| name(path)),
        }
        complete.into_iter().map(|(path, _)| path.clone()).collect()
    }

    /// Returns the family of a profile, or the reason why it is not merged, and whether it may be a profile. `merged` is
    /// the family of the merge.
    fn family_of(&self, path: &Path, merged: Option<Family>) -> Result<Family, (String, bool)> {
        let input = Input::new(path);
        let unreadable = |error: Error| (error.to_string(), true);
        let is_named_profile = has_profile_extension(path);
        if input.ends_as_part().map_err(unreadable)? {
            return Err(("it is a partial merge".to_string(), true));
        }
        if self.options.delete_merged && !self.is_below(path) {
            return Err(("it is in another directory, behind a symbolic link".to_string(), true));
        }
        if input.format().map_err(unreadable)? == Format::Empty {
            return Err(("it is empty".to_string(), is_named_profile));
        }
        let Some(family) = input.family().map_err(unreadable)? else {
            return Err(("it is not a profile".to_string(), is_named_profile));
        };
        let family = if family == Family::MemProf { Family::Instr } else { family };
        if let Some(merged) = merged.filter(|merged| *merged != family) {
            return Err((format!("its family is {}, not {}", family.name(), merged.name()), true));
        }
        if let Some(reason) = self.refused_by_output(&input) {
            return Err((reason, true));
        }
        // A partial merge of these stores its inputs without reading them.
        if matches!(family, Family::Iprof | Family::Stacks) {
            let check = check_file(input, &self.options.merge.iprof.read);
            if check.failed || check.count(Level::Error) > 0 {
                let mut findings = check.findings.into_iter();
                let finding =
                    findings.find(|finding| finding.level == Level::Error.name()).map(|finding| finding.message);
                return Err((finding.unwrap_or_else(|| "it cannot be read".to_string()), true));
            }
        }
        Ok(family)
    }

    /// Returns why the output cannot store a profile, if the name of the output selects a format.
    fn refused_by_output(&self, input: &Input) -> Option<String> {
        OutputForm::choose(&self.output, None).ok().flatten()?;
        let planned = MergeRequest::new(&self.output).plan(std::slice::from_ref(input));
        planned.err().map(|error| error.kind().to_string())
    }

    /// Returns true if the file is in the directory, and not in one that a symbolic link names.
    fn is_below(&self, path: &Path) -> bool {
        let real = |path: Option<&Path>| path.and_then(|path| path.canonicalize().ok());
        match (real(Some(&self.folder)), real(path.parent())) {
            (Some(folder), Some(parent)) => parent.starts_with(folder),
            _ => false,
        }
    }

    /// Rejects names that precede a merged one, because the order of the merge cannot change.
    fn require_order(&self, paths: &[PathBuf]) -> Result<()> {
        let name = |path: &Path| original_path(path).unwrap_or_else(|| path.to_path_buf());
        let last = self.listed.keys().map(|path| name(path)).max();
        let first = paths.iter().map(|path| name(path)).min();
        match (last, first) {
            (Some(last), Some(first)) if first < last => {
                let detail = format!("{} precedes {}, which is already merged", first.display(), last.display());
                Err(Error::usage(detail).with_hint("continue in the order of arrival"))
            }
            _ => Ok(()),
        }
    }

    /// Merges files, and claims them if they will be deleted. Returns `None` if some could not be merged; these are
    /// no longer in the list.
    fn read(&mut self, paths: &mut Vec<PathBuf>) -> Result<Option<Partial>> {
        let count = paths.len();
        let mut family = self.partial.as_ref().map(Partial::family);
        paths.retain(|path| match self.family_of(path, family) {
            Ok(found) => {
                family = Some(found);
                true
            }
            Err(refused) => {
                self.refuse(path, refused);
                false
            }
        });
        let Some(family) = family.filter(|_| paths.len() == count) else { return Ok(None) };
        let inputs: Vec<Input> = paths.iter().map(Input::from).collect();
        let mut part = Partial::of(&inputs, family, &self.options.merge)?;
        let outcomes: Vec<Option<String>> = part
            .inputs()
            .iter()
            .map(|input| match &input.state {
                InputState::Used => None,
                InputState::Empty => Some("it is empty".to_string()),
                InputState::Failed(error) => Some(input.message(error)),
            })
            .collect();
        let skipped = if self.options.delete_merged { self.skipped(&part)? } else { Some(Vec::new()) };
        let Some(skipped) = skipped else {
            // The others follow one by one.
            paths.truncate(1);
            return Ok(None);
        };
        let skipped = skipped.into_iter().chain(std::iter::repeat(None));
        let mut merged = Vec::new();
        for ((path, outcome), skipped) in paths.drain(..).zip(outcomes).zip(skipped) {
            let outcome = outcome.or(skipped);
            let is_unchanged = self.seen.get(&path).map(|seen| &seen.stamp) == Stamp::of(&path).as_ref();
            match outcome {
                Some(reason) => self.refuse(&path, (reason, true)),
                None if !is_unchanged => drop(self.seen.remove(&path)),
                None => merged.push(path),
            }
        }
        if self.options.delete_merged {
            merged = self.claim(merged)?;
        }
        *paths = merged;
        if paths.len() < count {
            return Ok(None);
        }
        part.rename_inputs(paths);
        self.options.applied.iter().for_each(|words| part.note_applied(words.clone()));
        Ok(Some(part))
    }

    /// Returns why the finished merge would skip each input of a part, such as another kind; `None` if it fails because of
    /// one of several inputs. Such a profile stays: after it is deleted, nothing could merge it with others of its kind.
    fn skipped(&self, part: &Partial) -> Result<Option<Vec<Option<String>>>> {
        let count = part.inputs().len();
        let all = match &self.partial {
            None => part.clone(),
            Some(partial) => {
                let mut all = partial.clone();
                all.append(part.clone())?;
                all
            }
        };
        let mut options = self.options.merge.clone();
        options.tolerate_failures();
        let reports = match all.finish(&options) {
            Ok(finished) => finished.into_inputs(),
            Err(error) if count == 1 => return Ok(Some(vec![Some(error.to_string())])),
            Err(_) => return Ok(None),
        };
        let reason = |report: InputReport| match report.outcome {
            InputOutcome::Failed(error) => Some(error.to_string()),
            _ => None,
        };
        let first = reports.len().saturating_sub(count);
        Ok(Some(reports.into_iter().skip(first).map(reason).collect()))
    }

    fn refuse(&mut self, path: &Path, refused: (String, bool)) {
        if let Some(seen) = self.seen.get_mut(path) {
            seen.refused = Some(refused);
        }
    }

    /// Gives files names that were never used before. Files that were removed or changed are dropped.
    fn claim(&mut self, paths: Vec<PathBuf>) -> Result<Vec<PathBuf>> {
        let mut claimed = Vec::new();
        for path in paths {
            let Some(seen) = self.seen.remove(&path) else { continue };
            let target = if original_path(&path).is_some() { path.clone() } else { claimed_path(&path) };
            match fs::rename(&path, &target) {
                Err(source) if source.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => {
                    let error = Error::io("cannot rename", source).in_file(&path);
                    return Err(error.with_hint("keep the files, or make the directory writable"));
                }
                Ok(()) => {}
            }
            if Stamp::of(&target).as_ref() == Some(&seen.stamp) {
                self.seen.insert(target.clone(), seen);
                claimed.push(target);
            }
        }
        Ok(claimed)
    }

    /// Replaces the file of the partial merge.
    fn store(&self) -> Result<()> {
        let Some(partial) = &self.partial else { return Ok(()) };
        output::replace(&self.state, &partial.to_bytes()?)?;
        if self.options.delete_merged {
            // The profiles must not be deleted before the state is on the disk.
            let stored = File::open(&self.state).and_then(|file| file.sync_all());
            stored.map_err(|source| Error::io("cannot write", source).in_file(&self.state))?;
        }
        Ok(())
    }

    fn delete(&mut self, path: &Path) -> Result<()> {
        match fs::remove_file(path) {
            Ok(()) => self.deleted += 1,
            Err(source) if source.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::io("cannot delete", source).in_file(path)),
        }
        Ok(())
    }
}

/// Returns a path with an addition to its name.
fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut path = path.as_os_str().to_os_string();
    path.push(end);
    path.into()
}

/// The lock that keeps a second process from writing the same state: a file next to it.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    fn take(state: &Path) -> Result<Self> {
        let path = with_end(state, ".lock");
        let cannot = |source| Error::io("cannot create", source).in_file(&path);
        loop {
            let file = File::options().create(true).append(true).open(&path).map_err(cannot)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::usage("another process writes this output").in_file(state));
                }
                // Not every file system has locks.
                Err(TryLockError::Error(_)) => return Ok(Self { path, _file: file }),
                // The process before may have removed the file after it was opened here.
                Ok(()) if !system::HAS_LOCKS || system::is_at(&file, &path) => return Ok(Self { path, _file: file }),
                Ok(()) => {}
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A file that stays does no harm.
        let _ = fs::remove_file(&self.path);
    }
}
