//! Asks a program for its version. It may be anything that has the right name:
//! it gets no input, little time, and what it prints is read to a limit.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Far more than any of these tools takes, a Java on a busy machine included.
const PATIENCE: Duration = Duration::from_secs(10);

/// Version texts have a few lines.
const LONGEST_TEXT: u64 = 1 << 16;

/// What a program says when it is called so, on either output.
///
/// # Errors
///
/// In words: that it does not start, takes too long, or fails.
pub(super) fn ask(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("does not start: {error}"))?;
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let read = |stream: Option<Box<dyn Read + Send>>| {
        std::thread::Builder::new().spawn(move || {
            let mut text = Vec::new();
            // What was read before an error is all there is to tell.
            let _ = stream.map(|stream| stream.take(LONGEST_TEXT).read_to_end(&mut text));
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let output = read(output.map(|stream| Box::new(stream) as _));
    let errors = read(errors.map(|stream| Box::new(stream) as _));
    let ended = wait(&mut child);
    let (Ok(output), Ok(errors)) = (output, errors) else { return Err("no thread can be started".to_string()) };
    ended?;
    let text = [output, errors].map(|text| text.join().unwrap_or_default()).concat();
    if text.trim().is_empty() { Err("says nothing of its version".to_string()) } else { Ok(text) }
}

/// Waits for the end of a program, and ends one that takes too long.
fn wait(child: &mut Child) -> Result<(), String> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("does not tell its version ({status})")),
            Ok(None) if start.elapsed() < PATIENCE => std::thread::sleep(pause),
            Ok(None) => {
                // It may have ended by itself just now, which is as good.
                let _ = child.kill().and_then(|()| child.wait().map(drop));
                return Err(format!("did not answer within {} seconds", PATIENCE.as_secs()));
            }
            Err(error) => return Err(format!("cannot be waited for: {error}")),
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
