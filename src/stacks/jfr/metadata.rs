//! The metadata event: the types, and the order of their fields.
//!
//! After the event's own fields come a list of strings and a tree of elements. The names, attributes and values of
//! elements are indexes into the list:
//!
//! ```text
//! root
//! ├── metadata
//! │   └── class   id, name, superType …
//! │       ├── field   name, class, constantPool, dimension
//! │       └── annotation, setting …
//! └── region
//! ```

use crate::error::{Error, Result};
use crate::stacks::jfr::chunk::Chunk;
use crate::stacks::jfr::chunk::{Reader, Text};
use foldhash::HashMap;
use std::collections::hash_map::Entry;

/// The largest metadata event that is read; those of the JDK have 0.1 MiB.
const MAX_METADATA_BYTES: u64 = 32 << 20;
/// Levels of elements; the JDK writes five.
const MAX_DEPTH: u32 = 16;
/// Classes inside classes, when values are skipped.
const MAX_NESTING: u32 = 32;
/// Steps to skip values, all classes together. The JDK needs some thousand.
const MAX_STEPS: usize = 1 << 20;

/// Position of a class in [`Types::classes`].
pub(super) type ClassIndex = usize;

/// The meaning of a field for the reader, by its name, in any class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing.
    Other,
    /// `stackTrace` of an event.
    StackTrace,
    /// `sampledThread`, or `eventThread` of events that are not timed samples.
    Thread,
    /// `biased` of a CPU-time sample.
    Biased,
    /// `samples` of a wall-clock sample: how many equal ones this stands for.
    Samples,
    /// `lostSamples` of `jdk.CPUTimeSamplesLost`.
    LostSamples,
    /// `invocations` of `jdk.MethodTiming`: calls since the recording began.
    Invocations,
    /// `startTime` of an event, in ticks.
    StartTime,
    /// `duration` of an event, in ticks.
    Duration,
    /// `weight` of an allocation sample, `tlabSize` of an allocation in a new
    /// buffer, `bytesRead` and `bytesWritten`.
    Bytes,
    /// `allocationSize`: the bytes of one object.
    AllocationSize,
    /// `truncated` of a stack trace.
    Truncated,
    /// `frames` of a stack trace.
    Frames,
    /// `method` of a frame, or of an event about calls.
    Method,
    /// `lineNumber` of a frame.
    LineNumber,
    /// `bytecodeIndex` of a frame.
    BytecodeIndex,
    /// `type`: how a frame ran, or the class of a method.
    Type,
    /// `name` of a class, method or setting.
    Name,
    /// `id` of the event type of a setting.
    Id,
    /// `value` of a setting.
    Value,
    /// `descriptor` of a method.
    Descriptor,
    /// `string` of a symbol.
    String,
    /// `description` of a frame type.
    Description,
    /// `javaName` of a thread.
    JavaName,
    /// `osName` of a thread.
    OsName,
    /// `osThreadId` of a thread.
    OsThreadId,
    /// `virtual`: whether a thread is one of the JVM.
    Virtual,
    /// `jvmStartTime` of `jdk.JVMInformation`.
    JvmStart,
    /// `pid` of `jdk.JVMInformation`.
    ProcessId,
}

impl Role {
    fn of(field: &str) -> Self {
        match field {
            "stackTrace" => Self::StackTrace,
            "sampledThread" | "eventThread" => Self::Thread,
            "biased" => Self::Biased,
            "samples" => Self::Samples,
            "lostSamples" => Self::LostSamples,
            "invocations" => Self::Invocations,
            "startTime" => Self::StartTime,
            "duration" => Self::Duration,
            "weight" | "tlabSize" | "bytesRead" | "bytesWritten" => Self::Bytes,
            "allocationSize" => Self::AllocationSize,
            "truncated" => Self::Truncated,
            "frames" => Self::Frames,
            "method" => Self::Method,
            "lineNumber" => Self::LineNumber,
            "bytecodeIndex" => Self::BytecodeIndex,
            "type" => Self::Type,
            "name" => Self::Name,
            "id" => Self::Id,
            "value" => Self::Value,
            "descriptor" => Self::Descriptor,
            "string" => Self::String,
            "description" => Self::Description,
            "javaName" => Self::JavaName,
            "osName" => Self::OsName,
            "osThreadId" => Self::OsThreadId,
            "virtual" => Self::Virtual,
            "jvmStartTime" => Self::JvmStart,
            "pid" => Self::ProcessId,
            _ => Self::Other,
        }
    }
}

