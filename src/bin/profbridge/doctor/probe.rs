//! Queries a program for its version. The program can be anything with the right name, so it gets no input and a time
//! limit, and its output is read up to a limit.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Far longer than any of these tools takes, including Java on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// Version output has only a few lines.
const LONGEST_TEXT: u64 = 1 << 16;

/// Runs a program and returns its output, from either stream.
///
/// # Errors
///
/// A description: it does not start, takes too long, or fails.
pub(crate) fn ask(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot start: {error}"))?;
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
    let (Ok(output), Ok(errors)) = (output, errors) else { return Err("cannot start a thread".to_string()) };
    ended?;
    let text = [output, errors].map(|text| text.join().unwrap_or_default()).concat();
    if text.trim().is_empty() { Err("prints no version".to_string()) } else { Ok(text) }
}

/// Waits for the end of a program, and kills it if it takes too long.
fn wait(child: &mut Child) -> Result<(), String> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("fails to print its version ({status})")),
            Ok(None) if start.elapsed() < PATIENCE => std::thread::sleep(pause),
            Ok(None) => {
                // It may have ended in the meantime.
                let _ = child.kill().and_then(|()| child.wait().map(drop));
                return Err(format!("did not answer within {} seconds", PATIENCE.as_secs()));
            }
            Err(error) => return Err(format!("cannot wait for it: {error}")),
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
