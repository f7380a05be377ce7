//! The events of a recording, whatever its form: binary or text.

/// Part of a file, or memory without a file, in the addresses of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// The process; [`KERNEL`] for the kernel and its modules.
    pub(crate) pid: u32,
    /// First address.
    pub(crate) start: u64,
    /// Bytes; `start + len` does not overflow.
    pub(crate) len: u64,
    /// Offset of `start` in the file.
    pub(crate) offset: u64,
    /// As the kernel wrote it: `/usr/bin/true`, `[vdso]`, `//anon`, `[kernel.kallsyms]_text`.
    pub(crate) path: Vec<u8>,
    /// The build id of the file, if the record has it.
    pub(crate) build_id: Option<Vec<u8>>,
    /// Whether code can run there.
    pub(crate) is_executable: bool,
}

/// The process number of the kernel's mappings.
pub(crate) const KERNEL: u32 = u32::MAX;

/// One taken branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Branch {
    /// Address of the branch instruction.
    pub(crate) from: u64,
    /// Address of its target.
    pub(crate) to: u64,
}

/// The privilege level at which code ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CpuMode {
    /// Unknown.
    Unknown,
    /// The kernel.
    Kernel,
    /// A process.
    User,
    /// The hypervisor.
    Hypervisor,
    /// The kernel of a guest.
    GuestKernel,
    /// A process of a guest.
    GuestUser,
}

impl CpuMode {
    /// The mode in the low bits of `misc`, a field of every record.
    pub(crate) fn of_misc(misc: u16) -> Self {
        match misc & 7 {
            1 => Self::Kernel,
            2 => Self::User,
            3 => Self::Hypervisor,
            4 => Self::GuestKernel,
            5 => Self::GuestUser,
            _ => Self::Unknown,
        }
    }
}

/// One sample. Fields that the event did not record are `None`, or empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample<'a> {
    /// The process.
    pub(crate) pid: Option<u32>,
    /// The thread.
    pub(crate) tid: Option<u32>,
    /// Nanoseconds of the recording's clock.
    pub(crate) time: Option<u64>,
    /// Index of the event among those of the recording.
    pub(crate) event: usize,
    /// Occurrences of the event since the sample before; at least the event's own period, or 1, if not recorded.
    pub(crate) period: u64,
    /// The sampled address.
    pub(crate) ip: Option<u64>,
    /// The mode at `ip`.
    pub(crate) mode: CpuMode,
    /// Addresses, innermost first, with the kernel's context markers: use [`frames`](Self::frames).
    pub(crate) call_chain: &'a [u64],
    /// Branches, newest first.
    pub(crate) branches: &'a [Branch],
}

/// One address of a call chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChainFrame {
    /// The address; a return address except for the innermost frame of each mode.
    pub(crate) address: u64,
    /// The mode at the address.
    pub(crate) mode: CpuMode,
    /// Whether the address follows a call, so that the call is before it.
    pub(crate) is_return: bool,
}

/// Addresses from here on are context markers of a call chain.
const FIRST_MARKER: u64 = 4095u64.wrapping_neg();
/// After this marker one entry is not an address.
const USER_DEFERRED: i64 = -640;

impl<'a> Sample<'a> {
    /// The frames of the call chain without markers, innermost first.
    pub(crate) fn frames(&self) -> impl Iterator<Item = ChainFrame> + use<'a> {
        let (mut mode, mut is_return, mut skips) = (self.mode, false, false);
        self.call_chain.iter().filter_map(move |&address| {
            if std::mem::take(&mut skips) {
                return None;
            }
            if address >= FIRST_MARKER {
                mode = match address as i64 {
                    -32 => CpuMode::Hypervisor,
                    -128 => CpuMode::Kernel,
                    -512 | USER_DEFERRED => CpuMode::User,
                    -2176 => CpuMode::GuestKernel,
                    -2560 => CpuMode::GuestUser,
                    _ => mode,
                };
                skips = address as i64 == USER_DEFERRED;
                is_return = false;
                return None;
            }
            let frame = ChainFrame { address, mode, is_return };
            is_return = true;
            Some(frame)
        })
    }
}

/// A record of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    /// A process maps a file, or memory.
    Mapping(Mapping),
    /// A thread gets a name; with `is_exec` its process also loses all mappings.
    Command { pid: u32, tid: u32, name: &'a [u8], is_exec: bool },
    /// A process or thread begins. A process starts with the mappings of its parent.
    Fork { pid: u32, tid: u32, parent: u32, parent_tid: u32 },
    /// A thread ends; samples of it may still come.
    Exit { pid: u32, tid: u32 },
    /// A sample.
    Sample(Sample<'a>),
    /// This many records were lost.
    Lost(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_mode_of_the_marker_before_them() {
        let marker = |value: i64| value as u64;
        let chain = [marker(-128), 0xffff_8000, 0xffff_9000, marker(-512), 0x1000, 0x2000, marker(-640), 77, 5];
        let sample = Sample {
            pid: None,
            tid: None,
            time: None,
            event: 0,
            period: 1,
            ip: None,
            mode: CpuMode::Kernel,
            call_chain: &chain,
            branches: &[],
        };
        let found: Vec<_> = sample.frames().map(|frame| (frame.address, frame.mode, frame.is_return)).collect();
        let expected = [
            (0xffff_8000, CpuMode::Kernel, false),
            (0xffff_9000, CpuMode::Kernel, true),
            (0x1000, CpuMode::User, false),
            (0x2000, CpuMode::User, true),
            (5, CpuMode::User, false),
        ];
        assert_eq!(found, expected);
    }
}