/// How the values of a class without fields are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Primitive {
    /// `boolean`, `byte`.
    Byte,
    /// `short`, `char`.
    Short,
    /// `int`.
    Int,
    /// `long`.
    Long,
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// `java.lang.String`.
    Text,
}

impl Primitive {
    fn of(class: &str) -> Option<Self> {
        Some(match class {
            "boolean" | "byte" => Self::Byte,
            "short" | "char" => Self::Short,
            "int" => Self::Int,
            "long" => Self::Long,
            "float" => Self::Float,
            "double" => Self::Double,
            "java.lang.String" => Self::Text,
            _ => return None,
        })
    }

    /// Skips a value.
    fn skip(self, reader: &mut Reader<'_>) -> Result<()> {
        match self {
            Self::Byte => drop(reader.byte("byte")?),
            Self::Short => drop(reader.short("short")?),
            Self::Int => drop(reader.int("int")?),
            Self::Long => drop(reader.long("long")?),
            Self::Float => reader.skip("float", 4)?,
            Self::Double => reader.skip("double", 8)?,
            Self::Text => drop(reader.text("text")?),
        }
        Ok(())
    }
}

/// One field of a class.
#[derive(Debug, Clone)]
pub(super) struct Field {
    /// Its meaning for the reader.
    pub(super) role: Role,
    /// Its class, when the metadata describes it.
    pub(super) class: Option<ClassIndex>,
    /// The value is a reference into the pool of its class.
    pub(super) pooled: bool,
    /// The value is a list.
    pub(super) array: bool,
}

/// One class.
#[derive(Debug, Clone)]
pub(super) struct Class {
    /// Name as in the file.
    pub(super) name: String,
    /// How values are stored, for classes without fields.
    pub(super) primitive: Option<Primitive>,
    /// Fields in the order of their values.
    pub(super) fields: Vec<Field>,
}

/// One step over values that are skipped.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A value without parts.
    Primitive(Primitive),
    /// A list of pooled references.
    References,
    /// A list of values of a class.
    List(ClassIndex),
}

/// All classes of a chunk.
#[derive(Debug, Default)]
pub(super) struct Types {
    /// In file order.
    pub(super) classes: Vec<Class>,
    by_id: HashMap<u64, ClassIndex>,
    plans: Vec<Option<Vec<Step>>>,
    steps: usize,
}

impl Types {
    /// Reads the metadata event of a chunk.
    ///
    /// # Errors
    ///
    /// Truncated or malformed, with the place.
    pub(super) fn read(chunk: &Chunk<'_>) -> Result<Self> {
        let event = chunk.event(chunk.metadata_offset, "metadata")?;
        let mut reader = event.reader;
        if event.type_id != 0 {
            let detail = format!("the event at the metadata offset has type {}, expected 0", event.type_id);
            return Err(reader.place(Error::malformed(detail)));
        }
        if event.size > MAX_METADATA_BYTES {
            return Err(reader.place(Error::above_limit(
                None,
                "size of the metadata event",
                event.size,
                MAX_METADATA_BYTES,
            )));
        }
        reader.long("start of metadata")?;
        reader.long("duration of metadata")?;
        reader.long("metadata number")?;
        let strings = read_strings(&mut reader, chunk)?;
        let mut found = Vec::new();
        read_element(&mut reader, &strings, &mut found, MAX_DEPTH)?;
        Self::link(found)
    }

    /// Turns the ids of classes into positions.
    fn link(found: Vec<FoundClass>) -> Result<Self> {
        let mut types = Self::default();
        for (index, class) in found.iter().enumerate() {
            match types.by_id.entry(class.id) {
                Entry::Vacant(entry) => entry.insert(index),
                Entry::Occupied(_) => {
                    let detail = format!("two classes have the number {}, one of them {}", class.id, class.name);
                    return Err(Error::malformed(detail).in_section("metadata"));
                }
            };
        }
        for class in found {
            let field = |field: FoundField| Field {
                role: Role::of(&field.name),
                class: types.by_id.get(&field.class).copied(),
                pooled: field.pooled,
                array: field.array,
            };
            let fields = class.fields.into_iter().map(field).collect::<Vec<_>>();
            let primitive = if fields.is_empty() { Primitive::of(&class.name) } else { None };
            types.classes.push(Class { name: class.name, primitive, fields });
        }
        types.plans.resize_with(types.classes.len(), || None);
        Ok(types)
    }

    /// The class with a number of the file.
    pub(super) fn by_id(&self, id: u64) -> Option<ClassIndex> {
        self.by_id.get(&id).copied()
    }

