//! Writes recordings for tests, in every form.

use super::event::Branch;
use super::records::kind;
use crate::bytes::{Endian, Sink};

/// The fields of a sample: IP, TID, TIME, PERIOD, and IDENTIFIER.
pub(crate) const PLAIN: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 8 | 1 << 16;
pub(crate) const CALL_CHAIN: u64 = 1 << 5;
pub(crate) const BRANCHES: u64 = 1 << 11;

/// An event to record.
#[derive(Debug, Clone)]
pub(crate) struct EventSpec {
    pub(crate) name: &'static str,
    pub(crate) sample_type: u64,
    pub(crate) branch_type: u64,
    pub(crate) id: u64,
    /// The samples per second; `None` for a sample every 1000 cycles.
    pub(crate) frequency: Option<u64>,
}

impl EventSpec {
    pub(crate) fn new(name: &'static str, sample_type: u64, id: u64) -> Self {
        Self { name, sample_type, branch_type: 1 << 3, id, frequency: None }
    }
}

/// A sample to record.
#[derive(Debug, Clone, Default)]
pub(crate) struct SampleSpec {
    pub(crate) pid: u32,
    pub(crate) time: u64,
    pub(crate) ip: u64,
    pub(crate) period: u64,
    pub(crate) call_chain: Vec<u64>,
    pub(crate) branches: Vec<Branch>,
}

/// The records of a recording, and its events.
pub(crate) struct Writer {
    pub(crate) endian: Endian,
    pub(crate) events: Vec<EventSpec>,
    /// Whether it is the file `data` of `perf record --threads`.
    pub(crate) is_directory: bool,
    records: Vec<Vec<u8>>,
}

const ATTRIBUTE_BYTES: u64 = 128;
const HOST: u64 = 3;
const COMMAND_LINE: u64 = 11;
const EVENTS: u64 = 12;
const BUILD_IDS: u64 = 2;
const DIRECTORY: u64 = 24;

impl Writer {
    pub(crate) fn new(endian: Endian, events: Vec<EventSpec>) -> Self {
        Self { endian, events, is_directory: false, records: Vec::new() }
    }

    fn record(&self, kind: u32, misc: u16, write: impl FnOnce(&mut Sink)) -> Vec<u8> {
        let mut body = Sink::new(self.endian);
        write(&mut body);
        let mut sink = Sink::new(self.endian);
        sink.u32(kind);
        sink.u16(misc);
        sink.u16(u16::try_from(body.len() + 8).unwrap());
        sink.bytes(body.as_slice());
        sink.into_bytes()
    }

    /// Adds a record that has a trailer, as the first event has it.
    fn kernel_record(&mut self, kind: u32, misc: u16, (pid, time): (u32, u64), write: impl FnOnce(&mut Sink)) {
        let id = self.events[0].id;
        let record = self.record(kind, misc, |sink| {
            write(sink);
            sink.u32(pid);
            sink.u32(pid);
            sink.u64(time);
            sink.u64(id);
        });
        self.records.push(record);
    }

    pub(crate) fn raw(&mut self, kind: u32, body: &[u8]) {
        let record = self.record(kind, 0, |sink| sink.bytes(body));
        self.records.push(record);
    }

    pub(crate) fn finish_round(&mut self) {
        self.raw(kind::FINISHED_ROUND, &[]);
    }

    pub(crate) fn map(&mut self, pid: u32, time: u64, (start, len, offset): (u64, u64, u64), path: &str) {
        self.map2(pid, time, (start, len, offset), path, None);
    }

