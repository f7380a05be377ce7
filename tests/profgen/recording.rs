//! Programs and recordings of their branches.

use crate::support::Folder;
use std::path::{Path, PathBuf};

/// Returns the text of a file next to this one.
fn source(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profgen").join(name);
    path.to_str().expect("the path of the sources is text").to_string()
}

/// The tools that [`record`] needs.
pub const RECORDER: [&str; 1] = ["cc"];

/// Returns true if one process may single-step another on this machine. Otherwise prints a message.
pub fn can_record(folder: &Folder) -> bool {
    folder.run(&format!("cc -O1 -o recorder {}", source("record_branches.c")));
    let recorded = folder.run("./recorder 1 1 1000 /bin/true");
    if recorded.stdout.is_empty() {
        use std::io::Write;
        let _ = std::io::stderr().write_all(b"SKIPPED: processes cannot be stepped here\n");
    }
    !recorded.stdout.is_empty()
}

/// Compiles a source file from this directory.
pub fn compile(folder: &Folder, compiler: &str, name: &str, output: &str) {
    folder.run(&format!("{compiler} {} -o {output}", source(name)));
}

/// Records the branches of a program in the folder.
pub fn record(folder: &Folder, program: &str) -> PathBuf {
    record_every(folder, program, 61)
}

/// Records a sample after each `interval` branches.
pub fn record_every(folder: &Folder, program: &str, interval: u64) -> PathBuf {
    let recorded = folder.run(&format!("./recorder {interval} 16 200000 ./{program}"));
    folder.write(&format!("{program}.txt"), recorded.stdout)
}

/// Writes the samples of a text into a recording of perf. Each process has the given number.
pub fn perf_data(text: &str, process: u32) -> Vec<u8> {
    const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 11;
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number");
    let mut records = Vec::new();
    let mut push = |kind: u32, misc: u16, body: Vec<u8>| {
        records.extend(kind.to_le_bytes());
        records.extend(misc.to_le_bytes());
        records.extend((body.len() as u16 + 8).to_le_bytes());
        records.extend(body);
    };
    for line in text.lines() {
        let ids = [process.to_le_bytes(), process.to_le_bytes()].concat();
        if let Some(at) = line.find('[').filter(|_| line.contains("PERF_RECORD_MMAP2")) {
            let fields: Vec<&str> =
                line[at + 1..].split(['(', ')', ' ', ']']).filter(|field| !field.is_empty()).collect();
            let mut body = ids.clone();
            [fields[0], fields[1], fields[3]].iter().for_each(|field| body.extend(number(field).to_le_bytes()));
            body.extend([0; 24]);
            body.extend([5, 0, 0, 0, 2, 0, 0, 0]);
            body.extend(line.rsplit(' ').next().expect("a path").as_bytes());
            body.resize((body.len() + 1).next_multiple_of(8), 0);
            push(10, 2, body);
            continue;
        }
        let mut words = line.split_whitespace();
        let ip = number(words.next().expect("an address"));
        let branches: Vec<&str> = words.collect();
        let mut body = ip.to_le_bytes().to_vec();
        body.extend(ids);
        body.extend(1u64.to_le_bytes());
        body.extend((branches.len() as u64).to_le_bytes());
        for branch in branches {
            let mut ends = branch.split('/').map(number);
            for _ in 0..2 {
                body.extend(ends.next().expect("two ends").to_le_bytes());
            }
            body.extend(2u64.to_le_bytes());
        }
        push(9, 2, body);
    }
    let mut attribute = vec![0; 128];
    attribute[4] = 128;
    attribute[16] = 1;
    attribute[24..32].copy_from_slice(&SAMPLE_TYPE.to_le_bytes());
    attribute[72] = 8;
    attribute.extend([0; 16]);
    let mut file = b"PERFILE2".to_vec();
    let (attributes, data) = (104u64, 104 + attribute.len() as u64);
    let words = [104, 144, attributes, 144, data, records.len() as u64, 0, 0, 0, 0, 0, 0];
    words.iter().for_each(|word: &u64| file.extend(word.to_le_bytes()));
    [file, attribute, records].concat()
}
