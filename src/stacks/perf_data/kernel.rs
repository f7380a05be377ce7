//! Symbols that are not in programs: those of the running kernel, and of code that a process generated.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The most bytes of a list of symbols.
const MOST_BYTES: u64 = 1 << 30;

/// A list of symbols: address, end, name.
#[derive(Debug, Default)]
pub(super) struct SymbolList {
    symbols: Vec<(u64, u64, Box<str>)>,
}

impl SymbolList {
    /// The symbol at an address.
    pub(super) fn find(&self, address: u64) -> Option<&str> {
        let after = self.symbols.partition_point(|(start, ..)| *start <= address);
        let (_, end, name) = self.symbols.get(after.checked_sub(1)?)?;
        (address < *end).then_some(&**name)
    }

    /// Reads `/proc/kallsyms`, if the build id of the running kernel is this one.
    pub(super) fn of_running_kernel(build_id: &[u8]) -> Option<Self> {
        let notes = std::fs::read("/sys/kernel/notes").ok()?;
        if notes_build_id(&notes)? != build_id {
            return None;
        }
        Self::read_kernel(Path::new("/proc/kallsyms"))
    }

    /// Reads `/proc/kallsyms`, if the running kernel is of this release.
    pub(super) fn of_running_release(release: &str) -> Option<Self> {
        let running = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
        (running.trim() == release).then(|| Self::read_kernel(Path::new("/proc/kallsyms")))?
    }

    /// Reads the symbols of a kernel: `address type name [module]`.
    pub(super) fn read_kernel(path: &Path) -> Option<Self> {
        let mut found = Vec::new();
        for_each_line(path, |line| {
            let mut words = line.split_ascii_whitespace();
            let (address, kind, name) = (words.next()?, words.next()?, words.next()?);
            let address = u64::from_str_radix(address, 16).ok()?;
            if address != 0 && matches!(kind, "t" | "T" | "w" | "W") {
                found.push((address, 0, name.into()));
            }
            Some(())
        })?;
        // A name without leading underscores, and then a longer one, wins.
        let underscores = |name: &str| name.len() - name.trim_start_matches('_').len();
        found.sort_by(|a: &(u64, u64, Box<str>), b| {
            let rank = |name: &str| (underscores(name), std::cmp::Reverse(name.len()));
            (a.0, rank(&a.2)).cmp(&(b.0, rank(&b.2)))
        });
        found.dedup_by_key(|symbol| symbol.0);
        for at in 0..found.len() {
            found[at].1 = found.get(at + 1).map_or(found[at].0.saturating_add(4096), |next| next.0);
        }
        (!found.is_empty()).then_some(Self { symbols: found })
    }

    /// Reads `/tmp/perf-PID.map`: `address size name`, of which a later line replaces an earlier one.
    pub(super) fn read_perf_map(path: &Path) -> Option<Self> {
        let mut found: Vec<(u64, u64, Box<str>)> = Vec::new();
        for_each_line(path, |line| {
            let (address, rest) = line.split_once(' ')?;
            let (size, name) = rest.split_once(' ')?;
            let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
            let (address, size) = (hex(address)?, hex(size)?);
            found.push((address, address.checked_add(size)?, name.into()));
            Some(())
        })?;
        found.reverse();
        found.sort_by_key(|symbol| symbol.0);
        found.dedup_by_key(|symbol| symbol.0);
        (!found.is_empty()).then_some(Self { symbols: found })
    }
}

/// Visits the lines of a regular file.
fn for_each_line(path: &Path, mut visit: impl FnMut(&str) -> Option<()>) -> Option<()> {
    let file = std::fs::File::open(path).ok().filter(|file| file.metadata().is_ok_and(|found| found.is_file()))?;
    let mut lines = BufReader::with_capacity(1 << 16, file.take(MOST_BYTES));
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line).ok()? == 0 {
            return Some(());
        }
        visit(String::from_utf8_lossy(&line).trim_end());
    }
}

/// The build id in the notes of the running kernel.
fn notes_build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const NT_GNU_BUILD_ID: u32 = 3;
    loop {
        let (header, rest) = notes.split_first_chunk::<12>()?;
        let word = |at: usize| Some(u32::from_ne_bytes(*header.get(at..)?.first_chunk()?) as usize);
        let (name_len, id_len, kind) = (word(0)?, word(4)?, word(8)?);
        let (name, rest) = rest.split_at_checked(name_len.next_multiple_of(4))?;
        let id = rest.get(..id_len)?;
        if name.starts_with(b"GNU\0") && kind == NT_GNU_BUILD_ID as usize {
            return Some(id);
        }
        notes = rest.get(id_len.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_of_the_kernel_end_where_the_next_begins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kallsyms");
        let text = "ffff8000 T _text\nffff8000 T start\nffff8010 t next\nffff8020 D data\nffff9000 t init\t[ext4]\n";
        std::fs::write(&path, text).unwrap();
        let symbols = SymbolList::read_kernel(&path).unwrap();
        let found = |address| symbols.find(address).unwrap_or("-");
        assert_eq!((found(0xffff7fff), found(0xffff800f), found(0xffff8fff)), ("-", "start", "next"));
        assert_eq!((found(0xffff9fff), found(0xffffa000)), ("init", "-"));
    }

    #[test]
    fn a_later_line_of_a_perf_map_replaces_an_earlier_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("perf-1.map");
        std::fs::write(&path, "1000 10 old\n1000 20 void app.Main.run(int)\nrubbish\n").unwrap();
        let symbols = SymbolList::read_perf_map(&path).unwrap();
        assert_eq!((symbols.find(0x101f), symbols.find(0x1020)), (Some("void app.Main.run(int)"), None));
    }
}