    pub(crate) fn map2(
        &mut self,
        pid: u32,
        time: u64,
        (start, len, offset): (u64, u64, u64),
        path: &str,
        build_id: Option<&[u8]>,
    ) {
        let misc = if pid == u32::MAX { 1 } else { 2 } | if build_id.is_some() { 1 << 14 } else { 0 };
        self.kernel_record(kind::MMAP2, misc, (pid, time), |sink| {
            sink.u32(pid);
            sink.u32(pid);
            [start, len, offset].into_iter().for_each(|word| sink.u64(word));
            match build_id {
                Some(id) => {
                    sink.u8(u8::try_from(id.len()).unwrap());
                    sink.zeros(3);
                    sink.bytes(id);
                    sink.zeros(20 - id.len());
                }
                None => sink.zeros(24),
            }
            sink.u32(5);
            sink.u32(2);
            sink.bytes(path.as_bytes());
            sink.zeros(8 - path.len() % 8);
        });
    }

    pub(crate) fn command(&mut self, pid: u32, time: u64, name: &str, is_exec: bool) {
        self.kernel_record(kind::COMM, if is_exec { 1 << 13 } else { 0 }, (pid, time), |sink| {
            sink.u32(pid);
            sink.u32(pid);
            sink.bytes(name.as_bytes());
            sink.zeros(8 - name.len() % 8);
        });
    }

    pub(crate) fn fork(&mut self, pid: u32, parent: u32, time: u64) {
        self.kernel_record(kind::FORK, 0, (pid, time), |sink| {
            [pid, parent, pid, parent].into_iter().for_each(|word| sink.u32(word));
            sink.u64(time);
        });
    }

    pub(crate) fn lost(&mut self, time: u64, lost: u64) {
        self.kernel_record(kind::LOST, 0, (1, time), |sink| {
            sink.u64(0);
            sink.u64(lost);
        });
    }

    pub(crate) fn sample(&mut self, event: usize, sample: &SampleSpec) {
        let spec = self.events[event].clone();
        let record = self.record(kind::SAMPLE, 2, |sink| {
            sink.u64(spec.id);
            sink.u64(sample.ip);
            sink.u32(sample.pid);
            sink.u32(sample.pid);
            sink.u64(sample.time);
            sink.u64(sample.period);
            if spec.sample_type & CALL_CHAIN != 0 {
                sink.u64(sample.call_chain.len() as u64);
                sink.u64s(&sample.call_chain);
            }
            if spec.sample_type & BRANCHES != 0 {
                sink.u64(sample.branches.len() as u64);
                if spec.branch_type & 1 << 17 != 0 {
                    sink.u64(u64::MAX);
                }
                for branch in &sample.branches {
                    [branch.from, branch.to, 0].into_iter().for_each(|word| sink.u64(word));
                }
            }
        });
        self.records.push(record);
    }

    fn attribute(&self, event: &EventSpec) -> Vec<u8> {
        let mut sink = Sink::new(self.endian);
        // Event 0 of the hardware counts cycles, that of software is the clock.
        sink.u32(u32::from(event.name != "cycles"));
        sink.u32(ATTRIBUTE_BYTES as u32);
        [0, event.frequency.unwrap_or(1000), event.sample_type, 0].into_iter().for_each(|word| sink.u64(word));
        let flags = 1u64 << 18 | u64::from(event.frequency.is_some()) << 10;
        sink.u64(if self.endian == Endian::Big { flags.reverse_bits() } else { flags });
        sink.zeros(24);
        sink.u64(event.branch_type);
        sink.zeros(ATTRIBUTE_BYTES as usize - 80);
        sink.into_bytes()
    }

    fn text(sink: &mut Sink, text: &str) {
        let len = (text.len() + 1).next_multiple_of(64);
        sink.u32(len as u32);
        sink.bytes(text.as_bytes());
        sink.zeros(len - text.len());
    }

