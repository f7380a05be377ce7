//! What asked for a sample to be taken, and what its number counts.

/// What asked for a sample to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum SampleSource {
    /// Not told: collapsed and folded stacks, iprof.
    #[default]
    Unknown,
    /// `jdk.ExecutionSample`: a thread that executes Java, by the wall clock.
    Execution,
    /// `jdk.NativeMethodSample`: a thread inside a native method.
    Native,
    /// `jdk.CPUTimeSample` (JDK 25): by the CPU time of the thread.
    CpuTime,
    /// `profiler.WallClockSample` of async-profiler: any thread, waiting or not.
    WallClock,
    /// `jdk.ObjectAllocationSample` (JDK 16 and later): some allocations, each
    /// with the bytes that it stands for.
    Allocation,
    /// `jdk.ObjectAllocationInNewTLAB` and `jdk.ObjectAllocationOutsideTLAB`:
    /// the first allocation in each buffer of a thread, with the bytes of the
    /// buffer, and every allocation that has none, with its own.
    Tlab,
    /// `jdk.JavaMonitorEnter`: waiting for a monitor that another thread holds.
    Lock,
    /// `jdk.JavaMonitorWait`: inside `Object.wait`.
    Wait,
    /// `jdk.ThreadPark`: parked, as by the locks of `java.util.concurrent`.
    Park,
    /// `jdk.SocketRead`.
    SocketRead,
    /// `jdk.SocketWrite`.
    SocketWrite,
    /// `jdk.FileRead`.
    FileRead,
    /// `jdk.FileWrite`.
    FileWrite,
}

impl SampleSource {
    /// All, in the order of reports.
    pub const ALL: [Self; 14] = [
        Self::Unknown,
        Self::Execution,
        Self::Native,
        Self::CpuTime,
        Self::WallClock,
        Self::Allocation,
        Self::Tlab,
        Self::Lock,
        Self::Wait,
        Self::Park,
        Self::SocketRead,
        Self::SocketWrite,
        Self::FileRead,
        Self::FileWrite,
    ];

    /// One word for reports and options.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unknown => "samples",
            Self::Execution => "execution",
            Self::Native => "native",
            Self::CpuTime => "cpu-time",
            Self::WallClock => "wall-clock",
            Self::Allocation => "allocation",
            Self::Tlab => "tlab",
            Self::Lock => "lock",
            Self::Wait => "wait",
            Self::Park => "park",
            Self::SocketRead => "socket-read",
            Self::SocketWrite => "socket-write",
            Self::FileRead => "file-read",
            Self::FileWrite => "file-write",
        }
    }

    /// Whether samples of this sort are taken at intervals, so that their number
    /// measures time. All others are events that happened, which weigh.
    pub fn is_timed(self) -> bool {
        matches!(self, Self::Unknown | Self::Execution | Self::Native | Self::CpuTime | Self::WallClock)
    }

    /// What a weight counts of this sort; `None` where it has no such thing.
    pub fn unit(self, weight: Weight) -> Option<Unit> {
        let (bytes, time) = match self {
            Self::Allocation | Self::Tlab => (Some(Unit::Bytes), None),
            Self::Lock | Self::Wait | Self::Park => (None, Some(Unit::Nanoseconds)),
            Self::SocketRead | Self::SocketWrite | Self::FileRead | Self::FileWrite => {
                (Some(Unit::Bytes), Some(Unit::Nanoseconds))
            }
            _ => (None, None),
        };
        match weight {
            Weight::Count => Some(Unit::Hits),
            Weight::Bytes => bytes,
            Weight::Time => time,
            Weight::Usual => time.or(bytes).or(Some(Unit::Hits)),
        }
    }
}

/// By what events of a recording are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Weight {
    /// Nanoseconds where something took time, else bytes where something was
    /// allocated, else the number of samples.
    #[default]
    Usual,
    /// The number of events.
    Count,
    /// Bytes allocated, read or written.
    Bytes,
    /// Nanoseconds that it took.
    Time,
}

/// What the numbers of samples count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Unit {
    /// Samples, or events.
    #[default]
    Hits,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Millionths of what a text with fractional counts counts.
    Millionths,
}

impl Unit {
    /// One word for reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hits => "hits",
            Self::Bytes => "bytes",
            Self::Nanoseconds => "ns",
            Self::Millionths => "millionths",
        }
    }
}
