//! GraalVM's documents, sampled stacks and class files.

use profbridge::Limits;
use profbridge::call_chains::{SampleSource, StackTable};
use profbridge::compression::decompress;
use profbridge::families::stack_files::{StackOptions, add_input};
use profbridge::input::{Format, detect};
use profbridge::iprof::{self, ReadOptions, WriteOptions};
use profbridge::stacks::classes::Reference;

use profbridge::stacks::collapsed::{CollapsedOptions, write_collapsed};
use profbridge::stacks::{collapsed, jfr, pprof};

/// iprof. A document that was accepted in lenient mode is written, and must then be valid in strict mode.
pub fn iprof(data: &[u8]) {
    let _ = iprof::Reader::from_bytes(data, &ReadOptions::default()).read();
    let mut lenient = ReadOptions::default();
    lenient.accept_errors = true;
    lenient.salvage = true;
    lenient.find_duplicates = true;
    let examined = iprof::Reader::from_bytes(data, &lenient).examine();
    let streamed = iprof::Reader::new(data, &lenient).examine();
    assert_eq!(examined.verdict, streamed.verdict, "reading in pieces is another reading");
    let Some(document) = examined.document else { return };
    let bytes = iprof::Writer::new(&WriteOptions::default()).to_bytes(&document);
    let (again, _) =
        iprof::Reader::from_bytes(&bytes, &ReadOptions::default()).read().expect("what was written can be read");
    assert_eq!(iprof::Writer::new(&WriteOptions::default()).to_bytes(&again), bytes, "writing again gives other bytes");
}

/// Flight Recorder recordings, with every event that has a weight.
pub fn recording(data: &[u8]) {
    let mut table = StackTable::new();
    let mut options = jfr::RecordingOptions::default();
    options.events = SampleSource::ALL.iter().copied().filter(|source| !source.is_timed()).collect();
    let _ = jfr::read_recording(data, &options, &Limits::default(), &mut table);
    use_table(&table);
}

/// perf recordings. Programs are searched where there are none.
pub fn perf(data: &[u8]) {
    let mut table = StackTable::new();
    let mut options = StackOptions::default();
    options.perf.symfs = Some("/nonexistent".into());
    if detect(data) == Format::PerfData {
        let _ = add_input(data, &options, &mut table);
    }
    use_table(&table);
}

/// Collapsed and folded stacks. Stacks that were written in full read back equal.
pub fn stacks(data: &[u8]) {
    let mut table = StackTable::new();
    let _ = collapsed::text_evidence(&profbridge::bytes::Head::new(data));
    let _ = collapsed::read_stacks(data, &collapsed::TextOptions::default(), &Limits::default(), &mut table);
    use_table(&table);
}

/// pprof. Written profiles read back equal, and merging, trimming and checking accept all profiles that were read.
pub fn pprof(data: &[u8]) {
    let limits = Limits::default();
    let content = decompress(data, &limits);
    let Ok((profile, _)) = content.and_then(|data| pprof::read(&data, &limits)) else { return };
    let bytes = pprof::write(&profile).expect("there is memory");
    let (again, warnings) = pprof::read(&bytes, &limits).expect("what was written can be read");
    assert!(again == profile && warnings.is_empty(), "writing loses something");
    let _ = pprof::judge_for_go(&profile);
    let mut merger = pprof::Merger::new(pprof::MergeOptions::default());
    for weight in [1, 3] {
        merger.add(&profile, weight).expect("a profile goes with itself");
    }
    let (sum, _) = merger.finish_with_report();
    assert!(sum.samples.len() <= profile.samples.len(), "a sum has more stacks");
    let trimmed = pprof::heaviest(&sum, 2).expect("a profile goes with itself");
    assert!(trimmed.samples.len() == sum.samples.len().min(2));
    let mut table = StackTable::new();
    if pprof::add_to_table(&profile, &pprof::ValueChoice::default(), &mut table).is_ok() {
        use_table(&table);
    }
}

fn use_table(table: &StackTable) {
    for sample in table.samples() {
        assert!(table.frames(sample.key.stack).count() as u32 == table.depth(sample.key.stack));
    }
    for function in table.functions() {
        let _ = table.display_function(function);
    }
    let _ = write_collapsed(table, &CollapsedOptions::default());
    let (profile, _) = pprof::from_table(table);
    let (again, _) = pprof::read(&pprof::write(&profile).expect("there is memory"), &Limits::default())
        .expect("stacks become a sound profile");
    assert!(again == profile, "writing loses something");
    let (document, _) = profbridge::bridge::stacks::iprof_from_stacks(table, &Default::default());
    let bytes = iprof::Writer::new(&WriteOptions::default()).to_bytes(&document);
    iprof::Reader::from_bytes(&bytes, &ReadOptions::default()).read().expect("stacks become a sound document");
}

/// Class files and jars.
pub fn classes(data: &[u8]) {
    let _ = Reference::takes(data);
    let _ = Reference::new().add_classes(data, &Limits::default());
}