    /// The features, by number.
    fn features(&self) -> Vec<(u64, Vec<u8>)> {
        let made = |write: &dyn Fn(&mut Sink)| {
            let mut sink = Sink::new(self.endian);
            write(&mut sink);
            sink.into_bytes()
        };
        let build_id = |sink: &mut Sink| {
            let record = self.record(67, 2, |sink| {
                sink.u32(u32::MAX);
                sink.bytes(&[7; 20]);
                sink.zeros(4);
                sink.bytes(b"/opt/listed\0\0\0\0\0");
            });
            sink.bytes(&record);
        };
        let mut features = vec![
            (BUILD_IDS, made(&build_id)),
            (HOST, made(&|sink| Self::text(sink, "h1"))),
            (
                COMMAND_LINE,
                made(&|sink| {
                    sink.u32(2);
                    Self::text(sink, "perf");
                    Self::text(sink, "record");
                }),
            ),
            (
                EVENTS,
                made(&|sink| {
                    sink.u32(self.events.len() as u32);
                    sink.u32(ATTRIBUTE_BYTES as u32);
                    for event in &self.events {
                        sink.bytes(&self.attribute(event));
                        sink.u32(1);
                        Self::text(sink, event.name);
                        sink.u64(event.id);
                    }
                }),
            ),
        ];
        features.extend(self.is_directory.then(|| (DIRECTORY, made(&|sink| sink.u64(1)))));
        features
    }

    fn magic(&self) -> u64 {
        0x3245_4c49_4652_4550
    }

    /// A recording in a file.
    pub(crate) fn file(&self) -> Vec<u8> {
        self.file_of(&self.records.concat())
    }

    /// A file whose records are compressed, in parts of this size.
    #[cfg(feature = "zstd")]
    pub(crate) fn compressed_file(&self, part: usize) -> Vec<u8> {
        use std::io::Write;
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        let mut data = Vec::new();
        let mut written = 0;
        for part in self.records.concat().chunks(part) {
            encoder.write_all(part).unwrap();
            encoder.flush().unwrap();
            let all = encoder.get_ref();
            let record = self.record(kind::COMPRESSED, 0, |sink| sink.bytes(&all[written..]));
            written = all.len();
            data.extend(record);
        }
        self.file_of(&data)
    }

    fn file_of(&self, data: &[u8]) -> Vec<u8> {
        let header = 104;
        let ids = header;
        let attributes = ids + 8 * self.events.len() as u64;
        let entry = ATTRIBUTE_BYTES + 16;
        let start = attributes + entry * self.events.len() as u64;
        let mut sink = Sink::new(self.endian);
        for word in [self.magic(), header, entry, attributes, entry * self.events.len() as u64] {
            sink.u64(word);
        }
        [start, data.len() as u64, 0, 0].into_iter().for_each(|word| sink.u64(word));
        let features = self.features();
        let bits = features.iter().fold(0, |bits, (number, _)| bits | 1u64 << number);
        [bits, 0, 0, 0].into_iter().for_each(|word| sink.u64(word));
        self.events.iter().for_each(|event| sink.u64(event.id));
        for (at, event) in self.events.iter().enumerate() {
            sink.bytes(&self.attribute(event));
            sink.u64(ids + 8 * at as u64);
            sink.u64(8);
        }
        sink.bytes(data);
        let mut offset = start + data.len() as u64 + 16 * features.len() as u64;
        for (_, content) in &features {
            sink.u64(offset);
            sink.u64(content.len() as u64);
            offset += content.len() as u64;
        }
        features.iter().for_each(|(_, content)| sink.bytes(content));
        sink.into_bytes()
    }

    /// A recording from a pipe.
    pub(crate) fn pipe(&self) -> Vec<u8> {
        let mut sink = Sink::new(self.endian);
        sink.u64(self.magic());
        sink.u64(16);
        for event in &self.events {
            let record = self.record(kind::ATTR, 0, |sink| {
                sink.bytes(&self.attribute(event));
                sink.u64(event.id);
            });
            sink.bytes(&record);
        }
        for (number, content) in self.features() {
            let record = self.record(kind::FEATURE, 0, |sink| {
                sink.u64(number);
                sink.bytes(&content);
            });
            sink.bytes(&record);
        }
        sink.bytes(&self.records.concat());
        sink.into_bytes()
    }
}
