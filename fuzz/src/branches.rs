//! Programs and their branch recordings must not cause a panic.

use profbridge::Limits;
use profbridge::input::Input;
use profbridge::profgen::{
    FinishOptions, ProfileOptions, Program, ProgramFiles, ProgramImages, RawBase, ScriptOptions, finish, make_profile,
    read_raw, read_recording, read_script, write_raw,
};
use profbridge::sampleprof::{WriteOptions, write};

/// The program if the data has none.
const PROGRAM: &[u8] = include_bytes!("../../testdata/correlate/clang-22-debug-info.binary");

/// A recording of perf, or text before the first zero byte and a program after it.
pub fn branches(data: &[u8]) {
    let is_recording = data.starts_with(b"PERFILE2") || data.starts_with(b"2ELIFREP");
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (text, program) = match is_recording {
        true => (data, &[][..]),
        false => (&data[..end], data.get(end + 1..).unwrap_or_default()),
    };
    let files = ProgramFiles::new("image");
    let limits = Limits::default();
    let mut options = ScriptOptions::default();
    options.allow_plain = true;
    let bytes = if program.is_empty() { PROGRAM } else { program };
    let images = ProgramImages::of_program(bytes.to_vec());
    let Ok(program) = Program::load(&files, &images, &limits) else { return };
    let input = Input::from_bytes("recording", text.to_vec());
    let counters = match read_raw(text, &program, RawBase::Zero) {
        Ok(samples) => {
            let counters = samples.counters;
            let written = write_raw(&counters, &program, RawBase::Zero);
            let again = read_raw(&written, &program, RawBase::Zero).expect("it was just written");
            assert_eq!(again.counters, counters);
            counters
        }
        Err(_) if is_recording => match read_recording(&input, &program, &options, &limits) {
            Ok(recorded) => recorded.samples.counters,
            Err(_) => return,
        },
        Err(_) => match read_script(&input, &program, &options, &limits, &mut |_| ()) {
            Ok(samples) => samples.counters,
            Err(_) => return,
        },
    };
    if let Ok((mut profile, _)) = make_profile(&program, &counters, &ProfileOptions::default(), &limits) {
        let _ = finish(&mut profile, &FinishOptions::default());
        let _ = write(&profile, &WriteOptions::default());
    }
}
