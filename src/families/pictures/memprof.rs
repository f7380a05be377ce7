//! Memory profiles as stacks, for pictures.

use crate::compat::Compat;
use crate::error::Result;
use crate::families::pictures::drawing::{Drawing, Drawn, of_kind};
use crate::indexed::{self, IndexedProfile};
use crate::input::{Access, Format, Input};
use crate::instr::memory_profiles;
use crate::instr::open::ReadOptions;
use crate::limits::Limits;
use crate::memprof::MemoryProfile;
#[cfg(feature = "correlate")]
use crate::memprof::raw::Programs;
use crate::memprof::report::{MemoryReport, ReportOptions, contexts, function_name};
use crate::render::{Report, from_memory, group_digits};
use crate::stacks::model::{Frame, FrameKind, SampleKey, StackTable};
#[cfg(feature = "correlate")]
use std::sync::Arc;

/// What is counted of allocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum AllocationUnit {
    /// The bytes of all of them.
    #[default]
    Bytes,
    /// Their number.
    Allocations,
}

impl AllocationUnit {
    /// The word for it in pictures.
    pub fn word(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Allocations => "allocations",
        }
    }
}

/// Allocations by call stack, and what the profiles say altogether.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct MemoryContent {
    /// Allocation contexts; hits are bytes or allocations.
    pub table: StackTable,
    /// Which of the two.
    pub unit: AllocationUnit,
    /// All allocations.
    pub allocations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes in contexts that a compiler takes for cold.
    pub cold_bytes: u64,
    /// Bytes in contexts that a compiler takes for hot, when it minds hot hints.
    pub hot_bytes: u64,
}

impl MemoryContent {
    fn view(&self) -> from_memory::MemoryView<'_> {
        let facts = [
            ("Allocations", self.allocations),
            ("Bytes", self.bytes),
            ("Bytes in cold contexts", self.cold_bytes),
            ("Bytes in hot contexts", self.hot_bytes),
        ];
        let facts = facts.map(|(label, number)| (label.to_string(), group_digits(number.into())));
        from_memory::MemoryView { table: &self.table, unit: self.unit.word(), facts: facts.to_vec() }
    }
}

impl Drawing for MemoryContent {
    fn stacks(&self) -> Option<(&StackTable, &'static str)> {
        Some((&self.table, self.unit.word()))
    }

    fn with_stacks(self: Box<Self>, map: &dyn Fn(&StackTable) -> Result<StackTable>) -> Result<Box<dyn Drawing>> {
        Ok(Box::new(Self { table: map(&self.table)?, ..*self }))
    }

    fn report(&self, title: &str, baseline: Option<&(dyn Drawing + 'static)>) -> Option<Report> {
        let old = of_kind::<Self>(baseline)?;
        Some(from_memory::report(title, self.view(), old.map(Self::view)))
    }
}

/// Reads memory profiles.
pub(crate) fn draw(inputs: &[Input], options: &MemoryOptions, limits: &Limits) -> Result<Drawn> {
    let mut content = MemoryContent::default();
    for input in inputs {
        let data = input.bytes(Access::Read, limits)?;
        options.add(&data, limits, &mut content).map_err(|error| error.in_file(&input.path))?;
    }
    Ok((Box::new(content), Vec::new()))
}

/// How memory profiles are drawn.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MemoryOptions {
    /// Take the memory profile of an indexed profile that has function records,
    /// too. Other files that hold a memory profile hold nothing else.
    pub asked_for: bool,
    /// What is counted.
    pub unit: AllocationUnit,
    /// The programs that wrote raw memory profiles.
    #[cfg(feature = "correlate")]
    pub programs: Arc<Programs>,
}

/// Whether the memory profile is what is drawn of an LLVM profile: an indexed one can hold it
/// beside counters, or alone.
pub(crate) fn draws_memory(input: &Input, options: &MemoryOptions, limits: &Limits) -> Result<bool> {
    if options.asked_for || input.format()? != Format::Indexed {
        return Ok(options.asked_for);
    }
    Ok(is_only_memory(&input.bytes(Access::Read, limits)?, limits))
}

impl MemoryOptions {
    fn read_options(&self, limits: &Limits) -> ReadOptions {
        let mut options = ReadOptions { limits: *limits, ..ReadOptions::new(Compat::Profbridge) };
        #[cfg(feature = "correlate")]
        options.programs.clone_from(&self.programs);
        #[cfg(not(feature = "correlate"))]
        let _ = &mut options;
        options
    }

    /// Adds the memory profile of an input.
    ///
    /// # Errors
    ///
    /// Those of the readers; usage for inputs without one.
    fn add(&self, data: &[u8], limits: &Limits, sum: &mut MemoryContent) -> Result<()> {
        let profile = memory_profiles::load_bytes(data, &self.read_options(limits))?;
        let mut options = ReportOptions::default();
        options.topn = 0;
        let statistics = MemoryReport::new(&profile, &options);
        sum.unit = self.unit;
        sum.allocations = sum.allocations.saturating_add(statistics.allocations);
        sum.bytes = sum.bytes.saturating_add(statistics.bytes);
        sum.cold_bytes = sum.cold_bytes.saturating_add(statistics.cold_bytes);
        sum.hot_bytes = sum.hot_bytes.saturating_add(statistics.hot_bytes);
        add_stacks(&profile, self.unit, &mut sum.table);
        Ok(())
    }
}

/// Whether this is an indexed profile with a memory profile and no function.
fn is_only_memory(data: &[u8], limits: &Limits) -> bool {
    let options = indexed::ReadOptions::new(*limits, Compat::Profbridge);
    // Damage is for the reader to name.
    IndexedProfile::read(data, options).is_ok_and(|profile| profile.entries().next().is_none() && profile.has_memprof())
}

/// Adds each allocation context as one stack with as many hits as it has bytes
/// or allocations.
fn add_stacks(profile: &MemoryProfile, unit: AllocationUnit, table: &mut StackTable) {
    for (stack, site) in contexts(profile) {
        let mut leaf = None;
        for frame in profile.stacks.frames_of(stack).rev() {
            let function = table.intern_symbol(&function_name(profile, frame.function));
            let kind = if frame.is_inline { FrameKind::Inlined } else { FrameKind::Native };
            let frame = table.intern_frame(Frame { function, bci: None, line: None, kind });
            leaf = Some(table.push_frame(leaf, frame));
        }
        let hits = match unit {
            AllocationUnit::Bytes => site.info.total_size(),
            AllocationUnit::Allocations => site.info.alloc_count(),
        };
        if let Some(stack) = leaf {
            table.add(SampleKey::of_stack(stack), hits);
        }
    }
}
