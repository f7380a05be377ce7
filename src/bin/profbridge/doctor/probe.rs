//! Queries a program for its version. The program can be anything with the right name, so it gets no input and a time
//! limit, and its output is read up to a limit.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Far longer than any of these tools takes, including Java on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// Version output has only a few lines.
const LONGEST_TEXT: u64 = 1 << 16;

/// The reason why a program does not print its version.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("cannot start: {0}")]
    Start(io::Error),
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    #[error("cannot wait for it: {0}")]
    Wait(io::Error),
    #[error("did not answer within {} seconds", PATIENCE.as_secs())]
    TooLate,
    #[error("fails to print its version ({0})")]
    Failed(ExitStatus),
    #[error("prints no version")]
    Nothing,
}

/// Runs a program and returns its output, from either stream.
pub(crate) fn ask(program: &Path, arguments: &[&str]) -> Result<String, NoAnswer> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(NoAnswer::Start)?;
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let read = |stream: Option<Box<dyn Read + Send>>| {
        std::thread::Builder::new().spawn(move || {
            let mut text = Vec::new();
            // After an error, the text read so far is all there is.
            let _ = stream.map(|stream| stream.take(LONGEST_TEXT).read_to_end(&mut text));
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let output = read(output.map(|stream| Box::new(stream) as _));
    let errors = read(errors.map(|stream| Box::new(stream) as _));
    let ended = wait(&mut child);
    let threads = [output.map_err(NoAnswer::Thread)?, errors.map_err(NoAnswer::Thread)?];
    ended?;
    let text = threads.map(|text| text.join().unwrap_or_default()).concat();
    if text.trim().is_empty() { Err(NoAnswer::Nothing) } else { Ok(text) }
}

/// Waits for the end of a program, and kills it if it takes too long.
fn wait(child: &mut Child) -> Result<(), NoAnswer> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(NoAnswer::Failed(status)),
            Ok(None) if start.elapsed() < PATIENCE => std::thread::sleep(pause),
            Ok(None) => {
                // It may have ended in the meantime.
                let _ = child.kill().and_then(|()| child.wait().map(drop));
                return Err(NoAnswer::TooLate);
            }
            Err(error) => return Err(NoAnswer::Wait(error)),
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
