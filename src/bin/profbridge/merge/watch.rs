//! `merge --watch`: merges the profiles of a directory while programs write them.

use super::arguments::MergeArgs;
use super::watch_options::WatchSettings;
use crate::console;
use crate::merge_document::{LeftJson, WatchJson};
use crate::merge_inputs::warn_of_earlier_merges;
use crate::plural::number_of;
use crate::target;
use profbridge::families::OutputForm;
use profbridge::families::watch::{PAUSE, Watch, WatchOptions};
use profbridge::input::output::is_replaced;
use profbridge::input::{Input, InputList};
use profbridge::instr::{Release, release};
use profbridge::sampleprof::Rules;
use profbridge::{Compat, Error, Result, Warning};
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::flag;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Merges the inputs of a command line, and reports the outcome of the watched directory.
type Finish = fn(&MergeArgs, Option<WatchJson>) -> Result<ExitCode>;

/// Watches the directory, then finishes the merge.
pub(super) fn run(settings: WatchSettings, mut arguments: MergeArgs, finish: Finish) -> Result<ExitCode> {
    let form = refuse_output(&settings, &arguments)?;
    let options = arguments.watch_options(&settings, form)?;
    let ends = register_signals()?;
    let mut watch = Watch::open(&settings.folder, &arguments.output, options)?;
    if !arguments.quiet {
        console::status(&format!("watching {}", settings.folder.display()));
    }
    let mut present = InputList::new(Compat::Profbridge).without_output(&arguments.output);
    present.push(&settings.folder)?;
    warn_of_earlier_merges(present.inputs(), present.found());
    let ended = settings.wait(&mut watch, &ends, arguments.quiet).and_then(|ended| {
        watch.finish()?;
        Ok(ended)
    });
    let ended = ended.inspect_err(|_| keep_state(&watch))?;
    let left = report_left(&watch, arguments.quiet);
    if watch.listed() == 0 {
        return Err(nothing_merged(&watch).in_file(&settings.folder));
    }
    arguments.inputs = vec![watch.state().to_path_buf()];
    if !watch.state().exists() {
        // Nothing is new since the partial merge that is continued.
        arguments.inputs = vec![arguments.output.clone()];
    }
    // Renamings were applied when the profiles were merged.
    arguments.remapping_file = None;
    let watched = WatchJson { ended, merged: watch.merged(), deleted: watch.deleted(), left };
    let code = finish(&arguments, Some(watched)).inspect_err(|_| keep_state(&watch))?;
    watch.remove_state()?;
    Ok(code)
}

impl WatchSettings {
    /// Merges profiles until the watch ends. Returns the reason of the end.
    fn wait(&self, watch: &mut Watch, ends: &AtomicBool, quiet: bool) -> Result<&'static str> {
        loop {
            // Profiles that were complete before the end are merged.
            let ended = match ends.load(Ordering::Relaxed) {
                true => Some("signal"),
                false => self.until.as_ref().and_then(|until| until.reached(watch)),
            };
            if let Some(ended) = ended {
                return Ok(ended);
            }
            let began = Instant::now();
            let merged = watch.poll()?;
            if merged > 0 && !quiet {
                let merged = number_of(merged, "profile");
                console::status(&format!("merged {merged}, {} in total", watch.listed()));
            }
            // A large directory or partial merge takes at most half of the time.
            pause(began.elapsed().max(PAUSE), ends);
        }
    }
}

/// Waits for some time, or until a signal arrives.
fn pause(time: Duration, ends: &AtomicBool) {
    let began = Instant::now();
    while began.elapsed() < time && !ends.load(Ordering::Relaxed) {
        std::thread::sleep(PAUSE.min(time));
    }
}

