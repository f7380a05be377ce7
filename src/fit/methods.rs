//! Compares iprof files with a new build: methods by class, name and descriptor, and bytecode indexes by the
//! instruction (branches, calls and type tests; JVM specification, chapter 6).

use super::names::similarity;
use super::report::{Class, FitReport, Head, ProgramClass, Pruned, Row, SectionRow, summarize};
use crate::digits::number_of;
use crate::error::{Error, ErrorKind, Result};
use crate::hint::Hint;
use crate::iprof::{ContextHandle, Document, MethodHandle, SectionKind, Tables};
use crate::java;
use crate::limits::Limits;
use crate::stacks::classes::read_methods;
use foldhash::{HashMap, HashSet};
use std::collections::{BTreeMap, BTreeSet};

/// An iprof compared with a new build.
#[derive(Debug)]
#[non_exhaustive]
pub struct MethodsFit {
    /// The profile.
    pub document: Document,
    /// The new build.
    pub program: JavaProgram,
    /// By method; `None` for methods without entries, and for those that cannot be judged.
    verdicts: Vec<Option<Verdict>>,
    /// The number of methods of the JDK that cannot be judged, because no class of their packages is given.
    not_given: usize,
}

/// The status of a method.
#[derive(Debug, Clone)]
struct Verdict {
    class: Class,
    now: Option<MethodKey>,
    /// Positions without the required instruction in the new build.
    misfits: BTreeSet<i32>,
}

/// Bytecode indexes of a method in the profile, with the instructions that they require, in order.
type Sites = Vec<(ExpectedInstruction, i32)>;

/// The instruction that a bytecode index requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ExpectedInstruction {
    /// Any instruction.
    Instruction,
    Branch,
    Call,
    TypeTest,
}

impl ExpectedInstruction {
    const ALL: [Self; 4] = [Self::Instruction, Self::Branch, Self::Call, Self::TypeTest];

    /// Returns the instruction at the innermost frame of a section's entries. `None` if the entries belong to the whole
    /// method.
    fn at_leaf(kind: SectionKind) -> Option<Self> {
        match kind {
            SectionKind::Conditional => Some(Self::Branch),
            SectionKind::VirtualInvoke => Some(Self::Call),
            SectionKind::Instanceof => Some(Self::TypeTest),
            SectionKind::Sampling => Some(Self::Instruction),
            _ => None,
        }
    }

    /// Returns the instruction at the frames of callers. Samples may be taken while a class is loaded or an exception
    /// is created.
    fn at_caller(kind: SectionKind) -> Self {
        if kind == SectionKind::Sampling { Self::Instruction } else { Self::Call }
    }

    fn is_at(self, bci: i32, code: &CodeSites) -> bool {
        let Ok(bci) = u16::try_from(bci) else { return false };
        match self {
            Self::Instruction => code.instructions.contains(&bci),
            Self::Branch => code.branches.contains(&bci),
            Self::Call => code.calls.contains(&bci),
            Self::TypeTest => code.type_tests.contains(&bci),
        }
    }
}

/// A set of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct InstructionSet {
    bits: u8,
    /// Whether a frame is used at all. Some entries require no instruction.
    is_used: bool,
}

impl InstructionSet {
    fn insert(&mut self, instruction: Option<ExpectedInstruction>) {
        self.bits |= instruction.map_or(0, |instruction| 1 << instruction as u8);
    }

    fn unite(&mut self, other: Self) {
        self.bits |= other.bits;
        self.is_used |= other.is_used;
    }

    fn iter(self) -> impl Iterator<Item = ExpectedInstruction> {
        ExpectedInstruction::ALL.into_iter().filter(move |instruction| self.bits >> *instruction as u8 & 1 == 1)
    }
}

/// The minimum similarity of the names of one method.
const LEAST_SIMILARITY: f64 = 0.5;

