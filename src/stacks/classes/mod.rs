//! Sources of descriptors that stacks lack: class files, jars, and other profiles.

mod class_files;

use crate::call_chains::{Frame, Function, FunctionId, MAX_HITS, NameId, Sample, SampleKey, SignatureId, StackTable};
use crate::error::{Error, ErrorKind, Result};
use crate::java;
use crate::limits::Limits;
use foldhash::{HashMap, HashMapExt};

/// Binary names of a return type, then of the parameters.
type Types = Box<[Box<str>]>;

/// Methods by class and name, each with its types.
#[derive(Debug, Clone, Default)]
pub struct Reference {
    /// Binary class name, method name → types of each overload, in order of arrival.
    methods: HashMap<(Box<str>, Box<str>), Vec<Types>>,
}

/// A method of a class file.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ClassMethod<'a> {
    /// Binary name of its class.
    pub class: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Binary names of its return type and parameters.
    pub types: &'a [String],
    /// Its bytecode; native and abstract methods have none.
    pub code: Option<&'a [u8]>,
}

/// Hands out all methods of a class file, or of all class files in a jar or
/// `.jmod` file; methods whose descriptors are damaged are left out.
///
/// # Errors
///
/// Unrecognized format for anything else; what is wrong with the archive or
/// with one of its class files.
pub(crate) fn read_methods(data: &[u8], limits: &Limits, each: &mut dyn FnMut(ClassMethod<'_>)) -> Result<()> {
    if class_files::is_class_files(data) {
        return read_class(data, each);
    }
    if !class_files::is_archive(data) {
        let hint = "pass class files, jars, directories of them, iprof files or recordings";
        return Err(Error::new(ErrorKind::UnrecognizedFormat).with_hint(hint));
    }
    let entries = class_files::read_entries(data)?;
    let classes = || entries.iter().filter(|entry| entry.name.ends_with(b".class"));
    // Jars for several releases of Java have several versions of a class. A new VM uses the newest.
    let mut newest: HashMap<&[u8], u32> = HashMap::new();
    for (release, name) in classes().map(|entry| release_of(entry.name)) {
        let known = newest.entry(name).or_default();
        *known = release.max(*known);
    }
    for entry in classes() {
        let (release, name) = release_of(entry.name);
        if newest.get(name) == Some(&release) {
            let bytes = entry.read(data, limits)?;
            read_class(&bytes, each)
                .map_err(|error| error.in_section(format!("entry {}", entry.name.escape_ascii())))?;
        }
    }
    Ok(())
}

/// Splits the path of a class file in a jar into the release of Java that it is for, 0 for all, and its other part.
fn release_of(path: &[u8]) -> (u32, &[u8]) {
    let versioned = || {
        let rest = path.strip_prefix(b"META-INF/versions/")?;
        let at = rest.iter().position(|byte| *byte == b'/')?;
        let release: u32 = std::str::from_utf8(&rest[..at]).ok()?.parse().ok()?;
        Some((release, &rest[at + 1..]))
    };
    versioned().unwrap_or((0, path))
}

fn read_class(data: &[u8], each: &mut dyn FnMut(ClassMethod<'_>)) -> Result<()> {
    let file = class_files::read_class_files(data)?;
    let class = java::binary_name(&file.name);
    for ((name, descriptor), code) in file.methods.iter().zip(&file.code) {
        if let Some(types) = java::parse_descriptor(descriptor) {
            each(ClassMethod { class: &class, name, types: &types, code: code.as_deref() });
        }
    }
    Ok(())
}

/// How a method with several overloads is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Overload {
    /// Take the first overload of the reference.
    #[default]
    First,
    /// Drop the frame. Its caller is used instead.
    Skip,
    /// As a leaf, count the stack for every overload; as a caller, take the first.
    All,
}

/// How frames without types were resolved, in hits (each stack counts its frames).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resolved {
    /// Methods that had their types already.
    pub typed: u64,
    /// Methods whose one overload the reference knows.
    pub found: u64,
    /// Methods of which the reference knows several overloads.
    pub overloaded: u64,
    /// Methods that no reference knows; they stay names only.
    pub unknown: u64,
    /// Hits of stacks that lost all their frames.
    pub dropped_hits: u64,
    /// Hits that were counted once more for another overload.
    pub repeated_hits: u64,
}

impl Reference {
    /// Creates an empty reference.
    pub fn new() -> Self {
        Self { methods: HashMap::new() }
    }

    /// Whether no method is known.
    pub fn is_empty(&self) -> bool {
        self.methods.is_empty()
    }

    /// Returns the number of methods by class and name, overloads together.
    pub fn methods_count(&self) -> usize {
        self.methods.len()
    }

