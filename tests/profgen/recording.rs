//! Programs and recordings of their branches.

use crate::support::Folder;
use std::path::{Path, PathBuf};

/// Returns the text of a file next to this one.
pub fn source(name: &str) -> String {
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

/// Records a sample after each `interval` branches. The search path of cargo would make the loader run longer.
pub fn record_every(folder: &Folder, program: &str, interval: u64) -> PathBuf {
    let recorded = folder.run(&format!("env -u LD_LIBRARY_PATH ./recorder {interval} 16 200000 ./{program}"));
    folder.write(&format!("{program}.txt"), recorded.stdout)
}

/// Records a sample with its call chain after each `interval` branches.
pub fn record_chains(folder: &Folder, program: &str, interval: u64, window: u64) -> String {
    let recorded = folder.run(&format!("env -u LD_LIBRARY_PATH ./recorder {interval} -{window} 60000 ./{program}"));
    let name = format!("{program}.{interval}.txt");
    folder.write(&name, recorded.stdout);
    name
}

/// Writes the samples of a text into a recording of perf. Each process has the given number.
pub fn perf_data(text: &str, process: u32) -> Vec<u8> {
    const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 11;
    const CALL_CHAINS: u64 = 1 << 5;
    const USER: u64 = 512u64.wrapping_neg();
    let has_chains = text.contains("\n\t");
    let mut chain = vec![USER];
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number");
    let mut records = Vec::new();
    let mut push = |kind: u32, misc: u16, body: Vec<u8>| records.extend(record_of(kind, misc, &body));
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
        if has_chains && !line.starts_with(" 0x") {
            chain.extend(line.split_whitespace().map(number));
            continue;
        }
        let mut words = line.split_whitespace();
        let ip = if has_chains { chain[1] } else { number(words.next().expect("an address")) };
        let branches: Vec<&str> = words.collect();
        let mut body = ip.to_le_bytes().to_vec();
        body.extend(ids);
        body.extend(1u64.to_le_bytes());
        if has_chains {
            body.extend((chain.len() as u64).to_le_bytes());
            chain.drain(..).for_each(|address| body.extend(address.to_le_bytes()));
            chain.push(USER);
        }
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
    file_of(if has_chains { SAMPLE_TYPE | CALL_CHAINS } else { SAMPLE_TYPE }, 1 << 3, &records)
}

fn record_of(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let size = body.len() as u16 + 8;
    [&kind.to_le_bytes()[..], &misc.to_le_bytes(), &size.to_le_bytes(), body].concat()
}

/// Changes the sampling period of a recording of one event.
pub fn set_period(recording: &mut [u8], period: u64) {
    recording[104 + 16..][..8].copy_from_slice(&period.to_le_bytes());
}

/// A file with one event.
fn file_of(sample_type: u64, branch_type: u64, records: &[u8]) -> Vec<u8> {
    let mut attribute = vec![0; 128];
    attribute[4] = 128;
    attribute[16] = 1;
    attribute[24..32].copy_from_slice(&sample_type.to_le_bytes());
    attribute[72..80].copy_from_slice(&branch_type.to_le_bytes());
    attribute.extend([0; 16]);
    let mut file = b"PERFILE2".to_vec();
    let (attributes, data) = (104u64, 104 + attribute.len() as u64);
    let words = [104, 144, attributes, 144, data, records.len() as u64, 0, 0, 0, 0, 0, 0];
    words.iter().for_each(|word: &u64| file.extend(word.to_le_bytes()));
    [&file[..], &attribute, records].concat()
}

/// Records a program with perf by its clock. Returns false, and prints a message, if perf does not work on this machine.
pub fn perf_record(folder: &Folder, options: &str, program: &str, output: &str) -> bool {
    let recorded = folder.try_run(&format!("perf record -q -F 5000 -e cpu-clock:u {options} -o {output} {program}"));
    if !recorded.status.success() {
        use std::io::Write;
        let _ = std::io::stderr().write_all(b"SKIPPED: perf cannot record here\n");
    }
    recorded.status.success()
}

/// A recording of a program in the folder that was linked for fixed addresses: address and call chain of each sample.
pub fn plain_recording(folder: &Folder, program: &str, samples: &[(u64, Vec<u64>)]) -> Vec<u8> {
    let own = folder.path(program);
    remapped_recording(folder, program, &[own.to_str().expect("a path in text")], samples)
}

/// A recording in which files are mapped to the place of the program one after the other, each with the same samples.
pub fn remapped_recording(folder: &Folder, program: &str, paths: &[&str], samples: &[(u64, Vec<u64>)]) -> Vec<u8> {
    // Without times, which mappings lack here, the order is that of the file.
    const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 5;
    let records: Vec<u8> = paths.iter().flat_map(|path| records_of(folder, program, path, samples)).collect();
    file_of(SAMPLE_TYPE, 0, &records)
}

/// The mapping of a file, and samples.
fn records_of(folder: &Folder, program: &str, path: &str, samples: &[(u64, Vec<u64>)]) -> Vec<u8> {
    const PROCESS: u32 = 77;
    let headers = String::from_utf8(folder.run(&format!("readelf -lW {program}")).stdout).expect("readelf prints text");
    let code = headers.lines().find(|line| line.contains("LOAD") && line.contains(" R E ")).expect("a segment of code");
    let fields: Vec<u64> =
        code.split_whitespace().filter_map(|field| u64::from_str_radix(field.strip_prefix("0x")?, 16).ok()).collect();
    let ids = [PROCESS.to_le_bytes(), PROCESS.to_le_bytes()].concat();
    let mut mapping = ids.clone();
    [fields[1], fields[4].next_multiple_of(0x1000), fields[0]]
        .iter()
        .for_each(|word| mapping.extend(word.to_le_bytes()));
    mapping.extend([0; 24]);
    mapping.extend([5, 0, 0, 0, 2, 0, 0, 0]);
    mapping.extend(path.as_bytes());
    mapping.resize((mapping.len() + 1).next_multiple_of(8), 0);
    let mut records = record_of(10, 2, &mapping);
    for (ip, chain) in samples {
        let mut body = ip.to_le_bytes().to_vec();
        body.extend(&ids);
        body.extend((chain.len() as u64).to_le_bytes());
        chain.iter().for_each(|address| body.extend(address.to_le_bytes()));
        records.extend(record_of(9, if *ip >> 63 == 1 { 1 } else { 2 }, &body));
    }
    records
}