/// Compares an iprof with a new build.
///
/// # Errors
///
/// Nothing to compare if no entry has a method, or if the new build has none.
pub(crate) fn compare_methods(document: Document, program: JavaProgram) -> Result<MethodsFit> {
    let seen = sites_of(&document);
    let unable = |detail: String, hint: Hint| Err(Error::new(ErrorKind::UnableToCompare { detail }).with_hint(hint));
    if seen.is_empty() {
        return unable("the profile has no entries".to_string(), Hint::Check);
    }
    // Methods of the JDK are compared if the classes of their package are given.
    let packages = program.has_code().then(|| program.packages());
    let lacks = |class: &[u8]| packages.as_ref().is_some_and(|given| !given.contains(java::package(class)));
    let mut verdicts = vec![None; document.tables.methods_count()];
    let mut not_given = 0;
    for (method, sites) in &seen {
        let key = MethodKey::of(&document.tables, *method);
        if java::is_of_jdk(&key.class) && lacks(&key.class) {
            not_given += 1;
            continue;
        }
        let verdict = match program.methods.get(&key) {
            Some(body) => {
                let misfits = misfits(sites, body);
                let class = if misfits.is_empty() { Class::Used } else { Class::Changed };
                Verdict { class, now: None, misfits }
            }
            None => Verdict { class: Class::Gone, now: None, misfits: BTreeSet::new() },
        };
        verdicts[method.index()] = Some(verdict);
    }
    if not_given == seen.len() {
        let methods = number_of(not_given, "method");
        let hint = "pass the profiled program together with the classes of the JDK, in one directory";
        return unable(format!("the profile has only {methods} of the JDK, whose classes are not given"), hint.into());
    }
    let mut fit = MethodsFit { document, program, verdicts, not_given };
    fit.find_successors(&seen);
    if fit.verdicts.iter().flatten().all(|verdict| verdict.class == Class::Gone) {
        let detail = format!(
            "none of the {} of the profile is among the {} of the new build",
            number_of(seen.len() - not_given, "method"),
            fit.program.methods.len()
        );
        return unable(detail, "pass the profiled program, with all of its jars in one directory".into());
    }
    Ok(fit)
}

/// Returns the positions of every method in the entries, by method in table order.
fn sites_of(document: &Document) -> BTreeMap<MethodHandle, Sites> {
    // The instructions that entries require at each context's innermost frame, and at the frames of its callers.
    let mut required: Vec<(InstructionSet, InstructionSet)> = vec![Default::default(); document.contexts.len()];
    for_each_entry(document, |kind, context, _| {
        let (here, above) = &mut required[context.index()];
        here.is_used = true;
        here.insert(ExpectedInstruction::at_leaf(kind));
        above.is_used = true;
        above.insert(Some(ExpectedInstruction::at_caller(kind)));
    });
    // Contexts follow their callers.
    for (context, caller, _) in document.contexts.iter().rev() {
        let (_, passed) = required[context.index()];
        let (here, above) = &mut required[caller.index()];
        here.unite(passed);
        above.unite(passed);
    }
    let mut seen: Vec<Sites> = vec![Sites::new(); document.tables.methods_count()];
    let mut is_seen = vec![false; seen.len()];
    for (context, _, frame) in document.contexts.iter() {
        let (here, _) = required[context.index()];
        is_seen[frame.method.index()] |= here.is_used;
        // Negative positions are placeholders of the compiler.
        seen[frame.method.index()].extend(here.iter().filter(|_| frame.bci >= 0).map(|wanted| (wanted, frame.bci)));
    }
    let methods = document.tables.methods().zip(seen).filter(|(method, _)| is_seen[method.index()]);
    methods
        .map(|(method, mut sites)| {
            sites.sort_unstable();
            sites.dedup();
            (method, sites)
        })
        .collect()
}

/// Returns positions without the required instruction in the new build.
fn misfits(sites: &Sites, body: &MethodBody) -> BTreeSet<i32> {
    let bcis = |misfits: &dyn Fn(ExpectedInstruction, i32) -> bool| {
        sites.iter().filter(|(wanted, bci)| misfits(*wanted, *bci)).map(|(_, bci)| *bci).collect()
    };
    match body {
        MethodBody::Code(code) => bcis(&|wanted, bci| !wanted.is_at(bci, code)),
        MethodBody::NoCode => bcis(&|_, bci| bci > 0),
        MethodBody::Profiled(known) => {
            // A run records only branches that were executed. If each side has branches that the other lacks, an edit
            // moved the bytecode.
            let Some(new) = known.get(SectionKind::Conditional.name()) else { return BTreeSet::new() };
            let own = |bci: &i32| sites.binary_search(&(ExpectedInstruction::Branch, *bci)).is_ok();
            if new.iter().all(own) {
                return BTreeSet::new();
            }
            bcis(&|wanted, bci| wanted == ExpectedInstruction::Branch && !new.contains(&bci))
        }
    }
}

