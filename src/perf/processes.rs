//! The mappings and names of processes at the time of a sample.

use super::event::{CpuMode, KERNEL, Mapping};
use foldhash::HashMap;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Regions that are copied because processes fork; later processes begin without mappings.
const MOST_COPIED: usize = 4 << 20;

/// Addresses from here on belong to the kernel.
const FIRST_OF_KERNEL: u64 = 1 << 63;

/// A file that was mapped, or memory without one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct MappedFile {
    /// The path as the kernel wrote it.
    pub(crate) path: Vec<u8>,
    /// The build id in the mapping.
    pub(crate) build_id: Option<Vec<u8>>,
    /// The process, for memory without a file: places in it are addresses.
    pub(crate) memory_of: Option<u32>,
}

impl MappedFile {
    /// Whether it is the kernel, or a module of it.
    pub(crate) fn is_kernel(&self) -> bool {
        self.memory_of == Some(KERNEL)
    }
}

/// An address in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The number of the file.
    pub(crate) file: u32,
    /// The offset in the file; the address for the kernel and for memory without a file.
    pub(crate) offset: u64,
}

/// Part of an address space.
#[derive(Debug, Clone, Copy)]
struct Region {
    end: u64,
    file: u32,
    /// The difference that is added to an address, modulo 2^64.
    bias: u64,
}

type Regions = BTreeMap<u64, Region>;

/// The mappings of a process.
#[derive(Debug, Default, Clone)]
struct Space {
    regions: Rc<Regions>,
    /// Changes with every mapping; equal numbers mean equal mappings.
    generation: u32,
}

/// All processes of a recording.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    spaces: HashMap<u32, Space>,
    generation: u32,
    files: Vec<MappedFile>,
    by_file: HashMap<MappedFile, u32>,
    /// Names of threads, by their numbers in the list.
    commands: HashMap<u32, u32>,
    names: Vec<Rc<str>>,
    by_name: HashMap<Rc<str>, u32>,
    copied: usize,
    /// Processes that began without the mappings of their parent, because there are too many.
    pub(crate) forgotten: u64,
}

/// Whether the path is that of memory without a file: generated code, heap, stack.
pub(crate) fn is_memory(path: &[u8]) -> bool {
    let starts: [&[u8]; 9] = [
        b"//anon",
        b"/anon_hugepage",
        b"/dev/zero",
        b"anon_inode:",
        b"[anon",
        b"[heap",
        b"[stack",
        b"/memfd:",
        b"/SYSV",
    ];
    path.is_empty() || starts.iter().any(|start| path.starts_with(start))
}

impl Processes {
    /// All files, by their numbers.
    pub(crate) fn files(&self) -> &[MappedFile] {
        &self.files
    }

    /// Adds a mapping; it replaces older mappings of its addresses.
    pub(crate) fn map(&mut self, mapping: &Mapping) {
        let is_memory = mapping.pid == KERNEL || is_memory(&mapping.path);
        let key = MappedFile {
            path: mapping.path.clone(),
            build_id: mapping.build_id.clone(),
            memory_of: is_memory.then_some(mapping.pid),
        };
        let next = self.files.len();
        let file = match self.by_file.get(&key) {
            Some(file) => *file,
            None => {
                let Ok(file) = u32::try_from(next) else { return };
                self.files.push(key.clone());
                self.by_file.insert(key, file);
                file
            }
        };
        let bias = if is_memory { 0 } else { mapping.offset.wrapping_sub(mapping.start) };
        let Some(end) = mapping.start.checked_add(mapping.len) else { return };
        insert(self.regions_mut(mapping.pid), mapping.start, Region { end, file, bias });
    }

    /// The mappings of a process for a change, its own from now on.
    fn regions_mut(&mut self, pid: u32) -> &mut Regions {
        self.generation = self.generation.wrapping_add(1);
        let space = self.spaces.entry(pid).or_default();
        space.generation = self.generation;
        if Rc::strong_count(&space.regions) > 1 {
            self.copied = self.copied.saturating_add(space.regions.len());
            if self.copied > MOST_COPIED {
                self.forgotten += 1;
                space.regions = Rc::default();
            }
        }
        Rc::make_mut(&mut space.regions)
    }

    /// A process begins with the mappings of its parent, a thread with the name of its parent.
    pub(crate) fn fork(&mut self, pid: u32, tid: u32, parent: u32, parent_tid: u32) {
        if let Some(command) = self.commands.get(&parent_tid).copied() {
            self.commands.insert(tid, command);
        }
        if pid != parent
            && let Some(space) = self.spaces.get(&parent).cloned()
        {
            self.spaces.insert(pid, space);
        }
    }

    /// Names a thread; after `exec` its process has no mappings.
    pub(crate) fn name(&mut self, pid: u32, tid: u32, name: &[u8], is_exec: bool) {
        let name = self.intern(&String::from_utf8_lossy(name));
        self.commands.insert(tid, name);
        if is_exec && pid != KERNEL {
            self.spaces.remove(&pid);
        }
    }

