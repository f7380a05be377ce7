//! One thread reads the functions of a large profile while another makes and
//! prints their text.

use crate::error::{Error, Result};
use crate::instr::show::ShowOptions;
use crate::instr::show::details::{DETAILS_HEADING, Details};
use crate::instr::show::page::{Page, printed};
use crate::instr::show::scan::{Event, Totals, scan};
use crate::model::{ProfileReader, RecordStore, RecordView, SymbolTable};
use crate::threads::batch_channel::{BatchSender, User, batch_channel};
use crate::threads::{self, wanted};
use std::io;
use std::thread::ScopedJoinHandle;

/// Batches that may wait.
const WAITING: usize = 4;

/// Whether functions are shown with their details alone, and no names of values
/// have to be looked up, for which the reader would have to be asked.
pub(super) fn can_print(options: &ShowOptions) -> bool {
    let only_details = !options.text && !options.covered && !options.only_below_cutoff;
    only_details && !options.shows_names() && wanted(None).get() > 1
}

/// Prints the details of all functions that are shown, in file order.
///
/// # Errors
///
/// Those of the output, else of the reader; what was read before is printed.
pub(super) fn print_details(
    reader: &mut dyn ProfileReader,
    options: &ShowOptions,
    page: &mut Page<'_>,
) -> Result<Totals> {
    let mut printer = Some(Printer { options, is_ir: reader.kind().is_ir(), is_first: true, page });
    std::thread::scope(|scope| {
        let mut batch = Batch::default();
        // Started for profiles that fill a batch.
        let mut is_alone = false;
        let mut thread: Option<(BatchSender<Batch>, ScopedJoinHandle<'_, Result<()>>)> = None;
        let totals = scan(reader, options, &mut |event| {
            let Event::Details { name, record, .. } = event else { return Ok(()) };
            batch.push(name, record);
            if !batch.is_full() {
                return Ok(());
            }
            if let Some(idle) = printer.take_if(|_| !is_alone) {
                let (maker, user) = batch_channel(WAITING);
                match threads::start_with(scope, idle, move |printer| printer.print_all(&user)) {
                    Ok(started) => thread = Some((maker, started)),
                    Err(idle) => (printer, is_alone) = (Some(idle), true),
                }
            }
            if let Some(printer) = &mut printer {
                let outcome = printer.print(&batch);
                batch.clear();
                return outcome;
            }
            let is_taken = thread.as_ref().is_some_and(|(maker, _)| maker.hand_over(&mut batch));
            batch.clear();
            // The printer says what was wrong.
            if is_taken { Ok(()) } else { Err(Error::io("cannot write", io::ErrorKind::BrokenPipe.into())) }
        });
        let outcome = match (thread, printer) {
            (Some((maker, thread)), _) => {
                maker.hand_over(&mut batch);
                drop(maker);
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
            (None, Some(mut printer)) => printer.print(&batch),
            (None, None) => Ok(()),
        };
        outcome.and(totals)
    })
}

/// Makes text of records and prints it.
struct Printer<'a, 'o> {
    options: &'a ShowOptions,
    is_ir: bool,
    is_first: bool,
    page: &'a mut Page<'o>,
}

impl Printer<'_, '_> {
    fn print_all(mut self, batches: &User<Batch>) -> Result<()> {
        let mut batch = Batch::default();
        while batches.exchange(&mut batch) {
            self.print(&batch)?;
        }
        Ok(())
    }

    fn print(&mut self, batch: &Batch) -> Result<()> {
        let nameless = SymbolTable::new();
        let details = Details { options: self.options, is_ir: self.is_ir, symbols: &nameless };
        for (name, record) in batch.records() {
            if std::mem::take(&mut self.is_first) {
                self.page.waits = false;
                self.page.text.extend_from_slice(DETAILS_HEADING);
            }
            printed(details.push(&mut self.page.text, name, record))?;
            self.page.print_if_full()?;
        }
        Ok(())
    }
}

/// Records with their names, copied from a reader.
#[derive(Default)]
struct Batch {
    names: Vec<u8>,
    /// Where each name ends.
    ends: Vec<usize>,
    records: RecordStore,
    counters: usize,
}

impl Batch {
    /// Records, or counters, of a full batch.
    const RECORDS: usize = 512;
    const COUNTERS: usize = 1 << 15;

    fn push(&mut self, name: &[u8], record: RecordView<'_>) {
        self.names.extend_from_slice(name);
        self.ends.push(self.names.len());
        self.records.push(record);
        self.counters += record.counters.len();
    }

    fn is_full(&self) -> bool {
        self.ends.len() >= Self::RECORDS || self.counters >= Self::COUNTERS
    }

    fn clear(&mut self) {
        self.names.clear();
        self.ends.clear();
        self.records.clear();
        self.counters = 0;
    }

    fn records(&self) -> impl Iterator<Item = (&[u8], RecordView<'_>)> {
        let mut start = 0;
        self.ends.iter().enumerate().map(move |(at, &end)| {
            let name = &self.names[start..end];
            start = end;
            (name, self.records.record(at))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instr::show::text::print_events;
    use crate::model::testing::MemoryReader;
    use crate::model::{FunctionRecord, ProfileKind, ValueCount, ValueKind};
    use std::io::Write;

    /// So many functions, of which some are large, have values or a pseudo count.
    fn profile(functions: usize) -> MemoryReader {
        (0..functions).fold(MemoryReader::new(ProfileKind::IR), |reader, at| {
            let counters = if at % 100 == 99 { 40_000 } else { at % 7 };
            let mut record = FunctionRecord::new(at as u64, (0..counters).map(|count| (count * at) as u64).collect());
            if at % 11 == 3 {
                record.counters.insert(0, u64::MAX);
            }
            if at % 5 == 1 {
                record.sites_mut(ValueKind::MemOpSize).push_site(&[ValueCount { value: 8, count: at as u64 }]);
            }
            reader.record(&format!("function{at}"), record)
        })
    }

    fn options() -> ShowOptions {
        ShowOptions { all_functions: true, counts: true, memop_sizes: true, top: 3, ..ShowOptions::default() }
    }

    fn outcome(totals: Result<Totals>) -> String {
        let facts = |totals: Totals| format!("{} {:?} {:?}", totals.shown, totals.summary, totals.maxima);
        totals.map_or_else(|error| error.to_string(), facts)
    }

    #[test]
    fn two_threads_print_the_output_of_one() {
        let no_text = |_: &mut dyn Write, _: &[u8], _: RecordView<'_>, _: &SymbolTable| Ok(());
        for functions in [0, 1, Batch::RECORDS - 1, Batch::RECORDS, 3000] {
            for fails in [false, true] {
                let reader = || {
                    let mut reader = profile(functions);
                    reader.fails = fails;
                    reader
                };
                let (mut alone, mut together) = (Vec::new(), Vec::new());
                let mut page = Page::new(&mut alone);
                let expected = outcome(print_events(&mut reader(), &options(), &no_text, &mut page));
                page.print().unwrap();
                let mut page = Page::new(&mut together);
                assert_eq!(outcome(print_details(&mut reader(), &options(), &mut page)), expected);
                page.print().unwrap();
                assert!(alone == together, "{functions} functions, fails: {fails}");
                let mut refused = Vec::new();
                let mut page = Page::new(&mut refused);
                let print = || outcome(print_details(&mut reader(), &options(), &mut page));
                assert_eq!(threads::refusal::after(0, print), expected);
                page.print().unwrap();
                assert!(alone == refused, "{functions} functions, fails: {fails}, without a thread");
            }
        }
    }

    #[test]
    fn output_errors_are_returned() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut out = Full;
        let reported = outcome(print_details(&mut profile(5000), &options(), &mut Page::new(&mut out)));
        assert_eq!(reported, Error::io("cannot write", io::ErrorKind::StorageFull.into()).to_string());
    }
}