impl MethodsFit {
    /// Finds successors of missing methods: moved with their class, or renamed.
    fn find_successors(&mut self, seen: &BTreeMap<MethodHandle, Sites>) {
        let is_gone = |method: &MethodHandle| self.verdict(*method).is_some_and(|verdict| verdict.class == Class::Gone);
        let gone: Vec<(&MethodHandle, &Sites)> = seen.iter().filter(|(method, _)| is_gone(method)).collect();
        if gone.is_empty() {
            return;
        }
        let tables = &self.document.tables;
        let used: HashSet<MethodKey> = seen.keys().map(|method| MethodKey::of(tables, *method)).collect();
        let mut free: BTreeMap<&[Vec<u8>], Vec<&MethodKey>> = BTreeMap::new();
        for key in self.program.methods.keys().filter(|key| !used.contains(*key)) {
            free.entry(&key.types).or_default().push(key);
        }
        let mut pairs = Vec::new();
        for (method, sites) in gone {
            let own = MethodKey::of(tables, *method);
            for new in free.get(&own.types[..]).into_iter().flatten().take(MOST_COMPARED) {
                let fits = self.program.methods.get(*new).is_some_and(|body| misfits(sites, body).is_empty());
                if let Some((class, likeness)) = successor(&own, new).filter(|_| fits) {
                    pairs.push((class == Class::Renamed, likeness, *method, (*new).clone(), class));
                }
            }
        }
        pairs.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)).then_with(|| a.3.cmp(&b.3)));
        let mut taken = HashSet::default();
        for (_, _, method, new, class) in pairs {
            let verdict = &mut self.verdicts[method.index()];
            if verdict.as_ref().is_some_and(|verdict| verdict.class == Class::Gone) && taken.insert(new.clone()) {
                *verdict = Some(Verdict { class, now: Some(new), misfits: BTreeSet::new() });
            }
        }
    }

    fn verdict(&self, method: MethodHandle) -> Option<&Verdict> {
        self.verdicts[method.index()].as_ref()
    }

    /// Returns the methods with entries, and their status.
    fn judged(&self) -> impl Iterator<Item = (MethodHandle, &Verdict)> {
        let methods = self.document.tables.methods().zip(&self.verdicts);
        methods.filter_map(|(method, verdict)| Some((method, verdict.as_ref()?)))
    }

    /// Returns the comparison as a report. `topn` is the length of its lists.
    pub fn report(&self, topn: usize) -> FitReport {
        let tables = &self.document.tables;
        let mut counts: Vec<u128> = vec![0; self.verdicts.len()];
        let mut sections: BTreeMap<SectionKind, SectionRow> = BTreeMap::new();
        let (misfits, owners) = (self.misfits(), self.owners());
        for_each_entry(&self.document, |kind, context, events| {
            let empty = SectionRow { section: kind.name(), entries: 0, used_entries: 0, events: 0, used_events: 0 };
            let section = sections.entry(kind).or_insert(empty);
            (section.entries, section.events) = (section.entries + 1, section.events + events);
            let blamed = misfits[context.index()];
            if blamed.is_none() {
                (section.used_entries, section.used_events) = (section.used_entries + 1, section.used_events + events);
            }
            if let Some(method) = blamed.or(owners[context.index()]) {
                counts[method.index()] += events;
            }
        });
        let reached = self.reached(&misfits);
        let rows = self.judged().map(|(method, verdict)| {
            let is_lost = verdict.class == Class::Used && !reached[method.index()];
            Row {
                name: tables.human_name(method).into_bytes(),
                class: if is_lost { Class::Unusable } else { verdict.class },
                count: counts[method.index()],
                now: verdict.now.as_ref().map(MethodKey::human_name),
                detail: if is_lost { Some(LOST_CONTEXTS.to_string()) } else { detail(&verdict.misfits) },
            }
        });
        let head = Head {
            family: "iprof",
            counted: "events",
            profile_is: format!("iprof, {} in entries", number_of(self.judged().count() + self.not_given, "method")),
            program_is: format!("{}, {}", self.program.source, number_of(self.program.methods.len(), "method")),
        };
        let program = self.program_classes(&reached);
        let listed: Vec<_> = program.iter().map(|(class, name)| (*class, Some(name.as_slice()))).collect();
        let mut report = summarize(head, rows.collect(), &listed, topn);
        report.sections = SectionKind::EACH.into_iter().filter_map(|kind| sections.remove(&kind)).collect();
        report.notes.extend(self.notes());
        report
    }

    /// Returns the innermost method that makes entries of a context unusable, for each context.
    fn misfits(&self) -> Vec<Option<MethodHandle>> {
        let contexts = &self.document.contexts;
        let mut misfits = vec![None; contexts.len()];
        // Contexts follow their callers.
        for (context, caller, frame) in contexts.iter() {
            let fits = match self.verdict(frame.method) {
                Some(verdict) if verdict.class == Class::Changed => !verdict.misfits.contains(&frame.bci),
                Some(verdict) => verdict.class == Class::Used,
                None => true,
            };
            misfits[context.index()] = if fits { misfits[caller.index()] } else { Some(frame.method) };
        }
        misfits
    }

    /// Returns true for each method that is in a context of an entry that is used.
    fn reached(&self, misfits: &[Option<MethodHandle>]) -> Vec<bool> {
        let contexts = &self.document.contexts;
        let (mut is_used, mut reached) = (vec![false; contexts.len()], vec![false; self.verdicts.len()]);
        for_each_entry(&self.document, |_, context, _| {
            is_used[context.index()] |= misfits[context.index()].is_none();
        });
        // Contexts follow their callers.
        for (context, caller, frame) in contexts.iter().rev() {
            if is_used[context.index()] {
                is_used[caller.index()] = true;
                reached[frame.method.index()] = true;
            }
        }
        reached
    }

    /// Returns the innermost method of each context that is judged.
    fn owners(&self) -> Vec<Option<MethodHandle>> {
        let contexts = &self.document.contexts;
        let mut owners = vec![None; contexts.len()];
        for (context, caller, frame) in contexts.iter() {
            let is_judged = self.verdict(frame.method).is_some();
            owners[context.index()] = if is_judged { Some(frame.method) } else { owners[caller.index()] };
        }
        owners
    }

    fn program_classes(&self, reached: &[bool]) -> Vec<(ProgramClass, Vec<u8>)> {
        let tables = &self.document.tables;
        let mut classes: HashMap<MethodKey, ProgramClass> = HashMap::default();
        for (method, verdict) in self.judged() {
            let class = match verdict.class {
                Class::Changed => ProgramClass::Changed,
                Class::Renamed => ProgramClass::Renamed,
                Class::Moved => ProgramClass::Moved,
                Class::Gone => continue,
                _ if !reached[method.index()] => continue,
                _ => ProgramClass::Used,
            };
            classes.insert(verdict.now.clone().unwrap_or_else(|| MethodKey::of(tables, method)), class);
        }
        let class = |key: &MethodKey| classes.get(key).copied().unwrap_or(ProgramClass::Unprofiled);
        self.program.methods.keys().map(|key| (class(key), key.human_name())).collect()
    }

    fn notes(&self) -> Vec<String> {
        let words = if self.program.has_code() {
            "a changed method counts as unchanged if it still branches, calls and tests types at the same bytecode \
             indexes"
        } else {
            "a profile has only code that ran: a method counts as changed if each profile has branches that the \
             other lacks; pass classes or a jar for a better comparison"
        };
        let mut notes = vec![words.to_string()];
        if self.not_given > 0 {
            let methods = number_of(self.not_given, "method");
            notes.push(format!("not compared: {methods} of the JDK, whose classes are not given"));
        }
        let of_hidden = self.judged().filter(|(method, verdict)| {
            verdict.class == Class::Gone && is_hidden_class(&MethodKey::of(&self.document.tables, *method).class)
        });
        let hidden = of_hidden.count();
        if self.program.has_code() && hidden > 0 {
            let methods = number_of(hidden, "method");
            notes.push(format!(
                "gone: {methods} of hidden classes, such as those of lambdas, which exist only in the recorded run; drop \
                 their frames when you convert the recording"
            ));
        }
        notes
    }

    /// Returns the profile without entries that do not fit the new build.
    pub fn pruned(&self) -> (Document, Pruned) {
        let mut document = self.document.clone();
        let mut pruned = Pruned::default();
        let misfits = self.misfits();
        for kind in SectionKind::EACH.into_iter().filter(|kind| *kind != SectionKind::Monitor) {
            document.retain_entries(kind, |_, _, context, _| {
                let keeps = misfits[context.index()].is_none();
                pruned.records += u64::from(!keeps);
                keeps
            });
        }
        document.prune();
        (document, pruned)
    }
}