    /// All numbers of classes, in file order.
    pub(super) fn ids(&self) -> Vec<(u64, ClassIndex)> {
        let mut ids = self.by_id.iter().map(|(id, class)| (*id, *class)).collect::<Vec<_>>();
        ids.sort_unstable_by_key(|(_, class)| *class);
        ids
    }

    /// The class of a name.
    pub(super) fn by_name(&self, name: &str) -> Option<ClassIndex> {
        self.classes.iter().position(|class| class.name == name)
    }

    /// Prepares skipping values of a class and its fields. Call it before [`skip_value`](Self::skip_value) and
    /// [`skip_field`](Self::skip_field).
    ///
    /// # Errors
    ///
    /// Malformed if the class contains itself, or a class without a description.
    pub(super) fn prepare(&mut self, class: ClassIndex) -> Result<()> {
        self.plan(class, MAX_NESTING)?;
        for position in 0..self.classes[class].fields.len() {
            let Field { class: field, pooled, .. } = self.classes[class].fields[position];
            if let Some(field) = field
                && !pooled
            {
                self.plan(field, MAX_NESTING)?;
            }
        }
        Ok(())
    }

    fn plan(&mut self, class: ClassIndex, nesting: u32) -> Result<()> {
        if self.plans[class].is_some() {
            return Ok(());
        }
        let fault = |what: String| Err(Error::malformed(what).in_section("metadata"));
        if nesting == 0 {
            let name = &self.classes[class].name;
            return fault(format!("values of class {name} are nested more than {MAX_NESTING} levels deep"));
        }
        let mut steps = Vec::new();
        if let Some(primitive) = self.classes[class].primitive {
            steps.push(Step::Primitive(primitive));
        }
        for position in 0..self.classes[class].fields.len() {
            let Field { class: field, pooled, array, .. } = self.classes[class].fields[position];
            if pooled {
                let step = if array { Step::References } else { Step::Primitive(Primitive::Long) };
                steps.push(step);
                continue;
            }
            let Some(field) = field else {
                let name = &self.classes[class].name;
                return fault(format!("the metadata has no class for field {position} of class {name}"));
            };
            self.plan(field, nesting - 1)?;
            if array {
                steps.push(Step::List(field));
            } else {
                let inner = self.plans[field].as_deref().unwrap_or_default();
                if steps.len() + inner.len() > MAX_STEPS {
                    return fault(format!("values of class {} have too many parts", self.classes[class].name));
                }
                steps.extend_from_slice(inner);
            }
        }
        self.steps += steps.len();
        if self.steps > MAX_STEPS {
            return fault(format!("the classes have more than {MAX_STEPS} parts together"));
        }
        self.plans[class] = Some(steps);
        Ok(())
    }

    /// Skips one value of a prepared class.
    pub(super) fn skip_value(&self, class: ClassIndex, reader: &mut Reader<'_>) -> Result<()> {
        let steps = self.plans[class].as_deref().expect("the class was prepared");
        for step in steps {
            match step {
                Step::Primitive(primitive) => primitive.skip(reader)?,
                Step::References => skip_references(reader)?,
                Step::List(class) => self.skip_list(*class, reader)?,
            }
        }
        Ok(())
    }

    fn skip_list(&self, class: ClassIndex, reader: &mut Reader<'_>) -> Result<()> {
        let count = reader.int("number of elements")?;
        // Elements of a class without fields take no bytes, however many there are.
        if self.plans[class].as_deref().is_some_and(|steps| !steps.is_empty()) {
            for _ in 0..count {
                self.skip_value(class, reader)?;
            }
        }
        Ok(())
    }

    /// Skips the value of one field of a prepared class.
    pub(super) fn skip_field(&self, field: &Field, reader: &mut Reader<'_>) -> Result<()> {
        match (field.pooled, field.array, field.class) {
            (true, false, _) => drop(reader.long("reference")?),
            (true, true, _) => skip_references(reader)?,
            (false, false, Some(class)) => self.skip_value(class, reader)?,
            (false, true, Some(class)) => self.skip_list(class, reader)?,
            (false, _, None) => return Err(reader.place(Error::malformed("the metadata has no class for a field"))),
        }
        Ok(())
    }