/// Returns a flag that the first signal sets. The second one ends the process at once.
fn register_signals() -> Result<Arc<AtomicBool>> {
    let ends = Arc::new(AtomicBool::new(false));
    let registered = TERM_SIGNALS.iter().try_for_each(|signal| {
        flag::register_conditional_shutdown(*signal, i32::from(console::COULD_NOT), Arc::clone(&ends))?;
        flag::register(*signal, Arc::clone(&ends)).map(drop)
    });
    registered.map_err(|source| Error::io("cannot handle signals", source))?;
    Ok(ends)
}

/// Rejects outputs that the watch could not write, or whose profiles it could lose. Returns the output form.
fn refuse_output(settings: &WatchSettings, arguments: &MergeArgs) -> Result<OutputForm> {
    let output = &arguments.output;
    if !is_replaced(output) {
        return Err(Error::usage("--watch requires an output file").in_file(output).with_hint("name a file with -o"));
    }
    arguments.gates.refuse_share_of_inputs()?;
    let said = [(arguments.text, "--text", OutputForm::Text)];
    let form = arguments.written.form(output, &[&said[..], &arguments.sample.forms()].concat())?;
    let continues = arguments.partial && Input::new(output).is_partial();
    if settings.delete_merged && output.exists() && !continues && !arguments.written.force {
        let error = Error::usage("the output exists, and the profiles in it may no longer exist").in_file(output);
        return Err(error.with_hint("name another output, or use --force to replace it"));
    }
    Ok(form.unwrap_or(OutputForm::Indexed))
}

/// Prints and returns the files that are not merged.
fn report_left(watch: &Watch, quiet: bool) -> Vec<LeftJson> {
    let left = watch.left();
    for file in left.iter().filter(|file| file.is_profile && !quiet) {
        console::warning(&Warning::new(format!("not merged: {}", file.reason)).in_file(&file.path));
    }
    let others: Vec<&Path> = left.iter().filter(|file| !file.is_profile).map(|file| &*file.path).collect();
    if let (Some(first), false) = (others.first(), quiet) {
        let files = number_of(others.len(), "other file");
        console::note(&format!("skipped {files}, such as {}", first.display()));
    }
    let json = |file: profbridge::families::watch::LeftFile| LeftJson {
        path: file.path.display().to_string(),
        reason: file.reason,
    };
    left.into_iter().map(json).collect()
}

/// The error of a watch that merged nothing. It names the first profile, because the document has no other warnings.
fn nothing_merged(watch: &Watch) -> Error {
    let Some(first) = watch.left().into_iter().find(|file| file.is_profile) else {
        let hint = "check that the program ran, and where it writes its profiles (LLVM_PROFILE_FILE)";
        return Error::nothing_found("no profile appeared in the directory").with_hint(hint);
    };
    let detail = format!("no profile in the directory was merged, such as {}: {}", first.path.display(), first.reason);
    Error::nothing_found(detail)
}

/// Names the file that has the merged profiles after a failure.
fn keep_state(watch: &Watch) {
    let state = watch.state();
    if state.exists() {
        console::note(&format!("{} contains the merged profiles; the same command continues", state.display()));
    }
}

impl MergeArgs {
    fn watch_options(&self, settings: &WatchSettings, form: OutputForm) -> Result<WatchOptions> {
        let mut options = WatchOptions::default();
        (options.delete_merged, options.order) = (settings.delete_merged, settings.order);
        (options.applied, options.continues_output) = (self.applied(), self.partial);
        let release = match &self.consumer {
            Some(name) => release::parse(name)?.release(),
            None => Release::DEFAULT,
        };
        options.merge.instr = self.merge_options(form)?;
        options.merge.instr.release = release;
        options.merge.sample = self.sample_options(&options.merge.instr.remapping)?;
        let target = target::of_samples(self.consumer.as_deref())?;
        options.merge.sample.read.rules = Rules::of(target.map_or(Release::DEFAULT, |target| target.target.release));
        options.merge.iprof.read = crate::limits::iprof_options();
        options.merge.iprof.llvm.allow_duplicates = self.allow_duplicates;
        options.merge.stacks.allow_duplicates = self.allow_duplicates;
        Ok(options)
    }
}