/// Why no entry of a method is used.
const LOST_CONTEXTS: &str = "only in contexts of methods that are lost";

/// Returns true for a class that a run created, such as `Main$$Lambda/0x00007f1b3c001a00`: its name ends in an address.
fn is_hidden_class(class: &[u8]) -> bool {
    class.windows(3).any(|at| at == b"/0x")
}

/// The maximum number of methods with the same types that a lost one is compared with.
const MOST_COMPARED: usize = 4096;

/// Returns whether one method may be the successor of another with the same types, and their similarity.
fn successor(own: &MethodKey, new: &MethodKey) -> Option<(Class, f64)> {
    let simple = |class: &[u8]| class.rsplit(|byte| *byte == b'.').next().unwrap_or_default().to_vec();
    if own.name == new.name && simple(&own.class) == simple(&new.class) {
        return Some((Class::Moved, similarity(&own.class, &new.class)));
    }
    // Either the class or the name is the same.
    let likeness = match (own.class == new.class, own.name == new.name) {
        (true, false) => similarity(&own.name, &new.name),
        (false, true) => similarity(&own.class, &new.class),
        _ => return None,
    };
    // All classes have constructors, and most have the methods of Object.
    let is_common = own.class != new.class && (own.name.starts_with(b"<") || own.name.len() < 4);
    (likeness >= LEAST_SIMILARITY && !is_common).then_some((Class::Renamed, likeness))
}