    /// An integer value of a field of any width; `None` if it is not an integer.
    pub(super) fn integer(&self, field: &Field, reader: &mut Reader<'_>) -> Result<Option<u64>> {
        let primitive = field.class.and_then(|class| self.classes[class].primitive);
        if field.pooled || field.array {
            self.skip_field(field, reader)?;
            return Ok(None);
        }
        Ok(Some(match primitive {
            Some(Primitive::Byte) => reader.byte("byte")?.into(),
            Some(Primitive::Short) => reader.short("short")?.into(),
            Some(Primitive::Int) => reader.int("int")?.into(),
            Some(Primitive::Long) => reader.long("long")?,
            _ => {
                self.skip_field(field, reader)?;
                return Ok(None);
            }
        }))
    }
}

fn skip_references(reader: &mut Reader<'_>) -> Result<()> {
    for _ in 0..reader.count("number of references")? {
        reader.long("reference")?;
    }
    Ok(())
}

struct FoundClass {
    id: u64,
    name: String,
    fields: Vec<FoundField>,
}

#[derive(Default)]
struct FoundField {
    name: String,
    class: u64,
    pooled: bool,
    array: bool,
}

fn read_strings(reader: &mut Reader<'_>, chunk: &Chunk<'_>) -> Result<Vec<String>> {
    let count = reader.count("number of metadata strings")?;
    let mut strings = Vec::new();
    for _ in 0..count {
        let text = reader.text("metadata text")?;
        strings.push(decode(text, chunk)?.unwrap_or_default());
    }
    Ok(strings)
}

/// The characters of a string that is not in a pool.
pub(super) fn decode(text: Text<'_>, chunk: &Chunk<'_>) -> Result<Option<String>> {
    Ok(match text {
        Text::Null | Text::Pooled(_) => None,
        Text::Empty => Some(String::new()),
        Text::Utf8(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Text::Latin1(bytes) => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
        Text::Chars(start, count) => {
            let mut reader = chunk.reader(start.saturating_sub(chunk.base), "text");
            let mut units = Vec::new();
            for _ in 0..count {
                units.push(reader.short("char")?);
            }
            Some(String::from_utf16_lossy(&units))
        }
    })
}

/// Reads one element with all below it; classes go to `found`.
fn read_element(
    reader: &mut Reader<'_>,
    strings: &[String],
    found: &mut Vec<FoundClass>,
    depth: u32,
) -> Result<Option<FoundField>> {
    if depth == 0 {
        let detail = format!("elements are nested more than {MAX_DEPTH} levels deep");
        return Err(reader.place(Error::malformed(detail)));
    }
    let element = Element::read(reader, strings)?;
    let class = match element.name {
        "class" => Some(element.number("id", reader)?),
        _ => None,
    };
    let mut fields = Vec::new();
    for _ in 0..reader.count("number of child elements")? {
        if let Some(field) = read_element(reader, strings, found, depth - 1)? {
            fields.push(field);
        }
    }
    if let Some(id) = class {
        found.push(FoundClass { id, name: element.text("name").to_string(), fields });
        return Ok(None);
    }
    if element.name != "field" {
        return Ok(None);
    }
    Ok(Some(FoundField {
        name: element.text("name").to_string(),
        class: element.number("class", reader)?,
        pooled: element.text("constantPool") == "true",
        array: !matches!(element.text("dimension"), "" | "0"),
    }))
}

struct Element<'s> {
    name: &'s str,
    attributes: Vec<(&'s str, &'s str)>,
}

impl<'s> Element<'s> {
    fn read(reader: &mut Reader<'_>, strings: &'s [String]) -> Result<Self> {
        let text = |reader: &mut Reader<'_>| -> Result<&'s str> {
            let at = reader.int("index of a metadata string")?;
            let text = usize::try_from(at).ok().and_then(|at| strings.get(at));
            text.map(String::as_str).ok_or_else(|| {
                reader.place(Error::malformed(format!(
                    "metadata string {at} does not exist, there are {}",
                    strings.len()
                )))
            })
        };
        let name = text(reader)?;
        let mut attributes = Vec::new();
        for _ in 0..reader.count("number of attributes")? {
            attributes.push((text(reader)?, text(reader)?));
        }
        Ok(Self { name, attributes })
    }

    fn text(&self, key: &str) -> &'s str {
        self.attributes.iter().find(|(name, _)| *name == key).map_or("", |(_, value)| value)
    }

    fn number(&self, key: &str, reader: &Reader<'_>) -> Result<u64> {
        let text = self.text(key);
        text.parse().map_err(|_| {
            let detail = format!("attribute {key} of a {} element is {:?}, expected a number", self.name, text);
            reader.place(Error::malformed(detail))
        })
    }
}
