//! Functions that the two sides of a drawing, or its inputs, name differently.

use crate::call_chains::{Frame, Function, StackTable};
use crate::families::content::Content;
use crate::families::stacks::has_types;
use crate::model::{NameRef, name_ref};
use std::collections::HashMap;

/// Returns a content and its baseline with the same names of functions, as comparisons see them: the name for its hash
/// where one of the two knows it, and Java methods without types if one of the two has none.
pub(crate) fn with_same_names(content: Content, baseline: Option<Content>) -> (Content, Option<Content>) {
    let contents = [Some(&content), baseline.as_ref()].into_iter().flatten();
    let tables: Vec<&StackTable> = contents.filter_map(Content::stacks).map(|(table, _)| table).collect();
    let has_hashes = matches!(content, Content::Samples(_) | Content::Memory(_));
    let names = if has_hashes { names_of_hashes(&tables) } else { HashMap::new() };
    let drops_types = !tables.iter().all(|table| has_types(table));
    if names.is_empty() && (baseline.is_none() || !drops_types) {
        return (content, baseline);
    }
    let map = |content: Content| {
        content.map_stacks(|table| {
            let renamed = |out: &mut StackTable, frame: Frame| {
                let function = match out.function(frame.function) {
                    Function::Symbol { name } => match hash_of(out.name(name)).and_then(|hash| names.get(&hash)) {
                        Some(name) => out.intern_symbol(name),
                        None => frame.function,
                    },
                    Function::Java { class, name, .. } if drops_types => {
                        out.intern_function(Function::Java { class, name, signature: None })
                    }
                    Function::Java { .. } => frame.function,
                };
                Some(Frame { function, ..frame })
            };
            table.map_frames(renamed).0
        })
    };
    (map(content), baseline.map(map))
}

/// Returns the names whose hashes are names of functions.
fn names_of_hashes(tables: &[&StackTable]) -> HashMap<NameRef, String> {
    let symbols = || {
        let functions = tables.iter().flat_map(|table| table.functions().map(|id| (*table, table.function(id))));
        functions.filter_map(|(table, function)| match function {
            Function::Symbol { name } => Some(table.name(name)),
            Function::Java { .. } => None,
        })
    };
    let mut names: HashMap<NameRef, Option<&str>> = symbols().filter_map(hash_of).map(|hash| (hash, None)).collect();
    if names.is_empty() {
        return HashMap::new();
    }
    for name in symbols() {
        if let Some(known) = names.get_mut(&name_ref(name.as_bytes())) {
            *known = Some(name);
        }
    }
    names.into_iter().filter_map(|(hash, name)| Some((hash, name?.to_string()))).collect()
}

/// Returns the hash that stands for a name: decimal in sample profiles, hexadecimal in memory profiles.
fn hash_of(name: &str) -> Option<NameRef> {
    match name.strip_prefix("0x") {
        Some(digits) => NameRef::from_str_radix(digits, 16).ok(),
        None => name.bytes().next().filter(u8::is_ascii_digit).and_then(|_| name.parse().ok()),
    }
}