fn detail(misfits: &BTreeSet<i32>) -> Option<String> {
    const SHOWN: usize = 4;
    let shown: Vec<String> = misfits.iter().take(SHOWN).map(i32::to_string).collect();
    let more = if misfits.len() > SHOWN { ", …" } else { "" };
    let index = if misfits.len() == 1 { "index" } else { "indexes" };
    (!misfits.is_empty()).then(|| format!("no such instruction at bytecode {index} {}{more}", shown.join(", ")))
}

/// Positions in the bytecode of a method.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CodeSites {
    /// The positions of instructions.
    pub instructions: BTreeSet<u16>,
    /// Conditional branches and switches.
    pub branches: BTreeSet<u16>,
    /// Calls.
    pub calls: BTreeSet<u16>,
    /// Instructions that test the type of a value: `instanceof`, `checkcast`,
    /// and storing into an array of objects.
    pub type_tests: BTreeSet<u16>,
}

const AASTORE: u8 = 0x53;
const IINC: u8 = 0x84;
const IFEQ: u8 = 0x99;
const IF_ACMPNE: u8 = 0xa6;
const RET: u8 = 0xa9;
const TABLESWITCH: u8 = 0xaa;
const LOOKUPSWITCH: u8 = 0xab;
const INVOKEVIRTUAL: u8 = 0xb6;
const INVOKEDYNAMIC: u8 = 0xba;
const CHECKCAST: u8 = 0xc0;
const INSTANCEOF: u8 = 0xc1;
const WIDE: u8 = 0xc4;
const IFNULL: u8 = 0xc6;
const IFNONNULL: u8 = 0xc7;

impl CodeSites {
    /// Parses the instructions of a method. `None` if they are damaged.
    pub fn of(code: &[u8]) -> Option<Self> {
        let mut sites = Self::default();
        let mut at = 0;
        while at < code.len() {
            let bci = u16::try_from(at).ok()?;
            let opcode = code[at];
            sites.instructions.insert(bci);
            match opcode {
                IFEQ..=IF_ACMPNE | TABLESWITCH | LOOKUPSWITCH | IFNULL | IFNONNULL => {
                    sites.branches.insert(bci);
                }
                INVOKEVIRTUAL..=INVOKEDYNAMIC => {
                    sites.calls.insert(bci);
                }
                AASTORE | CHECKCAST | INSTANCEOF => {
                    sites.type_tests.insert(bci);
                }
                _ => {}
            }
            let len = instruction_len(code, at)?;
            at = at.checked_add(len)?;
        }
        (at == code.len()).then_some(sites)
    }
}

