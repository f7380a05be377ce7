//! The functions that a text is made of.

use crate::compat::Compat;
use crate::error::{Error, Result};
use crate::model::{FunctionId, FunctionView, Profile, RecordView, Selection, SymbolTable, ValueKind};

/// Functions in the order of their names, wherever they are.
pub(crate) trait Functions: Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// The name of the function at that place of the order.
    fn name(&self, at: usize) -> &[u8];

    /// Whether it has more than one record.
    fn has_several_records(&self, at: usize) -> bool;

    /// Hands out its records in the order of their FuncHash, and says which is the last one.
    fn each_record(&self, at: usize, push: &mut dyn FnMut(RecordView<'_>, bool));
}

/// Functions of a profile in memory.
pub(super) struct Selected<'a> {
    profile: &'a Profile,
    ids: Vec<FunctionId>,
}

impl<'a> Selected<'a> {
    /// Those that `selection` keeps.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(super) fn of(profile: &'a Profile, selection: Selection<'_>) -> Result<Self> {
        let mut ids = profile.functions.sorted_by_name()?;
        ids.retain(|id| selection.keeps(profile.functions.function(*id)));
        Ok(Self { profile, ids })
    }

    fn function(&self, at: usize) -> FunctionView<'a> {
        self.profile.functions.function(self.ids[at])
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = FunctionView<'a>> {
        (0..self.ids.len()).map(|at| self.function(at))
    }
}

impl Functions for Selected<'_> {
    fn len(&self) -> usize {
        self.ids.len()
    }

    fn name(&self, at: usize) -> &[u8] {
        self.profile.functions.name(self.ids[at])
    }

    fn has_several_records(&self, at: usize) -> bool {
        self.function(at).records().nth(1).is_some()
    }

    fn each_record(&self, at: usize, push: &mut dyn FnMut(RecordView<'_>, bool)) {
        let function = self.function(at);
        let mut records = function.records();
        if let (Some(only), None) = (records.next(), records.next()) {
            return push(only, true);
        }
        let mut records: Vec<RecordView<'_>> = function.records().collect();
        records.sort_by_key(|record| record.func_hash);
        for (number, record) in records.iter().enumerate() {
            push(*record, number + 1 == records.len());
        }
    }
}

/// Names that the text may call targets and functions of traces by: LLVM knows those that it
/// writes, mended text may use all. None where it calls nothing by its name hash.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub(super) fn symbols_of(profile: &Profile, functions: &Selected<'_>, compat: Compat) -> Result<SymbolTable> {
    let mut symbols = SymbolTable::new();
    if !needs_symbols(profile) {
        return Ok(symbols);
    }
    let mut insert = |function: FunctionView<'_>| {
        symbols.try_reserve(function.name())?;
        symbols.insert_hashed(function.name_ref(), function.name());
        Ok::<_, Error>(())
    };
    if compat.fixes_text_output() {
        profile.functions.iter().try_for_each(&mut insert)?;
    } else {
        functions.iter().try_for_each(&mut insert)?;
    }
    for name in &profile.vtable_names {
        symbols.try_reserve(name)?;
        symbols.insert(name);
    }
    Ok(symbols)
}

/// Whether the text will call something by its name hash.
fn needs_symbols(profile: &Profile) -> bool {
    let named = |record: RecordView<'_>| {
        ValueKind::ALL.iter().any(|kind| kind.is_name() && record.sites(*kind).values_len() != 0)
    };
    !profile.temporal.traces.is_empty() || profile.functions.iter().any(|function| function.records().any(named))
}