    /// The number of a name.
    fn intern(&mut self, name: &str) -> u32 {
        if let Some(known) = self.by_name.get(name) {
            return *known;
        }
        let (name, number) = (Rc::<str>::from(name), u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        self.names.push(name.clone());
        self.by_name.insert(name, number);
        number
    }

    /// The number of a thread's name; `:TID` like perf if unknown.
    pub(crate) fn command(&mut self, tid: Option<u32>) -> u32 {
        let Some(tid) = tid else { return self.intern(":-1") };
        if let Some(known) = self.commands.get(&tid) {
            return *known;
        }
        let name = match tid {
            0 => self.intern("swapper"),
            tid => self.intern(&format!(":{}", tid.cast_signed())),
        };
        self.commands.insert(tid, name);
        name
    }

    /// A name by its number.
    pub(crate) fn name_of(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", |name| name)
    }

    /// A number that changes with the mappings of a process, or with those of the kernel.
    pub(crate) fn generation(&self, pid: Option<u32>, mode: CpuMode, address: u64) -> u32 {
        let space = space_number(pid, mode, address).and_then(|pid| self.spaces.get(&pid));
        space.map_or(0, |space| space.generation)
    }

    /// The file at an address.
    pub(crate) fn find(&self, pid: Option<u32>, mode: CpuMode, address: u64) -> Option<Place> {
        let space = self.spaces.get(&space_number(pid, mode, address)?)?;
        let (_, region) = space.regions.range(..=address).next_back()?;
        (address < region.end).then(|| Place { file: region.file, offset: address.wrapping_add(region.bias) })
    }
}

/// The number of the address space: that of the process, or of the kernel.
fn space_number(pid: Option<u32>, mode: CpuMode, address: u64) -> Option<u32> {
    match mode {
        CpuMode::Kernel => Some(KERNEL),
        CpuMode::User => pid,
        CpuMode::Unknown if address >= FIRST_OF_KERNEL => Some(KERNEL),
        CpuMode::Unknown => pid,
        CpuMode::Hypervisor | CpuMode::GuestKernel | CpuMode::GuestUser => None,
    }
}

/// Adds a region and cuts what it overlaps.
fn insert(space: &mut Regions, start: u64, region: Region) {
    let before = space.range_mut(..start).next_back();
    if let Some((_, before)) = before.filter(|(_, before)| before.end > start) {
        let rest = *before;
        before.end = start;
        if rest.end > region.end {
            space.insert(region.end, rest);
        }
    }
    while let Some((at, covered)) = space.range(start..region.end).next().map(|(at, covered)| (*at, *covered)) {
        space.remove(&at);
        if covered.end > region.end {
            space.insert(region.end, covered);
        }
    }
    space.insert(start, region);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(pid: u32, start: u64, len: u64, offset: u64, path: &str) -> Mapping {
        Mapping { pid, start, len, offset, path: path.into(), build_id: None, is_executable: true }
    }

    fn find(processes: &Processes, pid: u32, address: u64) -> Option<(String, u64)> {
        let place = processes.find(Some(pid), CpuMode::User, address)?;
        let path = &processes.files()[place.file as usize].path;
        Some((String::from_utf8_lossy(path).into_owned(), place.offset))
    }

    #[test]
    fn a_new_mapping_replaces_overlapping_ones() {
        let mut processes = Processes::default();
        processes.map(&mapping(1, 0x1000, 0x4000, 0, "a"));
        processes.map(&mapping(1, 0x2000, 0x1000, 0x100, "b"));
        for (address, expected) in
            [(0xfff, None), (0x1fff, Some(("a", 0xfff))), (0x2001, Some(("b", 0x101))), (0x3000, Some(("a", 0x2000)))]
        {
            let expected = expected.map(|(path, offset)| (path.to_string(), offset));
            assert_eq!(find(&processes, 1, address), expected, "{address:#x}");
        }
        processes.map(&mapping(1, 0x800, 0x10000, 0, "c"));
        assert_eq!(find(&processes, 1, 0x3000), Some(("c".into(), 0x2800)));
        assert_eq!(find(&processes, 1, 0x5000), Some(("c".into(), 0x4800)));
    }

    #[test]
    fn children_inherit_until_exec() {
        let mut processes = Processes::default();
        processes.name(1, 1, b"sh", false);
        processes.map(&mapping(1, 0x1000, 0x1000, 0, "sh"));
        processes.fork(2, 2, 1, 1);
        processes.map(&mapping(2, 0x3000, 0x1000, 0, "lib"));
        assert_eq!(find(&processes, 2, 0x1000), Some(("sh".into(), 0)));
        assert_eq!((find(&processes, 1, 0x3000), find(&processes, 2, 0x3001)), (None, Some(("lib".into(), 1))));
        let command = |processes: &mut Processes, tid| {
            let number = processes.command(Some(tid));
            processes.name_of(number).to_string()
        };
        assert_eq!(command(&mut processes, 2), "sh");
        processes.name(2, 2, b"ls", true);
        assert_eq!((find(&processes, 2, 0x1000), command(&mut processes, 2)), (None, "ls".into()));
        assert_eq!(command(&mut processes, 7), ":7");
    }

    #[test]
    fn many_forks_of_a_large_process_take_bounded_memory() {
        let mut processes = Processes::default();
        for at in 0..1000 {
            processes.map(&mapping(1, at * 0x1000, 0x800, 0, "a"));
        }
        for pid in 2..10_000 {
            processes.fork(pid, pid, 1, 1);
            processes.map(&mapping(pid, 1 << 40, 0x1000, 0, "b"));
        }
        assert!(processes.forgotten > 5000 && processes.copied > MOST_COPIED);
        assert_eq!(find(&processes, 9_999, 1 << 40), Some(("b".into(), 0)));
    }
}