/// Bytes of the instruction at a position.
fn instruction_len(code: &[u8], at: usize) -> Option<usize> {
    let opcode = code[at];
    Some(match opcode {
        0x00..=0x0f | 0x1a..=0x35 | 0x3b..=0x83 | 0x85..=0x98 | 0xac..=0xb1 | 0xbe | 0xbf | 0xc2 | 0xc3 => 1,
        0x10 | 0x12 | 0x15..=0x19 | 0x36..=0x3a | RET | 0xbc => 2,
        0x11 | 0x13 | 0x14 | IINC | IFEQ..=0xa8 | 0xb2..=0xb8 | 0xbb | 0xbd | CHECKCAST | INSTANCEOF => 3,
        IFNULL | IFNONNULL => 3,
        0xc5 => 4,
        0xb9 | INVOKEDYNAMIC | 0xc8 | 0xc9 => 5,
        WIDE => {
            if *code.get(at + 1)? == IINC {
                6
            } else {
                4
            }
        }
        TABLESWITCH => {
            let (start, number) = operands(code, at);
            let (low, high) = (number(1)?, number(2)?);
            let targets = usize::try_from(i64::from(high) - i64::from(low) + 1).ok()?;
            start + 12 + targets.checked_mul(4)? - at
        }
        LOOKUPSWITCH => {
            let (start, number) = operands(code, at);
            let pairs = usize::try_from(number(1)?).ok()?;
            start + 8 + pairs.checked_mul(8)? - at
        }
        _ => return None,
    })
}

/// Returns the start of the operands of a switch, at a multiple of 4, and their numbers.
fn operands(code: &[u8], at: usize) -> (usize, impl Fn(usize) -> Option<i32> + '_) {
    let start = (at + 4) & !3;
    (start, move |index| {
        let bytes = code.get(start + 4 * index..)?.first_chunk::<4>()?;
        Some(i32::from_be_bytes(*bytes))
    })
}

/// A method: binary names of its class and of its return type and parameters,
/// and its own name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct MethodKey {
    /// Its class.
    pub class: Vec<u8>,
    /// Its name.
    pub name: Vec<u8>,
    /// Its return type, then its parameters.
    pub types: Vec<Vec<u8>>,
}

impl MethodKey {
    /// The method of a table of an iprof.
    pub fn of(tables: &Tables, method: MethodHandle) -> Self {
        let mut parts = tables.signature(method).iter().map(|part| tables.type_name(*part).to_vec());
        let class = parts.next().unwrap_or_default();
        Self { class, name: tables.method_name(method).to_vec(), types: parts.collect() }
    }

    /// The method as people write it: `app.Main.loop(int[])`.
    pub fn human_name(&self) -> Vec<u8> {
        let parameters: Vec<_> = self.types.iter().skip(1).map(|name| java::source_type_name(name)).collect();
        [&self.class[..], b".", &self.name, b"(", &parameters.join(&b","[..]), b")"].concat()
    }
}

/// The known data about a method of the new build.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MethodBody {
    /// Its bytecode.
    Code(CodeSites),
    /// It has none, or damaged one.
    #[default]
    NoCode,
    /// Positions that a profile of the new build has, by section: some of those
    /// that there are.
    Profiled(BTreeMap<SectionName, BTreeSet<i32>>),
}

/// The name of a section of an iprof.
pub type SectionName = &'static str;

/// The methods of a new build.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct JavaProgram {
    /// Description of the source.
    pub source: &'static str,
    /// The methods.
    pub methods: BTreeMap<MethodKey, MethodBody>,
}

impl JavaProgram {
    /// No methods of classes yet.
    pub fn of_classes() -> Self {
        Self { source: "classes of the new build", methods: BTreeMap::new() }
    }

    /// Adds the methods of a class file, or of the class files in a jar. Existing methods stay.
    ///
    /// # Errors
    ///
    /// As `read_methods`.
    pub fn add_classes(&mut self, data: &[u8], limits: &Limits) -> Result<()> {
        read_methods(data, limits, &mut |method| {
            let key = MethodKey {
                class: method.class.into(),
                name: method.name.into(),
                types: method.types.iter().map(|name| name.as_bytes().to_vec()).collect(),
            };
            let body = method.code.and_then(CodeSites::of).map_or(MethodBody::NoCode, MethodBody::Code);
            self.methods.entry(key).or_insert(body);
        })
    }

