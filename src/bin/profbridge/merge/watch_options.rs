//! The options of `merge --watch`.

use clap::Args;
use profbridge::families::watch::{Watch, WatchOrder};
use profbridge::system;
use std::path::PathBuf;
use std::time::Duration;

/// Options for merging profiles while programs write them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Watched directories")]
pub(crate) struct WatchArgs {
    /// Merge the profiles that programs write to DIR, until a signal or --until ends the watch
    #[arg(long, value_name = "DIR", conflicts_with_all = ["inputs", "weighted_input", "input_files", "same_program", "salvage"])]
    watch: Option<PathBuf>,
    /// Delete each profile after it was merged
    #[arg(long, requires = "watch")]
    delete_merged: bool,
    /// End the watch when the process PID has ended, when nothing changed for some seconds, or when a file exists
    #[arg(long, requires = "watch", value_name = "PID|idle:SECONDS|file:PATH", value_parser = Until::parse)]
    until: Option<Until>,
    /// The order of the merge [default: arrival]
    #[arg(long, requires = "watch", value_enum)]
    order: Option<WatchOrder>,
}

/// The settings of a watch.
#[derive(Debug)]
pub(super) struct WatchSettings {
    pub(super) folder: PathBuf,
    pub(super) delete_merged: bool,
    pub(super) until: Option<Until>,
    pub(super) order: WatchOrder,
}

/// The end of a watch.
#[derive(Debug, Clone)]
pub(super) enum Until {
    /// The process has ended.
    Process(u32),
    /// Nothing changed for this time.
    Idle(Duration),
    /// The file exists.
    File(PathBuf),
}

impl Until {
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("file:").filter(|path| !path.is_empty()) {
            return Ok(Self::File(path.into()));
        }
        if let Some(seconds) = text.strip_prefix("idle:") {
            let seconds = seconds.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            return seconds.map(Self::Idle).ok_or_else(|| "expected a number of seconds, such as idle:60".to_string());
        }
        let process = text.parse().ok().filter(|process| *process > 0);
        let process = process.ok_or_else(|| "expected the id of a process, idle:SECONDS or file:PATH".to_string())?;
        match system::is_running(process) {
            Some(_) => Ok(Self::Process(process)),
            None => Err("this system does not report whether a process runs; use idle:SECONDS".to_string()),
        }
    }

    /// Returns the name of the condition if it holds.
    pub(super) fn reached(&self, watch: &Watch) -> Option<&'static str> {
        match self {
            Self::Process(process) => (system::is_running(*process) == Some(false)).then_some("process"),
            Self::Idle(time) => (watch.idle() >= *time).then_some("idle"),
            Self::File(path) => path.exists().then_some("file"),
        }
    }
}

impl WatchArgs {
    /// Returns the settings if a directory is watched.
    pub(super) fn take(&mut self) -> Option<WatchSettings> {
        let folder = self.watch.take()?;
        let (delete_merged, order) = (self.delete_merged, self.order.unwrap_or_default());
        Some(WatchSettings { folder, delete_merged, until: self.until.take(), order })
    }
}