    /// Adds a method: binary name of its class, its name, binary names of its
    /// return type and parameters.
    pub fn add(&mut self, class: &str, name: &str, types: &[&str]) {
        let overloads = self.methods.entry((class.into(), name.into())).or_default();
        if !overloads.iter().any(|known| known.iter().map(|name| &**name).eq(types.iter().copied())) {
            overloads.push(types.iter().map(|name| (*name).into()).collect());
        }
    }

    /// Adds all methods of a table that have their types.
    pub(crate) fn add_table(&mut self, table: &StackTable) {
        for id in table.functions() {
            if let Function::Java { class, name, signature: Some(signature) } = table.function(id) {
                let types: Vec<&str> = table.signature(signature).iter().map(|id| table.name(*id)).collect();
                self.add(table.name(class), table.name(name), &types);
            }
        }
    }

    /// Adds all methods of a class file, or of all class files in a jar or `.jmod` file.
    ///
    /// # Errors
    ///
    /// As `read_methods`.
    pub fn add_classes(&mut self, data: &[u8], limits: &Limits) -> Result<()> {
        read_methods(data, limits, &mut |method| {
            let types: Vec<&str> = method.types.iter().map(String::as_str).collect();
            self.add(method.class, method.name, &types);
        })
    }

    /// Whether [`add_classes`](Self::add_classes) takes data that begins so.
    pub fn takes(data: &[u8]) -> bool {
        class_files::is_class_files(data) || class_files::is_archive(data)
    }

    /// The same stacks with the types of methods that lack them.
    pub fn resolve(&self, table: &StackTable, overload: Overload) -> (StackTable, Resolved) {
        let mut report = Resolved::default();
        let mut known: HashMap<FunctionId, Answer> = HashMap::new();
        let (mut out, dropped) = table.map_frames(|out, frame| {
            let answer =
                known.entry(frame.function).or_insert_with(|| self.answer(out, frame.function, overload, &mut report));
            answer.function().map(|function| Frame { function, ..frame })
        });
        report.dropped_hits = dropped;
        if overload == Overload::All {
            report.repeated_hits = self.repeat_leaves(&mut out);
        }
        (out, report)
    }

    fn answer(&self, out: &mut StackTable, id: FunctionId, overload: Overload, report: &mut Resolved) -> Answer {
        let Function::Java { class, name, signature } = out.function(id) else { return Answer::Keep(id) };
        if signature.is_some() {
            report.typed += 1;
            return Answer::Keep(id);
        }
        let key = (out.name(class).into(), out.name(name).into());
        let Some(overloads) = self.methods.get(&key) else {
            report.unknown += 1;
            return Answer::Keep(id);
        };
        if overloads.len() > 1 {
            report.overloaded += 1;
            if overload == Overload::Skip {
                return Answer::LeaveOut;
            }
        } else {
            report.found += 1;
        }
        let Some(first) = overloads.first() else { return Answer::Keep(id) };
        let signature = Some(intern_types(out, first));
        Answer::Keep(out.intern_function(Function::Java { class, name, signature }))
    }

    /// Counts each stack whose leaf was one of several overloads for the others too.
    fn repeat_leaves(&self, out: &mut StackTable) -> u64 {
        let mut repeated = 0u64;
        let samples: Vec<Sample> = out.samples().collect();
        for sample in samples {
            let frame = out.frame(out.leaf(sample.key.stack));
            let Function::Java { class, name, .. } = out.function(frame.function) else { continue };
            let key = (out.name(class).into(), out.name(name).into());
            let Some(overloads) = self.methods.get(&key).filter(|overloads| overloads.len() > 1) else { continue };
            for types in overloads {
                let signature = Some(intern_types(out, types));
                let function = out.intern_function(Function::Java { class, name, signature });
                if function == frame.function {
                    continue;
                }
                let other = out.intern_frame(Frame { function, ..frame });
                let stack = out.push_frame(out.parent(sample.key.stack), other);
                out.add_sample(Sample { key: SampleKey { stack, ..sample.key }, ..sample });
                repeated = repeated.saturating_add(sample.hits).min(MAX_HITS);
            }
        }
        repeated
    }
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    Keep(FunctionId),
    LeaveOut,
}

impl Answer {
    fn function(self) -> Option<FunctionId> {
        match self {
            Self::Keep(id) => Some(id),
            Self::LeaveOut => None,
        }
    }
}

fn intern_types(table: &mut StackTable, types: &[Box<str>]) -> SignatureId {
    let ids: Vec<NameId> = types.iter().map(|name| table.intern_name(name)).collect();
    table.intern_signature(&ids)
}

#[cfg(test)]
mod tests;