    /// Returns true if a method has bytecode.
    fn has_code(&self) -> bool {
        self.methods.values().any(|body| matches!(body, MethodBody::Code(_)))
    }

    fn packages(&self) -> HashSet<&[u8]> {
        self.methods.keys().map(|method| java::package(&method.class)).collect()
    }

    /// The methods that a profile of the new build declares.
    pub(crate) fn of_iprof(document: &Document) -> Self {
        let tables = &document.tables;
        let mut sites: Vec<Vec<(SectionName, i32)>> = vec![Vec::new(); tables.methods_count()];
        for_each_entry(document, |kind, context, _| {
            if let Some(leaf) = document.contexts.leaf(context).filter(|leaf| leaf.bci >= 0) {
                sites[leaf.method.index()].push((kind.name(), leaf.bci));
            }
        });
        let mut methods: Vec<(MethodKey, Vec<(SectionName, i32)>)> =
            tables.methods().zip(sites).map(|(method, sites)| (MethodKey::of(tables, method), sites)).collect();
        methods.sort_unstable();
        // A method that is declared twice.
        methods.dedup_by(|later, first| {
            let is_same = later.0 == first.0;
            if is_same {
                first.1.append(&mut later.1);
            }
            is_same
        });
        let body = |mut sites: Vec<(SectionName, i32)>| {
            sites.sort_unstable();
            let sections = sites.chunk_by(|a, b| a.0 == b.0);
            let bcis = |section: &[(SectionName, i32)]| section.iter().map(|(_, bci)| *bci).collect();
            MethodBody::Profiled(sections.map(|section| (section[0].0, bcis(section))).collect())
        };
        let methods = methods.into_iter().map(|(key, sites)| (key, body(sites))).collect();
        Self { source: "iprof of the new build", methods }
    }
}

/// Passes on the entries of all sections except the monitors, which belong to no method: section, context, events.
fn for_each_entry(document: &Document, mut each: impl FnMut(SectionKind, ContextHandle, u128)) {
    for kind in SectionKind::EACH.into_iter().filter(|kind| *kind != SectionKind::Monitor) {
        document.sections.entries(kind).for_each(|(context, records)| each(kind, context, records.events()));
    }
}

#[cfg(test)]
mod tests {
    use crate::fit::methods::*;

    #[test]
    fn sites_after_switches_of_any_length_are_found() {
        // iload_0; tableswitch 1..2; aload_0; invokevirtual; instanceof; ifeq; lookupswitch of one; ireturn
        let mut code = vec![0x1a, TABLESWITCH, 0, 0];
        for word in [20, 1, 2, 20, 20] {
            code.extend(i32::to_be_bytes(word));
        }
        code.extend([0x2a, INVOKEVIRTUAL, 0, 1, INSTANCEOF, 0, 2, IFEQ, 0, 3]);
        let lookup = code.len();
        code.push(LOOKUPSWITCH);
        code.resize(code.len().next_multiple_of(4), 0);
        for word in [9, 1, 7, 9] {
            code.extend(i32::to_be_bytes(word));
        }
        code.push(0xac);
        let sites = CodeSites::of(&code).unwrap();
        assert_eq!(sites.branches, BTreeSet::from([1, 31, lookup as u16]));
        assert_eq!((sites.calls, sites.type_tests), (BTreeSet::from([25]), BTreeSet::from([28])));
        assert_eq!(sites.instructions.last(), Some(&(code.len() as u16 - 1)));
    }

    #[test]
    fn damaged_code_has_no_sites() {
        for code in [
            &[0xff][..],
            &[TABLESWITCH, 0, 0, 0],
            &[0x11, 0],
            &[WIDE],
            &[LOOKUPSWITCH, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0],
        ] {
            assert_eq!(CodeSites::of(code), None, "{code:x?}");
        }
        // More targets than bytes.
        let huge = [&[TABLESWITCH, 0, 0, 0][..], &[0; 4], &i32::MIN.to_be_bytes(), &i32::MAX.to_be_bytes()].concat();
        assert_eq!(CodeSites::of(&huge), None);
    }
}
